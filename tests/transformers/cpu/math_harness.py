"""Vector functions called on arrays, and how far what they give is from the exact values.

>>> exp = on_arrays("exp", np.float32, lanes=8)
>>> exp(np.float32([0, 1])).tolist()
[1.0, 2.7182817459106445]
>>> ulps(np.float32([2.7182817459106445]), np.exp([1.0])).tolist()  # np.exp is close enough to e here
[0.30...]
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath
import numpy as np

from nervure.transformers.cpu.cache.loader import load
from nervure.transformers.cpu.compile.codegen.scalars.mathematics import FUNCTIONS
from nervure.transformers.cpu.compile.compiler import compile_object
from nervure.transformers.cpu.compile.llvm.builder import Builder, assemble
from nervure.transformers.cpu.compile.llvm.types import F32, F64, I64, PTR

LANES = {np.float32: (1, 4, 8, 16), np.float64: (1, 2, 4, 8)}


def module_text(name: str, dtype: Any, lanes: int, operands: int = 1) -> str:
    """A function ``run(sources..., target, count)`` over arrays whose length is a multiple of ``lanes``."""
    element = F32 if dtype is np.float32 else F64
    b = Builder("run", [*[(f"source{at}", PTR) for at in range(operands)], ("target", PTR), ("count", I64)])
    *sources, target, count = b.arguments
    with b.loop(0, count, lanes) as loop:
        loaded = [b.load(b.offset(source, loop.index, element), element.vector(lanes)) for source in sources]
        b.store(FUNCTIONS[name](*loaded), b.offset(target, loop.index, element))
    b.ret()
    return assemble([b])


@cache
def on_arrays(name: str, dtype: Any, lanes: int, operands: int = 1) -> Callable[..., np.ndarray]:
    """The function of that name, on vectors of ``lanes``, over whole arrays."""
    library = load(compile_object(module_text(name, dtype, lanes, operands)))
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (operands + 1), ctypes.c_int64)(library.address("run"))

    def call(*arrays: np.ndarray) -> np.ndarray:
        assert len(arrays) == operands and all(array.dtype == dtype for array in arrays) and library
        count = len(arrays[0])
        padded = -(-count // lanes) * lanes
        filled = [np.concatenate([array, np.ones(padded - count, dtype)]) for array in arrays]
        target = np.empty(padded, dtype)
        run(*[array.ctypes.data for array in filled], target.ctypes.data, padded)
        return target[:count]

    return call


def ulps(got: np.ndarray, exact: np.ndarray, rest: np.ndarray | float = 0.0) -> np.ndarray:
    """Units in the last place between ``got`` and the wider, exact ``exact + rest``; NaN for NaN is 0, else inf. What
    overflows counts as the power of two above the greatest number.
    """
    info, integer = np.finfo(got.dtype), np.uint32 if got.dtype == np.float32 else np.uint64
    exponents = integer(((1 << info.iexp) - 1) << info.nmant)
    with np.errstate(all="ignore"):
        nearest = exact.astype(got.dtype)
        power = (nearest.view(integer) & exponents).view(got.dtype)
        unit = np.maximum(power * info.eps, info.smallest_subnormal).astype(np.float64)
        error = np.abs((got.astype(np.float64) - exact) - rest) / unit
        at = np.flatnonzero(~(np.isfinite(got) & np.isfinite(nearest)))
        error[at] = _ulps_at_ends(got[at].astype(np.float64), exact[at], info)
    return error


def _ulps_at_ends(got: np.ndarray, exact: np.ndarray, info: Any) -> np.ndarray:
    bound = 2.0 ** info.maxexp if info.maxexp < 1024 else np.inf
    near, far = np.clip(got, -bound, bound), np.clip(exact, -bound, bound)
    error = np.where(near == far, 0.0, np.abs(near - far) / 2.0 ** (info.maxexp - 1 - info.nmant))
    return np.where(np.isnan(got) & np.isnan(exact), 0.0, np.where(np.isnan(got) | np.isnan(exact), np.inf, error))


def exact_parts(function: Callable[..., Any], *arrays: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(exact, rest): the values of a function of mpmath as sums of two float64. What it cannot do is NaN."""
    def one(*numbers: float) -> tuple[float, float]:
        try:
            value = function(*[mpmath.mpf(number) for number in numbers])
        except (ValueError, ZeroDivisionError):
            return np.nan, 0.0
        if isinstance(value, mpmath.mpc) or mpmath.isnan(value):
            return np.nan, 0.0
        if mpmath.isinf(value) or mpmath.mag(value) > 1100:
            return float(np.inf if value > 0 else -np.inf), 0.0
        high = 0.0 if mpmath.mag(value) < -1200 else float(value)
        return high, float(value - high) if np.isfinite(high) and high else 0.0

    with mpmath.workdps(50):
        pairs = [one(*[float(x) for x in row]) for row in zip(*arrays)]
    return np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs])


def random_of_each_exponent(dtype: Any, count: int, seed: int) -> np.ndarray:
    """Random bits below the exponent, ``count`` numbers for each sign and exponent, denormals included."""
    bits, mantissa = (32, 23) if dtype is np.float32 else (64, 52)
    heads = np.arange(1 << (bits - mantissa), dtype=np.uint64) << mantissa
    tails = np.random.default_rng(seed).integers(0, 1 << mantissa, (len(heads), count), dtype=np.uint64)
    return (heads[:, None] | tails).ravel().astype(np.uint32 if bits == 32 else np.uint64).view(dtype)
