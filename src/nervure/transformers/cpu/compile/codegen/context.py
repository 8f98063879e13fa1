"""Emission context: loop-invariant code motion and value numbering while code is emitted.

Every value is computed once, in the outermost possible loop. Loops that are being built are numbered by depth: 0 is
the kernel itself. Each has a preheader, a region before it that stays open while its body is built. A value remembers
the depth at which it is known; a value computed from others belongs to the greatest of their depths, which is either
the current one or the preheader of a loop around it. A value computed at a depth, under a key that identifies it, is
found again by all loops inside.

Inside a vector loop the values that depend on its index have as many lanes as iterations run at once; the others have
one lane, which is broadcast when it is combined with them.

>>> from nervure.support.machine import GENERIC
>>> b = Builder("kernel", ARGUMENTS)
>>> context = Context(b, GENERIC, register_lanes=8)
>>> n = context.size(1000)
>>> preheader = Preheader(b.region(), frozenset(), is_certain=False)
>>> with b.loop(0, 8) as loop, context.inside(preheader):
...     k = context.here(Element(int64, (loop.index,)))
...     half = context.compute("half", [n], lambda x: x.shift_right(1))      # before the loop, where n is known
...     place = context.compute("place", [half, k], lambda x, y: x + y)
>>> half.depth, place.depth
(0, 1)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import singledispatch
from typing import NamedTuple

from nervure.errors import InternalError
from nervure.kernel.ir import BLOCK, GROUP, LANES, Buffer, Definition, For, Literal, Scalar, Statement
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.room import Rooms
from nervure.support.lazy import lazy
from nervure.support.machine import Machine
from nervure.transformers.cpu.compile.codegen.element import Element, broadcast, literal
from nervure.transformers.cpu.compile.llvm.builder import Builder, InsertionPoint, Register
from nervure.transformers.cpu.compile.llvm.types import I64, PTR
from nervure.types.dim import DimLike
from nervure.types.dtype import DType, bool_, int64

ARGUMENTS = (("buffers", PTR), ("sizes", PTR), ("begin", I64), ("end", I64), ("scratch", PTR), ("status", PTR))
"""The parameters of a kernel's function."""

ALIGNMENT = 64
"""The alignment in bytes of memory beyond the stack."""

NUMBERS = (-1, 0, 1, 2, 3, 4)
"""The numbers that are part of a kernel's structure, rather than entries of its table of sizes."""

REDUCED = (LANES - 1, LANES, BLOCK - 1, BLOCK, BLOCK * GROUP)
"""The sizes that are part of the structure of a reduction, as are their negatives: powers of two, which processors
shift by.
"""


class SizeTable:
    """The table of sizes of a kernel that is being built: each dimension in it is an entry, in order of first use.

    They are read on entry. So the text of a kernel shows which sizes are equal, not how large they are. Only two kinds
    are numbers in it: -1 to 4, which decide the form of a step through memory, and the lengths of rows that are too
    short for a loop. Functions that take the same table number its ``entries`` together.

    >>> from nervure.types.dim import dim
    >>> b = Builder("example", [("sizes", PTR)])
    >>> sizes = SizeTable(b, b.arguments[0])
    >>> n = dim("N")
    >>> [sizes.register(x).text for x in (n, 7, 1, n)], sizes.table
    (['%v0', '%v2', '1', '%v0'], (N, 7))
    """

    def __init__(self, b: Builder, pointer: Register, reduces: bool = False,
                 entries: dict[DimLike, int] | None = None) -> None:
        self._builder, self._pointer = b, pointer
        self._entries: dict[DimLike, int] = {} if entries is None else entries
        self._numbers = (*NUMBERS, *REDUCED, *[-x for x in REDUCED]) if reduces else NUMBERS
        self.region = b.region()  # the entry block, where sizes are read
        self._registers: dict[DimLike, Register] = {}

    @property
    def table(self) -> tuple[DimLike, ...]:
        """The dimensions that have been asked for, in order."""
        return tuple(self._entries)

    def register(self, x: DimLike) -> Register:
        """Returns a dimension without loop indices as an i64, known on entry."""
        if isinstance(x, int) and x in self._numbers:
            return self._builder.constant(I64, x)
        found = self._registers.get(x)
        if found is None:
            b = self._builder
            with b.at(self.region):
                number = self._entries.setdefault(x, len(self._entries))
                found = b.load(b.offset(self._pointer, number, I64), I64)
            self._registers[x] = found
        return found


