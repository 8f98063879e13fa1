"""The recipes of ``nervure train``: data, a network, an optimiser, and how they fit together.

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
    """``load(seed, folder)`` gives data, ``network()`` logits over Y of images, ``optimizer(steps)`` what trains it
    for so many steps, ``size`` images each.
    """

    title: str
    load: Callable[[int, Path | None], Split]
    network: Callable[[], nn.Module]
    optimizer: Callable[[int], nv.optim.Optimizer]
    images: str | tuple[nv.Dim | int, ...]
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
        """Images to logits."""
        x = nv.expand_dims(images, nv.axis("C", 1), 1)
        x = self.pool(nv.relu(self.second(nv.relu(self.first(x)))))
        logits: nv.Tensor = self.out(self.dropout(nv.relu(self.hidden(x))))
        return logits


class Patches(nn.Module):
    """Windows of 4x4 places at every other place, half of each beside the next, as channels: (N, 2h, 2w, C) to
    (N, h, w, 16 C). A dense layer on them is a convolution, and one product of all of it.

    >>> Patches()(nv.placeholder((nv.dim("n"), 28, 28, 3))).shape[1:]
    (14, 14, 48)
    """

    def forward(self, x: nv.Tensor) -> nv.Tensor:
        """x padded by one place, and its slices side by side."""
        height, width = x.shape[1], x.shape[2]
        wide = nv.pad(x, [(0, 0), (1, 1), (1, 1), (0, 0)])
        slices = [wide[:, top:top + height - 1:2, left:left + width - 1:2] for top in range(4) for left in range(4)]
        return nv.concatenate(slices, -1)


class FashionNetwork(nn.Module):
    """Two convolutions that halve the sides, two dense layers: (N, 28, 28) to (N, 10)."""

    def __post_init__(self) -> None:
        self.patches = Patches()
        self.first = nn.LinearLayer(16, 32, weights=he_normal(), bias=False)
        self.first_norm = nn.BatchNorm(32)
        self.second = nn.LinearLayer(16 * 32, 64, weights=he_normal(), bias=False)
        self.second_norm = nn.BatchNorm(64)
        self.hidden = nn.LinearLayer(49 * 64, 128, weights=he_normal())
        self.dropout = nn.Dropout(0.3)
        self.out = nn.LinearLayer(128, 10)

    def forward(self, images: nv.Tensor) -> nv.Tensor:
        """Images to logits. Pixels are brought to mean 0 and deviation 1, as those of the training data are."""
        count = images.shape[0]
        x = nv.reshape((images - 0.286) / 0.353, (count, 28, 28, 1))
        x = nv.reshape(self.patches(x), (count * 14 * 14, 16))
        x = nv.relu(self.first_norm(self.first(x)))
        x = self.patches(nv.reshape(x, (count, 14, 14, 32)))
        x = nv.relu(self.second_norm(self.second(nv.reshape(x, (count * 7 * 7, 16 * 32)))))
        x = nv.relu(self.hidden(nv.reshape(x, (count, 49 * 64))))
        logits: nv.Tensor = self.out(self.dropout(x))
        return logits


RECIPES = {
    "digits": Recipe("handwritten digits", lambda seed, folder: load_digits(0.2, seed), DigitsNetwork,
                     lambda steps: nv.optim.Adam(2e-3), "N=n, H=8, W=8", 64),
    "fashion": Recipe("Fashion-MNIST", lambda seed, folder: load_fashion(folder), FashionNetwork,
                      lambda steps: nv.optim.AdamW(nv.optim.one_cycle(5e-3, steps)), (nv.dim("n"), 28, 28), 128),
}
