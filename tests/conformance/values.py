"""Numbers to try ops with: every special value of an element type, and random ones of a domain.

>>> special(int8).tolist()[:4], random(float32, (2,), "positive", np.random.default_rng(0)).min() > 0
([-128, -127, -9, -8], np.True_)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from nervure.types.dtype import DType, as_dtype, float32, int8

__all__ = ["crossed", "float32", "int8", "is_tiny", "random", "special"]

Shape = tuple[int, ...]
Domain = str | tuple[int, int]
"""The name of a domain, or (low, high) for integers from low to high - 1."""


def special(dtype: DType) -> np.ndarray:
    """The values of a type at which something happens, at most 32."""
    if dtype.kind == "bool":
        return np.array([False, True])
    if dtype.is_integer:
        numbers = {dtype.minimum, dtype.minimum + 1, dtype.maximum - 1, dtype.maximum, dtype.maximum // 2 + 1,
                   dtype.bits - 1, dtype.bits, dtype.bits + 1, *range(-9, 10)}
        return np.array(sorted(number for number in numbers if dtype.minimum <= number <= dtype.maximum), dtype.numpy)
    if dtype.is_complex:
        parts = [0.0, -0.0, 1.0, -1.5, 3.0, math.inf]
        return np.array([complex(re, im) for re in parts for im in parts[:5]], dtype.numpy)
    info = ml_dtypes.finfo(dtype.numpy)
    with np.errstate(all="ignore"):
        limits = [info.smallest_subnormal, info.smallest_normal, info.max, 1 + info.eps, 1 - info.epsneg]
        numbers = [math.nan, math.inf, 0.0, 1.0, 0.5, 2.0, 3.0, 2.5, *map(float, limits)]
        plain = [1.5, 7.25, 0.1, 100.25, 1e-10, 1e10, float(info.smallest_normal - info.smallest_subnormal)]
        values = np.array([*[sign * number for number in numbers for sign in (1, -1)][1:], *plain], np.float64)
        return values.astype(dtype.numpy)


def is_tiny(array: np.ndarray) -> np.ndarray:
    """Where numbers are denormal in the type that is computed with, or the smallest that is not: XLA on CPUs takes
    denormals for zeros, before it rounds.
    """
    if array.dtype.kind in "biu" or as_dtype(array.dtype).is_integer:
        return np.zeros(array.shape, bool)
    if array.dtype.kind == "c":
        return is_tiny(array.real) | is_tiny(array.imag)
    limit = np.finfo(np.float64 if array.dtype == np.float64 else np.float32).smallest_normal
    with np.errstate(all="ignore"):
        size = np.abs(array.astype(np.float64))
    return (size > 0) & (size <= limit)


def crossed(values: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Every combination of elements: as many flat arrays as given, all of one length."""
    grid = np.meshgrid(*values, indexing="ij") if len(values) > 1 else values
    return [np.ascontiguousarray(entry).reshape(-1) for entry in grid]


_FLOATS: dict[str, Callable[[np.random.Generator, Shape], Any]] = {
    "normal": lambda rng, shape: rng.standard_normal(shape) * 2,
    "positive": lambda rng, shape: rng.random(shape) * 3 + 0.25,
    "fraction": lambda rng, shape: rng.random(shape) * 0.98 + 0.01,
    "unit": lambda rng, shape: rng.random(shape) * 1.8 - 0.9,
    "above one": lambda rng, shape: rng.random(shape) * 3 + 1.25,
    "low": lambda rng, shape: rng.random(shape) - 1.5,
    "high": lambda rng, shape: rng.random(shape) + 0.5,
    "distinct": lambda rng, shape: (rng.permutation(math.prod(shape)).reshape(shape) - math.prod(shape) / 3) / 4,
}


def random(dtype: DType, shape: Shape, domain: Domain, rng: np.random.Generator) -> np.ndarray:
    """Random numbers of a domain: integers are small, and 0 or more where the type or the domain says so."""
    if isinstance(domain, tuple):
        low, high = max(domain[0], dtype.minimum), min(domain[1], dtype.maximum + 1)
        return rng.integers(low, max(high, low + 1), shape).astype(dtype.numpy)
    if dtype.kind == "bool":
        return rng.random(shape) < 0.5
    if dtype.is_integer:
        low = 0 if domain == "positive" or not dtype.is_signed else -7
        return rng.integers(low, 8, shape).astype(dtype.numpy)
    values = _FLOATS[domain](rng, shape)
    if dtype.is_complex:
        return (values + 1j * _FLOATS[domain](rng, shape)).astype(dtype.numpy)
    if dtype.name == "float8_e8m0fnu":
        values = np.abs(values) + 0.125
    return np.asarray(values).astype(dtype.numpy)
