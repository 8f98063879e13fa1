"""Values with their elements in other places: dimensions that are divided or joined, borders, copies.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2, 6, 5))
>>> by_group(x, 3, 1).shape, joined(x, 0).shape
((2, 3, 2, 5), (12, 5))
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.ir.kinds import View
from nervure.ir.op import Value
from nervure.ops.views import Contiguous, Pad, Reshape
from nervure.types.dim import DimLike


def padded(x: Value, paddings: Sequence[tuple[DimLike, DimLike]]) -> Value:
    """x with zeros around it."""
    return x if all([entry == (0, 0) for entry in paddings]) else Pad(x, paddings).output


def in_memory(x: Value) -> Value:
    """A value that lies in memory in its own order: as it is where an op computes it, else moved there."""
    made = x
    while type(made.op) is Reshape:
        made = made.op.operands[0]
    return Contiguous(x).output if isinstance(made.op, View) else x


def by_group(x: Value, groups: int, axis: int) -> Value:
    """A dimension as two: the groups, and the elements of a group."""
    each = x.shape[axis] if groups == 1 else x.shape[axis] // groups
    return Reshape(x, (*x.shape[:axis], groups, each, *x.shape[axis + 1:])).output


def joined(x: Value, axis: int) -> Value:
    """A dimension and the next one as one."""
    return Reshape(x, (*x.shape[:axis], x.shape[axis] * x.shape[axis + 1], *x.shape[axis + 2:])).output
