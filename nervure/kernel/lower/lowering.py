"""The table of lowering rules: which rule makes the kernels of which step."""

from __future__ import annotations

from nervure.errors import InternalError
from nervure.kernel.cluster import kinds
from nervure.kernel.cluster.fitting import has_enough_rows
from nervure.kernel.cluster.steps import Copy, Loops, Pieces, Scattering, Step
from nervure.kernel.lower.blocks import lower_blocks
from nervure.kernel.lower.columns import columns_of, lower_columns
from nervure.kernel.lower.kernels import Lowered, Memory
from nervure.kernel.lower.pieces import lower_pieces
from nervure.kernel.lower.pointwise import lower_copy, lower_pointwise
from nervure.kernel.lower.rows import lower_rows
from nervure.kernel.lower.scatter import lower_scatter


def lower(step: Step, memory: Memory) -> list[Lowered]:
    """The kernels of a step, in the order in which they run. ``memory`` has a place for each value that is stored."""
    if isinstance(step, Loops):
        return _lower_loops(step, memory)
    if isinstance(step, Copy):
        return lower_copy(step, memory)
    if isinstance(step, Pieces):
        return lower_pieces(step, memory)
    if isinstance(step, Scattering):
        return lower_scatter(step, memory)
    raise InternalError(f"no loops for {step}")


def _lower_loops(step: Loops, memory: Memory) -> list[Lowered]:
    if step.reduced is None:
        return lower_pointwise(step, memory)
    if columns_of(step):
        return lower_columns(step, memory)
    folds = [op for op in step.ops if memory.facts.kind(op) == kinds.REDUCTION
             and callable(memory.facts.structure(op).combine)]
    if has_enough_rows(step, memory.machine) or folds:
        return lower_rows(step, memory)
    return lower_blocks(step, memory)
