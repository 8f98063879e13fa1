"""Rows of images between their places: other lengths, and elements at coordinates, with their gradients.

A gradient is that of the forward function, by nervure's own derivatives.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (1, 3, 4, 5)).output
>>> resize(x.type.with_(shape=(1, 3, 8, 10)), x, [8, 10], [], "bilinear", False).shape
(1, 3, 8, 10)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from nervure import ops
from nervure.autodiff.reverse import gradients
from nervure.bridges.torch.fitting import converted
from nervure.bridges.torch.row_table import row
from nervure.bridges.torch.unsupported import Unsupported
from nervure.front.creation import constant
from nervure.front.images.interpolation import affine_grid, grid_sample
from nervure.front.images.sampling import chosen, resized
from nervure.front.tensor import Tensor
from nervure.ir.op import Value
from nervure.types import dtype as types
from nervure.types.description import BasicTensorDescription as Type
from nervure.types.dim import DimLike

MODES = {"nearest": "nearest", "nearest-exact": "centre", "linear": "linear", "bilinear": "linear",
         "trilinear": "linear", "bicubic": "cubic"}
"""PyTorch's modes of ``interpolate``, and ours along each axis."""

_GRID_MODES, _PADDINGS = ("linear", "nearest", "cubic"), ("zeros", "border", "reflection")

_FINEST = 1 << 20
"""The largest denominator of a scale, so that places times it are exact in 64 bits."""


@row("nervure.resize.default")
def resize(result: Type, x: Value, lengths: Sequence[DimLike], scales: Sequence[float], mode: str,
           has_ends: bool) -> Value:
    found, first = Tensor(converted(x, x.dtype.compute)), x.rank - len(lengths)
    for at, length in enumerate(lengths, first):
        scale, step = scales[at - first] if scales else None, None
        if scale is not None:
            fraction = Fraction(scale).limit_denominator(_FINEST)
            step = fraction.denominator, fraction.numerator
        places = _rounded_places(mode, found, at, length, scale, step)
        found = chosen(found, at, constant(places)) if places is not None else resized(
            found, at, length, MODES[mode], has_ends, step)
    return converted(found.value, x.dtype)


