"""sinh, cosh, tanh and their inverses: of abs(x), the sign is put back at the end.

tanh is a polynomial near 0, else 1 - 2 / (e**2x + 1). sinh and cosh come from those of a small r = abs(x) - n log(2),
which are short polynomials, by their addition theorems, so without a division. The inverses are logarithms of 1 plus
something that stays precise near 0 (W. Kahan, "Branch cuts for complex elementary functions", 1987).

>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.transformers.cpu.compile.llvm.types import F32
>>> b = Builder("f", [("x", F32.vector(8))], F32.vector(8))
>>> b.ret(tanh(b.arguments[0]))
>>> sum("fdiv" in line for line in b.text().splitlines())
1
"""

from __future__ import annotations

import math
from typing import NamedTuple

from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.transformers.cpu.math.coefficients import COSH, SINH, TANH
from nervure.transformers.cpu.math.exponential import expm1_of_small, reduce
from nervure.transformers.cpu.math.floats import (
    at_least,
    at_most,
    format_of,
    low_bits_as_power,
    magnitude,
    with_sign_of,
)
from nervure.transformers.cpu.math.logarithm import log1p, log1p_doubled
from nervure.transformers.cpu.math.polynomial import polynomial
from nervure.transformers.cpu.math.root import sqrt

_NEAR = 0.55  # tanh(0.55) is a little more than 1/2
_LARGE = 2.0 ** 60  # the square is finite, and 1 is nothing beside it, in float and double


def tanh(x: Register) -> Register:
    """Hyperbolic tangent; +-1 at infinities."""
    b, format, size = x.builder, format_of(x.type), magnitude(x)
    square = size * size
    near = b.fma(size * square, polynomial(square, TANH), size)
    bounded = at_most(size, 0.4 * format.mantissa)  # tanh rounds to 1 well before
    reduced = reduce(bounded + bounded, format.bias)
    power = low_bits_as_power(reduced.counter)
    far = 1.0 - 2.0 / b.fma(power, expm1_of_small(reduced.r), power + 1.0)
    return with_sign_of(b.where(size < _NEAR, near, far), x)


def sinh(x: Register) -> Register:
    """Hyperbolic sine."""
    b, size = x.builder, magnitude(x)
    parts = _hyperbolic_parts(size)
    half = parts.odd + b.fma(parts.odd, parts.cosh_less_1, parts.even * parts.sinh)
    return with_sign_of(b.where(size < format_of(x.type).tiny, size, half + half), x)


def cosh(x: Register) -> Register:
    """Hyperbolic cosine."""
    parts = _hyperbolic_parts(magnitude(x))
    half = parts.even + x.builder.fma(parts.even, parts.cosh_less_1, parts.odd * parts.sinh)
    return half + half


def asinh(x: Register) -> Register:
    """Inverse of sinh."""
    size = magnitude(x)
    square = size * size
    near = size + square / (sqrt(square + 1.0) + 1.0)
    return with_sign_of(_log1p_or_doubled(size, near), x)


def acosh(x: Register) -> Register:
    """Inverse of cosh; below 1 NaN."""
    above = x - 1.0
    near = above + sqrt(above * (above + 2.0))
    return x.builder.where(x < 1.0, math.nan, _log1p_or_doubled(x, near))


def atanh(x: Register) -> Register:
    """Inverse of tanh; +-1 gives +-inf, outside NaN."""
    size = magnitude(x)
    return with_sign_of(log1p((size + size) / (1.0 - size)) * 0.5, x)


class _Parts(NamedTuple):
    """Of x = n log(2) + r: cosh(n log(2)) / 2 and sinh(n log(2)) / 2, cosh(r) - 1 and sinh(r)."""

    even: Register
    odd: Register
    cosh_less_1: Register
    sinh: Register


def _hyperbolic_parts(x: Register) -> _Parts:
    """x is not negative."""
    b, format = x.builder, format_of(x.type)
    bias = format.bias - 2  # both powers of two are divided by 4, as e**x may overflow where sinh(x) does not
    reduced = reduce(at_most(x, (format.bias + 2.1) * math.log(2)), bias)
    rising = low_bits_as_power(reduced.counter)
    falling = low_bits_as_power(at_least((format.rounder + bias) - reduced.n, format.rounder))
    square = reduced.r * reduced.r
    return _Parts(rising + falling, rising - falling, square * polynomial(square, COSH),
                  b.fma(reduced.r * square, polynomial(square, SINH), reduced.r))


def _log1p_or_doubled(x: Register, near: Register) -> Register:
    """log1p(near), but log(2 x) where x is so large that ``near`` may be out of range."""
    b, is_large = x.builder, x > _LARGE
    return log1p_doubled(b.where(is_large, x, near), b.where(is_large, b.constant(x.type, 1.0), 0.0))
