"""What ops cost, in additions of one vector: for choosing whether to compute again, and for estimates of time.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (8,))
>>> cost_of(nv.ops.Add(x, x)), cost_of(nv.ops.Divide(x, x)), cost_of(nv.ops.Exp(x))
(1, 5, 16)
"""

from __future__ import annotations

from nervure import ops
from nervure.ir.kinds import Elementwise
from nervure.ir.op import Op

_FREE = (ops.StopGradient, ops.Bitcast, ops.Real, ops.Imaginary)
_PLAIN = (ops.Absolute, ops.Add, ops.BitwiseAnd, ops.BitwiseNot, ops.BitwiseOr, ops.BitwiseXor, ops.Ceil, ops.Convert,
          ops.Equal, ops.Floor, ops.Greater, ops.GreaterEqual, ops.IsFinite, ops.IsInf, ops.IsNan, ops.Less,
          ops.LessEqual, ops.LogicalAnd, ops.LogicalNot, ops.LogicalOr, ops.LogicalXor, ops.Maximum, ops.Minimum,
          ops.Multiply, ops.Negative, ops.NotEqual, ops.Relu, ops.Round, ops.ShiftLeft, ops.ShiftRight, ops.Sign,
          ops.Subtract, ops.Truncate, ops.Where)
_SLOW = (ops.Divide, ops.Sqrt)
_SLOWER = (ops.ErfInv, ops.Power)
_SLOWEST = (ops.Digamma, ops.Lgamma)

FEW_INSTRUCTIONS = frozenset((
    "add", "subtract", "multiply", "divide", "negative", "absolute", "maximum", "minimum", "fma", "sqrt",
    "where", "equal", "not_equal", "less", "less_equal", "is_nan", "is_inf", "is_finite",
    "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "shift_left", "shift_right",
    "convert", "wrap", "bitcast", "real", "imaginary", "complex", "conjugate", "floor", "ceil", "round", "truncate"))
"""The functions of the scalar namespace that are a few instructions each."""


def cost_of(op: Op) -> int:
    """What one op costs at one point."""
    if isinstance(op, _FREE):
        return 0
    if isinstance(op, _PLAIN):
        return 1
    if isinstance(op, _SLOW):
        return 5
    if isinstance(op, _SLOWER):
        return 50
    if isinstance(op, _SLOWEST):
        return 300
    if isinstance(op, ops.RandomBlocks):
        return 100
    return 16 if isinstance(op, Elementwise) else 2
