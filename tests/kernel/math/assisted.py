"""Counts the arithmetic that leaves the normal numbers, lane by lane: what costs a microcode assist on some processors.

Operations with a denormal operand or result do, and so do those whose result is 0 only because it is too small. Moves,
comparisons and arithmetic of bits do not.

>>> x = np.float32([1e-30, 0.0, 1.0])
>>> assisted_lanes(lambda s, x: x * x, x)[1].tolist()
[True, False, False]
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from nervure.kernel.math.arrays import Arrays
from nervure.kernel.math.namespace import DOUBLE, FLOAT, FloatFormat, MathFunction

_WATCHED = (np.add, np.subtract, np.multiply, np.true_divide, np.sqrt)


def assisted_lanes(function: Callable[..., Any], *arrays: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(results, whether any arithmetic of a lane was assisted) of a function of :mod:`nervure.kernel.math`."""
    s = Watching(FLOAT if arrays[0].dtype == np.float32 else DOUBLE, np.zeros(arrays[0].shape, bool))
    with np.errstate(all="ignore"):
        result = function(s, *[_Watched.of(array, s.assisted) for array in arrays])
    return np.asarray(result), s.assisted


def is_denormal(x: np.ndarray) -> np.ndarray:
    """Whether floats are neither 0 nor normal."""
    return (x != 0) & (np.abs(x) < np.finfo(x.dtype).tiny)


class Watching(Arrays):
    """The namespace over arrays, which marks the lanes whose arithmetic is assisted."""

    def __init__(self, format: FloatFormat, assisted: np.ndarray) -> None:
        super().__init__(format)
        self.assisted = assisted

    @property
    def double(self) -> Watching:
        return Watching(DOUBLE, self.assisted)

    def constant(self, number: float) -> np.ndarray:
        return self._watched(super().constant(number))

    def fma(self, x: np.ndarray, y: np.ndarray | float, z: np.ndarray | float) -> np.ndarray:
        operands = np.broadcast_arrays(*[np.asarray(entry, self._type) for entry in (x, y, z)])
        result = super().fma(*operands)
        self.assisted |= _is_assisted(operands, result, _vanished_sum(*operands, result))
        return self._watched(result)

    def where(self, condition: np.ndarray, x: np.ndarray | float, y: np.ndarray | float) -> np.ndarray:
        return self._watched(super().where(condition, x, y))

    def from_bits(self, x: np.ndarray) -> np.ndarray:
        return self._watched(super().from_bits(x))

    def from_integer(self, x: np.ndarray) -> np.ndarray:
        return self._watched(super().from_integer(x))

    def widened(self, x: np.ndarray) -> np.ndarray:
        self.assisted |= is_denormal(np.asarray(x))
        return self._watched(super().widened(np.asarray(x)))

    def narrowed(self, x: np.ndarray) -> np.ndarray:
        x = np.asarray(x)
        result = super().narrowed(x)
        self.assisted |= is_denormal(result) | ((result == 0) & (x != 0))
        return self._watched(result)

    def rarely(self, needs: MathFunction, slow: MathFunction, x: np.ndarray, usual: np.ndarray) -> np.ndarray:
        lanes, result = np.asarray(needs(self, x)), np.array(usual)
        apart = Watching(self.format, self.assisted[lanes])
        result[lanes] = slow(apart, _Watched.of(np.asarray(x)[lanes], apart.assisted))
        self.assisted[lanes] |= apart.assisted
        return self._watched(result)

    def _watched(self, x: np.ndarray) -> np.ndarray:
        return _Watched.of(x, self.assisted)


class _Watched(np.ndarray):
    """An array whose arithmetic marks the lanes in which it is assisted."""

    assisted: np.ndarray

    @staticmethod
    def of(x: np.ndarray, assisted: np.ndarray) -> np.ndarray:
        view = np.asarray(x).view(_Watched)
        view.assisted = assisted
        return view

    def __array_finalize__(self, parent: Any) -> None:
        self.assisted = getattr(parent, "assisted", None)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        assert method == "__call__" and not options, (ufunc, method)
        operands = [np.asarray(entry) if isinstance(entry, np.ndarray) else entry for entry in inputs]
        result = ufunc(*operands)
        if result.dtype.kind == "f" and ufunc in _WATCHED:
            operands = [np.asarray(entry, result.dtype) for entry in operands]
            self.assisted |= _is_assisted(operands, result, _vanished(ufunc, operands, result))
        return _Watched.of(result, self.assisted)


def _is_assisted(operands: Any, result: np.ndarray, vanished: np.ndarray) -> np.ndarray:
    marks = vanished | is_denormal(result)
    for operand in operands:
        marks = marks | is_denormal(operand)
    return marks


def _vanished(ufunc: np.ufunc, operands: list[np.ndarray], result: np.ndarray) -> np.ndarray:
    """Whether a result is 0 because it is too small; sums and roots never are."""
    if ufunc is np.multiply:
        return (result == 0) & (operands[0] != 0) & (operands[1] != 0)
    if ufunc is np.true_divide:
        return (result == 0) & (operands[0] != 0) & np.isfinite(operands[1])
    return np.zeros(result.shape, bool)


def _vanished_sum(x: np.ndarray, y: np.ndarray, z: np.ndarray, result: np.ndarray) -> np.ndarray:
    """Whether x * y + z is 0 because it is too small."""
    marks = (result == 0) & (x != 0) & (y != 0)
    for place in np.flatnonzero(marks & (z != 0)):
        marks[place] = Fraction(float(x[place])) * Fraction(float(y[place])) + Fraction(float(z[place])) != 0
    return marks
