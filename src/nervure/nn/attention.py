"""Attention with several heads, and the keys and values that it keeps between calls.

>>> import nervure as nv
>>> layer = nv.nn.MultiHeadAttention("F=64", heads=4)
>>> x, memory = nv.placeholder("N=n, T=t, F=64"), nv.placeholder("N=n, S=s, F=64")
>>> print(layer(x, causal=True).axes, layer(x, memory).axes)
(N: n, T: t, F: 64) (N: n, T: t, F: 64)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nervure import ops
from nervure.errors import AxisMismatch, InvalidArgument, ShapeMismatch, WrongKind, shown
from nervure.front.alignment import assume_shape
from nervure.front.argument_parsing import fraction, integer, members, real, truth
from nervure.front.arranging.gathering import scatter
from nervure.front.arranging.joining import concatenate, split
from nervure.front.arranging.views import axes_with_order, reshape
from nervure.front.creation import AssignableTensorOp, as_tensor, constant
from nervure.front.effects import Effect, assign, doall, sequential
from nervure.front.matrices.contraction import matmul
from nervure.front.networks.attention import attention
from nervure.front.op_functions import add, cos, less, less_equal, logical_and, sin
from nervure.front.pointwise.elementwise import where
from nervure.front.random import dropout
from nervure.front.tensor import Tensor, TensorLike
from nervure.nn.initialisers import xavier_uniform
from nervure.nn.layers import LinearLayer
from nervure.nn.module import Module
from nervure.nn.parameters import biased, buffer, count, one_axis, parameter
from nervure.nn.sequences import Sequences
from nervure.ops.attention import for_each_head, scores_of
from nervure.ops.conversion import converted
from nervure.support.elsewhere import explains_keywords
from nervure.types.axes import AxesLike, AxisLike
from nervure.types.axis import Axis, same_role
from nervure.types.dim import DimLike, equal
from nervure.types.dtype import DTypeLike, bool_, int64


class KeyValueCache(Module):
    """Keys and values (``length``, batch, heads, features) of the steps so far, and their ``count``, which starts at 0.

    A layer that is called with it appends its steps, and attends to all up to each of them. They are written where they
    lie, at the end of a call; more than ``length`` steps are an IndexError, and change nothing.

    >>> layer = nv.nn.MultiHeadAttention(8, heads=2, batch_first=True)
    >>> cache, x = layer.cache(3, length=16), nv.placeholder((3, 1, 8))
    >>> decode = nv.computation(layer(x, cache=cache), x)
    >>> [decode(np.ones((3, 1, 8))).shape for _ in range(2)], cache.count.item()
    ([(3, 1, 8), (3, 1, 8)], 2)
    """

    keys: AssignableTensorOp
    values: AssignableTensorOp
    count: AssignableTensorOp

    @explains_keywords
    def __init__(self, batch: Sequence[int], heads: int, length: int, features: int,
                 dtype: DTypeLike | None = None) -> None:
        shape = (length, *members(batch, "KeyValueCache", "batch", "lengths, such as (32,)"), heads, features)
        self.keys, self.values = buffer(shape, 0.0, dtype), buffer(shape, 0.0, dtype)
        self.count = buffer((), 0, int64)

    def is_for(self, batch: Sequence[DimLike], heads: int, features: int) -> bool:
        """Returns whether it may hold keys of such a batch, whose lengths may be symbols."""
        own, wanted = self.keys.type.shape[1:], (*batch, heads, features)
        return len(own) == len(wanted) and not any([equal(*pair) is False for pair in zip(own, wanted, strict=True)])

    def clear(self) -> Effect:
        """Returns the effect that forgets all steps, with their numbers: a NaN would outlast its weight of 0."""
        return doall([assign(self.keys, 0.0), assign(self.values, 0.0), assign(self.count, 0)])

    def append(self, keys: Tensor, values: Tensor) -> list[Effect]:
        """Returns the effects that append the keys and values (..., heads, steps, features) of further steps."""
        steps, last = keys.type.shape[-2], keys.ndim - 1
        index = self.count + Tensor(ops.Iota((steps,), None, int64))
        order = (last - 1, *range(last - 1), last)
        moves = []
        for place, new in ((self.keys, keys), (self.values, values)):
            fitted = assume_shape(ops.Permute(new.value, order).output, (steps, *place.type.shape[1:]), "KeyValueCache")
            moves.append(assign(place, scatter(place, index, Tensor(fitted), 0)))
        return [*moves, assign(self.count, self.count + steps)]

    def rows(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the keys and values before a call, as (..., heads, length, features); those behind count nothing.

        They have the element type and the batch of keys ``like`` these, (..., heads, steps, features).
        """
        last, batch = self.keys.ndim - 1, like.type.shape[:-3]
        found = [ops.Permute(place.value, (*range(1, last), 0, last)).output for place in (self.keys, self.values)]
        shape = (*batch, *found[0].shape[-3:])
        keys, values = [Tensor(assume_shape(converted(value, like.dtype), shape, "KeyValueCache"))
                        for value in found]
        return keys, values


