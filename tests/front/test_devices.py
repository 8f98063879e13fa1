"""Devices as users name them."""

from __future__ import annotations

import array
import copy

import numpy as np
import pytest

import nervure as nv
from nervure.front.facets import place_class
from nervure.ir.device import devices_of
from tests.transformers.devices.own import Arrays, Bytes, Idle, Lists


@pytest.fixture
def without_jax(monkeypatch):
    """No package jax is found."""
    monkeypatch.setattr("nervure.front.devices.find_spec", lambda name: None)


def test_devices_are_classes_of_tensors():
    """T70"""
    assert nv.AbstractTensor is nv.Tensor
    for device, transformer in [(nv.CPUTensor, "cpu"), (nv.NumPyTensor, "interpreter"), (nv.ScalarTensor, "cpu"),
                                (nv.XLATensor, "xla"), (Lists, None)]:
        assert issubclass(device, nv.AbstractTensor) and device.transformer == transformer

    class Mine(nv.CPUTensor):
        """Inherits everything."""
    assert Mine.transformer == "cpu" and Mine.allocate is nv.CPUTensor.allocate


@pytest.mark.parametrize(("device", "storage"), [
    (nv.CPUTensor, np.ndarray), (nv.NumPyTensor, np.ndarray), (Lists, list)])
def test_hooks_make_and_read_storage(device, storage):
    """T71: one dimension, an initial element, or what is given as it is."""
    tensor = object.__new__(device)
    made = tensor.allocate((2, 3), nv.float32, 1.5, None)
    assert isinstance(made, storage) and len(made) == 6 and set(made) == {1.5}
    assert len(tensor.allocate((2, 3), nv.int8, None, None)) == 6 and tensor.allocate((), nv.bool_, True)[0]
    assert tensor.allocate((2, 3), nv.float32, None, made) is made


@pytest.mark.parametrize(("hook", "arguments"), [
    ("allocate", [(1,), nv.float32]), ("vref", [0]), ("set_vref", [0, 1.0])])
def test_a_hook_that_is_not_written_is_named(hook, arguments):
    """T71"""
    with pytest.raises(nv.NotSupported) as caught:
        getattr(object.__new__(Idle), hook)(*arguments)
    assert (caught.value.op, caught.value.operand) == ("Idle", hook) and f"{hook}(self" in caught.value.expected


def test_lists_nest_and_end_with_exceptions():
    """T72"""
    assert nv.device_in_force() is nv.CPUTensor
    with pytest.raises(KeyError), nv.devices(Lists, nv.CPUTensor):
        with nv.devices(nv.NumPyTensor):
            assert nv.device_in_force() is nv.NumPyTensor
        assert nv.device_in_force() is Lists
        raise KeyError
    assert nv.device_in_force() is nv.CPUTensor


def test_ops_keep_their_list_and_derivatives_that_of_their_ops():
    """T72"""
    x = nv.variable((3,), 1.0)
    with nv.devices(Lists, nv.CPUTensor, strict=True) as listed:
        y = nv.sin(x)
    z = y * 2
    assert devices_of(y.value.op) is listed and listed.strict and devices_of(z.value.op) is None
    cosine = next(op for op in nv.Function([nv.deriv(nv.sum(z), x).value]).operations if type(op) is nv.ops.Cos)
    assert devices_of(cosine) == listed


@pytest.mark.parametrize(("listed", "kind", "got"), [
    ([], nv.InvalidArgument, "no devices"), (["CPUTensor"], nv.WrongKind, "str 'CPUTensor'"),
    ([nv.Tensor], nv.WrongKind, "Tensor"), ([nv.AssignableTensorOp], nv.WrongKind, "AssignableTensorOp"),
    ([nv.CPUTensor, nv.XLATensor], nv.NotSupported, "XLATensor")])
def test_lists_are_of_devices_that_can_be_used(listed, kind, got, without_jax):
    """T73"""
    with pytest.raises(kind) as caught:
        nv.devices(*listed)
    assert (caught.value.op, caught.value.got) == ("devices", got)
    assert kind is nv.InvalidArgument or "NumPyTensor" in caught.value.expected


def test_the_absent_package_is_named_kindly(without_jax):
    """T73"""
    with pytest.raises(nv.NotSupported, match=r"XLATensor cannot be used: it needs jax: pip install"):
        nv.devices(nv.XLATensor)


