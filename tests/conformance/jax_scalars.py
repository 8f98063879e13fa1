"""A second provider of the scalar namespace, over JAX: a scalar is a vector, one element for each point of a domain.

It shares no code with the interpreter, so that what both give is what the namespace says. With the xla transformer it
shares conversions, and functions that JAX has under no name. All vectors of one instance have one length (the domain,
padded), so that each function is compiled once for an element type. As the interpreter does, it computes what IEEE 754
does not fix in float64 and rounds once.

>>> import numpy as np
>>> s = JaxScalars(4)
>>> s.power(jnp.asarray(np.array([2, -1, 3, 0])), jnp.asarray(np.array([10, -3, -1, 0]))).tolist()
[1024, -1, 0, 1]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.special
import numpy as np
from jax import lax

from nervure.ops.scalar import SCALAR_FUNCTIONS, ScalarNamespace
from nervure.transformers.xla import element_types, functions
from nervure.transformers.xla.functions import is_float
from nervure.types.dim import DimLike
from nervure.types.dtype import DType, as_dtype, float32, float64
from tests.conformance.meaning import meaning

Vector = Any

compiled = partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0,
                                              "xla_llvm_disable_expensive_passes": True})
"""Compiles a function for a few runs."""


@cache
def _cast(target: np.dtype[Any]) -> Callable[[Vector], Vector]:
    return compiled(lambda x: x.astype(target))


_as_word = compiled(element_types.as_word)


@cache
def _from_word(dtype: DType) -> Callable[[Vector], Vector]:
    return compiled(lambda word: element_types.from_word(word, dtype))


def wide(x: Vector) -> Vector:
    """The same values in the type that is computed with: float32 for low-precision floats, bytes for 2 or 4 bits."""
    dtype = as_dtype(x.dtype)
    if dtype.is_low_precision:
        return _cast(float32.numpy)(x)
    return _cast(np.dtype(f"{dtype.kind}8"))(x) if dtype.bits < 8 else x


def _function(function: Callable[..., Vector]) -> Any:
    """A method that computes in the compute type."""
    own = compiled(function)

    def method(self: JaxScalars, *elements: Vector) -> Vector:
        return own(*map(wide, elements))
    return method


def _precise(function: Callable[..., Vector]) -> Any:
    """A method that computes in float64 and rounds once."""
    def rounded(*elements: Vector) -> Vector:
        return function(*[x.astype(jnp.float64) for x in elements]).astype(elements[0].dtype)
    return _function(rounded)


def _rounding(function: Callable[[Vector], Vector]) -> Any:
    return _function(lambda x: function(x) if is_float(x) else x)


def _power(x: Vector, y: Vector) -> Vector:
    if not is_float(x):
        return functions.integer_power(x, y)
    return jnp.power(x.astype(jnp.float64), y.astype(jnp.float64)).astype(x.dtype)


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


_FOURS = np.float32([0, 0.5, 1, 1.5, 2, 3, 4, 6])
"""The numbers of float4_e2m1fn without a sign, by their codes."""


def _small_bits(scalars: JaxScalars, x: Vector, dtype: DType) -> Vector:
    """The bits of a type of 2 or 4 bits as another one, by the table of float4's numbers where that is one."""
    if as_dtype(x.dtype).is_float:
        number = wide(x)
        code = (jnp.abs(number)[..., None] == _FOURS).argmax(-1) + 8 * jnp.signbit(number)
        x = _cast(np.dtype(np.uint8))(code)
    if not dtype.is_float:
        return scalars.wrap(x, dtype)
    table = jnp.asarray(np.concatenate([_FOURS, -_FOURS]))
    return _cast(dtype.numpy)(table[_cast(np.dtype(np.int32))(wide(x)) % 16])


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
        if dtype.is_low_precision and is_float(x):
            x = _cast(float32.numpy)(_representable(dtype)(x))
        return x if x.dtype == dtype.numpy else _converted(dtype)(x)

    def wrap(self, x: Vector, dtype: DType) -> Vector:
        if not (as_dtype(x.dtype).is_integer and dtype.is_integer):
            return self.convert(x, dtype)
        if dtype.bits >= 8:
            return _cast(dtype.numpy)(wide(x))
        count = 2 ** dtype.bits
        rest = _cast(np.dtype(np.int16))(wide(x)) % np.int16(count)
        below = jnp.where(rest >= count // 2, rest - count, rest) if dtype.is_signed else rest
        return _cast(dtype.numpy)(_cast(np.dtype(np.int8))(below))

    def bitcast(self, x: Vector, dtype: DType) -> Vector:
        if dtype.bits < 8:
            return x if x.dtype == dtype.numpy else _small_bits(self, x, dtype)
        return x if x.dtype == dtype.numpy else _from_word(dtype)(_as_word(x))

    def where(self, condition: Vector, x: Vector, y: Vector) -> Vector:
        if x.dtype != y.dtype:
            return _select(condition, wide(x), wide(y))
        dtype = as_dtype(x.dtype)
        if not dtype.is_low_precision:
            return _select(condition, x, y)
        if dtype.bits < 8:
            return _cast(dtype.numpy)(_select(condition, wide(x), wide(y)))
        # As words: XLA would make one NaN of all.
        return _from_word(dtype)(_select(condition, _as_word(x), _as_word(y)))

    # -- arithmetic --------------------------------------------------------------------------------------------

    negative = _function(jnp.negative)
    absolute = _function(jnp.abs)
    sign = _function(functions.sign)
    add = _function(jnp.add)
    subtract = _function(jnp.subtract)
    multiply = _function(jnp.multiply)
    divide = _function(jnp.divide)
    floordivide = _function(functions.floor_divide)
    modulo = _function(functions.modulo)
    power = _function(_power)
    maximum = _function(jnp.maximum)
    minimum = _function(jnp.minimum)

    def fma(self, x: Vector, y: Vector, z: Vector) -> Vector:
        x, y, z = wide(x), wide(y), wide(z)
        if not is_float(x):
            return jnp.add(jnp.multiply(x, y), z)
        # Not compiled as one: a compiler may contract products and sums, and with them the errors kept here.
        return functions.fused32(x, y, z) if x.dtype == jnp.float32 else _fused64(x, y, z)

    # -- rounding ----------------------------------------------------------------------------------------------

    floor = _rounding(jnp.floor)
    ceil = _rounding(jnp.ceil)
    round = _rounding(functions.nearest)
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
    shift_left = _function(functions.shift_left)
    shift_right = _function(functions.shift_right)

    # -- complex -----------------------------------------------------------------------------------------------

    real = _function(jnp.real)
    imaginary = _function(jnp.imag)
    conjugate = _function(jnp.conj)
    complex = _function(lax.complex)


_select = compiled(lambda condition, x, y: jnp.where(condition, x, y))


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
    return compiled(lambda x: element_types.converted(x, dtype))


@cache
def _representable(dtype: DType) -> Callable[[Vector], Vector]:
    """The nearest float of a low-precision type, ties to even, in the type of x."""
    return compiled(lambda x: element_types.representable(x, dtype))


def _fused64(x: Vector, y: Vector, z: Vector) -> Vector:
    """Number by number: what is left over of a product has no float near the limits."""
    exact = np.frompyfunc(lambda *numbers: meaning("fma", float64, *numbers), 3, 1)
    return jnp.asarray(np.asarray(exact(*[np.asarray(entry) for entry in (x, y, z)])).astype(np.float64))
