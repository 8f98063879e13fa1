"""A commutative op of a user's own, for what passes do with the order of operands."""

from __future__ import annotations

from nervure.ir.kinds import Elementwise
from nervure.types.element_groups import FLOATS


class Midpoint(Elementwise):
    """(x + y) / 2."""

    operand_names = "x y"
    admits = FLOATS
    commutative = True

    def evaluate(self, s, x, y):
        return s.multiply(s.add(x, y), s.constant(0.5, x))
