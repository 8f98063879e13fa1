"""Loop partitioning: where the conditions of a nest hold, and segments of its loops in which they do not change.

A window that reaches beyond the data is read under conditions that are affine in loop indices. For one index such a
condition bounds a range (:func:`valid_range`). Where it relates an outer index to an inner one, the outer loop is cut
into segments, in each of which the inner index has one valid range (:func:`partition_of`).

A window of three, one element beyond the data on either side, over twelve outputs:

>>> output, window = LoopIndex(0), LoopIndex(1)
>>> position = output.dim + window.dim - 1
>>> partition = partition_of([position, 11 - position], ((output, 12),), ((window, 3),))
>>> partition.segments
{%0: SplitLoop(lengths=(1, 10, 1))}
>>> [partition.ranges({output: number}) for number in range(3)]
[(Range(first=1, length=2, end=3),), (Range(first=0, length=3, end=3),), (Range(first=0, length=2, end=2),)]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, groupby
from typing import NamedTuple

from nervure.kernel.loop_index import Indices, LoopIndex, substitute_indices
from nervure.types.dim import DimLike, affine, dim_max, dim_min, product, substitute, symbols


class Range(NamedTuple):
    """The values of an index from ``first`` on, as many as a ``length``, up to an ``end`` that is not one of them."""

    first: DimLike
    length: DimLike
    end: DimLike


class Bound(NamedTuple):
    """The condition that ``slope`` times an index, plus ``rest``, is not negative. The slope is not 0."""

    slope: int
    rest: DimLike

    def at(self, values: Mapping[LoopIndex, DimLike]) -> Bound:
        """Returns the condition where other indices have these values."""
        return Bound(self.slope, substitute_indices(self.rest, values))


def bound_on(margin: DimLike, index: LoopIndex) -> Bound | None:
    """Returns the condition that ``margin`` is not negative, as one on ``index``; None if it is not affine in it."""
    found = affine(margin, [index.name])
    slope = 0 if found is None else found[0][index.name]
    return Bound(slope, found[1]) if found is not None and isinstance(slope, int) and slope else None


def valid_ends(conditions: Iterable[Bound], extent: DimLike) -> tuple[DimLike, DimLike]:
    """Returns the first value of an index below ``extent`` that meets all ``conditions``, and the end of those that do.
    Where none does, the end may lie before the first one, and that behind the last value.

    >>> valid_ends([Bound(2, -3), Bound(-1, 7)], 10)
    (2, 8)
    """
    first: DimLike = 0
    end = extent
    for slope, rest in conditions:
        if slope > 0:
            first = dim_max(first, -(rest // slope))
        else:
            end = dim_min(end, rest // -slope + 1)
    return first, end


def valid_range(conditions: Iterable[Bound], extent: DimLike) -> Range:
    """Returns the values of an index below ``extent`` that meet all ``conditions``."""
    first, end = valid_ends(conditions, extent)
    length = dim_max(end - first, 0)
    return Range(first, length, first + length)


def stepwise(values: Sequence[DimLike], number: DimLike) -> DimLike:
    """Returns the value of a ``number`` below the count of ``values``, as one expression.

    It is the least or the greatest of the lines through neighbours where that will do, so that products with it stay
    short.

    >>> stepwise([4, 5, 6, 5, 4], LoopIndex(0).dim), stepwise([0, 1, 55], LoopIndex(0).dim)
    (min(%0 + 4, 8 - %0), max(%0, 54*%0 - 53))
    """
    steps = [after - before for before, after in zip(values, values[1:], strict=False)]
    known = [value for value in values if isinstance(value, int)]
    if len(known) == len(values) > 1:
        lines = dict.fromkeys([(after - before, before - place * (after - before))
                               for place, (before, after) in enumerate(zip(known, known[1:], strict=False))])
        first, *others = [slope * number + start for slope, start in lines]
        for made in (dim_min(first, *others), dim_max(first, *others), *([
                dim_max(first, dim_min(*others)), dim_min(first, dim_max(*others))] if others else [])):
            if [_at(made, number, place) for place in range(len(known))] == known:
                return made
    total, start = values[0], 0
    for step, run in groupby(steps):
        end = start + len(list(run))
        if step != 0:
            passed = dim_max(number - start, 0)
            total = total + step * (passed if end == len(steps) else dim_min(passed, end - start))
        start = end
    return total


def _at(x: DimLike, number: DimLike, place: int) -> DimLike:
    """Returns an expression where the index that ``number`` is has a value."""
    return substitute(x, {str(number): place})


class SplitLoop(NamedTuple):
    """A loop in pieces of these ``lengths``, one behind the other."""

    lengths: tuple[DimLike, ...]

    def at(self, number: DimLike) -> Range:
        """Returns the segment of a number.

        >>> SplitLoop((1, 1, 8)).at(LoopIndex(0).dim)
        Range(first=%0, length=max(7*%0 - 6, 1), end=max(%0 + 1, 8*%0 - 6))
        """
        first, *others = list(accumulate(self.lengths, initial=0))
        return Range(*[stepwise(values, number) for values in ((first, *others[:-1]), self.lengths, others)])


class Partition(NamedTuple):
    """Outer loops cut into ``segments``, each of which has one valid range of each index of ``inner``. ``bounds`` has
    for each of these the conditions on it; the rest of a condition may depend on one outer index. Nothing is valid
    where one of the ``margins``, which depend on outer indices alone, is negative. ``conditions`` are all margins, and
    ``outer`` all loops that are cut.
    """

    conditions: tuple[DimLike, ...]
    outer: Indices
    segments: dict[LoopIndex, SplitLoop]
    inner: Indices
    bounds: tuple[tuple[Bound, ...], ...]
    margins: tuple[DimLike, ...]

    def ranges(self, numbers: Mapping[LoopIndex, DimLike]) -> tuple[Range, ...]:
        """Returns the valid ranges of the inner indices in those segments of the outer ones that have these
        ``numbers``.
        """
        found = [self._range(conditions, extent, numbers)
                 for conditions, (_, extent) in zip(self.bounds, self.inner, strict=True)]
        holds = [self._of_segments(margin, numbers, _holds) for margin in self.margins]
        first, *others = found
        count = first.length * product(holds)
        return (Range(first.first, count, first.first + count) if holds else first, *others)

    def outer_ranges(self, at: Mapping[LoopIndex, DimLike]) -> dict[LoopIndex, Range]:
        """Returns the valid ranges of the outer indices where the inner ones are ``at`` these values."""
        margins = [substitute_indices(margin, at) for margin in self.conditions]
        found = {}
        for index, extent in self.outer:
            own = [bound for margin in margins if (bound := bound_on(margin, index)) is not None]
            if own:
                found[index] = valid_range(own, extent)
        return found

    def _range(self, conditions: Sequence[Bound], extent: DimLike, numbers: Mapping[LoopIndex, DimLike]) -> Range:
        """Returns the valid range of an inner index."""
        used = [index for index in self.segments if any([index.occurs_in(rest) for _, rest in conditions])]
        if len(used) != 1:
            begins = {index: self.segments[index].at(number).first for index, number in numbers.items()}
            return valid_range([bound.at(begins) for bound in conditions], extent)
        (index,), lengths = used, self.segments[used[0]].lengths
        ranges = [valid_range([bound.at({index: begin}) for bound in conditions], extent)
                  for begin in accumulate(lengths[:-1], initial=0)]
        return Range(*[stepwise(values, numbers[index]) for values in zip(*ranges, strict=True)])

    def _of_segments(self, margin: DimLike, numbers: Mapping[LoopIndex, DimLike],
                     function: Callable[[DimLike], DimLike]) -> DimLike:
        """Returns a function of a margin that depends on one outer index, or on none."""
        for index, segments in self.segments.items():
            if index.occurs_in(margin):
                return stepwise([function(substitute_indices(margin, {index: begin}))
                                 for begin in accumulate(segments.lengths[:-1], initial=0)], numbers[index])
        return function(margin)


def _holds(margin: DimLike) -> DimLike:
    """1 where a margin is not negative, else 0."""
    return dim_min(dim_max(margin + 1, 0), 1)


def partition_of(margins: Sequence[DimLike], outer: Indices, inner: Indices) -> Partition | None:
    """Returns the partition of ``outer`` loops in whose segments the conditions that none of the ``margins`` is
    negative leave each index of ``inner`` one range. None where a condition is not affine, depends on more than one
    outer or on more than one inner index, or on sizes that a call brings.
    """
    known = {index.name for index, extent in (*outer, *inner) if isinstance(extent, int)}
    found: dict[LoopIndex, list[Bound]] = {index: [] for index, _ in inner}
    alone: list[DimLike] = []
    for margin in margins:
        used, cut = [[index for index, _ in loops if index.occurs_in(margin)] for loops in (inner, outer)]
        if len(used) > 1 or len(cut) > 1 or not symbols(margin) <= known:
            return None
        bound = bound_on(margin, used[0]) if used else None
        rest = margin if bound is None else bound.rest
        if used and bound is None or cut and bound_on(rest, cut[0]) is None:
            return None
        if bound is None:
            alone.append(margin)
        else:
            found[used[0]].append(bound)
    conditions = tuple([tuple(found[index]) for index, _ in inner])
    partition = Partition(tuple(margins), outer, {}, inner, conditions, tuple(alone))
    for index, extent in outer:
        if isinstance(extent, int) and any([index.occurs_in(margin) for margin in margins]):
            partition.segments[index] = _segments(partition, index, extent)
    return partition


def _segments(partition: Partition, index: LoopIndex, extent: int) -> SplitLoop:
    """Returns the segments of an outer loop: those before all inner ranges are whole, the stretch where they are, and
    those behind it.
    """
    ends = [dim_min(dim_max(end, 0), extent) for end in valid_ends(_where_whole(partition, index), extent)]
    first, end = [entry for entry in ends if isinstance(entry, int)]
    end = max(first, end)
    apart = [_ranges_along(partition, index, value) for value in (*range(first), *range(end, extent))]
    lengths = [*_runs(apart[:first]), end - first, *_runs(apart[first:])]
    return SplitLoop(tuple([length for length in lengths if length]))


def _where_whole(partition: Partition, index: LoopIndex) -> list[Bound]:
    """Returns the conditions on an outer index that all values of the inner ones are valid."""
    found = [bound_on(margin, index) for margin in partition.margins]
    for conditions, (_, extent) in zip(partition.bounds, partition.inner, strict=True):
        found += [bound_on(rest + (slope * (extent - 1) if slope < 0 else 0), index) for slope, rest in conditions
                  if index.occurs_in(rest)]
    return [bound for bound in found if bound is not None]


def _ranges_along(partition: Partition, index: LoopIndex, value: int) -> tuple[DimLike, ...]:
    """Returns all that depends on an outer ``index`` in the valid ranges, where it has a value."""
    found: list[DimLike] = [_holds(substitute_indices(margin, {index: value})) for margin in partition.margins
                            if index.occurs_in(margin)]
    for conditions, (_, extent) in zip(partition.bounds, partition.inner, strict=True):
        found += valid_range([bound.at({index: value}) for bound in conditions if index.occurs_in(bound.rest)], extent)
    return tuple(found)


def _runs(entries: Sequence[object]) -> list[int]:
    """Returns the lengths of runs of equal entries."""
    return [len(list(run)) for _, run in groupby(entries)]
