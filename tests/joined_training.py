"""A training of which a job of several processes does a part: ``python -m tests.joined_training DATA FOLDER EPOCHS
PROCESS STEP SIGNAL``. After this step that process sends a signal to itself.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import nervure as nv
from tests.processes import QUICK_XLA

EXAMPLES, SIZE = 144, 24


class Sending(nv.training.Callback):
    """Sends a signal to this process after a ``step`` of the training."""

    def __init__(self, step: int, number: int) -> None:
        self.step, self.number = step, number

    def step_end(self, trainer: nv.Trainer, means: Mapping[str, float]) -> None:
        if trainer.standing.steps == self.step:
            os.kill(os.getpid(), self.number)
        if trainer.standing.steps >= self.step:
            time.sleep(0.05)  # JAX looks for signals a few times in a second


def train(data: str, transformer: str, folder: str | None, epochs: int, callbacks: Sequence[nv.training.Callback] = (),
          shows: bool = False, **distribution: Any) -> list[dict[str, float]]:
    """Goes on with the training in a folder, on arrays in the file ``data``, and returns its history."""
    with nv.transformers.make_transformer(transformer) as made:
        nv.seed(2)
        nv.seed(2, made)
        read = np.load(data)
        model = nv.nn.Sequential(nv.nn.LinearLayer("F=64", "H=16"), nv.tanh, nv.nn.LinearLayer("H=16", "Y=10"))
        trainer = nv.Trainer(model, nv.optim.Adam(1e-2), nv.nn.losses.cross_entropy,
                             {"accuracy": nv.training.accuracy}, axes=("N=n, F=64", "N=n"), transformer=made,
                             **distribution)
        return trainer.fit((read["images"], read["labels"]), epochs, size=SIZE, folder=folder,
                           resume=folder is not None, shows=shows, callbacks=callbacks)


def main(data: str, folder: str, epochs: str, process: str, step: str, number: str) -> None:
    os.environ["XLA_FLAGS"] = QUICK_XLA
    nv.processes.join()
    sends = [Sending(int(step), int(number))] if nv.processes.index() == int(process) else []
    train(data, "xla", folder, int(epochs), sends, True,
          mesh=nv.Mesh({"data": nv.processes.count()}), shard={"N": "data"})


if __name__ == "__main__":
    main(*sys.argv[1:])