class _Rows(NamedTuple):
    """Queries, keys and values, each (..., heads, steps, features)."""

    q: Tensor
    k: Tensor
    v: Tensor


class MultiHeadAttention(Module):
    """Attention with several heads (Vaswani et al. 2017): each step is a mean of values, weighed by its query and keys.

    With ``q, k, v = x W_q + b_q, memory W_k + b_k, memory W_v + b_v``, cut into ``heads``, the result is ``softmax(q
    k^T / sqrt(D)) v`` of all heads side by side, times W_out, plus a bias. ``features`` is one axis, as in ``"F=64"``,
    with x over F, the steps ``axis`` and any others; or a length, with x (T, N, features), or (N, T, features) with
    ``batch_first``. ``kv_heads`` divides ``heads``, and neighbours share keys and values. ``key_features`` and
    ``value_features`` are those of a memory that has others. ``rotary`` turns queries and keys by their positions (Su
    et al. 2021), with this base, such as 10000. In training, weights are dropped with the rate ``dropout``.

    >>> layer = nv.nn.MultiHeadAttention(16, heads=4, kv_heads=2, rotary=10000.0)
    >>> layer(nv.ones((5, 3, 16)), causal=True).shape
    (5, 3, 16)
    """

    @explains_keywords
    def __init__(self, features: AxesLike, heads: int, kv_heads: int | None = None, dropout: float = 0.0,
                 bias: bool = True, rotary: float | None = None, key_features: AxesLike | None = None,
                 value_features: AxesLike | None = None, axis: AxisLike = "T", batch_first: bool = False,
                 dtype: DTypeLike | None = None) -> None:
        op = "MultiHeadAttention"
        self._features = one_axis(features, op, "features")
        self._keys = self._features if key_features is None else one_axis(key_features, op, "key_features")
        self._values = self._features if value_features is None else one_axis(value_features, op, "value_features")
        self.heads = integer(heads, op, "heads", least=1)
        self.kv_heads = self.heads if kv_heads is None else integer(kv_heads, op, "kv_heads", least=1)
        self.dropout = fraction(dropout, op, "dropout", "the share of weights that are dropped in training")
        self.rotary = rotary if rotary is None else real(rotary, op, "rotary")
        self._steps = axis if not self._features.is_anonymous else -2 if truth(batch_first, op, "batch_first") else 0
        width = count([self._features])
        self._check_heads(width)
        self._width = width // self.heads
        self._add_products(width, truth(bias, op, "bias"), dtype)
        self.out_proj = LinearLayer(width, width, bias=0.0 if bias else False, dtype=dtype)

    def _check_heads(self, width: int) -> None:
        if width % self.heads or self.heads % self.kv_heads:
            raise InvalidArgument("heads divide the features, and kv_heads the heads", op="MultiHeadAttention",
                                  operand="heads", got=f"{self.heads} heads, {self.kv_heads} of keys, for {width}",
                                  expected="divisors", help="each head has features / heads features")
        if self.rotary is not None and width // self.heads % 2:
            raise InvalidArgument("positions turn pairs of features", op="MultiHeadAttention", operand="rotary",
                                  got=f"heads of {width // self.heads} features", expected="an even number",
                                  help="other numbers of heads, or no rotary")

    def _add_products(self, width: int, bias: bool, dtype: DTypeLike | None) -> None:
        """Makes the weights of queries, keys and values: one place for all, or three for inputs of other features."""
        start, shared = xavier_uniform(), self._width * self.kv_heads
        if self._keys is self._features is self._values:
            self.in_proj_weights = parameter((width, width + 2 * shared), start, dtype=dtype)
        else:
            self.q_proj_weights = parameter((width, width), start, dtype=dtype)
            self.k_proj_weights = parameter((count([self._keys]), shared), start, dtype=dtype)
            self.v_proj_weights = parameter((count([self._values]), shared), start, dtype=dtype)
        self.in_proj_bias = parameter((width + 2 * shared,), 0.0, dtype=dtype) if bias else None

    def cache(self, batch: int | Sequence[int], length: int, dtype: DTypeLike | None = None) -> KeyValueCache:
        """Returns an empty cache for sequences of up to ``length`` steps, and a batch of these lengths.

        Its element type is that of the parameters unless ``dtype`` says otherwise.
        """
        lengths = (batch,) if isinstance(batch, int) else tuple(batch)
        return KeyValueCache(lengths, self.kv_heads, length, self._width, dtype or self.float_dtype)

    def forward(self, query: TensorLike, key: TensorLike | None = None, value: TensorLike | None = None,
                mask: TensorLike | None = None, causal: bool = False, lengths: TensorLike | None = None,
                cache: KeyValueCache | None = None) -> Tensor:
        """Maps queries (T, N, features) to means of values, of the same shape.

        ``key`` and ``value`` (S, N, features) are the query unless they are given, the value is the key. ``mask``, (T,
        S), (N, T, S) or (N, heads, T, S) in this order, is true where a step sees a key, or has numbers that are added
        to scores. With ``causal`` a step sees keys up to its own number; ``lengths``, integers over N, are the numbers
        of keys that count. With ``cache`` the steps follow those in the cache, and each sees all up to itself. A step
        that sees nothing gives the bias of the last product.
        """
        given = Sequences("MultiHeadAttention", query, self._features, self._steps, "query")
        self._check_cache(given, cache, key=key, value=value, mask=mask, lengths=lengths)
        rows = self._rows(given, key, value, cache)
        causal = truth(causal, "MultiHeadAttention", "causal")
        seen = self._mask(mask, len(given.batch))
        if lengths is not None:
            seen = _both(seen, _counted(given.of_each(lengths), rows.k.type.shape[-2]))
        if cache is None and not (self.training and self.dropout):
            y = attention(rows.q, rows.k, rows.v, seen, causal)
        else:
            y = self._in_parts(rows, seen, causal or cache is not None, cache)
        whole = reshape(_swapped(y), (*given.batch, rows.q.type.shape[-2], count([self._features])))
        result = given.result(self.out_proj(whole), self._features, steps_first=False)
        if cache is None:
            return result
        # The result reads the cache before its own steps are appended, so that they are written in place.
        carried: Tensor = sequential([result, *cache.append(rows.k, rows.v), result])
        return carried

    def _check_cache(self, given: Sequences, cache: KeyValueCache | None, **others: object) -> None:
        beside = [name for name, other in others.items() if other is not None]
        if cache is not None and beside:
            raise InvalidArgument("with a cache, steps see all up to themselves", op=given.op, operand=beside[0],
                                  got=f"a cache and {', '.join(beside)}", expected="one of them",
                                  help="leave out the cache, and give whole sequences")
        if cache is not None and not isinstance(cache, KeyValueCache):
            raise WrongKind("steps are kept in a cache", op=given.op, operand="cache", got=shown(cache),
                            expected="a KeyValueCache", help="layer.cache(batch, length) makes one")
        if cache is not None and not cache.is_for(given.batch, self.kv_heads, self._width):
            raise ShapeMismatch("the cache is one for other sequences", op=given.op, operand="cache",
                                got=str(cache.keys.type), expected=f"one for a batch of {given.batch_axes}",
                                help="layer.cache(batch, length) makes one")

    def _in_parts(self, rows: _Rows, seen: Tensor | None, causal: bool, cache: KeyValueCache | None) -> Tensor:
        """Returns the means over the keys of a cache and those given, in training with weights that are dropped."""
        parts = [(rows.k, rows.v, _both(seen, _past(rows)) if causal else seen)]
        if cache is not None:
            before = cache.rows(rows.k)
            places = Tensor(ops.Iota((before[0].type.shape[-2],), None, int64))
            parts.insert(0, (*before, less(places, cache.count)))
        scores, times = [], self.heads // self.kv_heads
        for key, _, mask in parts:
            found = Tensor(scores_of((rows.q * self._width ** -0.5).value, for_each_head(key.value, times)))
            if mask is not None:
                found = where(mask, found, -np.inf) if mask.dtype is bool_ else found + mask
            scores.append(found)
        joined = concatenate(scores, axis=-1) if len(scores) > 1 else scores[0]
        weights = Tensor(ops.MaskedSoftmax(joined.value, [joined.ndim - 1]))
        weights = dropout(weights, self.dropout) if self.training and self.dropout else weights
        shares = split(weights, [parts[0][0].type.shape[-2]][:len(parts) - 1], axis=-1)
        means = [matmul(share, Tensor(for_each_head(value.value, times)))
                 for share, (_, value, _) in zip(shares, parts, strict=True)]
        return means[0] if len(means) == 1 else add(*means)

    # -- queries, keys and values ------------------------------------------------------------------------------------

    def _rows(self, given: Sequences, key: TensorLike | None, value: TensorLike | None,
              cache: KeyValueCache | None) -> _Rows:
        """Returns the rows of all heads, those of keys and queries turned by their positions."""
        q, k, v = [_cut(x, self._width) for x in self._products(given, key, value)]
        if self.rotary is not None:
            start = None if cache is None else cache.count
            q, k = [_turned(x, self.rotary, start) for x in (q, k)]
        return _Rows(q, k, v)

    def _products(self, given: Sequences, key: TensorLike | None, value: TensorLike | None) -> list[Tensor]:
        """Returns queries, keys and values of all heads side by side: (..., steps, heads * features)."""
        width, shared = count([self._features]), self._width * self.kv_heads
        bounds = [width, width + shared]
        x = given.steps_inside()
        if key is None and value is None and "in_proj_weights" in vars(self):
            return split(biased(matmul(x, self.in_proj_weights), self.in_proj_bias), bounds, axis=-1)
        whole = vars(self).get("in_proj_weights")
        weights = split(whole, bounds, axis=-1) if whole is not None else [
            self.q_proj_weights, self.k_proj_weights, self.v_proj_weights]
        biases = [None] * 3 if self.in_proj_bias is None else split(self.in_proj_bias, bounds, axis=-1)
        keys = x if key is None else self._memory(given, key, self._keys, "key")
        values = keys if value is None else self._memory(given, value, self._values, "value")
        return [biased(matmul(*pair), bias)
                for *pair, bias in zip((x, keys, values), weights, biases, strict=True)]

    def _memory(self, given: Sequences, memory: TensorLike, axis: Axis, operand: str) -> Tensor:
        """Returns keys or values, with features along ``axis``, without names: (..., steps, features)."""
        own = as_tensor(memory, given.op)
        if not own.is_named or not given.own.is_named:
            found = Sequences(given.op, own, axis, self._steps, operand)
        else:
            free = [each for each in own.axes if not any([same_role(each, other) for other in (
                *given.batch_axes, axis)])]
            if len(free) != 1:
                raise AxisMismatch(f"the {operand} has one axis of steps beside those of the batch", op=given.op,
                                   operand=operand, got=str(own.axes), expected=f"{given.batch_axes} and one more",
                                   help="nv.map_roles(x, {old: new}) renames axes")
            ordered = axes_with_order(own, [*[str(each.name) for each in given.batch_axes], str(free[0].name),
                                            str(axis.name)])
            found = Sequences(given.op, ordered, axis, str(free[0].name), operand)
        if len(found.batch) != len(given.batch):
            raise ShapeMismatch(f"the {operand} has another batch than the query", op=given.op, operand=operand,
                                got=str(own.axes), expected=str(given.batch_axes), help="give both the same batch")
        return found.steps_inside()

    def _mask(self, mask: TensorLike | None, batch: int) -> Tensor | None:
        """Returns a mask that broadcasts to (..., heads, steps, keys)."""
        if mask is None:
            return None
        own = as_tensor(mask, "MultiHeadAttention")
        if own.is_named and own.ndim:
            raise AxisMismatch("a mask has no names", op="MultiHeadAttention", operand="mask", got=str(own.axes),
                               expected="(T, S), (N, T, S) or (N, heads, T, S)",
                               help="nv.cast_axes(mask, mask.shape) takes them away")
        if own.dtype is not bool_ and not own.dtype.is_float:
            raise WrongKind("a mask has truth values, or floats that are added", op="MultiHeadAttention",
                            operand="mask", got=own.dtype.name, expected="bool, or a float type",
                            help="mask != 0, or mask.astype(...)")
        if 2 < own.ndim <= batch + 2:
            return reshape(own, (*own.type.shape[:-2], 1, *own.type.shape[-2:]))
        return own


