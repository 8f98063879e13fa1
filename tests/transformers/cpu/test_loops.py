"""Loops and branches as machine code: no Python between iterations, the bits of their bodies, interrupts, memory."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import flags, ops
from nervure.ops.looping import Scan
from nervure.transformers.cpu.region_code import RegionCode
from nervure.transformers.interpreter.step_list import StepList
from tests.threads import run_together
from tests.transformers.cpu.test_interrupts import check


def on(transformer, returns, *parameters):
    return nv.computation(returns, *parameters, transformer=nv.transformers.make_transformer(transformer))


def recurrent(length, batch=16, width=64):
    """A layer, unrolled for a number of iterations and as a loop: (loop, unrolled, parameter)."""
    rng = np.random.default_rng(0)
    xs = nv.placeholder((length, batch, width))
    u = nv.variable((width, width), rng.normal(size=(width, width)) * 0.1, nv.float32)
    def cell(h, x):
        h = nv.tanh(nv.matmul(h, u) + x)
        return h, h * 2.0
    start = nv.zeros((batch, width))
    loop = nv.scan(cell, start, xs)
    h, rows = start, []
    for at in range(length):
        h, row = cell(h, xs[at])
        rows.append(row)
    return loop, (h, nv.stack(rows)), xs, rng.normal(size=(length, batch, width)).astype(np.float32)


def test_no_python_runs_between_iterations(monkeypatch):
    """A373: branches, loops, and loops in loops, are machine code."""
    n = nv.placeholder((), nv.int64)
    x = nv.placeholder("T=t")
    total = nv.scan(lambda s, v: (nv.cond(s > 4, lambda: s - 4, lambda: s + v), s), 0.0, x, axis="T")
    count = nv.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, nv.fori_loop(0, 3, lambda i, s: s + i, c[1])),
                          (nv.constant(0, dtype=nv.int64), nv.constant(0, dtype=nv.int64)))
    compiled = on("cpu", [*total, count[1]], n, x)
    expected = on("interpreter", [*total, count[1]], n, x)(1000, np.ones(7, np.float32))
    compiled(3, np.ones(2, np.float32))
    def refused(*arguments, **keywords):
        raise AssertionError("Python runs")
    monkeypatch.setattr(StepList, "run", refused)
    for mine, theirs in zip(compiled(1000, np.ones(7, np.float32)), expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("threads", [1, 2])
def test_iterations_have_the_bits_of_the_unrolled_loop(threads):
    """A373: and they are shared by threads as any kernel is."""
    before, flags.threads = flags.threads, threads
    try:
        loop, unrolled, xs, data = recurrent(5)
        found = on("cpu", [*loop, *unrolled], xs)(data)
    finally:
        flags.threads = before
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(found[1], found[3])


@pytest.mark.parametrize("length", [0, 1, 5])
def test_what_is_the_same_in_all_iterations_runs_once(length):
    """A376: a transposed weight is packed before the loop, and what is computed of it alone, too."""
    rng = np.random.default_rng(0)
    xs, u = nv.placeholder((length, 16, 64)), nv.placeholder((64, 64))
    def cell(h, x):
        h = nv.tanh(nv.matmul(h, u.T) + x + nv.sum(nv.sin(u), out_axes=()) * 0.01)
        return h, h
    loop = nv.scan(cell, nv.zeros((16, 64)), xs)
    compiled = on("cpu", list(loop), xs, u)
    arrays = rng.normal(size=(length, 16, 64)).astype(np.float32), rng.normal(size=(64, 64)).astype(np.float32)
    h, rows = nv.zeros((16, 64)), []
    for at in range(length):
        h, row = cell(h, xs[at])
        rows.append(row)
    unrolled = on("cpu", [h, *rows], xs, u)(*arrays) if length else [np.zeros((16, 64), np.float32)]
    for _ in range(2):
        last, stacked = compiled(*arrays)
        np.testing.assert_array_equal(last, unrolled[0])
        np.testing.assert_array_equal(stacked, np.reshape(unrolled[1:], (length, 16, 64)))
    if length > 1:  # a single iteration is no loop
        code, = [code for code in compiled.executable.compilation.loaded.codes if isinstance(code, RegionCode)]
        kernels = code.functions[0].compiled.kernels
        assert 0 < code.functions[0].compiled.preheader < len(kernels)


def test_compiling_does_not_depend_on_the_length():
    """A374: the kernels of 10 iterations are those of 1,000."""
    made = []
    for length in (10, 1000):
        xs = nv.placeholder((length, 2, 8))
        compiled = on("cpu", list(nv.scan(lambda h, x: (nv.tanh(h + x),) * 2, nv.zeros((2, 8)), xs)), xs)
        code, = [code for code in compiled.executable.compilation.loaded.codes if isinstance(code, RegionCode)]
        made.append([kernel.key for kernel in code.functions[0].compiled.kernels])
    assert made[0] == made[1]


@pytest.mark.parametrize("length", range(5))
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("saved", [(), (0,), (1, 0)])
def test_carries_move_without_copies(length, reverse, saved):
    """A374: a body that swaps its carries, for every parity of the length."""
    a, b, x, k = [nv.Parameter(nv.float32, (3,)) for _ in range(4)]
    body = nv.Function([b, a + x * k, a], [a, b, x, k])
    operands = [nv.Parameter(nv.float32, shape) for shape in ((3,), (3,), (length, 3), (3,))]
    scan = Scan(*operands, body=body, carries=2, slices=1, length=length, reverse=reverse, saved=saved)
    function = nv.Function(scan.outputs, operands)
    rng = np.random.default_rng(length)
    arrays = [rng.normal(size=operand.shape).astype(np.float32) for operand in operands]
    found, expected = [nv.transformers.make_transformer(name).build(function)(arrays)
                       for name in ("cpu", "interpreter")]
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_operands_may_be_views_numbers_and_variables_of_another_order():
    x, data = nv.placeholder((3, 4)), np.arange(12.0, dtype=np.float32).reshape(3, 4)
    found = []
    for name in ("cpu", "interpreter"):
        w = nv.variable((2, 3), np.arange(6.0).reshape(2, 3), layout="F")
        last, rows = nv.scan(lambda h, v, w=w: (h + nv.sum(v) * w, h[:, 0]), w * 0 + 1, x.T, reverse=True)
        run = on(name, [last, rows, nv.assign(w, last)], x)
        found.append([*run(data)[:2], run.transformer.get(w)])
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_results_are_written_into_memory_that_the_caller_gives():
    x = nv.placeholder("T=t, F=3")
    compiled = on("cpu", list(nv.scan(lambda h, v: (h + v, h), nv.zeros("F=3"), x, axis="T")), x)
    data = np.ones((4, 3), np.float32)
    target = np.zeros((4, 3), np.float32)
    found = compiled.executable([data], out=[None, target])
    assert found[1] is target and target[:, 0].tolist() == [0, 1, 2, 3]


def test_a_branch_may_have_effects_and_no_result(capfd):
    x = nv.Parameter(nv.float32, ())
    shown, quiet = nv.Function([], [x], effects=[ops.PrintOp(x, "x")]), nv.Function([], [x])
    flag, given = nv.Parameter(nv.bool_, ()), nv.Parameter(nv.float32, ())
    choice = ops.If(flag, given, branches=(shown, quiet))
    run = nv.transformers.make_transformer("cpu").build(nv.Function([given], [flag, given], effects=[choice]))
    assert [run([flag, 2.0])[0].item() for flag in (True, False)] == [2.0, 2.0]
    assert capfd.readouterr().out == "x: 2.0\n"


def test_calls_side_by_side_share_nothing():
    x = nv.placeholder("T=t, F=64")
    compiled = on("cpu", list(nv.scan(lambda h, v: (nv.sin(h + v), h), nv.zeros("F=64"), x, axis="T")), x)
    data = np.random.default_rng(0).normal(size=(300, 64)).astype(np.float32)
    expected = compiled(data)
    for found in run_together(*[lambda: [compiled(data) for _ in range(20)]] * 4):
        for each in found:
            np.testing.assert_array_equal(each[1], expected[1])


def test_a_check_inside_of_a_loop_names_the_op():
    table, k = nv.constant([1.0, 2.0, 3.0]), nv.placeholder("T=t", nv.int64)
    printed = nv.scan(lambda s, at: (nv.print_op(s, "s") + table[at], None), 0.0, k, axis="T")[0]
    with pytest.raises(IndexError) as caught:
        on("cpu", [printed], k)([0, 7, 1])
    assert "7" in str(caught.value.got) and "test_loops.py" in str(caught.value.location)
    def step(s, at):
        return nv.host_call(lambda a: a, [s], like=s, effectful=True) + table[at], None
    with pytest.raises(nv.InvalidArgument, match="a check inside of it has failed"):
        on("cpu", [nv.scan(step, 0.0, k, axis="T")[0]], k)([0, 7, 1])


def test_an_explanation_says_what_a_loop_runs():
    """A374: the kernels of its body are steps of their own."""
    x = nv.placeholder("T=t")
    compiled = on("cpu", [nv.scan(lambda h, v: (h * v + 1, None), 0.0, x, axis="T")[0]], x)
    step, = [step for step in compiled.executable.report().steps if step.kind == "region"]
    assert (step.name, step.notes[0]) == ("Scan", "runs 1 step t times")


LOOP = """
w = nv.variable((), 1.0)
def forever(tiny):
    "A loop that never ends, of tiny iterations or large ones, after an assignment."
    size = () if tiny else (1 << 20,)
    last = nv.while_loop(lambda v: nv.sum(v) > -1, lambda v: nv.sin(v) * nv.sin(v), nv.zeros(size))
    return cpu.computation([nv.sum(last), nv.assign(w, w + 1)])
