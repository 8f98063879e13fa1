"""Dimensions with loop indices in them, as 64-bit arithmetic in one lane or many.

Sums and products are computed as far out as their parts are known. Division rounds down and gives 0 for a divisor of
0. A vector of indices divided by one number goes through float64, which is exact: no index reaches 2**51.

>>> from nervure.support.machine import GENERIC
>>> from nervure.transformers.cpu.compile.codegen.context import ARGUMENTS
>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.types.dim import dim
>>> context = Context(Builder("kernel", ARGUMENTS), GENERIC, register_lanes=8)
>>> dimension(context, dim("N") * 2).register, context.sizes.table        # without an index: the caller computes it
(i64 %v0, (2*N,))
"""

from __future__ import annotations

from collections.abc import Hashable

from nervure.errors import InternalError
from nervure.kernel.loop_index import LoopIndex, index_named
from nervure.kernel.math import long_integers
from nervure.transformers.cpu.compile.codegen.context import Context, Value
from nervure.transformers.cpu.compile.codegen.element import Element
from nervure.transformers.cpu.compile.codegen.scalars.integers import SIGNED
from nervure.transformers.cpu.compile.codegen.scalars.mathematics import doubles
from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.transformers.cpu.compile.llvm.types import F64, I64
from nervure.types.dim import DimLike, index_symbols, lowest
from nervure.types.dim.polynomial import Kind
from nervure.types.dim.queries import Factor, index_terms
from nervure.types.dtype import float64, int64


def dimension(context: Context, x: DimLike) -> Value:
    """Returns a dimension as an i64, with a lane for each iteration if it depends on the vector index."""
    if not index_symbols(x):
        return context.size(x)
    lanes = context.lanes
    key = ("dimension", x, _lanes_of(context) if lanes is not None and lanes.index.occurs_in(x) else None)
    known = context.find(key)
    if known is not None:
        return known
    total = sum_of(context, [_product(context, coefficient, factors) for coefficient, factors in index_terms(x)])
    return context.keep(key, total)


def index_value(context: Context, index: LoopIndex) -> Value:
    """Returns a loop index, with a lane for each iteration if it is the vector index."""
    lanes = context.lanes
    if lanes is None or lanes.index is not index:
        found = context.find(("index", index))
        if found is None:
            raise InternalError(f"the index {index} is used outside of its loop")
        return found
    key = ("lanes of", index, _lanes_of(context))
    return context.compute(key, [lanes.start, lane_numbers(context, lanes.width)], lambda x, y: x + y)


def _lanes_of(context: Context) -> Hashable:
    """Returns a key that distinguishes lanes of one index with different starts."""
    return None if context.lanes is None else (context.lanes.start.register.text, context.lanes.width)


def lane_numbers(context: Context, width: int) -> Value:
    """Returns 0, 1, 2, ... as a vector of i64."""
    return Value(Element(int64, (context.builder.vector(I64.vector(width), range(width)),)), 0)


def sum_of(context: Context, terms: list[Value]) -> Value:
    """Returns the sum; parts known outside are added there."""
    if len(terms) > 1:
        terms = sorted(terms, key=lambda term: (term.depth, term.lanes))
    total = terms[0] if terms else context.integer(0)
    for term in terms[1:]:
        total = sum_of_two(context, total, term)
    return total


def sum_of_two(context: Context, x: Value, y: Value) -> Value:
    """Returns x + y."""
    if x.register.text == "0":
        return y
    if y.register.text == "0":
        return x
    return context.compute(("+", *_name(x, y)), [x, y], lambda left, right: left + right)


def product_of_two(context: Context, x: Value, y: Value) -> Value:
    """Returns x * y."""
    for one, other in ((x, y), (y, x)):
        if one.register.text in ("0", "1"):
            return other if one.register.text == "1" else one
    return context.compute(("*", *_name(x, y)), [x, y], lambda left, right: left * right)


