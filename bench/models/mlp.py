"""Dense layers with ReLU between them, for digits: 784 numbers in, ten classes out, two hidden layers of one width.

>>> model = Mlp(hidden=4, batch=2)
>>> logits, _ = model.network()(model.parameters(), model.data()[0])
>>> logits.shape
(2, 10)
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from bench.models import layers
from bench.models.base import Model, Rule

INPUTS, CLASSES, LAYERS = 784, 10, 3


@dataclass
class Mlp(Model):
    """Data are images as rows, and the number of each one's class."""

    rule: ClassVar[Rule] = Rule(epsilon=1e-7)
    batch: int = 100
    hidden: int = 256

    def shapes(self):
        widths = INPUTS, *[self.hidden] * (LAYERS - 1), CLASSES
        return {name: shape for number, (left, right) in enumerate(pairwise(widths))
                for name, shape in ((f"w{number}", (left, right)), (f"b{number}", (right,)))}

    def data(self):
        random = np.random.default_rng(0)
        return [random.standard_normal((self.batch, INPUTS), np.float32), random.integers(0, CLASSES, self.batch)]

    def network(self):
        dense = [layers.named(layers.dense, f"w{number}", f"b{number}") for number in range(LAYERS)]
        return layers.chain(*[step for entry in dense for step in (entry, layers.named(layers.relu))][:-1])
