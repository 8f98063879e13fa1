"""Vector loops around reductions: tiles of columns, which go through the rows together.

If a few lanes at a time went through all rows, they would touch a new page of memory with every few bytes. So the
iterations of the loop are taken in tiles whose accumulators fit the cache, the parts of the body one after the other
for the whole tile, and each point of a reduction for all columns of it.

>>> from nervure.kernel.parser import parse_kernel
>>> text = '''
... kernel sums(in x: f32[M*N], out y: f32[M]):
...   symbol M
...   symbol N
...   for i < M vector:
...     v0 = reduce add over j < {}:
...       v1 = x[i + M*j]
...       give v1
...     y[i] = v0
... '''
>>> [tile_of(parse_kernel(text.format(rows)).body[0], lanes=8) for rows in ("N", "7")]
[Tiling(columns=4096, lanes=(32, 32)), None]
"""

from __future__ import annotations

from nervure.kernel.ir import DEFAULT_ORDER, LANES, Body, For, Loop, Reduce, Statement, Tiling, walk
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.schedule.reduction_strategy import is_short_in_lanes
from nervure.kernel.schedule.vector_width import is_light
from nervure.kernel.simplify.loops import without_unit_indices
from nervure.kernel.tuning import ACCUMULATOR_BYTES, TILE_REGISTERS, TILE_STATEMENTS

Part = Reduce | For | Body


def tile_of(loop: For, lanes: int) -> Tiling | None:
    """Returns the tiling of a loop's columns, for registers of ``lanes`` lanes; None if tiles are of no use.

    They are useful if reductions of unknown length are directly in the loop, and nowhere deeper.
    """
    outer = [entry for entry in loop.body if _is_long(entry)]
    deeper = [entry for statement in loop.body if isinstance(statement, Loop)
              for entry in walk(statement.body) if _is_long(entry)]
    extents = [extent for entry in outer for extent in entry.dims]
    if not outer or deeper or any([loop.index.occurs_in(extent) for extent in extents]):
        return None
    widest = max([bytes_of(entry) for entry in outer if isinstance(entry, Reduce)])
    columns = max(ACCUMULATOR_BYTES // (LANES * widest) // LANES * LANES, LANES)
    return Tiling(columns, tuple([_lanes_of(part, loop.index, lanes) for part in parts_of(loop.body)]))


def parts_of(body: Body) -> list[Part]:
    """Returns long reductions, loops over rows, and the statements between them."""
    parts: list[Part] = []
    between: Body = ()
    for statement in body:
        if not isinstance(statement, For) and not _is_long(statement):
            between = (*between, statement)
            continue
        parts += [between] if between else []
        parts.append(statement)  # type: ignore[arg-type]  # what is long is a reduction
        between = ()
    return [*parts, between] if between else parts


def bytes_of(reduce: Reduce) -> int:
    """Returns the bytes of accumulators for one column of one row."""
    return sum([variable.dtype.itemsize for variable in reduce.results])


def _is_long(statement: Statement) -> bool:
    return isinstance(statement, Reduce) and statement.order == DEFAULT_ORDER and \
        not is_short_in_lanes(without_unit_indices(statement))


def _lanes_of(part: Part, index: LoopIndex, lanes: int) -> int:
    """Returns the lanes of a part; a short part runs in several registers at once."""
    body = part if isinstance(part, tuple) else part.body
    is_short = len(tuple(walk(body))) <= TILE_STATEMENTS and is_light(body, index)
    return TILE_REGISTERS * lanes if is_short else lanes
