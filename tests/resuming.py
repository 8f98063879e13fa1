"""Trains, stops and goes on: ``python -m tests.resuming PATH FROM TO`` takes the steps FROM to TO - 1. It begins with
the file where FROM is not 0, saves, and prints a digest of its weights and averages.

The training has batches in an order drawn for each epoch, dropout, a schedule and a moving average.
"""

from __future__ import annotations

import hashlib
import sys

import numpy as np

import nervure as nv

BATCHES, EXAMPLES, BATCH = 4, 24, 6


def examples() -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(1)
    inputs = draw.standard_normal((EXAMPLES, 5)).astype(np.float32)
    return inputs, np.tanh(inputs @ draw.standard_normal((5, 2))).astype(np.float32)


def batch_of(number: int) -> np.ndarray:
    """The examples of a step: a part of an order that the number of the epoch draws."""
    epoch, part = divmod(number, BATCHES)
    return np.random.default_rng([7, epoch]).permutation(EXAMPLES)[part * BATCH:(part + 1) * BATCH]


def main(path: str, first: int, last: int) -> None:
    nv.seed(3)
    model = nv.nn.Sequential(nv.nn.LinearLayer(5, 8), nv.nn.Tanh(), nv.nn.Dropout(0.3), nv.nn.LinearLayer(8, 2))
    x, y = nv.placeholder((BATCH, 5)).named("x"), nv.placeholder((BATCH, 2)).named("y")
    loss = nv.mean(nv.square(model(x) - y))
    rate = nv.optim.warm_up(nv.optim.cosine(0.05, steps=20), steps=3)
    average = nv.optim.MovingAverage(nv.optim.Clipped(nv.optim.AdamW(rate), norm=1.0), decay=0.9)
    step = nv.computation([loss, average(loss)], x, y)
    exchange = nv.computation(average.exchange())
    if first:
        nv.load(path, into={"step": step, "exchange": exchange})
        assert nv.load_notes(path) == {"steps": str(first)}
    inputs, targets = examples()
    for number in range(first, last):
        chosen = batch_of(number)
        value = step(inputs[chosen], targets[chosen])[0]
    digest = hashlib.sha256(value.tobytes())
    nv.save(path, {"step": step, "exchange": exchange}, notes={"steps": str(last)})
    for _ in range(2):
        digest.update(b"".join([place.numpy().tobytes() for place in model.parameters()]))
        exchange()
    print(digest.hexdigest())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
