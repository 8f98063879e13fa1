"""The parts of attention as ops: scores of rows of queries and keys, what a row sees, and the weighed mean of values.

They work on values (..., rows, features).

>>> from nervure.ops import Parameter
>>> import nervure as nv
>>> q, k = Parameter(nv.float32, (4, 5, 8)).output, Parameter(nv.float32, (2, 7, 8)).output
>>> k = for_each_head(k, shared_heads(2, 4))
>>> scores = scores_of(q, k)
>>> scores.shape, attended(scores, k).shape, Scores(after=0).of(q, k)
((4, 5, 7), (4, 5, 8), f32[4, 5, 7] Where(LessEqual, MatMul, Full))
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from nervure.errors import InvalidArgument
from nervure.ir import field
from nervure.ir.kinds import Composite, require_admitted
from nervure.ir.op import Gradients, Operand, Value
from nervure.ops.checking import require_rank, require_same_dtype, require_shape
from nervure.ops.comparison import LessEqual, LogicalAnd
from nervure.ops.einsum import MatMul
from nervure.ops.iota import Iota, row_and_column
from nervure.ops.linear_algebra import transposed
from nervure.ops.reductions import Sum, spread
from nervure.ops.rematerialising import later
from nervure.ops.selection import where
from nervure.ops.softmax import MaskedSoftmax, Softmax, Statistics, statistics
from nervure.ops.views import Broadcast, Reshape, Reverse
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import DimLike, bounds, less_equal, product
from nervure.types.dtype import bool_, int64
from nervure.types.element_groups import FLOATS

MOST_SCORES = 1 << 26
"""The most scores that a derivative keeps, a quarter of a gigabyte of float32.

