"""A second provider of the scalar namespace, over JAX: a scalar is a vector, one element for each point of a domain.

It shares no code with the interpreter, so that what both give is what the namespace says. All vectors of one instance
have one length (the domain, padded), so that each function is compiled once for an element type. As the interpreter
does, it computes what IEEE 754 does not fix in float64 and rounds once.

>>> import numpy as np
>>> s = JaxScalars(4)
>>> s.power(jnp.asarray(np.array([2, -1, 3, 0])), jnp.asarray(np.array([10, -3, -1, 0]))).tolist()
[1024, -1, 0, 1]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.special
import ml_dtypes
import numpy as np
from jax import lax

from nervure.ops.scalar import SCALAR_FUNCTIONS, ScalarNamespace
from nervure.types.dim import DimLike
from nervure.types.dtype import DType, as_dtype, float32, float64, uint8
from tests.conformance.meaning import meaning

Vector = Any

jax.config.update("jax_disable_most_optimizations", True)  # a function is compiled for a few runs


@cache
def _cast(target: np.dtype[Any]) -> Callable[[Vector], Vector]:
    return jax.jit(lambda x: x.astype(target))


@jax.jit
def _as_word(x: Vector) -> Vector:
    """The bits as an unsigned integer."""
    if x.dtype == jnp.bool_:
        return x.astype(jnp.uint8)
    if jnp.iscomplexobj(x):
        x = jnp.stack([x.real, x.imag], axis=-1)
        return lax.bitcast_convert_type(x, jnp.uint64)  # of complex64: nothing else has 128 bits
    return lax.bitcast_convert_type(x, np.dtype(f"u{x.dtype.itemsize}"))


@cache
def _from_word(dtype: DType) -> Callable[[Vector], Vector]:
    def convert(word: Vector) -> Vector:
        if dtype.kind == "bool":
            return word != 0
        if dtype.is_complex:
            parts = lax.bitcast_convert_type(word, jnp.float32)
            return lax.complex(parts[..., 0], parts[..., 1])
        return lax.bitcast_convert_type(word, dtype.numpy)
    return jax.jit(convert)


def wide(x: Vector) -> Vector:
    """The same values in the type that is computed with: float32 for low-precision floats, bytes for 4 bits."""
    dtype = as_dtype(x.dtype)
    if dtype.is_low_precision:
        return _cast(float32.numpy)(x)
    return _cast(np.dtype(f"{dtype.kind}8"))(x) if dtype.bits == 4 else x


def _function(function: Callable[..., Vector]) -> Any:
    """A method that computes in the compute type."""
    compiled = jax.jit(function)

    def method(self: JaxScalars, *elements: Vector) -> Vector:
        return compiled(*map(wide, elements))
    return method


def _precise(function: Callable[..., Vector]) -> Any:
    """A method that computes in float64 and rounds once."""
    def rounded(*elements: Vector) -> Vector:
        return function(*[x.astype(jnp.float64) for x in elements]).astype(elements[0].dtype)
    return _function(rounded)


def _is_float(x: Vector) -> bool:
    return bool(jnp.issubdtype(x.dtype, jnp.floating))


def _rounding(function: Callable[[Vector], Vector]) -> Any:
    return _function(lambda x: function(x) if _is_float(x) else x)


def _sign(x: Vector) -> Vector:
    if jnp.iscomplexobj(x):
        size = jnp.abs(x)
        return jnp.where(size == 0, 0, x / jnp.where(size == 0, 1, size).astype(x.dtype))
    return jnp.where(x == 0, x, jnp.sign(x))


def _floor_divide(x: Vector, y: Vector) -> Vector:
    if not _is_float(x):
        divisor = jnp.where(y == 0, 1, y)
        quotient, rest = lax.div(x, divisor), lax.rem(x, divisor)
        return jnp.where(y == 0, 0, jnp.where((rest != 0) & ((rest < 0) != (y < 0)), quotient - 1, quotient))
    rest = lax.rem(x, y)
    quotient = (x - rest) / y
    quotient = jnp.where((rest != 0) & ((rest < 0) != (y < 0)), quotient - 1, quotient)
    whole = jnp.floor(quotient)
    whole = jnp.where(quotient - whole > 0.5, whole + 1, whole)
    return jnp.where(y == 0, x / y, jnp.where(quotient == 0, jnp.copysign(0, x / y), whole))


def _modulo(x: Vector, y: Vector) -> Vector:
    if not _is_float(x):
        divisor = jnp.where(y == 0, 1, y)
        rest = lax.rem(x, divisor)
        return jnp.where(y == 0, 0, jnp.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest))
    rest = lax.rem(x, y)
    rest = jnp.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)
    return jnp.where(rest == 0, jnp.copysign(0, y), rest)


def _integer_power(x: Vector, y: Vector) -> Vector:
    bits = x.dtype.itemsize * 8

    def step(bit: Vector, state: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
        result, factor = state
        chosen = (lax.shift_right_logical(y, bit.astype(y.dtype)) & 1) == 1
        return jnp.where(chosen, result * factor, result), factor * factor
    result, _ = lax.fori_loop(0, bits, step, (jnp.ones_like(x), x))
    odd = (y & 1) == 1
    negative = jnp.where(x == 1, 1, jnp.where((x == -1), jnp.where(odd, x, 1), 0)).astype(x.dtype)
    return jnp.where(y < 0, negative, result)


def _power(x: Vector, y: Vector) -> Vector:
    if not _is_float(x):
        return _integer_power(x, y)
    return jnp.power(x.astype(jnp.float64), y.astype(jnp.float64)).astype(x.dtype)


def _shift(function: Callable[[Vector, Vector], Vector], beyond: Callable[[Vector], Vector]) -> Any:
    def shifted(x: Vector, y: Vector) -> Vector:
        inside = (y >= 0) & (y < x.dtype.itemsize * 8)
        return jnp.where(inside, function(x, jnp.where(inside, y, 0)), beyond(x))
    return _function(shifted)


def _shift_right(x: Vector, y: Vector) -> Vector:
    return (lax.shift_right_arithmetic if jnp.issubdtype(x.dtype, jnp.signedinteger) else lax.shift_right_logical)(x, y)


def _predicate(function: Callable[[Vector], Vector], otherwise: bool) -> Any:
    return _function(lambda x: function(x) if jnp.issubdtype(x.dtype, jnp.inexact) else jnp.full(x.shape, otherwise))


def _by_name() -> dict[str, Any]:
    """The functions of floats that JAX has under their names; of any other the oracle's values, one by one.

    At a zero the oracle is asked, too: XLA does not tell the two apart.
    """
    names = [name for name, declared in SCALAR_FUNCTIONS.items() if declared.ulps and name not in ("power", "rsqrt")]
    return {name: _from_jax(name) for name in names}


def _from_jax(name: str) -> Any:
    modules = [module for module in (jax.nn, jnp, lax, jax.scipy.special) if hasattr(module, name)]
    if not modules:
        return _from_oracle(name)
    function = getattr(modules[0], name)
    if len(SCALAR_FUNCTIONS[name].operands) > 1:
        return _precise(function)
    above, below = [meaning(name, float64, zero) for zero in (0.0, -0.0)]
    return _precise(lambda x: jnp.where(x == 0, jnp.where(jnp.signbit(x), below, above), function(x)))


def _from_oracle(name: str) -> Any:
    """A method that is no part of a compiled one: the threads of XLA take denormals for zeros, Python's too."""
    def method(self: JaxScalars, *elements: Vector) -> Vector:
        arrays = [np.asarray(wide(x)) for x in elements]
        dtype = as_dtype(arrays[0].dtype)
        rows = zip(*[array.tolist() for array in arrays], strict=True)
        return np.array([meaning(name, dtype, *row) for row in rows], dtype.numpy)
    return method


