"""The kinds of steps that a function is divided into, as data: their reads and results, and their strategies.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (8,))
>>> print(Opaque(nv.ops.PrintOp(x)))
opaque: PrintOp

A new kind is a class with the members of :class:`Step`, and a row of the table in ``kernel/lower/__init__.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar, Protocol

from nervure.ir.op import Op, Value
from nervure.kernel.analysis import Level, segments_of
from nervure.kernel.cluster.stencils import Stencil
from nervure.kernel.producers import ProducerAnalysis, Read
from nervure.types.dim import DimLike, index
from nervure.types.shape import Shape


class Step(Protocol):
    """A part of a function that becomes a few kernels, or a call of Python."""

    @property
    def ops(self) -> Sequence[Op]:
        """The ops that it is made for, operands first, without those that are computed inside of them."""

    @property
    def stored(self) -> Sequence[Value]:
        """The values that it makes in memory."""

    @property
    def parts(self) -> Sequence[Step]:
        """The steps of the clustering that it is: itself, or those whose kernels share an outer loop."""

    @property
    def computes_again(self) -> bool:
        """Whether it can compute its operands itself, when that is better than reading them."""

    def reads(self, producers: ProducerAnalysis) -> Iterator[tuple[Op, Read]]:
        """Yields the values that are read, each with the op that reads it."""

    def why_apart(self, op: Op) -> str:
        """Returns why one of its ops is not in the step that makes the last of its operands."""

    def level(self, op: Op) -> Level | None:
        """Returns the level of an op in its loops; None for a step without loops that others could share."""

    def why_stored(self, value: Value) -> str | None:
        """Returns why it stores a value that no other step reads."""


class FusionBlocker(Enum):
    """Reasons why an op does not share the kernel of its last operand, as explanations print them after the name of
    the op.
    """

    NO_LOOPS = "its operand is made by a step that no other op joins"
    TOO_MANY_OPS = "the kernel of its operand has as many ops as one may have"
    OTHER_SHAPE = "it runs over another shape than the kernel of its operand"
    OTHER_AXES = "the kernel of its operand reduces other axes"
    OTHER_INDEX = "it reads its operand at another index than its own"
    STENCIL = "the kernel of its operand reads elements around each place, which takes loops without reductions"
    FEW_ROWS = "the rows of the kernel of its operand are too few or too long for threads to share"


class LoopStrategy(Enum):
    """The ways to lower ops that share loops."""

    POINTWISE = "every op at every point"
    ROWS = "threads have rows of their own"
    BLOCKS = "threads share the blocks of a row"
    CROSS_ROWS = "rows, with reductions over the rows on the way"


@dataclass(eq=False)
class Loops:
    """Ops that share the loops over one shape.

    ``reduced`` are the axes of the shape that reductions in it run over; None as long as there is none. ``levels`` are
    the ops, operands first. No op of the step reads the result of a cross-row reduction. Reductions make the loops run
    several times: the phase of an op over the whole shape is the run in which it can first be computed, that of a row
    value the run that may first read it. ``blockers`` say why ops of this step could not join the step that makes the
    last of their operands. A ``complete`` step fills a view whose parts it computes; no op that reads the view joins
    it. ``stencils`` say of each op which elements around its places are read.

    Other fields are set when all ops are there: ``stored`` are the values that get memory, ``materialised`` those
    among them that get it only because several runs over a row need them. ``reloaded`` are the values that a run loads
    after an earlier one has computed them, from their memory or, if they have none, from scratch memory of a row's
    length. ``repeated`` are the numbers of more results that a value is, beside the one in whose memory it lies.
    """

    number: int
    shape: Shape
    reduced: tuple[int, ...] | None = None
    levels: dict[Op, Level] = field(default_factory=dict)
    phases: dict[Op, int] = field(default_factory=dict)
    blockers: dict[Op, FusionBlocker] = field(default_factory=dict)
    complete: bool = False
    has_contraction: bool = False
    stencils: dict[Op, Stencil] = field(default_factory=dict)
    stored: list[Value] = field(default_factory=list)
    materialised: list[Value] = field(default_factory=list)
    reloaded: list[Value] = field(default_factory=list)
    repeated: dict[Value, list[int]] = field(default_factory=dict)
    strategy: LoopStrategy = LoopStrategy.POINTWISE
    computes_again = True

    @property
    def parts(self) -> Sequence[Step]:
        """The step itself."""
        return [self]

    @property
    def ops(self) -> list[Op]:
        """The ops, operands first."""
        return list(self.levels)

    @property
    def values(self) -> list[Value]:
        """The results of the ops."""
        return [value for op in self.levels for value in op.outputs]

    def reads(self, producers: ProducerAnalysis) -> Iterator[tuple[Op, Read]]:
        """Yields the values that the ops read, from each other, too."""
        for op in self.levels:
            for read in producers.reads(op):
                yield op, read

    def why_apart(self, op: Op) -> str:
        """Returns the blocker, if there was one."""
        return self.blockers[op].value if op in self.blockers else "it is in another kernel"

    def why_stored(self, value: Value) -> str | None:
        """Says that several runs over a row need a value, if that is so."""
        return "three runs over its rows need it" if value in self.materialised else None

    def level(self, op: Op) -> Level | None:
        """Returns the level of one of the ops."""
        return self.levels.get(op)

    # -- rows ----------------------------------------------------------------------------------------------

    @property
    def has_lanes_along_row(self) -> bool:
        """Whether the lanes of vectors share a row; else each lane has its own row. Lanes go along the last axis of
        more than one element; around a contraction each lane has its own element.
        """
        reduced = self.reduced or ()
        if self.has_contraction:
            return False
        long = [axis for axis, length in enumerate(self.shape) if length != 1]
        last = long[-1] if any([axis in reduced for axis in long]) else len(self.shape) - 1
        return not self.kept or last in reduced

    @property
    def cross_row(self) -> list[Op]:
        """The reductions over the rows."""
        return [op for op, level in self.levels.items() if level is Level.CROSS_ROW]

    def row_point(self, shape: Shape) -> tuple[DimLike, ...] | None:
        """Returns the position of the row of the loops in a tensor with an element for each row. The tensor's lengths
        are those of the kept axes, up to lengths of 1; for the result of a product, also products of consecutive ones.
        None for other tensors.
        """
        axes = [(index(axis), self.shape[axis]) for axis in self.kept_axes if self.shape[axis] != 1]
        found: list[DimLike] = []
        for length in shape:
            place, reach = axes.pop(0) if axes and length != 1 else (0, 1)
            while reach != length and axes and self.has_contraction:
                inner, extent = axes.pop(0)
                place, reach = place * extent + inner, reach * extent
            if reach != length:
                return None
            found.append(place)
        return None if axes else tuple(found)

    @property
    def point(self) -> tuple[DimLike, ...]:
        """The point of the loops."""
        return tuple([0 if length == 1 else index(axis) for axis, length in enumerate(self.shape)])

    @property
    def last_run(self) -> int:
        """The number of the last run, counted from 0, in which reductions over the kept axes take place."""
        return max(self.phases.values(), default=0)

    @property
    def kept_axes(self) -> tuple[int, ...]:
        """The axes that are not reduced."""
        return tuple([axis for axis in range(len(self.shape)) if axis not in (self.reduced or ())])

    @property
    def kept(self) -> tuple[DimLike, ...]:
        """Their lengths."""
        return tuple([self.shape[axis] for axis in self.kept_axes])

    def __str__(self) -> str:
        names = ", ".join([type(op).__name__ for op in self.levels]) or "copy"
        over = "" if self.reduced is None else f" reducing {self.reduced}"
        stored = ", ".join([type(value.op).__name__ for value in self.stored])
        return f"loop over {self.shape}{over}: {names}; stores {stored}"


class _Unshared:
    """The common part of steps without loops that others could share."""

    computes_again = False

    @property
    def parts(self: Step) -> Sequence[Step]:
        """The step itself."""
        return [self]

    def level(self, _: Op) -> None:
        """Returns None: there are no loops to share."""

    def why_stored(self, _: Value) -> None:
        """Returns None: its results have no other place."""


@dataclass(eq=False)
class Copy(_Unshared):
    """A copy of a value for the root of this number: a result that is also an argument, or a repeated result."""

    value: Value
    root: int
    ops: ClassVar[Sequence[Op]] = ()
    stored: ClassVar[Sequence[Value]] = ()

    def reads(self, producers: ProducerAnalysis) -> Iterator[tuple[Op, Read]]:
        """Yields the value; its own op stands for the reader."""
        for read in producers.reads_of_values((self.value,), True):
            yield self.value.op, read

    def why_apart(self, _: Op) -> str:
        """Says that a copy is no op of its own."""
        return "it is copied"

    def __str__(self) -> str:
        return f"copy {type(self.value.op).__name__} for root {self.root}"


class _OfOneOp(_Unshared):
    """A step of one op."""

    op: Op

    @property
    def ops(self) -> Sequence[Op]:
        """The op."""
        return [self.op]

    @property
    def stored(self) -> Sequence[Value]:
        """All of its results."""
        return self.op.outputs

    def reads(self, producers: ProducerAnalysis) -> Iterator[tuple[Op, Read]]:
        """Yields the reads of the op."""
        for read in producers.reads(self.op):
            yield self.op, read


@dataclass(eq=False)
class Segments(_OfOneOp):
    """A view of several parts (pad, concatenate), each of which is written by its own loops. If ``together``, they
    share the loops over the leading axes that all parts have whole.
    """

    op: Op
    together: bool = False
    computes_again = True

    @property
    def shared(self) -> int:
        """The number of leading axes that all parts have whole."""
        shape, parts = self.op.outputs[0].shape, segments_of(self.op)
        for axis, length in enumerate(shape):
            if any([part.starts[axis] != 0 or part.extents[axis] != length for part in parts]):
                return axis
        return len(shape)

    def why_apart(self, _: Op) -> str:
        """Says that its loops are its own."""
        return "each of its parts is written by loops of its own"

    def __str__(self) -> str:
        return f"pieces: {type(self.op).__name__}"


@dataclass(eq=False)
class Scatter(_OfOneOp):
    """A structured op that writes at computed places, into its initial value."""

    op: Op

    def why_apart(self, _: Op) -> str:
        """Says that its places are its own."""
        return "it writes at places of its own"

    def __str__(self) -> str:
        return f"scatter: {type(self.op).__name__}"


@dataclass(eq=False)
class Guards(_OfOneOp):
    """Conditions that must hold; if one does not, the call fails."""

    op: Op

    def why_apart(self, _: Op) -> str:
        """Says that it makes nothing."""
        return "it ends the call where a condition does not hold"

    def __str__(self) -> str:
        return f"check: {type(self.op).__name__}"


@dataclass(eq=False)
class Opaque(_OfOneOp):
    """An op that has no loops: a call of Python, or of the functions inside of the op."""

    op: Op

    def why_apart(self, _: Op) -> str:
        """Says that it has no loops to share."""
        return "it has no loops"

    def __str__(self) -> str:
        return f"opaque: {type(self.op).__name__}"


@dataclass(eq=False)
class SharedSteps(_Unshared):
    """Steps whose kernels share an outer loop, in the order in which they follow each other in it."""

    steps: tuple[Step, ...]

    @property
    def parts(self) -> Sequence[Step]:
        """The steps."""
        return self.steps

    @property
    def ops(self) -> Sequence[Op]:
        """The ops of all steps."""
        return [op for step in self.steps for op in step.ops]

    @property
    def stored(self) -> Sequence[Value]:
        """The values that they make in memory, or in scratch memory of an iteration."""
        return [value for step in self.steps for value in step.stored]

    def reads(self, producers: ProducerAnalysis) -> Iterator[tuple[Op, Read]]:
        """Yields the reads of all steps."""
        for step in self.steps:
            yield from step.reads(producers)

    def why_apart(self, op: Op) -> str:
        """Returns why an op is not in the loops of the step that makes the last of its operands."""
        return next(step.why_apart(op) for step in self.steps if op in step.ops)

    def __str__(self) -> str:
        return "; ".join(map(str, self.steps))
