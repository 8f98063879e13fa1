"""Tangents of loops and branches: one loop beside the loop, and no bound where the number of iterations is open."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.ir.leaves import Parameter
from nervure.ir.region import RegionOp
from nervure.ops.exponential import Exp
from tests.conformance.running import TRANSFORMERS

pytestmark = pytest.mark.parametrize("transformer", TRANSFORMERS)


def slopes(f, at, along, transformer):
    """The value of f, its derivative along a direction, and what the difference of two values says."""
    x, v = nv.placeholder(np.shape(at), nv.float64), nv.placeholder(np.shape(at), nv.float64)
    returns = [*nv.jvp(f, (x,), (v,)), f(x)]
    run = nv.computation(returns, x, v, transformer=nv.transformers.make_transformer(transformer))
    value, slope, plain = run(at, along)
    assert value == plain
    step = 1e-6
    return value, slope, (run(at + step * np.asarray(along), along)[0]
                          - run(at - step * np.asarray(along), along)[0]) / (2 * step)


def root(x):
    """The square root by Newton's rule, in a loop without a bound."""
    return nv.while_loop(lambda r: nv.absolute(r * r - x) > 1e-12, lambda r: (r + x / r) / 2, x)


def test_a_while_loop_needs_no_bound(transformer):
    """A403: nested loops and second derivatives, too."""
    value, slope, _ = slopes(root, 9.0, 1.0, transformer)
    assert value == pytest.approx(3.0) and slope == pytest.approx(1 / 6)
    second = nv.jvp(lambda x: nv.jvp(root, (x,), (nv.constant(1.0, dtype=nv.float64),))[1],
                    (nv.constant(9.0, dtype=nv.float64),), (nv.constant(1.0, dtype=nv.float64),))[1]
    run = nv.computation(second, transformer=nv.transformers.make_transformer(transformer))
    assert run() == pytest.approx(-1 / 4 / 27, rel=1e-4)

    def sums(x):
        return nv.while_loop(lambda c: c[0] < 20.0, lambda c: (c[0] + root(c[1] * x), c[1] + 1.0),
                             (x * 0.0, nv.constant(1.0, dtype=nv.float64)))[0]
    _, slope, difference = slopes(sums, 2.0, 1.0, transformer)
    assert slope == pytest.approx(difference, rel=1e-5)


def test_a_loop_between_tensors(transformer):
    """A403: its bounds are open, and its counter does not move."""
    n, at = nv.placeholder((), nv.int64), nv.placeholder(())
    value, slope = nv.jvp(lambda x: nv.fori_loop(0, n, lambda i, y: y * x, 1.0), (at,), (1.0,))
    run = nv.computation([value, slope], n, at, transformer=nv.transformers.make_transformer(transformer))
    assert [entry.item() for entry in run(4, 3.0)] == [81.0, 108.0]
    assert [entry.item() for entry in run(0, 3.0)] == [1.0, 0.0]


def test_carries_that_begin_to_move(transformer):
    """A403: a carry moves because of another one, of a slice, or of what the loop captures."""
    def f(x):
        def step(carry, row):
            a, b, count = carry
            return (nv.sin(a + row * x[0]), b + a, count + 1), (a * b, count)
        zero = nv.constant(0.5, dtype=nv.float64)
        (a, b, _), (rows, counts) = nv.scan(step, (zero, zero, 0), x, reverse=True)
        return a + b + nv.sum(rows * counts)
    _, slope, difference = slopes(f, np.float64([0.3, -0.2, 0.9]), np.float64([1.0, 0.5, -2.0]), transformer)
    assert slope == pytest.approx(difference, rel=1e-6)


def test_branches_with_loops(transformer):
    """A403: tangents of the chosen branch; a result that stays in one branch moves in the other."""
    def f(x):
        three = nv.constant(3.0, dtype=nv.float64)
        one, other = nv.cond(x > 1.0, lambda: (root(x), x * 2.0), lambda: (x * 0.0 + 7.0, three))
        return one * other
    for at in (0.5, 4.0):
        _, slope, difference = slopes(f, at, 1.0, transformer)
        assert slope == pytest.approx(difference, rel=1e-6, abs=1e-9)


def test_the_forward_loop_runs_once(transformer):
    """A403: the loop of tangents computes no exponential, and reads those of the scan; linearize has a linear loop."""
    x, v = nv.placeholder((7,)), nv.placeholder((7,))
    def f(x):
        return nv.scan(lambda h, row: (nv.exp(h * 0.1) + row, None), 0.5, x)[0]
    function = nv.computation([*nv.jvp(f, (x,), (v,))], x, v,
                              transformer=nv.transformers.make_transformer(transformer)).optimised
    bodies = [body for op in function.operations if isinstance(op, RegionOp) for body in op.bodies]
    assert len(bodies) == 2
    assert [sum([isinstance(op, Exp) for op in body.operations]) for body in bodies] == [1, 0]
    assert all([isinstance(op, Parameter) for op in function.parameters])
    _, push = nv.linearize(f, np.ones(7, np.float32))
    ones, twos = push(np.ones(7, np.float32)).item(), push(np.full(7, 2, np.float32)).item()
    assert twos == pytest.approx(2 * ones, rel=1e-6)