"""


@pytest.mark.parametrize("tiny", [True, False])
def test_a_loop_that_never_ends_is_interrupted_and_changes_nothing(tiny):
    """A375: signals are looked for between iterations."""
    check(f"""
    step = forever({tiny})
    assert late(step) < 5
    assert cpu.get(w) == 1.0
    """, LOOP)


def test_a_loop_and_its_derivative_use_ops_that_copy_operands():
    start, xs = nv.Parameter(nv.float32, ()), nv.Parameter(nv.float32, (4, 2))
    total, x = nv.Parameter(nv.float32, ()), nv.Parameter(nv.float32, (2,))
    body = nv.Function([total + ops.Sum(x, [0]).output], [total, x])
    scan = Scan(ops.Full(2.0, nv.float32, ()), ops.Reverse(xs, (0, 1)), body=body, carries=1, slices=1, length=4)
    run = nv.transformers.make_transformer("cpu").compile(nv.Function(scan.outputs, [start, xs]))
    assert run([0.0, np.ones((4, 2), np.float32)])[0] == 10.0


@pytest.mark.parametrize("trips", [0, 1, 5])
def test_what_is_the_same_in_all_iterations_of_a_while_loop_runs_once(trips):
    """A376: beside a condition that has values of its own."""
    rng = np.random.default_rng(0)
    u, start = nv.placeholder((64, 64)), nv.placeholder((16, 64))
    def body(state):
        return state[0] + 1, nv.tanh(nv.matmul(state[1], u.T) + nv.sum(nv.sin(u), out_axes=()) * 0.01)
    def goes_on(state):
        rows = nv.softmax(nv.matmul(state[1], state[1].T), 1)
        return nv.logical_and(state[0] < trips, nv.sum(nv.sum(rows * rows, 0) + nv.sum(rows, 1)) > -1.0)
    last = nv.while_loop(goes_on, body, (nv.constant(0, dtype=nv.int32), start))[1]
    compiled = on("cpu", [last], u, start)
    h = start
    for at in range(trips):
        h = body((at, h))[1]
    arrays = rng.normal(size=(64, 64)).astype(np.float32), rng.normal(size=(16, 64)).astype(np.float32)
    expected = on("cpu", [h * 1.0], u, start)(*arrays)[0]
    for _ in range(2):
        np.testing.assert_array_equal(compiled(*arrays)[0], expected)
    code, = [code for code in compiled.executable.compilation.loaded.codes if isinstance(code, RegionCode)]
    condition, of_body = [function.compiled for function in code.functions]
    assert condition.preheader == 0 and 0 < of_body.preheader < len(of_body.kernels)
