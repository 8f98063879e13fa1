"""Bits of integers; bool counts as one bit.

>>> import nervure as nv
>>> x = nv.Parameter(nv.uint8, (3,))
>>> BitwiseAnd(x, x.full(15))
u8[3] BitwiseAnd(Parameter, Full)
"""

from __future__ import annotations

from nervure.ops.scalar_op import elementwise

BitwiseAnd = elementwise("bitwise_and")

BitwiseOr = elementwise("bitwise_or")

BitwiseXor = elementwise("bitwise_xor")

BitwiseNot = elementwise("bitwise_not")

ShiftLeft = elementwise("shift_left")

ShiftRight = elementwise("shift_right")
