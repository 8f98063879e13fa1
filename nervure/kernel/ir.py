"""The loop IR: what a kernel is before it becomes machine code.

A kernel is a nest of loops over flat buffers whose innermost statements are in single assignment. Sizes, strides and
offsets are dimensions (:mod:`nervure.types.dim`): numbers, or expressions over the symbols of the function. The
grammar, which the printer and the verifier follow:

    kernel    ::= "kernel" name "(" buffer* ")" ":" statement*
    buffer    ::= role name ":" dtype "[" dim "]"                       role: in, out, inout, scratch
    statement ::= "for" index "<" dim ["parallel"] ["vector"] ":" statement*
                | variable* "= reduce" combine* "over" (index "<" dim)* ":" statement* "give" scalar*
                | variable* "= fold" "over" (index "<" dim)* ":" statement* "give" scalar*
                      "combine" (variable* "," variable*) ":" statement* "give" scalar*
                | variable "=" function "(" scalar* ")" [dtype]
                | variable "= index" dim
                | variable "=" buffer "[" address "]" ["if" scalar "else" scalar]
                | buffer "[" address "]" [combine] "=" scalar ["if" scalar]
                | "check" scalar "else" number "," scalar
    address   ::= dim ("+" dim "*" index)* ("+" dim "*" scalar)*
    scalar    ::= variable | literal

The meaning, which :mod:`nervure.kernel.interpret` executes:

* A **for** runs its body for each index from 0. *parallel*: the turns are independent, in any order. *vector*: the
  turns may run in lanes; nothing in the body that a turn writes is read by another turn.
* A **reduce** runs its body for each point in row-major order, numbers the points k = 0, 1, ..., and combines the
  given scalars in the one order that depends on their number alone: in blocks of ``BLOCK`` points each lane
  k % ``LANES`` combines its points in order, starting from the unit; the lanes are combined by halves (lane j with lane
  j + 32, then + 16, ... + 1); the blocks are combined in order, starting from the unit. Lanes that have no point hold
  the unit.
* A **fold** combines tuples with statements of its own, in order, starting with the first point; there is at least
  one.
* A **function** is one of the scalar namespace (:mod:`nervure.ops.scalar`); its operands have one type, but for
  ``where``. ``convert``, ``wrap``, ``bitcast`` and ``constant`` carry the type of their result. Functions take no
  low-precision floats (they are converted to float32 and back by statements), but for ``convert``, ``bitcast`` and
  ``where``.
* A load with a condition reads nothing where it is false and gives the scalar after ``else``; a store with a condition
  writes nothing there. A store with *combine* combines with what lies there (``add``, ``multiply``, ``maximum``,
  ``minimum``, ``and``, ``or``).
* **check** reports failure ``number`` with the scalar after it, where its condition is false. A call reports one of
  its failures.

Double every element of x, unless it is negative:

>>> from nervure.types.dtype import bool_, float32
>>> x, y = Buffer("x", float32, 12, "in"), Buffer("y", float32, 12, "out")
>>> element, double, sign = Variable(float32), Variable(float32), Variable(bool_)
>>> here = Address(0, (("%0", 1),))
>>> kernel = Kernel("double", (x, y), (For("%0", 12, (
...     Load(element, x, here),
...     Apply(double, "add", (element, element)),
...     Apply(sign, "less", (Literal(0.0, float32), element)),
...     Store(y, here, double, valid=sign),
... ), parallel=True, vector=True),))
>>> [type(statement).__name__ for statement in kernel.body[0].body]
['Load', 'Apply', 'Apply', 'Store']
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from nervure.types.dim import DimLike
from nervure.types.dtype import DType

LANES = 64
"""The logical lanes of a reduction."""

BLOCK = 4096
"""The points of a block of a reduction, a multiple of LANES."""

COMBINES = ("add", "multiply", "maximum", "minimum", "and", "or")


class Variable:
    """A scalar that one statement defines, in the loop where the statement stands; compared by identity."""

    __slots__ = ("dtype",)

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype

    def __repr__(self) -> str:
        return f"<{self.dtype.short} variable>"


@dataclass(frozen=True, eq=False, slots=True)
class Literal:
    """A number of an element type; equal to another one with the same bits, so that 0.0 is not -0.0."""

    value: bool | int | float | complex
    dtype: DType

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self.dtype is other.dtype and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash((self.dtype, repr(self.value)))


Scalar = Variable | Literal


@dataclass(frozen=True, eq=False, slots=True)
class Buffer:
    """Flat memory of ``size`` elements. ``scratch`` belongs to one thread, for one turn of the parallel loop.

    No two buffers of a kernel overlap, but for an ``in`` and an ``out`` that are one memory: then each element is read
    before it is written, by the turn that writes it.
    """

    name: str
    dtype: DType
    size: DimLike
    role: str


@dataclass(frozen=True, slots=True)
class Address:
    """A place in a buffer, in elements: ``base + sum(step * index) + sum(stride * variable)``.

    ``steps`` are the loop indices that it is affine in. ``base`` is over the function's symbols; where an index
    enters in another way (divided, clamped) it stands in the base.
    """

    base: DimLike
    steps: tuple[tuple[str, DimLike], ...] = ()
    terms: tuple[tuple[DimLike, Scalar], ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class Apply:
    """A function of the scalar namespace."""

    result: Variable
    function: str
    operands: tuple[Scalar, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Index:
    """The value of an expression over loop indices and symbols, int64."""

    result: Variable
    expression: DimLike


@dataclass(frozen=True, eq=False, slots=True)
class Load:
    """An element of a buffer."""

    result: Variable
    buffer: Buffer
    address: Address
    valid: Scalar | None = None
    fill: Scalar | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Store:
    """Writes an element of a buffer."""

    buffer: Buffer
    address: Address
    value: Scalar
    combine: str | None = None
    valid: Scalar | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Check:
    """Reports that something does not hold."""

    condition: Scalar
    failure: int
    value: Scalar


@dataclass(frozen=True, eq=False, slots=True)
class For:
    """A loop."""

    index: str
    extent: DimLike
    body: tuple[Statement, ...]
    parallel: bool = False
    vector: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Reduce:
    """Combines scalars over the points of a domain, in the one order. Outside of a vector loop its innermost
    index is the one that runs in lanes.
    """

    results: tuple[Variable, ...]
    combine: tuple[str, ...]
    indices: tuple[tuple[str, DimLike], ...]
    body: tuple[Statement, ...]
    values: tuple[Scalar, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Fold:
    """Combines tuples of scalars over the points of a domain that is not empty, one after the other.

    ``left`` is what has been combined so far, ``right`` the tuple of the next point, ``combined`` is given by
    ``combine``, which may use variables from outside.
    """

    results: tuple[Variable, ...]
    indices: tuple[tuple[str, DimLike], ...]
    body: tuple[Statement, ...]
    values: tuple[Scalar, ...]
    left: tuple[Variable, ...]
    right: tuple[Variable, ...]
    combine: tuple[Statement, ...]
    combined: tuple[Scalar, ...]


Statement = For | Reduce | Fold | Apply | Index | Load | Store | Check


@dataclass(frozen=True, eq=False, slots=True)
class Kernel:
    """A name, the memory that it touches, and what it does.

    Where the body is one loop its turns may be taken in slices: among threads if it is parallel, else in order.
    ``origins`` are the ops it comes from.
    """

    name: str
    buffers: tuple[Buffer, ...]
    body: tuple[Statement, ...]
    origins: tuple[object, ...] = field(default=())

    @property
    def sliced(self) -> For | None:
        """The loop whose turns may be taken in slices."""
        first = self.body[0] if len(self.body) == 1 else None
        return first if isinstance(first, For) else None

    @property
    def parallel(self) -> For | None:
        """The loop that threads share."""
        return self.sliced if self.sliced is not None and self.sliced.parallel else None


def dims(statement: Statement) -> Iterator[DimLike]:
    """The dimensions that a statement is written with, but for those of the statements inside it."""
    if isinstance(statement, For):
        yield statement.extent
    elif isinstance(statement, (Reduce, Fold)):
        yield from [extent for _, extent in statement.indices]
    elif isinstance(statement, Index):
        yield statement.expression
    elif isinstance(statement, (Load, Store)):
        address = statement.address
        yield address.base
        yield from [step for _, step in address.steps]
        yield from [stride for stride, _ in address.terms]


def walk(statements: tuple[Statement, ...]) -> Iterator[Statement]:
    """All statements, an outer one before those inside it."""
    for statement in statements:
        yield statement
        if isinstance(statement, (For, Reduce, Fold)):
            yield from walk(statement.body)
        if isinstance(statement, Fold):
            yield from walk(statement.combine)
