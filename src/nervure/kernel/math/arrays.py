"""Mathematics evaluated over arrays of NumPy, with the bits of a processor that has fused multiply-add.

NumPy adds, multiplies, divides and takes square roots by IEEE 754. It lacks the fused multiply-add, which is composed
of error-free transformations (T. Dekker, "A floating-point technique for extending the available precision", 1971) and
of rounding to odd, after which a second rounding sees no false tie (S. Boldo and G. Melquiond, "Emulation of FMA and
correctly rounded sums: proved algorithms using rounding to odd", 2008).

>>> from nervure.kernel.math.exponential import exp
>>> evaluate(exp, np.float32([-np.inf, 0, 1]))
array([0.       , 1.       , 2.7182817], dtype=float32)
>>> tenth = np.array([0.1])
>>> Arrays(DOUBLE).fma(tenth, 10.0, -1.0), tenth * 10.0 - 1.0
(array([5.55111512e-17]), array([0.]))
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from nervure.kernel.math.namespace import DOUBLE, FLOAT, FloatFormat, MathFunction
from nervure.kernel.math.pairs import sum_and_rest

_SPLITTER = 2.0 ** 27 + 1  # splits a double into two halves
_FAR = 200  # binary digits between two numbers beyond which the smaller counts only by its sign
_UNDERFLOW = 2.0 ** -1021  # below this, a scaled number may lose bits


def evaluate(function: Callable[..., np.ndarray], *arrays: np.ndarray) -> np.ndarray:
    """Evaluates a function of :mod:`nervure.kernel.math` over flat arrays, all of float32 or all of float64."""
    with np.errstate(all="ignore"):
        return function(Arrays(FLOAT if arrays[0].dtype == np.float32 else DOUBLE), *arrays)


class Arrays:
    """The namespace over flat arrays. Integers are unsigned. Those of 128 bits are Python's, whose bits above the
    128th are cut off before a shift could move them down.
    """

    def __init__(self, format: FloatFormat) -> None:
        self.format, self._type = format, np.dtype(f"f{format.bits // 8}")

    @property
    def double(self) -> Arrays:
        return Arrays(DOUBLE)

    def constant(self, number: float) -> np.ndarray:
        return np.array([number], self._type)

    def fma(self, x: np.ndarray, y: np.ndarray | float, z: np.ndarray | float) -> np.ndarray:
        return fused_multiply_add(*np.broadcast_arrays(*[np.asarray(entry, self._type) for entry in (x, y, z)]))

    sqrt, absolute, floor, truncate, round, is_nan = map(
        staticmethod, (np.sqrt, np.abs, np.floor, np.trunc, np.rint, np.isnan))

    def equal(self, x: np.ndarray, y: np.ndarray | float) -> np.ndarray:
        return np.asarray(x == y)

    def not_equal(self, x: np.ndarray, y: np.ndarray | float) -> np.ndarray:
        return np.asarray(x != y)

    def where(self, condition: np.ndarray, x: np.ndarray | float, y: np.ndarray | float) -> np.ndarray:
        number = y.dtype if isinstance(y, np.ndarray) else self._type
        return np.where(condition, x if isinstance(x, np.ndarray) else np.array([x], number), y)

    def below(self, x: np.ndarray | int, y: np.ndarray | int) -> np.ndarray:
        return np.asarray(x < y)

    def bits(self, x: np.ndarray) -> np.ndarray:
        return x.view(f"u{x.itemsize}")

    def from_bits(self, x: np.ndarray) -> np.ndarray:
        return x.view(self._type)

    def sign_bit(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(x.view(f"i{x.itemsize}") < 0)

    def shift_left(self, x: np.ndarray, places: np.ndarray | int) -> np.ndarray:
        return x << places

    def shift_right(self, x: np.ndarray, places: np.ndarray | int) -> np.ndarray:
        return (x & ((1 << 128) - 1) if x.dtype == object else x) >> places

    def resized(self, x: np.ndarray, bits: int) -> np.ndarray:
        if x.dtype == object:
            x = x & ((1 << bits) - 1)
        return x.astype(object if bits == 128 else f"u{bits // 8}")

    def from_integer(self, x: np.ndarray) -> np.ndarray:
        return x.view(f"i{x.itemsize}").astype(self._type)

    def widened(self, x: np.ndarray) -> np.ndarray:
        return x.astype(np.float64)

    def narrowed(self, x: np.ndarray) -> np.ndarray:
        return x.astype(self._type)

    def table_word(self, name: str, content: bytes, start: np.ndarray) -> np.ndarray:
        found = np.frombuffer(content, np.uint8)[start[:, None] + np.arange(8, dtype=start.dtype)]
        return found.view(">u8")[:, 0].astype(np.uint64)

    def repeated(self, x: np.ndarray, goes_on: Callable[[np.ndarray], np.ndarray],
                 change: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        while goes_on(x).any():
            x = change(x)
        return x

    def rarely(self, needs: MathFunction, slow: MathFunction, x: np.ndarray, usual: np.ndarray) -> np.ndarray:
        lanes, result = needs(self, x), usual.copy()
        result[lanes] = slow(self, x[lanes])
        return result


def fused_multiply_add(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Computes x * y + z, rounded once, of flat arrays of one length, all of float32 or all of float64."""
    return _fma_of_floats(x, y, z) if x.dtype == np.float32 else _fma_of_doubles(x, y, z)


