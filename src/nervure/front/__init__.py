"""The forgiving surface: tensors with named axes, alignment, promotion, and functions with effects.

What the strict core refuses is made explicit here: an axis that is missing becomes a broadcast, an element type
that differs a conversion, a length that is not known to be equal an assumption that every call checks.

>>> import nervure as nv
>>> rows, columns = nv.constant([1, 2], axes="H=2"), nv.constant([0.5, 0.25, 0.0], axes="W=3")
>>> rows * columns
<Tensor f32[H=2, W=3] Multiply>
"""

from nervure.front import methods as methods
