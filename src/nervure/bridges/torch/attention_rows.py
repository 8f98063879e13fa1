"""Rows of scaled dot products, as PyTorch computes them on this machine: with the logarithms of the sums for the
backward pass.

>>> from nervure.ops import Parameter
>>> import nervure as nv
>>> q = Parameter(nv.float32, (1, 2, 5, 8)).output
>>> value, logarithms = attention((q.type, Parameter(nv.float32, (1, 2, 5)).type), q, q, q, 0.0, True, None, None)
>>> value, logarithms
(f32[1, 2, 5, 8] MatMul(Softmax, Parameter), f32[1, 2, 5] Add(Max, Log))
"""

from __future__ import annotations

import math

from nervure import ops
from nervure.bridges.torch.fitting import converted, expanded, fitted
from nervure.bridges.torch.row_table import row
from nervure.bridges.torch.unsupported import Unsupported
from nervure.ir.op import Value
from nervure.ops.attention import Scores, attended, attention_gradients, for_each_head
from nervure.ops.selection import where
from nervure.ops.softmax import Statistics, statistics
from nervure.types import dtype as types
from nervure.types.description import BasicTensorDescription as Type
from nervure.types.dim import Dim, DimLike

_NAME = "_scaled_dot_product_flash_attention_for_cpu"


@row(f"{_NAME}.default")
def attention(result: tuple[Type, Type], query: Value, key: Value, value: Value, dropout: float, is_causal: bool,
              mask: Value | None, scale: float | None) -> tuple[Value, Value]:
    if dropout:
        raise Unsupported("attention with dropout")
    own, heads = query.dtype, query.shape[1]
    query, key, value = [converted(x, own.compute) for x in (query, _for_heads(key, heads), _for_heads(value, heads))]
    scores = _scores(query, key, is_causal, mask, scale).of(query, key)
    mean = attended(scores, value, mask is not None)
    known, powers = statistics(scores, (3,), mask is not None)  # those of the softmax: equal ops are one
    logarithms = known.shift + ops.Log(ops.Sum(powers, axes=[3])).output
    return converted(mean, own), converted(logarithms, result[1].dtype)


def _for_heads(x: Value, heads: DimLike) -> Value:
    """Returns keys or values for each head of the queries, of which several may share one."""
    return x if x.shape[1] == heads else for_each_head(x, _sharing(x, heads))


def _of_groups(x: Value, heads: DimLike) -> Value:
    """Returns the sums of gradients over the heads that share a key or a value."""
    if x.shape[1] == heads:
        return x
    return ops.Sum(ops.Reshape(x, (x.shape[0], heads, _sharing(x, heads), *x.shape[2:])), axes=[2]).output


def _sharing(x: Value, heads: DimLike) -> int:
    """Returns how many of the larger number of heads share one of the smaller number."""
    numbers = sorted([length for length in (x.shape[1], heads) if isinstance(length, int) and length > 0])
    if len(numbers) < 2 or numbers[1] % numbers[0]:
        raise Unsupported(f"{heads} heads of queries for {x.shape[1]}")
    return numbers[1] // numbers[0]


def _scale(query: Value, scale: float | None) -> float:
    if scale is not None:
        return scale
    width = query.shape[3]
    if isinstance(width, Dim):
        raise Unsupported("attention over a width that is a symbol")
    return 1 / math.sqrt(width)


def _scores(query: Value, key: Value, is_causal: bool, mask: Value | None, scale: float | None) -> Scores:
    """Returns the scores of queries and keys, whose ``mask`` may be of fewer dimensions."""
    shape = (*query.shape[:-1], key.shape[-2])
    if mask is not None and mask.dtype is types.bool_:
        mask = fitted(mask, types.bool_, shape)
    elif mask is not None:
        mask = expanded(converted(mask, query.dtype.compute), shape)
    return Scores(mask, after=0 if is_causal else None, scale=_scale(query, scale))


@row(f"{_NAME}_backward.default")
def attention_backward(result: tuple[Type, ...], gradient: Value, query: Value, key: Value, value: Value,
                       attended: Value, logarithms: Value, dropout: float, is_causal: bool, mask: Value | None,
                       scale: float | None) -> tuple[Value, ...]:
    if dropout:
        raise Unsupported("attention with dropout")
    own, wide, heads = query.dtype, query.dtype.compute, key.shape[1]
    key, value = [_for_heads(x, query.shape[1]) for x in (key, value)]
    query, key, value, gradient, attended, logarithms = [
        converted(x, wide) for x in (query, key, value, gradient, attended, logarithms)]
    scores = _scores(query, key, is_causal, mask, scale)
    sees_nothing = ops.Equal(logarithms, logarithms.full(-math.inf)).output
    known = Statistics(where(sees_nothing, 0, logarithms), logarithms.full(1))
    mean = ops.Sum(gradient * attended, axes=[3]).output
    of_query, of_key, of_value, _ = attention_gradients(scores, known, gradient, mean, query, key, value)
    each = of_query * scores.scale, _of_groups(of_key * scores.scale, heads), _of_groups(of_value, heads)
    return tuple([converted(x, own) for x in each])
