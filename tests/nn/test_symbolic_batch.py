"""Every module over a batch of symbolic size agrees with the module that is built for a number of samples.

Values and derivatives are compared for 0, 1 and more samples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import nervure as nv
from nervure import nn
from nervure.front import pytrees

IMAGES = (2, 4, 4)


class Decoder(nn.Module):
    """A layer that looks at its own input, the other way round, as its memory."""

    inner: nn.Module

    def forward(self, x):
        return self.inner(x, x[:, ::-1])


class Unpooled(nn.Module):
    """A layer that puts largest elements back."""

    inner: nn.Module

    def forward(self, x):
        return self.inner(*nn.MaxPool((2, 2)).with_index(x))


class Spread(nn.Module):
    """A layer whose windows are drawn, with windows at places that are not."""

    inner: nn.Module

    def forward(self, x):
        return self.inner(x, nv.full((x.shape[0], 2, 2), 0.3))


class Labelled(nn.Module):
    """A layer with a class number for each sample, from its own input."""

    inner: nn.Module

    def forward(self, x):
        return self.inner(x, nv.floor(x[:, 0] * 5.9).astype(nv.int64))


class Twice(nn.Module):
    """A layer of two inputs, on one and its square."""

    inner: nn.Module

    def forward(self, x):
        return self.inner(x, x * x)


LAYERS: Mapping[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    **{name: (getattr(nn, name), (3,)) for name in (
        "CELU", "ELU", "GELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "Identity", "LeakyReLU",
        "LogSigmoid", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SELU", "Sigmoid", "SiLU", "Softplus", "Softshrink",
        "Softsign", "Tanh", "Tanhshrink")},
    **{name: (lambda name=name: getattr(nn, name)(axes=-1), (3,)) for name in ("Softmax", "Softmin", "LogSoftmax")},
    "GLU": (nn.GLU, (4,)), "Threshold": (lambda: nn.Threshold(0.1, 2.0), (3,)),
    "AdaptiveAveragePool": (lambda: nn.AdaptiveAveragePool((2, 2)), IMAGES),
    "AdaptiveMaxPool": (lambda: nn.AdaptiveMaxPool((2, 2)), IMAGES), "LPPool": (lambda: nn.LPPool((2, 2)), IMAGES),
    "ChannelShuffle": (lambda: nn.ChannelShuffle(2), IMAGES),
    "LocalResponseNorm": (lambda: nn.LocalResponseNorm(2), IMAGES),
    "MaxUnpool": (lambda: Unpooled(nn.MaxUnpool(2)), IMAGES),
    "FractionalMaxPool": (lambda: Spread(nn.FractionalMaxPool(2, ratio=0.8)), IMAGES),
    "AlphaDropout": (lambda: nn.AlphaDropout(0.0), (3,)), "ChannelDropout": (lambda: nn.ChannelDropout(0.0), IMAGES),
    "Bilinear": (lambda: Twice(nn.Bilinear(3, 3, 2)), (3,)),
    "CosineSimilarity": (lambda: Twice(nn.CosineSimilarity()), (3,)),
    "PairwiseDistance": (lambda: Twice(nn.PairwiseDistance()), (3,)),
    "ConvTranspose": (lambda: nn.ConvTranspose(2, 3, (2, 2)), IMAGES), "Flatten": (nn.Flatten, IMAGES),
    "InstanceNorm": (lambda: nn.InstanceNorm(2), IMAGES), "Pad": (lambda: nn.Pad(1), IMAGES),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), (4, 2, 2)), "PixelUnshuffle": (lambda: nn.PixelUnshuffle(2), IMAGES),
    "Unflatten": (lambda: nn.Unflatten(1, (2, 3)), (6,)), "Unfold": (lambda: nn.Unfold(2), IMAGES),
    "Fold": (lambda: nn.Fold((3, 3), 2), (8, 4)), "Upsample": (lambda: nn.Upsample((8, 8)), IMAGES),
    "EmbeddingBag": (lambda: nn.EmbeddingBag(5, 3), (2,)),
    "AveragePool": (lambda: nn.AveragePool((2, 2)), IMAGES), "MaxPool": (lambda: nn.MaxPool((2, 2)), IMAGES),
    "BatchNorm": (lambda: nn.BatchNorm(2), IMAGES), "GroupNorm": (lambda: nn.GroupNorm(1, 2), IMAGES),
    "LayerNorm": (lambda: nn.LayerNorm(3), (3,)), "RMSNorm": (lambda: nn.RMSNorm(3), (3,)),
    "Conv": (lambda: nn.Conv(2, 3, (3, 3), padding=1), IMAGES), "Dropout": (lambda: nn.Dropout(0.0), (3,)),
    "Embedding": (lambda: nn.Embedding(5, 3), (2,)), "Functional": (lambda: nn.Functional(nv.sin), (3,)),
    "Linear": (lambda: nn.Linear(3, 4), (3,)), "LinearLayer": (lambda: nn.LinearLayer(3, 4), (2, 3)),
    **{name: (lambda name=name: getattr(nn, name)(3, 4, bidirectional=True, batch_first=True), (5, 3))
       for name in ("GRU", "LSTM", "RNN")},
    **{name: (lambda name=name: getattr(nn, name)(3, 4), (3,)) for name in ("GRUCell", "LSTMCell", "RNNCell")},
    "MultiHeadAttention": (lambda: nn.MultiHeadAttention(4, 2, batch_first=True), (5, 4)),
    "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True), (5, 4)),
    "TransformerDecoderLayer": (lambda: Decoder(nn.TransformerDecoderLayer(4, 2, 8, 0.0, batch_first=True)), (5, 4)),
    "TransformerEncoder": (lambda: nn.TransformerEncoder(
        nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True), 2, nn.LayerNorm(4)), (5, 4)),
    "TransformerDecoder": (lambda: Decoder(nn.TransformerDecoder(
        nn.TransformerDecoderLayer(4, 2, 8, 0.0, batch_first=True), 1)), (5, 4)),
    "Transformer": (lambda: Decoder(nn.Transformer(4, 2, 1, 1, 8, 0.0, batch_first=True)), (5, 4)),
    "AdaptiveLogSoftmax": (lambda: Labelled(nn.AdaptiveLogSoftmax(3, 6, [2, 4], 1.5)), (3,)),
    "WeightNorm": (lambda: nn.WeightNorm(nn.Linear(3, 4)), (3,)),
    "SpectralNorm": (lambda: nn.SpectralNorm(nn.Linear(3, 4)).eval(), (3,)),
    "Residual": (lambda: nn.Residual(nn.Linear(3, 3)), (3,)),
    "Sequential": (lambda: nn.Sequential(nn.Conv(2, 3, (3, 3)), nn.BatchNorm(3), nn.ReLU(), nn.MaxPool((2, 2)),
                                         lambda x: x.reshape(-1, 3), nn.Linear(3, 2)), IMAGES)}
NO_LAYERS = {"Module", "KeyValueCache"}


def test_all_modules_are_here():
    """What is added to ``nv.nn`` is tried with an empty batch, too."""
    assert {*nn.__all__} == {*LAYERS, *NO_LAYERS}


@pytest.mark.filterwarnings("ignore:another transformer has changed")
@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
@pytest.mark.parametrize("name", LAYERS)
def test_any_batch(name, transformer):
    """A300: one program of a symbol against one for each number."""
    make, sample = LAYERS[name]
    module, dtype = make(), nv.int64 if name.startswith("Embedding") else nv.float32
    made, known = [nv.transformers.make_transformer(each) for each in (transformer, "interpreter")]
    with made, known:
        compute = program(made, module, nv.dim("n"), sample, dtype)
        for size in (0, 1, 3):
            x = np.random.default_rng(size).random((size, *sample), np.float32)
            x = (x * 5).astype(np.int64) if dtype is nv.int64 else x
            for found, expected in zip(compute(x), program(known, module, size, sample, dtype)(x), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5, strict=True)


@pytest.mark.parametrize("name", LAYERS)
def test_inputs_take_place_before_a_layer_reads_its_parameters(name, interpreter):
    """A270: also those inputs that it reads behind its parameters."""
    make, sample = LAYERS[name]
    x = np.random.default_rng(0).random((2, *sample))
    x = (x * 5).astype(np.int64) if name.startswith("Embedding") else x.astype(np.float32)
    check_order(make().eval(), interpreter, [], x)


@pytest.mark.parametrize("name, before, last", [
    ("Bilinear", [(2, 3)], (2, 3)), ("GRUCell", [(2, 3)], (2, 4)), ("RNNCell", [(2, 3)], (2, 4)),
    ("MultiHeadAttention", [(2, 5, 4)], (2, 3, 4)), ("MultiHeadAttention", [(2, 5, 4), (2, 3, 4)], (2, 3, 4)),
    ("TransformerDecoderLayer", [(2, 5, 4)], (2, 3, 4)), ("Transformer", [(2, 5, 4)], (2, 3, 4))])
def test_other_inputs_take_place_before_a_layer_reads_its_parameters(name, before, last, interpreter):
    """A270: the last of several assigns them."""
    made = LAYERS[name][0]()
    module = made.inner if isinstance(made, (Twice, Decoder)) else made
    rng = np.random.default_rng(0)
    check_order(module.eval(), interpreter, [rng.random(shape, np.float32) for shape in before],
                rng.random(last, np.float32))


def check_order(module: nn.Module, made: Any, before: list[np.ndarray], last: np.ndarray) -> None:
    """Fails unless a call whose last input assigns all parameters computes with the new ones."""
    news = [nv.assign(place, place * 0.5 + 0.125) for place in module.parameters()]
    held = nv.sequential([*news, nv.constant(last)])
    found, expected = [made.computation(pytrees.flatten(module(*before, given))[0])() for given in (held, last)]
    for entry, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(entry, wanted)


def program(made: Any, module: nn.Module, size: Any, sample: tuple[int, ...], dtype: nv.DType) -> Any:
    """The value, a loss, and its derivatives in the input and in all parameters."""
    x = nv.placeholder((size, *sample), dtype)
    found = module(x)
    y = found[0] if isinstance(found, tuple) else found
    loss = nv.sum(nv.sin(y), out_axes=())
    targets = [*loss.variables(), *([x] if dtype is nv.float32 else [])]
    return made.computation([y, loss, *nv.deriv(loss, targets)], x)


def test_bits_do_not_depend_on_what_is_known():
    """O7: also those of a gradient of a batch of one, of attention, and of a mean in logarithms."""
    rng = np.random.default_rng(0)

    def f32(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)
    norm, error = nn.BatchNorm(3, scale=f32(3)), f32(1, 3, 5)
    for function, arrays, axis in (
            (lambda x: nv.deriv(nv.sum(norm(x) * error), x), [f32(1, 3, 5)], 0),
            (nv.attention, [f32(3, 7), f32(4, 7), f32(4, 7)], 1),
            (nv.logmeanexp, [f32(7)], 0)):
        found = []
        for length in (nv.dim("n", min=1), arrays[0].shape[axis]):
            places = [nv.placeholder((*array.shape[:axis], length, *array.shape[axis + 1:])) for array in arrays]
            found.append(nv.computation(function(*places), *places)(*arrays))
        np.testing.assert_array_equal(*found)
