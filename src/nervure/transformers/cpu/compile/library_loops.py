"""The sizes of a step that calls a loop of NumPy's: places of arguments, lengths, steps in bytes, and a factor.

>>> import nervure as nv
>>> a, b = nv.Parameter(nv.float64, (5, 3, 3)), nv.Parameter(nv.float64, (5, 3, 2))
>>> sizes = library_sizes(nv.ops.Solve(a, b), [0, 1, 2])
>>> sizes[LibrarySize.ARGUMENTS], sizes[LibrarySize.PROBLEMS]
(3, 5)
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.ops.library_op import LibraryOp
from nervure.transformers.cpu.runtime.library_calls import LibrarySize
from nervure.types.dim import DimLike, product

_BITS = {4: (0x7F800000, 0x7FFFFFFF), 8: (0x7FF0000000000000, 0x7FFFFFFFFFFFFFFF)}
"""By the bytes of a float the bits of infinity, and all bits but the sign."""


def library_sizes(op: LibraryOp, places: Sequence[int]) -> tuple[DimLike, ...]:
    """Returns the sizes of a step that calls the loop of an op, whose operands and results lie at these ``places``."""
    values, cores = [*op.operands, *op.outputs], op.core_shapes()
    batch = op.operands[0].shape[:op.operands[0].rank - len(cores[0])]
    taken = [*range(len(op.operands) if op.writes_first else 0, len(values))]  # a copy stands for what is overwritten
    arguments = [places[at] for at in taken]
    outer = [product(cores[at]) * values[at].dtype.itemsize for at in taken]
    inner = [stride for at in taken for stride in _strides(cores[at], values[at].dtype.itemsize)]
    part = op.operands[0].dtype.part.itemsize
    checked = [(places[at], product(core) * value.dtype.itemsize, product(core) * (value.dtype.itemsize // part))
               for at, (value, core) in enumerate(zip(op.operands, cores, strict=False))] if op.failure else []
    if op.scale:
        arguments.insert(len(op.operands), 0)  # filled in below
        outer.insert(len(op.operands), 0)
    lengths = len(LibrarySize) + len(arguments) + 3 * len(checked)
    steps = lengths + 1 + len(op.core_lengths)
    if op.scale:
        arguments[len(op.operands)] = -(steps + len(outer) + len(inner))
    result, target = values[len(op.operands)], places[len(op.operands)]
    copied = product(result.shape) * result.dtype.itemsize if op.writes_first else 0
    head: list[DimLike] = [
        0, 0, len(arguments), lengths, steps, copied, places[0], target, product(batch), part if checked else 0,
        *_BITS[part], product(cores[len(op.operands)]) * result.dtype.itemsize, len(checked)]
    return (*head, *arguments, *[number for entry in checked for number in entry], product(batch), *op.core_lengths,
            *outer, *inner, int.from_bytes(op.factor.tobytes(), "little"))


def _strides(core: Sequence[DimLike], itemsize: int) -> list[DimLike]:
    """Returns the bytes from element to element along each core dimension, row-major."""
    found: list[DimLike] = []
    step: DimLike = itemsize
    for length in reversed(core):
        found.insert(0, step)
        step = step * length
    return found
