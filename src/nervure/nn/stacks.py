"""Stacks of transformer layers, and the transformer of two stacks.

>>> import nervure as nv
>>> layer = nv.nn.TransformerEncoderLayer("F=16", heads=2, hidden=32)
>>> encoder = nv.nn.TransformerEncoder(layer, 3, nv.nn.LayerNorm("F=16"))
>>> print(encoder(nv.placeholder("N=n, T=t, F=16"), causal=True).axes)
(N: n, T: t, F: 16)
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import cast

from nervure.errors import InvalidArgument, WrongKind, shown
from nervure.front.argument_parsing import integer, members
from nervure.front.creation import as_tensor
from nervure.front.tensor import Tensor, TensorLike
from nervure.nn.attention import KeyValueCache
from nervure.nn.module import Module
from nervure.nn.normalisers import LayerNorm
from nervure.nn.parameters import one_axis
from nervure.nn.transformer import Activation, TransformerDecoderLayer, TransformerEncoderLayer
from nervure.support.elsewhere import explains_keywords
from nervure.types.axes import Axes, AxesLike, AxisLike
from nervure.types.dtype import DTypeLike

Caches = Sequence[KeyValueCache]
"""A cache for each layer."""


class _Stack(Module):
    """Layers one after another, and a norm at the end."""

    layers: list[Module]
    norm: Module | None

    def __init__(self, layer: Module | Sequence[Module], layers: int | None = None, norm: Module | None = None) -> None:
        op = type(self).__name__
        if isinstance(layer, Module):
            count = integer(layers or 0, op, "layers", least=1)
            self.layers = [layer, *[copy.deepcopy(layer) for _ in range(count - 1)]]
        elif (isinstance(layer, (list, tuple)) and layer and layers in (None, len(layer))
              and all([isinstance(entry, Module) for entry in layer])):
            self.layers = list(layer)
        else:
            raise WrongKind("a stack is made of a layer, or a list of them", op=op, operand="layer", got=shown(layer),
                            expected="a layer and their number, or a list", help=f"nv.nn.{op}(layer, layers=6)")
        self.norm = norm

    def caches(self, batch: int | Sequence[int], length: int, dtype: DTypeLike | None = None) -> list[KeyValueCache]:
        """Returns an empty cache for each layer, as ``MultiHeadAttention.cache`` makes one.

        >>> layer = nv.nn.TransformerEncoderLayer(8, heads=2, hidden=8)
        >>> len(nv.nn.TransformerEncoder(layer, 2).caches(1, 16))
        2
        """
        return [cast("TransformerEncoderLayer", layer).self_attn.cache(batch, length, dtype)
                for layer in self.layers]

    def _each(self, caches: Caches | None) -> list[KeyValueCache | None]:
        given = [None] * len(self.layers) if caches is None else members(
            caches, type(self).__name__, "caches", "a cache for each layer, as caches(batch, length) makes them")
        if len(given) != len(self.layers):
            raise InvalidArgument("each layer has a cache", op=type(self).__name__, operand="caches",
                                  got=f"{len(given)} caches", expected=f"{len(self.layers)}",
                                  help="caches(batch, length) makes them")
        return cast("list[KeyValueCache | None]", given)  # each layer looks at its own

    def _end(self, x: Tensor) -> Tensor:
        return x if self.norm is None else as_tensor(self.norm(x), type(self).__name__)


class TransformerEncoder(_Stack):
    """Encoder layers one after another (Vaswani et al. 2017): ``layer`` and copies of it, ``layers`` in all.

    Copies start from the same values. A list of layers may take the place of the first. ``norm``, if it is given, comes
    last. As in PyTorch, the paths of parameters begin with ``layers.0``.

    >>> layer = nv.nn.TransformerEncoderLayer(16, heads=2, hidden=32)
    >>> nv.nn.TransformerEncoder(layer, 2).eval()(nv.ones((5, 3, 16))).shape
    (5, 3, 16)
    """

    @explains_keywords
    def __init__(self, layer: Module | Sequence[Module], layers: int | None = None, norm: Module | None = None) -> None:
        super().__init__(layer, layers, norm)

    def forward(self, x: TensorLike, mask: TensorLike | None = None, causal: bool = False,
                lengths: TensorLike | None = None, caches: Caches | None = None) -> Tensor:
        """Maps x (T, N, features) to the same; the other arguments are those of the layers."""
        found = as_tensor(x, "TransformerEncoder")
        for layer, cache in zip(self.layers, self._each(caches), strict=True):
            found = layer(found, mask=mask, causal=causal, lengths=lengths, cache=cache)
        return self._end(found)


class TransformerDecoder(_Stack):
    """Decoder layers one after another, which all look at one memory.

    The arguments are those of ``TransformerEncoder``.

    >>> layer = nv.nn.TransformerDecoderLayer(16, heads=2, hidden=32)
    >>> nv.nn.TransformerDecoder(layer, 2)(nv.ones((5, 3, 16)), nv.ones((7, 3, 16)), causal=True).shape
    (5, 3, 16)
    """

    @explains_keywords
    def __init__(self, layer: Module | Sequence[Module], layers: int | None = None, norm: Module | None = None) -> None:
        super().__init__(layer, layers, norm)

    def forward(self, x: TensorLike, memory: TensorLike, mask: TensorLike | None = None,
                memory_mask: TensorLike | None = None, causal: bool = False, lengths: TensorLike | None = None,
                memory_lengths: TensorLike | None = None, caches: Caches | None = None) -> Tensor:
        """Maps x (T, N, features) and a memory (S, N, features) to (T, N, features), as each layer does."""
        found = as_tensor(x, "TransformerDecoder")
        for layer, cache in zip(self.layers, self._each(caches), strict=True):
            found = layer(found, memory, mask=mask, memory_mask=memory_mask, causal=causal, lengths=lengths,
                          memory_lengths=memory_lengths, cache=cache)
        return self._end(found)


class Transformer(Module):
    """An encoder, and a decoder that looks at what it gives (Vaswani et al. 2017), each with a norm at its end.

    ``encoder_layers`` and ``decoder_layers`` are the numbers of layers, or stacks of one's own are given as ``encoder``
    and ``decoder``. All else is as in ``TransformerEncoderLayer``.

    >>> model = nv.nn.Transformer("F=16", heads=2, encoder_layers=1, decoder_layers=1, hidden=32)
    >>> print(model(nv.ones("N=3, S=7, F=16"), nv.ones("N=3, T=5, F=16"), causal=True).axes)
    (N: 3, T: 5, F: 16)
    """

    encoder: Module
    decoder: Module

    @explains_keywords
    def __init__(self, features: AxesLike, heads: int, encoder_layers: int = 6, decoder_layers: int = 6,
                 hidden: int = 2048, dropout: float = 0.1, activation: Activation = "relu", norm_first: bool = False,
                 bias: bool = True, epsilon: float = 1e-5, axis: AxisLike = "T", batch_first: bool = False,
                 encoder: Module | None = None, decoder: Module | None = None, source_axis: AxisLike = "S",
                 dtype: DTypeLike | None = None) -> None:
        outer = Axes([one_axis(features, "Transformer", "features")])

        def stack(kind: type[Module], whole: type[_Stack], count: int, operand: str, steps: AxisLike) -> Module:
            layers = [kind(features, heads, hidden, dropout, activation, norm_first, bias, epsilon, steps, batch_first,
                           dtype) for _ in range(integer(count, "Transformer", operand, least=1))]
            return whole(layers, norm=LayerNorm(outer, epsilon, shift=bias, dtype=dtype))
        self.encoder = encoder if encoder is not None else stack(
            TransformerEncoderLayer, TransformerEncoder, encoder_layers, "encoder_layers", source_axis)
        self.decoder = decoder if decoder is not None else stack(
            TransformerDecoderLayer, TransformerDecoder, decoder_layers, "decoder_layers", axis)

    def forward(self, source: TensorLike, x: TensorLike, source_mask: TensorLike | None = None,
                mask: TensorLike | None = None, memory_mask: TensorLike | None = None,
                source_lengths: TensorLike | None = None, lengths: TensorLike | None = None,
                causal: bool = False) -> Tensor:
        """Maps a source (S, N, features) and x (T, N, features) to (T, N, features).

        ``source_mask`` and ``source_lengths`` are for the encoder, and the lengths for the decoder's look at it, too;
        ``memory_mask`` is for that alone. ``mask``, ``lengths`` and ``causal`` are for the steps of x.
        """
        memory = self.encoder(source, mask=source_mask, lengths=source_lengths)
        return as_tensor(self.decoder(x, memory, mask=mask, memory_mask=memory_mask, causal=causal, lengths=lengths,
                                      memory_lengths=source_lengths), "Transformer")
