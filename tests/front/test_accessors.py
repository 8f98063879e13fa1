"""The properties and methods by which a tensor describes itself."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument
from nervure.front.record import record_of
from nervure.types.layout import Layout

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
    assert [type(view).__name__ for view in x.T[1:].view_spec] == ["PermuteView", "SliceView"]


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


def test_parents_are_what_was_given():
    """T390: the very tensors with their axes, constants as constants, before anything was aligned or converted."""
    x, bias, number = nv.variable("H=2, W=3"), nv.constant([1.0, 2.0, 3.0], axes="W=3"), nv.constant(2, dtype=nv.int32)
    y = x + bias
    z = y * number
    assert y.parents[0] is x and y.parents[1] is bias and z.parents[0] is y and z.parents[1] is number
    total = nv.sum(z, "W")
    assert total.parents[0] is z and (1.0 + z).parents[1] is z
    one = (z + 1.0).parents[1]
    assert one.is_constant and one.axes == z.axes and one.tolist() == [[1.0] * 3] * 2
    turned = x.T
    assert nv.exp(turned).parents[0] is turned and turned.parents == ()
    named = nv.sum(nv.cast_axes(x, "A=2, B=3"), "A").parents[0]
    assert named.axes.names == ("A", "B") and named is not x


def test_parents_that_nobody_has_any_more():
    """T390: are made anew, with their axes, and constants are constants again."""
    total = nv.sum(nv.variable("H=2, W=3") * nv.constant(np.ones((2, 3)), axes="H=2, W=3"), "W")
    gc.collect()
    product, = total.parents
    assert product.axes.names == ("H", "W") and product.parents[1].axes.names == ("H", "W")
    assert product.parents[1].is_constant and product.parents[1].storage.tolist() == [[1.0] * 3] * 2
    assert product.parents[0].is_trainable


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
        gc.collect(0)  # what is as young as it is


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


def test_a_result_in_place_has_the_number_of_its_operand():
    """T17: of an op whose where string names it so; through views, and one after the other."""
    @nv.defnode("A[~] B[~] -> A[~] C[~]")
    class AddInPlaceOf:
        """The sum in the place of A, and the product elsewhere."""
    w, other = nv.variable((2, 3)), nv.variable((2, 3))
    total, product = AddInPlaceOf(w, other)
    assert total.buffer_id == w.buffer_id != product.buffer_id and total.id != w.id
    assert AddInPlaceOf(total, other)[0].buffer_id == total[1:].buffer_id == w.buffer_id
    assert AddInPlaceOf(w[0], other[0])[0].buffer_id == w.buffer_id
    computed = w + 1
    assert AddInPlaceOf(computed, w)[0].buffer_id == computed.buffer_id != w.buffer_id
    kept = nv.proceed(w + 1)
    assert AddInPlaceOf(kept, w)[0].buffer_id == kept.buffer_id


SEEN = {"permuted": lambda w: w.T, "a slice": lambda w: w[:, 1:], "backwards": lambda w: w[::-1],
        "strides cannot say it": lambda w: w.T.reshape(-1), "broadcast": lambda w: nv.broadcast(w, (4, 2, 3)),
        "one position repeated once": lambda w: nv.broadcast(w[0, 0], (1, 1)), "padded": lambda w: nv.pad(w, 1),
        "at the edge": lambda w: nv.pad(w, 1, mode="edge"), "chosen": lambda w: w[[0, 1]], "computed": lambda w: w + 1,
        "detached": lambda w: w.detach(), "itself": lambda w: w, "the value": nv.value_of}
KEPT = {"a variable": lambda: nv.variable((2, 3)), "an input": lambda: nv.make_input((2, 3), "x"),
        "what was computed": lambda: nv.proceed(nv.variable((2, 3)) + 1),
        "a constant": lambda: nv.constant(ARRAY[0, :2, :3])}


@pytest.mark.parametrize("name", SEEN)
@pytest.mark.parametrize("kept", KEPT)
def test_read_only_is_what_cannot_be_assigned(name, kept):
    """T18."""
    x = SEEN[name](KEPT[kept]())
    try:
        nv.assign(x, nv.zeros(x.shape))
    except InvalidArgument:
        assert x.description.read_only
    else:
        assert not x.description.read_only


def test_what_was_computed_is_assigned_through_views():
    """T18."""
    kept = nv.proceed(nv.variable((2, 3)) + 1)
    nv.evaluate(nv.assign(kept[0], 5.0))
    assert kept.tolist() == [[5.0] * 3, [1.0] * 3]


def test_descriptions_name_what_they_are_views_of():
    """T391: one step after the other, with axes, and the storage that all of them lie in."""
    w = nv.variable("H=2, W=3")
    rows = nv.axes_with_order(w, ["W", "H"])
    part = rows[1:]
    found = part.description
    assert found == nv.TensorDescription(nv.float32, part.axes, False, Layout((1, 3), 1))
    assert type(found.view).__name__ == "SliceView" and found.base_tensor.axes == rows.axes
    assert found.base_tensor.view.permutation == (1, 0) and found.base_tensor.base_tensor == w.description
    assert found.base_tensor.base_tensor.base_tensor is None
    assert found.storage == found.base_tensor.storage == w.description.storage == w.buffer_id
    assert nv.variable("H=2, W=3").description.storage != w.description.storage
    around = nv.pad(w, 1).description
    assert around.base_tensor == w.description and around.storage != w.buffer_id and around.layout is None
    computed = (w + 1)
    assert computed.description.base_tensor is None
    assert computed.T.description.storage == computed.description.storage == computed.buffer_id
    assert found.with_(read_only=True).base_tensor is found.base_tensor and found.with_(dtype=nv.int8).storage is None


def test_views_of_a_tensor_of_a_device_are_of_the_device():
    """T392: with its hooks, its storage and its name; what is computed, and what is padded, is not."""
    x = nv.make_tensor((2, 3), device=nv.NumPyTensor)
    for view in (x.T, x[1:], x[:, ::-1].T[0], nv.cast_axes(x, "H=2, W=3"), nv.value_of(x), x.reshape(6)):
        assert isinstance(view, nv.NumPyTensor) and view.device is nv.NumPyTensor and view.storage is x.storage
    assert repr(x.T) == "<NumPyTensor f32[3, 2] Permute>"
    x.T[1].set_vref(4, 7.0)
    assert x.tolist() == [[0.0] * 3, [0.0, 7.0, 0.0]] and x[1].vref(4) == 7.0
    for other in (x + 1, nv.pad(x, 1), nv.variable((2, 3)).T, nv.constant([1.0])[0], (x + 1).T):
        assert type(other) in (nv.Tensor, nv.AssignableTensorOp)
    with nv.devices(nv.ScalarTensor, nv.CPUTensor):
        assert isinstance(nv.variable((2,))[0], nv.ScalarTensor)


def test_where_a_parameter_sits():
    """T26: None outside of modules."""
    w = nv.variable((2,))
    assert w.state_dict_name is None and w.belongs_to is None and (w + 1).state_dict_name is None
    record_of(w).slot, record_of(w).owner = "weights", test_orders
    assert w.state_dict_name == "weights" and w.belongs_to is test_orders