def _fma_of_floats(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Computes x * y + z of float32: the product is exact in float64, and its sum, rounded to odd there, rounds
    correctly.
    """
    product, z = x.astype(np.float64) * y, z.astype(np.float64)
    return _rounded_to_odd(*sum_and_rest(product, z)).astype(np.float32)


def fused_multiply_add_of_floats(x: float, y: float, z: float) -> float:
    """Computes x * y + z of single float32 as a double, which need only be rounded to float32 to be rounded once."""
    product = x * y
    total = product + z
    step = total - product
    rest = (product - (total - step)) + (z - step)
    if math.isnan(total):  # Python may take the operands of a sum in either order, arrays are added in that of writing
        return next(number for number in (x, y, product, z, total) if math.isnan(number))
    if not rest or not math.isfinite(total) or int(math.ldexp(math.frexp(total)[0], 53)) & 1:
        return total
    return math.nextafter(total, math.inf if rest > 0 else -math.inf)


def _fma_of_doubles(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Computes x * y + z of float64 by Boldo's and Melquiond's algorithm on the significands, which cannot overflow. A
    result that is subnormal, or nearly, would be rounded twice, and is computed in fractions instead.
    """
    (a, a_exponent), (b, b_exponent), (c, c_exponent) = [np.frexp(entry) for entry in (x, y, z)]
    exponent = a_exponent + b_exponent
    distance = c_exponent - exponent
    high, low = _product_and_rest(a, b)
    upper, rest = sum_and_rest(np.ldexp(c, np.clip(distance, -_FAR, _FAR)), low)
    upper, last = sum_and_rest(high, upper)
    total = upper + _rounded_to_odd(*sum_and_rest(rest, last))
    result = np.ldexp(total, exponent)
    result = np.where((distance > _FAR) & (z != 0), z, result)
    by_fractions = np.flatnonzero((np.abs(result) < _UNDERFLOW) & (total != 0))
    result[by_fractions] = [_exact(*numbers) for numbers in zip(*[entry[by_fractions].tolist() for entry in (x, y, z)])]
    is_finite = np.isfinite(x) & np.isfinite(y)
    result = np.where(is_finite & (x != 0) & (y != 0), result, x * y + z)
    return np.where(is_finite & ~np.isfinite(z), z, result)


def _exact(x: float, y: float, z: float) -> float:
    """Computes x * y + z of finite numbers whose sum is neither 0 nor out of range."""
    return float(Fraction(x) * Fraction(y) + Fraction(z))


def _product_and_rest(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the rounded product and its error, exactly, for moderate doubles (G. Veltkamp's and T. Dekker's)."""
    product = x * y
    (x, x_low), (y, y_low) = _halves(x), _halves(y)
    return product, ((x * y - product) + x * y_low + x_low * y) + x_low * y_low


def _halves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns x as the sum of two numbers of 26 bits."""
    large = x * _SPLITTER
    high = large - (large - x)
    return high, x - high


def _rounded_to_odd(total: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Joins a rounded sum and its error into one number: the neighbour with an odd significand, if there is an error.
    """
    bits = np.ascontiguousarray(total).view(np.int64)
    is_moved = (rest != 0) & np.isfinite(total) & (bits & 1 == 0)
    return (bits + np.where(is_moved, np.where((rest > 0) == (total > 0), 1, -1), 0)).view(np.float64)
