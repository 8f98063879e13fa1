"""The recipes of ``nervure train``: data, a network and an optimiser that belong together.

>>> print(DigitsNetwork()(nv.placeholder("N=n, H=8, W=8")).axes)
(N: n, Y: 10)
>>> list(RECIPES)
['digits', 'fashion']
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import nervure as nv
from nervure import nn
from nervure.data.digits import Split, load_digits
from nervure.data.fashion import load_fashion
from nervure.nn.initialisers import he_normal


class Recipe(NamedTuple):
    """A recipe: ``load(seed, folder)`` gives data, ``network()`` a network from ``images`` to logits over Y.
    ``optimizer(steps)`` trains it for that many steps, with ``size`` images each.
    """

    title: str
    load: Callable[[int, Path | None], Split]
    network: Callable[[], nn.Module]
    optimizer: Callable[[int], nv.optim.Optimizer]
    images: str
    size: int


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


RECIPES = {
    "digits": Recipe("handwritten digits", lambda seed, folder: load_digits(0.2, seed), DigitsNetwork,
                     lambda steps: nv.optim.Adam(2e-3), "N=n, H=8, W=8", 64),
    "fashion": Recipe("Fashion-MNIST", lambda seed, folder: load_fashion(folder), FashionNetwork,
                      lambda steps: nv.optim.AdamW(nv.optim.one_cycle(5e-3, steps)), "N=n, H=28, W=28", 128),
}
