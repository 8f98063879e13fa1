"""Modules, layers, losses and initialisers.

>>> import nervure as nv
>>> from nervure import nn
>>> model = nn.Sequential(nn.LinearLayer("F=4", "K=8"), nn.ReLU(), nn.LinearLayer("K=8", "Y=3"))
>>> x, labels = nv.placeholder("N=n, F=4"), nv.placeholder("N=n", dtype=nv.int64)
>>> loss = nn.losses.cross_entropy(model(x), labels)
>>> step = nv.computation([loss, nv.optim.Adam(0.1)(loss)], x, labels)
>>> first, *_, last = [step(np.eye(4), [0, 1, 2, 0])[0] for _ in range(20)]
>>> bool(last < first)
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from nervure.nn import initialisers as initialisers
from nervure.nn import losses as losses
from nervure.nn.activations import (
    ELU,
    GELU,
    Identity,
    LeakyReLU,
    LogSoftmax,
    PReLU,
    ReLU,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Tanh,
)
from nervure.nn.adaptive import AdaptiveLogSoftmax
from nervure.nn.attention import KeyValueCache, MultiHeadAttention
from nervure.nn.bilinear import Bilinear, CosineSimilarity, EmbeddingBag, PairwiseDistance
from nervure.nn.composites import Functional, Residual, Sequential
from nervure.nn.dropping import AlphaDropout, ChannelDropout
from nervure.nn.layers import Dropout, Embedding, Linear, LinearLayer
from nervure.nn.module import Module
from nervure.nn.normalisers import BatchNorm, GroupNorm, InstanceNorm, LayerNorm, LocalResponseNorm, RMSNorm
from nervure.nn.piecewise import (
    CELU,
    GLU,
    SELU,
    Hardshrink,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    LogSigmoid,
    Mish,
    ReLU6,
    RReLU,
    Softmin,
    Softshrink,
    Softsign,
    Tanhshrink,
    Threshold,
)
from nervure.nn.places import (
    AdaptiveAveragePool,
    AdaptiveMaxPool,
    ChannelShuffle,
    Flatten,
    Fold,
    LPPool,
    Pad,
    PixelShuffle,
    PixelUnshuffle,
    Unflatten,
    Unfold,
    Upsample,
)
from nervure.nn.position_pools import FractionalMaxPool, MaxUnpool
from nervure.nn.recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell
from nervure.nn.reparametrised import SpectralNorm, WeightNorm
from nervure.nn.sliding import AveragePool, Conv, MaxPool
from nervure.nn.stacks import Transformer, TransformerDecoder, TransformerEncoder
from nervure.nn.transformer import TransformerDecoderLayer, TransformerEncoderLayer
from nervure.nn.transposed import ConvTranspose
from nervure.support.elsewhere import unknown_layer

__all__ = ["AdaptiveAveragePool", "AdaptiveLogSoftmax", "AdaptiveMaxPool", "AlphaDropout", "AveragePool", "BatchNorm",
           "Bilinear", "CELU", "ChannelDropout", "ChannelShuffle", "Conv", "ConvTranspose", "CosineSimilarity",
           "Dropout", "ELU", "Embedding", "EmbeddingBag", "Flatten", "Fold", "FractionalMaxPool", "Functional", "GELU",
           "GLU", "GRU", "GRUCell", "GroupNorm", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "Identity",
           "InstanceNorm", "KeyValueCache", "LPPool", "LSTM", "LSTMCell", "LayerNorm", "LeakyReLU", "Linear",
           "LinearLayer", "LocalResponseNorm", "LogSigmoid", "LogSoftmax", "MaxPool", "MaxUnpool", "Mish", "Module",
           "MultiHeadAttention", "PReLU", "Pad", "PairwiseDistance", "PixelShuffle", "PixelUnshuffle", "RMSNorm",
           "RNN", "RNNCell", "RReLU", "ReLU", "ReLU6", "Residual", "SELU", "Sequential", "SiLU", "Sigmoid", "Softmax",
           "Softmin", "Softplus", "Softshrink", "Softsign", "SpectralNorm", "Tanh", "Tanhshrink", "Threshold",
           "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
           "TransformerEncoderLayer", "Unflatten", "Unfold", "Upsample", "WeightNorm"]


if not TYPE_CHECKING:  # type checkers see missing attributes as missing
    def __getattr__(name: str) -> NoReturn:
        raise unknown_layer(name, [*__all__, "initialisers", "losses"])