def test_the_tree_of_devices_shows_what_is_used(capsys):
    """T83"""
    class Loud(Arrays):
        """Says something."""

        @classmethod
        def backend_state(cls):
            return "three of four banks in use"

    class Louder(Loud):
        """Says nothing of its own."""

    with nv.devices(Louder, nv.CPUTensor):
        assert nv.show_backends() is None
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "AbstractTensor"
    shown = {line.split()[0]: line for line in lines[1:]}
    assert shown["CPUTensor"].startswith("  CPUTensor       2  native code for ")
    assert shown["Lists"] == "  Lists           -  no status"
    assert shown["Arrays"] == "    Arrays        -  no status"
    assert shown["Loud"] == "      Loud        -  three of four banks in use"
    assert shown["Louder"] == "        Louder    1  no status"
    nv.show_backends()
    assert "  CPUTensor       1  " in capsys.readouterr().out


def test_places_of_a_device_are_its_instances(without_jax):
    """T91"""
    cls = place_class(Arrays)
    assert cls is place_class(Arrays) and cls.__name__ == "Arrays"
    x = nv.make_tensor((2,), initial_element=3.0, device=Arrays)
    assert isinstance(x, Arrays) and isinstance(x, nv.AssignableTensorOp) and isinstance(x, Lists)
    assert x.device is Arrays and (x + 1).tolist() == [4.0, 4.0]
    with nv.devices(Lists, nv.CPUTensor):
        made = [nv.make_tensor(1.0), nv.make_input((2,), "x"), nv.randn(3), nv.proceed(nv.sin(nv.ones((2,))))]
        lazy = nv.sin(x)
    assert {tensor.device for tensor in made} == {Lists} == {lazy.device} and (lazy + 1).device is nv.CPUTensor
    assert all(isinstance(tensor, Lists) for tensor in made) and nv.make_tensor(1.0).device is nv.CPUTensor
    with pytest.raises(nv.NotSupported, match="XLATensor cannot be used"):
        nv.make_tensor((2,), device=nv.XLATensor)


def test_what_keeps_a_value_is_on_the_device_in_force():
    """T91, T41: whatever makes it, and its gradient; without a list all is as it was."""
    with nv.devices(Arrays, nv.CPUTensor):
        kept = [nv.tensor([1.0, 2.0]), nv.variable((2,), 1.0), nv.persistent_tensor((2,)), nv.nn.LinearLayer(2, 3).bias]
        assert all(isinstance(x, Arrays) and x.device is Arrays for x in kept)
        assert not any(isinstance(x, Arrays) for x in (nv.constant([1.0]), nv.placeholder((2,)), nv.temporary((2,))))
    w = kept[1]
    nv.sum(w * w).backward()
    assert w.grad.device is Arrays and w.grad.storage.tolist() == [2.0, 2.0] and w.storage.tolist() == [1.0, 1.0]
    assert type(nv.tensor([1.0])) is nv.AssignableTensorOp


def test_numbers_are_on_the_device_for_numbers():
    """T2: the first ScalarTensor of the list; without one the first of all."""
    class Digits(nv.ScalarTensor):
        pass

    for listed, expected in (((Arrays, Digits, nv.ScalarTensor), Digits), ((Arrays, nv.CPUTensor), Arrays)):
        with nv.devices(*listed):
            numbers = [nv.make_tensor(2.5), nv.make_input((), "s", scalar=True)]
            others = [nv.make_tensor(()), nv.make_tensor((2,)), nv.make_tensor(1.0, device=Arrays)]
        assert {x.device for x in numbers} == {expected} and {x.device for x in others} == {Arrays}
        assert numbers[0].item() == 2.5


def test_storage_is_what_the_device_allocates():
    """T92, T71: live in both directions, also element by element through the hooks."""
    x = nv.make_tensor((2, 2), initial_element=3.0, device=Arrays)
    assert x.storage is x.storage and x.storage.tolist() == [3.0] * 4
    x.storage[1] = 5.0
    assert (x * 2).tolist() == [[6.0, 10.0], [6.0, 6.0]] and x.vref(1) == 5.0
    x.set_vref(2, 7.0)
    storage = x.storage
    nv.evaluate(nv.assign(x, x + 1))
    assert storage.tolist() == [4.0, 6.0, 8.0, 4.0] and x.storage is storage
    y = nv.make_tensor((2, 2), initial_element=1.0)
    y.set_vref(3, 2.0)
    assert y.vref(3) == 2.0 and y.tolist() == [[1.0, 1.0], [1.0, 2.0]]


