"""Quotients counted along a loop: if the dividend grows by 1 in each iteration, no division is needed.

>>> from nervure.support.machine import GENERIC
>>> from nervure.transformers.cpu.compile.codegen.context import ARGUMENTS
>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> index, b = LoopIndex(0), Builder("kernel", ARGUMENTS)
>>> context = Context(b, GENERIC, register_lanes=8)
>>> Quotients(context, index, [Division(index.dim + 3, 4)], b.arguments[2]).first
[i64 i64 %v1, i64 i64 %v3]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nervure.kernel.divisions import Division
from nervure.kernel.loop_index import LoopIndex
from nervure.transformers.cpu.compile.codegen.context import Context, Value
from nervure.transformers.cpu.compile.codegen.element import Element, Elements, shaped
from nervure.transformers.cpu.compile.codegen.expressions import dimension, quotient_keys, sum_of_two
from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.types.dtype import int64


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
