"""Facts about computations on 8 virtual devices: ``python -m tests.mesh_facts`` prints each as a line of JSON."""

from __future__ import annotations

import json
import os

if __name__ == "__main__":
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import numpy as np

import nervure as nv


def tell(fact: str, value: object) -> None:
    print(json.dumps({"fact": fact, "value": value}), flush=True)


def message(action: object, *arguments: object) -> str:
    """The text of the error that a call ends with."""
    try:
        action(*arguments)  # type: ignore[operator]
    except nv.NervureError as error:
        return str(error)
    return "no error"


def main() -> None:
    xla = nv.transformers.make_transformer("xla")
    mesh = nv.Mesh({"data": 8})
    x = nv.placeholder("N=n, F=8").named("x")
    w = nv.variable("F=8, H=16", np.arange(128, dtype=np.float32).reshape(8, 16) / 100).named("w")
    y = nv.tanh(nv.dot(x, w))
    rows = np.random.default_rng(0).standard_normal((16, 8)).astype(np.float32)

    def rounded(values: np.ndarray) -> list[list[float]]:
        return np.round(values.astype(np.float64), 5).tolist()
    tell("unsharded", rounded(nv.computation(y, x, transformer=xla)(rows)))
    split = nv.computation(y, x, transformer=xla, mesh=mesh, shard={"H": "data"})
    tell("result", rounded(split(rows)))
    cell, = xla.cells.of([w.variable])
    tell("weights", list(cell.held.value.addressable_shards[0].data.shape))
    tell("bytes", cell.held.value.addressable_shards[0].data.nbytes)
    tell("moved", rounded(nv.computation(y, x, transformer=xla)(rows)))
    pinned = nv.shard_as(nv.dot(x, w), {"N": None, "H": "data"})
    tell("pinned", rounded(nv.computation(nv.tanh(pinned), x, transformer=xla, mesh=mesh, shard={"N": "data"})(rows)))
    jitted = nv.jit(lambda rows: nv.tanh(nv.dot(rows, w)), transformer=xla, mesh=mesh, shard={"N": "data"})
    tell("jit", rounded(jitted(nv.constant(rows, "N=16, F=8"))))

    loss = nv.sum(y * y, out_axes=())
    step = nv.computation([loss, nv.assign(w, w - 0.1 * nv.deriv(loss, w))], x, transformer=xla, mesh=mesh,
                          shard={"N": "data"})
    found = nv.explain(step, rows, repeat=0)
    tell("reduced bytes", sum([each.bytes for each in found.exchanges if each.kind == "all-reduce"]) - 4)
    tell("bytes of gradients", 4 * 8 * 16)
    tell("explained", str(found))
    tell("does not divide", message(step, np.ones((12, 8), np.float32)))
    three = nv.placeholder("N=n, H=3")
    tell("pinned badly", message(nv.computation(nv.shard_as(three * 2.0, {"H": "data"}), three, transformer=xla,
                                                mesh=mesh), np.ones((8, 3), np.float32)))
    tell("unknown to the mesh", message(nv.computation(nv.shard_as(three * 2.0, {"H": "rows"}), three,
                                                       transformer=xla, mesh=mesh), np.ones((8, 3), np.float32)))


if __name__ == "__main__":
    main()
