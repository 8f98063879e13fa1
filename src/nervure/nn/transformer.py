"""Layers of transformers: attention, and two dense products, each with a residual and a norm.

>>> import nervure as nv
>>> layer = nv.nn.TransformerEncoderLayer("F=64", heads=4, hidden=256, norm_first=True)
>>> print(layer(nv.placeholder("N=n, T=t, F=64"), causal=True).axes)
(N: n, T: t, F: 64)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from nervure.front.argument_parsing import one_of, truth
from nervure.front.creation import as_tensor
from nervure.front.op_functions import add, relu
from nervure.front.pointwise.elementwise import gelu
from nervure.front.tensor import Tensor, TensorLike
from nervure.nn.attention import KeyValueCache, MultiHeadAttention
from nervure.nn.layers import Dropout, LinearLayer
from nervure.nn.module import Module
from nervure.nn.normalisers import LayerNorm
from nervure.nn.parameters import one_axis
from nervure.support.elsewhere import explains_keywords
from nervure.types.axes import Axes, AxesLike, AxisLike
from nervure.types.axis import axis as named_axis
from nervure.types.dtype import DTypeLike

Activation = str | Callable[[Tensor], Tensor]
"""The function between the dense products: "relu", "gelu", or any function of a tensor."""

_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": relu, "gelu": gelu}


class _TransformerLayer(Module):
    """The common part of the layers: dense products and norms."""

    def _build(self, features: AxesLike, hidden: int, dropout: float, activation: Activation, norm_first: bool,
               norms: int, bias: bool, epsilon: float, dtype: DTypeLike | None) -> None:
        op = type(self).__name__
        own = one_axis(features, op, "features")
        inner: AxesLike = hidden if own.is_anonymous else Axes([named_axis("hidden", hidden)])
        outer = Axes([own])
        self.linear1 = LinearLayer(outer, inner, bias=truth(bias, op, "bias"), dtype=dtype)
        self.linear2 = LinearLayer(inner, outer, bias=bias, dtype=dtype)
        for number in range(1, norms + 1):
            setattr(self, f"norm{number}", LayerNorm(outer, epsilon, shift=bias, dtype=dtype))
        self.drop, self.norm_first = Dropout(dropout), truth(norm_first, op, "norm_first")
        self._activation = _function(activation, op)

    def _dense(self, x: Tensor) -> Tensor:
        return self.drop(self.linear2(self.drop(self._activation(self.linear1(x)))))

    def _through(self, x: Tensor, *parts: Callable[[Tensor], Tensor]) -> Tensor:
        """Returns x after the parts, each with its residual and its norm, which comes first or last."""
        for number, part in enumerate(parts, 1):
            norm = cast(LayerNorm, getattr(self, f"norm{number}"))
            x = add(x, part(norm(x))) if self.norm_first else norm(add(x, part(x)))
        return x


class TransformerEncoderLayer(_TransformerLayer):
    """Attention of steps to each other, then two dense products, with residuals and norms (Vaswani et al. 2017).

    ``features`` is one axis, as in ``"F=64"``, or a length; ``heads``, ``axis`` and ``batch_first`` are those of
    ``MultiHeadAttention``. The first dense product has ``hidden`` results, on which ``activation`` ("relu", "gelu" or
    any function) acts. Norms, with ``epsilon``, are behind the residuals, or with ``norm_first`` in front of what they
    go round. In training, elements are dropped with the rate ``dropout``. ``causal=True`` makes it a layer of a decoder
    without memory.

    >>> nv.nn.TransformerEncoderLayer(16, heads=2, hidden=32).eval()(nv.ones((5, 3, 16))).shape
    (5, 3, 16)
    """

    @explains_keywords
    def __init__(self, features: AxesLike, heads: int, hidden: int = 2048, dropout: float = 0.1,
                 activation: Activation = "relu", norm_first: bool = False, bias: bool = True, epsilon: float = 1e-5,
                 axis: AxisLike = "T", batch_first: bool = False, dtype: DTypeLike | None = None) -> None:
        self.self_attn = MultiHeadAttention(features, heads, dropout=dropout, bias=bias, axis=axis,
                                            batch_first=batch_first, dtype=dtype)
        self._build(features, hidden, dropout, activation, norm_first, 2, bias, epsilon, dtype)

    def forward(self, x: TensorLike, mask: TensorLike | None = None, causal: bool = False,
                lengths: TensorLike | None = None, cache: KeyValueCache | None = None) -> Tensor:
        """Maps x (T, N, features) to the same; the other arguments are those of ``MultiHeadAttention``."""
        def attend(x: Tensor) -> Tensor:
            return self.drop(self.self_attn(x, mask=mask, causal=causal, lengths=lengths, cache=cache))
        return self._through(as_tensor(x, "TransformerEncoderLayer"), attend, self._dense)


class TransformerDecoderLayer(_TransformerLayer):
    """Attention of steps to each other, then to a memory, then two dense products, with residuals and norms.

    The arguments are those of ``TransformerEncoderLayer``.

    >>> layer = nv.nn.TransformerDecoderLayer("F=16", heads=2, hidden=32)
    >>> print(layer(nv.ones("N=3, T=5, F=16"), nv.ones("N=3, S=7, F=16"), causal=True).axes)
    (N: 3, T: 5, F: 16)
    """

    @explains_keywords
    def __init__(self, features: AxesLike, heads: int, hidden: int = 2048, dropout: float = 0.1,
                 activation: Activation = "relu", norm_first: bool = False, bias: bool = True, epsilon: float = 1e-5,
                 axis: AxisLike = "T", batch_first: bool = False, dtype: DTypeLike | None = None) -> None:
        self.self_attn, self.multihead_attn = [
            MultiHeadAttention(features, heads, dropout=dropout, bias=bias, axis=axis, batch_first=batch_first,
                               dtype=dtype) for _ in range(2)]
        self._build(features, hidden, dropout, activation, norm_first, 3, bias, epsilon, dtype)

    def forward(self, x: TensorLike, memory: TensorLike, mask: TensorLike | None = None,
                memory_mask: TensorLike | None = None, causal: bool = False, lengths: TensorLike | None = None,
                memory_lengths: TensorLike | None = None, cache: KeyValueCache | None = None) -> Tensor:
        """Maps x (T, N, features) and a memory (S, N, features) to (T, N, features).

        ``mask``, ``causal``, ``lengths`` and ``cache`` are for attention to the steps, ``memory_mask`` and
        ``memory_lengths`` for attention to the memory.
        """
        def attend(x: Tensor) -> Tensor:
            return self.drop(self.self_attn(x, mask=mask, causal=causal, lengths=lengths, cache=cache))

        def look_up(x: Tensor) -> Tensor:
            return self.drop(self.multihead_attn(x, memory, mask=memory_mask, lengths=memory_lengths))
        return self._through(as_tensor(x, "TransformerDecoderLayer"), attend, look_up, self._dense)


def _function(activation: Activation, op: str) -> Callable[[Tensor], Tensor]:
    if callable(activation):
        return activation
    return _ACTIVATIONS[one_of(activation, _ACTIVATIONS, op, "activation", "a function of a tensor will do: nv.silu")]
