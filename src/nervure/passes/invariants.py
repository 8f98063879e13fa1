"""Invariants: what a loop would compute anew in each iteration, always with the same result, is computed before it.

Dear values leave, such as products, reductions and exponentials of captured values; cheap ones, and views, stay with
what reads them.

>>> import nervure as nv
>>> h, w = nv.Parameter(nv.float32, (3,)), nv.Parameter(nv.float32, (3,))
>>> start, weight = nv.Parameter(nv.float32, (3,)), nv.Parameter(nv.float32, (3,))
>>> scan = nv.ops.Scan(start, weight, body=nv.Function([h * nv.ops.Exp(w)], [h, w]), carries=1, slices=0, length=5)
>>> invariants(nv.Function(scan.outputs, [start, weight])).results
(f32[3] Scan(Parameter, Parameter, Exp),)

The loop may run no iteration: so nothing leaves it that may fail, and nothing that takes more memory than what the loop
is given. Then only the time of one iteration is lost.
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.ir.function import Function
from nervure.ir.leaves import Constant, Full, Parameter
from nervure.ir.op import Op, Value
from nervure.ir.traverse import postorder, rebuild
from nervure.ops.choosing import is_always_possible
from nervure.ops.looping import LoopOp, Scan
from nervure.passes.fission import may_move
from nervure.passes.residuals import bytes_of, is_dear
from nervure.types.dim import less_equal


def invariants(function: Function) -> Function:
    """Returns the function with dear invariants in front of its loops; itself if there are none."""
    if not any([isinstance(op, LoopOp) for op in function.operations]):
        return function
    return function.rebuilt(
        lambda op: _without_invariants(op).outputs if isinstance(op, LoopOp) and not op.effectful else None)


def _without_invariants(op: LoopOp) -> LoopOp:
    """Returns a loop that captures its invariants; itself if it has none that are dear."""
    first = op.carries + (op.slices if isinstance(op, Scan) else 0)
    room = bytes_of(op.operands)
    found = [[value for value in _invariants(body, first) if less_equal(bytes_of([value]), room) is not False]
             for body in op.bodies]
    if not any(found):
        return op
    outside = [value for body, values in zip(op.bodies, found, strict=True)
               for value in _outside(body, values, op.operands)]
    changed: dict[str, Function] = {}
    for name, body, values in zip(op.body_fields, op.bodies, found, strict=True):
        start = sum([len(each) for each in found[:len(changed)]])
        changed[name] = _reading(body, values, start, outside)
    made = type(op)(*op.operands, *outside, **{**op.attributes, **changed})
    made.name = op.name
    for fresh, old in zip(made.outputs, op.outputs, strict=True):
        fresh.labels = old.labels
    return made


def _invariants(body: Function, first: int) -> list[Value]:
    """Returns the dear values that depend on captured values alone and are read by others.

    The captured parameters are those from ``first`` on.
    """
    same = {parameter.output for parameter in body.parameters[first:]}
    for op in body.operations:
        is_fixed = isinstance(op, (Constant, Full)) or bool(op.operands) and may_move(op)
        if is_fixed and is_always_possible(op) and all([operand in same for operand in op.operands]):
            same.update(op.outputs)
    read = [value for op in body.operations if not _is_within(op, same) for value in op.operands]
    pending = [value for value in (*read, *body.results) if value in same]
    found: dict[Value, None] = {}
    seen: set[Value] = set()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if is_dear(value.op) and not isinstance(value.op, (Parameter, Constant, Full)):
            found[value] = None
        else:
            pending.extend(value.op.operands)
    return [value for op in body.operations for value in op.outputs if value in found]


def _is_within(op: Op, same: set[Value]) -> bool:
    return bool(op.outputs) and op.outputs[0] in same


def _outside(body: Function, values: Sequence[Value], operands: Sequence[Value]) -> list[Value]:
    """Returns some values of a body that depend on captured values alone, made of the loop's operands."""
    table = {entry.output: operand for entry, operand in zip(body.parameters, operands, strict=True)}
    rebuild(postorder(values, {*body.parameters}), table)
    return [table.get(value, value) for value in values]


def _reading(body: Function, values: Sequence[Value], start: int, outside: Sequence[Value]) -> Function:
    """Returns a body with parameters for values from ``outside``: those from ``start`` on are its own ``values``."""
    fresh = [Parameter.of(value.type) for value in outside]
    table = {value: fresh[start + at].output for at, value in enumerate(values)}
    rebuild([op for op in body.operations if table.keys().isdisjoint(op.outputs)], table)
    return Function([table.get(value, value) for value in body.results], [*body.parameters, *fresh], name=body.name)
