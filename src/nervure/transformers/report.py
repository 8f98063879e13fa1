"""Compilation reports as data: the steps of an executable, their inputs, outputs and reasons, and its memory plan.

Every field is text, a number or a tuple of these. Bytes of symbolic shapes are numbers if the symbols have values,
else expressions.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2, nv.dim("N")))
>>> function = nv.Function([nv.ops.Add(x, x)], [x])
>>> step, = ops_as_steps(function, {"N": 3})
>>> step.name, step.reads[0].bytes, step.bytes
('Add', 24, 48)
>>> ops_as_steps(function, None)[0].reads[0].bytes
'8*N'
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from nervure.errors import NotSupported
from nervure.ir.function import Function
from nervure.ir.identity import Uncopyable
from nervure.ir.kinds import Structured, View
from nervure.ir.leaves import Constant, Parameter, ReadVariable
from nervure.ir.op import Op, Value
from nervure.ir.whole_op import found_lengths
from nervure.transformers.binding import Bindings
from nervure.transformers.memory_estimate import is_step
from nervure.types.dim import DimLike, evaluate, product

Count = int | str
"""A number, or an expression over symbols without values."""


@dataclass(frozen=True)
class OpReport:
    """An op in its user's terms: class, name, type, scope, file and line.

    ``apart`` says why it is not in the kernel that makes the last of its operands. ``points`` are the points that it
    visits; ``is_derivative`` says whether it belongs to the backward part.
    """

    op: str
    name: str | None
    type: str
    scope: str
    file: str | None
    line: int | None
    apart: str | None = None
    points: Count = 0
    is_derivative: bool = False


@dataclass(frozen=True)
class StorageReport:
    """Memory: an argument, a constant, a variable, a result, an update (the new value of a variable) or a temporary.

    ``reasons`` say why a value that a step makes is in memory. ``storage`` tells memory of one kind and name from
    other memory: in one report, places of one number are the same memory. An update ``is_in_place`` if it lies where
    its variable does.
    """

    kind: str
    name: str
    type: str
    bytes: Count
    reasons: tuple[str, ...] = ()
    storage: int = 0
    is_in_place: bool = False


@dataclass(frozen=True)
class Temporary:
    """Memory for the time of a call, from one step to another, at an offset (None if sizes are not known)."""

    name: str
    type: str
    bytes: Count
    first: int
    last: int
    offset: int | None


@dataclass(frozen=True)
class StepReport:
    """A kernel, a branch or a loop (``region``), a step that runs in Python (``host``), or an op by itself.

    ``bytes`` are those to be read and written, ``operations`` those on elements (an addition is 1, a function such as
    exp 16), both None if sizes are not known; ``width`` is that of the widest type for arithmetic. Seconds are
    estimated for one core, and the median of several runs. ``notes`` describe the blocks of a matrix product, and
    what a region runs.
    """

    number: int
    kind: str
    name: str
    ops: tuple[OpReport, ...]
    reads: tuple[StorageReport, ...]
    writes: tuple[StorageReport, ...]
    bytes: int | None = None
    operations: int | None = None
    width: int = 4
    estimated_seconds: float | None = None
    seconds: float | None = None
    notes: tuple[str, ...] = ()
    texts: Mapping[str, Callable[[], str]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def main(self) -> OpReport | None:
        """The op that visits the most points, the last of several, by which summaries name the step."""
        if not self.ops:
            return None
        known = [line.points if isinstance(line.points, int) else 0 for line in self.ops]
        return self.ops[max(range(len(known)), key=lambda at: (known[at], at))]

    @property
    def text(self) -> str:
        """The loops of a kernel, in the loop IR."""
        return self._text("loops")

    @property
    def llvm(self) -> str:
        """The text that LLVM received."""
        return self._text("llvm")

    @property
    def assembly(self) -> str:
        """The assembly that LLVM generated."""
        return self._text("assembly")

    def _text(self, form: str) -> str:
        if form not in self.texts:
            raise NotSupported(f"step {self.number} has no {form}", op="explain", operand=self.name, got=self.kind,
                               expected="a kernel", help="explanation.kernels are the steps that are native code")
        return self.texts[form]()


@dataclass(frozen=True)
class PanelReport:
    """Memory kept between calls: it is derived from one version of a variable, or from a constant (``source`` is
    None). ``runs`` counts how often it was made for all its users.
    """

    name: str
    type: str
    source: str | None
    bytes: Count
    runs: int


class MadeAgain(NamedTuple):
    """A value that is made again rather than kept, by its type and op.

    It takes no ``bytes`` meanwhile; making it is estimated to take ``nanoseconds``.
    """

    name: str
    bytes: int
    nanoseconds: int


@dataclass(frozen=True)
class PlaceReport:
    """A tensor on a mesh: its ``split`` names the axes of the mesh for each dimension; ``bytes`` are those on one
    device.
    """

    kind: str
    name: str
    type: str
    split: str
    bytes: int


@dataclass(frozen=True)
class Exchange:
    """The collective operations of one ``kind`` between devices: their ``count``, and the bytes of their results on
    one device.
    """

    kind: str
    count: int
    bytes: int


@dataclass(frozen=True)
class CompilationReport(Uncopyable):
    """The steps of an executable in order, and its memory.

    ``apart_bytes`` is the memory that temporaries would take without sharing, ``together_bytes`` the block that they
    share, ``inside_bytes`` what branches, loops and sorts take beside it; ``in_place`` names the variables that are
    updated in place; ``panels`` are kept between calls; ``made_again`` are the values that a limit of memory does not
    let it keep.
    On a mesh ``places`` say where tensors lie, and ``exchanges`` what its devices send each other.
    """

    name: str
    transformer: str
    bindings: tuple[tuple[str, int], ...]
    steps: tuple[StepReport, ...]
    temporaries: tuple[Temporary, ...] = ()
    apart_bytes: Count = 0
    together_bytes: int | None = 0
    inside_bytes: Count = 0
    in_place: tuple[str, ...] = ()
    panels: tuple[PanelReport, ...] = ()
    made_again: tuple[MadeAgain, ...] = ()
    places: tuple[PlaceReport, ...] = ()
    exchanges: tuple[Exchange, ...] = ()


class Limits(NamedTuple):
    """The limits of this machine, measured with ``threads`` threads; operations are on float32."""

    threads: int
    bytes_per_second: float
    operations_per_second: float


RESOLUTION = 1e-9
"""The seconds that a time has at least: of what takes no longer, no rates are known."""


class Times(NamedTuple):
    """The median seconds of each step and of all together; and the machine's limits, if they are known."""

    steps: tuple[float, ...]
    together: float
    limits: Limits | None = None


