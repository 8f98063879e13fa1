"""Layers of images in NumPy, each with its derivative, and the networks that are made of them.

>>> x, w = np.arange(9.0).reshape(1, 1, 3, 3), np.ones((1, 1, 2, 2))
>>> y, pull = convolution(x, w)
>>> y.tolist(), pull(np.ones_like(y))[0].tolist()
([[[[8.0, 12.0], [20.0, 24.0]]]], [[[[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]]])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from bench.models import layers
from bench.models.layers import Back, Layer, Parameters, Step, named
from bench.models.nodes import EPSILON, Beside, Builder, Chain, Conv, Dense, MaxPool, Mean, Norm, Relu, Sum, Up

SPATIAL = 2, 3
OVER = 0, *SPATIAL  # all axes but the channels


def padded(x: np.ndarray, padding: int, value: float = 0.0) -> np.ndarray:
    """x with so many more places on each side."""
    widths = [(0, 0), (0, 0), (padding, padding), (padding, padding)]
    return np.pad(x, widths, constant_values=value) if padding else x


def within(wide: np.ndarray, padding: int) -> np.ndarray:
    """The inverse of ``padded``."""
    return wide[:, :, padding:wide.shape[2] - padding, padding:wide.shape[3] - padding]


def positions(wide: np.ndarray, window: tuple[int, ...], stride: int) -> Iterator[tuple[tuple[int, int], np.ndarray]]:
    """For each position in the window what stands there, over all windows: a view."""
    ends = [length - side + 1 for length, side in zip(wide.shape[2:], window)]
    for place in np.ndindex(*window):
        rows, columns = [slice(first, first + end, stride) for first, end in zip(place, ends)]
        yield place, wide[:, :, rows, columns]


def convolution(x: np.ndarray, w: np.ndarray, *bias: np.ndarray, stride: int = 1, padding: int = 0) -> Layer:
    """(batch, inputs, places) by (outputs, inputs, window)."""
    wide, window = padded(x, padding), w.shape[2:]
    y = sum([np.tensordot(w[:, :, *place], part, (1, 1)) for place, part in positions(wide, window, stride)])
    y = y.swapaxes(0, 1) + (bias[0][:, None, None] if bias else 0)

    def pull(dy: np.ndarray) -> tuple[np.ndarray, ...]:
        dwide, dw = np.zeros_like(wide), np.empty_like(w)
        for (place, part), (_, dpart) in zip(positions(wide, window, stride), positions(dwide, window, stride)):
            dpart += np.tensordot(w[:, :, *place], dy, (0, 1)).swapaxes(0, 1)
            dw[:, :, *place] = np.tensordot(dy, part, (OVER, OVER))
        return within(dwide, padding), dw, *[dy.sum(OVER) for _ in bias]
    return y, pull


def grouped(x: np.ndarray, w: np.ndarray, *bias: np.ndarray, groups: int, **settings: int) -> Layer:
    """A convolution, group by group."""
    sides = [np.split(x, groups, 1), *[np.split(entry, groups) for entry in (w, *bias)]]
    parts = [convolution(*own, **settings) for own in zip(*sides)]

    def pull(dy: np.ndarray) -> tuple[np.ndarray, ...]:
        dx, *rest = zip(*[back(part) for (_, back), part in zip(parts, np.split(dy, groups, 1))])
        return np.concatenate(dx, 1), *map(np.concatenate, rest)
    return np.concatenate([y for y, _ in parts], 1), pull


def batch_norm(x: np.ndarray, scale: np.ndarray, shift: np.ndarray) -> Layer:
    """By the mean and the variance of each channel over the batch."""
    z = x - x.mean(OVER, keepdims=True)
    factor = 1 / np.sqrt(np.mean(z * z, OVER, keepdims=True) + x.dtype.type(EPSILON))
    z *= factor

    def pull(dy: np.ndarray) -> tuple[np.ndarray, ...]:
        dz = dy * scale[:, None, None]
        means = [np.mean(entry, OVER, keepdims=True) for entry in (dz, dz * z)]
        return factor * (dz - means[0] - z * means[1]), (dy * z).sum(OVER), dy.sum(OVER)
    return z * scale[:, None, None] + shift[:, None, None], pull


def normed(x: np.ndarray, scale: np.ndarray, shift: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> Layer:
    """By statistics that are given. The derivative is that for x."""
    factor = scale / np.sqrt(variance + x.dtype.type(EPSILON))
    y = x * factor[:, None, None] + (shift - mean * factor)[:, None, None]
    return y, lambda dy: (dy * factor[:, None, None],)


def max_pool(x: np.ndarray, window: int, stride: int, padding: int) -> Layer:
    """The gradient goes to the first largest element of each window."""
    wide, square = padded(x, padding, -np.inf), (window, window)
    y = np.maximum.reduce([part for _, part in positions(wide, square, stride)])

    def pull(dy: np.ndarray) -> tuple[np.ndarray, ...]:
        dwide, waits = np.zeros_like(wide), np.ones(y.shape, bool)
        for (_, part), (_, dpart) in zip(positions(wide, square, stride), positions(dwide, square, stride)):
            is_here = waits & (part == y)
            dpart += dy * is_here
            waits &= ~is_here
        return (within(dwide, padding),)
    return y, pull


def mean(x: np.ndarray) -> Layer:
    """Over all places."""
    def pull(dy: np.ndarray) -> tuple[np.ndarray, ...]:
        return (np.broadcast_to(dy[:, :, None, None] / np.prod(x.shape[2:], dtype=x.dtype), x.shape),)
    return x.mean(SPATIAL), pull


def dense(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> Layer:
    """Over all axes but the batch."""
    y, pull = layers.dense(x.reshape(len(x), -1), w, b)

    def back(dy: np.ndarray) -> tuple[np.ndarray, ...]:
        dx, *rest = pull(dy)
        return dx.reshape(x.shape), *rest
    return y, back


def up(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> Layer:
    """Each place becomes 2x2 places."""
    batch, _, height, width = x.shape
    parts = np.tensordot(x, w, (1, 0))  # batch, height, width, outputs, 2, 2
    y = parts.transpose(0, 3, 1, 4, 2, 5).reshape(batch, -1, 2 * height, 2 * width)

    def pull(dy: np.ndarray) -> tuple[np.ndarray, ...]:
        apart = dy.reshape(batch, -1, height, 2, width, 2)
        dx = np.tensordot(apart, w, ((1, 3, 5), (1, 2, 3)))
        return np.moveaxis(dx, 3, 1), np.tensordot(x, apart, ((0, 2, 3), (0, 2, 4))), dy.sum(OVER)
    return y + b[:, None, None], pull


def pixel_cross_entropy(logits: np.ndarray, labels: np.ndarray) -> Layer:
    """The mean over all places; classes are the second axis of the logits."""
    loss, pull = layers.cross_entropy(np.moveaxis(logits, 1, -1), labels)
    return loss, lambda dy: (np.moveaxis(pull(dy)[0], -1, 1),)


def unchanged(parameters: Parameters, x: np.ndarray) -> tuple[np.ndarray, Back]:
    """The network that gives x."""
    return x, lambda dy, found: dy


def forked(first: Step, second: Step, join: Callable[..., np.ndarray], part: Callable[..., tuple]) -> Step:
    """Two networks of x, whose results are joined; ``part`` gives the gradient of each."""
    def step(parameters: Parameters, x: np.ndarray) -> tuple[np.ndarray, Back]:
        left, back_left = first(parameters, x)
        right, back_right = second(parameters, x)

        def back(dy: np.ndarray, found: Parameters) -> np.ndarray:
            dleft, dright = part(dy, left, right)
            return back_left(dleft, found) + back_right(dright, found)
        return join(left, right), back
    return step


class Network(Builder):
    """Steps of NumPy."""

    def __init__(self, training: bool) -> None:
        self.training = training

    def conv(self, node: Conv) -> Step:
        def layer(x: np.ndarray, *own: np.ndarray) -> Layer:
            return grouped(x, *own, groups=node.groups, stride=node.stride, padding=node.padding)
        return named(layer, *node.shapes())

    def norm(self, node: Norm) -> Step:
        names = list(node.shapes())
        return named(batch_norm, *names[:2]) if self.training else named(normed, *names)

    def relu(self, node: Relu) -> Step:
        return named(layers.relu)

    def maxpool(self, node: MaxPool) -> Step:
        return named(lambda x: max_pool(x, *node))

    def mean(self, node: Mean) -> Step:
        return named(mean)

    def dense(self, node: Dense) -> Step:
        return named(dense, *node.shapes())

    def up(self, node: Up) -> Step:
        return named(up, *node.shapes())

    def chain(self, node: Chain) -> Step:
        return layers.chain(*map(self.build, node.members))

    def sum(self, node: Sum) -> Step:
        shortcut = unchanged if node.shortcut is None else self.build(node.shortcut)
        return forked(self.build(node.inner), shortcut, np.add, lambda dy, x, y: (dy, dy))

    def beside(self, node: Beside) -> Step:
        return forked(unchanged, self.build(node.inner), lambda x, y: np.concatenate([x, y], 1),
                      lambda dy, x, y: np.split(dy, [x.shape[1]], 1))
