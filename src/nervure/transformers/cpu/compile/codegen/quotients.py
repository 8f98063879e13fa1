"""Quotients counted along a loop: if the dividend grows by 1 in each iteration, no division is needed.

The positions of rows in several loops that became one, and of places with others inserted between them, are quotients
and remainders of an index. Counting them takes an addition and a comparison; dividing takes longer than moving a row
of a few elements.

>>> from nervure.kernel.parser import parse_kernel
>>> kernel = parse_kernel('''
... kernel turned(in x: f32[60], out y: f32[60]):
...   for i < 5 parallel:
...     for j < 12:
...       v0 = x[12*i + j]
...       y[4*i + 20*((i + j) % 4) + (i + j)//4] = v0
... ''')
>>> divisions(kernel.body[0].body[0])
[Division(dividend=%0 + %1, divisor=4)]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from nervure.kernel.ir import Access, For, Index, Loop, Statement, walk
from nervure.kernel.loop_index import LoopIndex
from nervure.transformers.cpu.compile.codegen.context import Context, Value
from nervure.transformers.cpu.compile.codegen.element import Element, Elements, shaped
from nervure.transformers.cpu.compile.codegen.expressions import dimension, quotient_keys, sum_of_two
from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.types.dim import DimLike, affine, index_symbols, less_equal
from nervure.types.dim.polynomial import Kind
from nervure.types.dim.queries import index_terms
from nervure.types.dtype import int64


class Division(NamedTuple):
    """The dividend and the divisor of a division in a loop."""

    dividend: DimLike
    divisor: DimLike


def divisions(loop: For) -> list[Division]:
    """Returns the divisions inside of a loop that can be counted. The divisor is a number of at least 1. The dividend
    depends on outer indices and the loop's own, grows by 1 from iteration to iteration and is never negative.
    """
    found = dict.fromkeys([division for x in _bent(loop.body, loop.index) for division in _divisions(x)])
    if not found:
        return []
    inner = {index.name for entry in walk(loop.body) if isinstance(entry, Loop) for index, _ in entry.indices}
    return [division for division in found if _is_counted(division, loop.index, inner)]


def _bent(body: Iterable[Statement], index: LoopIndex) -> Iterator[DimLike]:
    """Yields the expressions of an index in a body that need not be affine."""
    for entry in walk(body):
        x = entry.address.base if isinstance(entry, Access) else entry.expression if isinstance(entry, Index) else 0
        if index.occurs_in(x):
            yield x


@lru_cache(maxsize=4096)
def _divisions(x: DimLike) -> tuple[Division, ...]:
    factors = [factor for _, factors in index_terms(x) for factor in factors]
    own = [Division(*factor.operands) for factor in factors if factor.kind in (Kind.FLOOR_DIVIDE, Kind.REMAINDER)]
    return (*own, *[below for factor in factors for operand in factor.operands for below in _divisions(operand)])


def _is_counted(division: Division, index: LoopIndex, inner: set[str]) -> bool:
    parts = affine(division.dividend, [index.name])
    is_plain = less_equal(0, division.dividend) is True and less_equal(1, division.divisor) is True
    return (parts is not None and parts[0][index.name] == 1 and inner.isdisjoint(index_symbols(division.dividend))
            and not index_symbols(division.divisor) and is_plain)


class Quotients:
    """The quotients and remainders of some divisions, which a loop carries from ``begin`` on. They are equal in all
    lanes of a vector loop around it. The first iteration receives ``first``.
    """

    def __init__(self, context: Context, index: LoopIndex, found: Sequence[Division], begin: Register) -> None:
        lanes = context.lanes
        self._context = context
        self._found = [division for division in found if lanes is None or not lanes.index.occurs_in(division.dividend)]
        self.first = [element for division in self._found for element in self._at(division, index, begin)]

    def _at(self, division: Division, index: LoopIndex, begin: Register) -> Elements:
        context = self._context
        rest = dimension(context, division.dividend - index.dim)
        dividend = sum_of_two(context, rest, context.here(Element(int64, (begin,)))).register
        divisor = dimension(context, division.divisor).register
        quotient = dividend.quotient(divisor)
        return [Element(int64, (entry,)) for entry in (quotient, dividend - quotient * divisor)]

    def keep(self, carried: Elements) -> None:
        """Makes the values that an iteration has received known in it."""
        for division, *pair in self._each(carried):
            for key, element in zip(quotient_keys(*self._values(division)), pair, strict=True):
                self._context.keep(key, self._context.here(element))

    def following(self, carried: Elements) -> Elements:
        """Returns the values that the next iteration receives."""
        b, found = self._context.builder, list[Register]()
        for division, quotient, remainder in self._each(carried):
            following = remainder.register + 1
            is_full = following.equal(self._values(division)[1].register)
            found += [b.where(is_full, quotient.register + 1, quotient.register), b.where(is_full, 0, following)]
        return shaped(carried, found)

    def _each(self, carried: Elements) -> Iterable[tuple[Division, Element, Element]]:
        return zip(self._found, carried[::2], carried[1::2], strict=True)

    def _values(self, division: Division) -> tuple[Value, Value]:
        return dimension(self._context, division.dividend), dimension(self._context, division.divisor)
