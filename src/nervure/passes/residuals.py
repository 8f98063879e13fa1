"""Residuals: what a loop computes again, as the derivative of an earlier loop does, it reads from there instead.

The derivative of a scan is a scan that computes each iteration again, from the carries before it. Where both compute
the same value, the first loop can stack it for the second. Dear values are stacked, such as products, reductions and
exponentials; cheap ones are computed again from these, unless that would need more memory than they do.

>>> import nervure as nv
>>> from nervure.autodiff import gradients
>>> h, x = nv.Parameter(nv.float32, ()), nv.Parameter(nv.float32, ())
>>> body = nv.Function([nv.ops.Tanh(h + x)], [h, x])
>>> start, xs = nv.Parameter(nv.float32, ()), nv.Parameter(nv.float32, (5,))
>>> scan = nv.ops.Scan(start, xs, body=body, carries=1, slices=1, length=5)
>>> function = nv.Function(gradients([scan], [xs], [None]), [start, xs])
>>> [len(op.body.results) for op in residuals(function).operations if isinstance(op, nv.ops.Scan)]
[2, 2]

Results are the same bits: a value is computed once in place of twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from nervure.ir.function import Function, is_effect
from nervure.ir.kinds import Structured, View
from nervure.ir.leaves import Constant, Full, Parameter
from nervure.ir.op import Op, Value
from nervure.ir.op_key import key_of
from nervure.ir.region import RegionOp
from nervure.ir.traverse import postorder
from nervure.ops.looping import Scan
from nervure.passes.extended_scans import extended, further_outputs, outputs_of
from nervure.types.dim import DimLike, less_equal

DEAR = 16
"""The cost of one point of an elementwise op from which on its values are kept: that of an exponential."""


def residuals(function: Function) -> Function:
    """Returns the function with loops that read what earlier ones have computed; itself if no two do the same."""
    scans = [op for op in function.operations if isinstance(op, Scan)]
    changes = {op: _Change() for op in scans}
    for later in scans if len(scans) > 1 else ():
        for earlier in dict.fromkeys([operand.op for operand in later.operands]):
            if isinstance(earlier, Scan) and earlier.length == later.length:
                _note(earlier, later, changes)
    if not any([change.stacked for change in changes.values()]):
        return function
    return _rebuilt(function, changes)


class _Change:
    """The change of a loop: values of its body that it stacks, and values that it reads, each from another loop."""

    def __init__(self) -> None:
        self.stacked: dict[Value, None] = {}
        self.read: dict[Value, tuple[Scan, Value]] = {}


def _note(earlier: Scan, later: Scan, changes: Mapping[Scan, _Change]) -> None:
    """Notes what a later loop reads, of what it has in common with an earlier one."""
    known = _common(earlier, later)
    taken = changes[later].read
    used = [value for op in later.body.operations if op.outputs and op.outputs[0] not in known for value in op.operands]
    needed = dict.fromkeys([value for value in (*used, *later.body.results)
                            if value in known and value not in taken and not _is_at_hand(value.op)])
    kept: dict[Value, None] = {value: None for value in needed if is_dear(value.op)}
    for value in needed:
        kept.update(dict.fromkeys(_cheapest(value, kept)))
    for value in kept:
        changes[earlier].stacked[known[value]] = None
        taken[value] = earlier, known[value]


def _common(earlier: Scan, later: Scan) -> dict[Value, Value]:
    """Returns the values of a later loop's body that an earlier one computes in the iteration of the same slice."""
    known = dict(_inputs(earlier, later))
    computed = {key_of(op, op.operands): op for op in earlier.body.operations if not _is_apart(op)}
    for op in later.body.operations:
        if not _is_apart(op) and all([operand in known for operand in op.operands]):
            same = computed.get(key_of(op, [known[operand] for operand in op.operands]))
            if same is not None:
                known.update(zip(op.outputs, same.outputs, strict=True))
    return known


def _inputs(earlier: Scan, later: Scan) -> Iterator[tuple[Value, Value]]:
    """Yields the parameters of a later loop's body, each with what it is in the body of an earlier one."""
    body, first = earlier.body, earlier.carries + earlier.slices
    sliced = dict(zip(earlier.operands[earlier.carries:first], body.parameters[earlier.carries:first], strict=True))
    captured = dict(zip(earlier.operands[first:], body.parameters[first:], strict=True))
    stacked = dict(zip(earlier.outputs[earlier.carries:], [
        *body.results[earlier.carries:], *[body.parameters[number] for number in earlier.saved]], strict=True))
    end = later.carries + later.slices
    for at, (operand, parameter) in enumerate(zip(later.operands, later.body.parameters, strict=True)):
        found = ({**sliced, **stacked} if at < end else captured).get(operand) if at >= later.carries else None
        if found is not None:
            yield parameter.output, found.value


def _is_apart(op: Op) -> bool:
    """Whether an op is not looked for in another loop: what is given, and what has functions or effects."""
    return isinstance(op, (Parameter, RegionOp)) or is_effect(op)


def _is_at_hand(op: Op) -> bool:
    return isinstance(op, (Parameter, Constant, Full))


def is_dear(op: Op) -> bool:
    """Whether an op costs more than to read its result from memory: a product, a reduction, an exponential."""
    return isinstance(op, Structured) and bool(op.operands) or not isinstance(op, View) and op.cost >= DEAR


def _cheapest(value: Value, kept: Mapping[Value, None]) -> list[Value]:
    """Returns the values to keep, beside those that are, so that a value is at hand: itself, or dear ones below it."""
    cone = postorder([value], {entry.op for entry in kept})
    if value.op not in cone:
        return []
    dear = dict.fromkeys([operand for op in cone for operand in op.operands
                          if operand.op in cone and is_dear(operand.op)])
    needed = _reached(value, {*kept, *dear})
    below = [entry for entry in dear if entry in needed]
    if not below:
        return []
    return [value] if less_equal(bytes_of([value]), bytes_of(below)) is not False else below


def _reached(value: Value, known: set[Value]) -> set[Value]:
    """Returns the ``known`` values that a value is computed from, and no others below them."""
    found: set[Value] = set()
    pending, seen = [*value.op.operands], set()
    while pending:
        entry = pending.pop()
        if entry in known:
            found.add(entry)
        elif entry not in seen:
            seen.add(entry)
            pending.extend(entry.op.operands)
    return found


def bytes_of(values: Sequence[Value]) -> DimLike:
    """Returns the bytes that some values take together."""
    return sum([value.type.nbytes for value in values], start=0)


def _rebuilt(function: Function, changes: Mapping[Scan, _Change]) -> Function:
    table: dict[Value, Value] = {}
    places: dict[tuple[Scan, Value], Value] = {}
    for op in function.operations:
        change = changes.get(op) if isinstance(op, Scan) else None
        operands = [table.get(operand, operand) for operand in op.operands]
        if isinstance(op, Scan) and change is not None and (change.stacked or change.read):
            made = extended(op, operands, {value: places[source] for value, source in change.read.items()},
                            [*change.stacked])
            places.update({(op, value): output for value, output in zip(
                change.stacked, further_outputs(op, made), strict=True)})
            table.update(zip(op.outputs, outputs_of(op, made), strict=True))
            continue
        fresh = op.with_operands(operands)
        if fresh is not op:
            table.update(zip(op.outputs, fresh.outputs, strict=True))
    return function.substituted(table)
