"""Rows of positions that are found in data: each as often as a count says.

>>> from nervure.ops import Parameter
>>> import nervure as nv
>>> counts = Parameter(nv.int64, (3,)).output
>>> repeated_positions(counts.type.with_(shape=(7,)), counts, 7)
i64[7] Gather(FindPositions, Iota)
"""

from __future__ import annotations

from nervure import ops
from nervure.bridges.torch.fitting import converted
from nervure.bridges.torch.row_table import row
from nervure.bridges.torch.unsupported import Unsupported
from nervure.ir.op import Value
from nervure.ir.whole_op import fresh_length
from nervure.ops.finding import FindPositions
from nervure.types import dtype as types
from nervure.types.description import BasicTensorDescription as Type
from nervure.types.dim import DimLike


@row("repeat_interleave.Tensor")
def repeated_positions(result: Type, counts: Value, size: DimLike | None) -> Value:
    """Returns each position as often as its count says. Counts that add up to another number than ``size`` fail: more
    are above the bound, and fewer leave places that are out of range.
    """
    if size is None:
        raise Unsupported("counts whose sum is not given: the shape of the result depends on data")
    found = FindPositions(converted(counts, types.int64), length=fresh_length(size), bound=size).outputs[0]
    return converted(ops.Gather(found, ops.Iota((size,), 0, types.int64), 0).output, result.dtype)
