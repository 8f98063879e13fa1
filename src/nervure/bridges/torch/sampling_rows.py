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

from nervure import ops
from nervure.autodiff.reverse import gradients
from nervure.bridges.torch.fitting import converted
from nervure.bridges.torch.row_table import row
from nervure.bridges.torch.unsupported import Unsupported
from nervure.front.images.interpolation import grid_sample
from nervure.front.images.sampling import resized
from nervure.front.tensor import Tensor
from nervure.ir.op import Value
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
    for number, length in enumerate(lengths):
        step = None
        if scales:
            scale = Fraction(scales[number]).limit_denominator(_FINEST)
            step = scale.denominator, scale.numerator
        found = resized(found, first + number, length, MODES[mode], has_ends, step)
    return converted(found.value, x.dtype)


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