class Recording(Lists):
    """Writes down what it is asked to allocate, and of which facet."""

    asked: list[tuple[object, ...]] = []
    written: list[int] = []

    def allocate(self, shape, dtype, initial_element=None, vec=None):
        self.asked.append((shape, initial_element, vec, self.facet))
        return super().allocate(shape, dtype, initial_element, vec)

    def set_vref(self, i, value):
        self.written.append(i)
        super().set_vref(i, value)


def recorded(act):
    """What was asked for in a call, and its result."""
    Recording.asked.clear()
    Recording.written.clear()
    made = act()
    return list(Recording.asked), made


def test_a_device_allocates_what_exists_with_its_first_element():
    """T393: when it is made; nothing is written where all elements have it, and inside the facet is known."""
    exist = nv.Facet.EXIST
    asked, x = recorded(lambda: nv.make_tensor((2, 3), initial_element=7.0, device=Recording))
    assert asked == [((2, 3), 7.0, None, exist)] and Recording.written == [] and x.storage == [7.0] * 6
    assert recorded(lambda: nv.make_tensor((2,), device=Recording))[0] == [((2,), 0.0, None, exist)]
    asked, number = recorded(lambda: nv.make_tensor(2.5, device=Recording))
    assert asked == [((), 2.5, None, exist)] and number.item() == 2.5
    asked, x = recorded(lambda: nv.make_tensor((2, 3), order="F", initial_element=3, dtype=nv.int8, device=Recording))
    assert asked == [((2, 3), 3, None, exist)] and x.strides == (1, 2)
    with nv.devices(Recording, nv.CPUTensor):
        asked, y = recorded(lambda: nv.tensor([1.0, 2.0]).storage)
    assert asked == [((2,), None, None, exist)] and y == [1.0, 2.0]


def test_a_first_element_that_a_device_ignores():
    """T393: elements are what was asked for all the same."""
    x = nv.make_tensor((3,), initial_element=2.0, device=Bytes)
    assert np.frombuffer(x.storage, np.float32).tolist() == [2.0] * 3 and x.tolist() == [2.0] * 3


def test_storage_without_a_buffer():
    """T92: live in both directions, element by element; the hooks reach it from outside."""
    x = nv.make_tensor((2, 2), initial_element=3.0, device=Lists)
    storage = x.storage
    double, step = nv.computation(x * 2), nv.computation([nv.assign(x, x + 1), nv.sum(x)])
    assert double().tolist() == [[6.0] * 2] * 2 and storage is x.storage and x.vref(3) == 3.0
    storage[1] = 5.0
    assert double().tolist() == [[6.0, 10.0], [6.0, 6.0]] == nv.evaluate(x * 2).tolist()
    assert nv.mref(x, 0, 1) == 5.0 and "[3. 5.]" in repr(x)
    x.set_vref(2, 7.0)
    x.set_mref(1, 1, 8.0)
    assert storage == [3.0, 5.0, 7.0, 8.0] and x.tolist() == [[3.0, 5.0], [7.0, 8.0]]
    assert step()[1].item() == 27.0 and storage == [4.0, 6.0, 8.0, 9.0] and x.storage is storage
    nv.transformers.default().set(x, 1.0 + np.zeros((2, 2)))
    assert storage == [1.0] * 4
    storage[0] = 4.0
    assert nv.transformers.default().snapshot([x.variable])[x.variable].tolist() == [[4.0, 1.0], [1.0, 1.0]]
    turned = nv.make_tensor((2, 3), order="F", device=Lists)
    nv.evaluate(nv.assign(turned, np.arange(6).reshape(2, 3)))
    assert turned.storage == [0.0, 3.0, 1.0, 4.0, 2.0, 5.0] and turned.T.vref(1) == 3.0
    small = nv.make_tensor((3,), dtype=nv.bfloat16, initial_element=1.5, device=Lists)
    assert small.storage == [1.5] * 3 and (small + small).tolist() == [3.0] * 3


