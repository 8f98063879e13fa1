"""Running sums, products, extremes and recurrences in native code, along any axis.

The elements along the axis are combined in order, whatever the threads: these share the rows, or the columns where the
axis is not the last one. Rows are taken a few at a time, since each addition waits for the one before it; columns go
side by side in lanes.

Each way to combine elements of a type is a part of the runtime, which is made for programs that have it. Its functions
are told the places of factors, elements and results, the number of rows in front of the axis, its length, the number
of columns behind it, and whether it goes backwards.

>>> part_of("add", "uint64"), [function.name for function in functions_of_form("add_int64")]
('add_int64', ['run_add_int64', 'accumulate_add_int64'])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import F32, F64, I32, I64, Type
from nervure.transformers.cpu.runtime.call import run_in_chunks
from nervure.transformers.cpu.runtime.native import At, Native, Pointer, Table, Word, greatest, hot, least, native
from nervure.transformers.cpu.runtime.records import RUNNING, CallRecord, Status, StepRecord

ROWS = 4
"""The rows that are taken together."""

COLUMNS = 256
"""The columns that are taken together: their running values stay in the nearest cache."""

LANES = 8


class Form(NamedTuple):
    """A way to combine elements, of a type; integers may be unsigned."""

    name: str
    type: Type
    is_unsigned: bool = False

    def combined(self, before: Register, factor: Register | None, x: Register) -> Register:
        """Emits code for the next running value, in as many lanes as x has."""
        if self.name == "add":
            return before + x
        if self.name == "multiply":
            return before * x
        if factor is not None:
            return factor * before + x
        b, is_maximum = x.builder, self.name == "maximum"
        if self.is_unsigned:
            return b.where(before.below(x) if is_maximum else x.below(before), x, before)
        exceeds = before < x if is_maximum else x < before
        if self.type.is_float:
            exceeds = exceeds | x.is_nan()
        return b.where(exceeds, x, before)


_TYPES = {"float32": F32, "float64": F64, "int32": I32, "int64": I64, "uint64": I64}
_FACTOR, _SOURCE, _TARGET, _OUTER, _LENGTH, _INNER, _REVERSE = range(7)


def form_of(part: str) -> Form:
    """Returns the form that a ``part`` of the runtime is named for."""
    name, kind = part.split("_")
    return Form(name, _TYPES[kind], kind == "uint64")


def part_of(name: str, kind: str) -> str:
    """Returns the part of the runtime for a form of this ``name`` and elements of a ``kind``."""
    return next(part for part in (f"{name}_{kind}", f"{name}_{kind.removeprefix('u')}") if part in RUNNING)


def functions_of_form(part: str) -> list[Native]:
    """Returns the functions of a ``part``: one that a step calls, and one that threads share."""
    form = form_of(part)

    def run(b: Builder, step: At[StepRecord], table: Table, count: Word, call: At[CallRecord],
            status: At[Status]) -> None:
        sizes = Table(step["sizes"], I64)
        outer, inner = sizes[_OUTER], sizes[_INNER]
        by_rows, by_columns = (outer + (ROWS - 1)).quotient(ROWS), outer * (inner + (COLUMNS - 1)).quotient(COLUMNS)
        with b.if_(sizes[_LENGTH] > 0):
            run_in_chunks(b, step, shared.address(b), b.where(inner.equal(1), by_rows, by_columns), sizes, table, call,
                          status)

    def accumulate(b: Builder, buffers: Table, sizes: Pointer, begin: Word, end: Word, scratch: Pointer,
                   status: At[Status]) -> None:
        _accumulate(_Work(b, form, buffers, Table(sizes, I64)), begin, end)
    run.__name__, accumulate.__name__ = f"run_{part}", f"accumulate_{part}"
    shared = hot(accumulate)
    return [native(run), shared]


def _accumulate(work: _Work, begin: Register, end: Register) -> None:
    """Emits code that writes the running values of the groups ``begin`` to ``end`` of rows or columns."""
    b = work.b
    with b.if_(work.inner.equal(1)), b.loop(begin, end) as loop:
        first = loop.index * ROWS
        with b.if_(first + ROWS <= work.outer):
            work.rows([first + number for number in range(ROWS)])
        with b.if_(first + ROWS > work.outer), b.loop(first, work.outer) as single:
            work.rows([single.index])
    with b.if_(work.inner.not_equal(1)), b.loop(begin, end) as loop:
        blocks = greatest(b, (work.inner + (COLUMNS - 1)).quotient(COLUMNS), 1)
        outer = loop.index.quotient(blocks)
        work.columns(outer, (loop.index - outer * blocks) * COLUMNS)


class _Work:
    """The operands of a form, in code that is being built."""

    def __init__(self, b: Builder, form: Form, buffers: Table, sizes: Table) -> None:
        self.b, self.form = b, form
        self.factors, self.source, self.target = [buffers[sizes[place]] for place in (_FACTOR, _SOURCE, _TARGET)]
        self.outer, self.length, self.inner = sizes[_OUTER], sizes[_LENGTH], sizes[_INNER]
        is_reverse = sizes[_REVERSE].not_equal(0)
        self.start = b.where(is_reverse, self.length - 1, 0)
        self.stride = b.where(is_reverse, b.constant(I64, -1), 1)

    def _load(self, source: Register, place: Register, lanes: int = 1) -> Register:
        type = self.form.type
        return self.b.load(self.b.offset(source, place, type), type.vector(lanes), align=type.bits // 8)

    def _store(self, x: Register, place: Register) -> None:
        self.b.store(x, self.b.offset(self.target, place, self.form.type), align=self.form.type.bits // 8)

    def _next(self, before: Register, place: Register, lanes: int = 1) -> Register:
        factor = self._load(self.factors, place, lanes) if self.form.name == "linear" else None
        return self.form.combined(before, factor, self._load(self.source, place, lanes))

    def rows(self, rows: Sequence[Register]) -> None:
        """Emits code for whole rows, side by side."""
        b, firsts = self.b, [row * self.length + self.start for row in rows]
        values = [self._load(self.source, place) for place in firsts]
        for value, place in zip(values, firsts, strict=True):
            self._store(value, place)
        with b.loop(1, self.length, carried=values) as loop:
            distance = loop.index * self.stride
            places = [first + distance for first in firsts]
            found = [self._next(before, place) for before, place in zip(loop.carried, places, strict=True)]
            for value, place in zip(found, places, strict=True):
                self._store(value, place)
            loop.carried = found

    def columns(self, outer: Register, first: Register) -> None:
        """Emits code for some columns, from ``first`` on, of one of the parts in front of the axis."""
        b = self.b
        end = least(b, first + COLUMNS, self.inner)
        whole = first + ((end - first) & -LANES)
        base = (outer * self.length + self.start) * self.inner
        with b.loop(first, end) as loop:
            self._store(self._load(self.source, base + loop.index), base + loop.index)
        step = self.stride * self.inner
        with b.loop(1, self.length) as along:
            here = base + along.index * step
            before = here - step
            for lanes, start, stop in ((LANES, first, whole), (1, whole, end)):
                with b.loop(start, stop, lanes) as loop:
                    value = self._load(self.target, before + loop.index, lanes)
                    self._store(self._next(value, here + loop.index, lanes), here + loop.index)
