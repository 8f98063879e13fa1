"""Producer analysis: the values that an op reads, at its own index or through views, and those computed inside it.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (8, 16))
>>> total = nv.ops.Sum(x, [1])
>>> centred = x - nv.ops.Broadcast(total, x.shape, [1])
>>> reads = ProducerAnalysis(nv.Function([centred], [x])).reads(centred.op)
>>> [(type(read.value.op).__name__, len(read.views)) for read in reads]
[('Parameter', 0), ('Sum', 1)]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nervure.ir.function import Function
from nervure.ir.op import Op, Value
from nervure.kernel.analysis import OpAnalysis, OpKind, traits_of
from nervure.kernel.tuning import INLINED_DEPTH
from nervure.ops.looping import Scan
from nervure.ops.rematerialising import After

_LOOPS = (OpKind.POINTWISE, OpKind.INDEXED, OpKind.REDUCTION, OpKind.SEGMENTS)


class Read(NamedTuple):
    """A value that is read: through which views (the reader's own first), and whether by an expression in between.

    ``aligned`` says that only its element at the reader's own index, moved through the views, is read.
    """

    value: Value
    views: tuple[Op, ...]
    aligned: bool

    @property
    def in_place(self) -> bool:
        """Whether the element at the reader's own index is read."""
        return self.aligned and not self.views


class Use(NamedTuple):
    """A reader of a value, through views."""

    reader: Op | None
    views: tuple[Op, ...]


class ProducerAnalysis:
    """The reads of each op of a function, and the values that are computed inside their only reader."""

    def __init__(self, function: Function, ops: OpAnalysis | None = None) -> None:
        self.ops = ops or OpAnalysis()
        self._uses: dict[Value, list[Use]] = {}
        for op in function.operations:
            if self.ops.kind(op) is not OpKind.VIEW:
                for operand in in_memory(op):
                    self._note(operand, op)
        for root in function.roots:
            self._note(root, None)
        self._of_products = self._behind_products(function)
        self._depth: dict[Value, int] = {}  # of values computed inside their reader
        self._whole: set[Value] = set()     # values of which all elements are computed inside their reader
        for op in reversed(function.operations):
            self._decide(op)

    def base(self, value: Value) -> tuple[Value, tuple[Op, ...]]:
        """Returns the value below a chain of views of one tensor, and the chain from the top."""
        views: list[Op] = []
        while self.ops.kind(value.op) is OpKind.VIEW:
            views.append(value.op)
            value = value.op.operands[0]
        return value, tuple(views)

    def is_inlined(self, value: Value) -> bool:
        """Whether a value is computed in the loops of its readers."""
        return value in self._depth

    def cost(self, op: Op) -> int:
        """Returns the cost of an op at an index, including the ops computed inside it."""
        inside = [value for value, _ in map(self.base, op.operands)
                  if value in self._depth and self.ops.kind(value.op) is OpKind.POINTWISE]
        return op.cost + sum([self.cost(value.op) for value in dict.fromkeys(inside)])

    def reads(self, op: Op) -> Iterator[Read]:
        """Yields the values that an op reads, including those read by inlined ones."""
        kind = self.ops.kind(op)
        if kind not in (OpKind.INDEXED, OpKind.SCATTER, OpKind.REDUCTION):
            yield from self.reads_of_values(in_memory(op), kind is not OpKind.SEGMENTS)
            return
        read = tuple([op.operands[number] for number in sorted(self.ops.operands_read(op))])
        yield from self.reads_of_values(read, self.ops.reads_in_place(op))

    def reads_of_values(self, operands: tuple[Value, ...], aligned: bool) -> Iterator[Read]:
        """Yields the reads of operands; ``aligned`` if they are read at the index itself."""
        stack: list[tuple[Value, tuple[Op, ...], bool]] = [(operand, (), aligned) for operand in reversed(operands)]
        while stack:
            operand, above, is_aligned = stack.pop()
            value, views = self.base(operand)
            views = (*above, *views)
            if value in self._depth:  # an op at each index: its operands are read through the views above it
                is_in_place = is_aligned and self.ops.kind(value.op) is not OpKind.INDEXED
                stack.extend([(entry, views, is_in_place) for entry in reversed(value.op.operands)])
            else:
                yield Read(value, views, is_aligned)

    def awaited(self, read: Read) -> list[Value]:
        """Returns the values that have to exist before a read, if a view on the way says so."""
        others = [other for view in read.views if isinstance(view, After) for other in view.operands[1:]]
        return [below.value for below in self.reads_of_values(tuple(others), False)] if others else []

    def uses(self, value: Value) -> list[Use]:
        """Returns the readers of a value; a reader of None stands for a root of the function."""
        return self._uses.get(value, [])

    def _behind_products(self, function: Function) -> set[Value]:
        """Returns the values that are computed from products, element by element: that is best done while these are
        cached.
        """
        found: set[Value] = set()
        for op in function.operations:
            is_behind = self.ops.kind(op) is OpKind.POINTWISE and any([
                value in found and self._keep_order(views) for value, views in map(self.base, op.operands)])
            if is_behind or self.ops.is_contraction(op):
                found.update(op.outputs)
        return found

    def _note(self, operand: Value, reader: Op | None) -> None:
        value, views = self.base(operand)
        self._uses.setdefault(value, []).append(Use(reader, views))

    def _decide(self, op: Op) -> None:
        """Decides whether an op's value is computed inside its readers. Numbers and counters always are. Other values
        are if they are read once, through views that repeat nothing, and so are their operands in turn. Views must
        show everything if indices are checked on the way.
        """
        kind = self.ops.kind(op)
        if kind is OpKind.NUMBER or (kind == OpKind.INDEXED and self._is_counter(op)):
            self._depth[op.outputs[0]] = 1
            return
        if kind not in (OpKind.POINTWISE, OpKind.INDEXED) or len(op.outputs) != 1 or len(self.uses(op.outputs[0])) != 1:
            return
        value, use = op.outputs[0], self.uses(op.outputs[0])[0]
        around = self._inlined_reader(use)
        depth = 1 if around is None else 1 + self._depth[around]
        views = [self.ops.traits(view) for view in use.views]
        is_whole = all([view.is_onto for view in views]) and (around is None or around in self._whole)
        is_once = all([view.is_injective for view in views])
        is_free = is_whole or is_once and kind is OpKind.POINTWISE
        if depth <= INLINED_DEPTH and is_free and (around is not None or self._is_seen(value, use)):
            self._depth[value] = depth
            self._whole.update([value] if is_whole else [])

    def _inlined_reader(self, use: Use) -> Value | None:
        """Returns the value of a reader that is itself computed inside its reader, point by point."""
        if use.reader is None or self.ops.kind(use.reader) is not OpKind.POINTWISE:
            return None
        return use.reader.outputs[0] if use.reader.outputs[0] in self._depth else None

    def _is_seen(self, value: Value, use: Use) -> bool:
        """Whether the loops of a value's only reader see it through views. A root that is a view is copied by loops;
        the parts of a view are written by loops, unless the step that makes a part should write it.
        """
        is_moved = not self._keep_order(use.views)
        if use.reader is None:
            return is_moved
        kind = self.ops.kind(use.reader)
        if kind in (OpKind.INDEXED, OpKind.REDUCTION) and not self.ops.reads_in_place(use.reader):
            return False
        if kind is OpKind.SEGMENTS:
            return is_moved or value not in self._of_products
        return kind in _LOOPS and bool(use.views)

    def _keep_order(self, views: Sequence[Op]) -> bool:
        return all([self.ops.traits(view).keeps_order for view in views])

    def _is_counter(self, op: Op) -> bool:
        """Whether an op depends on indices alone, and only loops read it."""
        if len(op.outputs) != 1 or self.ops.operands_read(op):
            return False
        readers = [use.reader for use in self.uses(op.outputs[0])]
        return all([reader is None or self.ops.kind(reader) is not OpKind.OPAQUE for reader in readers])


def in_memory(op: Op) -> tuple[Value, ...]:
    """Returns the operands that an op reads: all but what a loop counts itself."""
    if not isinstance(op, Scan) or not op.counters:
        return op.operands
    return tuple([operand for at, operand in enumerate(op.operands) if at not in op.counters])


def dense_base(value: Value) -> Value:
    """Returns the value that has the same elements in the same order in memory."""
    while traits_of(value.op).keeps_order:
        value = value.op.operands[0]
    return value