def _swapped(x: Tensor) -> Tensor:
    """Returns (..., heads, steps, features) as (..., steps, heads, features), or the other way round."""
    last = x.ndim - 1
    return Tensor(ops.Permute(x.value, (*range(last - 2), last - 1, last - 2, last)))


def _cut(x: Tensor, width: int) -> Tensor:
    """Returns (..., steps, heads * width) as (..., heads, steps, width)."""
    *batch, steps, features = x.type.shape
    assert isinstance(features, int)
    return _swapped(reshape(x, (*batch, steps, features // width, width)))


def _turned(x: Tensor, base: float, start: Tensor | None) -> Tensor:
    """Returns rows (..., steps, features) turned by their positions, which count from ``start``.

    The features i and i + D / 2 are a pair, which turns by its position times base ** (-2 i / D).
    """
    *_, steps, features = x.type.shape
    assert isinstance(features, int)
    positions = Tensor(ops.Iota((steps, 1), 0, int64))
    speeds = constant(base ** (-np.arange(0, features, 2) / features), dtype=x.dtype.compute)
    angles = (positions if start is None else positions + start).astype(x.dtype.compute) * speeds
    first, second = split(x, 2, axis=-1)
    turn, lift = [function(angles).astype(x.dtype) for function in (cos, sin)]
    return concatenate([first * turn - second * lift, second * turn + first * lift], axis=-1)


def _past(rows: _Rows) -> Tensor:
    """Returns which keys are up to a query's own number: (steps, keys)."""
    shape = rows.q.type.shape[-2], rows.k.type.shape[-2]
    row, column = [Tensor(ops.Iota(shape, at, int64)) for at in (0, 1)]
    return less_equal(column, row)


def _counted(lengths: Tensor, keys: DimLike) -> Tensor:
    """Returns which keys count, (..., 1, 1, keys), for numbers of them (...)."""
    places = Tensor(ops.Iota((keys,), None, int64))
    return less(places, reshape(lengths, (*lengths.type.shape, 1, 1, 1)))


def _both(mask: Tensor | None, seen: Tensor) -> Tensor:
    """Returns a mask that hides what one of two hides."""
    if mask is None:
        return seen
    return logical_and(mask, seen) if mask.dtype is bool_ else where(seen, mask, -np.inf)
