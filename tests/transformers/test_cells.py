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


@pytest.fixture
def transformer():
    with nv.transformers.make_transformer("interpreter") as made:
        yield made


def counter(entry, transformer):
    return compiled([read(entry)], updates=[(entry, ops.Add(read(entry), read(entry).full(1)))],
                    transformer=transformer)


def test_a_cell_starts_from_the_initial_value(transformer):
    w = variable([1.0, 2.0])
    assert transformer.get(w).tolist() == [1, 2]
    transformer.get(w)[:] = 9
    assert transformer.get(w).tolist() == [1, 2]


def test_computations_of_one_transformer_share_cells(transformer):
    w = variable(0.0)
    first, second = counter(w, transformer), counter(w, transformer)
    assert [first()[0], second()[0], first()[0]] == [0, 1, 2]
    assert transformer.get(w) == 3


def test_set_converts_and_copies(transformer):
    w = variable([0.0, 0.0])
    value = np.float32([1, 2])
    transformer.set(w, value)
    value[:] = 9
    assert transformer.get(w).tolist() == [1, 2]
    transformer.set(w, [3, 4])
    assert transformer.get(w).dtype == np.float32
    assert transformer.get(read(w).op).tolist() == [3, 4]  # whatever has a variable stands for it


@pytest.mark.parametrize(("value", "kind"), [(np.zeros(3), ShapeMismatch), (np.zeros(2, complex), WrongKind),
                                             ("x", WrongKind)])
def test_set_checks(transformer, value, kind):
    w = variable([1.0, 2.0], "w")
    with pytest.raises(kind) as caught:
        transformer.set(w, value)
    assert caught.value.operand == "w"
    assert transformer.get(w).tolist() == [1, 2]
    with pytest.raises(WrongKind, match="variable"):
        transformer.get(3)


def test_versions_rise_with_each_write(transformer):
    w = variable(0.0)
    cell, = transformer.cells.of([w])
    run = counter(w, transformer)
    assert cell.version == 0
    run()
    assert cell.version == 1
    transformer.set(w, 5)
    assert cell.version == 2
    compiled([read(w)], transformer=transformer)()
    assert cell.version == 2


def test_two_transformers_start_from_the_same_bits(transformer):
    calls = []

    def initial():
        calls.append(1)
        return np.random.default_rng().standard_normal(3)

    w = Variable(nv.BasicTensorDescription(nv.float32, (3,)), initial=initial)
    with nv.transformers.make_transformer("interpreter") as other:
        np.testing.assert_array_equal(transformer.get(w), other.get(w))
    assert calls == [1]


def test_the_first_use_elsewhere_of_what_was_changed_warns_once(transformer):
    w, fresh = variable(0.0, "weights"), variable(0.0, "fresh")
    with nv.transformers.make_transformer("interpreter") as other, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        counter(w, transformer)()
        assert not caught
        run = counter(w, other)
        assert run()[0] == 0
        run()
        other.get(w)
        other.get(fresh)
        assert len(caught) == 1
        assert "weights" in str(caught[0].message) and "copy_state" in str(caught[0].message)
        assert caught[0].filename == __file__


def test_unchanged_state_does_not_warn(transformer):
    w = variable(0.0)
    transformer.get(w)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with nv.transformers.make_transformer("interpreter") as other:
            assert other.get(w) == 0


def test_state_that_is_each_transformers_own_does_not_warn(transformer):
    w = Variable(nv.BasicTensorDescription(nv.float32, ()), is_local=True)
    transformer.set(w, 3)
    with warnings.catch_warnings(), nv.transformers.make_transformer("interpreter") as other:
        warnings.simplefilter("error")
        assert other.get(w) == 0


def test_copy_state_takes_over_values(transformer):
    w, unused = variable([0.0, 0.0]), variable(1.0)
    transformer.set(w, [1, 2])
    transformer.get(unused)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with nv.transformers.make_transformer("interpreter") as other:
            other.copy_state(transformer)
            assert other.get(w).tolist() == [1, 2] and other.get(unused) == 1
            other.set(w, [3, 4])
            assert transformer.get(w).tolist() == [1, 2]


def test_a_snapshot_is_of_one_moment(transformer, monkeypatch):
    first, second = variable(0.0), variable(0.0)
    step = compiled([], updates={first: read(first) + 1.0, second: read(second) + 1.0}, transformer=transformer)
    is_half_done, may_go_on = threading.Event(), threading.Event()

    def store_slowly(cells, arrays):
        for cell, array in zip(cells, arrays, strict=True):
            cell.store(array)
            is_half_done.set()
            assert may_go_on.wait(60)

    monkeypatch.setattr(executable, "store_together", store_slowly)
    found = []
    threads = [threading.Thread(target=step),
               threading.Thread(target=lambda: found.extend(transformer.snapshot([first, second]).values()))]
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
    with nv.transformers.make_transformer("interpreter") as transformer:
        executable = compiled([p], [p], transformer=transformer)
    for use in (lambda: executable(1), lambda: transformer.get(w), lambda: transformer.set(w, 1),
                transformer.__enter__,
                lambda: transformer.compile(nv.Function([p], [p])), lambda: transformer.copy_state(transformer)):
        with pytest.raises(InvalidArgument, match="closed"):
            use()
    transformer.close()


def test_cells_go_with_their_variable(transformer):
    w = variable(np.zeros(10))
    transformer.set(w, np.ones(10))
    counter(w, transformer)()
    assert len(transformer.cells.known()) == 1
    del w
    gc.collect()
    assert transformer.cells.known() == []
