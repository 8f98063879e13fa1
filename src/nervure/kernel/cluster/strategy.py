"""Strategies: the way to lower the loops that ops share, decided once for each step.

>>> import nervure as nv
>>> from nervure.kernel.cluster import cluster
>>> for shape in ((512, 64), (4, 1 << 16)):
...     x = nv.Parameter(nv.float32, shape)
...     step, *_ = cluster(nv.Function([nv.ops.Sum(x, [1])], [x]))
...     print(step.strategy)
LoopStrategy.ROWS
LoopStrategy.BLOCKS
"""

from __future__ import annotations

from nervure.kernel.analysis import OpAnalysis, OpKind
from nervure.kernel.cluster.steps import Loops, LoopStrategy, Segments
from nervure.kernel.tuning import LONG_ROW, SMALL_TENSOR
from nervure.support.machine import Machine
from nervure.types.dim import product


def strategy_of(step: Loops, ops: OpAnalysis, machine: Machine) -> LoopStrategy:
    """Returns the strategy of a step. Combiners of users have no blocks, since nothing says that their reductions may
    be divided.
    """
    if step.reduced is None:
        return LoopStrategy.POINTWISE
    if step.cross_row:
        return LoopStrategy.CROSS_ROWS
    is_whole = any([ops.kind(op) is OpKind.REDUCTION and callable(ops.structure(op).combine) for op in step.ops])
    return LoopStrategy.ROWS if is_whole or has_enough_rows(step, machine) else LoopStrategy.BLOCKS


def has_enough_rows(step: Loops, machine: Machine) -> bool:
    """Whether threads should have rows of their own.

    Few rows are not enough, unless their elements are a product of separated axes: a block of those would need a
    division for each element. Nor are long rows that lie across memory, hence side by side: a processor that reads
    some of them also loads the cache lines of their neighbours.
    """
    if step.has_contraction:
        return True
    rows, size = product(step.kept), product(step.shape)
    if isinstance(size, int) and size <= SMALL_TENSOR:
        return True
    length = product([step.shape[axis] for axis in step.reduced or ()])
    if not step.has_lanes_along_row and isinstance(length, int) and length >= LONG_ROW:
        return False
    return not isinstance(rows, int) or rows >= (2 if _lie_apart(step) else machine.threads)


def _lie_apart(step: Loops) -> bool:
    """Whether there is another axis between the reduced ones."""
    reduced = [axis for axis in step.reduced or () if step.shape[axis] != 1]
    between = range(min(reduced, default=0), max(reduced, default=0))
    return any([step.shape[axis] != 1 and axis not in reduced for axis in between])


def are_together(step: Segments, machine: Machine) -> bool:
    """Whether the parts of a view share loops: over axes that all have whole, if these are enough rows for threads."""
    rows = product(step.op.outputs[0].shape[:step.shared])
    return not isinstance(rows, int) or rows >= machine.threads
