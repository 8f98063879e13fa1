"""Convolutions and their gradients: sizes and bars.

>>> CONVOLUTIONS["conv_5x5_1"].title
'convolution 5x5, 24 to 40 channels, 1x36x36'
>>> from bench.problems import PROBLEMS
>>> problem = PROBLEMS["depthwise"](scale=0.02)
>>> x, w = problem.inputs()
>>> x.shape, w.shape, problem.reference(x, w)[0].shape
((1, 128, 28, 28), (128, 1, 3, 3), (1, 128, 28, 28))
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bench.models.image_layers import batch_norm, convolution, grouped
from bench.models.layers import Layer
from bench.models.nodes import Conv
from bench.problems import Bar, Problem, listed


class Convolution(NamedTuple):
    """A layer and the square images that it is given."""

    node: Conv
    side: int
    batch: int

    @property
    def title(self) -> str:
        """What the table calls it."""
        node = self.node
        kind, channels = "convolution", f"{node.inputs} to {node.outputs} channels"
        if node.groups > 1:
            kind, channels = "depthwise convolution", f"{node.groups} channels"
        return f"{kind} {node.window}x{node.window}, {channels}, {self.batch}x{self.side}x{self.side}"


LAYERS = {"conv_3x3_wide": (Conv("conv", 64, 64, 3, padding=1), 56),
          "conv_3x3_deep": (Conv("conv", 256, 256, 3, padding=1), 14),
          "conv_5x5": (Conv("conv", 24, 40, 5, padding=2), 36), "conv_1x1": (Conv("conv", 256, 64, 1), 28)}
DEPTHWISE = Convolution(Conv("conv", 128, 128, 3, padding=1, groups=128), 28, 16)
CONVOLUTIONS = {f"{name}_{batch}": Convolution(*layer, batch) for name, layer in LAYERS.items() for batch in (1, 16)}
CONVOLUTIONS["depthwise"] = DEPTHWISE


class Forward(Problem):
    """x and w, scaled so that results are of the size of 1."""

    case: Convolution
    tolerance = 1e-4

    def inputs(self):
        (shape,), side = self.case.node.shapes().values(), self.case.side
        w = self.normal(*shape) / np.float32(np.sqrt(np.prod(shape[1:])))
        return [self.normal(self.batch, self.case.node.inputs, side, side), w]

    def layer(self, x: np.ndarray, w: np.ndarray) -> Layer:
        """In NumPy."""
        return grouped(x, w, groups=self.case.node.groups, padding=self.case.node.padding)

    def reference(self, x, w):
        return [self.layer(x, w)[0]]


class Gradients(Forward):
    """x, w and the gradient of the result; results are the gradients of x and w."""

    def inputs(self):
        side = self.case.side
        return [*super().inputs(), self.normal(self.batch, self.case.node.outputs, side, side)]

    def reference(self, x, w, dy):
        return list(self.layer(x, w)[1](dy))


for name, case in CONVOLUTIONS.items():
    bar = Bar(1.0, 1.5) if case is DEPTHWISE else Bar(0.9, 1.1)
    for suffix, title, base in ("", case.title, Forward), ("_gradients", f"{case.title}: gradients", Gradients):
        listed(f"{name}{suffix}", title, bar, {"batch": case.batch}, "batch")(
            type(base.__name__, (base,), {"case": case}))


@listed("residual_block", "relu(batch norm(convolution 3x3) + x), 32x64x28x28, forward and backward", Bar(1.1, 1.5),
        {"batch": 32, "channels": 64, "side": 28}, "batch")
class ResidualBlock(Problem):
    """x, w, gamma, beta, and the gradient of the result, which is 0 where that of relu is open to rounding: the result,
    and the gradients of the first four.
    """

    tolerance = 1e-4

    def inputs(self):
        shape = self.batch, self.channels, self.side, self.side
        w = self.normal(self.channels, self.channels, 3, 3) / np.float32(np.sqrt(9 * self.channels))
        given = [self.normal(*shape), w, self.normal(self.channels), self.normal(self.channels)]
        before = self.before(*[entry.astype(np.float64) for entry in given])[0]
        return [*given, np.where(np.abs(before) < 1e-4, np.float32(0), self.normal(*shape))]

    def before(self, x: np.ndarray, w: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> Layer:
        """What relu is given."""
        y, pull = convolution(x, w, padding=1)
        z, pull_norm = batch_norm(y, gamma, beta)

        def back(dy: np.ndarray) -> tuple[np.ndarray, ...]:
            dz, dgamma, dbeta = pull_norm(dy)
            dx, dw = pull(dz)
            return dx + dy, dw, dgamma, dbeta
        return z + x, back

    def reference(self, x, w, gamma, beta, dy):
        before, pull = self.before(x, w, gamma, beta)
        return [np.maximum(before, 0), *pull(dy * (before > 0))]