With a bound on columns it is a 64th of that: half of the scores are then not made again.
"""


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


def from_the_end(x: Value, rank: int = 2) -> Value:
    """Returns rows in reversed order, where x has ``rank`` dimensions from these on."""
    return Reverse(x, [x.rank - rank]).output


def scores_of(query: Value, key: Value) -> Value:
    """Returns the products of the rows of queries and keys, (..., rows of queries, rows of keys)."""
    return MatMul(query, transposed(key)).output


class Scores(NamedTuple):
    """The scores of rows of queries and keys: their products times a ``scale``, with a ``mask`` of their shape.

    A query sees the keys from ``before`` rows before its own to ``after`` behind it; None means all.
    """

    mask: Value | None = None
    before: int | None = None
    after: int | None = None
    scale: float = 1.0

    def of(self, query: Value, key: Value) -> Value:
        """Returns the scores, with a row for each query: -inf for keys that it does not see."""
        scores = self._products(query, key)
        rows, columns = row_and_column(scores.shape)
        return masked(masked(scores, self.mask), self._visible(rows, columns))

    def of_keys(self, query: Value, key: Value) -> Value:
        """Returns the scores with a row for each key, the last one first, and the last query first.

        A key is seen by the queries from some row on, which are the first columns then.
        """
        scores = self._products(from_the_end(key), from_the_end(query))
        mask = None if self.mask is None else transposed(from_the_end(from_the_end(self.mask), 1))
        columns, rows = [Reverse(Iota(scores.shape, scores.rank - at, int64), range(scores.rank)).output
                         for at in (2, 1)]
        return masked(masked(scores, mask), self._visible(rows, columns))

    def are_too_many(self, query: Value, key: Value) -> bool:
        """Whether a derivative makes weights again, and does not keep those of all scores."""
        least, _ = bounds(product([*query.shape[:-1], key.shape[-2]]))
        most = MOST_SCORES if self.before is None and self.after is None else MOST_SCORES // 64
        return least is not None and least > most

    def _products(self, rows: Value, columns: Value) -> Value:
        found = scores_of(rows, columns)
        return found if self.scale == 1 else found * self.scale

    def _visible(self, query: Value, key: Value) -> Value | None:
        """Returns whether each query sees a key, by the rows that they are; None where all is seen."""
        found = [] if self.after is None else [LessEqual(key, query + self.after if self.after else query).output]
        found += [] if self.before is None else [LessEqual(query - self.before if self.before else query, key).output]
        return None if not found else found[0] if len(found) == 1 else LogicalAnd(*found).output


def masked(scores: Value, mask: Value | None) -> Value:
    """Returns scores with a mask: -inf where one of truth values is false, or with the numbers of another one added."""
    if mask is None:
        return scores
    return where(mask, scores, -math.inf) if mask.dtype is bool_ else scores + mask


class Attention(Composite):
    """The mean of the rows of values, weighed by the softmax of the products of queries and keys.

    A mask has the shape of these scores. ``before`` and ``after`` bound the keys that a query sees.

    A derivative does not keep the weights of more scores than ``MOST_SCORES`` says. They are made again from the
    largest score and the sum of each row: row by row of queries for their gradient, and row by row of keys for those of
    keys and values. So neither has to be in memory.
    """

    operand_names = "query key value *mask"
    before = field.integer(None, optional=True)
    after = field.integer(None, optional=True)

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription:
        if not 3 <= len(types) <= 4:
            raise self.fail(InvalidArgument, "attention has queries, keys and values", operand="query",
                            got=f"{len(types)} operands", expected="three, or four with a mask",
                            help="ops.Attention(query, key, value, mask)")
        query, key, value, *mask = types
        require_admitted(self, query, FLOATS)
        for position in range(3):
            require_rank(self, position, types[position], 2)
        require_same_dtype(self, types, (0, 1, 2))
        *batch, rows, features = query.shape
        columns = key.shape[-2]
        require_shape(self, 1, key, (*batch, columns, features), "keys have the features of the queries")
        require_shape(self, 2, value, (*batch, columns, value.shape[-1]), "values have a row for each key")
        for entry in mask:
            if entry.dtype is not bool_:
                require_same_dtype(self, types, (0, 3))
            require_shape(self, 3, entry, (*batch, rows, columns), "a mask has an element for each score")
        return query.with_(shape=(*batch, rows, value.shape[-1]), layout=None)

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return self.attributes

    @property
    def may_see_nothing(self) -> bool:
        """Whether there may be a query that sees no key."""
        query, key = self.operands[0], self.operands[1]
        sees_itself = self.before is None and self.after is None or less_equal(query.shape[-2], key.shape[-2]) is True
        return len(self.operands) > 3 or not sees_itself

    @property
    def has_own_derivative(self) -> bool:
        return self._scores().are_too_many(self.operands[0], self.operands[1])

    def _scores(self, mask: Value | None = None) -> Scores:
        return Scores(mask, self.before, self.after)

    def decompose(self, query: Value, key: Value, value: Value, *mask: Value) -> Operand:
        return attended(self._scores(*mask).of(query, key), value, self.may_see_nothing)

    def vjp(self, gradient: Value, query: Value, key: Value, value: Value, *mask: Value) -> Gradients:
        known, _ = statistics(self._scores(*mask).of(query, key), (query.rank - 1,), self.may_see_nothing)
        mean = Sum(gradient * self.output, [query.rank - 1]).output
        # ``mean`` waits for the result, so that no step makes weights again beside those of the result.
        query, key, value, *again = [later(x, (mean,)) for x in (query, key, value, *mask)]
        *found, slopes = attention_gradients(self._scores(*again), known, gradient, mean, query, key, value)
        return (*found, *[None if x.dtype is bool_ else slopes for x in mask])


def attention_gradients(scores: Scores, known: Statistics, gradient: Value, mean: Value, query: Value, key: Value,
                        value: Value) -> tuple[Value, Value, Value, Value]:
    """Returns the gradients of queries, keys, values and scores, the last with a row for each query.

    The softmax of the ``scores`` is made again from the ``known`` numbers of each row, once more for keys if it is too
    much to keep. ``mean`` is, for each query, the sum of the ``gradient`` times the result.
    """
    rows, columns = (query.rank - 1,), (query.rank - 2,)
    weights = known.weights(scores.of(query, key), rows)
    slopes = weights * (scores_of(gradient, value) - spread(mean, rows, weights.shape))
    of_query = MatMul(slopes, key).output
    if not scores.are_too_many(query, key):
        return of_query, MatMul(transposed(slopes), query).output, MatMul(transposed(weights), gradient).output, slopes
    backwards = Statistics(from_the_end(known.shift, 1), from_the_end(known.factor, 1))
    weights = backwards.weights(scores.of_keys(query, key), columns)
    query, value, gradient = [from_the_end(x) for x in (query, value, gradient)]
    turned = weights * (scores_of(value, gradient) - spread(from_the_end(mean, 1), columns, weights.shape))
    of_key, of_value = [from_the_end(MatMul(each, other).output)
                        for each, other in ((turned, query), (weights, gradient))]
    return of_query, of_key, of_value, slopes


def attended(scores: Value, value: Value, may_see_nothing: bool = False) -> Value:
    """Returns the mean of the rows of values, weighed by the softmax of scores; 0 for a row that sees nothing."""
    softmax = MaskedSoftmax if may_see_nothing else Softmax
    return MatMul(softmax(scores, [scores.rank - 1]), value).output
