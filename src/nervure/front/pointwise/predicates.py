"""Questions about numbers: is one NaN, infinite or finite, are two close or equal.

>>> import numpy as np
>>> import nervure as nv
>>> nv.isnan([1.0, np.nan]).tolist(), nv.isclose([1.0, 2.0], [1.0, 2.1]).tolist(), nv.allclose([1.0], [1.0]).item()
([False, True], [True, False], True)
"""

from __future__ import annotations

import math

from nervure.front.apply import is_weak, operand_tensors
from nervure.front.argument_parsing import truth
from nervure.front.creation import as_tensor, constant
from nervure.front.evaluation_order import in_order
from nervure.front.op_functions import (
    absolute,
    add,
    equal,
    is_finite,
    is_inf,
    is_nan,
    less_equal,
    logical_and,
    logical_or,
    multiply,
    subtract,
)
from nervure.front.pointwise.elementwise import convert
from nervure.front.statistics import reductions
from nervure.front.tensor import Operand, Tensor
from nervure.support.elsewhere import explain_keywords
from nervure.types.dim import equal as same_length
from nervure.types.dtype import DType, float32, float64

__all__ = ["allclose", "array_equal", "isclose", "isfinite", "isinf", "isnan", "isneginf", "isposinf"]


def isnan(x: Operand) -> Tensor:
    """Whether each element is NaN; integers and truth values never are.

    >>> nv.isnan(np.array([1.0, np.nan])).tolist()
    [False, True]
    """
    return is_nan(_real_number(x, "isnan"))


def isinf(x: Operand) -> Tensor:
    """Whether each element is infinite.

    >>> nv.isinf(np.array([1.0, -np.inf])).tolist()
    [False, True]
    """
    return is_inf(_real_number(x, "isinf"))


def isfinite(x: Operand) -> Tensor:
    """Whether each element is neither infinite nor NaN.

    >>> nv.isfinite(np.array([1.0, np.inf, np.nan])).tolist()
    [True, False, False]
    """
    return is_finite(_real_number(x, "isfinite"))


def isposinf(x: Operand) -> Tensor:
    """Whether each element is infinity.

    >>> nv.isposinf(np.array([np.inf, -np.inf])).tolist()
    [True, False]
    """
    return equal(_real_number(x, "isposinf"), math.inf)


def isneginf(x: Operand) -> Tensor:
    """Whether each element is minus infinity.

    >>> nv.isneginf(np.array([np.inf, -np.inf])).tolist()
    [False, True]
    """
    return equal(_real_number(x, "isneginf"), -math.inf)


@in_order
def isclose(x: Operand, y: Operand, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Whether |x - y| <= ``atol`` + ``rtol`` * \\|y\\|, element by element. Equal infinities are close.

    NaN is close to NaN if ``equal_nan`` says so. Integers are compared in float64.

    >>> nv.isclose(np.array([1.0, np.inf]), np.array([1.000001, np.inf])).tolist()
    [True, True]
    """
    given = [entry if is_weak(entry) else _real_number(entry, "isclose", at, float64)
             for at, entry in enumerate((x, y), 1)]
    left, right = [_real_number(entry, "isclose", at, float64)
                   for at, entry in enumerate(operand_tensors(given, "isclose"), 1)]
    bound = add(atol, multiply(rtol, absolute(right)))
    near = logical_and(less_equal(absolute(subtract(left, right)), bound), is_finite(right))
    near = logical_or(near, equal(left, right))
    return logical_or(near, logical_and(is_nan(left), is_nan(right))) if truth(
        equal_nan, "isclose", "equal_nan") else near


@in_order
def allclose(x: Operand, y: Operand, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Whether all elements of x are close to those of y, as ``nv.isclose`` says.

    >>> nv.allclose([1.0, 2.0], [1.0, 2.1]).item()
    False
    """
    return reductions.all(isclose(x, y, rtol, atol, equal_nan), out_axes=())


def array_equal(x: Operand, y: Operand) -> Tensor:
    """Whether x and y have the same shape, and equal elements.

    >>> nv.array_equal([1, 2], [1, 2]).item(), nv.array_equal([1, 2], [1, 2, 3]).item()
    (True, False)
    """
    left, right = operand_tensors((x, y), "array_equal")
    lengths = left.type.shape, right.type.shape
    if len(lengths[0]) != len(lengths[1]) or any([same_length(a, b) is False for a, b in zip(*lengths, strict=True)]):
        return constant(False)
    return reductions.all(equal(left, right), out_axes=())


def _real_number(x: Operand, name: str, operand: int = 1, dtype: DType = float32) -> Tensor:
    """Returns numbers that can be NaN: integers and truth values in a float type."""
    own = as_tensor(x, name, operand)
    return own if own.dtype.is_float or own.dtype.is_complex else convert(own, dtype)


explain_keywords(globals(), __all__)
