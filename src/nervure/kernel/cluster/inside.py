"""Values made inside of others: in the memory of a view of several parts, so that no copy is needed.

A convolution wants its data with zeros around them. If the data are computed, their kernel writes them into the padded
memory directly, and the padding only needs loops over the border. Likewise, parts of a concatenation are made side by
side; other readers of such a value find it there.

>>> import nervure as nv
>>> from nervure.kernel.cluster import cluster
>>> x = nv.Parameter(nv.float32, (8, 16))
>>> raised = nv.ops.Exp(nv.ops.Sum(x, [1])).output
>>> function = nv.Function([nv.ops.Sum(nv.ops.Pad(raised, [(2, 1)]), [0]), nv.ops.Sum(raised, [0])], [x])
>>> producers = ProducerAnalysis(function)
>>> for value, place in places_inside(function, cluster(function, producers), producers).items():
...     print(type(value.op).__name__, "from", place.starts, "in", type(place.whole.op).__name__)
Exp from (2,) in Pad

A kernel never reads the memory that it writes, except elements that it has written itself: otherwise, the value has
memory of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from nervure.ir.function import Function
from nervure.ir.op import Op, Value
from nervure.kernel.analysis import OpKind, segments_of
from nervure.kernel.cluster.steps import Loops, Segments, Step
from nervure.kernel.producers import ProducerAnalysis, Use, dense_base
from nervure.types.dim import DimLike
from nervure.types.shape import Shape
from nervure.types.view.complex import Piece


class Place(NamedTuple):
    """The place of a value in a larger one: ``shape`` elements from ``starts`` on. ``shape`` has the lengths of the
    value, up to lengths of 1.
    """

    whole: Value
    starts: tuple[DimLike, ...]
    shape: Shape


def is_inside(op: Op, piece: Piece, places: Mapping[Value, Place]) -> bool:
    """Whether the part ``piece`` of a view is stored before its own loops run."""
    place = None if piece.operand is None else places.get(dense_base(op.operands[piece.operand]))
    return place is not None and place.whole is op.outputs[0] and place.starts == piece.starts


def places_inside(function: Function, steps: Sequence[Step], producers: ProducerAnalysis) -> dict[Value, Place]:
    """Returns the values that steps make inside of others."""
    return _Inside(function, steps, producers).found


class _Inside:
    def __init__(self, function: Function, steps: Sequence[Step], producers: ProducerAnalysis) -> None:
        self._producers = producers
        self._maker = {value: step for step in steps for value in step.stored}
        self._roots = {dense_base(root) for root in function.roots}
        self._together: dict[Value, set[Value]] = {}  # the values that share one memory, by the one that covers it
        self.found: dict[Value, Place] = {}
        for step in [step for step in steps if isinstance(step, Segments)]:
            for piece in segments_of(step.op):
                self._place(step, piece)

    def _place(self, step: Segments, piece: Piece) -> None:
        """Places the operand of a part of a view in the view, if that is allowed."""
        if piece.operand is None or piece.index_map is None:
            return
        operand, whole = step.op.operands[piece.operand], step.op.outputs[0]
        value = dense_base(operand)
        if piece.extents != operand.shape or not piece.index_map.is_identity(operand.shape):
            return
        if not self._may_move(value) or not _are_alike(value.shape, operand.shape):
            return
        self.found[value] = Place(whole, piece.starts, piece.extents)
        values = {whole, value, *self._together.get(whole, ()), *self._together.get(value, ())}
        if self._clash(values):
            del self.found[value]
        else:
            self._together.pop(value, None)
            self._together[whole] = values

    def _may_move(self, value: Value) -> bool:
        """Whether a value has its own memory until now, and all of its readers find it element by element."""
        is_free = isinstance(self._maker.get(value), Loops | Segments) and value not in self._roots
        return is_free and value not in self.found and all(map(self._is_by_element, self._producers.uses(value)))

    def _is_by_element(self, use: Use) -> bool:
        """Whether a reader has coordinates for each element, rather than one position in dense memory."""
        if use.reader is not None and self._producers.ops.kind(use.reader) is OpKind.OPAQUE:
            return False
        return all([_are_alike(view.operands[0].shape, view.outputs[0].shape) for view in use.views
                    if self._producers.ops.traits(view).keeps_order])

    def _clash(self, values: set[Value]) -> bool:
        """Whether a step that makes one of some values reads another one."""
        makers = {id(self._maker[value]): self._maker[value] for value in values}
        return any([not values.isdisjoint(self._read(step)) for step in makers.values()])

    def _read(self, step: Step) -> set[Value]:
        """Returns the values of other steps that a step reads from memory, including the operands of values that it
        computes again.
        """
        found: set[Value] = set()
        pending = list(self._operands(step))
        while pending:
            value = pending.pop()
            maker = self._maker.get(value)
            if maker is None and value.op not in step.ops:
                pending.extend([read.value for read in self._producers.reads(value.op)])
            elif maker is not step:
                found.add(value)
        return found

    def _operands(self, step: Step) -> Iterable[Value]:
        if not isinstance(step, Segments):
            return [read.value for _, read in step.reads(self._producers)]
        operands = tuple([step.op.operands[piece.operand] for piece in segments_of(step.op)
                          if piece.operand is not None and not is_inside(step.op, piece, self.found)])
        return [read.value for read in self._producers.reads_of_values(operands, False)]


def _are_alike(shape: Shape, other: Shape) -> bool:
    """Whether two shapes differ only in lengths of 1."""
    return [length for length in shape if length != 1] == [length for length in other if length != 1]
