"""A recipe has data and a network, and says how that is trained, what is saved of it, and what is told at the end.

>>> inputs, targets = np.zeros((4, 2)), np.zeros(4)
>>> RecipeData(nv.data.Batches(inputs, targets, size=2), None, (inputs, targets)).steps
2
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

import nervure as nv
from nervure import nn
from nervure.data.sources import Data
from nervure.transformers.base import Transformer

Arrays = tuple[np.ndarray, ...]
Served = Mapping[str, nv.Computation[np.ndarray]]
"""Computations by name, which are saved together; the first is ``predict``."""


class RecipeData(NamedTuple):
    """Data of a recipe: what the trainer learns from, what decides when to stop (or None), and what is held back."""

    batches: Data
    watched: Arrays | None
    test: Arrays

    @property
    def steps(self) -> int:
        """The number of batches in an epoch."""
        return len(cast(Sized, self.batches))

    def first(self) -> Arrays:
        """Returns the first batch."""
        return cast(Arrays, next(iter(self.batches.epoch(0))))


class Recipe:
    """A recipe of ``nervure train``. ``title`` stands above its plot; the trainer takes ``axes``, ``loss`` and
    ``metrics``.
    """

    title: str
    axes: object = None
    loss: Callable[..., nv.Tensor]
    metrics: Sequence[Callable[..., nv.Tensor]] = ()

    def load(self, seed: int, folder: Path | None, holds_back: bool) -> RecipeData:
        """Returns the data, split by ``seed``; from a ``folder``, where the recipe reads files. With ``holds_back``
        some examples are kept to decide when to stop.
        """
        raise NotImplementedError

    def network(self) -> nn.Module:
        """Returns a new network."""
        raise NotImplementedError

    def optimizer(self, steps: int) -> nv.optim.Optimizer:
        """Returns an optimiser for training of that many ``steps``."""
        raise NotImplementedError

    def serve(self, network: nn.Module, transformer: Transformer) -> Served:
        """Returns what is saved of a trained ``network``."""
        raise NotImplementedError

    def answers(self, predict: nv.Computation[np.ndarray], test: Arrays) -> np.ndarray:
        """Returns what ``predict`` says of the inputs of ``test``."""
        raise NotImplementedError

    def report(self, served: Served, answers: np.ndarray, test: Arrays, folder: Path) -> list[str]:
        """Returns lines about the ``answers``, the last of which has the result, and writes pictures to ``folder``."""
        raise NotImplementedError


def in_parts(predict: nv.Computation[np.ndarray], inputs: np.ndarray, size: int = 1000) -> np.ndarray:
    """Returns the results of ``predict`` for ``inputs``, ``size`` at a time."""
    return np.concatenate([predict(inputs[start:start + size]) for start in range(0, len(inputs), size)])
