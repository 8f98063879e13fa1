"""Recurrent layers: the states of an LSTM or a GRU over sequences, which should become others.

>>> model = Lstm(batch=2, time=3, features=4, units=5)
>>> states, _ = model.network()(model.parameters(), model.data()[0])
>>> states.shape, {name: shape for name, shape in model.shapes().items()}
((2, 3, 5), {'w': (4, 20), 'u': (5, 20), 'b': (20,)})
>>> Gru(batch=2, time=3, features=4, units=5).shapes()
{'w': (4, 15), 'u': (5, 15), 'b': (15,), 'c': (15,)}
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.models import layers
from bench.models.base import Model


@dataclass
class Recurrent(Model):
    """Data are sequences, and what the states should be; the loss is the mean squared difference. States begin at 0."""

    loss = staticmethod(layers.squared_difference)
    batch: int = 64
    time: int = 32
    features: int = 256
    units: int = 256

    def data(self):
        random = np.random.default_rng(0)
        return [random.standard_normal((self.batch, self.time, width), np.float32)
                for width in (self.features, self.units)]


@dataclass
class Lstm(Recurrent):
    """Gates are side by side in the order of PyTorch: input, forget, candidate, output."""

    def shapes(self):
        gates = 4 * self.units
        return {"w": (self.features, gates), "u": (self.units, gates), "b": (gates,)}

    def network(self):
        return layers.named(layers.lstm, "w", "u", "b")


@dataclass
class Gru(Recurrent):
    """Gates are side by side in the order of PyTorch: reset, update, candidate.

    ``c`` is the bias of what states give.
    """

    def shapes(self):
        gates = 3 * self.units
        return {"w": (self.features, gates), "u": (self.units, gates), "b": (gates,), "c": (gates,)}

    def network(self):
        return layers.named(layers.gru, "w", "u", "b", "c")
