"""Comparisons, predicates and logic: results are bool, and no derivative passes through them.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (3,))
>>> LogicalOr(IsNan(x), Less(x, x.full(0)))
bool[3] LogicalOr(IsNan, Less)
"""

from __future__ import annotations

from typing import Any

from nervure.ir.kinds import BOOL, ORDERED, Elementwise
from nervure.ops.scalar_op import elementwise
from nervure.types.dtype import bool_

Equal = elementwise("equal")

NotEqual = elementwise("not_equal")

Less = elementwise("less")

LessEqual = elementwise("less_equal")


class _Reversed(Elementwise, abstract=True):
    """A comparison that is another one with its operands exchanged."""

    operand_names = "x y"
    admits = ORDERED
    result = bool_
    cost = 1


class Greater(_Reversed):
    """x > y."""

    def evaluate(self, s: Any, x: Any, y: Any) -> Any:
        return s.less(y, x)


class GreaterEqual(_Reversed):
    """x >= y."""

    def evaluate(self, s: Any, x: Any, y: Any) -> Any:
        return s.less_equal(y, x)


LogicalAnd = elementwise("bitwise_and", name="LogicalAnd", admits=BOOL, doc="Whether both hold.")

LogicalOr = elementwise("bitwise_or", name="LogicalOr", admits=BOOL, doc="Whether one or both hold.")

LogicalXor = elementwise("bitwise_xor", name="LogicalXor", admits=BOOL, doc="Whether exactly one holds.")

LogicalNot = elementwise("bitwise_not", name="LogicalNot", admits=BOOL, doc="Whether x does not hold.")

IsNan = elementwise("is_nan")

IsInf = elementwise("is_inf")

IsFinite = elementwise("is_finite")
