"""Turned products: both sides have changed places, so that what were columns are rows, and rows are columns.

What a window shows lies in lines with gaps, short ones of small images. As columns they fill registers badly: a product
goes through the gaps, or packs each line once for each position of the window. As rows any places will do, since a row
takes but its own element of a point: tables say where it lies, the lines of all images are rows of one product, and its
columns, filters that follow each other in memory, fill registers. What comes out is transposed before anything is done
with it.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.schedule.products.matrices import matrices_of
>>> matrices = matrices_of(parse_kernel('''
... kernel product(in x: f32[36864], in y: f32[1024], out z: f32[50176]):
...   for i < 64 parallel:
...     for j < 28:
...       for k < 28 vector:
...         v0 = contract over l < 9, m < 64:
...           v1 = x[i + 4096*l + 64*m]
...           v2 = y[30*j + k + 30*(l//3) + l % 3 + 900*m]
...           give v1, v2
...         z[784*i + 28*j + k] = v0
... '''))
>>> matrices.is_turned, matrices.rows.extent, matrices.columns.extent, matrices.lines.length
(True, 784, 64, 784)
>>> matrices.left.statements[0].address.base
%2 % 28 + 30*(%2//28) + 900*(%4 % 64) + 30*(%4//192) + (%4//64) % 3
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nervure.kernel.ir import Body, For, substituted
from nervure.kernel.loop_index import Indices
from nervure.kernel.routines import Side
from nervure.kernel.schedule.products.lines import Lines, coordinates
from nervure.kernel.simplify.loops import walks_on
from nervure.kernel.tuning import COLUMN_MULTIPLE


def are_better_turned(left: Side, right: Side, rows: For) -> bool:
    """Whether rows follow each other in memory and fill registers as columns; both sides are but read."""
    is_read = left.element(rows.index) is not None and right.element() is not None
    is_wide = isinstance(rows.extent, int) and rows.extent % COLUMN_MULTIPLE == 0
    return is_read and is_wide and left.step(rows.index) == 1


def with_places(side: Side, loops: Sequence[For]) -> Side:
    """A side at the place of a number, which the index of the innermost of some loops is from now on."""
    last = loops[-1].index
    moved = coordinates(last.dim, _indices(loops))
    return side._replace(statements=substituted(side.statements, moved))


def in_long_lines(rest: Body, loops: Sequence[For]) -> tuple[Body, Lines]:
    """What is done with results, and the lines that it goes through: as long as memory walks on."""
    *outer, line = loops
    while outer and walks_on(rest, outer[-1].index, line.index, line.extent):
        above = outer.pop()
        rest = substituted(rest, {above.index: 0})
        line = replace(line, extent=above.extent * line.extent)
    return rest, Lines(_indices(outer), line.index, line.extent, line.extent)


def _indices(loops: Sequence[For]) -> Indices:
    return tuple([(loop.index, loop.extent) for loop in loops])
