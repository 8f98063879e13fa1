"""An autoencoder: digits of 64 pixels become eight numbers, and pictures again.

>>> print(Autoencoder()(nv.placeholder("N=n, H=8, W=8")).axes)
(N: n, H: 8, W: 8)
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import nervure as nv
from nervure import nn
from nervure.data.digits import load_digits
from nervure.tools.recipes.recipe import Arrays, Recipe, RecipeData, Served, in_parts
from nervure.transformers.base import Transformer


class Autoencoder(nn.Module):
    """Two dense layers to a code of eight numbers, and two back: (N, H=8, W=8) to logits of the same axes."""

    def __post_init__(self) -> None:
        self.encoder = nn.Sequential(nn.LinearLayer("H=8, W=8", "F=128"), nn.GELU(), nn.LinearLayer("F=128", "Z=8"))
        self.decoder = nn.Sequential(nn.LinearLayer("Z=8", "F=128"), nn.GELU(), nn.LinearLayer("F=128", "H=8, W=8"))

    def forward(self, images: nv.Tensor) -> nv.Tensor:
        """Maps pictures to logits of their pixels."""
        logits: nv.Tensor = self.decoder(self.encoder(images))
        return logits


class AutoencoderRecipe(Recipe):
    """Pictures of digits, from eight numbers each."""

    title, axes = "an autoencoder of digits", ("N=n, H=8, W=8", "N=n, H=8, W=8")
    loss = staticmethod(nn.losses.binary_cross_entropy)

    def load(self, seed: int, folder: Path | None, holds_back: bool) -> RecipeData:
        """A fifth of the digits is held back, and with ``holds_back`` a tenth of the others decides when to stop."""
        data = load_digits(0.2, seed)
        count = len(data.train) * 9 // 10 if holds_back else len(data.train)
        images = np.random.default_rng(seed).permutation(data.train.images)
        watched = (images[count:], images[count:]) if holds_back else None
        learnt = nv.data.Batches(images[:count], images[:count], size=64, seed=seed)
        return RecipeData(learnt, watched, (data.test.images, data.test.images))

    def network(self) -> nn.Module:
        """Returns a new network."""
        return Autoencoder()

    def optimizer(self, steps: int) -> nv.optim.Optimizer:
        """Returns Adam, whose rate rises and falls once."""
        return nv.optim.Adam(nv.optim.one_cycle(5e-3, steps))

    def serve(self, network: nn.Module, transformer: Transformer) -> Served:
        """``predict`` maps pictures to pictures; ``encode`` and ``decode`` are its halves."""
        assert isinstance(network, Autoencoder)
        images, code = nv.placeholder("N=n, H=8, W=8").named("images"), nv.placeholder("N=n, Z=8").named("code")
        own = network.eval()
        return {"predict": nv.computation(nv.sigmoid(own(images)), images, transformer=transformer),
                "encode": nv.computation(own.encoder(images), images, transformer=transformer),
                "decode": nv.computation(nv.sigmoid(own.decoder(code)), code, transformer=transformer)}

    def answers(self, predict: nv.Computation[np.ndarray], test: Arrays) -> np.ndarray:
        """Returns the pictures that were made of the codes."""
        return in_parts(predict, test[0])

    def report(self, served: Served, answers: np.ndarray, test: Arrays, folder: Path) -> list[str]:
        """Writes ``pictures.png`` to ``folder``, and returns the squared error of a pixel beside that of the mean.
        """
        rows = [test[0][:12], answers[:12], _between(served, test[0][0], test[0][1], 12)]
        _draw(rows, folder / "pictures.png")
        error, spread = [float(np.mean((test[0] - other) ** 2)) for other in (answers, test[0].mean(axis=0))]
        return [f"digits, what was made of them, and steps from the first to the second: {folder / 'pictures.png'}",
                f"test error: {error:.5f} (of the mean picture: {spread:.5f})"]


def _between(served: Served, first: np.ndarray, second: np.ndarray, count: int) -> np.ndarray:
    """Returns ``count`` pictures of codes on the line between those of two pictures."""
    start, end = served["encode"](np.stack([first, second]))
    shares = np.linspace(0, 1, count, dtype=np.float32)[:, None]
    found: np.ndarray = served["decode"](start * (1 - shares) + end * shares)
    return found


def _draw(rows: list[np.ndarray], path: Path) -> None:
    """Draws rows of pictures in grey. The plot of the history needs matplotlib as well."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    figure = Figure(figsize=(len(rows[0]) * 0.6, len(rows) * 0.7), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(len(rows), len(rows[0]))
    for places, pictures in zip(grid, rows, strict=True):
        for place, picture in zip(places, pictures, strict=True):
            place.imshow(picture, cmap="gray", vmin=0, vmax=1)
            place.set_axis_off()
    if nv.processes.index() == 0:
        figure.savefig(path)
