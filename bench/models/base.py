"""A model of the bench has initial values, a batch, and its loss with gradients in NumPy.

>>> from bench.models.mlp import Mlp
>>> model = Mlp(hidden=4, batch=2)
>>> {name: value.shape for name, value in model.parameters().items()}
{'w0': (784, 4), 'b0': (4,), 'w1': (4, 4), 'b1': (4,), 'w2': (4, 10), 'b2': (10,)}
>>> losses = model.losses(3)
>>> bool(losses[2] < losses[0])
True
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from bench.models import layers
from bench.models.layers import Parameters, Update


class Rule(NamedTuple):
    """Adam's numbers; with ``decay`` it is AdamW. The running means keep 0.9 and 0.999."""

    rate: float = 1e-3
    epsilon: float = 1e-8
    decay: float = 0.0

    def update(self) -> Update:
        """In NumPy."""
        return layers.adam(*self)


class Descent(NamedTuple):
    """The numbers of gradient descent with momentum."""

    rate: float = 0.01
    momentum: float = 0.9

    def update(self) -> Update:
        """In NumPy."""
        return layers.descent(*self)


@dataclass
class Model:
    """Sizes are fields; ``batch`` is one of them."""

    rule: ClassVar[Rule | Descent] = Rule()
    loss: ClassVar[Callable[..., layers.Layer]] = staticmethod(layers.cross_entropy)
    batch: int = 1

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each parameter, in the order of their use."""
        raise NotImplementedError

    def data(self) -> list[np.ndarray]:
        """One batch: inputs, then what they should give."""
        raise NotImplementedError

    def network(self) -> layers.Step:
        """From inputs to what the loss compares."""
        raise NotImplementedError

    def parameters(self) -> Parameters:
        """Initial values: matrices from the normal distribution over the root of their rows, scales 1, the rest 0."""
        random = np.random.default_rng(1)

        def initial(name: str, shape: tuple[int, ...]) -> np.ndarray:
            if len(shape) == 1:
                return np.full(shape, name.startswith("scale"), np.float32)
            return random.standard_normal(shape, np.float32) / np.float32(np.sqrt(shape[0]))
        return {name: initial(name, shape) for name, shape in self.shapes().items()}

    def training(self, parameters: Parameters) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        """A step in NumPy, in the element type of the parameters, which it updates; it gives the loss of a batch."""
        update, network = self.rule.update(), self.network()

        def step(inputs: np.ndarray, target: np.ndarray) -> np.ndarray:
            gradients: Parameters = {}
            y, back = network(parameters, inputs)
            loss, pull = self.loss(y, target)
            back(*pull(1), gradients)
            update(parameters, gradients)
            return loss
        return step

    def results(self) -> np.ndarray:
        """What the network gives for one batch in float64."""
        inputs, *_ = precise(dict(enumerate(self.data()))).values()
        return self.network()(precise(self.parameters()), inputs)[0]

    def losses(self, steps: int) -> np.ndarray:
        """What training gives in float64, on one batch."""
        step, data = self.training(precise(self.parameters())), precise(dict(enumerate(self.data()))).values()
        return np.array([step(*data) for _ in range(steps)])


def precise(arrays: dict) -> dict:
    """float32 as float64; numbers of classes stay."""
    return {name: array.astype(np.float64) if array.dtype == np.float32 else array for name, array in arrays.items()}
