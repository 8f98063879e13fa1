"""Passes inside of regions: what is done to a function is done to the functions that its ops hold, too.

>>> import nervure as nv
>>> from nervure.passes.decompose import decompose
>>> x = nv.Parameter(nv.float32, (3,))
>>> branch = nv.Function([nv.ops.Square(x)], [x])
>>> choice = nv.ops.If(nv.Parameter(nv.bool_, ()), x, branches=(branch, branch))
>>> function = nv.Function(choice.outputs, [choice.operands[0], x])
>>> within_bodies(function, decompose).results[0].op.branches[0].results
(f32[3] Multiply(Parameter, Parameter),)
"""

from __future__ import annotations

from collections.abc import Callable

from nervure.ir.function import Function
from nervure.ir.op import Op, Value
from nervure.ir.region import RegionOp
from nervure.ir.structural import fingerprint


def within_bodies(function: Function, transform: Callable[[Function], Function]) -> Function:
    """Returns a function whose ops hold transformed functions; itself if that changes nothing.

    A function that several ops hold is transformed once, and they go on sharing it.
    """
    if not any([isinstance(op, RegionOp) for op in function.operations]):
        return function
    known: dict[Function, Function] = {}
    table: dict[Value, Value] = {}
    moved: dict[Op, Op] = {}
    for op in function.operations:
        fresh = op.with_operands([table.get(operand, operand) for operand in op.operands])
        if isinstance(fresh, RegionOp):
            for body in fresh.bodies:
                if body not in known:
                    known[body] = transform(body)
            fresh = fresh.with_bodies([known[body] for body in fresh.bodies])
        if fresh is not op:
            moved[op] = fresh
            table.update(zip(op.outputs, fresh.outputs, strict=True))
    if not moved:
        return function
    return function.substituted(table, [moved.get(op, op) for op in function.effects])


def shared_bodies(function: Function) -> Function:
    """Returns the function with ops that hold one function where they held equal ones, so that equal ops are known."""
    held = [body for op in function.operations if isinstance(op, RegionOp) for body in op.bodies]
    if len({*held}) < 2:
        return function
    first: dict[str, Function] = {}
    same = {body: first.setdefault(fingerprint(body), body) for body in dict.fromkeys(held)}
    return within_bodies(function, same.__getitem__)
