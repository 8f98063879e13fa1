"""Weights that loops read are packed once for each of their values, as those of straight programs are."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import nervure as nv
from nervure import flags
from tests.arrays import normal

K = 70
BYTES = K * K * 4  # of a panel


def weights(name="w"):
    return nv.variable((K, K), normal(K, K) * 0.1).named(name)


def cell(w):
    """A step whose product reads w across memory."""
    return lambda h, *_: nv.tanh(nv.matmul(h, w.T))


def scanned(w, h, length=3):
    return nv.scan(lambda h, _: (cell(w)(h), None), h, length=length)[0]


def held(w, h):
    return nv.while_loop(lambda state: state[0] < 3, lambda state: (state[0] + 1, cell(w)(state[1])),
                         (nv.constant(0, dtype=nv.int32), h))[1]


def nested(w, h):
    return nv.scan(lambda h, _: (scanned(w, h * 0.5), None), h, length=3)[0]


def branched(w, h):
    return nv.cond(nv.sum(h) > -1e9, lambda: scanned(w, h), lambda: h)


def turned(w, h):
    """The weights as they are copied in another order in front of the loop, which packs them once more."""
    copied = w.T
    return nv.scan(lambda h, _: (cell(copied)(h), None), h, length=3)[0]


LOOPS = [scanned, held, nested, branched, turned]


def program(transformer, make, w, rows=4):
    h = nv.placeholder((rows, K))
    return transformer.computation(make(w, h), h)


def expected(cpu, make, h, w):
    """The same of arguments, which each call packs."""
    state, given = nv.placeholder(h.shape), nv.placeholder((K, K))
    computation = cpu.computation(make(given, state), state, given)
    found = computation(h, w)
    assert computation.executable.report().panels == ()
    return found


def runs(computation):
    return [panel.runs for panel in computation.executable.report().panels]


def inner_panels(panels):
    """The panels inside of branches and loops, by their identities."""
    found = {}
    for kept in [each for listed in panels.inside.values() for each in listed]:
        found |= {id(panel): panel for panel in kept.own.values()} | inner_panels(kept)
    return found


# -- when something is packed --------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", LOOPS)
def test_calls_with_loops_pack_once_for_each_value(cpu, make):
    """Q21."""
    w, h = weights(), normal(4, K)
    run = program(cpu, make, w)
    count = len(runs(run))
    assert count == 1 + (make is turned)
    for number, values in enumerate([normal(K, K) * 0.1, normal(K, K, seed=1) * 0.1]):
        if number:
            cpu.set(w, values)
        wanted = expected(cpu, make, h, values)
        for _ in range(3):
            np.testing.assert_array_equal(run(h), wanted)
        assert runs(run) == [number + 1] * count


def test_a_constant_and_a_variable_in_borrowed_memory_are_packed_once(cpu):
    """Q21, Q39."""
    h, memory, large = normal(4, K), np.array(normal(K, K) * 0.1), normal(200, 200) * 0.1
    x, w = nv.placeholder((1, 200)), weights()
    fixed = cpu.computation(nv.scan(lambda h, _: (nv.tanh(nv.matmul(h, nv.constant(large))), None), x, length=3)[0], x)
    cpu.borrow(w, memory, version=1)
    lent, wanted, row = program(cpu, nested, w), expected(cpu, nested, h, memory), normal(1, 200)
    for _ in range(2):
        np.testing.assert_array_equal(lent(h), wanted)
        first = fixed(row)
    np.testing.assert_allclose(first, np.tanh(np.tanh(np.tanh(row @ large) @ large) @ large), rtol=1e-4, atol=1e-5)
    assert (runs(fixed), runs(lent)) == ([1], [1])
    memory[:] *= 0.5
    cpu.borrow(w, memory, version=2)
    np.testing.assert_array_equal(lent(h), expected(cpu, nested, h, memory))
    assert runs(lent) == [2]


def test_programs_share_what_their_loops_pack_alike_and_nothing_else(cpu):
    """A panel of the transposed weights is none of the weights, though the same code packs it."""
    w, h = weights(), normal(4, K)
    first, longer = program(cpu, scanned, w), program(cpu, lambda w, h: scanned(w, h, 5), w)
    other = program(cpu, turned, w)
    straight = program(cpu, lambda w, h: cell(w)(h), w)
    for _ in range(2):
        np.testing.assert_array_equal(first(h), expected(cpu, scanned, h, cpu.get(w)))
        np.testing.assert_array_equal(other(h), expected(cpu, turned, h, cpu.get(w)))
        np.testing.assert_array_equal(longer(h), expected(cpu, lambda w, h: scanned(w, h, 5), h, cpu.get(w)))
        np.testing.assert_array_equal(straight(h), expected(cpu, lambda w, h: cell(w)(h), h, cpu.get(w)))
    same, apart = inner_panels(first.executable._panels), inner_panels(other.executable._panels)
    assert same == inner_panels(longer.executable._panels) and len(same) == len(apart) == 1
    assert [each.bytes for each in same.values()] == [each.bytes for each in apart.values()] and not {*same} & {*apart}
    assert {id(each) for each in straight.executable._panels.own.values()} == {*same}
    assert runs(first) == runs(longer) == runs(straight) == [1]


def test_what_a_function_or_a_loop_assigns_is_not_kept(cpu):
    w, total, h = weights(), weights("total"), normal(4, K)
    x = nv.placeholder((4, K))
    train = cpu.computation([scanned(w, x), nv.assign(w, w * 0.5)], x)

    def step(h, _):
        return nv.sequential([nv.assign(total, total * 0.5), cell(total)(h)]), None
    inside = cpu.computation(nv.scan(step, x, length=3)[0], x)
    for _ in range(3):
        before, wanted = cpu.get(w), h
        np.testing.assert_array_equal(train(h)[0], expected(cpu, scanned, h, before))
        for at in range(1, 4):
            wanted = expected(cpu, lambda w, h: cell(w)(h), wanted, cpu.get(total) * np.float32(0.5 ** at))
        np.testing.assert_array_equal(inside(h), wanted)
    assert train.executable.report().panels == inside.executable.report().panels == ()


@pytest.mark.parametrize("is_slice", [True, False])
def test_what_another_iteration_has_other_values_of_is_not_kept(cpu, is_slice):
    """The inner loop reads a slice of a variable, or a carry, that stays the same for that loop alone."""
    stacked, h = nv.variable((3, K, K), normal(3, K, K) * 0.1), nv.placeholder((4, K))

    def of_slices(h, w):
        return scanned(w, h), None

    def of_carries(state, _):
        h, w = state
        return (scanned(w, h), w * 0.5), None
    made = nv.scan(of_slices, h, stacked)[0] if is_slice else nv.scan(of_carries, (h, stacked[0]), length=3)[0][0]
    run, state, values = cpu.computation(made, h), normal(4, K), normal(3, K, K) * 0.1
    for _ in range(2):
        wanted = state
        for at in range(3):
            wanted = expected(cpu, scanned, wanted, values[at] if is_slice else values[0] * 0.5 ** at)
        np.testing.assert_array_equal(run(state), wanted)
    assert inner_panels(run.executable._panels) == {}


# -- memory --------------------------------------------------------------------------------------------------------


def test_what_loops_keep_counts_as_a_panel_and_not_in_the_call(cpu):
    """V13, Q21: in front of the first call as behind it, and with lengths that are symbols."""
    w, h = weights(), normal(4, K)
    run, symbolic = program(cpu, nested, w), program(cpu, nested, w, nv.dim("n"))
    kept, bound = run.executable.memory({}).bytes, symbolic.executable.memory().bytes
    np.testing.assert_array_equal(run(h), symbolic(h))
    assert run.executable.memory({}).bytes == kept < BYTES
    assert nv.types.dim.evaluate(bound, {"n": 4}) < BYTES
    found = nv.explain(run, h, repeat=2)
    step = found.steps[-1]
    assert "inside, a weight is packed once per version of w" in step.notes
    assert f"inside step {step.number} is kept between calls: {BYTES:,} bytes, packed 1 time so far" in found.details()
    assert f"{BYTES:,} of packed panels" in str(found)


def test_what_finds_no_room_is_packed_in_each_run(cpu):
    """Q21, V13."""
    gc.collect()
    w, h = weights(), normal(4, K)
    run = program(cpu, scanned, w)
    kept = run.executable.memory({}).bytes
    with flags.overriding(panel_limit=0):
        for _ in range(2):
            np.testing.assert_array_equal(run(h), expected(cpu, scanned, h, cpu.get(w)))
    report = run.executable.report([h])
    assert report.panels == () and kept < BYTES < run.executable.memory({}).bytes
    notes = report.steps[-1].notes
    assert "inside, a weight is packed in each run: flags.panel_limit leaves no room for it" in notes
    given = nv.placeholder((K, K))
    state = nv.placeholder((4, K))
    apart = cpu.computation(scanned(given, state), state, given)
    assert "inside, a weight is packed in each run" in apart.executable.report().steps[-1].notes
    assert apart.executable.memory({}).bytes == run.executable.memory({}).bytes


def test_a_limit_does_not_count_what_is_kept(cpu):
    """V6, V13."""
    h, w = nv.placeholder((4, K)), weights()
    needed = program(nv.transformers.default(), scanned, w).executable.memory({}).bytes
    limited = nv.computation(scanned(w, h), h, memory_limit=needed)
    for _ in range(2):
        np.testing.assert_array_equal(limited(normal(4, K)), expected(cpu, scanned, normal(4, K), normal(K, K) * 0.1))
    assert limited.executable.memory({}).bytes == needed


# -- what is kept on disk ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [turned, nested])
def test_loops_off_the_disk_pack_at_their_first_call(tmp_path, make):
    h, results, made = normal(4, K), [], []
    with flags.overriding(cache_directory=str(tmp_path / "kept"), cache_executables=True):
        for _ in range(2):
            made.append(program(nv.transformers.make_transformer("cpu"), make, weights()))
            results.append([made[-1](h).tobytes() for _ in range(2)])
    assert results[0] == results[1] and made[1].executable.is_from_cache
    assert [each.runs for each in inner_panels(made[1].executable._panels).values()] == [1]