def _rounded_places(mode: str, x: Tensor, at: int, after: DimLike, scale: float | None,
                    step: tuple[int, int] | None) -> np.ndarray | None:
    """Returns the places of the nearest elements along an axis of x as PyTorch rounds them.

    They are None where that moves none of them, and where a length is a symbol. PyTorch computes them in float32, also
    for images of float64 in two dimensions, whose scale it does not ask for where the length stays or is doubled.
    """
    before, is_flat, is_centre = x.type.shape[at], x.ndim == 4, mode == "nearest-exact"
    if not isinstance(before, int) or not isinstance(after, int) or "nearest" not in mode or (
            x.dtype is types.float64 and not is_flat):
        return None
    ratio = np.float32(1 / scale) if scale is not None else np.float32(before) / np.float32(after)
    if is_flat and not is_centre and after in (before, 2 * before):
        ratio = np.float32(before / after)
    halves = 2 * np.arange(after) + is_centre
    rounded = (halves.astype(np.float32) / np.float32(2) * ratio).astype(np.int64)
    above, below = step or (before, after)
    rounded, exact = [np.minimum(each, before - 1) for each in (rounded, halves * above // (2 * below))]
    return None if np.array_equal(rounded, exact) else rounded


@row("nervure.resize_backward.default")
def resize_backward(result: Type, gradient: Value, before: Sequence[DimLike], scales: Sequence[float], mode: str,
                    has_ends: bool) -> Value:
    lengths, x = gradient.shape[2:], ops.Full(0, gradient.dtype, tuple(before)).output
    found, = _derived(lambda x: resize(gradient.type, x, lengths, scales, mode, has_ends), gradient, x)
    return found


def _derived(forward: Callable[..., Value], gradient: Value, *operands: Value) -> list[Value]:
    """Returns the gradients of operands of a function, computed and added up in the type for that."""
    wide = [converted(x, x.dtype.compute) for x in operands]
    found = gradients([forward(*wide)], wide, [converted(gradient, gradient.dtype.compute)])
    return [converted(x.full(0) if part is None else part, x.dtype) for x, part in zip(operands, found, strict=True)]


@row("grid_sampler_2d.default", "grid_sampler_3d.default")
def sample_grid(result: Type, x: Value, grid: Value, mode: int, padding: int, has_ends: bool) -> Value:
    if not x.dtype.is_float or not grid.dtype.is_float:
        raise Unsupported(f"places of {x.dtype.name} elements at {grid.dtype.name} coordinates")
    return grid_sample(Tensor(x), Tensor(grid), _GRID_MODES[mode], _PADDINGS[padding], has_ends).value


@row("grid_sampler_2d_backward.default", "grid_sampler_3d_backward.default")
def sample_grid_backward(result: tuple[Type, Type], gradient: Value, x: Value, grid: Value, mode: int, padding: int,
                         has_ends: bool, wanted: Sequence[bool]) -> tuple[Value | None, ...]:
    def forward(x: Value, grid: Value) -> Value:
        return sample_grid(gradient.type, x, grid, mode, padding, has_ends)
    found = _derived(forward, gradient, x, grid)
    return tuple([part if is_wanted else None for part, is_wanted in zip(found, wanted, strict=True)])


@row("affine_grid_generator.default")
def grid_of_matrices(result: Type, matrices: Value, size: Sequence[DimLike], has_ends: bool) -> Value:
    return affine_grid(Tensor(matrices), list(size[2:]), has_ends).value


# -- lengths without aliasing: the weights of elements depend on lengths alone -----------------------------------------


def _triangle(distance: np.ndarray) -> np.ndarray:
    return np.maximum(1 - np.abs(distance), 0)


def _cubic(distance: np.ndarray) -> np.ndarray:
    """Returns Keys' cubic kernel of -1/2."""
    x = np.abs(distance)
    return np.where(x < 1, (1.5 * x - 2.5) * x * x + 1, np.where(x < 2, ((2.5 - 0.5 * x) * x - 4) * x + 2, 0))


_KERNELS = {"bilinear": (_triangle, 1), "bicubic": (_cubic, 2)}
"""For each mode the kernel of distances, and how far it reaches."""


def _weights(mode: str, before: DimLike, after: DimLike, has_ends: bool, scale: float | None) -> np.ndarray:
    """Returns the weight of each element of an axis for each element of that with the new length."""
    if not isinstance(before, int) or not isinstance(after, int):
        raise Unsupported("weights of an axis of unknown length")
    kernel, reach = _KERNELS[mode]
    step = (before - 1) / max(after - 1, 1) * (after > 1) if has_ends else 1 / scale if scale else before / after
    wide = max(step, 1.0)
    centre, place = step * (np.arange(after)[:, None] + 0.5), np.arange(before)
    first = np.maximum(np.trunc(centre - reach * wide + 0.5), 0)
    is_near = (place >= first) & (place < np.trunc(centre + reach * wide + 0.5))
    found = np.where(is_near, kernel((place - centre + 0.5) / wide), 0)
    return found / found.sum(1, keepdims=True)


def _weighted(x: Value, weights: np.ndarray, axis: int) -> Value:
    """Returns weighted sums along an axis of x, each of as many elements as the one of most weights needs."""
    places = np.arange(weights.shape[1])
    first = np.where(weights != 0, places, weights.shape[1]).min(1, initial=weights.shape[1])
    count = int((np.where(weights != 0, places, -1).max(1, initial=-1) - first).max(initial=0)) + 1
    first = np.clip(first, 0, weights.shape[1] - count)
    positions = first[:, None] + np.arange(count)
    shown = ops.Gather(x, ops.Constant(positions), axis).output
    factors = ops.Constant(np.take_along_axis(weights, positions, 1).astype(x.dtype.numpy))
    others = [d for d in range(shown.rank) if d not in (axis, axis + 1)]
    return ops.Sum(shown * ops.Broadcast(factors, shown.shape, others).output, axes=[axis + 1]).output


def _antialiased(mode: str) -> Callable[..., Value]:
    def forward(result: Type, x: Value, size: object, has_ends: bool, *scales: float | None) -> Value:
        _require_floats(x)
        found = converted(x, x.dtype.compute)
        for axis, scale in ((3, scales[1]), (2, scales[0])):
            found = _weighted(found, _weights(mode, x.shape[axis], result.shape[axis], has_ends, scale), axis)
        return converted(found, result.dtype)
    return forward


def _antialiased_backward(mode: str) -> Callable[..., Value]:
    def backward(result: Type, gradient: Value, size: object, before: object, has_ends: bool,
                 *scales: float | None) -> Value:
        _require_floats(gradient)
        found = converted(gradient, gradient.dtype.compute)
        for axis, scale in ((2, scales[0]), (3, scales[1])):
            weights = _weights(mode, result.shape[axis], gradient.shape[axis], has_ends, scale)
            found = _weighted(found, weights.T, axis)
        return converted(found, result.dtype)
    return backward


def _require_floats(x: Value) -> None:
    if not x.dtype.is_float:
        raise Unsupported(f"weighted sums of {x.dtype.name} elements")


for _mode in _KERNELS:
    row(f"_upsample_{_mode}2d_aa.default")(_antialiased(_mode))
    row(f"_upsample_{_mode}2d_aa_backward.default")(_antialiased_backward(_mode))
