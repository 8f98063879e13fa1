"""Comparisons, predicates and logic: results are bool, and no derivative passes through them.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (3,))
>>> LogicalOr(IsNan(x), Less(x, x.full(0)))
bool[3] LogicalOr(IsNan, Less)
"""

from __future__ import annotations

from typing import Any

from nervure.ir.kinds import ANY, BOOL, NUMBERS, REALS, Elementwise
from nervure.types.dtype import bool_

ORDERED = REALS | BOOL


class Comparison(Elementwise, abstract=True):
    """Two tensors compared; with NaN all are false but NotEqual."""

    operand_names = "x y"
    admits = ORDERED
    result = bool_


class Equal(Comparison):
    """x == y; -0.0 equals 0.0."""

    admits = ANY

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.equal(*elements)


class NotEqual(Comparison):
    """x != y; true with NaN."""

    admits = ANY

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.not_equal(*elements)


class Less(Comparison):
    """x < y."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.less(*elements)


class LessEqual(Comparison):
    """x <= y."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.less_equal(*elements)


class Greater(Comparison):
    """x > y."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        x, y = elements
        return s.less(y, x)


class GreaterEqual(Comparison):
    """x >= y."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        x, y = elements
        return s.less_equal(y, x)


class LogicalAnd(Comparison):
    """Whether both hold."""

    admits = BOOL

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.bitwise_and(*elements)


class LogicalOr(Comparison):
    """Whether one or both hold."""

    admits = BOOL

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.bitwise_or(*elements)


class LogicalXor(Comparison):
    """Whether exactly one holds."""

    admits = BOOL

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.bitwise_xor(*elements)


class Predicate(Elementwise, abstract=True):
    """A question about one number."""

    operand_names = "x"
    admits = NUMBERS
    result = bool_


class LogicalNot(Predicate):
    """Whether x does not hold."""

    admits = BOOL

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.bitwise_not(*elements)


class IsNan(Predicate):
    """Whether x is NaN; integers never are."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.is_nan(*elements)


class IsInf(Predicate):
    """Whether x is an infinity."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.is_inf(*elements)


class IsFinite(Predicate):
    """Whether x is neither NaN nor an infinity."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.is_finite(*elements)
