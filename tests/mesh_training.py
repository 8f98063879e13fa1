"""Trainings on meshes of 8 virtual devices: ``python -m tests.mesh_training FOLDER`` prints facts as lines of JSON."""

from __future__ import annotations

import os
import sys
from typing import Any

from tests.processes import QUICK_XLA

if __name__ == "__main__":
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count=8 {QUICK_XLA}"

import numpy as np

import nervure as nv
from nervure import nn
from tests.mesh_facts import message, tell

generator = np.random.default_rng(0)
INPUTS = generator.standard_normal((50, 8)).astype(np.float32)
TARGETS = (INPUTS @ generator.standard_normal((8, 4))).argmax(axis=1)
DATA = (INPUTS, TARGETS)
SIZE, STEPS = 16, 4  # the last batch of an epoch has two examples
MESH: dict[str, Any] = {"mesh": nv.Mesh({"data": 4, "model": 2}), "shard": {"N": "data", "H": "model"},
                        "shard_parameters": "data"}


def trainer(transformer: nv.transformers.Transformer, **distribution: Any) -> nv.Trainer:
    """A new trainer; all start alike."""
    nv.seed(1)
    nv.seed(1, transformer)
    model = nn.Sequential(nn.LinearLayer("F=8", "H=16", bias=False), nn.BatchNorm("H=16"), nv.tanh, nn.Dropout(0.2),
                          nn.LinearLayer("H=16", "Y=4"))
    return nv.Trainer(model, nv.optim.Adam(1e-2), nn.losses.cross_entropy, {"accuracy": nv.training.accuracy},
                      axes=("N=n, F=8", "N=n"), transformer=transformer, **distribution)


def fit(own: nv.Trainer, epochs: int, folder: str | None = None, resume: bool | str = False) -> list[dict[str, float]]:
    return own.fit(DATA, epochs, size=SIZE, folder=folder, resume=resume, shows=False)


def bits(own: nv.Trainer) -> dict[str, str]:
    """All that a checkpoint has of model and optimiser."""
    return {key: array.tobytes().hex() + array.dtype.name
            for key, array in nv.make_state_dict(own, optimizers=True).arrays().items()}


def new(name: str = "xla") -> nv.transformers.Transformer:
    return nv.transformers.make_transformer(name)


def tell_of_trainings(folder: str) -> None:
    """Trains on a mesh, with checkpoints in parts, without an interruption and with one, and on one device."""
    own, path = trainer(new(), **MESH), os.path.join(folder, f"checkpoint-{STEPS:08}.safetensors")
    fit(own, 1, folder)
    tell_of_checkpoint(path, bits(own))
    fit(own, 3, folder, True)
    tell("files", sorted([name.replace(name[31:-5], "") for name in os.listdir(folder) if name.startswith("check")]))
    straight, alone = trainer(new(), **MESH), trainer(new())
    tell("on a mesh", [*fit(straight, 3), straight.evaluate(DATA)])
    tell("goes on", bits(straight) == bits(own))
    tell("on one device", [*fit(alone, 3), alone.evaluate(DATA)])
    tell("difference", float(np.abs(alone.predict(INPUTS[:3]) - own.predict(INPUTS[:3])).max()))


def tell_of_checkpoint(path: str, wanted: dict[str, str]) -> None:
    """Reads a checkpoint on the cpu and on another mesh, with its weights alone, too."""
    for name, transformer, distribution in (("cpu", "cpu", {}), (
            "another mesh", "xla", {"mesh": nv.Mesh({"model": 8}), "shard": {"H": "model"}})):
        other = trainer(new(transformer), **distribution)
        fit(other, 1, resume=path)
        tell(f"bits on {name}", bits(other) == wanted)
    fit(other, 2, resume=True)
    cpu = new("cpu")
    model = trainer(cpu).module
    nv.load_weights(model, path, transformer=cpu)
    found = nv.make_state_dict(model, transformer=cpu).arrays()
    tell("weights", all([wanted[key].startswith(array.tobytes().hex()) for key, array in found.items()]))


class Pinned(nn.Module):
    """A layer whose results are distributed by examples."""

    def __init__(self, wanted: str | None) -> None:
        self.layer, self.wanted = nn.LinearLayer("F=8", "Y=4", weights=0.1), wanted

    def forward(self, x: nv.Tensor) -> nv.Tensor:
        return nv.shard_as(self.layer(x), {"N": self.wanted})


def tell_of_pinned() -> None:
    """Trains where values in the middle lie by examples, whose last batch is not divided."""
    losses = []
    for distribution in ({"mesh": nv.Mesh({"data": 4}), "shard": {"N": "data"}}, {}):
        own = nv.Trainer(Pinned("data"), nv.optim.SGD(0.1), nn.losses.cross_entropy, axes=("N=n, F=8", "N=n"),
                         transformer=new(), **distribution)
        losses.append([entry["loss"] for entry in [*fit(own, 2), own.evaluate(DATA)]])
    tell("pinned", losses)


def main(folder: str) -> None:
    tell_of_trainings(folder)
    tell_of_pinned()
    mesh = nv.Mesh({"data": 4})
    own = trainer(new(), mesh=nv.Mesh({"data": 3}), shard={"N": "data"})
    tell("undivided", message(lambda: fit(own, 1)))
    tell("unknown", message(lambda: fit(trainer(new(), mesh=mesh, shard={"M": "data"}), 1)))
    tell("unknown in evaluation", message(trainer(new(), mesh=mesh, shard={"M": "data"}).evaluate, DATA))


if __name__ == "__main__":
    main(sys.argv[1])
