"""Lowering: each step of a clustered function becomes kernels of the loop IR, by the rule for its kind and strategy.

>>> import nervure as nv
>>> from nervure.kernel.cluster import cluster
>>> from nervure.kernel.printer import print_kernel
>>> from nervure.kernel.producers import ProducerAnalysis
>>> x = nv.Parameter(nv.float32, (8,))
>>> y = nv.ops.Exp(x).output
>>> function = nv.Function([y], [x])
>>> producers = ProducerAnalysis(function)
>>> memory = BufferAssignment(producers)
>>> memory.places |= {value: memory.temporary(value.dtype, value.shape, value) for value in (x.value, y)}
>>> step, = cluster(function, producers)
>>> lowered, = lower_step(step, memory)
>>> print(print_kernel(lowered.kernel), end="")
kernel pointwise(in b0: f32[8], out b1: f32[8]):
  for i < 8 parallel vector:
    v0 = b0[i]
    v1 = exp(v0)
    b1[i] = v1
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.errors import InternalError
from nervure.kernel.cluster.steps import Copy, Guards, Loops, LoopStrategy, Opaque, Scatter, Segments, Step
from nervure.kernel.lower.blocks import lower_blocks
from nervure.kernel.lower.kernel_builder import BufferAssignment, LoweredKernel, LoweredOpaque, lower_opaque
from nervure.kernel.lower.rows import lower_cross_rows, lower_rows
from nervure.kernel.lower.scatter import lower_scatter
from nervure.kernel.lower.segments import lower_check, lower_copy, lower_pointwise, lower_segments

_LOOPS = {LoopStrategy.POINTWISE: lower_pointwise, LoopStrategy.ROWS: lower_rows, LoopStrategy.BLOCKS: lower_blocks,
          LoopStrategy.CROSS_ROWS: lower_cross_rows}


def lower_step(step: Step, memory: BufferAssignment) -> Sequence[LoweredKernel | LoweredOpaque]:
    """Returns the kernels of ``step``, in the order in which they run. ``memory`` has a place for each value that is
    stored.
    """
    match step:
        case Loops():
            return _LOOPS[step.strategy](step, memory)
        case Segments():
            return lower_segments(step, memory)
        case Scatter():
            return lower_scatter(step, memory)
        case Copy():
            return lower_copy(step, memory)
        case Guards():
            return lower_check(step, memory)
        case Opaque():
            return lower_opaque(step, memory)
    raise InternalError(f"no rule lowers {step}")


__all__ = ["BufferAssignment", "LoweredOpaque", "LoweredKernel", "lower_step"]