def test_a_backward_sees_what_was_written_to_such_storage():
    """T127, T92: a variable that was written since forward is told."""
    with nv.devices(Lists, nv.CPUTensor):
        w = nv.variable((2,), 3.0).named("w")
    storage = w.storage
    model = nv.build(nv.sum(w * w))
    assert model.forward().item() == 18.0
    model.backward()
    assert w.grad.tolist() == [6.0, 6.0]
    storage[0] = 1.0
    with pytest.raises(nv.InvalidArgument, match="w"):
        model.backward()


def test_a_store_that_fails_changes_nothing():
    """T78, T92: elements that went before it come back, and so does the other variable."""
    class Full(Lists):
        room = 2

        def set_vref(self, i, value):
            if value == 9.0 and i == 1:
                raise OSError("no room")
            super().set_vref(i, value)
    x, y = [nv.make_tensor((2,), initial_element=1.0, device=Full) for _ in range(2)]
    with pytest.raises(OSError, match="no room"):
        nv.evaluate(nv.doall([nv.assign(x, x + 1), nv.assign(y, np.float32([8, 9]))]))
    assert x.storage == y.storage == [1.0, 1.0] and x.tolist() == y.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(("device", "given"), [
    (Lists, [1.0, 2.0, 3.0, 4.0]), (Arrays, array.array("f", [1, 2, 3, 4])), (Lists, np.float32([1, 2, 3, 4])),
    (Bytes, bytearray(np.float32([1, 2, 3, 4]).tobytes())), (nv.CPUTensor, np.float32([1, 2, 3, 4])),
    (nv.NumPyTensor, np.float32([1, 2, 3, 4]))], ids=str)
@pytest.mark.parametrize("is_input", [False, True])
def test_storage_that_is_given_is_used_as_it_is(device, given, is_input):
    """T395: what the device would allocate; live in both directions."""
    given = copy.copy(given)
    with nv.devices(device, nv.CPUTensor):
        x = nv.make_input((2, 2), "x") if is_input else nv.make_tensor((2, 2))
    x.storage = given
    assert x.storage is given and (x + 1).tolist() == [[2.0, 3.0], [4.0, 5.0]] and x.vref(2) == 3.0
    x.set_vref(0, 6.0)
    assert nv.mref(x, 0, 0) == 6.0 and x.tolist() == [[6.0, 2.0], [3.0, 4.0]] and x.storage is given
    if not is_input:
        nv.evaluate(nv.assign(x, x * 2))
        assert [x.vref(i) for i in range(4)] == [12.0, 4.0, 6.0, 8.0] and x.storage is given


@pytest.mark.parametrize(("device", "given", "kind"), [
    (Lists, [1.0], nv.InvalidArgument), (Lists, ["a"] * 4, nv.InvalidArgument), (Lists, 5, nv.InvalidArgument),
    (Lists, np.zeros((2, 2), np.float32), nv.InvalidArgument), (Lists, np.zeros(4), nv.WrongKind),
    (Lists, np.zeros(3, np.float32), nv.ShapeMismatch), (nv.CPUTensor, np.zeros(4), nv.WrongKind),
    (nv.CPUTensor, np.zeros(3, np.float32), nv.ShapeMismatch), (nv.CPUTensor, [0.0] * 4, nv.WrongKind)])
def test_storage_that_does_not_fit_changes_nothing(device, given, kind):
    """T395, T22."""
    x = nv.make_tensor((2, 2), initial_element=3.0, device=device)
    with pytest.raises(kind):
        x.storage = given
    assert x.tolist() == [[3.0] * 2] * 2


