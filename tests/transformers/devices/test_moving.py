"""Elements are moved from one device to another."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import nervure as nv
from nervure.transformers.devices.elements import allocated, at_home, filled, offered, over, row_major_type, to_array
from nervure.transformers.devices.moving import how
from tests.transformers.devices.own import Arrays, Bytes, Lists, forgetting, implement_sums

X = np.float32([1, 2, 3])


@pytest.fixture(autouse=True)
def sums():
    with forgetting():
        implement_sums(Lists, Arrays)
        yield


def chain(*listed, strict=False) -> nv.Tensor:
    """exp on the second device between sums on the first."""
    x = nv.constant(X)
    with nv.devices(*listed, strict=strict):
        return nv.exp(x + x) + x


class Cpu(nv.CPUTensor):
    """Inherits everything."""


@pytest.mark.parametrize(("source", "target", "way"), [
    (nv.CPUTensor, Cpu, "as it is"), (Cpu, nv.CPUTensor, "as it is"), (Lists, Arrays, "as it is"),
    (nv.CPUTensor, nv.NumPyTensor, "buffer"), (nv.CPUTensor, Bytes, "buffer"), (Arrays, nv.CPUTensor, "buffer"),
    (Lists, nv.CPUTensor, "one by one"), (Bytes, Lists, "one by one")])
def test_the_ways_in_their_order(source, target, way):
    """T80: by inheritance, in either direction; through the buffer protocol of both; one by one."""
    tensor = filled(allocated(source, nv.float32, (3,)), X)
    assert how(tensor, target) == way
    nv.converts(source, target)(lambda x: x.storage)
    assert how(tensor, target) == (way if way == "as it is" else "declared")


def test_elements_that_move_one_by_one_warn():
    """T80: the warning names the op, the bytes and the user's line."""
    y = chain(Lists, nv.CPUTensor)
    with pytest.warns(RuntimeWarning) as caught:
        np.testing.assert_allclose(y.numpy(), np.exp(X + X) + X, rtol=1e-6)
    assert [str(entry.message) for entry in caught] == [
        "12 bytes move from Lists to CPUTensor one by one, for Exp; "
        "@nv.converts(Lists, CPUTensor) declares a faster way",
        "12 bytes move from CPUTensor to Lists one by one, for Add; "
        "@nv.converts(CPUTensor, Lists) declares a faster way"]
    assert {entry.filename for entry in caught} == {__file__}


def test_buffers_and_what_the_caller_gives_move_without_a_word():
    """T80, T82: a variable in a list, its new value and the result move one by one, silently."""
    w = nv.variable((3,), X)
    with nv.devices(Lists, nv.CPUTensor):
        step = nv.computation([nv.assign(w, w + w), w * w])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chain(Arrays, nv.CPUTensor).numpy()
        assert step()[1].tolist() == (4 * X * X).tolist() and w.tolist() == (2 * X).tolist()


@pytest.mark.parametrize("device", [Lists, Arrays])
def test_a_strict_list_takes_what_is_declared_alone(device):
    """T81"""
    with pytest.raises(nv.NotSupported) as caught:
        chain(device, nv.CPUTensor, strict=True).numpy()
    error = caught.value
    assert (error.op, error.got) == ("Exp", "f32[3]") and error.location.file == __file__
    assert error.expected.startswith(f"@nv.converts({device.__name__}, CPUTensor)")
    assert error.help.endswith("one by one" if device is Lists else "through the buffer protocol")


def test_declared_conversions_serve_heirs_and_strict_lists():
    """T81, T88"""
    called = []

    @nv.converts(Lists, nv.CPUTensor)
    def to_numpy(x):
        called.append((type(x).__name__, x.shape, isinstance(x, Lists)))
        return x.numpy().ravel()

    @nv.converts(nv.CPUTensor, Lists)
    def to_list(x):
        return x.numpy().ravel().tolist()

    class Heir(Lists):
        """Inherits the conversions."""

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(chain(Heir, Cpu, strict=True).numpy(), np.exp(X + X) + X, rtol=1e-6)
    assert called == [("Heir", (3,), True)]


def test_a_conversion_that_gives_nothing_is_told():
    """T88"""
    nv.converts(Lists, nv.CPUTensor)(lambda x: None)
    with pytest.raises(nv.WrongKind, match="the conversion to CPUTensor gives nothing"):
        chain(Lists, nv.CPUTensor).numpy()


def test_a_buffer_of_another_element_type_is_no_buffer():
    """T80: doubles in memory are not taken for floats."""
    import array
    tensor = over(Arrays, array.array("d", [1.0, 2.0, 3.0]), 3, row_major_type(nv.float32, (3,)))
    assert offered(tensor) is None and to_array(tensor).tolist() == [1.0, 2.0, 3.0]
    assert how(tensor, nv.CPUTensor) == "one by one"


def test_arrays_are_seen_where_they_lie():
    """T85: at home nothing is copied."""
    tensor = at_home(nv.CPUTensor, X)
    assert np.shares_memory(to_array(tensor), X) and np.shares_memory(tensor.storage, X)
    assert tensor.numpy().base is None and tensor.ndim == 1 and tensor.dtype is nv.float32
    assert repr(tensor) == "<CPUTensor f32[3] stored>"
    assert (tensor + 1).tolist() == [2.0, 3.0, 4.0]
