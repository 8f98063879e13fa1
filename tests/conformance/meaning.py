"""The meaning of each scalar function in plain Python: one number at a time, in exact fractions or sixty digits of
mpmath.

>>> meaning("add", float32, 1.0, 2.0**-24), meaning("floordivide", int8, -128, -1), meaning("log", float64, -0.0)
(1.0, -128, -inf)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import mpmath

from nervure.types.dtype import DType, float32, float64, int8

__all__ = ["converted", "float32", "float64", "formula", "int8", "meaning", "nearest"]

INF, NAN = math.inf, math.nan
_BEYOND = 5000  # no float has an exponent of this size


def meaning(name: str, dtype: DType, *arguments: Any) -> Any:
    """The value of a scalar function of elements of one type, as a Python number."""
    if name in _ANY:
        return _ANY[name](*arguments)
    if dtype.is_complex:
        return _COMPLEX[name](*arguments)
    if dtype.is_float:
        return _real(name, dtype, *arguments)
    return wrapped(_INTEGER[name](dtype, *arguments), dtype)


def nearest(x: Any, dtype: DType) -> float:
    """The float of a type that is nearest to an exact number other than 0, ties to even; overflow gives an infinity."""
    if not isinstance(x, Fraction):
        if x != 0 and abs(mpmath.mag(x)) > _BEYOND:  # as a fraction it would fill the memory
            return math.copysign(INF if mpmath.mag(x) > 0 else 0.0, mpmath.sign(x))
        x = _fraction(x)
    if x == 0:
        return 0.0
    info = ml_dtypes.finfo(dtype.numpy)
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    while abs(x) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while abs(x) < Fraction(2) ** exponent:
        exponent -= 1
    smallest = math.frexp(float(info.smallest_subnormal))[1] - 1
    unit = Fraction(2) ** max(exponent - info.nmant, smallest)
    rounded = abs(round(x / unit) * unit)
    size = INF if rounded > Fraction(float(info.max)) else float(rounded)
    return -size if x < 0 else size


def wrapped(x: int, dtype: DType) -> Any:
    """An integer modulo 2**bits; for bool its truth."""
    if dtype.kind == "bool":
        return bool(x)
    x %= 1 << dtype.bits
    return x - (1 << dtype.bits) if dtype.is_signed and x >> (dtype.bits - 1) else x


def converted(x: Any, source: DType, target: DType) -> Any:
    """An element in another type."""
    if target.is_complex:
        part = {64: float32, 128: float64}[target.bits]
        return complex(*[converted(float(entry), float64, part) for entry in (x.real, x.imag)])
    if target.kind == "bool":
        return x != 0
    if source.is_complex:
        x = x.real
    if target.is_integer:
        if x != x:
            return 0
        whole = x if abs(x) == INF else int(x)
        return int(min(max(whole, target.minimum), target.maximum))
    if target.name == "float4_e2m1fn" and (x != x or abs(x) > target.maximum):
        return -0.0 if x != x else math.copysign(target.maximum, x)
    if isinstance(x, float) and (x != x or abs(x) == INF or x == 0):
        rounded = x
    else:
        rounded = nearest(Fraction(x), target) if x else 0.0
    return float(target.numpy.type(rounded))  # an infinity or -0.0 as the type has it


def _fraction(x: Any) -> Fraction:
    sign, mantissa, exponent, _ = mpmath.mpf(x)._mpf_
    return Fraction(-mantissa if sign else mantissa) * Fraction(2) ** exponent


# -- integers and bool ---------------------------------------------------------------------------------------------


def _shifted_right(dtype: DType, x: int, y: int) -> int:
    return x >> y if 0 <= y < dtype.bits else -1 if x < 0 else 0


def _integer_power(dtype: DType, x: int, y: int) -> int:
    if y >= 0:
        return pow(x, y, 1 << dtype.bits) if y else 1
    return {1: 1, -1: -1 if y % 2 else 1}.get(x, 0)


_INTEGER: dict[str, Callable[..., int]] = {
    "negative": lambda t, x: -x, "absolute": lambda t, x: abs(x), "sign": lambda t, x: (x > 0) - (x < 0),
    "add": lambda t, x, y: x + y, "subtract": lambda t, x, y: x - y, "multiply": lambda t, x, y: x * y,
    "floordivide": lambda t, x, y: x // y if y else 0, "modulo": lambda t, x, y: x % y if y else 0,
    "power": _integer_power, "maximum": lambda t, x, y: max(x, y), "minimum": lambda t, x, y: min(x, y),
    "fma": lambda t, x, y, z: x * y + z, "floor": lambda t, x: x, "ceil": lambda t, x: x, "round": lambda t, x: x,
    "truncate": lambda t, x: x, "bitwise_and": lambda t, x, y: x & y, "bitwise_or": lambda t, x, y: x | y,
    "bitwise_xor": lambda t, x, y: x ^ y, "bitwise_not": lambda t, x: not x if t.kind == "bool" else ~x,
    "shift_left": lambda t, x, y: x << y if 0 <= y < t.bits else 0, "shift_right": _shifted_right,
}

# -- what every type has -------------------------------------------------------------------------------------------

_ANY: dict[str, Callable[..., Any]] = {
    "equal": lambda x, y: x == y, "not_equal": lambda x, y: x != y, "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y, "is_nan": lambda x: x != x,
    "is_inf": lambda x: isinstance(x, (float, complex)) and (INF in map(abs, _parts(x))),
    "is_finite": lambda x: all(map(math.isfinite, _parts(x))), "where": lambda condition, x, y: x if condition else y,
}


def _parts(x: Any) -> tuple[Any, ...]:
    return (x.real, x.imag) if isinstance(x, complex) else (x,)


# -- complex numbers -----------------------------------------------------------------------------------------------

_COMPLEX: dict[str, Callable[..., Any]] = {
    "negative": lambda x: complex(-x.real, -x.imag), "absolute": lambda x: math.hypot(x.real, x.imag),
    "sign": lambda x: x / abs(x) if x else 0j, "add": lambda x, y: complex(x.real + y.real, x.imag + y.imag),
    "subtract": lambda x, y: complex(x.real - y.real, x.imag - y.imag), "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y, "real": lambda x: x.real, "imaginary": lambda x: x.imag,
    "conjugate": lambda x: complex(x.real, -x.imag),
}

# -- floats --------------------------------------------------------------------------------------------------------


def _is_pole(x: Any) -> bool:
    return bool(mpmath.isfinite(x) and x <= 0 and x == mpmath.floor(x))


_FORMULAS: dict[str, Callable[[Any], Any]] = {
    "exp2": lambda x: mpmath.mpf(2) ** x,
    "log2": lambda x: mpmath.log(x, 2),
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
    "erfc": lambda x: mpmath.erfc(min(max(x, -1000), 1000)),
    "erf_inv": mpmath.erfinv,
    "lgamma": lambda x: mpmath.inf if _is_pole(x) or mpmath.isinf(x) else mpmath.re(mpmath.loggamma(x)),
}


def formula(name: str) -> Callable[..., Any]:
    """A function of floats over mpmath's numbers: that of its name, but for those that mpmath lacks."""
    found: Callable[..., Any] = _FORMULAS.get(name) or getattr(mpmath, name)
    return found


