"""Functions of complex numbers, which are pairs of registers.

>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.transformers.cpu.compile.llvm.types import F32
>>> b = Builder("f", [("a", F32), ("b", F32), ("c", F32), ("d", F32)])
>>> a, b, c, d = b.arguments
>>> FUNCTIONS["multiply"]((a, b), (c, d))
(float %v2, float %v5)

Products are the textbook's, so infinite ones may be NaN; quotients are those of R. Smith, "Algorithm 116: complex
division", Communications of the ACM 5 (1962). Magnitudes neither overflow nor underflow on the way.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from nervure.transformers.cpu.compile.codegen.scalars import floats
from nervure.transformers.cpu.compile.llvm.register import Register
from nervure.transformers.cpu.compile.llvm.types import F64

Pair = tuple[Register, Register]


def _each(function: Callable[..., Register]) -> Callable[..., Pair]:
    """Applies a function to each part."""
    def of_pairs(*pairs: Pair) -> Pair:
        return function(*[pair[0] for pair in pairs]), function(*[pair[1] for pair in pairs])
    return of_pairs


def _multiply(x: Pair, y: Pair) -> Pair:
    (a, b), (c, d) = x, y
    return a * c - b * d, a * d + b * c


_add = _each(operator.add)


def _divide(x: Pair, y: Pair) -> Pair:
    """Divides x by y. Smith's two cases differ in which part of y is larger; the parts are exchanged instead."""
    (a, b), (c, d) = x, y
    where = a.builder.where
    size, other = floats.absolute(c), floats.absolute(d)
    is_upright = size >= other
    large, small = where(is_upright, c, d), where(is_upright, d, c)
    first, second = where(is_upright, a, b), where(is_upright, b, a)
    ratio = small / large
    scale = 1.0 / (large + small * ratio)
    turned = first * ratio
    re = (first + second * ratio) * scale
    im = (where(is_upright, second, turned) - where(is_upright, turned, second)) * scale
    is_zero = size.equal(0.0) & other.equal(0.0)
    return where(is_zero, a / size, re), where(is_zero, b / size, im)


def _absolute(x: Pair) -> Register:
    b = x[0].builder
    scaled, unit = _scaled(x)
    is_infinite = floats.is_infinite(x[0]) | floats.is_infinite(x[1])
    length = (_length(scaled) * unit).cast("fptrunc", x[0].type.element)
    return b.where(is_infinite, math.inf, length)


def _sign(x: Pair) -> Pair:
    """Returns x / |x|; 0 at 0. An infinite part outweighs a finite one, and two are NaN."""
    b, (first, second) = x[0].builder, [floats.is_infinite(part) for part in x]
    re = b.where(first, floats.with_sign_of(1.0, x[0]), b.where(second, 0.0, x[0]))
    im = b.where(second, floats.with_sign_of(1.0, x[1]), b.where(first, 0.0, x[1]))
    re = b.where(first & second, float("nan"), re)
    scaled, _ = _scaled((re, im))
    length = _length(scaled)
    is_zero = length.equal(0.0)
    re, im = [b.where(is_zero, 0.0, part / length).cast("fptrunc", x[0].type.element) for part in scaled]
    return re, im


def _scaled(x: Pair) -> tuple[Pair, Register]:
    """Scales x by a power of two, to doubles whose squares neither overflow nor underflow; also returns the unit."""
    b, re, im = x[0].builder, x[0].cast("fpext", F64), x[1].cast("fpext", F64)
    if re.type is not x[0].type:
        return (re, im), b.constant(re.type, 1.0)
    size = floats.maximum(floats.absolute(re), floats.absolute(im))
    is_large, is_small = size > 2.0**500, size < 2.0**-500
    factor = b.where(is_large, 2.0**-600, b.where(is_small, 2.0**600, b.constant(re.type, 1.0)))
    unit = b.where(is_large, 2.0**600, b.where(is_small, 2.0**-600, b.constant(re.type, 1.0)))
    return (re * factor, im * factor), unit


def _length(x: Pair) -> Register:
    b, (re, im) = x[0].builder, x
    return b.intrinsic("sqrt", b.fma(re, re, im * im))


def _joined(join: Callable[[Register, Register], Register],
            function: Callable[..., Register]) -> Callable[..., Register]:
    """Applies a function to each part, and joins the results by ``join``."""
    parts = _each(function)
    return lambda *pairs: join(*parts(*pairs))


FUNCTIONS: dict[str, Callable[..., Register | Pair]] = {
    "negative": _each(operator.neg), "absolute": _absolute, "sign": _sign,
    "add": _add, "subtract": _each(operator.sub), "multiply": _multiply, "divide": _divide,
    "fma": lambda x, y, z: _add(_multiply(x, y), z),
    "equal": _joined(operator.and_, Register.equal), "not_equal": _joined(operator.or_, Register.not_equal),
    "is_nan": _joined(operator.or_, Register.is_nan), "is_inf": _joined(operator.or_, floats.is_infinite),
    "is_finite": _joined(operator.and_, floats.is_finite),
    "real": lambda x: x[0], "imaginary": lambda x: x[1], "conjugate": lambda x: (x[0], -x[1]),
}
