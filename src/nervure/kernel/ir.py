"""The loop IR: the form of a kernel before it becomes machine code.

A kernel is a nest of loops over flat buffers whose innermost statements are in single assignment. Sizes, strides and
offsets are dimensions (:mod:`nervure.types.dim`): numbers, or expressions over the symbols of the function. The
grammar, which the printer, the parser and the verifier follow:

    kernel    ::= "kernel" name "(" buffer* ")" ":" symbol* statement*
    buffer    ::= role name ":" dtype "[" dim "]"                       role: in, out, inout, scratch, private
    symbol    ::= "symbol" name [":" [number] ".." [number]]
    statement ::= "for" index "<" dim [strip] ["parallel"] ["vector"] [widths | tile | "as" routine] ":" statement*
                | variable* "= reduce" combine* ["from" scalar*] "over" (index "<" dim)* [order] [how] ":"
                      statement* "give" scalar*
                | variable* "= fold" "over" (index "<" dim)* ":" statement* "give" scalar*
                      "combine" (variable* "," variable*) ":" statement* "give" scalar*
                | variable "= contract over" (index "<" dim)* ":" statement* "give" scalar "," scalar
                | variable "=" function "(" scalar* ")" [dtype]
                | variable "= index" dim
                | variable "=" buffer "[" address "]" ["if" scalar "else" scalar]
                | buffer "[" address "]" [combine] "=" scalar ["if" scalar] ["streaming" dim]
                | buffer "[" address "]" "=" scalar "," scalar ["streaming" dim]
                | "prefetch" buffer "[" address "]"
                | "check" scalar "else" number "," scalar
    routine   ::= "product" | "transpose" | "offsets"
    widths    ::= ["lanes" number*] ["masked" number] ["unrolled"]
    tile      ::= "tile" number "lanes" number*
    strip     ::= "by" index "<=" number
    order     ::= "order" number "," number ["," number]
    how       ::= "as" strategy number
    address   ::= dim ("+" dim "*" index)* ("+" dim "*" scalar)*
    scalar    ::= variable | literal

The meaning, which :mod:`nervure.kernel.interpret` executes:

* A **for** runs its body for each index from 0. *parallel*: the iterations are independent, in any order. *vector*:
  the iterations may run in lanes; nothing in the body that an iteration writes is read by another one. *lanes*, *tile*,
  and *as* of a reduction set how many run at once, and change no bit. With a *strip* the body runs once for several
  iterations that follow each other: the first index is the first of them, the other one their number, from 1 to the
  one given. All strips but the last are full, unless threads share the loop.
* A **reduce** runs its body for each point in row-major order, numbers the points k = 0, 1, ..., and combines the
  given scalars in an order that depends on their number alone. The numbers of *order* are lanes, the points of a block
  and the blocks of a group. In each block lane k % lanes combines its points in order, starting from the unit; the
  lanes are combined by halves (of 64, lane j with lane j + 32, then + 16, ... + 1). Eight groups make a larger one,
  eight of those a still larger one, and so on; the totals in a group are combined in order, starting from the unit; at
  the end each group that is not full joins the larger one, the smallest first. Lanes without a point hold the unit. In
  groups of one block there is one block at most, whose lanes make the result; a single lane of such a block may start
  *from* scalars in place of units. The default order is that of 64 lanes in blocks of 4,096 and groups of 64 blocks. So
  the sum of up to 2**18 points has no more than one group, and that of n points is at most 70 + 64 + 3 log2 n additions
  deep; :mod:`nervure.kernel.groups` has the groups by themselves.
* A **fold** combines tuples with statements of its own, in order, starting with the first point; there is at least
  one.
* A **contract** is a sum of products. It runs its body for each point in row-major order, numbers the points, and adds
  up in blocks of ``CONTRACT_BLOCK`` points: a block's sum starts from 0 (of floats +0) and becomes ``fma(x, y, sum)``
  with the scalars x and y of each point in order. ``CONTRACT_GROUP`` blocks are a group. The total of the first group
  starts from its first block's sum, that of any other group from 0; the sums of the remaining blocks are added to it in
  order. The result starts from the first group's total, to which the others are added in order. The points of a
  convolution are numbered window position by window position, with the channels of each innermost; those of its
  gradient for filters image by image, with the places of each.
* A **function** is one of the scalar namespace (:mod:`nervure.ops.scalar`); its operands have one type, but for
  ``where``. ``convert``, ``wrap``, ``bitcast`` and ``constant`` carry the type of their result. Functions take no
  low-precision floats (they are converted to float32 and back by statements), but for ``convert``, ``bitcast`` and
  ``where``.
* A load with a condition reads nothing if that is false and gives the scalar after ``else``; a store with a condition
  writes nothing then. A store with *combine* combines with the element there (``add``, ``multiply``, ``maximum``,
  ``minimum``, ``and``, ``or``). A store of several scalars writes one behind the other. *streaming* changes the way
  of storing, not the value: past the caches, if the dimension is not 0.
* A **private** buffer belongs to one iteration of the vector loop around its uses, or one point of a reduction in
  lanes, and all lanes use the same place of it. In machine code each of its elements is a vector.
* **prefetch** has no effect, so that it may name a place outside of the buffer: machine code asks for the lines of
  memory that as many lanes as run at once will touch, from there on.
* **check** reports failure ``number`` with the scalar after it, if its condition is false. A call reports one of
  its failures.

Double every element of x, unless it is negative:

>>> from nervure.types.dtype import bool_, float32
>>> x, y = Buffer("x", float32, 12, "in"), Buffer("y", float32, 12, "out")
>>> element, double, sign = Variable(float32), Variable(float32), Variable(bool_)
>>> i = LoopIndex(0)
>>> here = Address(0, ((i, 1),))
>>> kernel = Kernel("double", (x, y), (For(i, 12, (
...     Load(element, x, here),
...     Apply(double, "add", (element, element)),
...     Apply(sign, "less", (Literal(0.0, float32), element)),
...     Store(y, here, double, valid=sign),
... ), parallel=True, vector=True),))
>>> [type(statement).__name__ for statement in kernel.body[0].body]
['Load', 'Apply', 'Apply', 'Store']
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

from nervure.ir.kinds import LANES as LANES
from nervure.kernel.loop_index import Indices, LoopIndex, substitute_indices
from nervure.kernel.operands import Address as Address
from nervure.kernel.operands import Buffer as Buffer
from nervure.kernel.operands import Literal as Literal
from nervure.kernel.operands import Scalar as Scalar
from nervure.kernel.operands import Variable as Variable
from nervure.kernel.operands import is_structural as is_structural
from nervure.support.replacing import replace
from nervure.types.dim import Dim, DimLike

BLOCK = 4096
"""The points of a block of a reduction."""

GROUP = 64
"""The blocks of a group, whose totals are combined in order."""

GROUPS = 8
"""The groups of a larger group. A chain of as many sums as 64 would lose more accuracy than the documents promise
(claim O45).
"""

CONTRACT_BLOCK = 512
"""The points of a block of a contraction."""

CONTRACT_GROUP = 512
"""The blocks of a group of a contraction."""

COMBINERS = ("add", "multiply", "maximum", "minimum", "and", "or")

# -- statements ----------------------------------------------------------------------------------------------


class Statement:
    """An element of a kernel's body.

    Each kind names its fields that hold the variables it defines, the scalars it reads, its own dimensions, and its
    bodies. So a walk or a rewrite need not know the kinds. Methods that change a statement return a new one.
    """

    __slots__ = ()
    RESULTS: ClassVar[tuple[str, ...]] = ()
    ARGUMENTS: ClassVar[tuple[str, ...]] = ()
    OPERANDS: ClassVar[tuple[str, ...]] = ()
    DIMS: ClassVar[tuple[str, ...]] = ()
    BODIES: ClassVar[tuple[str, ...]] = ()

    @property
    def results(self) -> tuple[Variable, ...]:
        """The variables that it defines for the statements after it."""
        return tuple([getattr(self, name) for name in self.RESULTS])

    @property
    def arguments(self) -> tuple[Variable, ...]:
        """The variables that it defines for its bodies."""
        return tuple([variable for name in self.ARGUMENTS for variable in getattr(self, name)])

    @property
    def operands(self) -> tuple[Scalar, ...]:
        """The scalars that it reads itself, without those that its bodies read."""
        return tuple([scalar for name in self.OPERANDS for scalar in _scalars(getattr(self, name))])

    @property
    def dims(self) -> tuple[DimLike, ...]:
        """The dimensions that occur in the statement itself."""
        return tuple([x for name in self.DIMS for x in _dims(getattr(self, name))])

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The statements inside it."""
        return tuple([getattr(self, name) for name in self.BODIES])

    def mentions(self, index: LoopIndex) -> bool:
        """Whether a loop index occurs in the statement itself."""
        return any([_mentions(getattr(self, name), index) for name in self.DIMS])

    def replace_operands(self, table: Mapping[Variable, Scalar]) -> Self:
        """Returns the statement with other scalars for some variables that it reads, its bodies as they are."""
        return self._map(self.OPERANDS, lambda x: _replaced(x, table)) if table else self

    def replace_results(self, table: Mapping[Variable, Variable]) -> Self:
        """Returns the statement with other variables for some that it defines, its bodies as they are."""
        return self._map((*self.RESULTS, *self.ARGUMENTS), lambda x: _replaced(x, table))

    def substitute(self, indices: Mapping[LoopIndex, DimLike]) -> Self:
        """Returns the statement, and everything inside it, with expressions in place of some indices of the loops
        around it.
        """
        return self._map((*self.DIMS, *self.BODIES), lambda x: _substituted(x, indices))

    def map_bodies(self, change: Callable[[Body], Body]) -> Self:
        """Returns the statement with ``change`` applied to each of its bodies."""
        return self._map(self.BODIES, change)

    def _map(self, names: tuple[str, ...], change: Callable[[Any], Any]) -> Self:
        """Returns the statement with ``change`` applied to some fields; itself if none changes."""
        fields = {}
        for name in names:
            old = getattr(self, name)
            new = change(old)
            if new is not old:
                fields[name] = new
        return replace(self, **fields) if fields else self


