"""Cotangents of slices, concatenated: each is zero where the others are not, so no addition is needed.

>>> import nervure as nv
>>> x, y, z = [nv.Parameter(nv.float32, (2, length)) for length in (3, 4, 5)]
>>> whole = [nv.ops.Pad(y, [(0, 0), (3, 5)]), nv.ops.Pad(x, [(0, 0), (0, 9)]), nv.ops.Pad(z, [(0, 0), (7, 0)])]
>>> beside_each_other([entry.output for entry in whole])
[f32[2, 12] Concatenate(Parameter, Parameter, Parameter)]
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from nervure.ir.op import Value
from nervure.ops.views import Concatenate, Pad
from nervure.types.dim import equal


def beside_each_other(contributions: Sequence[Value]) -> list[Value]:
    """Returns contributions to a cotangent, with slices that follow each other along one axis joined."""
    found = list(contributions)
    pairs = permutations([entry for entry in found if type(entry.op) is Pad and entry.op.number == 0], 2)
    for first, second in pairs:
        joined = _joined(first, second)
        if joined is not None:
            rest = [entry for entry in found if entry is not first and entry is not second]
            return beside_each_other([*rest, joined])
    return found


def _joined(first: Value, second: Value) -> Value | None:
    """Returns two slices as one, if the second one begins where the first one ends."""
    left, right = first.op, second.op
    assert isinstance(left, Pad) and isinstance(right, Pad)
    apart = [d for d in range(first.rank) if left.paddings[d] != right.paddings[d]]
    if len(apart) != 1:
        return None
    axis, = apart
    (start, _), (behind, end) = left.paddings[axis], right.paddings[axis]
    if equal(start + left.operands[0].shape[axis], behind) is not True:
        return None
    parts = [part for op in (left, right) for part in _parts(op.operands[0], axis)]
    paddings = [(start, end) if d == axis else pair for d, pair in enumerate(left.paddings)]
    whole = Concatenate(*parts, axis=axis).output
    return whole if all([pair == (0, 0) for pair in paddings]) else Pad(whole, paddings).output


def _parts(value: Value, axis: int) -> Sequence[Value]:
    """Returns the parts of a value along an axis."""
    op = value.op
    return op.operands if type(op) is Concatenate and op.axis == axis else [value]
