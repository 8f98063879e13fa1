"""Routines: nests of loops that a backend may have as ready-made functions. A mark names one; it changes no bit.

A *product* is a loop over rows, around one over columns, around a contraction of two elements whose result is stored:
floats, or bytes that are widened to int32. A *transpose* is a loop over rows, around one over columns, that copies
contiguous columns to rows with contiguous elements. The operands of a product may lie anywhere: then four tables hold
the offsets of each row of the left one, of each k of it, of each k of the right one, and of each row of the result.
*Offsets* are up to three loops, inside each other, that fill such tables with affine expressions of their indices.

>>> from nervure.kernel.parser import parse_kernel
>>> kernel = parse_kernel('''
... kernel product(in x: f32[60], in y: f32[48], out z: f32[20]):
...   for i < 5 as product:
...     for j < 4 vector:
...       v0 = contract over k < 12:
...         v1 = x[12*i + k]
...         v2 = y[j + 4*k]
...         give v1, v2
...       z[4*i + j] = v0
... ''')
>>> product = product_of(kernel.body[0])
>>> product.left.buffer.name, product.row_step(product.left), product.point_step(product.right)
('x', 12, 4)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from nervure.kernel.ir import (
    CONTRACT_BLOCK,
    Access,
    Address,
    Apply,
    Body,
    Buffer,
    Contract,
    For,
    Index,
    Load,
    Scalar,
    Statement,
    Store,
    Variable,
)
from nervure.kernel.loop_index import LoopIndex
from nervure.support.machine import Machine
from nervure.support.replacing import replace
from nervure.types.dim import DimLike, affine, highest, index_symbols, symbols
from nervure.types.dtype import DType, float32, float64, int8, int32, int64, uint8

FEW_ROWS = 8
"""The most rows of a product whose right operand may lie across memory."""

DEEPEST_OFFSETS = 3
"""The most loops that fill tables as one routine."""

ROUTINES = ("product", "transpose", "offsets")

TYPES: tuple[DType, ...] = (float32, float64)
"""The element types that routines exist for."""

BYTES: tuple[DType, ...] = (uint8, int8)
"""The types of bytes that products add up in int32, and that transposes exist for."""


class Tables(NamedTuple):
    """Loads from the offset tables: rows of the left operand, its k, the k of the right operand, rows of the result."""

    rows: Load
    left: Load
    right: Load
    results: Load


class Product(NamedTuple):
    """The parts of a matrix product. With ``tables``, its operands and its result have no strides from row to row or
    from point to point.
    """

    row: LoopIndex
    rows: DimLike
    column: LoopIndex
    columns: DimLike
    point: LoopIndex
    points: DimLike
    left: Load
    right: Load
    store: Store
    tables: Tables | None = None

    @property
    def types(self) -> tuple[DType, ...]:
        """The types of its operands, if they are bytes, else the one type of all."""
        return (self.left.result.dtype, self.right.result.dtype) if self.is_of_bytes else (self.store.buffer.dtype,)

    @property
    def is_of_bytes(self) -> bool:
        """Whether its operands are bytes."""
        return self.left.result.dtype in BYTES

    def row_step(self, access: Access) -> DimLike:
        """Returns the distance of an access from row to row."""
        return access.address.step(self.row)

    def point_step(self, access: Access) -> DimLike:
        """Returns the distance of an access from point to point."""
        return access.address.step(self.point)

    @property
    def is_across(self) -> bool:
        """Whether the columns of the right operand are not contiguous."""
        return self.right.address.step(self.column) != 1

    @property
    def has_many_rows(self) -> bool:
        """Whether it has more than ``FEW_ROWS`` rows for all sizes of a call; the last of its tasks may have fewer."""
        most = highest(self.rows)
        return symbols(self.rows) == index_symbols(self.rows) and most is not None and most > FEW_ROWS

    @property
    def has_few_rows(self) -> bool:
        """Whether it has few rows in each of its tasks, the last of which may have fewer than the others."""
        most = highest(self.rows)
        return most is not None and most <= FEW_ROWS

    def start(self, access: Access) -> Access:
        """Returns an access at the first row, column and point, without the offsets from tables."""
        first = access.address.substitute({self.row: 0, self.column: 0, self.point: 0})
        return access.at(replace(first, terms=()))


class Transpose(NamedTuple):
    """The parts of a transpose, by the rows and columns of its result."""

    row: LoopIndex
    rows: DimLike
    column: LoopIndex
    columns: DimLike
    load: Load
    store: Store

    def start(self, access: Access) -> Access:
        """Returns an access at the first row and column."""
        return access.at(access.address.substitute({self.row: 0, self.column: 0}))


class FilledTable(NamedTuple):
    """A table that loops fill: the store of its first entry, and the ``value`` there.

    ``steps`` has for each loop, from the outside in, the distances between the places and the values of two iterations.
    """

    first: Store
    value: DimLike
    steps: tuple[tuple[DimLike, DimLike], ...]


class Filling(NamedTuple):
    """The parts of loops that fill tables: their ``extents`` from the outside in, and the tables."""

    extents: tuple[DimLike, ...]
    tables: tuple[FilledTable, ...]


def is_routine(loop: For) -> bool:
    """Whether a loop is the routine that it is marked as, if any."""
    return loop.routine is None or routine_of(loop) is not None


@lru_cache(maxsize=1 << 8)  # marks are read again and again while a kernel is scheduled, verified and written
def routine_of(loop: For) -> Product | Transpose | Filling | None:
    """Returns the parts of the routine that a loop is marked as; None without a mark, or if it is no such routine."""
    return None if loop.routine is None else _READERS[loop.routine](loop)


def filling_of(loop: For) -> Filling | None:
    """Returns the tables that a loop fills, with the loops inside of it; None if it does anything else."""
    indices: list[LoopIndex] = []
    extents: list[DimLike] = []
    body: Body = (loop,)
    while len(body) == 1 and isinstance(body[0], For):
        indices.append(body[0].index)
        extents.append(body[0].extent)
        body = body[0].body
    pairs = list(zip(body[::2], body[1::2], strict=False))
    tables = [_filled_table(index, store, indices) for index, store in pairs]
    are_fixed = not any([index.occurs_in(extent) for index in indices for extent in extents])
    if not pairs or 2 * len(pairs) != len(body) or len(indices) > DEEPEST_OFFSETS or not are_fixed:
        return None
    found = tuple([table for table in tables if table is not None])
    return Filling(tuple(extents), found) if len(found) == len(tables) else None


def _filled_table(value: Statement, store: Statement, indices: Sequence[LoopIndex]) -> FilledTable | None:
    """Returns the table that two statements fill inside of loops; None unless they go through it along the last one."""
    if not isinstance(value, Index) or not isinstance(store, Store) or store.value is not value.result:
        return None
    address, names = store.address, [index.name for index in indices]
    place = address.base + sum([step * index.dim for index, step in address.steps])
    parts, places = affine(value.expression, names), affine(place, names)
    is_plain = not address.terms and store.valid is None and store.combine is None and store.buffer.dtype is int64
    if parts is None or places is None or not is_plain or places[0][names[-1]] != 1:
        return None
    first = replace(store, address=Address(places[1]))
    return FilledTable(first, parts[1], tuple([(places[0][name], parts[0][name]) for name in names]))


def transpose_of(loop: For) -> Transpose | None:
    """Returns the transpose that a loop is; None if it is none."""
    columns = loop.body[0] if len(loop.body) == 1 else None
    load, store = columns.body if isinstance(columns, For) and len(columns.body) == 2 else (None, None)
    if not isinstance(columns, For) or not isinstance(load, Load) or not isinstance(store, Store):
        return None
    is_copy = store.value is load.result and store.combine is None and load.result.dtype in TYPES + BYTES
    along = load.address.step(loop.index), store.address.step(columns.index)
    if not is_copy or along != (1, 1) or not all([is_affine(x, loop.index, columns.index) for x in (load, store)]):
        return None
    return Transpose(loop.index, loop.extent, columns.index, columns.extent, load, store)


def product_of(loop: Statement) -> Product | None:
    """Returns the matrix product that a loop is; None unless its right operand and result are contiguous along
    columns.
    """
    if not isinstance(loop, For) or len(loop.body) != 1 or not isinstance(loop.body[0], For):
        return None
    columns = loop.body[0]
    contract, *results, store = columns.body if len(columns.body) in (2, 3) else (None, None)
    if not isinstance(contract, Contract) or not isinstance(store, Store) or len(contract.indices) != 1:
        return None
    point, points = contract.indices[0]
    tables = _tables(store, results, loop.index)
    found = _loads(sides_of(contract, columns.index), loop.index, columns.index, point, tables)
    is_whole = store.value is contract.result and store.valid is None and store.combine in (None, "add")
    if found is None or not is_whole:
        return None
    left, right, by_tables = found
    if len(results) != (by_tables is not None) or len(store.address.terms) != len(results):
        return None
    product = Product(loop.index, loop.extent, columns.index, columns.extent, point, points, left, right, store,
                      by_tables)
    return product if _lies_along_memory(product) else None


def _loads(sides: tuple[Side, Side] | None, row: LoopIndex, column: LoopIndex, point: LoopIndex,
           results: Sequence[Load]) -> tuple[Load, Load, Tables | None] | None:
    """Returns the loads of both operands, and of the offset tables of these and of ``results``, if there are any."""
    if sides is None:
        return None
    left, right = [side.element(column, point) for side in sides]
    if left is not None and right is not None:
        return left, right, None
    a, b = [side.by_tables(*indices) for side, indices in zip(sides, ((row, point), (point,)), strict=True)]
    return (a[0], b[0], Tables(*a[1:], *b[1:], *results)) if a and b and results else None


def block_columns(points: DimLike, dtype: DType, machine: Machine) -> int:
    """Returns the columns of a block of a product: those of a panel of all its ``points``."""
    depth = min(points, CONTRACT_BLOCK) if isinstance(points, int) else CONTRACT_BLOCK
    least = machine.panel_bytes // (CONTRACT_BLOCK * dtype.itemsize)
    most = min(machine.panel_bytes // (max(depth, 1) * dtype.itemsize), machine.products.widest_block)
    return max(most // least * least, least)


class Side(NamedTuple):
    """The statements that compute one factor of the products of a contraction, and the factor; a byte before it is
    widened.
    """

    statements: Body
    value: Scalar

    def mentions(self, index: LoopIndex) -> bool:
        """Whether it depends on a loop's index."""
        return any([entry.mentions(index) for entry in self.statements])

    def step(self, index: LoopIndex) -> DimLike | None:
        """Returns its stride along an ``index``, if it is read from one place."""
        loads = [entry for entry in self.statements if isinstance(entry, Load)]
        return loads[0].address.step(index) if len(loads) == 1 and is_affine(loads[0], index) else None

    def follows(self, index: LoopIndex, other: LoopIndex) -> bool:
        """Whether more of its loads are contiguous along an index than along another one."""
        loads = [entry.address for entry in self.statements if isinstance(entry, Load)
                 and entry.mentions(index) and entry.mentions(other)]
        along, across = [sum([address.step(entry) == 1 for address in loads]) for entry in (index, other)]
        return along > across

    def element(self, *indices: LoopIndex) -> Load | None:
        """Returns its load, if it is a plain one from a place that is affine in some indices."""
        load = self.statements[0] if len(self.statements) == 1 else None
        return load if isinstance(load, Load) and is_affine(load, *indices) else None

    def by_tables(self, *indices: LoopIndex) -> tuple[Load, ...]:
        """Returns its load and those of its offset tables, one for each of ``indices``; nothing if it has another
        form.
        """
        *others, last = self.statements
        tables = _tables(last, others, *indices) if isinstance(last, Load) else ()
        return (last, *tables) if isinstance(last, Load) and tables else ()

    def source(self, buffers: Collection[Buffer]) -> Buffer | None:
        """Returns the one buffer, out of some, from which alone it is computed, for all sizes of a call."""
        read = {entry.buffer for entry in self.statements if isinstance(entry, Load)}
        is_fixed = all([symbols(x) == index_symbols(x) for entry in self.statements for x in entry.dims])
        return read.pop() if len(read) == 1 and read <= {*buffers} and is_fixed else None


