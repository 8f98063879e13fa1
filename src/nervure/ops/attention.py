"""The parts of attention as ops: scores of rows of queries and keys, what a row sees, and the weighed mean of values.

They work on values (..., rows, features).

>>> from nervure.ops import Parameter
>>> import nervure as nv
>>> q, k = Parameter(nv.float32, (4, 5, 8)).output, Parameter(nv.float32, (2, 7, 8)).output
>>> k = for_each_head(k, shared_heads(2, 4))
>>> scores = scores_of(q, k)
>>> scores.shape, attended(scores, k).shape, visible(scores, None, 0).shape
((4, 5, 7), (4, 5, 8), (4, 5, 7))
"""

from __future__ import annotations

from nervure.ir.op import Value
from nervure.ops.comparison import LessEqual, LogicalAnd
from nervure.ops.einsum import MatMul
from nervure.ops.iota import Iota
from nervure.ops.softmax import MaskedSoftmax, Softmax
from nervure.ops.views import Broadcast, Permute, Reshape
from nervure.types.dim import DimLike
from nervure.types.dtype import int64


def shared_heads(own: DimLike, heads: DimLike) -> int | None:
    """Returns how many of ``heads`` share one of the ``own`` heads of keys; None if that is no whole number."""
    if not isinstance(own, int) or not isinstance(heads, int) or own < 1 or heads % own:
        return None
    return heads // own


def for_each_head(x: Value, times: int) -> Value:
    """Returns keys or values (..., heads, rows, features) with each head ``times`` times, one behind the other."""
    *batch, heads, rows, features = x.shape
    spread = Broadcast(x, (*batch, heads, times, rows, features), [len(batch) + 1])
    return Reshape(spread, (*batch, heads * times, rows, features)).output


def transposed(x: Value) -> Value:
    """Returns a value with its last two dimensions swapped."""
    rank = x.rank
    return Permute(x, (*range(rank - 2), rank - 1, rank - 2)).output


def scores_of(query: Value, key: Value) -> Value:
    """Returns the products of the rows of queries and keys, (..., rows of queries, rows of keys)."""
    return MatMul(query, transposed(key)).output


def visible(scores: Value, before: int | None, after: int | None) -> Value | None:
    """Returns which columns each row sees: from ``before`` columns before its own to ``after`` behind it; None means
    all. Returns None where it sees all on both sides.
    """
    if before is None and after is None:
        return None
    row, column = [Iota(scores.shape, scores.rank - at, int64).output for at in (2, 1)]
    found = [] if after is None else [LessEqual(column, row + after if after else row).output]
    found += [] if before is None else [LessEqual(row - before if before else row, column).output]
    return found[0] if len(found) == 1 else LogicalAnd(*found).output


def attended(scores: Value, value: Value, may_see_nothing: bool = False) -> Value:
    """Returns the mean of the rows of values, weighed by the softmax of scores; 0 for a row that sees nothing."""
    softmax = MaskedSoftmax if may_see_nothing else Softmax
    return MatMul(softmax(scores, [scores.rank - 1]), value).output
