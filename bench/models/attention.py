"""Causal self-attention: queries, keys and values of each position, the mean of the values before it, a projection.

>>> model = Attention(batch=1, time=5, width=6, heads=2)
>>> y, _ = model.network()(model.parameters(), model.data()[0])
>>> y.shape
(1, 5, 6)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.models import layers
from bench.models.base import Model


@dataclass
class Attention(Model):
    """Data are sequences, and what they should become; the loss is the mean squared difference."""

    loss = staticmethod(layers.squared_difference)
    batch: int = 4
    time: int = 200
    width: int = 192
    heads: int = 6

    def shapes(self):
        return {"w_qkv": (self.width, 3 * self.width), "b_qkv": (3 * self.width,),
                "w_out": (self.width, self.width), "b_out": (self.width,)}

    def data(self):
        random = np.random.default_rng(0)
        return [random.standard_normal((self.batch, self.time, self.width), np.float32) for _ in range(2)]

    def network(self):
        return layers.chain(layers.named(layers.dense, "w_qkv", "b_qkv"), layers.mixed(self.heads),
                            layers.named(layers.dense, "w_out", "b_out"))
