"""Statements that touch no memory: functions of scalars, expressions over indices, checks.

A check that does not hold is reported with the point at which it fails, seldom and out of the way: the number of the
point among all points of the loops around the check, in row-major order.

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
from nervure.transformers.cpu.compile.codegen.expressions import dimension
from nervure.transformers.cpu.compile.codegen.frame import Frame, Front, Value, emit_statement
from nervure.transformers.cpu.compile.codegen.scalars import apply
from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.transformers.cpu.compile.llvm.types import I1, I64
from nervure.transformers.cpu.runtime.chunks import report
from nervure.types.dtype import int64

FAILED = 1
"""The code of a check in a status record."""


@emit_statement.register(Apply)
def emit_apply(statement: Apply, frame: Frame) -> None:
    """A function, where the last of its operands is known."""
    operands = [frame.scalar(x) for x in statement.operands]
    width, level = max([x.lanes for x in operands]), max([x.level for x in operands])
    elements = [frame.spread(x, width).element for x in operands]
    with frame.at(level):
        result = apply(statement.function, elements, statement.result.dtype)
    frame.keep(statement.result, Value(result, level))


@emit_statement.register(Index)
def emit_index(statement: Index, frame: Frame) -> None:
    """An expression over indices."""
    frame.keep(statement.result, dimension(frame, statement.expression))


@emit_statement.register(Check)
def emit_check(statement: Check, frame: Frame) -> None:
    """A check; of the lanes in which it fails the first is reported."""
    b = frame.builder
    frame.failures.add(statement.failure)
    failed = ~frame.scalar(statement.condition).register
    mask = frame.lanes.mask if frame.lanes is not None else None
    if mask is not None and failed.type.lanes > 1:
        failed = failed & mask.register
    value = frame.scalar(statement.value)
    fail, done = b.label("failed"), b.label("held")
    b.branch(b.any_lane(failed), fail, done, unlikely=True)
    b.block(fail)
    lane = _first(failed)
    with frame.inside(Front(b.region(), frozenset(), True)):
        position = _position(frame, lane)
    report(b, frame.status, FAILED, statement.failure, position, _number(value, lane))
    b.block(done)


def _first(lanes: Register) -> Register:
    """The first lane in which a condition holds."""
    b = lanes.builder
    if lanes.type.lanes == 1:
        return b.constant(I64, 0)
    name = f"llvm.experimental.cttz.elts.i64.{lanes.type.suffix}"
    return b.call(name, I64, lanes, b.constant(I1, True))


def _position(frame: Frame, lane: Register) -> Register:
    position = frame.builder.constant(I64, 0)
    for index, extent in frame.loops:
        place = _index(frame, index, lane)
        position = position * dimension(frame, extent).register + place
    return position


def _index(frame: Frame, index: LoopIndex, lane: Register) -> Register:
    if frame.lanes is not None and frame.lanes.index is index:
        return frame.lanes.start.register + lane
    found = frame.find(("index", index))
    return found.register if found is not None else frame.builder.constant(I64, 0)


def _number(value: Value, lane: Register) -> Register:
    element = value.element if value.lanes == 1 else value.element.map(lambda x: x.builder.extract(x, lane))
    return element.register if element.dtype is int64 else apply("convert", [element], int64).register

