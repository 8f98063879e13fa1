"""log, log2, log10 and log1p: x = 2**k (1 + f) with f in [-1/3, 1/3), and a polynomial in f.

The logarithm to a base of 1 + f is f / log(base), as a product of two constants with f, and a tail that is small beside
it; so nothing is lost where x is near 1.

>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.transformers.cpu.compile.llvm.types import F32
>>> b = Builder("f", [("x", F32.vector(8))], F32.vector(8))
>>> b.ret(log(b.arguments[0]))
>>> sum(".fma." in line for line in b.text().splitlines())
10
"""

from __future__ import annotations

import math
from typing import NamedTuple

from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.transformers.cpu.compile.llvm.types import F32, F64
from nervure.transformers.cpu.math.coefficients import LOG
from nervure.transformers.cpu.math.exponential import LOG_2
from nervure.transformers.cpu.math.floats import Format, format_of, is_negative, magnitude, split_constant
from nervure.transformers.cpu.math.polynomial import polynomial


class Base(NamedTuple):
    """A base of logarithms: 1 / log(base) and log(2) / log(base), each with what a double lacks of it."""

    unit: tuple[float, float]
    step: tuple[float, float]


NATURAL = Base((1.0, 0.0), LOG_2)
TWO = Base((1.4426950408889634, 2.0355273740931033e-17), (1.0, 0.0))
TEN = Base((0.4342944819032518, 1.098319650216765e-17), (0.3010299956639812, -2.8037281277851704e-18))


def log(x: Register) -> Register:
    """Natural logarithm; 0 gives -inf, negative NaN."""
    return _logarithm(x, NATURAL)


def log2(x: Register) -> Register:
    """Logarithm to base 2; exact for powers of two."""
    return _logarithm(x, TWO)


def log10(x: Register) -> Register:
    """Logarithm to base 10."""
    return _logarithm(x, TEN)


def log1p(x: Register) -> Register:
    """log(1 + x), exact near 0; -1 gives -inf, below NaN; -0.0 stays."""
    return log1p_doubled(x, None)


def log1p_doubled(x: Register, doublings: Register | None) -> Register:
    """log((1 + x) * 2**doublings); where x is near 0, ``doublings`` is 0 (None: everywhere)."""
    b, format = x.builder, format_of(x.type)
    whole = x + 1.0
    shifted = _shifted(whole, _LOW_END)
    # f = (1 + x) 2**-k - 1 from x itself, by way of 4 * 2**-k: 2**-k alone may be too small for a normal number.
    exponents = ((1 << (x.type.bits - format.mantissa)) - 1) << format.mantissa
    scale_bits = x.builder.constant(shifted.type, (2 * format.bias + 2) << format.mantissa) - (shifted & exponents)
    scale = scale_bits.bitcast(x.type.element)
    f = b.fma(x * 0.25, scale, b.fma(scale, 0.25, -1.0))
    k = _biased_exponent(shifted, format) - (2.0 ** format.mantissa + format.bias)
    result = _special(whole, _combined(f, k if doublings is None else k + doublings, NATURAL))
    return b.where(magnitude(x) < format.tiny, x, result)


def split(x: Register, low_end: float) -> tuple[Register, Register]:
    """(m, k) with x = 2**k m and m in [``low_end``, 2 * ``low_end``), of positive finite x; 1/2 < ``low_end`` < 1."""
    b, format = x.builder, format_of(x.type)
    is_small = x < format.smallest_normal
    lift = format.mantissa + 1
    shifted = _shifted(b.where(is_small, x * 2.0 ** lift, x), low_end)
    m = (shifted & ((1 << format.mantissa) - 1)) + format.bits_of(low_end)
    bias = b.constant(x.type, 2.0 ** format.mantissa + format.bias)
    lifted_bias = b.constant(x.type, 2.0 ** format.mantissa + format.bias + lift)
    k = _biased_exponent(shifted, format) - b.where(is_small, lifted_bias, bias)
    return m.bitcast(x.type.element), k


_LOW_END = 2 / 3  # [2/3, 4/3) is where a polynomial in m - 1 needs the fewest terms


def _logarithm(x: Register, base: Base) -> Register:
    m, k = split(x, _LOW_END)
    return _special(x, _combined(m - 1.0, k, base))


def _shifted(x: Register, low_end: float) -> Register:
    """The bits of x, moved so that the exponent changes at powers of two times ``low_end``; the exponent is biased."""
    format = format_of(x.type)
    return x.bits() + ((format.bias << format.mantissa) - format.bits_of(low_end))


def _biased_exponent(shifted: Register, format: Format) -> Register:
    """2**mantissa + bias + k as a float: an integer becomes one by standing in the lowest bits of 2**mantissa."""
    bits = shifted.shift_right(format.mantissa) | format.bits_of(2.0 ** format.mantissa)
    return bits.bitcast(F32 if format.mantissa == 23 else F64)


def _combined(f: Register, k: Register, base: Base) -> Register:
    """The logarithm of (1 + f) * 2**k, adding up from the smallest part."""
    b, format = f.builder, format_of(f.type)
    unit, unit_rest = split_constant(*base.unit, format)
    step, step_rest = split_constant(*base.step, format)
    tail = f * f * polynomial(f, [base.unit[0] * c for c in LOG.of(f.type)])
    for x, factor in ((f, unit_rest), (k, step_rest), (f, unit), (k, step)):
        if factor == 1.0:
            tail = tail + x
        elif factor:
            tail = b.fma(x, factor, tail)
    return tail


def _special(x: Register, result: Register) -> Register:
    """The result, but what a logarithm is at 0, below, at infinity and of NaN."""
    b = x.builder
    result = b.where(is_negative(x), math.nan, result)
    result = b.where(x.equal(0.0), -math.inf, result)
    return b.where(x < math.inf, result, x)