class JaxScalars(ScalarNamespace):
    """The functions over vectors of ``length``; ``indices`` gives the values of an expression over the domain's
    indices.
    """

    def __init__(self, length: int, indices: Callable[[DimLike], np.ndarray] | None = None) -> None:
        self.length, self._indices = length, indices

    # -- values ------------------------------------------------------------------------------------------------

    def constant(self, value: Any, like: Any) -> Vector:
        dtype = (like if isinstance(like, DType) else as_dtype(like.dtype)).compute.numpy
        return np.full(self.length, dtype.type(value))

    def index(self, expression: DimLike) -> Vector:
        assert self._indices is not None, "an elementwise expression has no domain"
        return padded(self._indices(expression), self.length)

    def convert(self, x: Vector, dtype: DType) -> Vector:
        if x.dtype == dtype.numpy:
            return x
        x = wide(x)
        if x.dtype != dtype.numpy:
            x = widest(x)
        if dtype.is_low_precision and _is_float(x):
            x = _cast(float32.numpy)(_representable(dtype)(x))
        return x if x.dtype == dtype.numpy else _converted(dtype)(x)

    def wrap(self, x: Vector, dtype: DType) -> Vector:
        if not (as_dtype(x.dtype).is_integer and dtype.is_integer):
            return self.convert(x, dtype)
        if dtype.bits > 4:
            return _cast(dtype.numpy)(wide(x))
        nibble = _cast(uint8.numpy)(wide(x)) & np.uint8(15)
        return _cast(dtype.numpy)(_cast(np.dtype(np.int8))((nibble ^ 8) - 8 if dtype.is_signed else nibble))

    def bitcast(self, x: Vector, dtype: DType) -> Vector:
        if dtype.bits == 4:
            return self.wrap(x, dtype)
        return x if x.dtype == dtype.numpy else _from_word(dtype)(_as_word(x))

    def where(self, condition: Vector, x: Vector, y: Vector) -> Vector:
        if x.dtype != y.dtype:
            return _select(condition, wide(x), wide(y))
        dtype = as_dtype(x.dtype)
        if not dtype.is_low_precision:
            return _select(condition, x, y)
        # As words: XLA would make one NaN of all.
        return _from_word(dtype)(_select(condition, _as_word(x), _as_word(y)))

    # -- arithmetic --------------------------------------------------------------------------------------------

    negative = _function(jnp.negative)
    absolute = _function(jnp.abs)
    sign = _function(_sign)
    add = _function(jnp.add)
    subtract = _function(jnp.subtract)
    multiply = _function(jnp.multiply)
    divide = _function(jnp.divide)
    floordivide = _function(_floor_divide)
    modulo = _function(_modulo)
    power = _function(_power)
    maximum = _function(jnp.maximum)
    minimum = _function(jnp.minimum)

    def fma(self, x: Vector, y: Vector, z: Vector) -> Vector:
        x, y, z = wide(x), wide(y), wide(z)
        if not _is_float(x):
            return jnp.add(jnp.multiply(x, y), z)
        # Not compiled as one: a compiler may contract products and sums, and with them the errors kept here.
        return _fused32(x, y, z) if x.dtype == jnp.float32 else _fused64(x, y, z)

    # -- rounding ----------------------------------------------------------------------------------------------

    floor = _rounding(jnp.floor)
    ceil = _rounding(jnp.ceil)
    round = _rounding(lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN))
    truncate = _rounding(jnp.trunc)

    # -- functions of floats -----------------------------------------------------------------------------------

    sqrt = _function(jnp.sqrt)
    rsqrt = _precise(lambda x: 1 / jnp.sqrt(x))
    locals().update(_by_name())

    # -- comparisons and predicates ----------------------------------------------------------------------------

    equal = _function(jnp.equal)
    not_equal = _function(jnp.not_equal)
    less = _function(jnp.less)
    less_equal = _function(jnp.less_equal)
    is_nan = _predicate(jnp.isnan, False)
    is_inf = _predicate(jnp.isinf, False)
    is_finite = _predicate(jnp.isfinite, True)

    # -- bits --------------------------------------------------------------------------------------------------

    bitwise_and = _function(jnp.bitwise_and)
    bitwise_or = _function(jnp.bitwise_or)
    bitwise_xor = _function(jnp.bitwise_xor)
    bitwise_not = _function(jnp.bitwise_not)
    shift_left = _shift(lax.shift_left, jnp.zeros_like)
    shift_right = _shift(_shift_right, lambda x: jnp.where(x < 0, -1, 0).astype(x.dtype))

    # -- complex -----------------------------------------------------------------------------------------------

    real = _function(jnp.real)
    imaginary = _function(jnp.imag)
    conjugate = _function(jnp.conj)
    complex = _function(lax.complex)


