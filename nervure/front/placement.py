"""From what a user wrote to single assignment: which state each read sees, and what each variable is in the end.

A ``Placement`` walks expressions in the order in which they are placed. It keeps the current value of every
variable, binds the reads below an expression to it, and turns assignments into new current values, so that what
is left is pure:

>>> import nervure as nv
>>> x = nv.variable((), 0.0)
>>> placement = Placement()
>>> _ = placement.place((x + x).value)
>>> _ = placement.place(nv.assign(x, 2.0).value)
>>> after = placement.place((x + x).value)
>>> type(after.op.operands[0].op).__name__, len(placement.updates())
('Full', 1)
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

import numpy as np

from nervure.errors import InternalError, InvalidArgument
from nervure.ir.function import is_effect
from nervure.ir.leaves import Full, ReadVariable
from nervure.ir.op import Op, Value
from nervure.ir.provenance import current_provenance, on_behalf_of, set_override
from nervure.ir.traverse import postorder
from nervure.ir.variable import Variable
from nervure.ops import UpdateView
from nervure.ops.order import Assign, DoAll, Order, Sequential, Together
from nervure.types.dim import Dim
from nervure.types.dtype import bool_
from nervure.types.index_map import IndexMap

ENUMERATED = 1 << 20
"""Two writes of at most so many elements are compared element by element; larger ones count as overlapping."""


class Write(NamedTuple):
    """One assignment as it landed."""

    variable: Variable
    map: IndexMap | None
    value: Value
    op: Op


Task = Generator["Task", Any, Any]


class Placement:
    """The state of a program that is being placed."""

    def __init__(self) -> None:
        self.state: dict[Variable, Value] = {}
        self.entry: dict[Variable, Value] = {}
        self.effects: list[Op] = []
        self._table: dict[Value, Value] = {}
        self._bound: set[Op] = set()
        self._placed: set[Op] = set()
        self._writes: list[Write] = []
        self._token = Full(False, bool_, (0,)).output

    def supply(self, variable: Variable, value: Value) -> None:
        """The value that a variable has at entry, where the caller gives it."""
        self.state[variable] = value

    def place(self, value: Value) -> Value:
        """Places one expression now; returns its pure form. What has been placed before keeps the value it had."""
        return _run(self._place(value))

    def place_together(self, values: Sequence[Value]) -> list[Value]:
        """Places expressions side by side, as ``doall`` does; returns their pure forms."""
        _run(self._side_by_side(values, None))
        return [self._table.get(value, value) for value in values]

    def current(self, variable: Variable, op: Op | None = None) -> Value:
        """The value of a variable at this point."""
        value = self.state.get(variable, self.entry.get(variable))
        if value is None:
            if not variable.persistent:
                raise InvalidArgument("it is read before it has a value", op=variable.name or "temporary",
                                      location=variable.location if op is None else op.location,
                                      help="assign a temporary first; a placeholder must be a parameter",
                                      got="no value", expected="an assignment before it")
            with on_behalf_of(current_provenance() if op is None else op.provenance):
                value = self.entry[variable] = ReadVariable(variable).output
            value.op.name = variable.name
            value.labels = None if op is None else op.outputs[0].labels
        return value

    def updates(self) -> list[tuple[Variable, Value]]:
        """New values for the persistent variables that have been written."""
        return [(variable, value) for variable, value in self.state.items()
                if variable.persistent and value is not self.entry.get(variable)]

    # -- tasks: generators that yield tasks, so that nesting needs no recursion --------------------

    def _place(self, root: Value) -> Task:
        self._bind_reads(root)
        order = postorder([root], self._placed, _pure_operands)
        for op in order:
            if isinstance(op, Order) and type(op) is not Together:
                yield self._ordered(op)
        self._rebuild(order)
        return self._table.get(root, root)

    def _bind_reads(self, root: Value) -> None:
        """Gives the reads below an expression, those of its anchors too, the state of this moment."""
        for op in postorder([root], self._bound, _operands_outside_order):
            if type(op) is ReadVariable:
                self._table[op.outputs[0]] = self.current(op.variable, op)

    def _rebuild(self, order: Sequence[Op]) -> None:
        table = self._table
        for op in order:
            if type(op) is Together:
                table[op.outputs[0]] = table.get(op.operands[0], op.operands[0])
            elif not isinstance(op, (Order, ReadVariable)):
                before = set_override(op.provenance)
                fresh = op.with_operands([table.get(operand, operand) for operand in op.operands])
                set_override(before)
                if fresh is not op:
                    table.update(zip(op.outputs, fresh.outputs, strict=True))
                if is_effect(fresh):
                    self.effects.append(fresh)

    def _ordered(self, op: Op) -> Task:
        if isinstance(op, Assign):
            value = yield self._place(op.operands[0])
            self._write(Write(op.variable, op.map, value, op))
        elif isinstance(op, Sequential):
            for member in op.operands:
                yield self._place(member)
            last = op.operands[-1]
            self._table[op.outputs[0]] = self._table.get(last, last)
        elif isinstance(op, DoAll):
            yield self._side_by_side(op.operands, op)
        else:
            raise InternalError(f"{op!r} cannot be placed")
        if not isinstance(op, Sequential):
            self._table[op.outputs[0]] = self._token

    def _write(self, write: Write) -> None:
        self._writes.append(write)
        if write.map is None:
            self.state[write.variable] = write.value
            return
        with on_behalf_of(write.op.provenance):
            base = self.current(write.variable, write.op)
            self.state[write.variable] = UpdateView(base, write.value, write.map).output

    def _side_by_side(self, members: Sequence[Value], op: Op | None) -> Task:
        """Each member on the state at entry; then all writes, which may not touch one element twice."""
        entry, outer = self.state, self._writes
        landed: list[Write] = []
        for member in members:
            self.state, self._writes = dict(entry), []
            yield self._place(member)
            for write in self._writes:
                _check_disjoint(write, landed)
            landed.extend(self._writes)
        self.state, self._writes = entry, outer
        for write in landed:
            self._write(write)


def _run(task: Task) -> Any:
    """Runs a task and the tasks it yields, with a stack of our own."""
    stack, result = [task], None
    while stack:
        try:
            stack.append(stack[-1].send(result))
            result = None
        except StopIteration as finished:
            stack.pop()
            result = finished.value
    return result


def _pure_operands(op: Op) -> Sequence[Value]:
    """What is placed with an op: nothing below an ordered op, which places its operands itself; no anchors."""
    if type(op) is Together:
        return op.operands[:1]
    return () if isinstance(op, Order) else op.operands


def _operands_outside_order(op: Op) -> Sequence[Value]:
    """Where reads that take place together are found: everywhere but below assignments and sequences."""
    return () if isinstance(op, Order) and type(op) is not Together else op.operands


def _check_disjoint(write: Write, landed: Sequence[Write]) -> None:
    """InvalidArgument naming both where a write may touch an element that another one of its siblings writes."""
    for other in landed:
        if other.variable is write.variable and _may_overlap(write.map, other.map):
            raise InvalidArgument("two writes side by side may touch one element", op="doall",
                                  operand=write.variable.name,
                                  got=f"writes at {other.op.location} and {write.op.location}",
                                  expected="writes to different elements", location=write.op.location,
                                  help="put them into nv.sequential([...])")


def _may_overlap(left: IndexMap | None, right: IndexMap | None) -> bool:
    if left is None or right is None:
        return True
    cells = [_cells(entry) for entry in (left, right)]
    return any(entry is None for entry in cells) or not set(cells[0]).isdisjoint(cells[1])  # type: ignore[arg-type]


def _cells(index_map: IndexMap) -> list[tuple[int, ...]] | None:
    """The elements that a map visits; None where they are too many or symbolic."""
    lengths = [entry for entry in index_map.shape if not isinstance(entry, Dim)]
    if len(lengths) < index_map.rank or math.prod(lengths) > ENUMERATED:
        return None
    grid = np.indices(lengths).reshape(len(lengths), -1)
    visited = np.stack([np.broadcast_to(entry, grid.shape[1:]) for entry in index_map.evaluate(tuple(grid))])
    return list(map(tuple, visited.T.tolist()))
