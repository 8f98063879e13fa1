"""Routines of the loop IR: calls of functions of the tile library.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.transformers.cpu.compile.codegen.generate import generate
>>> from nervure.transformers.cpu.target import Target
>>> text = generate(parse_kernel('''
... kernel product(in x: f32[60], in y: f32[48], out z: f32[20]):
...   for i < 1 parallel:
...     for j < 5 as product:
...       for k < 4 vector:
...         v0 = contract over l < 12:
...           v1 = x[12*j + l]
...           v2 = y[k + 4*l]
...           give v1, v2
...         z[4*j + k] = v0
... '''), Target.avx2()).text
>>> "call void @multiply_f32" in text
True

If a product certainly has more than a few rows, that is ``multiply_many_f32``: nothing else is compiled for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from nervure.errors import InternalError
from nervure.kernel.ir import Access, For
from nervure.kernel.routines import DEEPEST_OFFSETS, Filling, Product, Transpose, routine_of
from nervure.transformers.cpu.compile.codegen.addressing import locate
from nervure.transformers.cpu.compile.codegen.context import Context
from nervure.transformers.cpu.compile.codegen.element import memory_types
from nervure.transformers.cpu.compile.codegen.expressions import dimension
from nervure.transformers.cpu.compile.tiles.filling import FILLING
from nervure.types.dim import DimLike


def emit_routine(context: Context, loop: For) -> None:
    """Emits a loop that is marked as a routine."""
    routine = routine_of(loop)
    if isinstance(routine, Product):
        _emit_product(context, routine)
    elif isinstance(routine, Transpose):
        load, store = routine.load, routine.store
        type, = memory_types(store.buffer.dtype)
        _call(context, f"transpose_{type.suffix}", [
            routine.start(load), load.address.step(routine.column), routine.start(store),
            store.address.step(routine.row), routine.columns, routine.rows])
    elif isinstance(routine, Filling):
        _emit_filling(context, routine)
    else:
        raise InternalError(f"a loop is marked as {loop.routine}, and is none")


def _emit_product(context: Context, product: Product) -> None:
    """Emits a ``product``, which may read its operands by offset tables."""
    left, right, store, tables = product.left, product.right, product.store, product.tables
    adds = int(store.combine is not None)
    if tables is not None:
        type, = product.types
        _call(context, f"multiply_by_places_{type.short}", [
            product.start(left), product.start(tables.rows), product.start(tables.left), product.start(right),
            product.start(tables.right), product.start(store), product.start(tables.results),
            product.rows, product.columns, product.points, adds])
        return
    between = right.address.step(product.column) if product.is_across else product.point_step(right)
    _call(context, _name(product), [
        product.start(left), product.row_step(left), product.point_step(left), product.start(right), between,
        product.start(store), product.row_step(store), product.rows, product.columns, product.points, adds])


def _name(product: Product) -> str:
    """Returns the name of the function that computes a product."""
    way = "_across" if product.is_across else "_many" if product.has_many_rows and not product.is_of_bytes else ""
    return "_".join([f"multiply{way}", *[x.short for x in product.types]])


def _emit_filling(context: Context, filling: Filling) -> None:
    """Emits loops that fill tables: a call for each table, with a single turn of the loops that are missing."""
    missing = DEEPEST_OFFSETS - len(filling.extents)
    for first, value, steps in filling.tables:
        loops: list[tuple[DimLike, ...]] = [(1, 0, 0)] * missing
        loops += [(extent, *step) for extent, step in zip(filling.extents, steps, strict=True)]
        *outer, (count, _, step) = loops
        _call(context, FILLING, [first, value, *chain.from_iterable(outer), count, step])


def _call(context: Context, name: str, arguments: Sequence[Access | DimLike]) -> None:
    """Calls a function of the library with places and numbers as ``arguments``."""
    registers = [locate(context, entry.buffer, entry.address).pointer.register if isinstance(entry, Access)
                 else dimension(context, entry).register for entry in arguments]
    context.builder.call(context.link(name), None, *registers)
