"""A training on digits, of which a job of several processes does a part: ``python -m tests.joined_training FOLDER EPOCHS
PROCESS STEP SIGNAL``. After this step that process sends a signal to itself (0: none).
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

import nervure as nv
from nervure.data.digits import load_digits

EXAMPLES, SIZE = 200, 32
"""The last batch of an epoch has 8 examples, which four and two processes divide."""


class Sending(nv.training.Callback):
    """Sends a signal to this process after a ``step`` of the training."""

    def __init__(self, step: int, number: int) -> None:
        self.step, self.number = step, number

    def step_end(self, trainer: nv.Trainer, means: Mapping[str, float]) -> None:
        if trainer.standing.steps == self.step:
            os.kill(os.getpid(), self.number)


def train(transformer: str, folder: str | None, epochs: int, callbacks: list[nv.training.Callback], shows: bool = False,
          **distribution: Any) -> list[dict[str, float]]:
    """Goes on with the training in a folder, and returns its history."""
    with nv.transformers.make_transformer(transformer) as made:
        nv.seed(2)
        nv.seed(2, made)
        data = load_digits(seed=0).train
        model = nv.nn.Sequential(nv.nn.LinearLayer("F=64", "H=16"), nv.tanh, nv.nn.LinearLayer("H=16", "Y=10"))
        trainer = nv.Trainer(model, nv.optim.Adam(1e-2), nv.nn.losses.cross_entropy,
                             {"accuracy": nv.training.accuracy}, axes=("N=n, F=64", "N=n"), transformer=made,
                             **distribution)
        arrays = np.reshape(data.images, (-1, 64))[:EXAMPLES], data.labels[:EXAMPLES]
        return trainer.fit(arrays, epochs, size=SIZE, folder=folder, resume=folder is not None, shows=shows,
                           callbacks=callbacks)


def main(folder: str, epochs: str, process: str, step: str, number: str) -> None:
    nv.processes.join()
    mine = nv.processes.index() == int(process) and number != "0"
    train("xla", folder, int(epochs), [Sending(int(step), signal.Signals(int(number)))] if mine else [], True,
          mesh=nv.Mesh({"data": nv.processes.count()}), shard={"N": "data"})


if __name__ == "__main__":
    main(*sys.argv[1:])
