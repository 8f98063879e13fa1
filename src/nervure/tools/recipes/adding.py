"""The adding problem (Hochreiter and Schmidhuber 1997): a recurrent network adds two numbers of a long sequence.

Each step has a number and a mark; two steps are marked. A network that has forgotten the first one when it sees the
second does no better than the mean, whose squared error is 1/6.

>>> inputs, targets = drawn(np.random.default_rng(0), 3)
>>> inputs.shape, bool(np.allclose((inputs[..., 0] * inputs[..., 1]).sum(axis=1), targets[:, 0]))
((3, 60, 2), True)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

import nervure as nv
from nervure import nn
from nervure.tools.recipes.recipe import Arrays, Recipe, RecipeData, Served, in_parts
from nervure.transformers.base import Transformer

STEPS = 60
"""The steps of a sequence."""


def drawn(generator: np.random.Generator, count: int) -> Arrays:
    """Returns ``count`` sequences (count, STEPS, 2), and the sums of their marked numbers (count, 1)."""
    numbers = generator.random((count, STEPS), np.float32)
    marks = np.zeros((count, STEPS), np.float32)
    rows = np.arange(count)
    for low, high in ((0, STEPS // 2), (STEPS // 2, STEPS)):
        marks[rows, generator.integers(low, high, count)] = 1
    return np.stack([numbers, marks], axis=-1), (numbers * marks).sum(axis=1, keepdims=True)


class Sums:
    """Batches of new sequences, which follow from ``seed``, epoch and number: 100 of 64 sequences in an epoch."""

    def __init__(self, seed: int) -> None:
        self.seed, self.kind = seed, {"seed": seed, "steps": STEPS}

    def __len__(self) -> int:
        return 100

    def epoch(self, number: int, start: int = 0) -> Iterator[Arrays]:
        """Yields the batches of an epoch from number ``start`` on."""
        for at in range(start, len(self)):
            yield drawn(np.random.default_rng([self.seed, number, at]), 64)


class AddingNetwork(nn.Module):
    """An LSTM, and a dense layer on its last state: (N, T, F=2) to (N, Y=1)."""

    def __post_init__(self) -> None:
        self.layer, self.out = nn.LSTM("F=2", "H=64"), nn.LinearLayer("H=64", "Y=1")

    def forward(self, inputs: nv.Tensor) -> nv.Tensor:
        """Maps sequences to sums."""
        states, _ = self.layer(inputs)
        total: nv.Tensor = self.out(states[{"T": -1}])
        return total


class AddingRecipe(Recipe):
    """An LSTM learns to add."""

    title, axes = "the adding problem", ("N=n, T=t, F=2", "N=n, Y=1")
    loss = staticmethod(nn.losses.mean_squared_error)

    def load(self, seed: int, folder: Path | None, holds_back: bool) -> RecipeData:
        """Holds back a thousand sequences by ``seed``; with ``holds_back`` as many decide when to stop."""
        held = np.random.default_rng([seed, 1])
        return RecipeData(Sums(seed), drawn(held, 1000) if holds_back else None, drawn(held, 1000))

    def network(self) -> nn.Module:
        """Returns a new network."""
        return AddingNetwork()

    def optimizer(self, steps: int) -> nv.optim.Optimizer:
        """Returns Adam on clipped gradients."""
        return nv.optim.Clipped(nv.optim.Adam(nv.optim.one_cycle(1e-2, steps)), norm=1.0)

    def serve(self, network: nn.Module, transformer: Transformer) -> Served:
        """``predict`` maps sequences of any length to sums."""
        inputs = nv.placeholder("N=n, T=t, F=2").named("inputs")
        return {"predict": nv.computation(network.eval()(inputs), inputs, transformer=transformer)}

    def answers(self, predict: nv.Computation[np.ndarray], test: Arrays) -> np.ndarray:
        """Returns the sums."""
        return in_parts(predict, test[0])

    def report(self, served: Served, answers: np.ndarray, test: Arrays, folder: Path) -> list[str]:
        """Returns three sums of ``answers`` beside the right ones, and the mean squared error."""
        shown = [f"{right:.3f}: {found:.3f}" for found, right in zip(answers[:3, 0], test[1][:3, 0], strict=True)]
        return [f"sums, and what was found: {', '.join(shown)}",
                f"test error: {float(np.mean((answers - test[1]) ** 2)):.5f} (of the mean: {1 / 6:.5f})"]
