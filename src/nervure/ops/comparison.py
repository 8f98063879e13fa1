"""Comparisons, predicates and logic: results are bool, and no derivative passes through them.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (3,))
>>> LogicalOr(IsNan(x), Less(x, x.full(0)))
bool[3] LogicalOr(IsNan, Less)
"""

from __future__ import annotations

from nervure.ir.kinds import Elementwise
from nervure.ops.scalar import Scalar, ScalarNamespace
from nervure.ops.scalar_op import elementwise
from nervure.types.dtype import bool_
from nervure.types.element_groups import BOOL, NUMBERS, ORDERED

Equal = elementwise("equal", surface="equal(np.array([1, 2]), 2) -> [False, True]")

NotEqual = elementwise("not_equal", surface="not_equal(np.array([1, 2]), 2) -> [True, False]")

Less = elementwise("less", surface="less(np.array([1, 2]), 2) -> [True, False]")

LessEqual = elementwise("less_equal", surface="less_equal(np.array([1, 2]), 1) -> [True, False]")


class _Reversed(Elementwise, abstract=True):
    """A comparison that is another comparison with its operands swapped."""

    operand_names = "x y"
    admits = ORDERED
    result = bool_
    cost = 1


class Greater(_Reversed):
    """x > y."""

    surface = "greater(np.array([1, 2]), 1) -> [False, True]"

    def evaluate(self, s: ScalarNamespace[Scalar], x: Scalar, y: Scalar) -> Scalar:
        return s.less(y, x)


class GreaterEqual(_Reversed):
    """x >= y."""

    surface = "greater_equal(np.array([1, 2]), 2) -> [False, True]"

    def evaluate(self, s: ScalarNamespace[Scalar], x: Scalar, y: Scalar) -> Scalar:
        return s.less_equal(y, x)


LogicalAnd = elementwise("bitwise_and", name="LogicalAnd",
                         surface="logical_and(np.array([True, False]), True) -> [True, False]",
                         admits=BOOL, doc="Whether both hold.")

LogicalOr = elementwise("bitwise_or", name="LogicalOr",
                        surface="logical_or(np.array([True, False]), False) -> [True, False]",
                        admits=BOOL, doc="Whether one or both hold.")

LogicalXor = elementwise("bitwise_xor", name="LogicalXor",
                         surface="logical_xor(np.array([True, False]), True) -> [False, True]",
                         admits=BOOL, doc="Whether exactly one holds.")

LogicalNot = elementwise("bitwise_not", name="LogicalNot", admits=BOOL, doc="Whether x does not hold.")

IsNan = elementwise("is_nan", admits=NUMBERS, surface="is_nan(np.array([1.0, np.nan])) -> [False, True]")

IsInf = elementwise("is_inf", admits=NUMBERS, surface="is_inf(np.array([1.0, -np.inf])) -> [False, True]")

IsFinite = elementwise("is_finite", admits=NUMBERS, surface="is_finite(np.array([1.0, np.inf])) -> [True, False]")
