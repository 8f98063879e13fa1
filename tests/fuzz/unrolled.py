"""Loops as chains of their iterations: what a scan does, written out for sizes that are known.

>>> import nervure as nv
>>> total, x = nv.Parameter(nv.float32, ()), nv.Parameter(nv.float32, ())
>>> body = nv.Function([total + x, total], [total, x])
>>> start, xs = nv.Parameter(nv.float32, ()), nv.Parameter(nv.float32, (3,))
>>> scan = nv.ops.Scan(start, xs, body=body, carries=1, slices=1, length=3)
>>> unrolled(nv.Function(scan.outputs, [start, xs])).results
(f32[] Add(Add, Reshape), f32[3] Concatenate(Reshape, Reshape, Reshape))
"""

from __future__ import annotations

from nervure import ops
from nervure.ir.function import Function
from nervure.ir.op import Op, Value
from nervure.ops.looping import Scan


def unrolled(function: Function) -> Function:
    """The function with each scan of a known length, none of whose iterations has an effect, as a chain of them."""
    table: dict[Value, Value] = {}
    moved: dict[Op, Op] = {}
    for op in function.operations:
        fresh = op.with_operands([table.get(operand, operand) for operand in op.operands])
        if isinstance(fresh, Scan) and isinstance(fresh.length, int) and not fresh.effectful:
            table.update(zip(op.outputs, _chain(fresh, fresh.length), strict=True))
        elif fresh is not op:
            moved[op] = fresh
            table.update(zip(op.outputs, fresh.outputs, strict=True))
    return Function([table.get(value, value) for value in function.results], function.parameters,
                    [(variable, table.get(value, value)) for variable, value in function.updates],
                    [moved.get(op, op) for op in function.effects], function.assumptions, function.name)


def _chain(scan: Scan, length: int) -> list[Value]:
    body, first = unrolled(scan.body), scan.carries + scan.slices
    carries, captured = list(scan.operands[:scan.carries]), scan.operands[first:]
    rows: list[list[Value]] = [[] for _ in range(len(scan.outputs) - scan.carries)]
    for at in reversed(range(length)) if scan.reverse else range(length):
        before = [carries[number] for number in scan.saved]
        results = body(*carries, *[_row(value, at) for value in scan.operands[scan.carries:first]], *captured)
        carries = list(results[:scan.carries])
        for row, part in zip(rows, [*results[scan.carries:], *before], strict=True):
            row.append(part)
    wholes = [_stacked(row[::-1] if scan.reverse else row, output)
              for row, output in zip(rows, scan.outputs[scan.carries:], strict=True)]
    return [*carries, *wholes]


def _row(value: Value, at: int) -> Value:
    ranges = [(at, 1, 1), *[(0, length, 1) for length in value.shape[1:]]]
    return ops.Reshape(ops.Slice(value, ranges), value.shape[1:]).output


def _stacked(row: list[Value], whole: Value) -> Value:
    if not row:
        return whole.full(0)
    return ops.Concatenate(*[ops.Reshape(part, (1, *part.shape)).output for part in row], axis=0).output
