"""Ranges of positions: Python's slices of a dimension, clipped to its length, which may be symbolic.

>>> from nervure.types.dim import dim
>>> clip(slice(-2, None), 5), clip(slice(None, None, -2), 5)
((3, 2, 1), (4, 3, -2))
>>> clip(slice(1, None), dim("N", min=1))
(1, N - 1, 1)
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from typing import Any

from nervure.errors import IndexOutOfRange, InvalidArgument, WrongKind
from nervure.types.dim import Dim, DimLike, bounds, dim_max, dim_min, less_equal, symbols
from nervure.types.dim.lengths import as_length, as_symbol, of_lengths, through_symbol
from nervure.types.dim.queries import RangesLike
from nervure.types.shape import checked_dim

Range = tuple[DimLike, DimLike, DimLike]
"""(start, extent, step): ``extent`` positions, the j-th of them ``start + j * step``."""


def as_range(entry: Any) -> Any:
    """Returns an entry as it is, except that a length becomes a range of that many positions from the first."""
    return (0, entry, 1) if hasattr(entry, "__index__") or isinstance(entry, Dim) else entry


def clip(item: slice, length: DimLike) -> Range:
    """Returns the range of a Python slice of a dimension: negative ends count from the end, ends outside are clipped.

    Ends may be symbolic, also of a sign that depends on symbols; the step is an int. Raises InvalidArgument for a step
    of 0, and for an end of unknown sign if nothing is known of the range; WrongKind for anything but integers.

    >>> from nervure.types.dim import dim
    >>> n = dim("n")
    >>> clip(slice(0, n - 1), n), clip(slice(-n, None), n)
    ((0, max(n - 1, 0), 1), (0, n, 1))
    """
    if not isinstance(item, slice):
        raise _no_range(item)
    try:
        start, stop = _end(item.start), _end(item.stop)
        step = 1 if item.step is None else operator.index(item.step)
    except TypeError:
        raise _no_range(item) from None
    if step == 0:
        raise _no_step(item)
    if not any(isinstance(part, Dim) for part in (length, start, stop)):
        positions = range(length)[slice(start, stop, step)]  # type: ignore[arg-type]  # an int, as just seen
        return positions.start if positions else 0, len(positions), positions.step
    known = of_lengths([length])
    whole = as_symbol(length)  # so that an expression is clipped, and simplified, like a symbol
    start, extent = _clipped_range(start, stop, step, whole, known)
    found = as_length(start, length), as_length(extent, length), step
    for end in (item.start, item.stop):
        if isinstance(end, Dim) and _is_negative(end, known) is None and not _is_inside(found, length):
            raise _unknown_sign(end)
    return found


def _clipped_range(start: DimLike | None, stop: DimLike | None, step: int, length: DimLike,
                   known: RangesLike) -> tuple[DimLike, DimLike]:
    """Returns the start and the extent of a range, some of it symbolic; ``known`` are the ranges of the ends' symbols.
    """
    low, high = (0, length) if step > 0 else (-1, length - 1)  # the bounds that an end is clipped to
    first, last = (low, high) if step > 0 else (high, low)
    start = first if start is None else _clipped(start, length, low, high, known)
    stop = last if stop is None else _clipped(stop, length, low, high, known)
    distance, stride = (stop - start, step) if step > 0 else (start - stop, -step)
    if less_equal(distance, 0, known) is True:
        return 0, 0
    return start, dim_max(0, (distance + stride - 1) // stride)


def _end(end: Any) -> DimLike | None:
    return end if end is None or isinstance(end, Dim) else operator.index(end)


def _clipped(end: DimLike, length: DimLike, low: DimLike, high: DimLike, known: RangesLike) -> DimLike:
    """Returns an end clipped to the interval from ``low`` to ``high``."""
    is_negative = _is_negative(end, known)
    if is_negative is not None:
        return dim_max(end + length, low) if is_negative else dim_min(end, high)
    if less_equal(dim_min(-end, end + length - low), 0) is True:  # a negative end lies before the start
        return dim_max(low, dim_min(end, high))
    turn = dim_max(0, dim_min(1, -end))  # 1 for a negative end, else 0
    return dim_max(low, dim_min(end + length * turn, high))


def _is_negative(end: DimLike, known: RangesLike) -> bool | None:
    """Whether an end counts from the end; None if that depends on symbols."""
    if less_equal(0, end, known) is True:
        return False
    return True if less_equal(end, -1, known) is True else None


def _is_inside(found: Range, length: DimLike) -> bool:
    try:
        checked_range(found, length, "slice", "Slice")
    except (InvalidArgument, IndexOutOfRange):
        return False
    return True


def _unknown_sign(end: Dim) -> InvalidArgument:
    names = ", ".join([f"nv.dim({name!r}, min=...)" for name in sorted(symbols(end))])
    return InvalidArgument("whether this end of a slice counts from the start or the end depends on symbols",
                           op="Slice", got=end, expected="an end that is never, or always, negative",
                           help=f"declare bounds that settle it, as in {names}, or write nv.dim_max({end}, 0)")


def _no_step(item: slice) -> InvalidArgument:
    return InvalidArgument("a slice has a step of 0", op="Slice", operand="step", got=item,
                           expected="1 or more, or -1 or less", help="nv.broadcast repeats an element")


def _no_range(item: object) -> WrongKind:
    return WrongKind("a slice has integers or None as ends, and an int as step", op="Slice", operand="slice",
                     got=item, expected="ints, symbolic dimensions or None", help="x[int(start):int(stop)]")


def checked_range(entry: Iterable[DimLike] | DimLike, length: DimLike, operand: str, op: str) -> Range:
    """Returns a (start, extent, step), or the range of a length, whose positions are all known to be in [0,
    ``length``).

    Raises IndexOutOfRange if one is outside, InvalidArgument if that is not known, or the step is 0 or of unknown
    sign.
    """
    try:
        start, extent, step = [checked_dim(part, op) for part in as_range(entry)]
    except (TypeError, ValueError):
        raise WrongKind("a range is (start, extent, step), or a length", op=op, operand=operand, got=entry,
                        expected="three ints or symbolic dimensions, or one",
                        help="(0, length, 1) is all of a dimension") from None
    if extent == length and (start, step) == (0, 1):
        return start, extent, step
    last = start + (extent - 1) * step
    if less_equal(1, step) is True:
        low, high = start, last
    elif less_equal(step, -1) is True:
        low, high = last, start
    else:
        raise InvalidArgument("the step of a range is never 0 and has a known sign", op=op, operand=operand, got=step,
                              expected="1 or more, or -1 or less", help="broadcast an element to repeat it")
    _, high_extent = bounds(extent, of_lengths([length]))
    is_possible = high_extent is None or high_extent >= 0
    if high_extent is not None and high_extent < 1 and is_possible:
        return start, extent, step  # it is empty: no position has to be inside
    verdicts = [is_possible, *_are_inside(low, high, extent, length)]
    if verdicts == [True] * 3:
        return start, extent, step
    parts = {"op": op, "operand": operand, "got": f"start {start}, extent {extent}, step {step}",
             "expected": f"positions 0 to {length - 1}" if length != 0 else "no position: the length is 0"}
    if False in verdicts:
        raise IndexOutOfRange("a slice reaches outside of its dimension", **parts,
                              help="clip(slice(start, stop, step), length) stays inside")
    raise InvalidArgument("a slice is not known to stay inside of its dimension", **parts,
                          help="clip(slice(start, stop, step), length) gives the range that Python would")


def _are_inside(low: DimLike, high: DimLike, extent: DimLike, length: DimLike) -> list[bool | None]:
    """Whether the lowest position is at least 0, and whether the highest is less than the length. Only calls in which
    the range is not empty count: in others, no position has to be inside.
    """
    verdicts: list[bool | None] = [None, None]
    for taken, whole, bottom, top in _forms(extent, length, low, high):
        known = of_lengths([whole, taken - 1])
        asked = ((0, bottom), (top, whole - 1))
        verdicts = [less_equal(*pair, known) if verdict is None else verdict
                    for pair, verdict in zip(asked, verdicts, strict=True)]
        if None not in verdicts:
            break
    return verdicts


def _forms(extent: DimLike, length: DimLike, *xs: DimLike) -> Iterator[list[DimLike]]:
    """Yields [extent, length, *xs] as they are, and with a symbol in place of the sum that one of the first two is
    made of.
    """
    yield [extent, length, *xs]
    yield through_symbol(length, [extent, length, *xs])[1:]
    yield through_symbol(extent - 1, [extent, length, *xs])[1:]