_select = jax.jit(lambda condition, x, y: jnp.where(condition, x, y))


def padded(array: np.ndarray, length: int) -> np.ndarray:
    """A flat array with ones behind it up to ``length``: a number that every function and type admits."""
    result = np.ones(length, array.dtype)
    result[:array.size] = array.reshape(-1)
    return result


def widest(x: Vector) -> Vector:
    """The same number in the widest type of its kind, so that there are few pairs of types to convert between."""
    kind = as_dtype(x.dtype).kind
    target = {"bool": "u8", "uint": "u8", "int": "i8", "float": "f8", "complex": "c16"}[kind]
    return _cast(np.dtype(target))(x)


@cache
def _converted(dtype: DType) -> Callable[[Vector], Vector]:
    """From the widest type of a kind, or float32, to any type."""
    def convert(x: Vector) -> Vector:
        if dtype.kind == "bool":
            return x != 0
        if jnp.iscomplexobj(x) and not dtype.is_complex:
            x = x.real
        if dtype.is_integer:
            return _to_integer(x, dtype)
        if dtype.is_low_precision and not _is_float(x):
            return _rounded_integer(x, dtype)
        return x.astype(dtype.numpy)
    return jax.jit(convert)


def _to_integer(x: Vector, dtype: DType) -> Vector:
    low, high = dtype.minimum, dtype.maximum
    assert isinstance(low, int) and isinstance(high, int)
    if _is_float(x):
        whole = jnp.where((x > float(low)) & (x < float(high + 1)), x, 0)
        middle = whole.astype(jnp.uint64 if high >= 2**63 else jnp.int64)
        limits = jnp.where(x >= float(high + 1), np.asarray(high, middle.dtype), np.asarray(max(low, 0), middle.dtype))
        if low < 0:
            limits = jnp.where(x <= float(low), np.int64(low), limits)
        x = jnp.where((x >= float(high + 1)) | (x <= float(low)), limits, middle)
        return _narrow(x, dtype)
    own = jnp.iinfo(x.dtype)
    return _narrow(jnp.clip(x, np.asarray(max(low, own.min), x.dtype), np.asarray(min(high, own.max), x.dtype)), dtype)


