"""The main job: a small convolutional network learns the handwritten digits.

One computation is one step: forward, derivative, Adam, all in one graph that serves every batch size. The held-back
fifth is read once, at the end.

>>> network = Network(seed=0)
>>> print(network.logits(nv.placeholder("N=7, H=8, W=8")).axes)
(N: 7, Y: 10)
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import nervure as nv
from nervure.computation import Computation
from nervure.data.digits import Examples, Split, batches, load_digits
from nervure.errors import InternalError
from nervure.transformers.base import Transformer

BATCH = 64
LEARNING_RATE = 2e-3
DROPPED = 0.3
CLASSES = nv.axis("Y", 10)


class Progress(NamedTuple):
    """Mean loss and accuracy of one epoch, on the batches as they were learnt from."""

    loss: float
    accuracy: float


class Network:
    """Two convolutions, a pooling, two dense layers. All weights are drawn from the seed."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng([seed, 1])
        self.first = self._weights("C=1, H=3, W=3, K=24", 9, "first")
        self.second = self._weights("K=24, H=3, W=3, C=48", 9 * 24, "second")
        self.hidden = self._weights("C=48, H=4, W=4, F=96", 48 * 16, "hidden")
        self.out = self._weights("F=96, Y=10", 96, "out")
        self.biases = {name: nv.variable(axes).named(f"{name}_bias") for name, axes in
                       (("first", "K=24"), ("second", "C=48"), ("hidden", "F=96"), ("out", "Y=10"))}

    def _weights(self, axes: str, inputs: int, name: str) -> nv.AssignableTensorOp:
        """He's initialisation: normal with variance 2 / inputs."""
        shape = [length for length in nv.make_axes(axes).lengths if isinstance(length, int)]
        values = self._generator.standard_normal(shape) * np.sqrt(2 / inputs)
        return nv.variable(axes, values.astype(np.float32)).named(name)

    def logits(self, images: nv.Tensor, dropped: float = 0.0) -> nv.Tensor:
        """Images (N, H, W) to logits (N, Y)."""
        x = nv.expand_dims(images, nv.axis("C", 1), 1)
        x = nv.relu(nv.convolution(x, self.first, spatial=["H", "W"], padding=1) + self.biases["first"])
        x = nv.relu(nv.convolution(x, self.second, spatial=["H", "W"], padding=1) + self.biases["second"])
        x = nv.pooling(x, "max", window={"H": 2, "W": 2})
        x = nv.relu(nv.dot(x, self.hidden) + self.biases["hidden"])
        if dropped:
            x = nv.dropout(x, dropped)
        return nv.dot(x, self.out) + self.biases["out"]


def build_step(network: Network, transformer: Transformer) -> Computation[tuple[np.ndarray, ...]]:
    """One training step: images, labels -> loss, number of right answers; the weights are updated."""
    n = nv.dim("n", min=1)
    images = nv.placeholder({"N": n, "H": 8, "W": 8}).named("images")
    labels = nv.placeholder({"N": n}, dtype=nv.int64).named("labels")
    logits = network.logits(images, DROPPED)
    targets = nv.one_hot(labels, CLASSES)
    loss = nv.mean(nv.cross_entropy_multi(nv.softmax(logits), targets), out_axes=())
    right = nv.sum(nv.equal(nv.argmax(logits, CLASSES), labels), out_axes=())
    update = nv.optim.Adam(LEARNING_RATE)(loss)
    return transformer.computation([loss, right, update], images, labels)


def build_prediction(network: Network, transformer: Transformer) -> Computation[np.ndarray]:
    """Inference: images -> the digit of each."""
    images = nv.placeholder({"N": nv.dim("n", min=1), "H": 8, "W": 8}).named("images")
    return transformer.computation(nv.argmax(network.logits(images), CLASSES), images)


def train(epochs: int, seed: int, transformer_name: str | None, out: Path) -> float:
    """Trains, saves, reloads, checks, plots, and prints how it went. Returns the accuracy on the held-back fifth.

    Without a name the transformer is the one that ``flags.transformer`` names, else the best one here.
    """
    data = load_digits(held_back=0.2, seed=seed)
    out.mkdir(parents=True, exist_ok=True)
    with nv.transformers.make_transformer(transformer_name) as transformer:
        nv.seed(seed, transformer)
        network = Network(seed)
        step, predict = build_step(network, transformer), build_prediction(network, transformer)
        started = time.perf_counter()
        history = _learn(step, data, epochs, np.random.default_rng([seed, 2]))
        seconds = time.perf_counter() - started
        weights = out / "digits.safetensors"
        nv.save(weights, predict)
        answers = predict(data.test.images)
        _check_saved(weights, data.test, answers)
    plot(history, out / "digits.png")
    steps = epochs * -(-len(data.train) // BATCH)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # kilobytes on Linux
    print(f"saved, reloaded and checked: {weights}; plot: {out / 'digits.png'}")
    print(f"{steps / seconds:.1f} steps per second on {transformer.name}, peak memory {peak:.0f} MB")
    accuracy = float(np.mean(answers == data.test.labels))
    print(f"test accuracy: {accuracy:.4f}")
    return accuracy


def _learn(step: Computation[tuple[np.ndarray, ...]], data: Split, epochs: int,
           generator: np.random.Generator) -> list[Progress]:
    """The training loop. Progress is a bar on a terminal, plain lines elsewhere."""
    from tqdm import tqdm
    history: list[Progress] = []
    bar = tqdm(total=epochs, unit="epoch", disable=not sys.stderr.isatty())
    for epoch in range(epochs):
        loss_sum, right_sum = 0.0, 0
        for batch in batches(data.train, BATCH, generator):
            loss, right, _ = step(batch.images, batch.labels)
            loss_sum += float(loss) * len(batch)
            right_sum += int(right)
        history.append(Progress(loss_sum / len(data.train), right_sum / len(data.train)))
        bar.set_postfix(loss=f"{history[-1].loss:.4f}", accuracy=f"{history[-1].accuracy:.4f}")
        bar.update()
        if bar.disable:
            print(f"epoch {epoch + 1}/{epochs}: loss {history[-1].loss:.4f}, "
                  f"accuracy {history[-1].accuracy:.4f}", flush=True)
    bar.close()
    return history


def _check_saved(path: Path, examples: Examples, answers: np.ndarray) -> None:
    """Checks that the saved network gives the same answers."""
    if not np.array_equal(nv.load(path)(examples.images), answers):
        raise InternalError(f"{path} does not give the answers of the network that it was saved from")


def plot(history: list[Progress], path: Path) -> None:
    """Loss and accuracy by epoch, as a PNG."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, left = pyplot.subplots(figsize=(7, 4), layout="constrained")
    epochs = range(1, len(history) + 1)
    left.plot(epochs, [entry.loss for entry in history], color="tab:blue")
    left.set(xlabel="epoch", ylabel="loss", yscale="log")
    left.yaxis.label.set_color("tab:blue")
    right = left.twinx()
    right.plot(epochs, [entry.accuracy for entry in history], color="tab:orange")
    right.set_ylabel("accuracy on the batches", color="tab:orange")
    left.set_title("handwritten digits")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
