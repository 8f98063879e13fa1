"""Recipes that tell classes of pictures apart: handwritten digits, and pieces of clothing.

>>> print(DigitsNetwork()(nv.placeholder("N=n, H=8, W=8")).axes)
(N: n, Y: 10)
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import nervure as nv
from nervure import nn
from nervure.data.digits import Split, load_digits, split_by_class
from nervure.data.fashion import load_fashion
from nervure.nn.initialisers import he_normal
from nervure.tools.recipes.recipe import Arrays, Recipe, RecipeData, Served, in_parts
from nervure.transformers.base import Transformer


class DigitsNetwork(nn.Module):
    """Two convolutions, a pooling, two dense layers: (N, H=8, W=8) to (N, Y=10)."""

    def __post_init__(self) -> None:
        self.first = nn.Conv("C=1", "K=24", "H=3, W=3", padding=1, weights=he_normal(), bias=0.0)
        self.second = nn.Conv("K=24", "C=48", "H=3, W=3", padding=1, weights=he_normal(), bias=0.0)
        self.pool = nn.MaxPool("H=2, W=2")
        self.hidden = nn.LinearLayer("C=48, H=4, W=4", "F=96", weights=he_normal(), bias=0.0)
        self.dropout = nn.Dropout(0.3)
        self.out = nn.LinearLayer("F=96", "Y=10", weights=he_normal(), bias=0.0)

    def forward(self, images: nv.Tensor) -> nv.Tensor:
        """Maps images to logits."""
        x = nv.expand_dims(images, nv.axis("C", 1), 1)
        x = self.pool(nv.relu(self.second(nv.relu(self.first(x)))))
        logits: nv.Tensor = self.out(self.dropout(nv.relu(self.hidden(x))))
        return logits


class FashionNetwork(nn.Module):
    """Two convolutions that halve the sides, two dense layers: (N, H=28, W=28) to (N, Y=10)."""

    def __post_init__(self) -> None:
        self.first = nn.Conv("C=1", "K=32", "H=4, W=4", strides=2, padding=1, weights=he_normal(), bias=False)
        self.first_norm = nn.BatchNorm("K=32")
        self.second = nn.Conv("K=32", "C=64", "H=4, W=4", strides=2, padding=1, weights=he_normal(), bias=False)
        self.second_norm = nn.BatchNorm("C=64")
        self.hidden = nn.LinearLayer("C=64, H=7, W=7", "F=128", weights=he_normal())
        self.dropout = nn.Dropout(0.3)
        self.out = nn.LinearLayer("F=128", "Y=10")

    def forward(self, images: nv.Tensor) -> nv.Tensor:
        """Maps images to logits. Pixels are normalised to mean 0 and deviation 1, with the statistics of the training
        data.
        """
        x = nv.expand_dims((images - 0.286) / 0.353, nv.axis("C", 1), 1)
        x = nv.relu(self.first_norm(self.first(x)))
        x = nv.relu(self.second_norm(self.second(x)))
        logits: nv.Tensor = self.out(self.dropout(nv.relu(self.hidden(x))))
        return logits


class ClassesRecipe(Recipe):
    """The common part of both: cross entropy, and the share of pictures whose class is found. A step takes ``size``
    pictures.
    """

    axes: tuple[str, str]
    size: int
    loss = staticmethod(nn.losses.cross_entropy)
    metrics = (nv.training.accuracy,)

    def split(self, seed: int, folder: Path | None) -> Split:
        """Returns the examples to learn from, and those that are held back."""
        raise NotImplementedError

    def load(self, seed: int, folder: Path | None, holds_back: bool) -> RecipeData:
        """With ``holds_back`` a tenth of each class decides when to stop."""
        data = self.split(seed, folder)
        parts = split_by_class(*data.train, 0.1, seed) if holds_back else Split(data.train, data.test)
        batches = nv.data.Batches(*parts.train, size=self.size, seed=seed)
        return RecipeData(batches, parts.test if holds_back else None, data.test)

    def serve(self, network: nn.Module, transformer: Transformer) -> Served:
        """``predict`` maps images to the class of each."""
        images = nv.placeholder(self.axes[0]).named("images")
        logits: nv.Tensor = network.eval()(images)
        return {"predict": nv.computation(nv.argmax(logits, -1), images, transformer=transformer)}

    def answers(self, predict: nv.Computation[np.ndarray], test: Arrays) -> np.ndarray:
        """Returns the class of each image."""
        return in_parts(predict, test[0])

    def report(self, served: Served, answers: np.ndarray, test: Arrays, folder: Path) -> list[str]:
        """Returns the share of right answers."""
        return [f"test accuracy: {float(np.mean(answers == test[1])):.4f}"]


class DigitsRecipe(ClassesRecipe):
    """Handwritten digits, which come with scikit-learn."""

    title, axes, size = "handwritten digits", ("N=n, H=8, W=8", "N=n"), 64

    def split(self, seed: int, folder: Path | None) -> Split:
        """A fifth of each class is held back."""
        return load_digits(0.2, seed)

    def network(self) -> nn.Module:
        """Returns a new network."""
        return DigitsNetwork()

    def optimizer(self, steps: int) -> nv.optim.Optimizer:
        """Returns Adam with one rate."""
        return nv.optim.Adam(2e-3)


class FashionRecipe(ClassesRecipe):
    """Fashion-MNIST, whose test examples are given."""

    title, axes, size = "Fashion-MNIST", ("N=n, H=28, W=28", "N=n"), 128

    def split(self, seed: int, folder: Path | None) -> Split:
        """Reads the four files of the ``folder``."""
        return load_fashion(folder)

    def network(self) -> nn.Module:
        """Returns a new network."""
        return FashionNetwork()

    def optimizer(self, steps: int) -> nv.optim.Optimizer:
        """Returns AdamW, whose rate rises and falls once."""
        return nv.optim.AdamW(nv.optim.one_cycle(5e-3, steps))
