"""Complex numbers and their parts.

>>> import nervure as nv
>>> re, im = nv.Parameter(nv.float32, (3,)), nv.Parameter(nv.float32, (3,))
>>> Imaginary(Complex(re, im))
f32[3] Imaginary(Complex)
"""

from __future__ import annotations

from nervure.ops.scalar_op import elementwise

Real = elementwise("real")

Imaginary = elementwise("imaginary")

Complex = elementwise("complex")

Conjugate = elementwise("conjugate")
