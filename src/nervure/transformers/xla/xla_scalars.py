"""The scalar namespace over JAX: a scalar is an array that broadcasts over the domain, traced or not.

>>> import numpy as np
>>> s = XlaScalars()
>>> s.power(jnp.asarray(np.int32([2, -1, 3])), jnp.asarray(np.int32([10, -3, -1]))).tolist()
[1024, -1, 0]

Functions that IEEE 754 does not fix are XLA's own, in the type of the operands. A product and a sum may become one
instruction that rounds once.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import jax.scipy.special
import numpy as np
from jax import lax

from nervure.errors import InternalError
from nervure.ir.notation import Number
from nervure.ops.scalar import ScalarNamespace
from nervure.transformers.xla import element_types, functions
from nervure.transformers.xla.element_types import wide
from nervure.transformers.xla.functions import Array, is_float
from nervure.types.dim import DimLike
from nervure.types.dtype import DType, as_dtype


def _method(function: Callable[..., Array]) -> Array:
    """Returns a method that computes in the compute type."""
    def method(self: XlaScalars, *elements: Array) -> Array:
        return function(*map(wide, elements))
    return method


def _rounding(function: Callable[[Array], Array]) -> Array:
    return _method(lambda x: function(x) if is_float(x) else x)


def _predicate(function: Callable[[Array], Array], otherwise: bool) -> Array:
    return _method(lambda x: function(x) if jnp.issubdtype(x.dtype, jnp.inexact) else jnp.full(x.shape, otherwise))


def _precise(function: Callable[[Array], Array]) -> Array:
    """Returns a method that computes in float64 and rounds once, where float32 is too coarse on the way."""
    return _method(lambda x: function(x.astype(jnp.float64)).astype(x.dtype))


def _zeros_kept(function: Callable[[Array], Array]) -> Array:
    """Returns a function that is 0 at 0, with its sign, which some of XLA's lose."""
    return _method(lambda x: jnp.where(x == 0, x, function(x)))


class XlaScalars(ScalarNamespace[Array]):
    """The functions over JAX's arrays. ``indices`` gives the values of an expression over the domain's indices."""

    def __init__(self, indices: Callable[[DimLike], Array] | None = None) -> None:
        self._indices = indices

    # -- values ------------------------------------------------------------------------------------------------

    def constant(self, value: Number, like: Array | DType) -> Array:
        dtype = like if isinstance(like, DType) else as_dtype(like.dtype)
        return jnp.asarray(dtype.compute.numpy.type(value))

    def index(self, expression: DimLike) -> Array:
        if self._indices is None:
            raise InternalError("an elementwise expression has no domain whose index it could read")
        return self._indices(expression)

    convert = staticmethod(element_types.convert)
    wrap = staticmethod(element_types.wrap)
    bitcast = staticmethod(element_types.bitcast)

    def where(self, condition: Array, x: Array, y: Array) -> Array:
        if x.dtype != y.dtype:
            return jnp.where(condition, wide(x), wide(y))
        dtype = as_dtype(x.dtype)
        if not dtype.is_low_precision:
            return jnp.where(condition, x, y)
        if dtype.bits < 8:
            return jnp.where(condition, wide(x), wide(y)).astype(dtype.numpy)
        # As words: XLA would make one NaN of all.
        return element_types.from_word(jnp.where(condition, element_types.as_word(x), element_types.as_word(y)), dtype)

    # -- arithmetic --------------------------------------------------------------------------------------------

    negative = _method(jnp.negative)
    absolute = _method(jnp.abs)
    sign = _method(functions.sign)
    add = _method(jnp.add)
    subtract = _method(jnp.subtract)
    multiply = _method(jnp.multiply)
    divide = _method(jnp.divide)
    floordivide = _method(functions.floor_divide)
    modulo = _method(functions.modulo)
    maximum = _method(jnp.maximum)
    minimum = _method(jnp.minimum)

    def power(self, x: Array, y: Array) -> Array:
        x, y = jnp.broadcast_arrays(wide(x), wide(y))
        return lax.pow(x, y) if is_float(x) else functions.integer_power(x, y)

    def fma(self, x: Array, y: Array, z: Array) -> Array:
        x, y, z = wide(x), wide(y), wide(z)
        if not is_float(x):
            return jnp.add(jnp.multiply(x, y), z)
        return (functions.fused32 if x.dtype == jnp.float32 else functions.fused64)(x, y, z)

    # -- rounding ----------------------------------------------------------------------------------------------

    floor = _rounding(jnp.floor)
    ceil = _rounding(jnp.ceil)
    round = _rounding(functions.nearest)
    truncate = _rounding(jnp.trunc)

    # -- functions of floats -----------------------------------------------------------------------------------

    exp = _method(jnp.exp)
    exp2 = _method(jnp.exp2)
    expm1 = _zeros_kept(jnp.expm1)
    log = _method(jnp.log)
    log2 = _method(jnp.log2)
    log10 = _method(jnp.log10)
    log1p = _zeros_kept(jnp.log1p)
    sqrt = _method(jnp.sqrt)
    rsqrt = _method(lambda x: 1 / jnp.sqrt(x))
    cbrt = _zeros_kept(jnp.cbrt)
    sin = _zeros_kept(jnp.sin)
    cos = _method(jnp.cos)
    tan = _zeros_kept(jnp.tan)
    asin = _zeros_kept(jnp.asin)
    acos = _method(jnp.acos)
    atan = _zeros_kept(jnp.atan)
    atan2 = _method(functions.atan2)
    sinh = _zeros_kept(jnp.sinh)
    cosh = _method(jnp.cosh)
    tanh = _zeros_kept(jnp.tanh)
    asinh = _zeros_kept(jnp.asinh)
    acosh = _method(jnp.acosh)
    atanh = _zeros_kept(jnp.atanh)
    sigmoid = _method(jax.nn.sigmoid)
    softplus = _method(jax.nn.softplus)
    erf = _zeros_kept(jax.scipy.special.erf)
    erfc = _precise(jax.scipy.special.erfc)
    erf_inv = _precise(lambda x: jnp.where(x == 0, x, jax.scipy.special.erfinv(x)))
    lgamma = _precise(jax.scipy.special.gammaln)
    digamma = _precise(lambda x: jnp.where(x == 0, jnp.copysign(np.inf, -x), jax.scipy.special.digamma(x)))

    # -- comparisons and predicates ----------------------------------------------------------------------------

    equal = _method(jnp.equal)
    not_equal = _method(jnp.not_equal)
    less = _method(jnp.less)
    less_equal = _method(jnp.less_equal)
    is_nan = _predicate(jnp.isnan, False)
    is_inf = _predicate(jnp.isinf, False)
    is_finite = _predicate(jnp.isfinite, True)

    # -- bits --------------------------------------------------------------------------------------------------

    bitwise_and = _method(jnp.bitwise_and)
    bitwise_or = _method(jnp.bitwise_or)
    bitwise_xor = _method(jnp.bitwise_xor)
    bitwise_not = _method(jnp.bitwise_not)
    shift_left = _method(functions.shift_left)
    shift_right = _method(functions.shift_right)

    # -- complex -----------------------------------------------------------------------------------------------

    real = _method(jnp.real)
    imaginary = _method(jnp.imag)
    conjugate = _method(jnp.conj)
    complex = _method(lambda re, im: lax.complex(*jnp.broadcast_arrays(re, im)))
