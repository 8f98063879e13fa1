"""Statements that access no memory: functions of scalars, expressions over indices, checks.

A check that does not hold is reported with the point at which it fails, in rarely run code: the number of the point
among all points of the loops around the check, in row-major order.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.transformers.cpu.compile.codegen.generate import generate
>>> from nervure.transformers.cpu.target import Target
>>> kernel = parse_kernel('''
... kernel all(in x: bool[100]):
...   for i < 100:
...     v0 = x[i]
...     check v0 else 7, 1_i64
... ''')
>>> generate(kernel, Target.avx2()).failures
(7,)
"""

from __future__ import annotations

from nervure.kernel.ir import Apply, Check, Index
from nervure.kernel.loop_index import LoopIndex
from nervure.transformers.cpu.compile.codegen import access
from nervure.transformers.cpu.compile.codegen.context import Context, Preheader, Value, emit_statement
from nervure.transformers.cpu.compile.codegen.expressions import dimension
from nervure.transformers.cpu.compile.codegen.scalars import apply, called
from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.transformers.cpu.compile.llvm.types import I1, I64
from nervure.transformers.cpu.runtime.chunks import report
from nervure.types.dtype import int64

FAILED = 1
"""The code of a check in a status record."""


@emit_statement.register(Apply)
def emit_apply(statement: Apply, context: Context) -> None:
    """Emits a function, at the depth where the last of its operands is known."""
    operands = [context.scalar(x) for x in statement.operands]
    width, depth = max([x.lanes for x in operands]), max([x.depth for x in operands])
    elements = [context.spread(x, width).element for x in operands]
    is_called = width == 1 and not context.loops and statement.function in context.often
    with context.at(depth):
        result = (called if is_called else apply)(statement.function, elements, statement.result.dtype)
    context.keep(statement.result, Value(result, depth))


@emit_statement.register(Index)
def emit_index(statement: Index, context: Context) -> None:
    """Emits an expression over indices."""
    context.keep(statement.result, dimension(context, statement.expression))


@emit_statement.register(Check)
def emit_check(statement: Check, context: Context) -> None:
    """Emits a check; the first lane in which it fails is reported."""
    b = context.builder
    context.failures.add(statement.failure)
    failed = ~context.scalar(statement.condition).register
    mask = context.lanes.mask if context.lanes is not None else None
    if mask is not None and failed.type.lanes > 1:
        failed = failed & mask.register
    value = context.scalar(statement.value)
    with b.if_(b.any_lane(failed), unlikely=True):
        lane = _first(failed)
        with context.inside(Preheader(b.region(), frozenset(), True)):
            position = _position(context, lane)
        report(b, context.status, FAILED, statement.failure, position, _number(value, lane))


def _first(lanes: Register) -> Register:
    """Returns the first lane in which a condition holds."""
    b = lanes.builder
    if lanes.type.lanes == 1:
        return b.constant(I64, 0)
    name = f"llvm.experimental.cttz.elts.i64.{lanes.type.suffix}"
    return b.call(name, I64, lanes, b.constant(I1, True))


def _position(context: Context, lane: Register) -> Register:
    position = context.builder.constant(I64, 0)
    for index, extent in context.loops:
        place = _index(context, index, lane)
        position = position * dimension(context, extent).register + place
    return position


def _index(context: Context, index: LoopIndex, lane: Register) -> Register:
    if context.lanes is not None and context.lanes.index is index:
        return context.lanes.start.register + lane
    found = context.find(("index", index))
    place = found.register if found is not None else context.builder.constant(I64, 0)
    return place + _index(context, context.inside_strips[index], lane) if index in context.inside_strips else place


def _number(value: Value, lane: Register) -> Register:
    element = access.lane_of(value.element, lane)
    return element.register if element.dtype is int64 else apply("convert", [element], int64).register

