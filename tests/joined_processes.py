"""Processes of a job train together: each runs ``python -m tests.joined_processes FOLDER``, and writes the numbers that
it has found to ``FOLDER/INDEX.json``. One that is alone has the numbers that all of them should have.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np

import nervure as nv
from tests.processes import QUICK_XLA

EXAMPLES, SIZE = 48, 16


class Read(np.ndarray):
    """Examples that count how many of them are read."""

    count = 0

    def __getitem__(self, index: object) -> np.ndarray:
        if isinstance(index, np.ndarray):
            Read.count += len(index)
        return super().__getitem__(index)


def main(folder: Path) -> None:
    os.environ["XLA_FLAGS"] = QUICK_XLA
    nv.processes.join()
    draw = np.random.default_rng(2)
    inputs = draw.standard_normal((EXAMPLES, 4))  # float64, which is converted as it is read
    data = nv.data.Batches(inputs, draw.integers(3, size=EXAMPLES), size=SIZE, seed=5)
    data.arrays = (inputs.view(Read), data.arrays[1])
    nv.seed(1)
    xla = nv.transformers.make_transformer("xla")
    nv.seed(1, xla)
    x, y = nv.placeholder("N=n, F=4"), nv.placeholder("N=n", nv.int64)
    model = nv.nn.LinearLayer("F=4", "Y=3")
    loss = nv.nn.losses.cross_entropy(model(x), y)
    count = nv.processes.count()
    step = nv.computation([loss, nv.optim.SGD(0.5)(loss)], x, y, transformer=xla,
                          mesh=nv.Mesh({"data": count}), shard={"N": "data"})
    losses = [float(step(*batch)[0]) for epoch in range(2) for batch in data.epoch(epoch)]
    first = next(data.epoch(0))[0]
    found = {"index": nv.processes.index(), "count": count, "losses": losses, "read": Read.count,
             "first": first.tolist(), "sum": float((first + 1).sum()), "kept": float(xla.get(model.weights).sum()),
             "shape": list(nv.data.nested.read_batch((first,), "test")[0].shape),
             "whole": np.asarray(next(nv.data.Transformed(data, [lambda arrays, random: arrays]).epoch(0))[0]).tolist()}
    (folder / f"{nv.processes.index()}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