class Value(NamedTuple):
    """The value that belongs to a key, and the depth at which it is known."""

    element: Element
    depth: int

    @property
    def register(self) -> Register:
        """The register, of a type that has one."""
        return self.element.register

    @property
    def lanes(self) -> int:
        """The number of lanes if they differ, else 1."""
        return self.element.registers[0].type.lanes


@dataclass(frozen=True, eq=False, slots=True)
class Lanes:
    """A vector index: its name, its value in lane 0, the number of lanes, and which of them have an iteration. None
    stands for all; at least one has.
    """

    index: LoopIndex
    start: Value
    width: int
    mask: Value | None = None


@dataclass(eq=False, slots=True)
class Preheader:
    """The region before a loop, whose code runs only if the loop has an iteration.

    ``stored`` are the buffers that the loop writes, ``is_certain`` says whether it certainly has an iteration,
    ``known`` holds the values computed here.
    """

    region: InsertionPoint | None
    stored: frozenset[Buffer]
    is_certain: bool
    known: dict[Hashable, Value] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class LoopBody:
    """A loop whose body is being built: its preheader, and the values computed in this body."""

    preheader: Preheader
    known: dict[Hashable, Value]


class Context:
    """The state of emitting a kernel."""

    def __init__(self, b: Builder, machine: Machine, register_lanes: int, link: Callable[[str], str] = str,
                 sizes: SizeTable | None = None) -> None:
        self.scratch, self.status = b.arguments[4:]
        self.builder, self.sizes = b, sizes or SizeTable(b, b.arguments[1])
        self.pointers: dict[Buffer, Register] = {}
        self.machine, self.register_lanes = machine, register_lanes
        self.link = link  # gives the symbol of a function of the tile library
        self.depths = [LoopBody(Preheader(None, frozenset(), True), {})]
        self._known: dict[Hashable, Value] = {}  # all that is known at any of these depths
        self.lanes: Lanes | None = None
        self.loops: list[tuple[LoopIndex, DimLike]] = []  # loops around, from the outside in: index and extent
        self.strips: dict[DimLike, LoopIndex] = {}  # the loops that run in strips, by the length of these
        self.inside_strips: dict[LoopIndex, LoopIndex] = {}  # where we are in a strip of a loop
        self.failures: set[int] = set()
        self.rooms = Rooms((), register_lanes)  # what scratch buffers have behind each row
        self.apart: Mapping[For, str] = {}  # loops that are kernels of their own, with their symbols
        self.often: frozenset[str] = frozenset()  # functions that are written once, and called, where they run once

    @lazy
    def spare(self) -> Register:
        """Memory that may always be read."""
        return self.builder.allocate(I64, 8)

    # -- depths ------------------------------------------------------------------------------------------

    @property
    def depth(self) -> int:
        """The depth of the loop whose body is being built."""
        return len(self.depths) - 1

    @contextmanager
    def inside(self, preheader: Preheader) -> Iterator[None]:
        """Opens the body of a loop, or one of several copies of it."""
        body = LoopBody(preheader, {})
        self.depths.append(body)
        self._known.update(preheader.known)
        yield
        self.depths.pop()
        for key in (*preheader.known, *body.known):
            del self._known[key]

    @contextmanager
    def vector(self, lanes: Lanes) -> Iterator[None]:
        """Runs the code built inside in lanes."""
        self.lanes = lanes
        yield
        self.lanes = None

    def at(self, depth: int) -> AbstractContextManager[None]:
        """Puts the code built inside into the body of the loop of this depth."""
        if depth == self.depth:
            return nullcontext()
        region = self.depths[depth + 1].preheader.region
        assert region is not None
        return self.builder.at(region)

    def find(self, key: Hashable) -> Value | None:
        """Returns the value that is known under a key."""
        return self._known.get(key)

    def keep(self, key: Hashable, value: Value) -> Value:
        """Makes a value known under a key, which is known nowhere around, wherever it can be used."""
        known = self.depths[-1].known if value.depth == self.depth else self.depths[value.depth + 1].preheader.known
        assert key not in self._known or key in known, key
        known[key] = self._known[key] = value
        return value

    def keep_index(self, index: LoopIndex, register: Register) -> None:
        """Makes the value of a loop's index known in its body, which is being built."""
        self.keep(("index", index), self.here(Element(int64, (register,))))

    def once(self, key: Hashable, depth: int, make: Callable[[], Element]) -> Value:
        """Returns the value that is known under a ``key``, or that ``make`` builds at a ``depth``."""
        found = self.find(key)
        if found is not None:
            return found
        if depth == self.depth:  # as most are
            return self.keep(key, Value(make(), depth))
        with self.at(depth):
            element = make()
            if element.dtype is bool_ and element.lanes > 1:  # LLVM would repeat the comparison at each use of the mask
                element = element.map(self.builder.opaque)
        return self.keep(key, Value(element, depth))

    def compute(self, key: Hashable, operands: list[Value], make: Callable[..., Register],
                dtype: DType = int64) -> Value:
        """Computes a register from ``operands``, all with equally many lanes, at the depth where the last of them is
        known.
        """
        found = self.find(key)
        if found is not None:
            return found
        depth = max([x.depth for x in operands], default=0)
        lanes = [x.lanes for x in operands]
        if len(set(lanes)) > 1:
            operands = [self.spread(x, max(lanes)) for x in operands]
        return self.once(key, depth, lambda: Element(dtype, (make(*[x.register for x in operands]),)))

    # -- values ------------------------------------------------------------------------------------------

    def scalar(self, x: Scalar) -> Value:
        """Returns the value of a variable or literal."""
        if isinstance(x, Literal):
            return Value(literal(self.builder, x.value, x.dtype), 0)
        found = self.find(x)
        if found is None:
            raise InternalError(f"{x!r} is used before it is defined")
        return found

    def size(self, x: DimLike) -> Value:
        """Returns a dimension without loop indices."""
        return Value(Element(int64, (self.sizes.register(x),)), 0)

    def integer(self, x: int) -> Value:
        """Returns a number as an index."""
        return Value(literal(self.builder, x, int64), 0)

    def spread(self, x: Value, width: int) -> Value:
        """Broadcasts a value of one lane to all lanes."""
        if x.lanes == width:
            return x
        return self.once(("spread", x.element.dtype, *[part.text for part in x.element.registers], width), x.depth,
                         lambda: broadcast(x.element, width))

    def here(self, element: Element) -> Value:
        """Returns an element built in the body of the innermost loop as a value."""
        return Value(element, self.depth)

    # -- lanes -------------------------------------------------------------------------------------------

    @property
    def width(self) -> int:
        """The number of lanes of the vector index, 1 without one."""
        return self.lanes.width if self.lanes is not None else 1


@singledispatch
def emit_statement(statement: Statement, context: Context) -> None:
    """Emits a statement. Each kind is registered in the module with its code; statements inside it are emitted by this
    function again.
    """
    raise InternalError(f"there is no code for {statement!r:.80}")


def emit(context: Context, statements: Iterable[Statement]) -> None:
    """Emits statements in order, except those whose variable is already known outside."""
    for statement in statements:
        if not isinstance(statement, Definition) or context.find(statement.result) is None:
            emit_statement(statement, context)