Body = tuple[Statement, ...]


class Simple(Statement):
    """A statement without others inside it."""

    __slots__ = ()


class Definition(Simple):
    """A statement that does nothing but define a variable."""

    __slots__ = ()
    RESULTS = ("result",)
    result: Variable


class Access(Simple):
    """A statement that reads or writes one element of a buffer, or a few."""

    __slots__ = ()
    DIMS: ClassVar[tuple[str, ...]] = ("address",)
    buffer: Buffer
    address: Address
    valid: Scalar | None

    @property
    def addresses(self) -> tuple[Address, ...]:
        """The addresses of the elements that it touches."""
        return (self.address,)

    def at(self, address: Address) -> Self:
        """Returns the same access at another address."""
        return self if address is self.address else replace(self, address=address)


class Write(Access):
    """A statement that writes one element of a buffer, or a few; past the caches if ``streaming`` is not 0."""

    __slots__ = ()
    DIMS: ClassVar[tuple[str, ...]] = ("address", "streaming")
    streaming: DimLike


class Loop(Statement):
    """A statement that runs a body at each point of a domain."""

    __slots__ = ()
    body: Body

    @property
    def indices(self) -> Indices:
        """Its indices from the outside in, each with its extent."""
        raise NotImplementedError

    @property
    def in_lanes(self) -> bool:
        """Whether its innermost index certainly runs in lanes, unless a loop around it does."""
        return False


