"""A small problem with all that a training has to keep: random numbers, running statistics, a schedule, averages."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np

import nervure as nv
from nervure import nn, optim

generator = np.random.default_rng(0)
INPUTS = generator.standard_normal((50, 6)).astype(np.float32)
TARGETS = (INPUTS @ generator.standard_normal((6, 3))).argmax(axis=1)
DATA = (INPUTS, TARGETS)
SETTINGS = {"size": 8, "seed": 3, "shows": False}
STEPS = 7  # of an epoch


def network() -> nn.Module:
    return nn.Sequential(nn.LinearLayer(6, 8), nn.BatchNorm(8), nv.relu, nn.Dropout(0.3), nn.LinearLayer(8, 3))


def optimizer() -> optim.Optimizer:
    """Everything that counts at once: moments, a schedule, accumulated gradients, an average of weights."""
    adam = optim.AdamW(optim.warm_up(optim.cosine(0.05, steps=30), steps=5))
    return optim.MovingAverage(optim.Accumulated(optim.Clipped(adam, norm=1.0), calls=2), decay=0.9)


def trainer(seed: int = 1) -> nv.Trainer:
    """A new trainer on a transformer of its own, as a new process would make it."""
    transformer = nv.transformers.make_transformer()
    nv.seed(seed)
    nv.seed(seed, transformer)
    return nv.Trainer(network(), optimizer(), nn.losses.cross_entropy, {"accuracy": nv.training.accuracy},
                      transformer=transformer)


def state(own: nv.Trainer) -> dict[str, bytes]:
    """Every bit that a trainer has, but for where it stands."""
    table = nv.make_state_dict(own, optimizers=True).table
    return {key: array.tobytes() for key, array in table.items()} | {
        "random": own.transformer.get(nv.front.random.STEP).tobytes()}


class Interrupting:
    """Data that press Ctrl-C when so many batches have been asked for, beside the first one, which says their kind."""

    def __init__(self, data: nv.data.Batches, after: int, press) -> None:
        self.data, self.after, self.press, self.kind = data, after, press, data.kind
        self.asked = itertools.count(0)

    def __len__(self) -> int:
        return len(self.data)

    def epoch(self, number: int, start: int = 0):
        for batch in self.data.epoch(number, start):
            if next(self.asked) == self.after:
                self.press()
            yield batch


def checkpoints(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("checkpoint-*"))
