"""Why an op does not share the kernel in which the last of its operands is made.

>>> import nervure as nv
>>> from nervure.kernel.cluster.clustering import cluster
>>> x = nv.Parameter(nv.float32, (8, 16))
>>> rows, columns = nv.ops.Sum(nv.ops.Exp(x), [1]), nv.ops.Sum(nv.ops.Exp(x), [0])
>>> steps = cluster(nv.Function([nv.ops.Sum(rows, [0]), columns], [x]))
>>> [(type(op).__name__, why.name) for step in steps for op, why in step.refused.items()]
[('Sum', 'OTHER_SHAPE'), ('Sum', 'OTHER_AXES')]
"""

from __future__ import annotations

from enum import Enum


class Refusal(Enum):
    """A reason, as explanations print it after the name of the op."""

    NO_LOOPS = "its operand is made by a step that no other op joins"
    TOO_MANY_OPS = "the kernel of its operand has as many ops as one may have"
    OTHER_SHAPE = "it runs over another shape than the kernel of its operand"
    OTHER_AXES = "the kernel of its operand reduces other axes"
    OTHER_INDEX = "it reads its operand at another index than its own"
    FEW_ROWS = "the rows of the kernel of its operand are too few or too long for threads to share"
