"""Bundles: 32 bits of consecutive points of a row or a column of bytes, which register tiles treat as one element.

A bundle has four bytes, and one instruction adds all products of two bundles to a sum, without saturating; or, on
machines that lack it, two bytes widened to 16 bits, whose products are added in pairs. Both are exact modulo 2**32.

The instruction takes an unsigned and a signed byte. If both operands have one sign, ``x * y`` is ``(x ^ 128) * y``
minus the product of 128 (or -128, as the instruction reads it) and y; sums start from the negatives of these.

>>> Bundles(is_left_signed=False, is_right_signed=True, points=4).suffix
'u8_i8'
>>> [bundles.is_flipped for bundles in (Bundles(True, True, 4), Bundles(True, True, 2), Bundles(False, True, 4))]
[True, False, False]
"""

from __future__ import annotations

from typing import NamedTuple

from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.transformers.cpu.compile.llvm.types import I8, I16, Type


class Bundles(NamedTuple):
    """Whether the bytes of the left and of the right operand are signed, and the number of points of a bundle, 4 or 2.
    """

    is_left_signed: bool
    is_right_signed: bool
    points: int

    @property
    def suffix(self) -> str:
        """Its name in the names of functions."""
        return "_".join([f"{'i' if is_signed else 'u'}8" for is_signed in (self.is_left_signed, self.is_right_signed)])

    @property
    def is_flipped(self) -> bool:
        """Whether lines have the bytes of the left operand with the highest bit flipped, hence of the other sign."""
        return self.points == 4 and self.is_left_signed == self.is_right_signed

    @property
    def part(self) -> Type:
        """The type of a point in a bundle."""
        return I8 if self.points == 4 else I16

    def widened(self, x: Register, is_signed: bool) -> Register:
        """Returns bytes as points of bundles."""
        return x.cast("sext" if is_signed else "zext", self.part) if self.points == 2 else x

    def with_products(self, left: Register, right: Register, total: Register) -> Register:
        """Returns the sums ``total`` with the products of the bundles of a line, ``left``, and a panel, ``right``,
        added.
        """
        b, lanes = total.builder, total.type.lanes
        both = [x.regrouped(self.part.vector(self.points * lanes)) for x in (left, right)]
        if self.points == 2:
            name = "avx512.pmaddw.d.512" if lanes == 16 else "avx2.pmadd.wd"
            return total + b.call(f"llvm.x86.{name}", total.type, *both)
        if not self.is_right_signed:
            both.reverse()  # the unsigned bytes come first
        return b.call(f"llvm.x86.avx512.vpdpbusd.{32 * lanes}", total.type, total, *both)
