"""Elementary functions of complex numbers, from functions of their parts.

Branch cuts are those of C99 and NumPy: the sign of a zero says from which side a number on a cut is seen. The formulas
are W. Kahan's ("Branch cuts for complex elementary functions", 1987): products that may overflow are taken in two
factors, and differences that would cancel are avoided.

>>> import nervure as nv
>>> exp(nv.Parameter(nv.complex128, (3,)).value)
c128[3] Complex(Where, Where)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from nervure.ir.op import Operand, Value, registry
from nervure.ops.arithmetic import Absolute, Complex, Fma, Imaginary, Real
from nervure.ops.exponential import Exp, Expm1, Log, Log1p, Sqrt
from nervure.ops.formulas.formula_parts import both, either, exactly, greater, less, negation, where
from nervure.ops.formulas.table import FormulaRow, Slopes
from nervure.ops.selection import Clip, Maximum, Minimum
from nervure.ops.trigonometric import Asinh, Atan2, Cos, Cosh, Sin, Sinh, Tan

COMPLEX_FORMULAS: dict[str, FormulaRow] = {}
"""The functions by name."""


def _parts(z: Operand) -> tuple[Value, Value]:
    return Real(z).output, Imaginary(z).output


def call(name: str, *operands: Operand) -> Value:
    """Returns a function of complex values, as an op of its own."""
    return registry["ComplexFunction"](*operands, function=name).outputs[0]


def formula(slopes: Slopes) -> Callable[[Callable[..., Operand]], Callable[..., Operand]]:
    """Declares the function below, with its derivatives as a function of complex numbers."""
    def declare(function: Callable[..., Operand]) -> Callable[..., Operand]:
        code = function.__code__
        name = function.__name__.rstrip("_")
        COMPLEX_FORMULAS[name] = FormulaRow(function, slopes, ("normal",), code.co_varnames[:code.co_argcount])
        return function
    return declare


def _signed(size: Operand, sign: Value) -> Value:
    """Returns a size with the sign of another number, which may be a zero."""
    is_minus = either(less(sign, 0.0), both(exactly(sign, 0.0), less(1 / where(exactly(sign, 0.0), sign, 1.0), 0.0)))
    return where(is_minus, -size, size)


def _times_i(z: Operand) -> Value:
    x, y = _parts(z)
    return Complex(-y, x).output


def _over_i(z: Operand) -> Value:
    x, y = _parts(z)
    return Complex(y, -x).output


# -- exponentials and logarithms -------------------------------------------------------------------------------------


@formula(lambda w, z: [w])
def exp(z: Value) -> Operand:
    """e to the power z."""
    x, y = _parts(z)
    root = Exp(x * 0.5)  # e**x may be too large when its product with a cosine is not
    is_lost = both(exactly(x, -math.inf), negation(exactly(y - y, 0.0)))
    real = where(is_lost, 0.0, where(exactly(y, 0.0), Exp(x).output, root * Cos(y) * root))
    imaginary = where(is_lost, 0.0, where(exactly(y, 0.0), y, root * Sin(y) * root))
    return Complex(real, imaginary)


@formula(lambda w, z: [w * math.log(2)])
def exp2(z: Value) -> Operand:
    """2 to the power z."""
    x, y = _parts(z)
    return call("exp", Complex(x * math.log(2), y * math.log(2)))


@formula(lambda w, z: [w + 1])
def expm1(z: Value) -> Operand:
    """exp(z) - 1, exact near 0."""
    x, y = _parts(z)
    half = Sin(where(exactly(y - y, 0.0), y, 0.0) * 0.5).output
    small = Complex(Expm1(x) * Cos(y) - half * half * 2, Exp(x) * Sin(y)).output
    is_small = less(Absolute(x), 1.0)
    return _chosen(is_small, small, call("exp", z) - 1)


def _chosen(condition: Value, first: Operand, second: Operand) -> Value:
    """Returns ``where`` of complex numbers, of which both are safe to differentiate."""
    (a, b), (c, d) = _parts(first), _parts(second)
    return Complex(where(condition, a, c), where(condition, b, d)).output


@formula(lambda w, z: [1 / z])
def log(z: Value) -> Operand:
    """The natural logarithm, cut along the negative real numbers."""
    x, y = _parts(z)
    return Complex(_log_of_size(x, y), Atan2(y, x))


def _log_of_size(x: Value, y: Value) -> Value:
    """Returns log(abs(x + iy)); near 1 from the square less 1, of which no digit is lost."""
    a, b = Absolute(x).output, Absolute(y).output
    large, small = Maximum(a, b).output, Minimum(a, b).output
    is_near = both(greater(large, 0.6), less(large, 1.5))
    m, n = where(is_near, large, 1.0), where(is_near, small, 0.0)
    d = m - 1
    near = Log1p(_sum_of([d * 2], [d, n])) * 0.5
    usual = both(greater(large, 0.0), less(large, math.inf), negation(is_near))
    ratio = where(usual, small, 0.0) / where(usual, large, 1.0)
    far = Log(large) + Log1p(ratio * ratio) * 0.5
    return where(either(exactly(a, math.inf), exactly(b, math.inf)), math.inf, where(is_near, near, far))


def _sum_of(terms: Sequence[Operand], roots: Sequence[Value]) -> Value:
    """Returns terms plus squares of ``roots``, by sums and products that keep their errors (T. Dekker, 1971)."""
    total, rest = terms[0].value, terms[0].value.full(0.0)
    for root in roots:
        square = root * root
        rest = rest + Fma(root, root, -square)
        following = total + square
        back = following - total
        rest = rest + ((total - (following - back)) + (square - back))
        total = following
    return total + rest


@formula(lambda w, z: [1 / z * (1 / math.log(2))])
def log2(z: Value) -> Operand:
    """The logarithm to base 2."""
    x, y = _parts(call("log", z))
    return Complex(x * (1 / math.log(2)), y * (1 / math.log(2)))


@formula(lambda w, z: [1 / z * (1 / math.log(10))])
def log10(z: Value) -> Operand:
    """The logarithm to base 10."""
    x, y = _parts(call("log", z))
    return Complex(x * (1 / math.log(10)), y * (1 / math.log(10)))


@formula(lambda w, z: [1 / (z + 1)])
def log1p(z: Value) -> Operand:
    """log(1 + z), exact near 0."""
    x, y = _parts(z)
    is_small = both(less(Absolute(x), 0.5), less(Absolute(y), 1.0))
    a, b = where(is_small, x, 0.0), where(is_small, y, 0.0)
    near = Log1p(_sum_of([a * 2], [a, b])) * 0.5
    return Complex(where(is_small, near, _log_of_size(x + 1, y)), Atan2(y, x + 1))


# -- roots and powers ------------------------------------------------------------------------------------------------


@formula(lambda w, z: [0.5 / w])
def sqrt(z: Value) -> Operand:
    """The square root with a real part that is not negative, cut along the negative real numbers."""
    return Complex(*_root(*_parts(z)))


_TINY, _HUGE = 2.0 ** -900, 2.0 ** 1000


def _root(x: Value, y: Value) -> tuple[Value, Value]:
    a, b = Absolute(x).output, Absolute(y).output
    large = Maximum(a, b)
    is_tiny, is_huge = less(large, _TINY), greater(large, _HUGE)
    scale = where(is_tiny, 2.0 ** 200, where(is_huge, 2.0 ** -4, x.full(1.0)))
    back = where(is_tiny, 2.0 ** -100, where(is_huge, 4.0, x.full(1.0)))
    a, b = a * scale, b * scale
    finite = less(large, math.inf)
    usual = both(finite, greater(large, 0.0))
    a, b = where(usual, a, 1.0), where(usual, b, 0.0)
    most, least = Maximum(a, b), Minimum(a, b)
    ratio = least / most
    larger = Sqrt((a + most * Sqrt(ratio * ratio + 1)) * 0.5).output
    smaller, larger = b / (larger * 2) * back, larger * back
    is_left = less(x, 0.0)
    real, imaginary = where(is_left, smaller, larger), where(is_left, larger, smaller)
    real, imaginary = where(usual, real, x + y), where(usual, imaginary, x + y)
    real = where(exactly(large, 0.0), 0.0, real)
    imaginary = where(exactly(large, 0.0), 0.0, imaginary)
    flat = both(exactly(Absolute(x), math.inf), negation(exactly(Absolute(y), math.inf)))
    real = where(flat, where(is_left, 0.0 * y, x), real)
    imaginary = where(flat, where(is_left, x.full(math.inf), 0.0 * y), imaginary)
    is_steep = exactly(Absolute(y), math.inf)
    return where(is_steep, math.inf, real), _signed(where(is_steep, math.inf, Absolute(imaginary).output), y)


@formula(lambda w, z: [w * -0.5 / z])
def rsqrt(z: Value) -> Operand:
    """1 / sqrt(z)."""
    return 1 / call("sqrt", z)


@formula(lambda w, z, p: [p * call("power", z, p - 1), w * call("log", _away(z))])
def power(z: Value, p: Value) -> Operand:
    """exp(p log(z)); of 0 it is 1 where p is 0, 0 where its real part is positive, else NaN."""
    x, y = _parts(z)
    is_zero = both(exactly(x, 0.0), exactly(y, 0.0))
    real, imaginary = _parts(call("exp", p * call("log", _away(z))))
    c, d = _parts(p)
    at_zero = where(greater(c, 0.0), 0.0, where(both(exactly(c, 0.0), exactly(d, 0.0)), 1.0, c.full(math.nan)))
    imaginary_at_zero = where(exactly(at_zero, at_zero), 0.0, at_zero)
    return Complex(where(is_zero, at_zero, real), where(is_zero, imaginary_at_zero, imaginary))


def _away(z: Value) -> Value:
    """Returns z, and 1 in place of 0."""
    x, y = _parts(z)
    return Complex(where(both(exactly(x, 0.0), exactly(y, 0.0)), 1.0, x), y).output


# -- hyperbolic and trigonometric ------------------------------------------------------------------------------------


_LARGE = 700.0


def _grown(x: Value, even: Value, odd: Value) -> tuple[Value, Value]:
    """Returns cosh(x) * even and sinh(x) * odd: far out by two factors, of which none overflows before the product."""
    size = Absolute(x)
    is_far = greater(size, _LARGE)
    near = Clip(x, x.full(-_LARGE), x.full(_LARGE))
    root = Exp(where(is_far, size.output, 0.0) * 0.5)
    cosh = where(is_far, root * even * (root * 0.5), Cosh(near) * even)
    sinh = where(is_far, _signed(root * odd * (root * 0.5), x), Sinh(near) * odd)
    # Zero times what has overflowed is zero.
    sinh = where(exactly(odd, 0.0), _signed(odd, x), sinh)
    return where(exactly(even, 0.0), even, cosh), where(both(exactly(x, 0.0), negation(exactly(odd, odd))), x, sinh)


@formula(lambda w, z: [call("cosh", z)])
def sinh(z: Value) -> Operand:
    """The hyperbolic sine."""
    x, y = _parts(z)
    imaginary, real = _grown(x, Sin(y).output, Cos(y).output)
    return Complex(real, imaginary)


@formula(lambda w, z: [call("sinh", z)])
def cosh(z: Value) -> Operand:
    """The hyperbolic cosine."""
    x, y = _parts(z)
    real, imaginary = _grown(x, Cos(y).output, Sin(y).output)
    return Complex(real, imaginary)


@formula(lambda w, z: [1 - w * w])
def tanh(z: Value) -> Operand:
    """The hyperbolic tangent; far out its imaginary part is 4 sin(y) cos(y) exp(-2 abs(x))."""
    x, y = _parts(z)
    size = Absolute(x).output
    is_far = greater(size, 20.0)
    t, s = Tan(y), Sinh(where(is_far, 0.0, x)).output
    beta = t * t + 1
    divisor = beta * s * s + 1
    real = where(is_far, _signed(x.full(1.0), x), beta * Sqrt(s * s + 1) * s / divisor)
    fall = Exp(-where(is_far, size, 20.0))
    inside = where(exactly(size, math.inf), where(exactly(y - y, 0.0), y, 0.0), y)
    far = Sin(inside) * Cos(inside) * fall * fall * 4
    return Complex(real, where(is_far, far, t / divisor))


@formula(lambda w, z: [call("cos", z)])
def sin(z: Value) -> Operand:
    """The sine."""
    return _over_i(call("sinh", _times_i(z)))


@formula(lambda w, z: [-call("sin", z)])
def cos(z: Value) -> Operand:
    """The cosine."""
    return call("cosh", _times_i(z))


@formula(lambda w, z: [w * w + 1])
def tan(z: Value) -> Operand:
    """The tangent."""
    return _over_i(call("tanh", _times_i(z)))


# -- inverses --------------------------------------------------------------------------------------------------------


def _roots(x: Value, y: Value) -> tuple[Value, Value, Value, Value]:
    """Returns the parts of sqrt(1 - z) and of sqrt(1 + z)."""
    return *_root(1 - x, -y), *_root(x + 1, y)


def _infinite(x: Value, y: Value) -> Value:
    return either(exactly(Absolute(x), math.inf), exactly(Absolute(y), math.inf))


def _arc_slope(z: Value) -> Value:
    return call("rsqrt", 1 - z) * call("rsqrt", z + 1)


@formula(lambda w, z: [_arc_slope(z)])
def asin(z: Value) -> Operand:
    """The arc sine, cut along the real numbers outside of [-1, 1]."""
    x, y = _parts(z)
    a, b, c, d = _roots(x, y)
    real = Atan2(x, where(_infinite(x, y), Absolute(y).output, a * c - b * d))
    imaginary = Absolute(Asinh(a * d - b * c))
    return Complex(real, _signed(where(_infinite(x, y), math.inf, imaginary.output), y))


@formula(lambda w, z: [-_arc_slope(z)])
def acos(z: Value) -> Operand:
    """The arc cosine, cut along the real numbers outside of [-1, 1]."""
    x, y = _parts(z)
    a, b, c, d = _roots(x, y)
    is_infinite = _infinite(x, y)
    real = where(is_infinite, Atan2(Absolute(y), x).output, Atan2(a, c) * 2)
    imaginary = Absolute(Asinh(c * b - d * a))
    return Complex(real, -_signed(where(is_infinite, math.inf, imaginary.output), y))


@formula(lambda w, z: [call("rsqrt", z - 1) * call("rsqrt", z + 1)])
def acosh(z: Value) -> Operand:
    """The inverse of the hyperbolic cosine, cut along the real numbers below 1."""
    x, y = _parts(z)
    (a, b), (c, d) = _root(x - 1, y), _root(x + 1, y)
    is_infinite = _infinite(x, y)
    real = where(is_infinite, math.inf, Absolute(Asinh(a * c + b * d)).output)
    return Complex(real, where(is_infinite, Atan2(y, x).output, Atan2(b, c) * 2))


@formula(lambda w, z: [call("rsqrt", 1 + _times_i(z)) * call("rsqrt", 1 - _times_i(z))])
def asinh(z: Value) -> Operand:
    """The inverse of the hyperbolic sine, cut along the imaginary numbers outside of [-i, i]."""
    return _over_i(call("asin", _times_i(z)))


_FAR = 1e100


@formula(lambda w, z: [1 / ((1 - z) * (1 + z))])
def atanh(z: Value) -> Operand:
    """The inverse of the hyperbolic tangent, cut along the real numbers outside of [-1, 1]."""
    x, y = _parts(z)
    size, height = Absolute(x).output, Absolute(y).output
    large = Maximum(size, height).output
    is_far = greater(large, _FAR)
    a, b = where(is_far, 0.0, size), where(is_far, 0.0, height)
    below = 1 - a
    square = below * below + b * b
    is_pole = both(exactly(below, 0.0), exactly(b, 0.0))
    is_close = both(exactly(square, 0.0), negation(is_pole))  # beside 1, closer than the root of the least number
    near = Log1p(a * 4 / where(exactly(square, 0.0), 1.0, square)) * 0.25
    near = where(is_close, (math.log(2) - Log(where(is_close, b, 1.0))) * 0.5, near)
    near = where(is_pole, math.inf, near)
    first, second = where(is_far, size, 1.0), where(is_far, height, 1.0)
    ratio = where(less(large, math.inf), Minimum(first, second) / Maximum(first, second), 0.0)
    far = first / Maximum(first, second) / Maximum(first, second) / (ratio * ratio + 1)
    far = where(exactly(large, math.inf), 0.0, far)
    angle = where(is_far, math.pi / 2, Atan2(b * 2, below * (a + 1) - b * b) * 0.5)
    return Complex(_signed(where(is_far, far, near), x), _signed(angle, y))


@formula(lambda w, z: [1 / ((1 - _times_i(z)) * (1 + _times_i(z)))])
def atan(z: Value) -> Operand:
    """The arc tangent, cut along the imaginary numbers outside of [-i, i]."""
    return _over_i(call("atanh", _times_i(z)))


@formula(lambda w, z: [w * (1 - w)])
def sigmoid(z: Value) -> Operand:
    """1 / (1 + exp(-z)), by the exponential that is small."""
    x, y = _parts(z)
    is_right = greater(x, 0.0)
    small = call("exp", Complex(-Absolute(x).output, where(is_right, -y, y)))
    inverse = 1 / (small + 1)
    return _chosen(is_right, inverse, small * inverse)
