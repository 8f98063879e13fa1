"""Residuals: what a later loop computes again is stacked by the earlier one, if it is dear, and with the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.autodiff import gradients
from nervure.ir.function import Function
from nervure.ir.verify import verify
from nervure.ops.looping import Scan
from nervure.passes.pipelines import standard
from nervure.passes.residuals import residuals
from tests.passes.agreement import assert_agree, classes

N = nv.dim("N")


def parameter(*shape):
    return nv.Parameter(nv.float32, shape)


def scans(function):
    return [op for op in function.operations if isinstance(op, Scan)]


def layer(length, cell, second=False):
    """Gradients of a loop of ``cell(h, x, w)`` for start, slices and weight, or the gradients of these gradients."""
    h, x, w = parameter(2, 3), parameter(2, 3), parameter(3, 3)
    new = cell(h, x, w)
    start, xs, weight = parameter(2, 3), parameter(length, 2, 3), parameter(3, 3)
    scan = Scan(start, xs, weight, body=Function([new, new], [h, x, w]), carries=1, slices=1, length=length,
                saved=(0,))
    found = gradients(scan.outputs[:2], [start, xs, weight], [None, None])
    if second:
        found = gradients([ops.Sum(ops.Square(entry), range(entry.rank)) for entry in found], [start, weight],
                          [None] * 3)
    return standard(Function([scan.outputs[0], *found], [start, xs, weight])), Function(
        [scan.outputs[0], *found], [start, xs, weight])


def tanh_layer(h, x, w):
    return ops.Tanh(ops.MatMul(h, w) + x).output


@pytest.mark.parametrize("length", [0, 1, 2, 5])
@pytest.mark.parametrize("second", [False, True])
def test_gradients_stay(length, second):
    """A370: of first and second order, also without iterations and with one."""
    after, before = layer(length, tanh_layer, second)
    verify(after)
    rng = np.random.default_rng(length)
    arrays = [rng.normal(size=entry.output.shape).astype(np.float32) for entry in before.parameters]
    found, expected = [nv.transformers.make_transformer("interpreter").compile(each)(arrays)
                       for each in (after, before)]
    native = nv.transformers.make_transformer("cpu").build(before)(arrays)
    for mine, theirs, cpu in zip(found, expected, native, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(cpu, theirs, rtol=1e-5, atol=1e-5)


def test_a_recurrent_product_runs_once():
    """A370: the derivative computes neither the product nor its tanh again, for any length."""
    forward, backward = scans(layer(N, tanh_layer)[0])
    assert classes(forward.body).count("Contract") == 1 and "Tanh" in classes(forward.body)
    assert classes(backward.body).count("Contract") <= 2 and "Tanh" not in classes(backward.body)


def test_what_is_cheap_is_computed_again_and_the_smaller_side_is_kept():
    """A370: a square is no reason to keep anything; of a product of which a part is read, that part is kept."""
    forward, _ = scans(layer(4, lambda h, x, w: h * h + x)[0])
    assert len(forward.body.results) == 1 and forward.saved == (0,)
    def part(h, x, w):
        row = ops.Slice(ops.MatMul(h, w), ((0, 2, 1), (0, 1, 1))).output
        return h * ops.Broadcast(ops.Reshape(ops.Square(row), (2,)), (2, 3), (1,)).output + x
    forward, backward = scans(layer(4, part)[0])
    kept = [value.shape for value in forward.outputs[1:]]
    assert (4, 2, 1) in kept or (4, 2) in kept
    assert all(shape == (4, 2, 3) for shape in kept if shape not in {(4, 2, 1), (4, 2)})


def two_loops(length=4, other=4):
    """A loop, and one that does the same with its results, on fewer or as many slices."""
    def loop(start, xs, length):
        h, x = parameter(3), parameter(3)
        sine = ops.Sin(x)
        return Scan(start, xs, body=Function([h + sine, sine * h], [h, x]), carries=1, slices=1, length=length)
    start, xs = parameter(3), parameter(length, 3)
    first = loop(start, xs, length)
    return Function([*first.outputs, *loop(first.outputs[0], xs if other == length else ops.Slice(
        xs, ((0, other, 1), (0, 3, 1))), other).outputs], [start, xs])


def test_any_later_loop_reads_what_an_earlier_one_has():
    function = two_loops()
    after = residuals(function)
    verify(after)
    first, second = scans(after)
    assert classes(first.body).count("Sin") == 1 and classes(second.body).count("Sin") == 0
    rng = np.random.default_rng(0)
    assert_agree(function, after, [rng.normal(size=shape).astype(np.float32) for shape in ((3,), (4, 3))])


def test_loops_that_share_no_iterations_stay():
    function = two_loops(4, 3)
    assert residuals(function) is function
    start, xs = parameter(3), parameter(4, 3)
    bodies = []
    for _ in range(2):
        h, x = parameter(3), parameter(3)
        bodies.append(Function([h + ops.Sin(x)], [h, x]))
    apart = [Scan(start, xs, body=body, carries=1, slices=1, length=4).output for body in bodies]
    function = Function(apart, [start, xs])  # neither reads the other: which comes first is open
    assert residuals(function) is function
