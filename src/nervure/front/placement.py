"""Conversion to single assignment: the state that each read sees, and the value of each variable in the end.

A ``Placement`` walks expressions as Python would evaluate them: operands from the left, then the op, each op once, at
its first place. It keeps the current value of every variable, binds each read to it, and turns assignments into new
current values, so that the result is pure:

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
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from nervure.errors import InvalidArgument
from nervure.ir.function import is_effect
from nervure.ir.leaves import Full, ReadVariable
from nervure.ir.op import Op, Value
from nervure.ir.provenance import current_provenance, on_behalf_of
from nervure.ir.variable import Variable
from nervure.ops import UpdateView
from nervure.ops.order import Assign, Computed, DoAll, Sequential, Together, placed_operands
from nervure.types.dim import known_lengths
from nervure.types.dtype import bool_
from nervure.types.index_map import IndexMap

ENUMERATED = 1 << 20
"""The largest writes that are compared element by element, counted in elements; larger ones count as overlapping."""


class Assignment(NamedTuple):
    """One assignment after it took effect, and the variable's value before (None: nothing)."""

    variable: Variable
    map: IndexMap | None
    value: Value
    op: Op
    before: Value | None


class Placement:
    """The state of a program that is being placed."""

    def __init__(self) -> None:
        self.state: dict[Variable, Value] = {}
        self.entry: dict[Variable, Value] = {}
        self.effects: list[Op] = []
        self._table: dict[Value, Value] = {}
        self._placed: set[Op] = set()
        self._writes: list[Assignment] = []
        self._token = Full(False, bool_, (0,)).output

    def supply(self, variable: Variable, value: Value) -> None:
        """Sets the value that a variable has at entry, if the caller gives it."""
        self.state[variable] = value

    def place(self, value: Value) -> Value:
        """Places one expression now; returns its pure form. Expressions placed before keep the value they had."""
        self._walk(value.op)
        return self._pure(value)

    def place_together(self, values: Sequence[Value]) -> list[Value]:
        """Places expressions side by side, as ``doall`` does; returns their pure forms."""
        self._walk(DoAll(*values))
        return [self._pure(value) for value in values]

    def current(self, variable: Variable, op: Op | None = None) -> Value:
        """Returns the value of a variable at this point."""
        value = self.state.get(variable, self.entry.get(variable))
        if value is None:
            if not variable.persistent:
                raise InvalidArgument("it is read before it has a value", op=variable.name or "temporary",
                                      location=variable.location if op is None else op.location,
                                      help="assign a temporary first, in front of a loop, branch or checkpoint that "
                                           "uses it, too; a placeholder must be a parameter",
                                      got="no value", expected="an assignment before it")
            with on_behalf_of(current_provenance() if op is None else op.provenance):
                value = self.entry[variable] = ReadVariable(variable).output
            value.op.name = variable.name
            value.labels = None if op is None else op.outputs[0].labels
        return value

    def updates(self) -> list[tuple[Variable, Value]]:
        """Returns the new values of the persistent variables that have been written."""
        return [(variable, value) for variable, value in self.state.items()
                if variable.persistent and value is not self.entry.get(variable)]

    # -- the walk: a stack of ops, and of tasks between the members of a doall -----------------------

    def _walk(self, root: Op) -> None:
        """Finishes every op below the root after its operands; an op met again during the walk is not entered twice."""
        placed, entered = self._placed, set[Op]()
        stack: list[Op | Callable[[], None]] = [root]
        while stack:
            op = stack[-1]
            if not isinstance(op, Op):
                stack.pop()
                op()
            elif op in placed:
                stack.pop()
            elif op in entered:
                stack.pop()
                self._finish(op)
                placed.add(op)
            else:
                entered.add(op)
                stack.extend(reversed(self._tasks(op)))

    def _tasks(self, op: Op) -> Sequence[Op | Callable[[], None]]:
        """Returns the operands that are placed before an op."""
        operands = [operand.op for operand in placed_operands(op)]
        if type(op) is Together:
            return [*operands[1:], operands[0]]  # the values that it is derived from are placed first
        return _SideBySide(self, operands).tasks() if type(op) is DoAll else operands

    def _finish(self, op: Op) -> None:
        """Gives an op its pure form, based on the pure forms of its operands."""
        if type(op) is ReadVariable:
            pure = self.current(op.variable, op)
        elif type(op) is Sequential:
            pure = self._pure(op.operands[-1])
        elif type(op) in (Together, Computed):
            pure = self._pure(op.operands[0])
        elif type(op) is DoAll:
            pure = self._token
        elif type(op) is Assign:
            pure = self._token
            self.write(op.variable, op.map, self._pure(op.operands[0]), op)
        else:
            self._rebuild(op)
            return
        self._table[op.outputs[0]] = pure

    def _rebuild(self, op: Op) -> None:
        table = self._table
        with on_behalf_of(op.provenance):
            fresh = op.with_operands([table.get(operand, operand) for operand in op.operands])
        if fresh is not op:
            table.update(zip(op.outputs, fresh.outputs, strict=True))
        if is_effect(fresh):
            self.effects.append(fresh)

    def _pure(self, value: Value) -> Value:
        return self._table.get(value, value)

    # -- writes ------------------------------------------------------------------------------------

    def write(self, variable: Variable, index_map: IndexMap | None, value: Value, op: Op) -> None:
        """Performs an assignment: the variable, or the part that ``index_map`` visits, has ``value`` from here on."""
        self._writes.append(Assignment(variable, index_map, value, op, self.state.get(variable)))
        if index_map is not None:
            with on_behalf_of(op.provenance):
                value = UpdateView(self.current(variable, op), value, index_map).output
        self.state[variable] = value

    def begin_writes(self) -> list[Assignment]:
        """Starts a separate list of writes; returns the previous one."""
        before, self._writes = self._writes, []
        return before

    def undo_writes(self, outer: list[Assignment]) -> list[Assignment]:
        """Undoes the writes since ``begin_writes`` returned ``outer``; returns those writes."""
        writes, self._writes = self._writes, outer
        for write in reversed(writes):
            if write.before is None:
                del self.state[write.variable]
            else:
                self.state[write.variable] = write.before
        return writes


