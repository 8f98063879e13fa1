"""Rounding, magnitude and sign.

>>> import nervure as nv
>>> Round(nv.Parameter(nv.float32, (3,)))
f32[3] Round(Parameter)

Floor, Ceil, Round and Truncate leave integers as they are; their derivatives, and that of Sign, are zero.
"""

from __future__ import annotations

from nervure.ir.kinds import REALS
from nervure.ops.scalar_op import elementwise

Floor = elementwise("floor", admits=REALS, vjp=lambda self, gradient, x: None)

Ceil = elementwise("ceil", admits=REALS, vjp=lambda self, gradient, x: None)

Round = elementwise("round", admits=REALS, vjp=lambda self, gradient, x: None)

Truncate = elementwise("truncate", admits=REALS, vjp=lambda self, gradient, x: None)

Sign = elementwise("sign", vjp=lambda self, gradient, x: None)

Absolute = elementwise("absolute", vjp=lambda self, gradient, x: gradient * Sign(x), note="The derivative at 0 is 0.")