def _function(name: str, dtype: DType, *arguments: float) -> float:
    """mpmath's value, rounded once; NaN where that is complex. A pole is NaN, but at 0 an infinity."""
    with mpmath.workdps(60):
        exact = _exact(name, *arguments)
        if arguments == (0,) and exact in (0, None):
            size = 0.0 if exact == 0 else INF
            beside = _exact(name, mpmath.ldexp(math.copysign(1, arguments[0]), -_BEYOND))
            return math.copysign(size, arguments[0] if mpmath.isnan(beside) else beside)
        return NAN if exact is None or mpmath.isnan(exact) else nearest(exact, dtype)


def _exact(name: str, *arguments: Any) -> Any:
    """The value of a formula; None at a pole."""
    try:
        value = formula(name)(*map(mpmath.mpf, arguments))
    except (ValueError, ZeroDivisionError):
        return None
    return mpmath.nan if isinstance(value, mpmath.mpc) else value


def nearest_or_same(x: float, dtype: DType) -> float:
    """A float rounded to the type; infinities, NaN and zeros are what they are."""
    return nearest(Fraction(x), dtype) if math.isfinite(x) and x else x


def _real(name: str, dtype: DType, *arguments: float) -> float:
    if name == "power":
        return _power(dtype, *arguments)
    if any([x != x for x in arguments]):
        return NAN
    return _FLOAT[name](dtype, *arguments) if name in _FLOAT else _function(name, dtype, *arguments)


