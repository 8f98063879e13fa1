"""Bits of integers; bool counts as one bit.

>>> import nervure as nv
>>> x = nv.Parameter(nv.uint8, (3,))
>>> BitwiseAnd(x, x.full(15))
u8[3] BitwiseAnd(Parameter, Full)
"""

from __future__ import annotations

from nervure.ops.scalar_op import elementwise

BitwiseAnd = elementwise("bitwise_and", surface="bitwise_and(np.array([6, 5]), 3) -> [2, 1]")

BitwiseOr = elementwise("bitwise_or", surface="bitwise_or(np.array([6, 5]), 3) -> [7, 7]")

BitwiseXor = elementwise("bitwise_xor", surface="bitwise_xor(np.array([6, 5]), 3) -> [5, 6]")

BitwiseNot = elementwise("bitwise_not", surface="bitwise_not(np.array([0, 5])) -> [-1, -6]")

ShiftLeft = elementwise("shift_left", surface="left_shift(np.array([1, 3]), 2) -> [4, 12]")

ShiftRight = elementwise("shift_right", surface="right_shift(np.array([8, 5]), 1) -> [4, 2]")