@dataclass(frozen=True, eq=False, slots=True)
class Apply(Definition):
    """A function of the scalar namespace."""

    OPERANDS = ("operands",)
    result: Variable
    function: str
    operands: tuple[Scalar, ...] = field()  # declared again, since an inherited property is no default


@dataclass(frozen=True, eq=False, slots=True)
class Index(Definition):
    """The value of an expression over loop indices and symbols, int64."""

    DIMS = ("expression",)
    result: Variable
    expression: DimLike


@dataclass(frozen=True, eq=False, slots=True)
class Load(Definition, Access):
    """An element of a buffer."""

    OPERANDS = ("address", "valid", "fill")
    result: Variable
    buffer: Buffer
    address: Address
    valid: Scalar | None = None
    fill: Scalar | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Store(Write):
    """Writes an element of a buffer."""

    OPERANDS = ("address", "value", "valid")
    buffer: Buffer
    address: Address
    value: Scalar
    combine: str | None = None
    valid: Scalar | None = None
    streaming: DimLike = 0


@dataclass(frozen=True, eq=False, slots=True)
class InterleavedStore(Write):
    """Writes several adjacent elements."""

    OPERANDS = ("address", "values")
    buffer: Buffer
    address: Address
    values: tuple[Scalar, ...]
    streaming: DimLike = 0

    @property
    def valid(self) -> None:  # type: ignore[override]  # it has no condition
        return None

    @property
    def addresses(self) -> tuple[Address, ...]:
        return tuple([replace(self.address, base=self.address.base + place) for place in range(len(self.values))])