def _name(*values: Value) -> tuple[Hashable, ...]:
    return tuple([(value.register.text, value.lanes) for value in values])


def _product(context: Context, coefficient: DimLike, factors: tuple[Factor, ...]) -> Value:
    values = [_factor(context, factor) for factor in factors]
    total = context.size(coefficient)
    if len(values) > 1:
        values.sort(key=lambda value: (value.depth, value.lanes))
    for value in values:
        total = product_of_two(context, total, value)
    return total


def _factor(context: Context, factor: Factor) -> Value:
    if factor.kind is Kind.SYMBOL:
        return index_value(context, index_named(factor.name))
    operands = [dimension(context, operand) for operand in factor.operands]
    if factor.kind in (Kind.FLOOR_DIVIDE, Kind.REMAINDER):
        quotient = _floor_divide(context, operands[0], operands[1], factor.operands)
        if factor.kind is Kind.FLOOR_DIVIDE:
            return quotient
        return _remainder(context, operands[0], operands[1], quotient, factor.operands)
    total = operands[0]
    for operand in operands[1:]:
        total = _extreme(context, factor.kind, total, operand)
    return total


def _extreme(context: Context, kind: Kind, x: Value, y: Value) -> Value:
    if kind is Kind.PRODUCT:
        return product_of_two(context, x, y)
    name = {Kind.MINIMUM: "smin", Kind.MAXIMUM: "smax"}[kind]
    return context.compute((name, *_name(x, y)), [x, y], lambda left, right: left.builder.intrinsic(name, left, right))


# -- division ----------------------------------------------------------------------------------------------------


def quotient_keys(x: Value, y: Value) -> tuple[Hashable, Hashable]:
    """Returns the keys under which x // y and x % y are known."""
    return ("//", *_name(x, y)), ("%", *_name(x, y))


def _floor_divide(context: Context, x: Value, y: Value, dims: tuple[DimLike, ...]) -> Value:
    least_x, least_y = lowest(dims[0]), lowest(dims[1])
    key, _ = quotient_keys(x, y)
    if x.lanes > 1 and y.lanes == 1 and least_y is not None and least_y >= 0:
        return _divide_lanes(context, x, y, key)
    if least_y is None or least_y < 1:
        return context.compute(key, [x, y], SIGNED["floordivide"])
    return context.compute(key, [x, y], Register.quotient if least_x is not None and least_x >= 0 else _divide_down)


def _remainder(context: Context, x: Value, y: Value, quotient: Value, dims: tuple[DimLike, ...]) -> Value:
    """Returns x - y * (x // y), and 0 for y = 0."""
    least_y = lowest(dims[1])

    def rest(dividend: Register, divisor: Register, times: Register) -> Register:
        left = dividend - times * divisor
        return left if least_y is not None and least_y >= 1 else left.builder.where(divisor.equal(0), 0, left)

    return context.compute(quotient_keys(x, y)[1], [x, y, quotient], rest)


def _divide_down(x: Register, y: Register) -> Register:
    """Divides by a number of at least 1: a negative remainder says that the quotient was rounded up."""
    quotient = x.quotient_signed(y)
    return quotient + (x - quotient * y).shift_right_signed(x.type.bits - 1)


def _divide_lanes(context: Context, x: Value, y: Value, key: Hashable) -> Value:
    """Divides lanes by one number >= 0."""
    def reciprocal(divisor: Register) -> Register:
        b = divisor.builder
        return 1.0 / b.where(divisor.equal(0), 1, divisor).cast("sitofp", F64)

    def quotient(dividend: Register, factor: Register, divisor: Register) -> Register:
        return long_integers.quotient_by(doubles(dividend), dividend, factor, divisor)

    name = _name(y)
    factor = context.compute(("1/", *name), [y], reciprocal, float64)
    divisor = context.compute(("float", *name), [y], lambda number: number.cast("sitofp", F64), float64)
    return context.compute(key, [x, factor, divisor], quotient)
