"""Creation from axes alone: tensors of one number, ranges (iota), the identity; and triangles of matrices.

>>> import nervure as nv
>>> nv.zeros("N=2, C=3"), nv.full((2,), 7).tolist()
(<Tensor f32[N=2, C=3] Full 0.0>, [7.0, 7.0])
>>> nv.arange(2, 8, 3).tolist(), nv.iota(nv.axis("H", 3)).tolist(), nv.eye(2).tolist()
([2, 5], [0, 1, 2], [[1.0, 0.0], [0.0, 1.0]])

A parameter ``axes`` takes Axes, a list, a dict, a string, a plain shape, or a tensor, for its axes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nervure import ops
from nervure.errors import InvalidArgument, ShapeMismatch, WrongKind
from nervure.front.argument_parsing import real
from nervure.front.creation import as_tensor, constant, read_axes
from nervure.front.promotion import type_alone
from nervure.front.tensor import Number, Tensor, TensorLike, is_scalar
from nervure.front.traced_numbers import TracedNumber
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes, AxesLike, make_axes
from nervure.types.dim import Dim
from nervure.types.dtype import DType, DTypeLike, as_dtype, float32, float64, int64


def full(axes: AxesLike, number: Number, dtype: DTypeLike | None = None) -> Tensor:
    """Fills ``axes`` with one ``number``. ``dtype`` defaults to float32, or to the type of a bool, NumPy scalar or
    complex number.

    >>> nv.full("H=2", 7).tolist(), nv.full((2,), 7, nv.int8).tolist()
    ([7.0, 7.0], [7, 7])
    """
    if isinstance(number, TracedNumber):
        return constant(number, axes, dtype)
    if not is_scalar(number):
        raise WrongKind("full takes a number", op="full", operand=2, got=type(number).__name__, expected="a number",
                        help="nv.broadcast(x, axes) spreads a tensor")
    return _filled(read_axes(axes), number, type_alone(number) if dtype is None else as_dtype(dtype))


def zeros(axes: AxesLike = (), dtype: DTypeLike = float32) -> Tensor:
    """Fills ``axes`` with zeros, float32 unless ``dtype`` says otherwise.

    >>> nv.zeros((2,)).tolist(), nv.zeros("N=2, C=3").shape
    ([0.0, 0.0], (2, 3))
    """
    return _filled(read_axes(axes), 0, as_dtype(dtype))


def ones(axes: AxesLike = (), dtype: DTypeLike = float32) -> Tensor:
    """Fills ``axes`` with ones, float32 unless ``dtype`` says otherwise.

    >>> nv.ones((2,), nv.int32).tolist()
    [1, 1]
    """
    return _filled(read_axes(axes), 1, as_dtype(dtype))


def full_like(x: TensorLike, number: Number, dtype: DTypeLike | None = None) -> Tensor:
    """Fills the axes of ``x`` with one ``number``, in the element type of x unless ``dtype`` says otherwise.

    >>> nv.full_like(np.array([1, 2]), 7).tolist()
    [7, 7]
    """
    own = as_tensor(x, "full_like")
    return full(own.axes, number, own.dtype if dtype is None else dtype)


def zeros_like(x: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Fills the axes of ``x`` with zeros, in the element type of x unless ``dtype`` says otherwise.

    >>> nv.zeros_like(np.array([1, 2])).tolist()
    [0, 0]
    """
    return full_like(x, 0, dtype)


