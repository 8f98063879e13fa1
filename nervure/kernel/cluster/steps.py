"""The kinds of steps that a function is divided into; each is lowered by a rule of its own.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (8,))
>>> print(Host(nv.ops.PrintOp(x)))
on the host: PrintOp
"""

from __future__ import annotations

from dataclasses import dataclass, field

from nervure.ir.op import Op, Value
from nervure.kernel.cluster.refusals import Refusal
from nervure.types.dim import DimLike, index
from nervure.types.shape import Shape

FULL, ROW, COLUMN = "full", "row", "column"


@dataclass(eq=False)
class Loops:
    """Ops that share the loops over one shape.

    ``reduced`` are the axes of the shape that reductions in it run over; None as long as there is none. An op is of
    level ``FULL`` if it has an element for each point of the shape, ``ROW`` if one for each index of the axes that
    stay: reductions, and what is computed of their results; ``COLUMN`` if it is a reduction over the axes that stay,
    of which nobody here reads the result. Reductions make the loops run several times: the phase of an op over the
    whole shape is the run in which it can first be computed, that of a row value the run that may first read it.
    ``stored`` are the values that get memory, ``refused`` says of ops of this step why they could not join the step
    that makes the last of their operands. A ``complete`` step is joined by no other op: it ends with a view whose
    parts it computes.
    """

    number: int
    shape: Shape
    reduced: tuple[int, ...] | None = None
    levels: dict[Op, str] = field(default_factory=dict)
    phases: dict[Op, int] = field(default_factory=dict)
    stored: list[Value] = field(default_factory=list)
    refused: dict[Op, Refusal] = field(default_factory=dict)
    complete: bool = False

    @property
    def ops(self) -> list[Op]:
        """The ops, operands first."""
        return list(self.levels)

    def row_point(self, shape: Shape) -> tuple[DimLike, ...] | None:
        """Where the row of the loops is in a tensor with an element for each row: its lengths are those that stay, but
        for lengths of 1. None for other tensors.
        """
        lengths = [(axis, length) for axis, length in enumerate(self.shape)
                   if axis not in (self.reduced or ()) and length != 1]
        if [length for _, length in lengths] != [length for length in shape if length != 1]:
            return None
        axes = iter(lengths)
        return tuple([0 if length == 1 else index(next(axes)[0]) for length in shape])

    @property
    def point(self) -> tuple[DimLike, ...]:
        """The point of the loops."""
        return tuple([0 if length == 1 else index(axis) for axis, length in enumerate(self.shape)])

    @property
    def last_run(self) -> int:
        """The number of the last run, counted from 0; reductions over the axes that stay take place in it."""
        return max(self.phases.values(), default=0)

    @property
    def kept_axes(self) -> tuple[int, ...]:
        """The axes that stay."""
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


@dataclass(eq=False)
class Copy:
    """A value that is stored once more, for the root of this number: a result that is also an argument, or twice a
    result.
    """

    value: Value
    root: int

    def __str__(self) -> str:
        return f"copy {type(self.value.op).__name__} for root {self.root}"


@dataclass(eq=False)
class Pieces:
    """A view of several parts (pad, concatenate), each of which is written by loops of its own."""

    op: Op

    def __str__(self) -> str:
        return f"pieces: {type(self.op).__name__}"


@dataclass(eq=False)
class Scattering:
    """A structured op that writes at places of its own, into its initial value."""

    op: Op

    def __str__(self) -> str:
        return f"scatter: {type(self.op).__name__}"


@dataclass(eq=False)
class Host:
    """An op that runs as a call of Python."""

    op: Op

    def __str__(self) -> str:
        return f"on the host: {type(self.op).__name__}"


Step = Loops | Copy | Pieces | Scattering | Host
