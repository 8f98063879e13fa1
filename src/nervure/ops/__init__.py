"""The vocabulary: a file per family, a class per op.

An op is built on values, whose types it checks, and has the types of its outputs at once:

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2, 3))
>>> str(nv.ops.MatMul(x, nv.ops.Permute(x, (1, 0))).type)
'f32[2, 2]'

The names are those of the classes that the families below register; ``__init__.pyi``, which is made from them,
declares them for type checkers. The ops that order effects (``order.py``) are no part of it: only the front makes
them.
"""

# ruff: noqa: F401  # the families are looked for among the names of this module

from __future__ import annotations

from types import ModuleType

from nervure.ir import leaves
from nervure.ir.op import registry
from nervure.ops import (
    activation,
    arithmetic,
    attention,
    between,
    branching,
    comparison,
    contraction,
    conversion,
    convolution,
    cumulative,
    custom,
    effects,
    einsum,
    embedding,
    exponential,
    finding,
    fourier,
    indexing,
    iota,
    library_op,
    linear_algebra,
    looping,
    normalization,
    pooling,
    random,
    reductions,
    rematerialising,
    selection,
    sharding,
    softmax,
    sorting,
    special,
    special_function,
    statistics,
    triangles,
    trigonometric,
    update,
    views,
)

_FAMILIES = {entry.__name__ for entry in [*globals().values()] if isinstance(entry, ModuleType)}
_CLASSES = {name: op_class for name, op_class in sorted(registry.items()) if op_class.__module__ in _FAMILIES}

globals().update(_CLASSES)
__all__ = [*_CLASSES]  # noqa: PLE0604  # names of classes