def ops_as_steps(function: Function, bindings: Bindings | None) -> list[StepReport]:
    """Returns the steps of a function whose ops run one after the other."""
    lengths = found_lengths(function.effects)
    ops = [op for op in function.operations if is_step(op, lengths)]
    held = [_holder(value) for op in function.operations for value in op.outputs]
    storages = {holder: number for number, holder in enumerate(dict.fromkeys(held))}
    return [_op_step(number, op, bindings, storages) for number, op in enumerate(ops)]


def _op_step(number: int, op: Op, bindings: Bindings | None, storages: Mapping[object, int]) -> StepReport:
    reads = [place_of(value, bindings, storages[_holder(value)]) for value in dict.fromkeys(op.operands)]
    writes = [place_of(value, bindings, storages[_holder(value)]) for value in op.outputs]
    moved = None if isinstance(op, View) else total([*reads, *writes])
    lines = (line_of(op, bindings=bindings),)
    return StepReport(number, "op", type(op).__name__, lines, tuple(reads), tuple(writes), moved)


def _holder(value: Value) -> object:
    """Returns the owner of a value's memory: its variable, or the value itself."""
    return value.op.variable if isinstance(value.op, ReadVariable) else value


def place_of(value: Value, bindings: Bindings | None, storage: int) -> StorageReport:
    """Returns the memory of a ``value`` by itself; ``storage`` is the number of the value in its function."""
    op = value.op
    kind = "argument" if isinstance(op, Parameter) else "variable" if isinstance(op, ReadVariable) else \
        "constant" if isinstance(op, Constant) else "temporary"
    name = op.variable.name if isinstance(op, ReadVariable) else op.name
    size = count(value.type.nbytes, bindings)
    return StorageReport(kind, name or type(op).__name__, value.type.describe(value.labels), size, storage=storage)


def line_of(op: Op, apart: str | None = None, bindings: Bindings | None = None) -> OpReport:
    """Returns an op in a user's terms."""
    types = ", ".join([value.type.describe(value.labels) for value in op.outputs])
    location = op.location
    file, line = (None, None) if location is None else (str(location.file), int(location.line))
    origin = op.provenance
    return OpReport(type(op).__name__, op.name, types, origin.scope, file, line, apart, count(_points(op), bindings),
                    origin.is_derivative)


def _points(op: Op) -> DimLike:
    """Returns the points that an op visits: those of its domain, else the elements of its result."""
    if isinstance(op, Structured):
        return product(op.structure(*[operand.type for operand in op.operands]).domain)
    return product(op.outputs[0].shape) if op.outputs else 0


def count(number: DimLike, bindings: Bindings | None) -> Count:
    """Returns a number of a symbolic shape."""
    if isinstance(number, int):
        return number
    return str(number) if bindings is None else evaluate(number, bindings)


def total(places: Sequence[StorageReport | Temporary]) -> int | None:
    """Returns the bytes of several places; None if one is not known."""
    known = [place.bytes for place in places if isinstance(place.bytes, int)]
    return sum(known) if len(known) == len(places) else None


def table(rows: Sequence[tuple[str, ...]], indent: str = "", right: Collection[int] = ()) -> str:
    """Aligns rows in columns, with the columns in ``right``, of numbers, at their right edge; no line ends with a
    space.

    >>> print(table([("name", "bytes"), ("w", "12")], right=[1]))
    name  bytes
    w        12
    """
    widths = [max([len(cell) for cell in column]) for column in zip(*rows, strict=True)]
    padded = [[cell.rjust(width) if at in right else cell.ljust(width)
               for at, (cell, width) in enumerate(zip(row, widths, strict=True))] for row in rows]
    return "\n".join([(indent + "  ".join(cells)).rstrip() for cells in padded])
