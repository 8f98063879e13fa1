"""Layers at the sizes of networks that people train: a list of stages a network, each with the shape that it takes.

A stage is a function of a :class:`Draw`, which gives it weights, and of a tensor (N, ...); consecutive stages fit each
other. With *whole* numbers all sums are exact, so that a single product too many or too few is seen; what divides or
has no exact value stands in stages of *real* numbers alone.

>>> import nervure as nv
>>> draw = Draw(np.random.default_rng(0), whole=True, differentiable=False)
>>> shape, stage = NETWORKS["LeNet"][0]
>>> shape, stage(draw, nv.placeholder((nv.dim("n"), *shape))).shape
((1, 28, 28), (n, 6, 28, 28))
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import nervure as nv
from nervure import nn
from nervure.front.tensor import Tensor


class Draw(NamedTuple):
    """Random weights, of the kind that a case is of. ``differentiable``: no function with a kink has real numbers, of
    which one may lie on the other side of it in float64.
    """

    random: np.random.Generator
    whole: bool
    differentiable: bool

    def numbers(self, shape: tuple[int, ...], inputs: int) -> np.ndarray:
        """Numbers whose sum over so many products keeps the size of what they are multiplied by, about."""
        if self.whole:
            return self.random.choice([-1.0, 0.0, 1.0], shape, p=[0.15, 0.7, 0.15]).astype(np.float32)
        return (self.random.standard_normal(shape) * math.sqrt(1.5 / inputs)).astype(np.float32)

    def data(self, shape: tuple[int, ...]) -> np.ndarray:
        """Elements of arguments."""
        if self.whole:
            return self.random.integers(-2, 3, shape).astype(np.float32)
        return self.random.standard_normal(shape, np.float32)

    def activated(self, x: Tensor) -> Tensor:
        """A function after a layer."""
        if self.whole or not self.differentiable and self.random.random() < 0.5:
            return nv.relu(x)
        return (nv.gelu, nv.silu, nv.tanh)[int(self.random.integers(3))](x)


Stage = Callable[[Draw, Tensor], Tensor]
Network = list[tuple[tuple[int, ...], Stage]]


# -- stages --------------------------------------------------------------------------------------------------------


def _convolved(draw: Draw, x: Tensor, filters: int, window: int | tuple[int, ...], strides: int = 1,
               padding: int | str = "same", groups: int = 1, dilations: int = 1, bias: bool = True) -> Tensor:
    windows = window if isinstance(window, tuple) else (window,) * (x.ndim - 2)
    channels = x.shape[1]
    shape = (filters, channels // groups, *windows)
    if padding == "same":
        padding = dilations * (windows[0] - 1) // 2
    weights = draw.numbers(shape, math.prod(shape[1:]))
    layer = nn.Conv(channels, filters, windows, strides=strides, padding=padding, groups=groups, dilations=dilations,
                    weights=weights, bias=draw.numbers((filters,), 4) if bias else False)
    return layer(x)


def _normalised(draw: Draw, x: Tensor) -> Tensor:
    """Batch normalisation where numbers are real; whole ones are moved by a number for each channel."""
    channels = x.shape[1]
    spread = (-1, *[1] * (x.ndim - 2))
    shift = nv.reshape(nv.variable((channels,), initial_value=draw.numbers((channels,), 4)), spread)
    if draw.whole:
        return x + shift
    scale = nv.reshape(nv.variable((channels,), initial_value=1 + draw.numbers((channels,), 9)), spread)
    axes = (0, *range(2, x.ndim))
    mean = nv.mean(x, axis=axes, keepdims=True)
    centred = x - mean
    return centred / nv.sqrt(nv.mean(centred * centred, axis=axes, keepdims=True) + 1e-5) * scale + shift


def _maximum(draw: Draw, x: Tensor, window: int, strides: int, padding: int = 0) -> Tensor:
    """The largest of each window; the mean where a gradient of real numbers would depend on which it is. Whole numbers
    have a fraction that tells the elements of a window apart, since equal ones would share a gradient by thirds.
    """
    if draw.differentiable and not draw.whole:
        return nn.AveragePool([window] * 2, strides=strides, padding=padding, count_padding=True)(x)
    if draw.differentiable:
        rows, columns = np.indices(x.shape[2:]) % window
        x = x + ((rows * window + columns) / 16).astype(np.float32)
    return nn.MaxPool([window] * 2, strides=strides, padding=padding)(x)


def convolution(filters: int, window: int | tuple[int, ...], *, strides: int = 1, padding: int | str = "same",
                groups: int = 1, dilations: int = 1, after: str = "activated") -> Stage:
    """A convolution with a bias, and what comes behind: "activated", "normalised" (then activated), or nothing."""
    def stage(draw: Draw, x: Tensor) -> Tensor:
        y = _convolved(draw, x, filters, window, strides, padding, groups, dilations, bias=after != "normalised")
        y = _normalised(draw, y) if after == "normalised" else y
        return draw.activated(y) if after else y
    return stage


def channels_last(stage: Stage) -> Stage:
    """A stage of images whose channels come and leave last."""
    def turned(draw: Draw, x: Tensor) -> Tensor:
        return stage(draw, x.transpose(0, 3, 1, 2)).transpose(0, 2, 3, 1)
    return turned


def depthwise(filters: int, window: int = 3, strides: int = 1) -> Stage:
    """A filter for each channel, then a product of channels at each place."""
    def stage(draw: Draw, x: Tensor) -> Tensor:
        y = _convolved(draw, x, x.shape[1], window, strides, groups=x.shape[1], bias=False)
        y = draw.activated(_normalised(draw, y))
        return draw.activated(_normalised(draw, _convolved(draw, y, filters, 1, bias=False)))
    return stage


def squeezed(filters: int, inner: int, window: int = 3, strides: int = 1) -> Stage:
    """More channels, a filter for each, which counts as much as its mean over all places says, and a product of
    channels; all normalised by statistics that are given.
    """
    def stage(draw: Draw, x: Tensor) -> Tensor:
        y = draw.activated(_normalised_as_given(draw, _convolved(draw, x, inner, 1, bias=False)))
        y = draw.activated(_normalised_as_given(draw, _convolved(draw, y, inner, window, strides, groups=inner,
                                                                 bias=False)))
        if draw.whole:
            share = nv.minimum(nv.maximum(nv.sum(y, axis=(2, 3), keepdims=True), -2.0), 2.0)
        else:
            share = nv.sigmoid(_convolved(draw, nv.mean(y, axis=(2, 3), keepdims=True), inner, 1))
        return _normalised_as_given(draw, _convolved(draw, y * share, filters, 1, bias=False))
    return stage


def _normalised_as_given(draw: Draw, x: Tensor) -> Tensor:
    """Batch normalisation as in evaluation: by factors that follow from a few numbers for each channel."""
    mean, shift, scale, variance = [nv.variable((x.shape[1],), initial_value=draw.numbers((x.shape[1],), 4))
                                    for _ in range(4)]

    def spread(entry: Tensor) -> Tensor:
        return nv.reshape(entry, (-1, 1, 1))
    centred = x - spread(mean)
    if draw.whole:
        return centred + spread(shift)
    return centred * spread((1 + scale) / nv.sqrt(nv.square(variance) + 1)) + spread(shift)


def pool(window: int, strides: int, padding: int = 0) -> Stage:
    """The largest of each window."""
    return lambda draw, x: _maximum(draw, x, window, strides, padding)


def spread(channels: int) -> Stage:
    """Every channel times a number for each of new ones: a product that is computed where it is read."""
    def stage(draw: Draw, x: Tensor) -> Tensor:
        factors = nv.variable((channels, 1, 1), initial_value=draw.numbers((channels, 1, 1), 2))
        return (x if draw.whole else nv.sin(x)) * factors
    return stage


def average(window: int = 2) -> Stage:
    """The mean of each window."""
    return lambda draw, x: nn.AveragePool([window] * 2)(x)


def residual(filters: int, strides: int = 1) -> Stage:
    """Two convolutions beside what they add to, which a product of channels brings to their shape if it must."""
    def stage(draw: Draw, x: Tensor) -> Tensor:
        y = draw.activated(_normalised(draw, _convolved(draw, x, filters, 3, strides, 1, bias=False)))
        y = _normalised(draw, _convolved(draw, y, filters, 3, bias=False))
        is_same = strides == 1 and x.shape[1] == filters
        beside = x if is_same else _normalised(draw, _convolved(draw, x, filters, 1, strides, 0, bias=False))
        return draw.activated(y + beside)
    return stage


def bottleneck(filters: int, inner: int, strides: int = 1) -> Stage:
    """Three convolutions, of which the outer ones have windows of one place."""
    def stage(draw: Draw, x: Tensor) -> Tensor:
        y = draw.activated(_normalised(draw, _convolved(draw, x, inner, 1, bias=False)))
        y = draw.activated(_normalised(draw, _convolved(draw, y, inner, 3, strides, 1, bias=False)))
        y = _normalised(draw, _convolved(draw, y, filters, 1, bias=False))
        is_same = strides == 1 and x.shape[1] == filters
        return draw.activated(y + (x if is_same else _convolved(draw, x, filters, 1, strides, 0, bias=False)))
    return stage


def dense_block(growth: int = 32) -> Stage:
    """New channels beside those that were there."""
    def stage(draw: Draw, x: Tensor) -> Tensor:
        y = _convolved(draw, draw.activated(_normalised(draw, x)), 4 * growth, 1, bias=False)
        y = _convolved(draw, draw.activated(_normalised(draw, y)), growth, 3, bias=False)
        return nv.concatenate([x, y], axis=1)
    return stage


def down_and_up(filters: int) -> Stage:
    """A U: half the size, twice the channels, and back beside what was there."""
    def stage(draw: Draw, x: Tensor) -> Tensor:
        inner = draw.activated(_convolved(draw, _maximum(draw, x, 2, 2), 2 * filters, 3))
        weights = nv.variable((2 * filters, filters, 2, 2), initial_value=draw.numbers((2 * filters, filters, 2, 2), 8))
        up = nv.deconvolution(inner, weights, strides=2)
        return draw.activated(_convolved(draw, nv.concatenate([x, up], axis=1), filters, 3))
    return stage


def dense(outputs: int, last: bool = False) -> Stage:
    """A product with a matrix of all that an example has."""
    def stage(draw: Draw, x: Tensor) -> Tensor:
        inputs = math.prod(x.shape[1:])
        weights, bias = draw.numbers((inputs, outputs), inputs), draw.numbers((outputs,), 4)
        flat = nv.reshape(x, (-1, inputs)) if x.ndim > 2 else x
        y = flat @ nv.variable((inputs, outputs), initial_value=weights) + nv.variable((outputs,), initial_value=bias)
        return y if last else draw.activated(y)
    return stage


def attention(heads: int, causal: bool, is_one_op: bool = False) -> Stage:
    """The mean of values by how well their keys fit, also as ``nv.attention``; of whole numbers the sum of products of
    each three.
    """
    def stage(draw: Draw, x: Tensor) -> Tensor:
        _, length, width = x.shape
        normal = _kept_small(draw, x)
        q, k, v = [nv.reshape(_projected(draw, normal, width), (-1, length, heads, width // heads))
                   .transpose(0, 2, 1, 3) for _ in range(3)]
        scores = q @ k.transpose(0, 1, 3, 2)
        if draw.whole:
            weights = nv.minimum(nv.maximum(scores, -1.0), 1.0)
        else:
            hidden = np.triu(np.full((length, length), -1e9, np.float32), 1)
            scores = scores * (1 / math.sqrt(width // heads))
            weights = nv.softmax(scores + hidden if causal else scores, axis=-1)
        mean = nv.attention(q, k, v, causal=causal) if is_one_op and not draw.whole else weights @ v
        mixed = nv.reshape(mean.transpose(0, 2, 1, 3), (-1, length, width))
        return x + _projected(draw, mixed, width)
    return stage


def _kept_small(draw: Draw, x: Tensor) -> Tensor:
    """Layer normalisation; whole numbers are cut, so that none needs more bits than float32 has."""
    return nv.minimum(nv.maximum(x, -2.0), 2.0) if draw.whole else nn.LayerNorm(x.shape[-1])(x)


def perceptron(times: int = 4) -> Stage:
    """Two products with a function in between, beside what they add to."""
    def stage(draw: Draw, x: Tensor) -> Tensor:
        width = x.shape[-1]
        normal = _kept_small(draw, x)
        inner = draw.activated(_projected(draw, normal, times * width))
        return x + _projected(draw, inner, width)
    return stage


def _projected(draw: Draw, x: Tensor, outputs: int) -> Tensor:
    inputs = x.shape[-1]
    weights = nv.variable((inputs, outputs), initial_value=draw.numbers((inputs, outputs), inputs))
    return x @ weights + nv.variable((outputs,), initial_value=draw.numbers((outputs,), 4))


def embedded(rows: int, columns: int) -> Stage:
    """The row of a table for each number."""
    def stage(draw: Draw, x: Tensor) -> Tensor:
        table = nv.variable((rows, columns), initial_value=draw.numbers((rows, columns), 2))
        return nv.lookuptable(table, nv.convert(nv.absolute(x) * 1024.0, nv.int64) % rows)
    return stage


def recurrent(width: int) -> Stage:
    """A cell that goes over the words of an example, one after the other, with gates as an LSTM has them; of whole
    numbers without, since a product of states has more digits with every word.
    """
    def stage(draw: Draw, x: Tensor) -> Tensor:
        _, length, inputs = x.shape
        weights = nv.variable((inputs + width, 4 * width), initial_value=draw.numbers((inputs + width, 4 * width), 99))
        state = cell = nv.sum(x, axis=(1, 2), keepdims=True)[:, 0] * np.zeros((1, width), np.float32)
        states = []
        for word in range(length):
            gates = nv.concatenate([_kept_small(draw, x)[:, word], state], axis=1) @ weights
            enters, forgets, shows, new = [gates[:, start:start + width] for start in range(0, 4 * width, width)]
            if draw.whole:
                state = nv.minimum(nv.maximum(enters + forgets - shows + new, -2.0), 2.0)
            else:
                cell = nv.sigmoid(forgets) * cell + nv.sigmoid(enters) * nv.tanh(new)
                state = nv.sigmoid(shows) * nv.tanh(cell)
            states.append(state)
        return nv.stack(states, axis=1)
    return stage


def log_probabilities(draw: Draw, x: Tensor) -> Tensor:
    """The end of a classifier; of whole numbers how far each is from the largest."""
    if draw.whole and not draw.differentiable:
        return x - nv.max(x, axis=-1, keepdims=True)
    return nv.log_softmax(x, axis=-1)


# -- networks ------------------------------------------------------------------------------------------------------

NETWORKS: dict[str, Network] = {
    "LeNet": [
        ((1, 28, 28), convolution(6, 5)), ((6, 28, 28), pool(2, 2)),
        ((6, 14, 14), convolution(16, 5, padding=0)), ((16, 10, 10), pool(2, 2)),
        ((16, 5, 5), dense(120)), ((120,), dense(84)), ((84,), dense(10, last=True))],
    "digits": [
        ((1, 28, 28), convolution(16, 3, after="")), ((16, 28, 28), convolution(16, 3)),
        ((16, 28, 28), convolution(32, 3, strides=2, padding=1)), ((32, 14, 14), convolution(32, 3)),
        ((32, 14, 14), pool(2, 2)), ((32, 7, 7), dense(10, last=True))],
    "one channel": [
        ((1, 28, 28), spread(16)), ((16, 28, 28), convolution(16, 5)), ((16, 28, 28), convolution(16, 1)),
        ((16, 28, 28), convolution(24, 3, strides=2, padding=1, after="normalised"))],
    "two channels": [((2, 28, 28), convolution(32, 3)), ((32, 28, 28), convolution(32, 3, strides=2, padding=1))],
    "colours": [
        ((3, 32, 32), convolution(32, 5)), ((32, 32, 32), convolution(32, 1)),
        ((32, 32, 32), convolution(64, 3, strides=2, padding=1, after="normalised")),
        ((64, 16, 16), convolution(64, 3, dilations=2)), ((64, 16, 16), average()), ((64, 8, 8), dense(100))],
    "VGG": [
        ((3, 32, 32), convolution(64, 3)), ((64, 32, 32), convolution(64, 3)), ((64, 32, 32), pool(2, 2)),
        ((64, 16, 16), convolution(128, 3)), ((128, 16, 16), convolution(128, 3)), ((128, 16, 16), pool(2, 2)),
        ((128, 8, 8), convolution(256, 3)), ((256, 8, 8), convolution(256, 3)), ((256, 8, 8), pool(2, 2)),
        ((256, 4, 4), convolution(512, 3)), ((512, 4, 4), convolution(512, 3)), ((512, 4, 4), pool(2, 2)),
        ((512, 2, 2), dense(512))],
    "VGG of large images": [
        ((3, 224, 224), convolution(64, 3)), ((64, 224, 224), pool(2, 2)),
        ((64, 112, 112), convolution(128, 3)), ((128, 112, 112), pool(2, 2)), ((128, 56, 56), convolution(256, 3)),
        ((256, 56, 56), pool(2, 2)), ((256, 28, 28), convolution(512, 3)), ((512, 28, 28), pool(2, 2)),
        ((512, 14, 14), convolution(512, 3)), ((512, 14, 14), pool(2, 2)), ((512, 7, 7), dense(1000, last=True))],
    "ResNet": [
        ((3, 112, 112), convolution(64, 7, strides=2, padding=3, after="normalised")), ((64, 56, 56), pool(3, 2, 1)),
        ((64, 28, 28), residual(64)), ((64, 28, 28), residual(128, 2)), ((128, 14, 14), residual(128)),
        ((128, 14, 14), residual(256, 2)), ((256, 7, 7), residual(256)), ((256, 7, 7), residual(512, 2)),
        ((512, 4, 4), residual(512)), ((512, 4, 4), average(4)), ((512, 1, 1), dense(1000, last=True))],
    "ResNet of bottlenecks": [
        ((64, 28, 28), bottleneck(256, 64)), ((256, 28, 28), bottleneck(256, 64)),
        ((256, 28, 28), bottleneck(512, 128, 2)), ((512, 14, 14), bottleneck(512, 128)),
        ((512, 14, 14), bottleneck(1024, 256, 2)), ((1024, 7, 7), bottleneck(1024, 256))],
    "MobileNet": [
        ((3, 112, 112), convolution(32, 3, strides=2, padding=1, after="normalised")), ((32, 56, 56), depthwise(64)),
        ((64, 56, 56), depthwise(128, strides=2)), ((128, 28, 28), depthwise(128)),
        ((128, 28, 28), depthwise(256, strides=2)), ((256, 14, 14), depthwise(256, 5)),
        ((256, 14, 14), depthwise(512, strides=2)), ((512, 7, 7), depthwise(512)), ((512, 7, 7), average(7))],
    "U-Net": [
        ((1, 64, 64), convolution(32, 3)), ((32, 64, 64), down_and_up(32)), ((32, 64, 64), convolution(64, 3)),
        ((64, 64, 64), pool(2, 2)), ((64, 32, 32), down_and_up(64)), ((64, 32, 32), convolution(2, 1, after=""))],
    "DenseNet": [
        ((64, 28, 28), dense_block()), ((96, 28, 28), dense_block()), ((128, 28, 28), convolution(64, 1)),
        ((64, 28, 28), average()), ((64, 14, 14), dense_block()), ((96, 14, 14), dense_block()),
        ((128, 14, 14), dense_block(24)), ((152, 14, 14), average()), ((152, 7, 7), dense(10))],
    "groups": [
        ((32, 20, 20), convolution(64, 3, groups=4)), ((64, 20, 20), convolution(96, (3, 5), padding=1, groups=2)),
        ((96, 20, 18), convolution(40, 3, strides=2, padding=1)), ((40, 10, 9), convolution(24, 2, padding=0))],
    "sounds": [
        ((1, 4000), convolution(32, 9)), ((32, 4000), convolution(32, 9, strides=4, padding=4)),
        ((32, 1000), convolution(64, 3, dilations=4)), ((64, 1000), convolution(64, 5, strides=5, padding=0)),
        ((64, 200), convolution(80, 3))],
    "volumes": [
        ((1, 16, 20, 20), convolution(8, 3)), ((8, 16, 20, 20), convolution(16, 3, strides=2, padding=1)),
        ((16, 8, 10, 10), convolution(32, 3)), ((32, 8, 10, 10), dense(40))],
    "MLP": [
        ((784,), dense(512)), ((512,), dense(512)), ((512,), dense(256)), ((256,), dense(100)), ((100,), dense(10)),
        ((10,), log_probabilities)],
    "wide MLP": [((1024,), dense(4096)), ((4096,), dense(1024)), ((1024,), dense(1000, last=True)),
                 ((1000,), log_probabilities)],
    "words": [
        ((12,), embedded(5000, 48)), ((12, 48), recurrent(64)), ((12, 64), recurrent(33)), ((12, 33), dense(2))],
    "GPT": [
        ((64,), embedded(1000, 384)), ((64, 384), attention(6, causal=True)), ((64, 384), perceptron()),
        ((64, 384), attention(6, causal=True)),
        ((64, 384), perceptron())],
    "BERT": [
        ((128, 256), attention(4, causal=False)), ((128, 256), perceptron()), ((128, 256), attention(8, causal=False))],
}

CHOSEN: dict[str, Network] = {
    "MobileNetV3": [
        ((16, 112, 112), squeezed(24, 64, strides=2)), ((24, 56, 56), squeezed(40, 72, 5, strides=2)),
        ((40, 28, 28), squeezed(40, 120, 5)), ((40, 28, 28), squeezed(80, 240, strides=2)),
        ((80, 14, 14), squeezed(112, 672, 5)), ((112, 14, 14), squeezed(160, 672, 5, strides=2)),
        ((160, 7, 7), squeezed(160, 960, 5))],
    "long GPT": [((1100, 128), attention(2, causal=True, is_one_op=True)), ((1100, 128), perceptron(2))],
    "photographs": [
        ((36, 36, 24), channels_last(convolution(40, 5))), ((36, 36, 40), channels_last(convolution(64, 3)))]}
"""Networks of cases that name them: the cases that are drawn stay what they were."""
