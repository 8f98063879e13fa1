"""A training in several processes, each of which has two virtual devices: ``python -m tests.mesh_processes INDEX COUNT
PORT FOLDER``. The first prints facts as lines of JSON.
"""

from __future__ import annotations

import functools
import os
import sys

from tests.processes import QUICK_XLA

if __name__ == "__main__":
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count=2 {QUICK_XLA}"

import numpy as np

import nervure as nv
from tests.mesh_facts import message, tell
from tests.mesh_training import INPUTS, STEPS, bits, fit, new, trainer


def main(index: int, count: int, port: str, folder: str) -> None:
    import jax
    jax.distributed.initialize(f"127.0.0.1:{port}", count, index)
    xla = new()
    own = trainer(xla, mesh=nv.Mesh({"data": count, "model": 2}), shard={"N": "data", "H": "model"},
                  shard_parameters="data")
    history = fit(own, 1, folder)
    predicted, state = own.predict(INPUTS[:3]), bits(own)
    nv.save_weights(own.module, os.path.join(folder, "weights"), transformer=xla)
    nv.save_weights(own.module, os.path.join(folder, "weights.npz"), "npz", transformer=xla)
    x = nv.placeholder("N=n, F=8")
    own.module.eval()
    run = nv.computation(own.module(x), x, transformer=xla)
    nv.save(os.path.join(folder, "run"), run)
    small = functools.partial(nv.computation, transformer=xla, mesh=nv.Mesh({"data": 2}))
    tell("a mesh of one process", "none of process 1" in message(small, own.module(x), x))
    tell(f"one device of process {index}", bool(np.allclose(run(INPUTS[:3]), predicted, rtol=1e-5)))
    if index:
        return
    tell("loss", history[-1]["loss"])
    tell("files", len([name for name in os.listdir(folder) if name.endswith(".part")]))
    cpu = new("cpu")
    other = trainer(cpu)
    fit(other, 1, resume=os.path.join(folder, f"checkpoint-{STEPS:08}.safetensors"))
    tell("bits", bits(other) == state)
    for name, format in (("weights", "safetensors"), ("weights.npz", "npz")):
        nv.load_weights(other.module, os.path.join(folder, name), format, transformer=cpu)
        tell(name, bits(other) == state)
    tell("run", bool(np.allclose(nv.load(os.path.join(folder, "run"), cpu)(INPUTS[:3]), predicted, rtol=1e-5)))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4])