def ones_like(x: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Fills the axes of ``x`` with ones, in the element type of x unless ``dtype`` says otherwise.

    >>> nv.ones_like(np.array([5, 6]), dtype=nv.float32).tolist()
    [1.0, 1.0]
    """
    return full_like(x, 1, dtype)


def iota(axis: AxesLike, dtype: DTypeLike = int64) -> Tensor:
    """Counts 0, 1, 2, ... along one axis: an Axis, ``"H=28"`` or a length.

    >>> nv.iota("H=4").tolist()
    [0, 1, 2, 3]
    """
    axes = make_axes(axis)
    if len(axes) != 1:
        raise InvalidArgument("iota counts along one axis", op="iota", got=str(axes), expected="one axis",
                              help="nv.broadcast(nv.iota(axis), axes) repeats it")
    return Tensor(ops.Iota(axes.lengths, 0, as_dtype(dtype)), axes)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: DTypeLike | None = None) -> Tensor:
    """Counts from ``start`` (0 if only one number is given) to before ``stop`` in steps of ``step``; int64 for
    integers, else float32.

    ``nv.arange(n)`` takes a symbolic length.

    >>> nv.arange(4).tolist(), nv.arange(1, 2, 0.25).tolist()
    ([0, 1, 2, 3], [1.0, 1.25, 1.5, 1.75])
    """
    if stop is None:
        start, stop = 0, start
    if isinstance(stop, Dim) and is_scalar(start) and is_scalar(step) and (start, step) == (0, 1):
        return iota(stop, int64 if dtype is None else dtype)
    numbers = (start, stop, step)
    for operand, number in zip(("start", "stop", "step"), numbers, strict=True):
        real(number, "arange", operand, help="nv.iota(axis) counts along an axis")
    if step == 0:
        raise InvalidArgument("the step is 0", op="arange", operand="step", got=step, expected="a number but 0",
                              help="nv.full(axes, number) repeats a number")
    if all(isinstance(number, (int, np.integer)) for number in numbers):
        count = max(-((int(start) - int(stop)) // int(step)), 0)  # rounded up; len() fails for a range this long
        element = int64 if dtype is None else as_dtype(dtype)
        counted = ops.Convert(ops.Iota((count,), 0, int64) * int(step) + int(start), element)
        return Tensor(counted)
    return _arange_of_floats(float(start), float(stop), float(step), float32 if dtype is None else as_dtype(dtype))


def _arange_of_floats(start: float, stop: float, step: float, dtype: DType) -> Tensor:
    """Returns NumPy's numbers, ``start + i * ((start + step) - start)`` in float64, made when they are needed."""
    count = (stop - start) / step
    if not abs(count) < 2**63:
        raise InvalidArgument("there is no such number of numbers", op="arange", operand="stop",
                              got=f"{count} numbers",
                              expected="fewer than 2**63", help="give finite bounds and a larger step")
    counted = ops.Iota((max(math.ceil(count), 0),), 0, float64) * ((start + step) - start) + start
    return Tensor(ops.Convert(counted, dtype))


def eye(rows: AxesLike, columns: AxesLike | None = None, offset: int = 0, dtype: DTypeLike = float32) -> Tensor:
    """Makes a matrix with ones on a diagonal (``offset`` > 0: above the main one) and zeros elsewhere.

    ``rows`` and ``columns`` are lengths, one axis each, or ``rows`` is both axes at once. ``columns`` defaults to
    rows; a named axis needs both.

    >>> nv.eye(2).tolist(), nv.eye(2, 3, offset=1).tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    """
    axes = make_axes(rows) if columns is None else Axes([*make_axes(rows), *make_axes(columns)])
    if len(axes) == 1 and axes.is_anonymous:
        axes = make_axes(axes.lengths * 2)
    if len(axes) != 2:
        raise ShapeMismatch("a matrix has two axes", op="eye", got=str(axes), expected="two axes",
                            help="nv.eye(H, W), or a length")
    return Tensor(ops.Eye(axes.lengths, offset, as_dtype(dtype)), axes)


def tril(x: TensorLike, offset: int = 0) -> Tensor:
    """Returns x with zeros above a diagonal of the matrices in its last two axes (``offset`` > 0: a diagonal further
    up).

    >>> nv.tril([[1, 2], [3, 4]]).tolist()
    [[1.0, 0.0], [3.0, 4.0]]
    """
    own = as_tensor(x, "tril")
    return Tensor(ops.Tril(own.value, offset), own._axes)


def triu(x: TensorLike, offset: int = 0) -> Tensor:
    """Returns x with zeros below a diagonal of the matrices in its last two axes (``offset`` > 0: a diagonal further
    up).

    >>> nv.triu([[1, 2], [3, 4]]).tolist()
    [[1.0, 2.0], [0.0, 4.0]]
    """
    own = as_tensor(x, "triu")
    return Tensor(ops.Triu(own.value, offset), own._axes)


def _filled(axes: Axes, number: Number, dtype: DType) -> Tensor:
    return Tensor(ops.Full(number, dtype, axes.lengths), axes)


__all__ = ["arange", "eye", "full", "full_like", "iota", "ones", "ones_like", "tril", "triu", "zeros", "zeros_like"]

explain_keywords(globals(), __all__)
