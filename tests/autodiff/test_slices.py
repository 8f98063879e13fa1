"""Cotangents of slices are put beside each other, not added."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.autodiff import gradients
from nervure.ir.traverse import postorder


def parts_of(x: nv.ir.op.Value, lengths: tuple[int, ...], axis: int) -> list[nv.ir.op.Value]:
    """x cut along an axis."""
    found, start = [], 0
    for length in lengths:
        box = [(start, length, 1) if d == axis else (0, other, 1) for d, other in enumerate(x.shape)]
        found.append(ops.Slice(x, box).output)
        start += length
    return found


def kinds(value: nv.ir.op.Value) -> list[str]:
    return [type(op).__name__ for op in postorder([value]) if type(op) in (ops.Pad, ops.Add, ops.Concatenate)]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 0, 2)])
def test_slices_that_cover_a_tensor_give_one_concatenation(axis, order):
    x = nv.Parameter(nv.float32, (6, 6))
    parts = parts_of(x.value, (1, 2, 3), axis)
    seeds = [nv.Parameter(nv.float32, part.shape) for part in parts]
    outputs = [parts[at] * parts[at] for at in order]
    gradient, = gradients(outputs, [x], [seeds[at] for at in order])
    assert gradient is not None and type(gradient.op) is ops.Concatenate and gradient.op.axis == axis
    assert len(gradient.op.operands) == 3
    run = nv.transformers.make_transformer("interpreter").compile(nv.Function([gradient], [x, *seeds]))
    generator = np.random.default_rng(0)
    arrays = [generator.standard_normal(entry.value.shape).astype(np.float32) for entry in (x, *seeds)]
    result, = run(arrays)
    np.testing.assert_array_equal(result, 2 * arrays[0] * np.concatenate(arrays[1:], axis))


def test_what_overlaps_or_leaves_a_gap_is_added():
    x = nv.Parameter(nv.float32, (6,))
    apart = [ops.Slice(x, ((start, 2, 1),)).output for start in (0, 4)]
    over = [ops.Slice(x, ((start, 4, 1),)).output for start in (0, 2)]
    for outputs in (apart, over):
        gradient, = gradients(outputs, [x], [nv.Parameter(nv.float32, part.shape) for part in outputs])
        assert gradient is not None and kinds(gradient) == ["Pad", "Pad", "Add"]


def test_neighbours_that_do_not_cover_it_are_padded_once_and_others_are_added():
    x = nv.Parameter(nv.float32, (9,))
    first, second, _ = parts_of(x.value, (2, 3, 4), 0)
    outputs = [second, x.value, first]
    gradient, = gradients(outputs, [x], [nv.Parameter(nv.float32, value.shape) for value in outputs])
    assert gradient is not None and sorted(kinds(gradient)) == ["Add", "Concatenate", "Pad"]


def test_lengths_may_be_symbols():
    n = nv.dim("n")
    x = nv.Parameter(nv.float32, (2 * n, 3))
    outputs = [ops.Slice(x, ((start, n, 1), (0, 3, 1))).output for start in (0, n)]
    gradient, = gradients(outputs, [x], [nv.Parameter(nv.float32, part.shape) for part in outputs])
    assert gradient is not None and type(gradient.op) is ops.Concatenate
