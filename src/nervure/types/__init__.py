"""The description of a tensor without its elements: lengths, axes, element types, layouts, index maps and views.

>>> import nervure as nv
>>> from nervure.types.description import BasicTensorDescription
>>> print(BasicTensorDescription(nv.float32, (nv.dim("n"), 3)), nv.make_axes("N=n, C=3"))
f32[n, 3] (N: n, C: 3)
"""
