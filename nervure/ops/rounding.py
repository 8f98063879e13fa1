"""Rounding, magnitude and sign.

>>> import nervure as nv
>>> Round(nv.Parameter(nv.float32, (3,)))
f32[3] Round(Parameter)

Floor, Ceil, Round and Truncate leave integers as they are; their derivatives, and that of Sign, are zero.
"""

from __future__ import annotations

from nervure.ir.kinds import REALS
from nervure.ops.scalar_op import elementwise

Floor = elementwise("floor", surface="floor(np.array([1.7, -1.2])) -> [1.0, -2.0]",
                    admits=REALS, vjp=lambda self, gradient, x: None)

Ceil = elementwise("ceil", surface="ceil(np.array([1.2, -1.7])) -> [2.0, -1.0]",
                   admits=REALS, vjp=lambda self, gradient, x: None)

Round = elementwise("round", admits=REALS, vjp=lambda self, gradient, x: None)

Truncate = elementwise("truncate", surface="trunc(np.array([1.7, -1.7])) -> [1.0, -1.0]",
                       admits=REALS, vjp=lambda self, gradient, x: None)

Sign = elementwise("sign", surface="sign(np.array([-3, 0, 5])) -> [-1, 0, 1]",
                   vjp=lambda self, gradient, x: None)

Absolute = elementwise("absolute", surface="absolute(np.array([-1.5, 2.0])) -> [1.5, 2.0]",
                       vjp=lambda self, gradient, x: gradient * Sign(x), note="The derivative at 0 is 0.")
