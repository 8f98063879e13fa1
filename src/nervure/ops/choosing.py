"""Choices among elements: ops that have no result where there is no element, such as a maximum.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (nv.dim("n"), 3))
>>> chosen_from(nv.ops.Max(x, [0])), chosen_from(nv.ops.Sum(x, [0]))
((n, 3), None)
"""

from __future__ import annotations

from nervure.ir.kinds import Structured
from nervure.ir.op import Op
from nervure.ops.update import IndexView
from nervure.ops.views import FoldedPad
from nervure.types.dim import Dim, DimLike, dim_max, dim_min, found_symbols, less_equal, product


def chosen_from(op: Op) -> tuple[DimLike, ...] | None:
    """Returns the domain of an op that combines without a unit, or the shape whose elements a padding repeats, if its
    size depends on symbols. Fixed sizes were checked when the op was built.
    """
    if not any([isinstance(entry, Dim) for operand in op.operands for entry in operand._type.shape]):
        return None
    if isinstance(op, (FoldedPad, IndexView)):
        return op.operands[0]._type.shape
    if not isinstance(op, Structured):
        return None
    structure = op.structure(*[operand._type for operand in op.operands])
    return structure.domain if structure.needs_elements else None


def is_always_possible(op: Op) -> bool:
    """Whether an op has results for all values of the symbols: no length is negative, and a choice has elements."""
    domain = chosen_from(op)
    given = {length for operand in op.operands for length in operand._type.shape}
    fresh = {length for output in op.outputs for length in output._type.shape} - given
    return ((domain is None or less_equal(1, product(domain)) is True)
            and all([less_equal(0, length) is True for length in fresh]))


def required_size(op: Op) -> DimLike | None:
    """Returns a size that must not be 0 when an op runs, if lengths that are found decide on it; else None."""
    domain = chosen_from(op)
    size = 1 if domain is None else product(domain)
    if not found_symbols(size):
        return None
    return dim_max(size, 1 - dim_min(product(op.outputs[0]._type.shape), 1))  # nothing is chosen for no result
