"""Helpers of the tests of passes: running functions, values at which algebra goes wrong, comparing bits."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

import nervure as nv
from nervure.ir.function import Function
from nervure.types.dtype import DType

FLOATS = (0.0, -0.0, 1.0, -1.0, 1.5, -2.5, 3.0, float("inf"), -float("inf"), float("nan"))


def special_values(dtype: DType) -> np.ndarray:
    """Zeros, units, limits, denormals, NaN: as many as the type has."""
    if dtype.kind == "bool":
        return np.array([False, True])
    if dtype.is_integer:
        low, high = int(dtype.minimum), int(dtype.maximum)
        wanted = [low, low + 1, -1, 0, 1, 2, 3, 7, high - 1, high]
        return np.array([value for value in dict.fromkeys(wanted) if low <= value <= high], object).astype(dtype.numpy)
    if dtype.kind == "complex":
        parts = (0.0, -0.0, 1.5, float("inf"), float("nan"))
        return np.array([complex(re, im) for re in parts for im in parts], dtype.numpy)
    with np.errstate(all="ignore"):
        limits = np.array([dtype.maximum, dtype.minimum, 1e-3], np.float64)
        values = np.concatenate([np.array(FLOATS), limits]).astype(dtype.numpy)
    smallest = np.array([1], f"uint{dtype.bits}").view(dtype.numpy)
    return np.concatenate([values, smallest])


def grids(dtypes: Sequence[DType]) -> list[np.ndarray]:
    """One array a type: together they hold every combination of special values."""
    columns = [special_values(dtype) for dtype in dtypes]
    places = list(itertools.product(*[range(len(column)) for column in columns]))
    return [column[[place[at] for place in places]] for at, column in enumerate(columns)]


def twice_negated(x: Any) -> Any:
    """x, in a way that algebra sees through."""
    return nv.ops.Negative(nv.ops.Negative(x)).output


def run(function: Function, arrays: Sequence[Any]) -> tuple[np.ndarray, ...]:
    """The results of a function on the interpreter, as it stands."""
    return nv.transformers.make_transformer("interpreter").compile(function)(list(arrays))


def assert_same_bits(left: np.ndarray, right: np.ndarray, note: object = "") -> None:
    """Equal type, shape and values, the sign of zeros included; a NaN equals a NaN."""
    assert left.dtype == right.dtype and left.shape == right.shape, note
    if left.dtype.kind == "c":
        assert_same_bits(left.real, right.real, note)
        assert_same_bits(left.imag, right.imag, note)
        return
    if left.dtype.kind in "biu":
        same = left == right
    else:
        with np.errstate(all="ignore"):
            left, right = left.astype(np.float64), right.astype(np.float64)
        same = ((left == right) & (np.signbit(left) == np.signbit(right))) | (np.isnan(left) & np.isnan(right))
    assert same.all(), f"{note}: {left[~same][:5]} against {right[~same][:5]} at {np.argwhere(~same)[:5].tolist()}"


def assert_agree(before: Function, after: Function, arrays: Sequence[Any], note: object = "") -> None:
    """Two functions give the same bits."""
    for left, right in zip(run(before, arrays), run(after, arrays), strict=True):
        assert_same_bits(left, right, note)


def classes(function: Function) -> list[str]:
    """The classes of a function's ops in order, without its parameters."""
    return [type(op).__name__ for op in function.operations if type(op) is not nv.Parameter]
