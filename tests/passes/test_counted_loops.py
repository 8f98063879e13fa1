"""Loops that count: between single numbers they are while loops, and their numbers take no memory."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.ops.looping import Scan, While
from nervure.passes.counted_loops import counted_loops
from tests.passes.agreement import assert_same_bits

N = nv.dim("n")


def counting(length, reverse, dtype, change, **attributes):
    """A scan over its own positions, between two numbers and with one that it captures."""
    a, b, k, own = [nv.Parameter(entry, ()) for entry in (nv.int64, nv.float64, dtype, nv.float64)]
    results = [a * 3 + ops.Convert(k, nv.int64), change(b, ops.Convert(k, nv.float64).output, own)]
    body = nv.Function(results, [a, b, k, own])
    outside = [nv.Parameter(entry, ()) for entry in (nv.int64, nv.float64, nv.float64)]
    given = nv.Parameter(nv.float32, (length,))
    scan = Scan(outside[0], outside[1], ops.Iota((length,), None, dtype), outside[2], body=body, carries=2, slices=1,
                length=length, reverse=reverse, **attributes)
    return nv.Function([*scan.outputs, given], [*outside, given])


@pytest.mark.parametrize("dtype", [nv.int64, nv.uint64])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [0, 3, 70, N])
def test_they_become_while_loops_with_the_same_values(dtype, reverse, length):
    """A379: in both directions, of any length."""
    function = counting(length, reverse, dtype, lambda b, k, own: b * own + k)
    changed = counted_loops(function)
    assert [type(op) for op in changed.operations if isinstance(op, (Scan, While))] == [While]
    interpreter, cpu = [nv.transformers.make_transformer(name) for name in ("interpreter", "cpu")]
    for size in [0, 1, 9] if length is N else [length]:
        arrays = [np.int64(2), 0.5, -0.75, np.zeros(size, np.float32)]
        expected = interpreter.compile(function)(arrays)
        for found in (interpreter.compile(changed)(arrays), cpu.build(function)(arrays)):
            for mine, theirs in zip(found, expected, strict=True):
                assert_same_bits(mine, theirs)
    interpreter.close(), cpu.close()


def test_other_loops_stay_as_they_are():
    saved = counting(9, False, nv.int64, lambda b, k, own: b * own + k, saved=(0,))
    assert counted_loops(saved) is saved
    narrow = counting(9, False, nv.int32, lambda b, k, own: b * own + k)
    assert counted_loops(narrow) is narrow
    table = nv.Parameter(nv.float32, (4,))
    total, k, own = nv.Parameter(nv.float32, ()), nv.Parameter(nv.int64, ()), nv.Parameter(nv.float32, (4,))
    body = nv.Function([total + ops.Sum(own, [0]) * ops.Convert(k, nv.float32)], [total, k, own])
    scan = Scan(nv.Parameter(nv.float32, ()), ops.Iota((9,)), table, body=body, carries=1, slices=1, length=9)
    function = nv.Function(scan.outputs, [scan.operands[0], table])
    assert counted_loops(function) is function


@pytest.mark.parametrize("reverse", [False, True])
def test_the_numbers_of_iterations_take_no_memory(reverse):
    """A411: of a loop over larger values, with slices beside, in loops in loops, and where they are a result, too."""
    x, rows = nv.placeholder((3,)), nv.placeholder((N,))
    numbers = nv.arange(N, dtype=nv.int64)

    def step(carry, parts):
        row, k = parts
        inner = nv.fori_loop(0, 3, lambda j, w: w + (j * k).astype(nv.float32), carry)
        return inner * 0.5 + row * k.astype(nv.float32), carry
    last, stacked = nv.scan(step, x, (rows, numbers), reverse=reverse)
    with nv.transformers.make_transformer("cpu") as cpu, nv.transformers.make_transformer("interpreter") as reference:
        made = [each.computation([last, stacked, numbers + 1], x, rows) for each in (cpu, reference)]
        for length in (0, 1, 2, 7):
            given = np.float32([1, -2, 3]), np.arange(length, dtype=np.float32) - 2
            for mine, theirs in zip(*[each(*given) for each in made], strict=True):
                assert_same_bits(mine, theirs)
        long, short = [cpu.computation(nv.fori_loop(0, trips, lambda k, v: v * 0.5 + k.astype(nv.float32), x), x)
                       for trips in (1_000_000, 10)]
        assert long.executable.memory({}).bytes == short.executable.memory({}).bytes < 2000
        assert "Scan" in str(long.optimised) and "Iota" in str(long.optimised)