def _narrow(x: Vector, dtype: DType) -> Vector:
    return x.astype(jnp.int8).astype(dtype.numpy) if dtype.bits == 4 else x.astype(dtype.numpy)


@cache
def _representable(dtype: DType) -> Callable[[Vector], Vector]:
    """The nearest float of a low-precision type, ties to even, in the type of x: all steps but one are exact."""
    info = ml_dtypes.finfo(dtype.numpy)

    def nearest(x: Vector) -> Vector:
        _, exponent = jnp.frexp(x)
        smallest = int(np.log2(float(info.smallest_subnormal)))
        unit = jnp.ldexp(jnp.ones_like(x), jnp.maximum(exponent - 1 - info.nmant, smallest))
        return jnp.where(jnp.isfinite(x), lax.round(x / unit, lax.RoundingMethod.TO_NEAREST_EVEN) * unit, x)
    return jax.jit(nearest)


def _rounded_integer(x: Vector, dtype: DType) -> Vector:
    """A 64-bit integer rounded to the precision of a type, ties to even, in integer arithmetic."""
    digits = ml_dtypes.finfo(dtype.numpy).nmant + 1
    size = jnp.where(x < 0, -x, x).astype(jnp.uint64)
    shift = jnp.maximum(64 - lax.clz(size).astype(jnp.int64) - digits, 0).astype(jnp.uint64)
    kept = lax.shift_right_logical(size, shift)
    rest, half = size - lax.shift_left(kept, shift), lax.shift_left(jnp.uint64(1), shift) // 2
    up = (rest > half) | ((rest == half) & (kept & 1 == 1) & (shift > 0))
    value = jnp.ldexp((kept + up.astype(jnp.uint64)).astype(jnp.float64), shift.astype(jnp.int32))
    return jnp.where(x < 0, -value, value).astype(dtype.numpy)


# -- fused multiply and add ------------------------------------------------------------------------------------


def _two_sum(x: Vector, y: Vector) -> tuple[Vector, Vector]:
    """The sum, and what its rounding left over (Knuth)."""
    total = lax.add(x, y)
    part = lax.sub(total, x)
    return total, lax.add(lax.sub(x, lax.sub(total, part)), lax.sub(y, part))


def _odd_sum(x: Vector, y: Vector) -> Vector:
    """The sum rounded to odd: exact, or the neighbour whose last bit is set (Boldo and Melquiond)."""
    total, rest = _two_sum(x, y)
    even = (lax.bitcast_convert_type(total, jnp.int64) & 1) == 0
    toward = jnp.where(rest > 0, jnp.inf, -jnp.inf)
    return jnp.where((rest != 0) & even & jnp.isfinite(total), jnp.nextafter(total, toward), total)


def _fused32(x: Vector, y: Vector, z: Vector) -> Vector:
    x, y, z = (entry.astype(jnp.float64) for entry in (x, y, z))
    return _odd_sum(lax.mul(x, y), z).astype(jnp.float32)


def _fused64(x: Vector, y: Vector, z: Vector) -> Vector:
    """Number by number: what is left over of a product has no float near the limits."""
    exact = np.frompyfunc(lambda *numbers: meaning("fma", float64, *numbers), 3, 1)
    return jnp.asarray(np.asarray(exact(*[np.asarray(entry) for entry in (x, y, z)])).astype(np.float64))
