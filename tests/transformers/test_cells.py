"""State: cells, versions, and two transformers side by side."""

from __future__ import annotations

import gc
import signal
import threading
import warnings

import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument, ShapeMismatch, WrongKind
from nervure.ir.ordered_locks import holding
from nervure.ir.variable import Variable
from nervure.transformers import executable
from nervure.transformers.cells import Cell, store_together
from tests.transformers.build import compiled, parameter, read, variable

ops = nv.ops


def counter(entry, interpreter):
    return compiled([read(entry)], updates=[(entry, ops.Add(read(entry), read(entry).full(1)))],
                    transformer=interpreter)


def test_a_cell_starts_from_the_initial_value(interpreter):
    w = variable([1.0, 2.0])
    assert interpreter.get(w).tolist() == [1, 2]
    interpreter.get(w)[:] = 9
    assert interpreter.get(w).tolist() == [1, 2]


def test_computations_of_one_transformer_share_cells(interpreter):
    w = variable(0.0)
    first, second = counter(w, interpreter), counter(w, interpreter)
    assert [first()[0], second()[0], first()[0]] == [0, 1, 2]
    assert interpreter.get(w) == 3


def test_set_converts_and_copies(interpreter):
    w = variable([0.0, 0.0])
    value = np.float32([1, 2])
    interpreter.set(w, value)
    value[:] = 9
    assert interpreter.get(w).tolist() == [1, 2]
    interpreter.set(w, [3, 4])
    assert interpreter.get(w).dtype == np.float32
    assert interpreter.get(read(w).op).tolist() == [3, 4]  # whatever has a variable stands for it


@pytest.mark.parametrize(("value", "kind"), [(np.zeros(3), ShapeMismatch), (np.zeros(2, complex), WrongKind),
                                             ("x", WrongKind)])
def test_set_checks(interpreter, value, kind):
    w = variable([1.0, 2.0], "w")
    with pytest.raises(kind) as caught:
        interpreter.set(w, value)
    assert caught.value.operand == "w"
    assert interpreter.get(w).tolist() == [1, 2]
    with pytest.raises(WrongKind, match="variable"):
        interpreter.get(3)


def test_versions_rise_with_each_write(interpreter):
    w = variable(0.0)
    cell, = interpreter.cells.of([w])
    run = counter(w, interpreter)
    assert cell.version == 0
    run()
    assert cell.version == 1
    interpreter.set(w, 5)
    assert cell.version == 2
    compiled([read(w)], transformer=interpreter)()
    assert cell.version == 2


def test_two_transformers_start_from_the_same_bits(interpreter):
    calls = []

    def initial():
        calls.append(1)
        return np.random.default_rng().standard_normal(3)

    w = Variable(nv.BasicTensorDescription(nv.float32, (3,)), initial=initial)
    with nv.transformers.make_transformer("interpreter") as other:
        np.testing.assert_array_equal(interpreter.get(w), other.get(w))
    assert calls == [1]


def test_the_first_use_elsewhere_of_what_was_changed_warns_once(interpreter):
    w, fresh = variable(0.0, "weights"), variable(0.0, "fresh")
    with nv.transformers.make_transformer("interpreter") as other, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        counter(w, interpreter)()
        assert not caught
        run = counter(w, other)
        assert run()[0] == 0
        run()
        other.get(w)
        other.get(fresh)
        assert len(caught) == 1
        assert "weights" in str(caught[0].message) and "copy_state" in str(caught[0].message)
        assert caught[0].filename == __file__


def test_unchanged_state_does_not_warn(interpreter):
    w = variable(0.0)
    interpreter.get(w)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with nv.transformers.make_transformer("interpreter") as other:
            assert other.get(w) == 0


def test_state_that_is_each_transformers_own_does_not_warn(interpreter):
    w = Variable(nv.BasicTensorDescription(nv.float32, ()), is_local=True)
    interpreter.set(w, 3)
    with warnings.catch_warnings(), nv.transformers.make_transformer("interpreter") as other:
        warnings.simplefilter("error")
        assert other.get(w) == 0


def test_copy_state_takes_over_values(interpreter):
    w, unused = variable([0.0, 0.0]), variable(1.0)
    interpreter.set(w, [1, 2])
    interpreter.get(unused)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with nv.transformers.make_transformer("interpreter") as other:
            other.copy_state(interpreter)
            assert other.get(w).tolist() == [1, 2] and other.get(unused) == 1
            other.set(w, [3, 4])
            assert interpreter.get(w).tolist() == [1, 2]


def test_a_snapshot_is_of_one_moment(interpreter, monkeypatch):
    first, second = variable(0.0), variable(0.0)
    step = compiled([], updates={first: read(first) + 1.0, second: read(second) + 1.0}, transformer=interpreter)
    is_half_done, may_go_on = threading.Event(), threading.Event()

    def store_slowly(cells, arrays):
        for cell, array in zip(cells, arrays, strict=True):
            cell.store(array)
            is_half_done.set()
            assert may_go_on.wait(60)

    monkeypatch.setattr(executable, "store_together", store_slowly)
    found = []
    threads = [threading.Thread(target=step),
               threading.Thread(target=lambda: found.extend(interpreter.snapshot([first, second]).values()))]
    threads[0].start()
    assert is_half_done.wait(60)
    threads[1].start()
    threads[1].join(0.05)
    may_go_on.set()
    for thread in threads:
        thread.join()
    assert [float(value) for value in found] == [1, 1]


