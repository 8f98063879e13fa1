"""Algebra: rows of (pattern, builder) that hold for every value, NaN, infinities and both zeros included.

>>> import nervure as nv
>>> x, y = nv.Parameter(nv.float32, (3,)), nv.Parameter(nv.float32, (3,))
>>> algebra(nv.Function([x * 1.0 + -y], [x, y])).results
(f32[3] Subtract(Parameter, Parameter),)
>>> algebra(nv.Function([x + 0.0], [x])).results  # stays: -0.0 + 0.0 is 0.0
(f32[3] Add(Parameter, Full),)

No row changes a rounding. The payload of a NaN is no part of its value. A number in a pattern is a tensor of it; the
sign of a zero counts: ``0`` is +0.0 for floats. Predicates name the element types that a row holds for:

* ``x * 0`` is 0, and ``x - x`` too, for integers alone: NaN and infinities have other results.
* ``x * 1`` is x but for complex numbers, whose product mixes the parts: ``inf * 1`` has a NaN.
* ``x - 0.0`` and ``x + -0.0`` are x, ``x + 0.0`` is not, and ``0.0 - x`` is not ``-x``.
* ``x / c`` is ``x * (1 / c)`` where c is a power of two: both round the same number.
* ``x ** 2`` is ``x * x`` for integers; the power of floats is rounded otherwise.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from nervure.ir.function import Function
from nervure.ir.leaves import Full
from nervure.ir.op import Op, Value
from nervure.ops.arithmetic import Multiply
from nervure.ops.comparison import Equal, Greater, GreaterEqual, IsNan, Less, LessEqual, LogicalNot, NotEqual
from nervure.ops.conversion import Bitcast, Convert
from nervure.ops.selection import Where
from nervure.passes import reduction_algebra
from nervure.passes.pattern import Pattern, Patterns, Predicate
from nervure.passes.rewrite import Builder, Rewriter, Row, Rule
from nervure.types.dtype import DType

Rows = list[tuple[Pattern, Builder]]

p = Patterns()
x, y, z, c = p.any("x"), p.any("y"), p.any("z"), p.any("c")
number = p.number("number")


def _kinds(*kinds: str) -> Predicate:
    return lambda value: value.dtype.kind in kinds


integers = _kinds("int", "uint")
exact = _kinds("int", "uint", "bool")
signed = _kinds("int", "float", "complex")
floats = _kinds("float")
inexact = _kinds("float", "complex")
real = _kinds("int", "uint", "float", "bool")
boolean = _kinds("bool")
words = _kinds("int", "uint", "float", "complex")


def is_power_of_two(value: object) -> bool:
    """Whether the reciprocal of a number is a float of the same precision."""
    return isinstance(value, float) and math.isfinite(value) and abs(math.frexp(value)[0]) == 0.5


@cache
def is_lossless(narrow: DType, wide: DType) -> bool:
    """Whether every value of ``narrow`` is one of ``wide``, including NaN, infinities and the sign of zero."""
    if narrow is wide:
        return True
    if "complex" in (narrow.kind, wide.kind) or wide.kind == "bool":
        return False
    if not wide.is_float:
        low, high = wide.limits
        return not narrow.is_float and low <= narrow.limits[0] and narrow.limits[1] <= high
    if narrow.bits > 16:
        return narrow.bits == 32 and wide.bits == 64
    with np.errstate(all="ignore"):
        before = _all_values(narrow).astype(np.float64)
        after = before.astype(wide.numpy).astype(np.float64)
        same = (before == after) & (np.signbit(before) == np.signbit(after))
    return bool((same | (np.isnan(before) & np.isnan(after))).all())


def _all_values(dtype: DType) -> np.ndarray:
    """Returns every value of a type of at most 16 bits."""
    if dtype.is_float:
        return np.arange(1 << dtype.bits).astype(f"uint{dtype.bits}").view(dtype.numpy)
    low, high = dtype.limits
    return np.arange(int(low), int(high) + 1)


def _reconverted(x: Value, inner: Convert, outer: Convert) -> Op | None:
    """Returns one conversion for two, if the ``inner`` one keeps every value."""
    modes = {inner.mode, outer.mode}
    integral = all([value.dtype.is_integer for value in (x, inner, outer)])
    if not is_lossless(x.dtype, inner.dtype) or ("wrap" in modes and not integral):
        return None
    return Convert(x, outer.dtype, outer.mode)


ARITHMETIC: Rows = [
    (p.Add(x.where(exact), 0), lambda x: x),
    (p.Add(x.where(inexact), -0.0), lambda x: x),
    (p.Subtract(x, 0), lambda x: x),
    (p.Subtract(0, x.where(integers)), lambda x: -x),
    (p.Subtract(-0.0, x.where(inexact)), lambda x: -x),
    (p.Multiply(x.where(real), 1), lambda x: x),
    (p.Multiply(x.where(exact), 0), lambda: 0),
    (p.Multiply(x.where(_kinds("int", "float")), -1), lambda x: -x),
    (p.Divide(x.where(floats), 1), lambda x: x),
    (p.Divide(x.where(floats), -1), lambda x: -x),
    (p.Divide(x.where(floats), number.where(is_power_of_two)), lambda x, number: _scaled(x, 1 / number)),
    (p.FloorDivide(x.where(integers), 1), lambda x: x),
    (p.Mod(x.where(integers), 1), lambda: 0),
    (p.Power(x, 0), lambda: 1),
    (p.Power(x, 1), lambda x: x),
    (p.Power(x.where(integers), 2), lambda x: x * x),
    (p.Add(x, p.Negative(y)), lambda x, y: x - y),
    (p.Subtract(x, p.Negative(y)), lambda x, y: x + y),
    (p.Subtract(x.where(integers), x), lambda: 0),
    (p.Multiply(p.Negative(x), p.Negative(y)), lambda x, y: x * y),
    (p.Multiply(p.Negative(x.where(floats)), number), lambda x, number: _scaled(x, -number)),
    (p.Divide(p.Negative(x.where(floats)), p.Negative(y)), lambda x, y: x / y),
    (p.Negative(p.Negative(x)), lambda x: x),
    (p.Negative(p.Subtract(x.where(integers), y)), lambda x, y: y - x),
    (p.Absolute(p.Negative(x.where(signed))), lambda x: abs(x)),
    (p.Absolute(p.Absolute(x).named("y")), lambda y: y),
    (p.Sign(p.Sign(x.where(real)).named("y")), lambda y: y),
    (p.Real(p.Complex(x, y)), lambda x: x),
    (p.Imaginary(p.Complex(x, y)), lambda y: y),
    (p.Complex(p.Real(x), p.Imaginary(x)), lambda x: x),
    (p.Conjugate(p.Conjugate(x)), lambda x: x),
]
"""Rules of sums, products, signs and parts."""


def _scaled(x: Value, factor: float) -> Op | None:
    """Returns x times a factor, unless the element type rounds the factor."""
    factors = Full(factor, x.dtype, x.shape)
    return Multiply(x, factors) if factors.number == factor else None


_STEPS = (p.Floor, p.Ceil, p.Round, p.Truncate)
ROUNDING: Rows = [
    *[(step(x.where(integers)), lambda x: x) for step in _STEPS],
    *[(outer(inner(x).named("y")), lambda y: y) for outer in _STEPS for inner in _STEPS],
]
"""Rules of rounding: integers stay as they are."""

LOGIC: Rows = [
    (p.Less(x, x), lambda: False),
    (p.Greater(x, x), lambda: False),
    (p.LessEqual(x.where(exact), x), lambda: True),
    (p.GreaterEqual(x.where(exact), x), lambda: True),
    (p.Equal(x.where(exact), x), lambda: True),
    (p.NotEqual(x.where(exact), x), lambda: False),
    (p.NotEqual(x.where(floats), x), lambda x: IsNan(x)),
    (p.Equal(x.where(boolean), True), lambda x: x),
    (p.Equal(x.where(boolean), False), lambda x: LogicalNot(x)),
    (p.NotEqual(x.where(boolean), False), lambda x: x),
    (p.NotEqual(x.where(boolean), True), lambda x: LogicalNot(x)),
    (p.IsNan(x.where(integers)), lambda: False),
    (p.IsInf(x.where(integers)), lambda: False),
    (p.IsFinite(x.where(integers)), lambda: True),
    (p.LogicalNot(p.LogicalNot(x)), lambda x: x),
    (p.LogicalNot(p.Equal(x, y)), lambda x, y: NotEqual(x, y)),
    (p.LogicalNot(p.NotEqual(x, y)), lambda x, y: Equal(x, y)),
    (p.LogicalNot(p.Less(x.where(exact), y)), lambda x, y: GreaterEqual(x, y)),
    (p.LogicalNot(p.LessEqual(x.where(exact), y)), lambda x, y: Greater(x, y)),
    (p.LogicalNot(p.Greater(x.where(exact), y)), lambda x, y: LessEqual(x, y)),
    (p.LogicalNot(p.GreaterEqual(x.where(exact), y)), lambda x, y: Less(x, y)),
    (p.LogicalAnd(x, x), lambda x: x),
    (p.LogicalAnd(x, True), lambda x: x),
    (p.LogicalAnd(x, False), lambda: False),
    (p.LogicalOr(x, x), lambda x: x),
    (p.LogicalOr(x, False), lambda x: x),
    (p.LogicalOr(x, True), lambda: True),
    (p.LogicalXor(x, x), lambda: False),
    (p.LogicalXor(x, False), lambda x: x),
    (p.LogicalXor(x, True), lambda x: LogicalNot(x)),
]
"""Rules of comparisons with oneself, and of truth values."""

BITS: Rows = [
    (p.BitwiseAnd(x, x), lambda x: x),
    (p.BitwiseAnd(x, 0), lambda: 0),
    (p.BitwiseOr(x, x), lambda x: x),
    (p.BitwiseOr(x, 0), lambda x: x),
    (p.BitwiseXor(x, x), lambda: 0),
    (p.BitwiseXor(x, 0), lambda x: x),
    (p.BitwiseNot(p.BitwiseNot(x)), lambda x: x),
    (p.ShiftLeft(x, 0), lambda x: x),
    (p.ShiftRight(x, 0), lambda x: x),
]
"""Rules of bits of integers."""

CHOICE: Rows = [
    (p.Where(c, x, x), lambda x: x),
    (p.Where(True, x, y), lambda x: x),
    (p.Where(False, x, y), lambda y: y),
    (p.Where(c, 1, 0).where(boolean), lambda c: c),
    (p.Where(c, 0, 1).where(boolean), lambda c: LogicalNot(c)),
    (p.Where(p.LogicalNot(c), x, y), lambda c, x, y: Where(c, y, x)),
    (p.Where(c, p.Where(c, x, y), z), lambda c, x, z: Where(c, x, z)),
    (p.Where(c, x, p.Where(c, y, z)), lambda c, x, z: Where(c, x, z)),
    (p.Maximum(x, x), lambda x: x),
    (p.Minimum(x, x), lambda x: x),
    (p.Maximum(x, -math.inf), lambda x: x),
    (p.Maximum(-math.inf, x), lambda x: x),
    (p.Minimum(x, math.inf), lambda x: x),
    (p.Minimum(math.inf, x), lambda x: x),
]
"""Rules of choices with one possible outcome."""

IDENTITY: Rows = [
    (p.StopGradient(x), lambda x: x),
    (p.Convert(x).named("y"), lambda x, y: x if x.dtype is y.dtype else None),
    (p.Convert(p.Convert(x).named("y")).named("z"), lambda x, y, z: _reconverted(x, y.op, z.op)),
    (p.Bitcast(x).named("y"), lambda x, y: x if x.dtype is y.dtype else None),
    (p.Bitcast(p.Bitcast(x).where(words)).named("y"), lambda x, y: Bitcast(x, y.dtype)),
]
"""Rules of conversions, and of ops that have no effect after differentiation."""

_TABLES = [IDENTITY, ARITHMETIC, ROUNDING, LOGIC, BITS, CHOICE]
ROWS: tuple[Row, ...] = tuple([Row(pattern, builder) for table in _TABLES for pattern, builder in table])
RULES: tuple[Rule, ...] = (*ROWS, *reduction_algebra.RULES)

_rewriter = Rewriter("algebra", RULES)


def algebra(function: Function) -> Function:
    """Returns the function with every row applied until none applies."""
    return _rewriter(function)
