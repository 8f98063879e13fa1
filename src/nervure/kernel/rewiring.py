"""Rewiring: a function whose steps read other values than before, as its plan has divided it into steps.

An op is part of one step, or it belongs to all steps that read through it: views, and values that are computed inside
their readers. So one step can be given another value to read without the others noticing.

>>> import nervure as nv
>>> from nervure.kernel.plan import make_plan
>>> from nervure.passes.pipelines import native
>>> x = nv.Parameter(nv.float32, (64, 64))
>>> first = nv.ops.MatMul(x, x)
>>> function = native(nv.Function([nv.ops.MatMul(first, x), nv.ops.MatMul(x, first)], [x]))
>>> plan = make_plan(function)
>>> product, *readers = [step.cluster for step in plan.steps]
>>> value, = product.stored
>>> again = Again(value, (readers[0].stored[0],))
>>> rewired = Rewiring(plan, {(readers[1], value): again}).function()
>>> [sum([type(op).__name__ == name for op in rewired.operations]) for name in ("Contract", "After")]
[4, 1]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from nervure.errors import InternalError
from nervure.ir.function import Function
from nervure.ir.leaves import Leaf
from nervure.ir.op import Op, Value
from nervure.ir.provenance import set_override
from nervure.kernel.cluster import Copy, Step
from nervure.kernel.plan import Plan
from nervure.ops.rematerialising import After, later


class Delayed(NamedTuple):
    """The value itself, as one that exists after some ``others``."""

    value: Value
    others: tuple[Value, ...]


class Again(NamedTuple):
    """The value made again, from operands as they exist after some ``others``."""

    value: Value
    others: tuple[Value, ...]


Place = Step | Delayed | Again | None
"""What an op is made for: a step, what stands for a value there, or the border of the function."""

_Request = tuple[Value, Place]
_Build = Callable[[Sequence[Value]], Value]


class Rewiring:
    """Steps of a ``plan`` read ``others`` in place of values: for a step and a value that it reads, what it reads now.
    """

    def __init__(self, plan: Plan, others: Mapping[tuple[Step, Value], Delayed | Again]) -> None:
        self._plan, self._others = plan, others
        self._again = {entry.value: entry for entry in others.values() if isinstance(entry, Again)}
        self._home: dict[Op, Step] = {op: step for step in plan.clusters for op in step.ops}
        self._stored, self._kept = {value for step in plan.clusters for value in step.stored}, plan.made
        self._begin: dict[Place, int] = {step: first for step, (first, *_) in plan.kernels_of.items()}
        self._ops: dict[tuple[Op, Place], Op] = {}
        self._made: dict[_Request, Value] = {}

    def function(self) -> Function:
        """Returns the function as it is now."""
        function, copies = self._plan.function, {step.root: step for step in self._plan.clusters
                                                 if isinstance(step, Copy)}
        places = [copies.get(number) or self._home.get(root.op) for number, root in enumerate(function.roots)]
        roots = [self._value((root, self._reading(root, place) if isinstance(place, Copy) else place))
                 for root, place in zip(function.roots, places, strict=True)]
        effects = [self._op(op, self._home.get(op)) for op in function.effects]
        count = len(function.results)
        updates = [(variable, root) for (variable, _), root in zip(function.updates, roots[count:], strict=True)]
        return Function(roots[:count], function.parameters, updates, effects, function.assumptions, function.name)

    def _op(self, op: Op, place: Place) -> Op:
        operands = [self._value((operand, self._reading(operand, place))) for operand in op.operands]
        return self._copy(op, place, operands)

    def _copy(self, op: Op, place: Place, operands: Sequence[Value]) -> Op:
        if (op, place) not in self._ops:
            self._ops[op, place] = op.with_operands(operands)
        return self._ops[op, place]

    def _value(self, wanted: _Request) -> Value:
        """Returns the value that stands for one now; a walk without recursion makes those below it."""
        stack, begun = [wanted], set[_Request]()
        while stack:
            request = stack[-1]
            if request in self._made:
                stack.pop()
                continue
            below, build = self._expanded(*request)
            missing = [entry for entry in below if entry not in self._made]
            if missing:
                if request in begun:
                    raise InternalError(f"values of {self._plan.function.name} would come after each other: {request}")
                begun.add(request)
                stack.extend(reversed(missing))
            else:
                self._made[request] = build([self._made[entry] for entry in below])
                stack.pop()
        return self._made[wanted]

    def _expanded(self, value: Value, place: Place) -> tuple[list[_Request], _Build]:
        """Returns what a value is made of at a place, and how."""
        op = value.op
        if isinstance(place, Delayed):
            return [self._at_home(entry) for entry in (value, *place.others)], _later
        if isinstance(place, Again) and value is not place.value:
            if value in self._again:
                return [(value, self._again[value])], _first
            if isinstance(op, Leaf) or value in self._kept:
                return [self._at_home(entry) for entry in (value, *place.others)], _later
        elif isinstance(op, Leaf):
            return [], lambda _: value
        elif not isinstance(place, Again) and self._home.get(op, place) is not place and value in self._stored:
            return [self._at_home(value)], _first
        below: list[_Request] = [(operand, self._reading(operand, place)) for operand in self._operands(op, place)]
        return below, lambda found: self._copy(op, place, found).outputs[value.index]

    def _operands(self, op: Op, place: Place) -> Sequence[Value]:
        """Returns the operands of an op. A step does not wait for what the plan has put behind it, nor for what no step
        makes any more.
        """
        own = self._begin.get(place)
        if type(op) is not After or own is None:
            return op.operands
        return [op.operands[0], *[other for other in op.operands[1:] if self._is_before(other.op, own)]]

    def _is_before(self, op: Op, number: int) -> bool:
        """Whether an op is a leaf, or part of a step that begins before the kernel of this ``number``."""
        return isinstance(op, Leaf) or op in self._home and self._begin.get(self._home[op], -1) < number

    def _reading(self, operand: Value, place: Place) -> Place:
        """Returns the place from which an op reads an operand: what it reads now, if it is a step that reads others."""
        if place is None or isinstance(place, (Delayed, Again)):
            return place
        return self._others.get((place, operand), place)

    def _at_home(self, value: Value) -> _Request:
        return value, self._home.get(value.op)


def _first(values: Sequence[Value]) -> Value:
    return values[0]


def _later(values: Sequence[Value]) -> Value:
    before = set_override(values[0].op.provenance)
    try:
        return later(values[0], values[1:])
    finally:
        set_override(before)
