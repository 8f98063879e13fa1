"""The forgiving surface: tensors with named axes, alignment, promotion, and functions with effects.

This layer makes explicit what the strict core requires: a missing axis becomes a broadcast, a different element type a
conversion, and a length that is not known to be equal an assumption that every call checks.

>>> import nervure as nv
>>> rows, columns = nv.constant([1, 2], axes="H=2"), nv.constant([0.5, 0.25, 0.0], axes="W=3")
>>> rows * columns
<Tensor f32[H=2, W=3] Multiply>
"""

from nervure.front import methods as methods
