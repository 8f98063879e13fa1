"""Rows of functions of single elements: arithmetic, comparisons, logic, casts and activations.

>>> from nervure.ops import Parameter
>>> import nervure as nv
>>> x = Parameter(nv.bfloat16, (3,)).output
>>> power(x.type, x, 3)
bf16[3] Convert(Multiply)
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from nervure import ops
from nervure.bridges.torch.fitting import Given, common, converted, expanded, fitted, pointwise, widened
from nervure.bridges.torch.row_table import row
from nervure.bridges.torch.unsupported import Unsupported
from nervure.ir.op import Op, Operand, Value
from nervure.ops.selection import where
from nervure.types import dtype as types
from nervure.types.description import BasicTensorDescription as Type

# -- functions of one element or two, each an op ----------------------------------------------------------------------

_UNARY: dict[str, type[Op]] = {
    "acos": ops.Acos, "acosh": ops.Acosh, "asin": ops.Asin, "asinh": ops.Asinh, "atan": ops.Atan, "atanh": ops.Atanh,
    "ceil": ops.Ceil, "cos": ops.Cos, "cosh": ops.Cosh, "digamma": ops.Digamma, "erf": ops.Erf, "erfc": ops.Erfc,
    "erfinv": ops.ErfInv, "exp": ops.Exp, "exp2": ops.Exp2, "expm1": ops.Expm1, "floor": ops.Floor,
    "lgamma": ops.Lgamma, "log": ops.Log, "log10": ops.Log10, "log1p": ops.Log1p, "log2": ops.Log2,
    "neg": ops.Negative, "reciprocal": ops.Reciprocal, "relu": ops.Relu, "round": ops.Round, "rsqrt": ops.Rsqrt,
    "sigmoid": ops.Sigmoid, "sin": ops.Sin, "sinh": ops.Sinh, "sqrt": ops.Sqrt, "tan": ops.Tan, "tanh": ops.Tanh,
    "trunc": ops.Truncate}


def _of_one(op: Callable[..., Operand]) -> Callable[..., Value]:
    return lambda result, x: pointwise(op, result, x)


for _name, _op in _UNARY.items():
    row(f"{_name}.default")(_of_one(_op))


_BINARY: dict[str, type[Op]] = {
    "atan2": ops.Atan2, "hypot": ops.Hypot, "maximum": ops.Maximum, "minimum": ops.Minimum}


def _of_two(op: type[Op]) -> Callable[..., Value]:
    return lambda result, x, y: pointwise(op, result, x, y)


for _name, _op in _BINARY.items():
    row(f"{_name}.default")(_of_two(_op))


@row("abs.default")
def absolute(result: Type, x: Value) -> Value:
    if x.dtype.is_complex:
        return ops.Hypot(ops.Real(x), ops.Imaginary(x)).output
    return x if x.dtype is types.bool_ else pointwise(ops.Absolute, result, x)


@row("fmax.default")
def larger_number(result: Type, x: Given, y: Given) -> Value:
    return _without_nan(ops.Maximum, result, x, y)


@row("fmin.default")
def smaller_number(result: Type, x: Given, y: Given) -> Value:
    return _without_nan(ops.Minimum, result, x, y)


def _without_nan(op: type[Op], result: Type, x: Given, y: Given) -> Value:
    """Returns the larger or the smaller of two numbers; the other one where one is NaN."""
    return pointwise(lambda x, y: where(ops.IsNan(x), y, where(ops.IsNan(y), x, op(x, y).output)), result, x, y)


@row("copysign.Tensor", "copysign.Scalar")
def copysign(result: Type, x: Given, y: Given) -> Value:
    def formula(x: Value, y: Value) -> Value:
        bits = ops.Bitcast(y, types.int64 if y.dtype is types.float64 else types.int32).output
        return where(ops.Less(bits, bits.full(0)), -ops.Absolute(x).output, ops.Absolute(x).output)
    return pointwise(formula, result, x, y)


@row("round.decimals")
def round_to_decimals(result: Type, x: Value, decimals: int) -> Value:
    if result.dtype.is_integer:
        raise Unsupported("integers rounded to decimals")
    power = 10.0 ** abs(decimals)
    if decimals < 0:
        return pointwise(lambda x: ops.Round(x / power) * power, result, x)
    return pointwise(lambda x: ops.Round(x * power) / power, result, x)


@row("sign.default")
def sign(result: Type, x: Value) -> Value:
    if x.dtype is types.bool_:
        return x
    return where(ops.LogicalOr(ops.IsNan(x), ops.Equal(x, x.full(0))), 0, ops.Sign(x).output)  # no zero has a sign


@row("elu.default")
def elu(result: Type, x: Value, alpha: float, scale: float, input_scale: float) -> Value:
    def formula(x: Value) -> Value:
        is_positive = ops.Greater(x, x.full(0))
        return where(is_positive, x * scale, ops.Expm1(where(is_positive, 0, x) * input_scale) * (alpha * scale))
    return pointwise(formula, result, x)


@row("leaky_relu.default")
def leaky_relu(result: Type, x: Value, slope: float) -> Value:
    return pointwise(lambda x: where(ops.Greater(x, x.full(0)), x, x * slope), result, x)


@row("gelu.default")
def gelu(result: Type, x: Value, approximate: str) -> Value:
    return pointwise(ops.GeluTanh if approximate == "tanh" else ops.Gelu, result, x)


@row("isnan.default")
def is_nan(result: Type, x: Value) -> Value:
    return ops.IsNan(x).output if not x.dtype.kind == "bool" else x.full(False)


@row("isinf.default")
def is_inf(result: Type, x: Value) -> Value:
    return ops.IsInf(x).output if not x.dtype.kind == "bool" else x.full(False)


# -- sums and products -------------------------------------------------------------------------------------------------


@row("add.Tensor", "add.Scalar")
def add(result: Type, x: Given, y: Given, alpha: Given) -> Value:
    if result.dtype is types.bool_:
        return _for_bool(ops.LogicalOr, result, x, y, alpha)
    return pointwise(lambda x, y: x + _times(y, alpha), result, x, y)


@row("sub.Tensor", "sub.Scalar")
def subtract(result: Type, x: Given, y: Given, alpha: Given) -> Value:
    return pointwise(lambda x, y: x - _times(y, alpha), result, x, y)


@row("rsub.Tensor", "rsub.Scalar")
def subtract_from(result: Type, x: Given, y: Given, alpha: Given) -> Value:
    return pointwise(lambda x, y: y - _times(x, alpha), result, x, y)


def _times(x: Value, factor: Given) -> Value:
    return x if factor == 1 else x * fitted(factor, x.dtype, x.shape)


def _for_bool(op: type[Op], result: Type, x: Given, y: Given, alpha: Given) -> Value:
    if alpha != 1:
        raise Unsupported("truth values times a number")
    return op(fitted(x, types.bool_, result.shape), fitted(y, types.bool_, result.shape)).output


@row("mul.Tensor", "mul.Scalar")
def multiply(result: Type, x: Given, y: Given) -> Value:
    if result.dtype is types.bool_:
        return _for_bool(ops.LogicalAnd, result, x, y, 1)
    return pointwise(ops.Multiply, result, x, y)


@row("div.Tensor", "div.Scalar")
def divide(result: Type, x: Given, y: Given) -> Value:
    return pointwise(ops.Divide, result, x, y)


@row("div.Tensor_mode", "div.Scalar_mode")
def divide_in_mode(result: Type, x: Given, y: Given, mode: str | None) -> Value:
    if mode is None:
        return divide(result, x, y)
    if result.dtype.kind == "bool":
        raise Unsupported("division of truth values")
    return pointwise(ops.FloorDivide if mode == "floor" else truncating_quotient, result, x, y)


@row("floor_divide.default")
def floor_divide(result: Type, x: Given, y: Given) -> Value:
    return divide_in_mode(result, x, y, "floor")


def truncating_quotient(x: Value, y: Value) -> Value:
    """Returns the quotient without its fraction."""
    if not x.dtype.is_integer:
        return ops.Truncate(x / y).output
    quotient = x // y
    is_below = ops.LogicalAnd(ops.NotEqual(quotient * y, x), ops.LogicalXor(x < 0, y < 0))
    return where(is_below, quotient + 1, quotient)


@row("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor")
def remainder(result: Type, x: Given, y: Given) -> Value:
    return pointwise(lambda x, y: _with_zeros_of(x, ops.Mod(x, y).output), result, x, y)


def _with_zeros_of(x: Value, rest: Value) -> Value:
    """Returns the rest of a division of x, in which zeros have the sign of x; its derivatives are those of ``rest``."""
    if x.dtype.is_integer:
        return rest
    slope = ops.StopGradient(rest) - rest  # 0, and no zero loses its sign when it is subtracted
    return where(ops.Equal(rest, rest.full(0)), ops.StopGradient(x * 0) - slope, rest)


@row("fmod.Tensor", "fmod.Scalar")
def fmod(result: Type, x: Given, y: Given) -> Value:
    return pointwise(_with_sign_of_first, result, x, y)


def _with_sign_of_first(x: Value, y: Value) -> Value:
    if x.dtype.is_integer:
        rest = x % y
        return where(ops.LogicalAnd(ops.NotEqual(rest, rest.full(0)), ops.LogicalXor(x < 0, y < 0)), rest - y, rest)
    rest = abs(x) % abs(y)
    return _with_zeros_of(x, where(x < 0, -rest, rest))


@row("pow.Tensor_Tensor", "pow.Scalar", "pow.Tensor_Scalar")
def power(result: Type, x: Given, y: Given) -> Value:
    if result.dtype.kind in ("bool", "complex"):
        raise Unsupported(f"powers of {result.dtype.name} numbers")
    known = None if isinstance(y, Operand) or isinstance(x, Operand) and x.dtype.is_complex else _KNOWN_POWERS.get(y)
    if known is not None and (result.dtype.is_float or y in (1, 2, 3)):
        return pointwise(known, result, x)
    return pointwise(ops.Power, result, x, y)


_KNOWN_POWERS: dict[object, Callable[[Value], Operand]] = {
    0.5: ops.Sqrt, 1: lambda x: x, 2: lambda x: x * x, 3: lambda x: x * x * x, -0.5: ops.Rsqrt,
    -1: lambda x: 1 / x, -2: lambda x: 1 / (x * x)}
"""The powers that PyTorch computes otherwise."""


# -- the larger, the smaller, one of two -------------------------------------------------------------------------------


@row("clamp.default", "clamp.Tensor")
def clamp(result: Type, x: Value, low: Given | None, high: Given | None) -> Value:
    value = widened(x, result.dtype, result.shape)
    if low is not None:
        value = ops.Maximum(value, widened(low, result.dtype, result.shape)).output
    if high is not None:
        value = ops.Minimum(value, widened(high, result.dtype, result.shape)).output
    return converted(value, result.dtype)


@row("hardtanh.default")
def hard_tanh(result: Type, x: Value, low: Given, high: Given) -> Value:
    bounds = (int(low), int(high)) if result.dtype.is_integer else (low, high)
    return clamp(result, x, *bounds)


@row("where.self")
def choose(result: Type, condition: Value, x: Given, y: Given) -> Value:
    sides = [fitted(side, result.dtype, result.shape) for side in (x, y)]
    return ops.Where(fitted(condition, types.bool_, result.shape), *sides).output


# -- comparisons and logic ---------------------------------------------------------------------------------------------

_COMPARISONS: dict[str, type[Op]] = {"eq": ops.Equal, "ne": ops.NotEqual, "lt": ops.Less, "le": ops.LessEqual,
                                     "gt": ops.Greater, "ge": ops.GreaterEqual}


def _compared(op: type[Op]) -> Callable[..., Value]:
    def compare(result: Type, x: Given, y: Given) -> Value:
        dtype = common(x, y)
        if dtype is types.bool_ and op not in (ops.Equal, ops.NotEqual):
            dtype = types.uint8
        return op(fitted(x, dtype, result.shape), fitted(y, dtype, result.shape)).output
    return compare


for _name, _op in _COMPARISONS.items():
    row(f"{_name}.Tensor", f"{_name}.Scalar")(_compared(_op))


_LOGIC: dict[str, type[Op]] = {"and": ops.LogicalAnd, "or": ops.LogicalOr, "xor": ops.LogicalXor}
_BITS: dict[str, type[Op]] = {"and": ops.BitwiseAnd, "or": ops.BitwiseOr, "xor": ops.BitwiseXor}


def _of_truths(op: type[Op]) -> Callable[..., Value]:
    return lambda result, x, y: op(fitted(x, types.bool_, result.shape), fitted(y, types.bool_, result.shape)).output


def _of_bits(on_bits: type[Op], on_truths: type[Op]) -> Callable[..., Value]:
    return lambda result, x, y: pointwise(on_truths if result.dtype is types.bool_ else on_bits, result, x, y)


for _name, _op in _LOGIC.items():
    row(f"logical_{_name}.default")(_of_truths(_op))
    row(f"bitwise_{_name}.Tensor", f"bitwise_{_name}.Scalar",
        f"bitwise_{_name}.Scalar_Tensor")(_of_bits(_BITS[_name], _op))


@row("logical_not.default")
def logical_not(result: Type, x: Value) -> Value:
    return ops.LogicalNot(converted(x, types.bool_)).output


@row("bitwise_not.default")
def bitwise_not(result: Type, x: Value) -> Value:
    return ops.LogicalNot(x).output if x.dtype is types.bool_ else ops.BitwiseNot(x).output


# -- complex numbers ---------------------------------------------------------------------------------------------------


@row("_conj.default", "_conj_physical.default")
def conjugate(result: Type, x: Given) -> Value:
    own = fitted(x, result.dtype, result.shape)  # derivatives conjugate Python's numbers, too
    return ops.Conjugate(own).output if own.dtype.is_complex else own


@row("complex.default")
def complex_of(result: Type, x: Given, y: Given) -> Value:
    return ops.Complex(*[fitted(part, result.dtype.part, result.shape) for part in (x, y)]).output


@row("polar.default")
def polar(result: Type, length: Given, angle: Given) -> Value:
    length, angle = [fitted(part, result.dtype.part, result.shape) for part in (length, angle)]
    return ops.Complex(length * ops.Cos(angle), length * ops.Sin(angle)).output


@row("view_as_real.default", "view_as_real_copy.default")
def parts_of_complex(result: Type, x: Value) -> Value:
    return ops.Stack(ops.Real(x), ops.Imaginary(x), axes=[x.rank], counts=[2]).output


@row("view_as_complex.default", "view_as_complex_copy.default")
def complex_of_parts(result: Type, x: Value) -> Value:
    slices = [(0, length, 1) for length in x.shape[:-1]]
    parts = [ops.Reshape(ops.Slice(x, [*slices, (at, 1, 1)]), result.shape) for at in (0, 1)]
    return ops.Complex(*parts).output


# -- casts and copies --------------------------------------------------------------------------------------------------


@row("_to_copy.default")
def to_copy(result: Type, x: Value, dtype: object, layout: object, device: torch.device | None,
            *others: object) -> Value:
    if device is not None and device.type != "cpu" or layout not in (None, torch.strided):
        raise Unsupported(f"a copy on {device} as {layout}")
    return converted(x, result.dtype)


@row("prims.convert_element_type.default")
def convert_element_type(result: Type, x: Value, dtype: object) -> Value:
    return converted(x, result.dtype)


@row("clone.default", "alias.default", "lift_fresh_copy.default", "alias_copy.default")
def clone(result: Type, x: Value, *others: object) -> Value:
    return x


@row("detach.default", "detach_copy.default")
def detached(result: Type, x: Value) -> Value:
    return ops.StopGradient(x).output


@row("nervure.straight_through.default")
def straight_through(result: Type, x: Value, y: Value) -> Value:
    return ops.StraightThrough(x, y).output


@row("copy.default")
def copy(result: Type, x: Value, source: Value, *others: object) -> Value:
    return expanded(converted(source, x.dtype), x.shape)


@row("fill.Scalar", "fill.Tensor")
def fill(result: Type, x: Value, value: Given) -> Value:
    return fitted(value, x.dtype, x.shape)
