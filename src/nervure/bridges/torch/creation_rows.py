"""Rows of tensors that are made of numbers alone.

>>> import nervure as nv
>>> full(nv.Parameter(nv.float32, (2, 3)).type, [2, 3], 0.5)
f32[2, 3] Full()
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure import ops
from nervure.bridges.torch.fitting import Given, converted, fitted
from nervure.bridges.torch.row_table import row
from nervure.bridges.torch.unsupported import Unsupported
from nervure.ir.op import Value
from nervure.types import dtype as types
from nervure.types.description import BasicTensorDescription as Type
from nervure.types.dim import Dim


@row("full.default")
def full(result: Type, size: Sequence[object], value: Given, *others: object) -> Value:
    return fitted(value, result.dtype, result.shape)


@row("full_like.default")
def full_like(result: Type, x: Value, value: Given, *others: object) -> Value:
    return fitted(value, result.dtype, result.shape)


@row("zeros_like.default")
def zeros_like(result: Type, *others: object) -> Value:
    return fitted(0, result.dtype, result.shape)


@row("zeros.default", "new_zeros.default")
def zeros(result: Type, *others: object) -> Value:
    return fitted(0, result.dtype, result.shape)


@row("ones_like.default", "ones.default", "new_ones.default")
def ones(result: Type, *others: object) -> Value:
    return fitted(1, result.dtype, result.shape)


@row("scalar_tensor.default")
def scalar_tensor(result: Type, value: Given, *others: object) -> Value:
    return fitted(value, result.dtype, result.shape)


@row("empty.memory_format", "empty_strided.default", "empty_like.default", "new_empty.default",
     "new_empty_strided.default")
def empty(result: Type, *others: object) -> Value:
    """Elements that no correct program reads are 0."""
    return fitted(0, result.dtype, result.shape)


@row("arange.start_step")
def arange(result: Type, start: Given, end: Given, step: Given, *others: object) -> Value:
    if not result.dtype.is_integer:
        return _float_range(result, start, step)
    if any([isinstance(entry, float) and not entry.is_integer() for entry in (start, step)]):
        raise Unsupported("integers in steps of a fraction")
    start, step = [int(entry) if isinstance(entry, float) else entry for entry in (start, step)]
    return _progression(result, start, step)


def _progression(result: Type, start: Given, step: Given) -> Value:
    """Returns whole numbers in equal steps."""
    positions = ops.Iota(result.shape, 0, types.int64).output
    return converted(positions * fitted(step, types.int64, result.shape)
                     + fitted(start, types.int64, result.shape), result.dtype)


def _float_range(result: Type, start: Given, step: Given) -> Value:
    if any([isinstance(entry, Dim) for entry in (start, step)]):
        raise Unsupported("numbers between lengths")
    exact = types.float64
    positions = ops.Iota(result.shape, 0, exact).output
    return converted(positions * float(step) + float(start), result.dtype)


@row("prims.iota.default")
def iota(result: Type, length: Given, start: Given, step: Given, *others: object) -> Value:
    return _progression(result, start, step)
