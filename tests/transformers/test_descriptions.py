"""A compiled function describes its values: layouts, memory, and which are never stored."""

from __future__ import annotations

import numpy as np

import nervure as nv
from nervure.transformers.descriptions import Home, described_values
from nervure.types.layout import Layout, row_major


def by_name(computation):
    """Type of op, and description, of each value."""
    return [(type(value.op).__name__, described) for value, described in computation.value_descriptions.items()]


def places(computation):
    """Type of op, memory and strides of each value."""
    return [(name, str(entry.storage), entry.layout and entry.layout.strides) for name, entry in by_name(computation)]


def test_every_value_is_described(transformer):
    """T398: in the order of the optimised function; arguments and constants are read, all that is allocated is not."""
    x, w = nv.placeholder({"N": nv.dim("n"), "C": 3}), nv.variable("C=3", layout=row_major((3,), sizes=(8,)))
    step = transformer.computation([nv.sum(x * w, "C"), nv.assign(w, w + 1), x[::2].T], x)
    found = step.value_descriptions
    assert list(found) == [value for op in step.optimised.operations for value in op.outputs]
    for value, entry in found.items():
        assert (entry.dtype, entry.shape) == (value.dtype, value.shape)
        assert entry.storage is None or isinstance(entry.storage, Home)
        assert (entry.layout is None) == (entry.storage is None)  # what is allocated says how
        assert not entry.read_only or entry.storage is None or entry.storage.kind in ("argument", "constant") or (
            entry.base_tensor is not None)
    described = dict(by_name(step))
    assert described["Parameter"].read_only and described["Parameter"].layout.strides == (3, 1)
    assert described["ReadVariable"].layout == row_major((3,), sizes=(8,)) and not described["ReadVariable"].read_only
    step(np.ones((4, 3), np.float32))


def test_views_share_memory(transformer):
    """T398: by the strides that say so; a repeated element cannot be written."""
    w = nv.variable((2, 3))
    found = dict(by_name(transformer.computation(nv.exp(w.T) * 2.0)))
    turned, kept = found["Permute"], found["ReadVariable"]
    assert turned.layout.strides == (1, 3) and turned.storage == kept.storage == Home("variable", 0)
    assert turned.base_tensor is kept and turned.view.permutation == (1, 0) and not turned.read_only
    found = dict(by_name(transformer.computation(nv.exp(nv.broadcast(w.T[1:], (4, 2, 2))) * 2.0)))
    spread = next(entry for entry in found.values() if entry.base_tensor is not None)
    assert spread.layout == Layout((0, 1, 3), 1) and spread.read_only and spread.storage == kept.storage


def test_views_that_strides_cannot_say_have_no_memory():
    """T398: their readers compute where elements lie."""
    x = nv.Parameter(nv.float32, (2, 3))
    padded = nv.ops.Pad(x, [(1, 1), (0, 0)])
    shuffled = nv.ops.Reshape(nv.ops.Permute(x, (1, 0)), (6,))
    function = nv.Function([nv.ops.Exp(padded), nv.ops.Exp(shuffled)], [x])
    found = described_values(function, {x.value: (Home("argument", 0), row_major((2, 3)))})
    for view in (padded, shuffled):
        assert found[view.output].storage is None and found[view.output].base_tensor is not None


def test_parts_on_several_devices_have_values_of_their_own():
    """T398"""
    x = nv.placeholder((3,))
    with nv.devices(nv.NumPyTensor):
        y = nv.sin(x)
    both = nv.computation(nv.cos(y + y), x)
    assert [name for name, _ in by_name(both)] == ["Parameter", "Sin", "Parameter", "Add", "Cos"]
