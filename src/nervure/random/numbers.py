"""The numbers below distributions: uniform ones without 0 and 1, exponential ones; and results over given axes.

>>> import nervure as nv
>>> from nervure.types.dtype import float32
>>> x = nv.evaluate(exponentials(nv.make_axes((10_000,)), float32))
>>> bool(x.min() > 0), bool(abs(x.mean() - 1) < 0.1)
(True, True)
"""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes

from nervure import ops
from nervure.errors import AxisMismatch, DtypeMismatch, InvalidArgument, ShapeMismatch
from nervure.front.argument_parsing import real
from nervure.front.arranging.filled import full
from nervure.front.creation import as_tensor, read_axes
from nervure.front.op_functions import log1p, maximum, multiply, negative
from nervure.front.pointwise.elementwise import convert
from nervure.front.random import draw, uniform
from nervure.front.tensor import Operand, Tensor, TensorLike, is_scalar
from nervure.types.axes import Axes, AxesLike
from nervure.types.dim import DimLike, equal
from nervure.types.dtype import DType, DTypeLike, as_dtype, uint64


def floats(axes: AxesLike, dtype: DTypeLike, op: str) -> tuple[Axes, DType, DType]:
    """Returns axes, the element type of the result, and the one that computes; DtypeMismatch unless it is a float."""
    wanted = as_dtype(dtype)
    if not wanted.is_float or wanted.bits < 16:
        raise DtypeMismatch("random numbers have a float type of 16 bits or more", op=op, operand="dtype",
                            got=wanted.name, expected="float16, bfloat16, float32, float64",
                            help="convert them: x.astype(dtype)")
    return read_axes(axes), wanted, wanted.compute


def inner(axes: Axes, dtype: DType) -> Tensor:
    """Draws evenly from the inside of (0, 1): 0 becomes half of the least number above it."""
    return maximum(uniform(axes, dtype=dtype), step_of(dtype) / 2)


def exponentials(axes: Axes, dtype: DType) -> Tensor:
    """Draws from the exponential distribution with mean 1, without 0: -log(1 - u)."""
    return maximum(negative(log1p(negative(uniform(axes, dtype=dtype)))), step_of(dtype) / 2)


def step_of(dtype: DType) -> float:
    """Returns the distance of neighbours among uniform numbers."""
    return float(2.0 ** -(ml_dtypes.finfo(dtype.numpy).nmant + 1))


def finished(result: Tensor, axes: Axes, dtype: DType, op: str) -> Tensor:
    """Returns numbers of the element type; AxisMismatch if a parameter has axes that ``axes`` lack."""
    if result.ndim != len(axes) or not result.is_named and result.type.shape != axes.lengths:
        raise AxisMismatch("a parameter has more axes than the result", op=op, got=str(result.axes), expected=str(axes),
                           help="give all axes as the first argument; parameters are over some of them")
    return convert(result, dtype)


def check_chances(chances: Tensor, length: DimLike, op: str) -> None:
    """Raises ShapeMismatch unless there is one chance for each of ``length`` outcomes."""
    if chances.ndim != 1 or equal(chances.type.shape[0], length) is False:
        raise ShapeMismatch("each outcome has a chance", op=op, operand="p", got=str(chances.axes),
                            expected=f"{length} chances", help="axis= is that of the outcomes")


def spread(value: Operand, axes: Axes, dtype: DType, op: str) -> Tensor:
    """Returns a parameter over all axes."""
    return finished(multiply(full(axes, 1.0, dtype), value), axes, dtype, op)


def words(lengths: Sequence[DimLike]) -> Tensor:
    """Draws 64 random bits for each element, as uint64."""
    halves = convert(draw(ops.RandomBits, read_axes((*lengths, 2))), uint64)
    return halves[..., 0] | halves[..., 1] << 32


def parameter(value: TensorLike, op: str, operand: str, least: float | None = None,
              is_least_allowed: bool = False) -> Tensor | float:
    """Reads a parameter: a number, which is above ``least`` or may be equal to it, or a tensor of real numbers."""
    if not is_scalar(value):
        return as_tensor(value, op)
    number = real(value, op, operand)
    if least is not None and not (number > least or is_least_allowed and number == least):
        raise InvalidArgument(f"{operand} is out of range", op=op, operand=operand, got=value,
                              expected=f"{least:g} or more" if is_least_allowed else f"more than {least:g}",
                              help="1.0 is usual")
    return number
