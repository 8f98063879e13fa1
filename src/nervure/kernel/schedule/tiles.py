"""Transposes by tiles: a few columns at a time, so that their cache lines are still in the cache for the next row.

If one operand lies across the result, each element of a row of the result is in a line of its own, and the next row
needs the same lines again. A whole row would need more lines than there is room for; if the operand's rows are a power
of two apart, much sooner than one would think. If there are loops in between, the next row comes even later. If all
operands and the result lie across, as column-major memory does, the two loops change places.

>>> from nervure.support.machine import GENERIC
>>> from nervure.kernel.parser import parse_kernel
>>> kernel = parse_kernel('''
... kernel transpose(in x: f32[1048576], out y: f32[1048576]):
...   for i < 1024 parallel:
...     for j < 1024 vector:
...       v0 = x[i + 1024*j]
...       y[1024*i + j] = v0
... ''')
>>> loop, = with_tiled_transposes(kernel, GENERIC).body
>>> loop.extent, loop.body[0].extent, loop.body[0].body[0].extent
(32, 1024, 32)
"""

from __future__ import annotations

from nervure.kernel.ir import Body, For, Kernel, Loop, substituted
from nervure.kernel.rewriting import unused_indices
from nervure.kernel.routines import transpose_of
from nervure.kernel.schedule.nests import Nest, accesses, has_unit_stride, nested, rewritten
from nervure.kernel.schedule.products.extents import part_of
from nervure.kernel.tuning import LEAST_TILED_COLUMNS, TILE_COLUMNS, TRANSPOSED_ROWS
from nervure.support.machine import Machine
from nervure.support.replacing import replace


def with_tiled_transposes(kernel: Kernel, machine: Machine) -> Kernel:
    """Returns the kernel with tiles of columns if an access goes along memory in another loop than the innermost one.
    """
    return rewritten(kernel, _tiled)


def _tiled(nest: Nest) -> For | None:
    *outer, columns = nest.loops
    if not columns.vector or any([isinstance(entry, Loop) for entry in nest.body]):
        return None
    across = [access for access in accesses(nest.body) if columns.index in dict(access.address.steps)
              and not has_unit_stride(access, columns.index)]
    along = {loop.index: sum([has_unit_stride(access, loop.index) for access in across]) for loop in outer}
    rows = max(outer, key=lambda loop: along[loop.index], default=None)
    if rows is None or not along[rows.index] or not nest.is_free:
        return None
    others = [loop for loop in outer if loop is not rows]
    is_along_columns = any([has_unit_stride(access, columns.index) for access in accesses(nest.body)])
    if len(across) == along[rows.index] and not is_along_columns:
        return nested([*others, replace(columns, vector=False), replace(rows, vector=True)], nest.body)
    if _is_transpose(rows, columns, nest.body):
        rows = replace(rows, routine="transpose")
        if others:
            return nested([*others, rows, columns], nest.body)
    least = LEAST_TILED_COLUMNS if rows.index is outer[-1].index else TILE_COLUMNS
    if isinstance(columns.extent, int) and columns.extent < least:
        return None if rows.index is outer[-1].index else nested([*others, rows, columns], nest.body)
    number, = unused_indices(nest.loops[:1], 1)
    tiles = For(number, -(-columns.extent // TILE_COLUMNS), ())
    tile = replace(columns, extent=part_of(columns.extent, number.dim * TILE_COLUMNS, TILE_COLUMNS))
    body = substituted(nest.body, {columns.index: number.dim * TILE_COLUMNS + columns.index.dim})
    return nested([*others, tiles, rows, tile], body)


def _is_transpose(rows: For, columns: For, body: Body) -> bool:
    """Whether there are enough rows for squares of registers, and everything is copied."""
    is_few = isinstance(rows.extent, int) and rows.extent < TRANSPOSED_ROWS
    return not is_few and transpose_of(replace(rows, body=(replace(columns, body=body),))) is not None