def test_inputs_are_allocated_by_their_device():
    """T394: when their storage is first read, zeros; again for a longer value, and the shorter storage is let go."""
    with nv.devices(Recording, nv.CPUTensor):
        asked, x = recorded(lambda: nv.make_input((2, 3), "x"))
        y = nv.make_input(("n", 2), "y")
    assert asked == [] and x.facet is nv.Facet.INPUT
    asked, storage = recorded(lambda: x.storage)
    assert asked == [((2, 3), 0, None, nv.Facet.EXIST)] and storage == [0] * 6 and x.storage is storage
    storage[1] = 5.0
    assert (x + 1).tolist() == [[1.0, 6.0, 1.0], [1.0] * 3] and x.vref(1) == 5.0 == nv.mref(x, 0, 1)
    x.set_mref(1, 0, 2.0)
    assert storage[3] == 2.0
    model = nv.build(nv.sum(y, axis=1))
    for length, allocations in ((2, 1), (1, 0), (3, 1)):
        Recording.freed.clear()
        asked, _ = recorded(lambda length=length: model.set_input("y", np.full((length, 2), length)))
        assert len(asked) == allocations and Recording.freed == ([4] if length == 3 else [])
        assert model.forward().tolist() == [2.0 * length] * length and y.vref(0) == length
    with nv.devices(Arrays, nv.CPUTensor):
        z = nv.make_input((2,), "z")
    z.storage[0] = 4.0
    assert isinstance(z.storage, array.array) and (z * 2).tolist() == [8.0, 0.0]


def test_native_devices_that_allocate_themselves():
    """T92, T71: storage of a class below nv.CPUTensor is what its allocate gives."""
    class Aligned(nv.CPUTensor):
        def allocate(self, shape, dtype, initial_element=None, vec=None):
            room = np.zeros(int(np.prod(shape)) + 16, dtype.numpy) if vec is None else vec
            return room[:-16] if vec is None else vec
    x = nv.make_tensor((2, 3), initial_element=2.0, device=Aligned)
    assert x.storage.shape == (6,) and x.storage.base is not None and x.storage is x.storage
    x.storage[5] = 7.0
    assert (x + 1).tolist() == [[3.0] * 3, [3.0, 3.0, 8.0]] and x.vref(5) == 7.0


def test_tensors_in_hooks_know_what_they_are():
    """T396: in allocate and wherever an implementation meets them."""
    seen = []

    class Curious(Arrays):
        def allocate(self, shape, dtype, initial_element=None, vec=None):
            seen.append((self.facet, self.state, self.device, self.shape, self.dtype, self.node, self.parents,
                         self.requires_grad))
            return super().allocate(shape, dtype, initial_element, vec)
    nv.make_tensor((2, 3), device=Curious)
    assert seen == [(nv.Facet.EXIST, "stored", Curious, (2, 3), nv.float32, None, (), False)]


def test_storage_of_a_device_lies_in_the_order_that_was_asked_for():
    """T92, T28: strides say where its elements are; what is written there is read."""
    x = nv.make_tensor((2, 3), order="F", device=Arrays)
    nv.evaluate(nv.assign(x, np.arange(6, dtype=np.float32).reshape(2, 3)))
    assert x.storage.tolist() == [0.0, 3.0, 1.0, 4.0, 2.0, 5.0] and x.strides == (1, 2)
    x.storage[x.strides[0]] = 9.0
    assert nv.mref(x, 1, 0) == 9.0 and (x + 1).tolist() == [[1.0, 2.0, 3.0], [10.0, 5.0, 6.0]]
    storage = x.storage
    nv.evaluate(nv.assign(x, x * 2))
    assert storage.tolist() == [0.0, 18.0, 2.0, 8.0, 4.0, 10.0]


@pytest.mark.parametrize("order", ["C", "F"])
def test_hooks_count_elements_as_they_lie(order):
    """T71, T28: in the order of the storage, whatever that is; of inputs, too."""
    for x in (nv.make_tensor((2, 3), order=order), nv.make_input((2, 3), "x", order=order)):
        for i in range(6):
            x.set_vref(i, float(i))
        assert [x.vref(i) for i in range(6)] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
        assert x.tolist() == np.arange(6).reshape(2, 3, order=order).tolist()
        assert nv.mref(x, 1, 2) == x.vref(x.offset + x.strides[0] + 2 * x.strides[1]) == 5.0


def test_a_class_with_slots_cannot_join_what_tensors_are():
    """T70: what a tensor holds is its storage."""
    with pytest.raises(nv.WrongKind, match="a device has no slots of its own"):
        class Slotted(nv.AbstractTensor):
            __slots__ = ("extra",)


def test_conversions_are_between_devices():
    """T88"""
    with pytest.raises(nv.WrongKind, match="this is no device"):
        nv.converts(list, nv.CPUTensor)
    with pytest.raises(nv.WrongKind, match="converts takes a function"):
        nv.converts(Lists, nv.CPUTensor)("not one")
