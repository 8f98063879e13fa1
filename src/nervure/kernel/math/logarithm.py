"""Logarithms by the reduction x = 2**k (1 + f) with f in [-1/3, 1/3), and a minimax polynomial in f.

The logarithm of 1 + f to a base is f / log(base), as a product of two constants with f, and a tail that is small
beside it; so no digits are lost for x near 1.

>>> from nervure.kernel.math.arrays import evaluate
>>> evaluate(log, np.array([0.0, 10.0])), evaluate(log2, np.array([8.0])), evaluate(log1p, np.array([1e-20]))
(array([      -inf, 2.30258509]), array([3.]), array([1.e-20]))
"""

from __future__ import annotations

import math
from typing import NamedTuple

from nervure.kernel.math.coefficients import LOG
from nervure.kernel.math.exponential import LOG_2
from nervure.kernel.math.minimax import polynomial
from nervure.kernel.math.namespace import Namespace, V, split_constant


class Base(NamedTuple):
    """A base of logarithms: 1 / log(base) and log(2) / log(base), each with its rounding error as a double."""

    unit: tuple[float, float]
    step: tuple[float, float]


NATURAL = Base((1.0, 0.0), LOG_2)
TWO = Base((1.4426950408889634, 2.0355273740931033e-17), (1.0, 0.0))
TEN = Base((0.4342944819032518, 1.098319650216765e-17), (0.3010299956639812, -2.8037281277851704e-18))


def log(s: Namespace[V], x: V) -> V:
    """Natural logarithm; 0 gives -inf, negative NaN."""
    return _logarithm(s, x, NATURAL)


def log2(s: Namespace[V], x: V) -> V:
    """Logarithm to base 2; exact for powers of two."""
    return _logarithm(s, x, TWO)


def log10(s: Namespace[V], x: V) -> V:
    """Logarithm to base 10."""
    return _logarithm(s, x, TEN)


def log1p(s: Namespace[V], x: V) -> V:
    """log(1 + x), exact near 0; -1 gives -inf, below NaN; -0.0 stays."""
    return log1p_doubled(s, x, None)


def log1p_doubled(s: Namespace[V], x: V, doublings: V | None) -> V:
    """log((1 + x) * 2**doublings); ``doublings`` must be 0 for x near 0 (None: everywhere)."""
    format = s.format
    whole = x + 1.0
    shifted = _shifted(s, whole, _LOW_END)
    # f = (1 + x) 2**-k - 1 from x itself, by way of 4 * 2**-k: 2**-k alone may be too small for a normal number.
    scale = s.from_bits(((2 * format.bias + 2) << format.mantissa) - (shifted & format.sign_and_exponent))
    is_tiny = s.absolute(x) < format.tiny
    f = s.fma(s.where(is_tiny, 0.0, x) * 0.25, scale, s.fma(scale, 0.25, -1.0))
    k = _biased_exponent(s, shifted) - (2.0 ** format.mantissa + format.bias)
    result = _special(s, whole, _combined(s, f, k if doublings is None else k + doublings, NATURAL))
    return s.where(is_tiny, x, result)


def split(s: Namespace[V], x: V, low_end: float) -> tuple[V, V]:
    """Returns (m, k) with x = 2**k m and m in [``low_end``, 2 * ``low_end``), for positive finite x; 1/2 < ``low_end``
    < 1.
    """
    format = s.format
    is_small = x < format.smallest_normal
    lift = format.mantissa + 1
    shifted = _shifted(s, s.where(is_small, x * 2.0 ** lift, x), low_end)
    m = (shifted & ((1 << format.mantissa) - 1)) + format.bits_of(low_end)
    bias = s.constant(2.0 ** format.mantissa + format.bias)
    lifted_bias = s.constant(2.0 ** format.mantissa + format.bias + lift)
    k = _biased_exponent(s, shifted) - s.where(is_small, lifted_bias, bias)
    return s.from_bits(m), k


_LOW_END = 2 / 3  # on [2/3, 4/3) a polynomial in m - 1 needs the fewest terms


def _logarithm(s: Namespace[V], x: V, base: Base) -> V:
    m, k = split(s, x, _LOW_END)
    return _special(s, x, _combined(s, m - 1.0, k, base))


def _shifted(s: Namespace[V], x: V, low_end: float) -> V:
    """Returns the bits of x, shifted so that the exponent changes at powers of two times ``low_end``; the exponent is
    biased.
    """
    format = s.format
    return s.bits(x) + ((format.bias << format.mantissa) - format.bits_of(low_end))


def _biased_exponent(s: Namespace[V], shifted: V) -> V:
    """Returns 2**mantissa + bias + k as a float: an integer becomes one when it is put into the lowest bits of
    2**mantissa.
    """
    mantissa = s.format.mantissa
    return s.from_bits(s.shift_right(shifted, mantissa) | s.format.bits_of(2.0 ** mantissa))


def _combined(s: Namespace[V], f: V, k: V, base: Base) -> V:
    """Returns the logarithm of (1 + f) * 2**k, adding up from the smallest part."""
    format = s.format
    unit, unit_rest = split_constant(*base.unit, format)
    step, step_rest = split_constant(*base.step, format)
    tail = f * f * polynomial(s, f, [base.unit[0] * c for c in LOG.of(s.format)])
    for x, factor in ((f, unit_rest), (k, step_rest), (f, unit), (k, step)):
        if factor == 1.0:
            tail = tail + x
        elif factor:
            tail = s.fma(x, factor, tail)
    return tail


def _special(s: Namespace[V], x: V, result: V) -> V:
    """Returns the result, except at 0, for negative numbers, at infinity and for NaN, where a logarithm has special
    values.
    """
    result = s.where(s.sign_bit(x), math.nan, result)
    result = s.where(s.equal(x, 0.0), -math.inf, result)
    return s.where(x < math.inf, result, x)