class Interrupted(Exception):
    """What a handler of signals raises."""


@pytest.fixture
def interrupted():
    """Runs a function and says whether a signal, of which one arrives every 50 microseconds, has ended it."""
    armed = []

    def handle(*_):
        if armed:
            armed.clear()
            raise Interrupted

    def run(act):
        try:
            try:
                armed.append(True)
                act()
            finally:
                armed.clear()
        except Interrupted:
            return True
        return False
    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 5e-5, 5e-5)
    yield run
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_all_cells_are_stored_or_none(interrupted):
    cells = [Cell(variable(0.0)) for _ in range(200)]
    caught = 0
    for turn in range(1, 400):
        values = [np.float32(turn)] * 200
        caught += interrupted(lambda values=values: store_together(cells, values))
        assert len({(float(cell.array), cell.version) for cell in cells}) == 1
    assert caught


def test_no_lock_stays_taken(interrupted):
    cells = [Cell(variable(0.0)) for _ in range(200)]
    caught = 0
    for _ in range(400):
        caught += interrupted(lambda: holding(cells, lambda: sum(range(100))))
        assert not any([cell.lock.is_mine for cell in cells])
    assert caught


def test_use_after_close_is_an_error():
    w, p = variable(0.0), parameter()
    with nv.transformers.make_transformer("interpreter") as interpreter:
        executable = compiled([p], [p], transformer=interpreter)
    for use in (lambda: executable(1), lambda: interpreter.get(w), lambda: interpreter.set(w, 1),
                interpreter.__enter__,
                lambda: interpreter.compile(nv.Function([p], [p])), lambda: interpreter.copy_state(interpreter)):
        with pytest.raises(InvalidArgument, match="closed"):
            use()
    interpreter.close()


def test_cells_go_with_their_variable(interpreter):
    w = variable(np.zeros(10))
    interpreter.set(w, np.ones(10))
    counter(w, interpreter)()
    assert len(interpreter.cells.known()) == 1
    del w
    gc.collect()
    assert interpreter.cells.known() == []


# -- arrays that are lent ---------------------------------------------------------------------------------------------


def test_an_array_is_lent_as_long_as_somebody_has_it():
    """T19, T20: or a view of it; then a new value takes its place again."""
    cell = Cell(variable([1.0, 2.0]))
    array = cell.lend()
    assert array is cell.array is cell.lend() and cell.is_lent()
    cell.store(np.float32([3, 4]))
    assert array.tolist() == [3.0, 4.0] and cell.array is array
    view = array[1:]
    del array
    cell.store(np.float32([5, 6]))
    assert view.tolist() == [6.0] and cell.is_lent()
    del view
    fresh = np.float32([7, 8])
    cell.store(fresh)
    assert cell.array is fresh and not cell.is_lent()


def test_what_others_hold_is_not_lent():
    """T20: the initial value, and what a reader holds, are copied first."""
    entry = variable([1.0, 2.0])
    cell = Cell(entry)
    held = cell.array
    cell.lend()[0] = 9
    assert held.tolist() == [1.0, 2.0] == entry.initial_value().tolist()
    cell = Cell(entry)
    cell.store(np.float32([1, 2]))
    held = cell.array
    cell.write((0,), 5.0)
    assert held.tolist() == [1.0, 2.0] and cell.array.tolist() == [5.0, 2.0]


def test_each_call_takes_a_lent_value_for_a_new_version(interpreter):
    """T20: also one that only reads."""
    w = variable([1.0, 2.0])
    run = compiled([ops.Add(read(w), read(w))], transformer=interpreter)
    cell, = interpreter.cells.of([w])
    run()
    before = cell.version
    array = cell.lend()
    run()
    run()
    assert cell.version == before + 2
    del array  # what it wrote since the last call is one more
    run()
    run()
    assert cell.version == before + 3


def test_what_is_written_before_the_last_holder_goes_is_a_new_version():
    """T19, T20: whatever looks first whether the array is still held, and to those who ask whether a value is still
    the same.
    """
    for look in (Cell.begin, Cell.read, Cell.lend, Cell.witness, lambda cell: cell.store(np.float32([5, 6]))):
        cell = Cell(variable([1.0, 2.0]))
        before = cell.witness()
        cell.lend()[:] = 3.0
        made = cell.version
        kept = look(cell)
        assert cell.version > made and not cell.is_still(before)
        del kept
    still = cell.witness()
    assert cell.is_still(still)


def test_a_snapshot_of_a_lent_array_is_a_copy(interpreter):
    """T20: later writes do not reach it."""
    w = variable([1.0, 2.0])
    array = interpreter.cells.of([w])[0].lend()
    taken = interpreter.snapshot([w])[w]
    array[0] = 9
    assert taken.tolist() == [1.0, 2.0]


def test_an_adopted_view_stays_lent():
    """T22: its memory is somebody else's."""
    cell, whole = Cell(variable([1.0, 2.0])), np.zeros(4, np.float32)
    cell.adopt(whole[1:3])
    cell.store(np.float32([5, 6]))
    cell.store(np.float32([7, 8]))
    assert whole.tolist() == [0.0, 7.0, 8.0, 0.0] and cell.version == 3