class _SideBySide:
    """The members of one doall: each sees the state at entry; then all writes take effect, and none may touch an
    element twice.
    """

    def __init__(self, placement: Placement, members: Sequence[Op]) -> None:
        self._placement, self._members = placement, members
        self._outer: list[Assignment] = []
        self._landed: dict[Variable, _Landed] = {}

    def tasks(self) -> list[Op | Callable[[], None]]:
        """Returns the members, each between the start and the end of its own writes, then the task that applies all
        writes.
        """
        between = [task for member in self._members for task in (self._begin, member, self._end)]
        return [*between, self._land]

    def _begin(self) -> None:
        self._outer = self._placement.begin_writes()

    def _end(self) -> None:
        own: dict[Variable, _Landed] = {}
        for write in self._placement.undo_writes(self._outer):
            own.setdefault(write.variable, _Landed()).add(write)
        for variable, writes in own.items():
            self._landed.setdefault(variable, _Landed()).join(writes)

    def _land(self) -> None:
        for landed in self._landed.values():
            for write in landed.writes:
                self._placement.write(write.variable, write.map, write.value, write.op)


class _Landed:
    """The writes to one variable, and which of them touches each element, as far as that is known."""

    def __init__(self) -> None:
        self.writes: list[Assignment] = []
        self._anywhere: Assignment | None = None
        self._at: dict[tuple[int, ...], Assignment] = {}

    def add(self, write: Assignment) -> None:
        """Adds a write of a member, which may write an element again."""
        cells = None if write.map is None else _cells(write.map)
        self.writes.append(write)
        if cells is None:
            self._anywhere = write
        else:
            self._at.update(dict.fromkeys(cells, write))

    def join(self, other: _Landed) -> None:
        """Adds the writes of another member; InvalidArgument, which names both, if two may touch one element."""
        before, after = self._clash(other)
        if before is not None and after is not None:
            raise InvalidArgument("two writes side by side may touch one element", op="doall",
                                  operand=after.variable.name,
                                  got=f"writes at {before.op.location} and {after.op.location}",
                                  expected="writes to different elements", location=after.op.location,
                                  help="put them into nv.sequential([...])")
        self.writes.extend(other.writes)
        self._anywhere = self._anywhere or other._anywhere
        self._at.update(other._at)

    def _clash(self, other: _Landed) -> tuple[Assignment | None, Assignment | None]:
        """Returns a write of each that may touch one element; None if no two do."""
        if not self.writes:
            return None, None
        if self._anywhere is not None or other._anywhere is not None:
            return self._anywhere or self.writes[0], other._anywhere or other.writes[0]
        for cell, write in other._at.items():
            if cell in self._at:
                return self._at[cell], write
        return None, None


def _cells(index_map: IndexMap) -> list[tuple[int, ...]] | None:
    """Returns the elements that a map visits; None if they are too many or symbolic."""
    lengths = known_lengths(index_map.shape)
    if lengths is None or math.prod(lengths) > ENUMERATED:
        return None
    grid = np.indices(lengths).reshape(len(lengths), math.prod(lengths))
    visited = np.stack([np.broadcast_to(entry, grid.shape[1:]) for entry in index_map.evaluate(tuple(grid))])
    return list(map(tuple, visited.T.tolist()))
