"""Derivatives as transformations of graphs: the gradient of an expression is another expression.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (3,))
>>> (gradient,) = gradients([nv.ops.Sum(x * x, axes=(0,)).output], [x.output], [None])
>>> str(gradient.type)
'f32[3]'
"""

from nervure.autodiff.batching import batched
from nervure.autodiff.forward import tangents
from nervure.autodiff.reverse import gradients

__all__ = ["batched", "gradients", "tangents"]
