"""Functions of complex numbers, which are pairs of a real and an imaginary part.

>>> from nervure.kernel.math.arrays import Arrays
>>> from nervure.kernel.math.namespace import DOUBLE
>>> s, x, y = Arrays(DOUBLE), (np.array([1.0]), np.array([2.0])), (np.array([3.0]), np.array([-4.0]))
>>> multiply(s, x, y), absolute(s, y)
((array([11.]), array([2.])), array([5.]))

Products are the textbook's, so infinite ones may be NaN; quotients are those of R. Smith, "Algorithm 116: complex
division", Communications of the ACM 5 (1962). Magnitudes neither overflow nor underflow on the way.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from nervure.kernel.math.namespace import Namespace, V, with_sign_of


def multiply(s: Namespace[V], x: tuple[V, V], y: tuple[V, V]) -> tuple[V, V]:
    """Multiplies ``x`` by ``y``."""
    (a, b), (c, d) = x, y
    return a * c - b * d, a * d + b * c


def divide(s: Namespace[V], x: tuple[V, V], y: tuple[V, V]) -> tuple[V, V]:
    """Divides ``x`` by ``y``. Smith's two cases differ in which part of y is larger; the parts are exchanged instead.
    """
    (a, b), (c, d) = x, y
    size, other = s.absolute(c), s.absolute(d)
    is_upright = size >= other
    large, small = s.where(is_upright, c, d), s.where(is_upright, d, c)
    first, second = s.where(is_upright, a, b), s.where(is_upright, b, a)
    ratio = small / large
    scale = 1.0 / (large + small * ratio)
    turned = first * ratio
    re = (first + second * ratio) * scale
    im = (s.where(is_upright, second, turned) - s.where(is_upright, turned, second)) * scale
    is_zero = s.equal(size, 0.0) & s.equal(other, 0.0)
    return s.where(is_zero, a / size, re), s.where(is_zero, b / size, im)


def absolute(s: Namespace[V], x: tuple[V, V]) -> V:
    """Returns the length of ``x``."""
    scaled, unit = _scaled(s, x)
    is_infinite = _is_infinite(s, x[0]) | _is_infinite(s, x[1])
    return s.where(is_infinite, math.inf, s.narrowed(_length(s.double, scaled) * unit))


def sign(s: Namespace[V], x: tuple[V, V]) -> tuple[V, V]:
    """Returns x / |x|; 0 at 0. An infinite part outweighs a finite one, and two are NaN."""
    first, second = [_is_infinite(s, part) for part in x]
    one = s.constant(1.0)
    re = s.where(first, with_sign_of(s, one, x[0]), s.where(second, 0.0, x[0]))
    im = s.where(second, with_sign_of(s, one, x[1]), s.where(first, 0.0, x[1]))
    scaled, _ = _scaled(s, (s.where(first & second, math.nan, re), im))
    length = _length(s.double, scaled)
    is_zero = s.double.equal(length, 0.0)
    re, im = [s.narrowed(s.double.where(is_zero, 0.0, part / length)) for part in scaled]
    return re, im


def _scaled(s: Namespace[V], x: tuple[V, V]) -> tuple[tuple[V, V], V]:
    """Scales ``x`` by a power of two, to doubles whose squares neither overflow nor underflow; also returns the unit.
    """
    double, re, im = s.double, s.widened(x[0]), s.widened(x[1])
    one = double.constant(1.0)
    if s.format.bits < 64:
        return (re, im), one
    first, second = double.absolute(re), double.absolute(im)
    size = double.where(double.is_nan(first), first, double.where(first > second, first, second))
    is_large, is_small = size > 2.0**500, size < 2.0**-500
    factor = double.where(is_large, 2.0**-600, double.where(is_small, 2.0**600, one))
    unit = double.where(is_large, 2.0**600, double.where(is_small, 2.0**-600, one))
    return (re * factor, im * factor), unit


def _length(s: Namespace[V], x: tuple[V, V]) -> V:
    return s.sqrt(s.fma(x[0], x[0], x[1] * x[1]))


def _is_infinite(s: Namespace[V], x: V) -> V:
    return s.equal(s.absolute(x), math.inf)


def _is_finite(s: Namespace[V], x: V) -> V:
    return s.absolute(x) < math.inf


def _each(function: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
    """Applies a ``function`` of the namespace and parts to both parts."""
    return lambda s, *pairs: (function(s, *[pair[0] for pair in pairs]), function(s, *[pair[1] for pair in pairs]))


def _both(function: Callable[..., Any]) -> Callable[..., Any]:
    """Whether a ``function`` holds for both parts."""
    return lambda s, *pairs: operator.and_(*_each(function)(s, *pairs))


def _either(function: Callable[..., Any]) -> Callable[..., Any]:
    """Whether a ``function`` holds for one of the parts."""
    return lambda s, *pairs: operator.or_(*_each(function)(s, *pairs))


_add = _each(lambda s, x, y: x + y)

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "negative": _each(lambda s, x: -x), "absolute": absolute, "sign": sign,
    "add": _add, "subtract": _each(lambda s, x, y: x - y), "multiply": multiply, "divide": divide,
    "fma": lambda s, x, y, z: _add(s, multiply(s, x, y), z),
    "equal": _both(lambda s, x, y: s.equal(x, y)), "not_equal": _either(lambda s, x, y: s.not_equal(x, y)),
    "is_nan": _either(lambda s, x: s.is_nan(x)), "is_inf": _either(_is_infinite), "is_finite": _both(_is_finite),
    "real": lambda s, x: x[0], "imaginary": lambda s, x: x[1], "conjugate": lambda s, x: (x[0], -x[1]),
}
"""The functions of the scalar namespace for complex numbers, by their names."""