def _tables(access: Access, others: Sequence[Statement], *indices: LoopIndex) -> tuple[Load, ...]:
    """Returns ``others``, if they load the offsets of an access from tables, one for each of the ``indices``."""
    if access.valid is not None or any([access.address.mentions(index) for index in indices]):
        return ()
    loads = {entry.result: entry for entry in others if isinstance(entry, Load) and entry.buffer.dtype is int64}
    tables = [loads[x] for step, x in access.address.terms if step == 1 and isinstance(x, Variable) and x in loads]
    are_all = len(tables) == len(others) == len(access.address.terms)
    return tuple(tables) if are_all and _walk_on(tables, indices) else ()


def _walk_on(tables: Sequence[Load], indices: Sequence[LoopIndex]) -> bool:
    """Whether each index has a table, which is loaded element by element along that index alone."""
    return len(tables) == len(indices) and all([
        is_affine(x, *indices) and all([x.address.step(other) == (other is index) for other in indices])
        for x, index in zip(tables, indices, strict=True)])


def sides_of(contract: Contract, column: LoopIndex) -> tuple[Side, Side] | None:
    """Returns the factors of a contraction, if both read memory and only the second depends on the column."""
    sides = [_side_of(contract.body, factor) for factor in contract.operands]
    left, right = sorted(sides, key=lambda side: side.mentions(column))
    is_divided = {*left.statements, *right.statements} == {*contract.body}
    has_both = all([any([isinstance(entry, Load) for entry in side.statements]) for side in sides])
    if not is_divided or not has_both:
        return None
    are_bytes = all([_is_widened(side) for side in sides])
    if left.mentions(column) or not right.mentions(column) or not (are_bytes or contract.result.dtype in TYPES):
        return None
    return (_narrow(left), _narrow(right)) if are_bytes else (left, right)


