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

import math
from collections.abc import Mapping

from nervure.errors import InvalidArgument
from nervure.ir import field
from nervure.ir.kinds import Composite, require_admitted
from nervure.ir.op import Gradients, Operand, Value
from nervure.ops.checking import require_rank, require_same_dtype, require_shape
from nervure.ops.comparison import LessEqual, LogicalAnd
from nervure.ops.einsum import MatMul
from nervure.ops.iota import Iota
from nervure.ops.reductions import Sum, spread
from nervure.ops.rematerialising import later
from nervure.ops.selection import where
from nervure.ops.softmax import MaskedSoftmax, Softmax, statistics
from nervure.ops.views import Broadcast, Permute, Reshape, Reverse
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import DimLike, less_equal, product
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


def transposed(x: Value) -> Value:
    """Returns a value with its last two dimensions swapped."""
    rank = x.rank
    return Permute(x, (*range(rank - 2), rank - 1, rank - 2)).output


def from_the_end(x: Value, rank: int = 2) -> Value:
    """Returns rows in reversed order, where x has ``rank`` dimensions from these on."""
    return Reverse(x, [x.rank - rank]).output


def scores_of(query: Value, key: Value) -> Value:
    """Returns the products of the rows of queries and keys, (..., rows of queries, rows of keys)."""
    return MatMul(query, transposed(key)).output


def visible(scores: Value, before: int | None, after: int | None, of_keys: bool = False) -> Value | None:
    """Returns which keys each query sees: from ``before`` rows before its own to ``after`` behind it; None means all.

    ``scores`` have a row for each query; if they are ``of_keys``, one for each key, and both begin at the end. Returns
    None where all is seen.
    """
    if before is None and after is None:
        return None
    query, key = [Iota(scores.shape, scores.rank - at, int64).output for at in ((1, 2) if of_keys else (2, 1))]
    if of_keys:
        query, key = [Reverse(x, range(x.rank)).output for x in (query, key)]
    found = [] if after is None else [LessEqual(key, query + after if after else query).output]
    found += [] if before is None else [LessEqual(query - before if before else query, key).output]
    return found[0] if len(found) == 1 else LogicalAnd(*found).output


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
        query, key = self.operands[0], self.operands[1]
        scores = product([*query.shape[:-1], key.shape[-2]])
        most = MOST_SCORES if self.before is None and self.after is None else MOST_SCORES // 64
        return isinstance(scores, int) and scores > most

    def scores(self, query: Value, key: Value, mask: Value | None) -> Value:
        """Returns the masked scores, with a row for each query."""
        scores = scores_of(query, key)
        return masked(masked(scores, mask), visible(scores, self.before, self.after))

    def decompose(self, query: Value, key: Value, value: Value, *mask: Value) -> Operand:
        return attended(self.scores(query, key, mask[0] if mask else None), value, self.may_see_nothing)

    def vjp(self, gradient: Value, query: Value, key: Value, value: Value, *mask: Value) -> Gradients:
        rows, columns = (query.rank - 1,), (query.rank - 2,)  # the axis along which each kind of scores is summed
        known = statistics(self.scores(query, key, mask[0] if mask else None), rows, self.may_see_nothing)
        mean = Sum(gradient * self.output, rows).output
        # ``mean`` waits for the result, so that no step makes weights again beside those of the result.
        query, key, value, *again = [later(x, (mean,)) for x in (query, key, value, *mask)]
        bias = again[0] if again else None
        weights = known.weights(self.scores(query, key, bias), rows)
        scores = scores_of(from_the_end(key), from_the_end(query))
        scores = masked(masked(scores, None if bias is None else transposed(from_the_end(from_the_end(bias), 1))),
                        visible(scores, self.before, self.after, of_keys=True))
        backwards = known._replace(shift=from_the_end(known.shift, 1), factor=from_the_end(known.factor, 1))
        turned = backwards.weights(scores, columns)
        *found, slopes = attention_gradients(gradient, mean, query, key, value, weights, turned)
        return (*found, *[None if x.dtype is bool_ else slopes for x in mask])


def attention_gradients(gradient: Value, mean: Value, query: Value, key: Value, value: Value, weights: Value,
                        turned: Value | None = None) -> tuple[Value, Value, Value, Value]:
    """Returns the gradients of queries, keys, values and scores, the last with a row for each query.

    ``mean`` is, for each query, the sum of the ``gradient`` times the result; ``weights`` are the softmax of scores
    with a row for each query. If ``turned`` are given, they are the same with a row for each key, and rows and columns
    from the end, made apart: a key is seen by all queries from its own on, which are the first columns then.
    """
    rows, columns = (query.rank - 1,), (query.rank - 2,)
    slopes = weights * (scores_of(gradient, value) - spread(mean, rows, weights.shape))
    of_query = MatMul(slopes, key).output
    if turned is None:
        return of_query, MatMul(transposed(slopes), query).output, MatMul(transposed(weights), gradient).output, slopes
    query, value, gradient = [from_the_end(x) for x in (query, value, gradient)]
    mean = spread(from_the_end(mean, 1), columns, turned.shape)
    turned_slopes = turned * (scores_of(value, gradient) - mean)
    of_key, of_value = [from_the_end(MatMul(each, other).output)
                        for each, other in ((turned_slopes, query), (turned, gradient))]
    return of_query, of_key, of_value, slopes


def attended(scores: Value, value: Value, may_see_nothing: bool = False) -> Value:
    """Returns the mean of the rows of values, weighed by the softmax of scores; 0 for a row that sees nothing."""
    softmax = MaskedSoftmax if may_see_nothing else Softmax
    return MatMul(softmax(scores, [scores.rank - 1]), value).output