@dataclass(frozen=True, eq=False, slots=True)
class Prefetch(Simple):
    """Asks for an element of a buffer ahead of time. It is no access, since it may be outside of the buffer."""

    OPERANDS, DIMS = ("address",), ("address",)
    buffer: Buffer
    address: Address


@dataclass(frozen=True, eq=False, slots=True)
class Check(Simple):
    """Reports that a condition does not hold."""

    OPERANDS = ("condition", "value")
    condition: Scalar
    failure: int
    value: Scalar


class Widths(NamedTuple):
    """The numbers of iterations of a vector loop that run at once. ``full`` are those of loops of full vectors, one
    after the other; ``masked`` is that of a last vector, whose lanes may lack an iteration, or 0 if there is none.
    """

    full: tuple[int, ...]
    masked: int = 0


class Tiling(NamedTuple):
    """The tiling of a vector loop around reductions: the columns of a tile, and the lanes of each part of the body.
    Parts are its reductions, its loops, and the statements between them.
    """

    columns: int
    lanes: tuple[int, ...]


class Strip(NamedTuple):
    """Iterations of a loop that are run together: the index that stands for their number, and the most that there are.
    """

    length: LoopIndex
    most: int


@dataclass(frozen=True, eq=False, slots=True)
class For(Loop):
    """A loop. Its form may be set by ``widths`` (``unrolled``: without a loop) or ``tile``. A loop that is a matrix
    product, a transpose or the filling of tables (:mod:`nervure.kernel.routines`) may be marked as such a ``routine``.
    """

    DIMS, BODIES = ("extent",), ("body",)
    index: LoopIndex
    extent: DimLike
    body: Body
    parallel: bool = False
    vector: bool = False
    widths: Widths | None = None
    unrolled: bool = False
    tile: Tiling | None = None
    routine: str | None = None
    strip: Strip | None = None

    @property
    def in_lanes(self) -> bool:
        return self.vector

    @property
    def indices(self) -> Indices:
        own = (self.index, self.extent)
        return (own,) if self.strip is None else (own, (self.strip.length, self.strip.most + 1))


STRATEGIES = ("unrolled", "stages", "vector", "registers", "parts", "memory", "chain")


class Order(NamedTuple):
    """The order in which a reduction combines its points. It has lanes, a power of two; blocks of points, a multiple
    of the lanes; and groups of blocks. In groups of one block there is one block at most, and no group.
    """

    lanes: int
    block: int
    group: int = GROUP


DEFAULT_ORDER = Order(LANES, BLOCK)

BLOCK_ORDER = Order(LANES, BLOCK, 1)
"""The order for a block by itself."""

CHAIN_ORDER = Order(1, BLOCK, 1)
"""The order for the points of one lane of a block."""

TOTALS_ORDER = Order(1, GROUP, GROUPS)
"""The order for the totals of blocks by themselves."""


class Strategy(NamedTuple):
    """The way in which a reduction is computed, and the number of points at once.

    ``unrolled``: one point after the other, without a loop. ``stages``: the same for more points in a vector loop, with
    a part of the tree combined as they are read. ``vector``: each point in a lane of its own, without a loop.
    ``registers``: 64 points at once, with accumulators in registers. ``parts``: the same for a long body or several
    indices, in parts whose values wait in memory, or in rows. ``memory``: one point after the other in a vector loop,
    with the accumulators of each lane in memory. ``chain``: in an order of one lane, one point after the other.
    """

    name: str
    lanes: int = 1


@dataclass(frozen=True, eq=False, slots=True)
class Reduce(Loop):
    """Combines scalars over the points of a domain, in an order. Outside of a vector loop, its innermost index runs in
    lanes. ``strategy`` is the way it is computed, once that is settled. In the order of one lane of a block it may
    begin with the scalars ``start`` in place of units.
    """

    RESULTS, OPERANDS, DIMS, BODIES = ("results",), ("start", "values"), ("indices",), ("body",)
    results: tuple[Variable, ...] = field()
    combine: tuple[str, ...]
    indices: Indices = field()
    body: Body
    values: tuple[Scalar, ...]
    strategy: Strategy | None = None
    order: Order = DEFAULT_ORDER
    start: tuple[Scalar, ...] = ()

    @property
    def in_lanes(self) -> bool:
        return self.strategy is not None and self.strategy.name in ("vector", "registers", "parts")


