"""Dead results of regions: carries, stacked results, results of branches and operands that nothing needs are dropped.

A carry is dead if its last value is not read, it is not saved, and the body needs it for nothing but itself and other
dead carries. So a gradient that nothing asks for is not summed up, and the residuals of a loop without a derivative are
not kept. An operand goes if none of the functions uses it. What a loop would stack twice it stacks once.

>>> import nervure as nv
>>> total, x = nv.Parameter(nv.float32, ()), nv.Parameter(nv.float32, ())
>>> body = nv.Function([total + x, total * x], [total, x])
>>> xs, start = nv.Parameter(nv.float32, (5,)), nv.Parameter(nv.float32, ())
>>> scan = nv.ops.Scan(start, xs, body=body, carries=1, slices=1, length=5, saved=(0,))
>>> scan.outputs[0].op is scan, [len(each.outputs) for each in (scan, _lean(scan, {scan.outputs[0]})[0])]
(True, [3, 1])

Functions with effects keep what these need.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from nervure.ir.function import Function
from nervure.ir.op import Op, Value
from nervure.ir.provenance import set_override
from nervure.ir.region import RegionOp
from nervure.ir.traverse import postorder
from nervure.ops.branching import Branches
from nervure.ops.looping import Scan, While


def dead_regions(function: Function) -> Function:
    """Returns the function with regions that give what is needed and nothing else; itself if all do."""
    if not any([isinstance(op, RegionOp) for op in function.operations]):
        return function
    needed, effects = {*function.roots}, set(function.effects)
    leaner: dict[Op, tuple[RegionOp, dict[Value, Value]]] = {}
    for op in reversed(function.operations):  # users first: what they no longer read is dead, too
        if isinstance(op, RegionOp):
            made, outputs = _lean(op, needed)
            leaner[op] = made, outputs
            needed.update(made.operands)
        elif op.outputs == () or not needed.isdisjoint(op.outputs) or op in effects:
            needed.update(op.operands)
    return _rebuilt(function, {op: entry for op, entry in leaner.items() if entry[0] is not op})


def _rebuilt(function: Function, leaner: dict[Op, tuple[RegionOp, dict[Value, Value]]]) -> Function:
    if not leaner:
        return function
    table: dict[Value, Value] = {}
    moved: dict[Op, Op] = {}
    for op in function.operations:
        made, outputs = leaner.get(op, (op, {value: value for value in op.outputs}))
        fresh = made.with_operands([table.get(operand, operand) for operand in made.operands])
        if fresh is not op:
            moved[op] = fresh
            table.update({old: fresh.outputs[new.index] for old, new in outputs.items()})
    return function.substituted(table, [moved.get(op, op) for op in function.effects])


def _lean(op: RegionOp, needed: Collection[Value]) -> tuple[RegionOp, dict[Value, Value]]:
    """Returns an op with those outputs that are ``needed``, and the old outputs that it still has with its own."""
    used = [value in needed for value in op.outputs]
    before = set_override(op.provenance)
    try:
        if isinstance(op, Scan):
            return _lean_scan(op, used)
        if isinstance(op, While):
            return _lean_while(op)
        return _lean_branches(op, used) if isinstance(op, Branches) else (op, {value: value for value in op.outputs})
    finally:
        set_override(before)


def _lean_scan(op: Scan, used: Sequence[bool]) -> tuple[RegionOp, dict[Value, Value]]:
    body, results = op.body, len(op.body.results)
    stacked, again = _stacked_once(op, [at for at in range(op.carries, results) if used[at]])
    saved = [number for number, is_used in zip(op.saved, used[results:], strict=True) if is_used]
    carries = _live_carries(body, [at for at in range(op.carries) if used[at] or at in saved],
                            [body.results[at] for at in stacked], op.carries)
    first = op.carries + op.slices
    parameters = _used_parameters([body], [body.results[at] for at in (*carries, *stacked)])
    slices = [at for at in range(op.carries, first) if at in parameters]
    captured = [at for at in range(first, len(op.operands)) if at in parameters]
    kept = [*carries, *slices, *captured]
    outputs = [*carries, *stacked, *[results + op.saved.index(number) for number in saved]]
    if len(kept) == len(op.operands) and len(outputs) == len(op.outputs):
        return op, {value: value for value in op.outputs}
    lean = Scan(*[op.operands[at] for at in kept], body=_with(body, [*carries, *stacked], kept), carries=len(carries),
                slices=len(slices), length=op.length, reverse=op.reverse,
                saved=tuple([carries.index(number) for number in saved]),
                sums=tuple([carries.index(number) for number in op.sums if number in carries]))
    made, found = _named(lean, op, outputs)
    return made, {**found, **{op.outputs[at]: found[op.outputs[first]] for at, first in again.items()}}


def _stacked_once(op: Scan, stacked: Sequence[int]) -> tuple[list[int], dict[int, int]]:
    """Returns those ``stacked`` results of different values, and for each of the others the one of the same value."""
    first: dict[Value, int] = {}
    for at in stacked:
        first.setdefault(op.body.results[at], at)
    once = [*first.values()]
    return once, {at: first[op.body.results[at]] for at in stacked if at not in once}


def _lean_while(op: While) -> tuple[RegionOp, dict[Value, Value]]:
    """Drops captured values that are not used. All carries stay: a loop ends when all of it has been computed."""
    parameters = _used_parameters(op.bodies, [value for body in op.bodies for value in body.results])
    kept = [at for at in range(len(op.operands)) if at < op.carries or at in parameters]
    if len(kept) == len(op.operands):
        return op, {value: value for value in op.outputs}
    made = While(*[op.operands[at] for at in kept], condition=_with(op.condition, [0], kept),
                 body=_with(op.body, range(op.carries), kept), carries=op.carries)
    return _named(made, op, range(op.carries))


def _lean_branches(op: Branches, used: Sequence[bool]) -> tuple[RegionOp, dict[Value, Value]]:
    outputs = [at for at, is_used in enumerate(used) if is_used]
    parameters = _used_parameters(op.branches, [branch.results[at] for branch in op.branches for at in outputs])
    kept = [at for at in range(len(op.operands) - 1) if at in parameters]
    if len(kept) + 1 == len(op.operands) and len(outputs) == len(op.outputs):
        return op, {value: value for value in op.outputs}
    made = type(op)(op.operands[0], *[op.operands[at + 1] for at in kept],
                    branches=tuple([_with(branch, outputs, kept) for branch in op.branches]))
    return _named(made, op, outputs)


def _named(made: RegionOp, op: RegionOp, outputs: Sequence[int]) -> tuple[RegionOp, dict[Value, Value]]:
    made.name = op.name
    for at, fresh in zip(outputs, made.outputs, strict=True):
        fresh.labels = op.outputs[at].labels
    return made, {op.outputs[at]: fresh for at, fresh in zip(outputs, made.outputs, strict=True)}


def _live_carries(body: Function, wanted: Sequence[int], others: Sequence[Value], count: int) -> list[int]:
    """Returns the carries that are wanted, or that these, the ``others`` or effects need, in order."""
    live = {*wanted}
    while True:
        parameters = _used_parameters([body], [*[body.results[at] for at in sorted(live)], *others])
        found = live | {at for at in parameters if at < count}
        if found == live:
            return sorted(live)
        live = found


def _used_parameters(bodies: Sequence[Function], values: Sequence[Value]) -> set[int]:
    """Returns the positions of the parameters that some values, or the effects of their functions, need."""
    ops = set(postorder([*[op for body in bodies for op in body.effects], *values]))
    return {at for body in bodies for at, parameter in enumerate(body.parameters) if parameter in ops}


def _with(body: Function, results: Sequence[int], parameters: Sequence[int]) -> Function:
    """Returns a function with some of its results and parameters."""
    return Function([body.results[at] for at in results], [body.parameters[at] for at in parameters],
                    effects=body.effects, name=body.name)
