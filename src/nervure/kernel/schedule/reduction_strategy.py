"""The strategy of a reduction, one of seven. All keep its order.

* The points are few and their number is known: one after the other, unrolled.
* At most 256 points of one index in a vector loop are read in stages (:mod:`nervure.kernel.schedule.stages`).
* Any other number in a vector loop is added to accumulators in memory
  (:mod:`nervure.kernel.schedule.accumulators`).
* Otherwise the innermost index runs in lanes. At most 64 points of one index each have a lane of their own, and
  nothing is carried from one to the next;
* where the body is short and there is one index, 64 points at once, with the accumulators in registers;
* where it is long or there are several, its values wait in memory (:mod:`nervure.kernel.schedule.waiting_values`),
  unless its rows are long and its body is short.
* In an order of one lane, as that of the totals of blocks, there is a chain.

>>> from nervure.kernel.parser import parse_kernel
>>> text = "kernel ones():\\n  v0 = reduce add over i < {}:\\n    give 1.0_f32"
>>> [strategy_of(parse_kernel(text.format(extent)).body[0], in_lanes=False, lanes=8) for extent in (3, 9, 100)]
[Strategy(name='unrolled', lanes=1), Strategy(name='vector', lanes=16), Strategy(name='registers', lanes=64)]
"""

from __future__ import annotations

from math import prod

from nervure.kernel.combiners import keeps_units
from nervure.kernel.ir import DEFAULT_ORDER, LANES, Loop, Reduce, Strategy, walk
from nervure.kernel.schedule.vector_width import heavy_width, is_light, long_functions
from nervure.kernel.tuning import (
    MOST_STAGED,
    REDUCED_GROUPS,
    REGISTER_STATEMENTS,
    ROW_IN_PLACE,
    STAGED_ROWS,
    UNROLLED_POINTS,
    UNROLLED_ROWS,
    UNROLLED_SCALARS,
    UNROLLED_STATEMENTS,
)
from nervure.types.dim import highest, lowest, product


def strategy_of(reduce: Reduce, in_lanes: bool, lanes: int) -> Strategy:
    """Returns the strategy of a reduction, in a vector loop or outside of one, for registers of ``lanes`` lanes."""
    if in_lanes and _is_staged(reduce):
        return Strategy("stages")
    if is_unrolled(reduce, in_lanes):
        return Strategy("unrolled")
    if reduce.order.lanes == 1:
        return Strategy("chain")
    if in_lanes:
        return Strategy("memory")
    width = heavy_width(reduce.body, lanes)
    is_single = len(reduce.indices) == 1
    if is_single and _is_simple(reduce):
        return _vector(reduce, LANES) if _has_few(reduce, LANES) else Strategy("registers", LANES)
    if _has_few(reduce, min(REDUCED_GROUPS * width, LANES)):
        return _vector(reduce, width)
    return Strategy("parts")


def is_short_in_lanes(reduce: Reduce) -> bool:
    """Whether a vector loop has the points of a reduction in registers for the most part."""
    return is_unrolled(reduce, in_lanes=True) or _is_staged(reduce)


def _is_staged(reduce: Reduce) -> bool:
    """Whether a reduction has few points, of one index, but more than stay in registers, and no long functions.
    Columns of long functions are better computed in narrow vectors, row by row.
    """
    (_, extent), *others = reduce.indices
    if others or not isinstance(extent, int) or not max(UNROLLED_POINTS, STAGED_ROWS) < extent <= MOST_STAGED:
        return False
    if reduce.order != DEFAULT_ORDER:
        return False
    body = tuple(walk(reduce.body))
    is_short = len(body) * -(-extent // STAGED_ROWS) <= UNROLLED_STATEMENTS and not long_functions(reduce.body)
    return is_short and keeps_units(reduce) and not any([isinstance(entry, Loop) for entry in body])


def has_several_blocks(reduce: Reduce) -> bool:
    """Whether a reduction may have more points than a block of its order."""
    most = highest(product(reduce.dims))
    return most is None or most > reduce.order.block


def is_unrolled(reduce: Reduce, in_lanes: bool) -> bool:
    """Whether the points of a reduction are computed one after the other."""
    extents = [extent for _, extent in reduce.indices if isinstance(extent, int)]
    if len(extents) < len(reduce.indices) or not keeps_units(reduce):
        return False
    points = prod(extents)
    if in_lanes and UNROLLED_POINTS < points <= UNROLLED_ROWS:
        return points * len(tuple(walk(reduce.body))) <= UNROLLED_STATEMENTS
    return 0 < points <= (UNROLLED_POINTS if in_lanes else UNROLLED_SCALARS)


def _vector(reduce: Reduce, lanes: int) -> Strategy:
    """Returns the strategy with a lane for each point, in no more lanes than there are points."""
    points = reduce.dims[0]
    assert isinstance(points, int)
    return Strategy("vector", min(lanes, 1 << (points - 1).bit_length()))


def _is_simple(reduce: Reduce) -> bool:
    """Whether there are registers for the body and the accumulators together."""
    return len(tuple(walk(reduce.body))) <= REGISTER_STATEMENTS and is_light(reduce.body, reduce.indices[-1][0])


def is_read_in_place(reduce: Reduce) -> bool:
    """Whether the points of a reduction in parts are added where they are read: its rows are long, its body simple."""
    return _is_simple(reduce) and (lowest(reduce.indices[-1][1]) or 0) >= ROW_IN_PLACE


def _has_few(reduce: Reduce, most: int) -> bool:
    """Whether a reduction has at most ``most`` points, over one index."""
    (_, extent), *others = reduce.indices
    return not others and isinstance(extent, int) and 0 < extent <= most and keeps_units(reduce)