@dataclass(frozen=True, eq=False, slots=True)
class Fold(Loop):
    """Combines tuples of scalars over the points of a domain that is not empty, one after the other.

    ``left`` is the combination so far, ``right`` the tuple of the next point, and the statements ``combine`` compute
    ``combined``; they may use variables from outside.
    """

    RESULTS, ARGUMENTS, OPERANDS = ("results",), ("left", "right"), ("values", "combined")
    DIMS, BODIES = ("indices",), ("body", "combine")
    results: tuple[Variable, ...] = field()
    indices: Indices = field()
    body: Body
    values: tuple[Scalar, ...]
    left: tuple[Variable, ...]
    right: tuple[Variable, ...]
    combine: Body
    combined: tuple[Scalar, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Contract(Loop):
    """Adds up products of two scalars over the points of a domain, in the order of contractions."""

    RESULTS, OPERANDS, DIMS, BODIES = ("result",), ("left", "right"), ("indices",), ("body",)
    result: Variable
    indices: Indices = field()
    body: Body
    left: Scalar
    right: Scalar


# -- contents of fields ------------------------------------------------------------------------------------------


def _scalars(x: Any) -> tuple[Scalar, ...]:
    if isinstance(x, Address):
        return x.operands
    return x if isinstance(x, tuple) else () if x is None else (x,)


def _dims(x: Any) -> tuple[DimLike, ...]:
    if isinstance(x, Address):
        return x.dims
    return tuple([extent for _, extent in x]) if isinstance(x, tuple) else (x,)


def _mentions(x: Any, index: LoopIndex) -> bool:
    return x.mentions(index) if isinstance(x, Address) else any([index.occurs_in(entry) for entry in _dims(x)])


def _replaced(x: Any, table: Mapping[Variable, Any]) -> Any:
    if isinstance(x, Variable):
        return table.get(x, x)
    if isinstance(x, tuple):
        return _mapped(x, lambda entry: _replaced(entry, table))
    return x.replace_operands(table) if isinstance(x, Address) else x


def _substituted(x: Any, indices: Mapping[LoopIndex, DimLike]) -> Any:
    if isinstance(x, Dim):
        return substitute_indices(x, indices)
    if isinstance(x, tuple):
        return _mapped(x, lambda entry: _substituted(entry, indices))
    return x.substitute(indices) if isinstance(x, Address | Statement) else x


def _mapped(x: tuple[Any, ...], change: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Applies ``change`` to the entries of a tuple; returns the tuple itself if none changes."""
    made = tuple([change(entry) for entry in x])
    return made if any([new is not old for new, old in zip(made, x, strict=True)]) else x


# -- kernels -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class Kernel:
    """A name, the memory that the kernel touches, and its statements.

    If the body is one loop its iterations may be taken in slices: among threads if it is parallel, else in order.
    ``origins`` are the ops it comes from.
    """

    name: str
    buffers: tuple[Buffer, ...]
    body: Body
    origins: tuple[object, ...] = field(default=())

    @property
    def sliced(self) -> For | None:
        """The loop whose iterations may be taken in slices."""
        first = self.body[0] if len(self.body) == 1 else None
        return first if isinstance(first, For) else None

    @property
    def parallel(self) -> For | None:
        """The loop that threads share."""
        return self.sliced if self.sliced is not None and self.sliced.parallel else None


def walk(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Yields all statements, an outer one before those inside it."""
    waiting = list(statements)[::-1]
    while waiting:
        statement = waiting.pop()
        yield statement
        for name in reversed(statement.BODIES):
            waiting += getattr(statement, name)[::-1]


def used(statements: Iterable[Statement]) -> list[Variable]:
    """Returns the variables that statements read, at any depth."""
    return [x for statement in walk(statements) for x in statement.operands if isinstance(x, Variable)]


def substituted(body: Iterable[Statement], indices: Mapping[LoopIndex, DimLike]) -> Body:
    """Returns a body with expressions in place of some indices of the loops around it."""
    return tuple([statement.substitute(indices) for statement in body])


def dimensions_in(kernel: Kernel) -> Iterator[DimLike]:
    """Yields the dimensions of a kernel's buffers and statements."""
    yield from [buffer.size for buffer in kernel.buffers]
    for statement in walk(kernel.body):
        yield from statement.dims
