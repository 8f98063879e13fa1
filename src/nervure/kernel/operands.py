"""Operands of statements in the loop IR: scalars, buffers and addresses.

>>> i = LoopIndex(0)
>>> place = Address(3, ((i, 8),))
>>> place.substitute({i: 2 * i.dim + 1})
Address(base=11, steps=((%0, 16),), terms=())
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeGuard

from nervure.kernel.loop_index import LoopIndex, sorted_indices, substitute_indices
from nervure.support.replacing import replace
from nervure.types.dim import DimLike, affine, index_symbols
from nervure.types.dtype import DType


class Variable:
    """A scalar that one statement defines, in the loop where the statement stands; compared by identity."""

    __slots__ = ("dtype",)

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype

    def __repr__(self) -> str:
        return f"<{self.dtype.short} variable>"


def is_structural(expression: DimLike) -> TypeGuard[int]:
    """Whether an index is a number of a kernel's structure; all others are sizes, in which equal kernels may differ."""
    return isinstance(expression, int) and -2 <= expression <= 2


@dataclass(frozen=True, eq=False, slots=True)
class Literal:
    """A number of an element type; equal to another one with the same bits, so that 0.0 differs from -0.0."""

    value: bool | int | float | complex
    dtype: DType

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self.dtype is other.dtype and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash((self.dtype, repr(self.value)))


Scalar = Variable | Literal


@dataclass(frozen=True, eq=False, slots=True)
class Buffer:
    """Flat memory of ``size`` elements. ``scratch`` belongs to one thread, for one iteration of the parallel loop, and
    ``private`` memory to one iteration of a vector loop.

    No two buffers of a kernel overlap, except an ``in`` and an ``out`` that share one memory: then each element is
    read before it is written, by the iteration that writes it.
    """

    name: str
    dtype: DType
    size: DimLike
    role: str

    @property
    def nbytes(self) -> DimLike:
        """The number of bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def is_given(self) -> bool:
        """Whether it is memory that the kernel is given, rather than of its own."""
        return self.role not in ("scratch", "private")


@dataclass(frozen=True, slots=True)
class Address:
    """A place in a buffer, in elements: ``base + sum(step * index) + sum(stride * variable)``.

    ``steps`` are the loop indices that it is affine in. ``base`` is over the function's symbols; an index that enters
    in another way (divided, clamped) occurs in the base.
    """

    base: DimLike
    steps: tuple[tuple[LoopIndex, DimLike], ...] = ()
    terms: tuple[tuple[DimLike, Scalar], ...] = ()

    @property
    def dims(self) -> tuple[DimLike, ...]:
        """The dimensions that occur in it."""
        return (self.base, *[step for _, step in self.steps], *[stride for stride, _ in self.terms])

    @property
    def operands(self) -> tuple[Scalar, ...]:
        """The scalars that occur in it."""
        return tuple([scalar for _, scalar in self.terms])

    def step(self, index: LoopIndex) -> DimLike:
        """Returns the distance that one iteration of a loop moves it, if it is affine in the loop's ``index``; else 0.
        """
        return dict(self.steps).get(index, 0)

    def mentions(self, index: LoopIndex) -> bool:
        """Whether it depends on a loop index."""
        return index in dict(self.steps) or index.occurs_in(self.base)

    def replace_operands(self, table: Mapping[Variable, Scalar]) -> Address:
        """Returns the address with other scalars for some variables."""
        if not any([scalar in table for scalar in self.operands]):
            return self
        return replace(self, terms=tuple([(stride, table.get(x, x) if isinstance(x, Variable) else x)
                                          for stride, x in self.terms]))

    def substitute(self, indices: Mapping[LoopIndex, DimLike]) -> Address:
        """Returns the address with expressions in place of some loop indices; it is affine in the same indices as
        these.
        """
        if not any([self.mentions(index) for index in indices]):
            return self
        base = substitute_indices(self.base, indices)
        kept: dict[LoopIndex, DimLike] = {}
        added: dict[LoopIndex, DimLike] = {}
        for index, step in self.steps:
            if index not in indices:
                kept[index] = step
                continue
            factors, rest = _affine_parts(indices[index])
            base = base + step * rest
            for moving, factor in factors.items():
                steps = kept if moving is index else added
                steps[moving] = steps.get(moving, 0) + step * factor
        for moving, step in added.items():
            kept[moving] = kept.get(moving, 0) + step
        return Address(base, tuple(kept.items()), self.terms)


def _affine_parts(x: DimLike) -> tuple[dict[LoopIndex, DimLike], DimLike]:
    """Returns (factors, rest) with x == the sum of index * factor, plus the rest, which has the indices that x is not
    affine in.
    """
    factors: dict[LoopIndex, DimLike] = {}
    for index in sorted_indices(x):
        parts = affine(x, [index.name])
        if parts is not None and not index_symbols(parts[0][index.name]):
            factors[index], x = parts[0][index.name], parts[1]
    return factors, x