def _is_widened(side: Side) -> bool:
    """Whether a factor is an int32 made of a byte."""
    last = side.statements[-1]
    return (isinstance(last, Apply) and last.function in ("convert", "wrap") and last.result.dtype is int32
            and last.operands[0].dtype in BYTES)


def _narrow(side: Side) -> Side:
    *before, last = side.statements
    return Side(tuple(before), last.operands[0])


def _side_of(body: Body, value: Scalar) -> Side:
    """Returns the statements of a body that a value needs."""
    wanted, found = {value}, list[Statement]()
    for entry in reversed(body):
        if isinstance(entry, Load | Apply | Index) and entry.result in wanted:
            wanted.update(entry.operands)
            found.append(entry)
    return Side(tuple(found[::-1]), value)


def is_affine(access: Access, *indices: LoopIndex) -> bool:
    """Whether an access has no condition, and its place is affine in some indices and independent of data."""
    is_bent = any([index.occurs_in(access.address.base) for index in indices])
    return access.valid is None and not access.address.terms and not is_bent


def _lies_along_memory(product: Product) -> bool:
    """Whether rows are affine, and the columns of the result and of the right operand are contiguous. If there are few
    rows, contiguous points of the right operand will do. For bytes the points of the left operand must be contiguous,
    and those of the right one may be.
    """
    left, right, store = product.left, product.right, product.store
    if product.tables is not None:
        is_along = all([access.address.step(product.column) == 1 and not product.column.occurs_in(access.address.base)
                        for access in (store, right)])
        return is_along and not store.address.mentions(product.point) and not left.address.mentions(product.column)
    is_few = product.is_of_bytes or product.has_few_rows
    is_along = right.address.step(product.column) == 1 or is_few and product.point_step(right) == 1
    is_in_order = not product.is_of_bytes or product.point_step(left) == 1
    return (store.address.step(product.column) == 1 and is_along and is_in_order
            and not right.address.mentions(product.row) and not store.address.mentions(product.point)
            and all([is_affine(access, product.row, product.column) for access in (left, right, store)]))


_READERS: Mapping[str, Callable[[For], Product | Transpose | Filling | None]] = {
    "product": product_of, "transpose": transpose_of, "offsets": filling_of}
