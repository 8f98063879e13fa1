"""Networks of images: the one that ``nervure train digits`` trains, ResNet-18 (He et al. 2016), and a U-Net
(Ronneberger et al. 2015) with batch norms.

>>> from bench.models.nodes import learnt
>>> sum(value.size for value in learnt(ResNet().parameters()).values())
11689512
>>> sum(value.size for value in learnt(ResNet50().parameters()).values())
25557032
>>> model = UNet(width=2, levels=2, side=8)
>>> logits, _ = model.network()(model.parameters(), model.data()[0])
>>> logits.shape
(1, 2, 8, 8)
>>> losses = Digits(batch=4).losses(3)
>>> bool(losses[2] < losses[0])
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bench.models import image_layers, nodes
from bench.models.base import Descent, Model, Rule, precise
from bench.models.nodes import Beside, Chain, Conv, Dense, MaxPool, Mean, Node, Norm, Relu, Sum, Up


@dataclass
class Images(Model):
    """Data are images, and the number of each one's class."""

    side: int = 32
    channels: ClassVar[int] = 3
    classes: ClassVar[int] = 10

    def tree(self) -> Node:
        """The network."""
        raise NotImplementedError

    def shapes(self):
        return nodes.shapes(self.tree())

    def parameters(self):
        return nodes.initial(self.tree())

    def data(self):
        random = np.random.default_rng(0)
        return [random.standard_normal((self.batch, self.channels, self.side, self.side), np.float32),
                random.integers(0, self.classes, self.targets())]

    def targets(self) -> tuple[int, ...]:
        """The shape of the numbers of classes."""
        return (self.batch,)

    def network(self, training: bool = True):
        return image_layers.Network(training).build(self.tree())

    def results(self):
        values = precise(self.parameters())
        return self.network(training=False)(values, self.data()[0].astype(np.float64))[0]


@dataclass
class Digits(Images):
    """Two convolutions, a pooling and two dense layers. The dropout of the recipe is left out: each library would draw
    another one.
    """

    rule: ClassVar[Rule] = Rule(rate=2e-3)
    channels: ClassVar[int] = 1
    batch: int = 64
    side: int = 8

    def tree(self):
        return Chain(Conv("first", 1, 24, 3, padding=1, bias=True), Relu(),
                     Conv("second", 24, 48, 3, padding=1, bias=True), Relu(), MaxPool(2, 2),
                     Dense("hidden", 12 * self.side**2, 96), Relu(), Dense("out", 96, self.classes))


@dataclass
class ResNet(Images):
    """18 layers where stages have two blocks each; trained by descent with momentum."""

    rule: ClassVar[Descent] = Descent()
    classes: ClassVar[int] = 1000
    batch: int = 1
    side: int = 224
    width: int = 64
    blocks: int = 2

    def stem(self) -> Node:
        """What stands before the stages."""
        return Chain(Conv("stem", 3, self.width, 7, stride=2, padding=3), Norm("stem_norm", self.width), Relu(),
                     MaxPool(3, 2, 1))

    def tree(self):
        stages = [self.block(stage, block) for stage in range(4) for block in range(self.blocks)]
        return Chain(self.stem(), *stages, Mean(), Dense("head", 8 * self.width, self.classes))

    def block(self, stage: int, block: int) -> Node:
        """Two convolutions beside a shortcut, which is one of 1x1 where the shape changes."""
        name, outputs = f"stage{stage}_{block}", self.width << stage
        is_first = block == 0 and stage > 0
        inputs, stride = (outputs // 2, 2) if is_first else (outputs, 1)
        inner = Chain(Conv(f"{name}a", inputs, outputs, 3, stride, 1), Norm(f"{name}a_norm", outputs), Relu(),
                      Conv(f"{name}b", outputs, outputs, 3, 1, 1), Norm(f"{name}b_norm", outputs))
        shortcut = Chain(Conv(f"{name}c", inputs, outputs, 1, stride), Norm(f"{name}c_norm", outputs))
        return Chain(Sum(inner, shortcut if is_first else None), Relu())


@dataclass
class ResNet50(ResNet):
    """50 layers: a block narrows to a quarter of its channels, in which its 3x3 convolution computes."""

    batch: int = 64
    depths: ClassVar[tuple[int, ...]] = (3, 4, 6, 3)

    def tree(self):
        stages = [self.block(stage, block) for stage, depth in enumerate(self.depths) for block in range(depth)]
        return Chain(self.stem(), *stages, Mean(), Dense("head", 32 * self.width, self.classes))

    def block(self, stage, block):
        name, inner = f"stage{stage}_{block}", self.width << stage
        outputs, stride = 4 * inner, 2 if block == 0 and stage > 0 else 1
        inputs = outputs if block else self.width if stage == 0 else outputs // 2
        narrow = Chain(Conv(f"{name}a", inputs, inner, 1), Norm(f"{name}a_norm", inner), Relu(),
                       Conv(f"{name}b", inner, inner, 3, stride, 1), Norm(f"{name}b_norm", inner), Relu(),
                       Conv(f"{name}c", inner, outputs, 1), Norm(f"{name}c_norm", outputs))
        shortcut = Chain(Conv(f"{name}d", inputs, outputs, 1, stride), Norm(f"{name}d_norm", outputs))
        return Chain(Sum(narrow, None if block else shortcut), Relu())


@dataclass
class SmallResNet(ResNet):
    """For images of 32x32 places."""

    classes: ClassVar[int] = 10
    batch: int = 32
    side: int = 32

    def stem(self):
        return Chain(Conv("stem", 3, self.width, 3, padding=1), Norm("stem_norm", self.width), Relu())


@dataclass
class UNet(Images):
    """A class for each place. Each level has twice the channels at half the sides of the one above, and hands its
    result up beside what it was given.
    """

    rule: ClassVar[Rule] = Rule()
    classes: ClassVar[int] = 2
    loss = staticmethod(image_layers.pixel_cross_entropy)
    batch: int = 1
    side: int = 128
    width: int = 16
    levels: int = 4

    def targets(self):
        return self.batch, self.side, self.side

    def tree(self):
        return Chain(self.level(0), Conv("head", self.width, self.classes, 1, bias=True))

    def level(self, level: int) -> Node:
        """From the inputs of a level to its outputs, with all levels below."""
        outputs = self.width << level
        inputs = outputs // 2 if level else self.channels
        down = self.double(f"down{level}", inputs, outputs)
        if level == self.levels - 1:
            return down
        below = Chain(MaxPool(2, 2), self.level(level + 1), Up(f"up{level}", 2 * outputs, outputs))
        return Chain(down, Beside(below), self.double(f"join{level}", 2 * outputs, outputs))

    def double(self, name: str, inputs: int, outputs: int) -> Node:
        """Two convolutions, each with norm and relu."""
        return Chain(Conv(f"{name}a", inputs, outputs, 3, padding=1), Norm(f"{name}a_norm", outputs), Relu(),
                     Conv(f"{name}b", outputs, outputs, 3, padding=1), Norm(f"{name}b_norm", outputs), Relu())
