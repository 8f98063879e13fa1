"""Loop indices: the counters of loops, which occur in the dimensions inside of them.

>>> i, j = LoopIndex(0), LoopIndex(1)
>>> place = 8 * i.dim + j.dim // 2
>>> place, sorted_indices(place) == [i, j], i.occurs_in(place), LoopIndex(2).occurs_in(place)
(8*%0 + %1//2, True, True, False)
>>> substitute_indices(place, {i: 3, j: 4 * i.dim})
2*%0 + 24
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from nervure.types.dim import Dim, DimLike, index, index_symbols, substitute, symbols
from nervure.types.layout import row_major_position


class LoopIndex:
    """The loop index of a number. There is one object for each number, so that they compare by identity.

    ``dim`` is its value as a dimension, ``name`` its name in dimensions.
    """

    __slots__ = ("dim", "name", "number")
    _made: ClassVar[dict[int, LoopIndex]] = {}
    dim: Dim
    name: str
    number: int

    def __new__(cls, number: int) -> LoopIndex:
        made = cls._made.get(number)
        if made is None:
            made = super().__new__(cls)
            made.number, made.dim = number, index(number)
            made.name = str(made.dim)
            made = cls._made.setdefault(number, made)  # another thread may have been faster
        return made

    def occurs_in(self, x: DimLike) -> bool:
        """Whether a dimension depends on it."""
        return self.name in symbols(x)

    def __repr__(self) -> str:
        return self.name


Indices = tuple[tuple[LoopIndex, DimLike], ...]
"""Loop indices from the outside in, each with its extent."""


def position_among(loops: Iterable[tuple[LoopIndex, DimLike]]) -> DimLike:
    """Returns the row-major position of a point among loops."""
    pairs = [*loops]
    return row_major_position([entry.dim for entry, _ in pairs], [extent for _, extent in pairs])


def index_named(name: str) -> LoopIndex:
    """Returns the loop index that has this name in dimensions."""
    return LoopIndex(int(name.removeprefix("%")))


def sorted_indices(x: DimLike) -> list[LoopIndex]:
    """Returns the loop indices that a dimension depends on, by their numbers."""
    return sorted([index_named(name) for name in index_symbols(x)], key=lambda entry: entry.number)


def substitute_indices(x: DimLike, table: Mapping[LoopIndex, DimLike]) -> DimLike:
    """Replaces some loop indices in a dimension by expressions, all at once."""
    return substitute(x, {entry.name: value for entry, value in table.items()}) if isinstance(x, Dim) else x
