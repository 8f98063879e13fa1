"""Branches that are chosen already, loops of one or two iterations, and checkpoints become the ops of their functions.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (3,))
>>> double, same = nv.Function([x * 2.0], [x]), nv.Function([x], [x])
>>> given = nv.Parameter(nv.float32, (3,))
>>> choice = nv.ops.If(nv.ops.Full(True, nv.bool_, ()), given, branches=(double, same))
>>> inlined_regions(nv.Function(choice.outputs, [given])).results
(f32[3] Multiply(Parameter, Full),)

A loop of two iterations that adds up the gradients of what it captures stays until one sum over its iterations has
taken their place: its order of additions is that of a longer loop. A branch or a loop with effects stays as it is;
those of a checkpoint take their place among those of the function. Once derivatives have been taken nothing else tells
a checkpoint apart; what a derivative makes again stays apart, behind ``After``.
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.ir.function import Function, moved
from nervure.ir.leaves import Full, Parameter
from nervure.ir.op import Op, Value
from nervure.ir.region import RegionOp
from nervure.ir.traverse import rebuild
from nervure.ops.branching import Branches
from nervure.ops.looping import Scan
from nervure.ops.rematerialising import Checkpoint
from nervure.ops.views import Concatenate, Reshape, Slice

MOST = 2
"""The iterations of the longest loop that is inlined, unless it has sums."""


def inlined_regions(function: Function) -> Function:
    """Returns the function without the regions that a choice that is open, or a longer loop, does not need."""
    if not any([isinstance(op, RegionOp) for op in function.operations]):
        return function
    return function.rebuilt(_inlined)


def _inlined(op: Op) -> Sequence[Value] | None:
    """Returns the results of a region as other ops; None if its functions are needed, and for all other ops."""
    if not isinstance(op, RegionOp) or op.effectful:
        return None
    if isinstance(op, Branches) and isinstance(chooser := op.operands[0].op, Full):
        return op.branches[op.chosen(int(chooser.number.real))](*op.operands[1:])
    if isinstance(op, Scan) and isinstance(op.length, int) and 1 <= op.length <= (1 if op.sums else MOST):
        return _iterations(op, op.length)
    return None


def _iterations(op: Scan, length: int) -> list[Value]:
    """Returns the outputs of a scan as the ops of its iterations, one after the other."""
    first = op.carries + op.slices
    carries = op.operands[:op.carries]
    rows: dict[int, list[Value]] = {}
    for at in reversed(range(length)) if op.reverse else range(length):
        slices = [_row(value, at) for value in op.operands[op.carries:first]]
        results = op.body(*carries, *slices, *op.operands[first:])
        rows[at] = [*results[op.carries:], *[carries[number] for number in op.saved]]
        carries = results[:op.carries]
    return [*carries, *[_stacked([rows[at][number] for at in range(length)]) for number in range(len(rows[0]))]]


def _row(value: Value, at: int) -> Value:
    """Returns one slice of a tensor."""
    if value.shape[0] != 1:
        value = Slice(value, [(at, 1, 1), *[(0, length, 1) for length in value.shape[1:]]]).output
    return Reshape(value, value.shape[1:]).output


def _stacked(rows: Sequence[Value]) -> Value:
    parts = [Reshape(row, (1, *row.shape)).output for row in rows]
    return parts[0] if len(parts) == 1 else Concatenate(*parts, axis=0).output


def inlined_checkpoints(function: Function) -> Function:
    """Returns the function without checkpoints of its own; itself if there are none."""
    if not any([isinstance(op, Checkpoint) for op in function.operations]):
        return function
    table: dict[Value, Value] = {}
    effects: dict[Op, Sequence[Op]] = {}
    for op in function.operations:
        fresh = op.with_operands([table.get(operand, operand) for operand in op.operands])
        if isinstance(fresh, Checkpoint):
            results, effects[op] = _inside(fresh)
            table.update(zip(op.outputs, results, strict=True))
        elif fresh is not op:
            effects[op] = [fresh]
            table.update(zip(op.outputs, fresh.outputs, strict=True))
    return function.substituted(table, [each for op in function.effects for each in effects.get(op, [op])])


def _inside(op: Checkpoint) -> tuple[Sequence[Value], Sequence[Op]]:
    """Returns the results and the effects of a checkpoint as other ops."""
    inner = inlined_checkpoints(op.body)
    table = {parameter.output: operand for parameter, operand in zip(inner.parameters, op.operands, strict=True)}
    rebuild([each for each in inner.operations if type(each) is not Parameter], table)
    return [table.get(value, value) for value in inner.results], [moved(each, table) for each in inner.effects]
