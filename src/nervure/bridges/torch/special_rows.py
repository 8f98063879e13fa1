"""Rows of special functions, of floats by their bits, and of angles.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (3,)).output
>>> ROWS["special_erfcx.default"](x.type, x).type
f32[3]
"""

from __future__ import annotations

import math
from collections.abc import Callable

from nervure import ops
from nervure.bridges.torch.fitting import Given, converted, expanded, fitted, pointwise, widened
from nervure.bridges.torch.row_table import ROWS, row
from nervure.front.pointwise import float_bits
from nervure.front.special import bessel_functions, error_functions, gamma_functions, orthogonal_polynomials
from nervure.front.tensor import Tensor
from nervure.ir.op import Operand, Value
from nervure.ops.selection import where
from nervure.types import dtype as types
from nervure.types.description import BasicTensorDescription as Type

_Function = Callable[..., Tensor]

_MOST_STEPS = 16
"""The largest order whose recurrence is written out; others are loops."""

_SPECIAL: dict[str, _Function] = {
    "i0": bessel_functions.i0, "special_i0e": bessel_functions.i0e, "special_i1": bessel_functions.i1,
    "special_i1e": bessel_functions.i1e, "special_bessel_j0": bessel_functions.j0,
    "special_bessel_j1": bessel_functions.j1, "special_bessel_y0": bessel_functions.y0,
    "special_bessel_y1": bessel_functions.y1, "special_modified_bessel_i0": bessel_functions.i0,
    "special_modified_bessel_i1": bessel_functions.i1, "special_modified_bessel_k0": bessel_functions.k0,
    "special_modified_bessel_k1": bessel_functions.k1, "special_scaled_modified_bessel_k0": bessel_functions.k0e,
    "special_scaled_modified_bessel_k1": bessel_functions.k1e,
    "special_spherical_bessel_j0": bessel_functions.spherical_bessel_j0, "special_erfcx": error_functions.erfcx,
    "special_ndtri": error_functions.ndtri, "special_zeta": gamma_functions.zeta, "igamma": gamma_functions.gammainc,
    "igammac": gamma_functions.gammaincc, "nextafter": float_bits.nextafter}


def _on_values(function: _Function) -> Callable[..., Operand]:
    return lambda *operands: function(*[Tensor(operand) for operand in operands]).value


def _special(function: _Function) -> Callable[..., Value]:
    return lambda result, *operands: pointwise(_on_values(function), result, *operands)


for _name, _function in _SPECIAL.items():
    row(f"{_name}.default")(_special(_function))


def _polynomial(function: _Function) -> Callable[..., Value]:
    def polynomial(result: Type, x: Given, order: Given) -> Value:
        number = int(order) if isinstance(order, (int, float)) else Tensor(converted(order, types.int64))
        if isinstance(number, int) and not 0 <= number <= _MOST_STEPS:
            number = Tensor(fitted(number, types.int64, ()))
        found = function(number, Tensor(widened(x, result.dtype, x.shape if isinstance(x, Value) else ())))
        return converted(expanded(found.value, result.shape), result.dtype)
    return polynomial


for _name in ("chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
              "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
              "shifted_chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he",
              "laguerre_polynomial_l", "legendre_polynomial_p"):
    row(*[f"special_{_name}.{kind}" for kind in ("default", "n_scalar", "x_scalar")])(
        _polynomial(getattr(orthogonal_polynomials, _name.replace("_polynomial", ""))))


@row("polygamma.default")
def polygamma(result: Type, order: int, x: Value) -> Value:
    if order <= 1:
        return pointwise(ops.Trigamma if order else ops.Digamma, result, x)
    return pointwise(_on_values(lambda x: gamma_functions.polygamma(order, x)), result, x)


@row("ldexp.Tensor")
def times_power_of_two(result: Type, x: Given, exponent: Given) -> Value:
    return pointwise(lambda x, exponent: x * ops.Exp2(exponent), result, x, exponent)


@row("frexp.Tensor")
def mantissa_and_exponent(result: tuple[Type, Type], x: Value) -> tuple[Value, Value]:
    found = float_bits.frexp(Tensor(x))
    return converted(found[0].value, result[0].dtype), converted(found[1].value, result[1].dtype)


@row("signbit.default")
def has_sign(result: Type, x: Value) -> Value:
    if x.dtype.is_float:
        x = ops.Bitcast(x, types.as_dtype(f"int{x.dtype.bits}")).output
    return ops.Less(x, x.full(0)).output if x.dtype.is_integer else x.full(False)


@row("angle.default")
def angle(result: Type, x: Value) -> Value:
    if x.dtype.is_complex:
        return ops.Atan2(ops.Imaginary(x), ops.Real(x)).output
    own = converted(expanded(x, result.shape), result.dtype)
    return where(ops.IsNan(own), own, where(ops.Less(own, own.full(0)), own.full(math.pi), 0))


__all__ = ["ROWS"]
