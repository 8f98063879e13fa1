"""Parsing of axes as people write them: lists, shapes with nested tuples, dicts and strings.

>>> [str(one) for one in read_axes(["N=32, H=2*n"])]
['N: 32', 'H: 2*n']
>>> [str(one) for one in read_axes([(32, 32), 128])]
['(32, 32)', '128']
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from nervure.errors import InvalidArgument, NervureError, WrongKind
from nervure.types.axis import MAXIMUM_NESTING, Axis, FlattenedAxis, axis, make_anonymous_axis, ordered_members
from nervure.types.dim import Dim, DimLike, parse_dim


def read_axes(items: Sequence[object]) -> list[Axis]:
    """Returns the axes that several items stand for, one each, or the axes in a single item: a list, dict or string."""
    if len(items) != 1:
        return [_read_axis(item, 0) for item in items]
    [whole] = items
    if isinstance(whole, str):
        return [_parse_axis(piece) for piece in split_at_commas(whole)] if whole.strip() else []
    if isinstance(whole, Mapping):
        return [axis(name, length) for name, length in whole.items()]
    members = ordered_members(whole, "make_axes")
    return [_read_axis(member, 0) for member in (items if members is None else members)]


def _read_axis(item: object, depth: int) -> Axis:
    if isinstance(item, Axis):
        return item
    members = None if isinstance(item, (str, Mapping)) else ordered_members(item, "make_axes")
    if members is None:
        return make_anonymous_axis(_shape_length(item))
    if depth == MAXIMUM_NESTING:
        raise InvalidArgument(f"axes are nested more than {MAXIMUM_NESTING} deep", op="make_axes",
                              help="does the list contain itself?")
    return FlattenedAxis(_read_axis(member, depth + 1) for member in members)


def _shape_length(item: object) -> DimLike:
    if isinstance(item, Dim) or hasattr(item, "__index__"):
        return item  # type: ignore[return-value]  # checked where the axis is made
    raise WrongKind("neither an axis nor a length", op="make_axes",
                    got=f"{item!r:.80} ({type(item).__name__})",
                    expected="an axis, an int, a symbolic dimension or a tuple of these",
                    help='names stand in a dict {"N": 32} or in one string "N=32, C=3"; nv.dim("n") is a '
                         "length that is not known yet")


def _parse_axis(text: str) -> Axis:
    name, equals, length = (part.strip() for part in text.partition("="))
    if not (name and equals and length):
        raise InvalidArgument("cannot read an axis", op="make_axes", got=repr(text.strip()),
                              expected='"name=length"', help='write the axes as "N=32, C=3"')
    try:
        return axis(name, parse_dim(length))
    except NervureError as error:
        raise InvalidArgument(f"cannot read the length of axis {name}: {error.message}", op="make_axes",
                              got=length, expected=error.expected or "an int or an expression over symbols",
                              help='write the axes as "N=32, C=3"') from None


def split_at_commas(text: str) -> Iterator[str]:
    """Yields the pieces between commas outside parentheses: ``"H=min(n, 4), W=2"`` has two."""
    start = depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            yield text[start:position]
            start = position + 1
    yield text[start:]
