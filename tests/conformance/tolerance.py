"""The tolerances of results: those that each function declares, with a table of exceptions.

>>> scalar_tolerance("jax", "add", float32), scalar_tolerance("jax", "exp", float64).ulps
(Tolerance(ulps=0, absolute=0.0, is_zero_unsigned=False), 4)
"""

from __future__ import annotations

from typing import NamedTuple

import ml_dtypes
import numpy as np

from nervure.ops.scalar import SCALAR_FUNCTIONS
from nervure.types.dtype import DType, as_dtype, float32, float64
from tests.conformance.values import is_tiny

__all__ = ["EXACT", "SCALAR_ROWS", "Row", "Tolerance", "differs", "float32", "flushes_denormals", "scalar_tolerance"]


class Tolerance(NamedTuple):
    """Units in the last place of what is expected, and an absolute part; whether the sign of a zero is open."""

    ulps: float = 0
    absolute: float = 0.0
    is_zero_unsigned: bool = False


EXACT = Tolerance()


class Row(NamedTuple):
    """A line of the table: for a provider (None: each), functions, and an element type (None: each)."""

    provider: str | None
    functions: str
    dtype: DType | None
    tolerance: Tolerance
    reason: str


ROUNDED = tuple([name for name, declared in SCALAR_FUNCTIONS.items() if declared.ulps])
"""The functions of floats that are neither exact nor correctly rounded."""

SCALAR_ROWS = [
    Row("jax", "exp2", float64, Tolerance(1024), "XLA computes exp(x log 2), so the error of the product grows with x"),
    Row("jax", "sinh cosh", float64, Tolerance(1024), "XLA computes exp(x + log 0.5), which rounds a large x"),
    Row("jax", "log1p atanh", float64, Tolerance(256), "XLA's log1p leaves its series too late"),
    Row("jax", "erf_inv erfc", float64, Tolerance(64), "XLA's polynomials"),
    Row("xla", "exp2 sinh cosh", float64, Tolerance(1024), "as of jax: the same XLA"),
    Row("xla", "log1p atanh", float64, Tolerance(256), "as of jax: the same XLA"),
    Row("xla", "erf_inv", float64, Tolerance(1024), "XLA's polynomial, whose error grows towards 1"),
    Row("xla", "erfc tanh expm1 sigmoid", float64, Tolerance(64), "XLA's polynomials; 6 were seen of the last three"),
    Row("xla", "exp2 sinh cosh", float32, Tolerance(32), "the argument is rounded before exp; 24 were seen"),
    Row("xla", "expm1 tanh erf sigmoid", float32, Tolerance(8), "XLA's rational functions; 5 were seen"),
    Row(None, "maximum minimum", None, Tolerance(is_zero_unsigned=True), "which zero is the larger is not promised"),
]
"""What a provider does otherwise than follows from a function's declaration."""

COMPLEX_ROUNDED = "multiply divide sign absolute"
"""Of complex numbers these take several roundings; the bound is in parts of the magnitude."""


def scalar_tolerance(provider: str, function: str, dtype: DType) -> Tolerance:
    """The first row that fits, else what is declared; without either the result is exact.

    On the cpu float32 functions are polynomials in float32, as good as docs/accuracy.md promises, and on xla they are
    XLA's own. Elsewhere they are computed in float64 and rounded once, so that a tie may fall to either side. In
    float64 IEEE 754 leaves the last places to the library. Where a function has zeros between floats the error near
    them is absolute.
    """
    for row in SCALAR_ROWS:
        if row.provider in (None, provider) and row.dtype in (None, dtype) and function in row.functions.split():
            return row.tolerance
    declared = SCALAR_FUNCTIONS.get(function)
    if declared is None or not declared.ulps or not dtype.is_float:
        return EXACT
    if dtype is float64:
        return Tolerance(64 if declared.absolute else 4, declared.absolute)
    return Tolerance(declared.ulps if provider in ("cpu", "xla") else 1, declared.absolute)


def flushes_denormals(provider: str) -> bool:
    """Whether denormals count as zeros: XLA on CPUs sets the processor to do so."""
    return provider in ("jax", "xla")


def differs(got: np.ndarray, expected: np.ndarray, tolerance: Tolerance | np.ndarray = EXACT) -> np.ndarray:
    """Where a result is not what is expected; instead of a tolerance an array of absolute errors may be given."""
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    if got.dtype.kind == "c":
        return differs(got.real, expected.real, tolerance) | differs(got.imag, expected.imag, tolerance)
    dtype = as_dtype(got.dtype)
    if not dtype.is_float:
        return np.asarray(got != expected)
    with np.errstate(all="ignore"):
        mine, theirs = got.astype(np.float64), expected.astype(np.float64)
        is_same = (mine == theirs) & (np.signbit(mine) == np.signbit(theirs)) | (np.isnan(mine) & np.isnan(theirs))
        if isinstance(tolerance, Tolerance):
            allowed = tolerance.ulps * last_place(theirs, dtype) + tolerance.absolute
            if tolerance.is_zero_unsigned:
                is_same |= (mine == 0) & (theirs == 0)
        else:
            allowed = tolerance
        return ~(is_same | (np.abs(mine - theirs) <= allowed) & (allowed > 0))


def last_place(x: np.ndarray, dtype: DType) -> np.ndarray:
    """The distance from |x| (as float64) to the next float of a type."""
    info = ml_dtypes.finfo(dtype.numpy)
    _, exponent = np.frexp(np.where(np.isfinite(x), x, 0))
    return np.maximum(np.ldexp(1.0, exponent - 1 - info.nmant), float(info.smallest_subnormal))


def flushed(provider: str, *arrays: np.ndarray) -> np.ndarray | bool:
    """Where one of the arrays has a denormal that the provider takes for zero: nothing is asked there."""
    if not flushes_denormals(provider):
        return False
    return np.logical_or.reduce([is_tiny(array) for array in arrays])
