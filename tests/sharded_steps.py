"""Training steps on meshes of 8 virtual devices beside those on one: ``python -m tests.sharded_steps``.

It prints, for each model and mesh, the largest difference of losses and of parameters after some steps as JSON.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

DEVICES = 8
STEPS = 3

if __name__ == "__main__":
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"

import numpy as np  # noqa: E402

import nervure as nv  # noqa: E402
from nervure import nn  # noqa: E402


class Dense(nn.Module):
    """Two dense layers, with dropout between them."""

    def __post_init__(self) -> None:
        self.hidden = nn.LinearLayer("F=8", "H=16")
        self.drop = nn.Dropout(0.3)
        self.out = nn.LinearLayer("H=16", "Y=4")

    def forward(self, x: nv.Tensor) -> nv.Tensor:
        return self.out(self.drop(nv.tanh(self.hidden(x))))


class Convolutional(nn.Module):
    """A convolution with batch norm and a pooling, and a dense layer."""

    def __post_init__(self) -> None:
        self.convolution = nn.Conv("C=3", "K=8", "H=3, W=3", padding=1, bias=False)
        self.norm = nn.BatchNorm("K=8")
        self.pool = nn.MaxPool("H=2, W=2")
        self.out = nn.LinearLayer("K=8, H=4, W=4", "Y=4")

    def forward(self, x: nv.Tensor) -> nv.Tensor:
        return self.out(self.pool(nv.relu(self.norm(self.convolution(x)))))


class Decoder(nn.Module):
    """A layer of a decoder between an embedding and logits of the next word."""

    def __post_init__(self) -> None:
        self.words = nn.Embedding("V=12", "E=16")
        self.layer = nn.TransformerEncoderLayer("E=16", heads=2, hidden=32, dropout=0.1, norm_first=True,
                                               bias=False)
        self.out = nn.LinearLayer("E=16", "Y=12")

    def forward(self, text: nv.Tensor) -> nv.Tensor:
        return self.out(self.layer(self.words(text), causal=True))


def dense_data(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return random.standard_normal((16, 8)).astype(np.float32), random.integers(4, size=16)


def image_data(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return random.standard_normal((16, 3, 8, 8)).astype(np.float32), random.integers(4, size=16)


def text_data(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return random.integers(12, size=(8, 6)), random.integers(12, size=(8, 6))


Model = tuple[Callable[[], nn.Module], Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]], str, str, str]
MODELS: dict[str, Model] = {
    "dense": (Dense, dense_data, "N=n, F=8", "N=n", "H"),
    "convolutional": (Convolutional, image_data, "N=n, C=3, H=8, W=8", "N=n", "K"),
    "decoder": (Decoder, text_data, "N=n, T=6", "N=n, T=6", "E")}
"""Models with their data, the axes of these, and the axis of parameters that is split."""


def shardings(axis: str) -> dict[str, dict[str, Any]]:
    """How steps are distributed, in which ``axis`` is that of the model."""
    mesh = nv.Mesh({"data": 4, "model": 2})
    return {"data": {"mesh": nv.Mesh({"data": 8}), "shard": {"N": "data"}},
            "both": {"mesh": mesh, "shard": {"N": "data", axis: "model"}},
            "parameters": {"mesh": mesh, "shard": {"N": "data"}, "shard_parameters": ("data", "model")}}


def trained(name: str, **sharding: Any) -> tuple[list[float], list[np.ndarray]]:
    """The losses of some steps of a model, and its parameters and buffers after them."""
    make, data, inputs, targets, _ = MODELS[name]
    nv.seed(3)
    random = np.random.default_rng(5)
    with nv.transformers.make_transformer("xla") as xla:
        nv.seed(4, xla)
        model = make()
        x = nv.placeholder(inputs, nv.int64 if name == "decoder" else nv.float32)
        wanted = nv.placeholder(targets, nv.int64)
        loss = nn.losses.cross_entropy(model(x), wanted)
        update = nv.optim.Clipped(nv.optim.Adam(1e-2), norm=0.5)(loss)
        step = nv.computation([loss, update], x, wanted, transformer=xla, **sharding)
        losses = [float(step(*data(random))[0]) for _ in range(STEPS)]
        return losses, list(nv.make_state_dict(model, transformer=xla).arrays().values())


def main() -> None:
    for name in MODELS:
        losses, values = trained(name)
        for kind, sharding in shardings(MODELS[name][-1]).items():
            theirs, found = trained(name, **sharding)
            print(json.dumps({"model": name, "sharding": kind, "first": losses[0], "last": losses[-1],
                              "losses": max(map(abs, np.subtract(losses, theirs))),
                              "values": max(float(np.abs(mine - other).max())
                                            for mine, other in zip(values, found, strict=True))}), flush=True)


if __name__ == "__main__":
    main()
