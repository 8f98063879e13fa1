"""What a tensor tells of itself."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument
from nervure.front.record import record_of

ARRAY = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
VIEWS = {"itself": lambda x: x, "permuted": lambda x: x.transpose(2, 0, 1), "a slice": lambda x: x[:, 1:, ::2],
         "backwards": lambda x: x[::-1, :, 3], "a view of a view": lambda x: x.transpose(2, 0, 1)[1:3, :, ::-1]}


@pytest.mark.parametrize("name", VIEWS)
def test_where_elements_lie(name):
    """T16: strides and offset lead to them, as NumPy's do."""
    x, seen = nv.tensor(ARRAY), VIEWS[name](ARRAY)
    view = VIEWS[name](x)
    assert view.strides == tuple(stride // 4 for stride in seen.strides) and view.orig_shape == (2, 3, 4)
    assert view.offset == (seen.ctypes.data - ARRAY.ctypes.data) // 4 if name != "itself" else view.offset == 0
    flat = x.storage.reshape(-1)
    assert all(flat[view.offset + np.dot(view.strides, at)] == seen[at] for at in np.ndindex(seen.shape))
    assert view.is_view is (name != "itself") and bool(view.view_spec) is view.is_view


def test_orders():
    """T16: C, F, or neither."""
    x = nv.tensor(ARRAY[0])
    assert (x.order, x.T.order, x[:, :2].order, nv.make_tensor(2.0).order) == ("C", "F", "A", "C")
    assert [type(view).__name__ for view in x.T[1:].view_spec] == ["Permute", "Slice"]


def test_what_is_computed_is_its_own_storage():
    """T16: so is a view that no strides can say."""
    x = nv.tensor(ARRAY[0])
    for y in (x + 1, x.T.reshape(-1), nv.pad(x, 1)):
        assert y.orig_shape == y.shape and y.offset == 0 and y.order == "C" and not y.is_view


def test_the_number_of_elements():
    """T15: an error while it is a symbol."""
    assert nv.zeros((2, 3)).numel() == 6 and nv.make_tensor(1.0).numel() == 1
    with pytest.raises(InvalidArgument, match="not known yet") as caught:
        nv.make_input(("a", 10), "x").numel()
    assert caught.value.got == "shape=(a, 10)" and "x.size" in caught.value.help


def test_nodes_and_parents():
    """T9: places are the very tensors, and have neither."""
    x, w = nv.placeholder((3,)), nv.variable((3,))
    y = x * w
    assert type(y.node).__name__ == "Multiply" and y.parents == (x, w)
    z = y + 1.0
    assert z.parents[0].node is y.node and z.parents[0].shape == (3,)
    for place in (x, w, nv.constant([1.0])):
        assert place.node is None and place.parents == ()
    made = nv.proceed(w + 1)
    assert made.node is not None and type(made.parents[0].node).__name__ == "Add"


def test_numbers_of_tensors_and_memory():
    """T17: of a place and its views one buffer; no number comes twice."""
    x, w = nv.placeholder((3,)), nv.variable((3,))
    y = x + w
    assert w.id == w.id != x.id and y.id == y.id
    assert w.buffer_id == w[1:].buffer_id == w[::-1][0].buffer_id != x.buffer_id and w.id != w[1:].id
    nv.evaluate(nv.assign(w, w + 1))
    assert w.buffer_id == w[1:].buffer_id
    seen = {y.id}
    for _ in range(20):
        fresh = x + w
        assert fresh.id not in seen
        seen.add(fresh.id)
        del fresh
        gc.collect()


def test_states_and_descriptions():
    """T18: layout of what lies in memory; what can be assigned is not read-only."""
    x, w = nv.make_input((2, 3), "x"), nv.variable("H=2, W=3")
    assert (x.state, w.state, (w + 1).state, nv.constant(1.0).state) == ("unallocated", "stored", "lazy", "stored")
    assert x.storage.shape == (2, 3) and x.state == "stored"
    assert w.device is x.device is (w + 1).device and issubclass(w.device, nv.AbstractTensor)
    assert nv.zeros(()).is_scalar and not w.is_scalar
    described = w.description
    assert isinstance(described, nv.TensorDescription) and described.axes == w.axes and not described.read_only
    assert described.layout.strides == (3, 1)
    assert nv.variable((2, 3)).T.description.layout.strides == (1, 3)
    assert (w + 1).description.read_only and (w + 1).description.layout is None
    assert nv.constant([1.0]).description.read_only


def test_where_a_parameter_sits():
    """T26: None outside of modules."""
    w = nv.variable((2,))
    assert w.state_dict_name is None and w.belongs_to is None and (w + 1).state_dict_name is None
    record_of(w).slot, record_of(w).owner = "weights", test_orders
    assert w.state_dict_name == "weights" and w.belongs_to is test_orders
