"""The buffers in which the values of a function lie on the cpu."""

from __future__ import annotations

import nervure as nv
from tests.transformers.test_descriptions import by_name, places


def test_the_memory_that_the_plan_chose():
    """T398: fused values have none, new values of variables lie where these do, parts lie inside of what they join."""
    x, w = nv.placeholder((64, 100)), nv.variable((100, 50), 0.1, layout="F")
    hidden = nv.tanh(x @ w)
    with nv.transformers.make_transformer("cpu") as cpu:
        step = cpu.computation([nv.concatenate([hidden, hidden * 2.0], 1), nv.assign(w, w * 0.5)], x)
        found = places(step)
    assert ("Contract", "None", None) in found and ("Tanh", "root 0", (100, 1)) in found
    assert [entry for entry in found if entry[0] == "Multiply"] == [
        ("Multiply", "variable 0", (1, 100)), ("Multiply", "root 0", (100, 1))]
    assert [entry.layout.offset for name, entry in by_name(step) if name == "Multiply"] == [0, 50]


def test_places_in_the_block_of_a_call():
    """T398: in bytes where sizes are known; what is needed at the same time does not overlap."""
    with nv.transformers.make_transformer("cpu") as cpu:
        for rows in (70, nv.dim("n")):
            x = nv.placeholder((rows, 60))
            first = nv.softmax(x @ nv.constant([[0.1] * 50] * 60), axis=0)
            step = cpu.computation(nv.softmax(first @ nv.constant([[0.2] * 40] * 50), axis=0) @ nv.ones((40, 3)), x)
            kept = [entry for _, entry in by_name(step) if entry.storage is not None
                    and entry.storage.kind == "temporary" and entry.base_tensor is None]
            offsets = [entry.storage.offset for entry in kept]
            assert len(kept) > 2 and all([(offset is None) is (rows != 70) for offset in offsets])
            assert len({(entry.storage.kind, entry.storage.number) for entry in kept}) == len(kept)