def _rounded(exact: Callable[..., Fraction], plain: Callable[..., float]) -> Callable[..., float]:
    """A function rounded once; infinities, and the sign of a zero, are those of Python's own floats."""
    def value(dtype: DType, *arguments: float) -> float:
        if not all(map(math.isfinite, arguments)):
            return plain(*arguments)
        result = exact(*map(Fraction, arguments))
        return nearest(result, dtype) if result else plain(*arguments)
    return value


def _fused(x: float, y: float, z: float) -> float:
    if not (math.isfinite(x) and math.isfinite(y)):
        return x * y + z
    if not math.isfinite(z):
        return z
    return x * y + z if 0 in (x, y) else 0.0  # zeros keep their sign, opposites add up to +0


def _divide(dtype: DType, x: float, y: float) -> float:
    if y == 0:
        return NAN if x == 0 else math.copysign(INF, x) * math.copysign(1, y)
    if math.isinf(x) or math.isinf(y) or x == 0:
        return x / y
    return nearest(Fraction(x) / Fraction(y), dtype)


def _floor_divide(dtype: DType, x: float, y: float) -> float:
    if y == 0:
        return _divide(dtype, x, y)
    if math.isinf(x):
        return NAN
    if math.isinf(y):
        return -1.0 if x and (x < 0) != (y < 0) else math.copysign(0.0, x) * math.copysign(1.0, y)
    floor = math.floor(Fraction(x) / Fraction(y))
    return nearest(Fraction(floor), dtype) if floor else math.copysign(0.0, x) * math.copysign(1.0, y)


def _modulo(dtype: DType, x: float, y: float) -> float:
    if y == 0 or math.isinf(x):
        return NAN
    if math.isinf(y):
        return y if x and (x < 0) != (y < 0) else x if x else math.copysign(0.0, y)
    rest = Fraction(x) - Fraction(y) * math.floor(Fraction(x) / Fraction(y))
    return nearest(rest, dtype) if rest else math.copysign(0.0, y)


def _power(dtype: DType, x: float, y: float) -> float:
    """IEEE 754's pow."""
    if y == 0 or x == 1:
        return 1.0
    if x != x or y != y:
        return NAN
    is_odd = math.isfinite(y) and y == int(y) and int(y) % 2 == 1
    if math.isinf(y):
        return 1.0 if x == -1 else INF if (abs(x) > 1) == (y > 0) else 0.0
    if x == 0 or math.isinf(x):
        size = INF if (x == 0) == (y < 0) else 0.0
        return math.copysign(size, x) if is_odd else size
    if x < 0 and y != int(y):
        return NAN
    with mpmath.workdps(60):
        size = nearest(mpmath.mpf(abs(x)) ** mpmath.mpf(y), dtype)
    return -size if x < 0 and is_odd else size


def _atan2(dtype: DType, y: float, x: float) -> float:
    if y == 0 or math.isinf(x) or math.isinf(y):
        return nearest_or_same(math.atan2(y, x), dtype)
    with mpmath.workdps(60):
        return nearest(mpmath.atan2(y, x), dtype)


def _whole(function: Callable[[Any], int]) -> Callable[..., float]:
    return lambda dtype, x: math.copysign(float(function(x)), x) if math.isfinite(x) else x


_FLOAT: dict[str, Callable[..., float]] = {
    "negative": lambda t, x: -x, "absolute": lambda t, x: abs(x),
    "sign": lambda t, x: x if x == 0 else math.copysign(1.0, x),
    "add": _rounded(lambda x, y: x + y, lambda x, y: x + y),
    "subtract": _rounded(lambda x, y: x - y, lambda x, y: x - y),
    "multiply": _rounded(lambda x, y: x * y, lambda x, y: x * y),
    "fma": _rounded(lambda x, y, z: x * y + z, _fused),
    "divide": _divide, "floordivide": _floor_divide, "modulo": _modulo, "atan2": _atan2,
    "maximum": lambda t, x, y: max(x, y), "minimum": lambda t, x, y: min(x, y),
    "floor": _whole(math.floor), "ceil": _whole(math.ceil), "round": _whole(round), "truncate": _whole(math.trunc),
}
