"""Operands in one element type and one shape, by PyTorch's rules of promotion and broadcasting.

>>> from nervure.ops import Parameter
>>> import nervure as nv
>>> x = Parameter(nv.int32, (3, 1)).output
>>> fitted(x, nv.float32, (2, 3, 4))
f32[2, 3, 4] Broadcast(Reshape)
>>> common(x, 0.5)
nervure.float32
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

from nervure import ops
from nervure.bridges.torch.torch_tensors import dtype_of, torch_dtype
from nervure.bridges.torch.unsupported import Foreign, Unsupported
from nervure.ir.op import Operand, Value, as_value
from nervure.types import dtype as types
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import Dim, DimLike, equal
from nervure.types.dtype import DType


class SymbolicNumber(NamedTuple):
    """A fraction that lengths decide: a float64 value without dimensions, which promotes as a number of Python does."""

    value: Value


Given = Foreign
"""An argument of an overload that stands for elements: a value, a number, or a length."""

Shape = Sequence[DimLike]


def fitted(x: Given, dtype: DType, shape: Shape) -> Value:
    """Returns a value or a number in an element type and, repeated along missing dimensions and those of length 1, in
    a shape.
    """
    if isinstance(x, Dim):
        return ops.Extent(x, dtype, tuple(shape)).output
    if isinstance(x, SymbolicNumber):
        return expanded(converted(x.value, dtype), shape)
    if not isinstance(x, Operand):
        return ops.Full(x, dtype, tuple(shape)).output
    return expanded(converted(as_value(x), dtype), shape)


def expanded(x: Value, shape: Shape) -> Value:
    """Repeats x along missing dimensions in front and along those of length 1."""
    shape = tuple(shape)
    if x.shape == shape:
        return x
    missing = len(shape) - x.rank
    if missing < 0:
        raise Unsupported(f"{x.type} in the shape {shape}")
    kept = [d for d, length in enumerate(x.shape) if length != 1 or shape[missing + d] == 1]
    if len(kept) < x.rank:
        x = ops.Reshape(x, [x.shape[d] for d in kept]).output
    stay = {missing + d for d in kept}
    new = [d for d in range(len(shape)) if d not in stay]
    if not new:
        return ops.AssumeShape(x, shape).output
    return ops.Broadcast(x, shape, new).output


def common_shape(values: Sequence[Value]) -> tuple[DimLike, ...]:
    """Returns the shape to which values are repeated together."""
    rank = max([value.rank for value in values])
    shape: list[DimLike] = [1] * rank
    for value in values:
        for d, length in enumerate(value.shape, rank - value.rank):
            if shape[d] == 1:
                shape[d] = length
            elif length != 1 and equal(shape[d], length) is not True:
                raise Unsupported(f"tensors of lengths {shape[d]} and {length}")
    return tuple(shape)


def converted(x: Value, dtype: DType) -> Value:
    """Returns x in another element type, as a cast of PyTorch does: integers wrap, small ones by way of 64 bits."""
    if x.dtype is dtype:
        return x
    if dtype.is_integer and x.dtype.is_complex:
        x = ops.Real(x).output
    if dtype.is_integer and x.dtype.is_float and dtype.bits < 32:
        x = ops.Convert(x, types.int64).output
    is_wrapping = dtype.is_integer and x.dtype.is_integer
    return ops.Convert(x, dtype, "wrap" if is_wrapping else "saturate").output


_PLAIN = {Dim: 1, SymbolicNumber: 1.0}
"""A number of Python for each kind of number that a call tells."""


def common(*operands: Given) -> DType:
    """Returns the element type in which values and numbers meet."""
    samples = [torch.empty((1,) * min(x.rank, 1), dtype=torch_dtype(x.dtype), device="meta")
               if isinstance(x, Operand) else _PLAIN.get(type(x), x) for x in operands]
    if not any([isinstance(x, torch.Tensor) for x in samples]):
        raise Unsupported("numbers alone")
    dims = [x for x in samples if isinstance(x, torch.Tensor) and x.dim()]
    # Ranks count before kinds of the same category: the rule is PyTorch's own, two operands at a time.
    ordered = [*dims, *[x for x in samples if not (isinstance(x, torch.Tensor) and x.dim())]]
    found = ordered[0]
    for other in ordered[1:]:
        kind = torch.result_type(found, other)
        rank = max(found.dim(), other.dim() if isinstance(other, torch.Tensor) else 0)
        found = torch.empty((1,) * rank, dtype=kind, device="meta")
    return dtype_of(found.dtype)


def pointwise(function: Callable[..., Operand], result: BasicTensorDescription, *operands: Given) -> Value:
    """Applies a function of equal types to operands in the result's element type and shape. Low-precision elements
    are computed in float32 and rounded once.
    """
    values = [widened(x, result.dtype, result.shape) for x in operands]
    return converted(as_value(function(*values)), result.dtype)


def widened(x: Given, dtype: DType, shape: Shape) -> Value:
    """Returns an operand in the type in which elements of ``dtype`` are computed."""
    if isinstance(x, Operand):
        x = converted(as_value(x), dtype)
    return fitted(x, dtype.compute, shape)


def axis_of(axis: int, rank: int) -> int:
    """Returns an axis counted from 0; a tensor without dimensions has the axes 0 and -1, too."""
    return axis % max(rank, 1)


def axes_of(axes: Sequence[int] | int | None, rank: int, all_if_none: bool = True) -> list[int]:
    """Returns axes counted from 0: all of them for None, and for an empty list if ``all_if_none``."""
    if isinstance(axes, int):
        axes = [axes]
    if axes is None or (all_if_none and not list(axes)):
        return list(range(rank))
    return [] if rank == 0 else [axis % rank for axis in axes]
