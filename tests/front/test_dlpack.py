"""Tensors and arrays of other libraries by DLPack, in both directions."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument, NotShared, WrongKind
from nervure.types.dtype import all_dtypes

NAMED = nv.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], axes="H=2, W=3")
BY_NUMPY = [dtype for dtype in all_dtypes if dtype.bits != 4 and dtype.numpy.kind != "V" and dtype is not nv.bfloat16]
BY_JAX = [dtype for dtype in all_dtypes if dtype.bits >= 8]


def some(dtype):
    return np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype.numpy)


@pytest.mark.parametrize("dtype", [dtype for dtype in BY_NUMPY if "float8" not in dtype.name], ids=str)
def test_numpy_borrows_and_lends(dtype):
    """P13: through the protocol, not through __array__."""
    values = some(dtype)
    borrowed = np.from_dlpack(nv.constant(values, dtype=dtype))
    assert borrowed.dtype == dtype and np.array_equal(borrowed, values)
    again = nv.from_dlpack(values)
    assert again.dtype is dtype and np.array_equal(again.numpy(), values) and not again.is_named


@pytest.mark.parametrize("dtype", BY_JAX, ids=str)
def test_jax_borrows_and_lends(dtype):
    """P13: bfloat16 and float8 too."""
    jnp = pytest.importorskip("jax.numpy", reason="JAX is not installed")
    values = some(dtype)
    x = nv.constant(values, dtype=dtype)
    for borrowed in (jnp.from_dlpack(x), jnp.asarray(x), jnp.array(x)):
        assert borrowed.dtype == dtype and np.asarray(borrowed).tobytes() == values.tobytes()
    again = nv.from_dlpack(jnp.asarray(values))
    assert again.dtype is dtype and again.numpy().tobytes() == values.tobytes()


@pytest.mark.parametrize("name", ["float32", "float64", "float16", "bfloat16", "int64", "uint8", "bool", "complex64"])
def test_torch_borrows_and_lends(name):
    """P13: and tensors of PyTorch join the graph."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    dtype = getattr(torch, name)
    x = nv.constant([[0, 1, 1], [1, 0, 1]], dtype=name)
    for borrowed in (torch.from_dlpack(x), torch.as_tensor(x)):
        assert borrowed.dtype == dtype and borrowed.to(torch.complex64).real.tolist() == [[0, 1, 1], [1, 0, 1]]
    again = nv.from_dlpack(torch.tensor([[0, 1], [1, 1]], dtype=dtype))
    assert again.dtype == name and again.astype(nv.int32).tolist() == [[0, 1], [1, 1]]
    if name == "bfloat16":
        assert (nv.constant([1.0, 2.0], dtype=name) + torch.tensor([1.0, 2.0], dtype=dtype)).tolist() == [2.0, 4.0]


def test_an_expression_is_computed_and_belongs_to_the_borrower():
    """P14: so does the value of a variable, which no write changes."""
    w = nv.variable((2,), [1.0, 2.0])
    for lent in (w, w * 1):
        borrowed = np.from_dlpack(lent)
        if borrowed.flags.writeable:
            borrowed[0] = 9
    assert w.tolist() == [1, 2] and np.from_dlpack(NAMED * 2).tolist() == [[2, 4, 6], [8, 10, 12]]


def test_a_constant_keeps_elements_of_its_own():
    """P14: what the lender writes later is not seen."""
    array = np.float32([1, 2])
    x = nv.from_dlpack(array)
    array[0] = 9
    assert x.tolist() == [1, 2] and x.is_constant


@pytest.mark.parametrize("view", [lambda x: x.T, lambda x: x[::-1, 1:], lambda x: x[:, ::2], lambda x: x[0, 0, ...]])
def test_views_and_read_only_arrays_are_borrowed(view):
    """P13: whatever their strides."""
    array = np.arange(6.0).reshape(2, 3)
    array.flags.writeable = False
    x = nv.from_dlpack(view(array))
    assert x.dtype is nv.float64 and np.array_equal(x.numpy(), view(array))


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 1), (2, 0)])
def test_versions(version):
    """P15: since 1.0 a capsule has a version, which is asked for."""
    capsule = NAMED.__dlpack__(max_version=version)
    assert ("dltensor_versioned" in repr(capsule)) is (version is not None and version >= (1, 0))


def test_the_device_is_known_without_computing():
    """P15: also below a placeholder."""
    assert nv.placeholder((2,)).__dlpack_device__() == (1, 0)


@pytest.mark.parametrize("asked", [{"copy": True}, {"copy": None}, {"dl_device": (1, 0)}, {"stream": None}])
def test_what_may_be_asked_for(asked):
    """P15: copies and the CPU are what there is."""
    assert "dltensor" in repr(NAMED.__dlpack__(**asked))


@pytest.mark.parametrize("asked", [{"copy": False}, {"dl_device": (2, 0)}, {"dl_device": (1, 1)}, {"stream": 1}])
def test_what_cannot_be_asked_for(asked):
    """P15: a BufferError, as the standard says."""
    with pytest.raises(BufferError) as caught:
        NAMED.__dlpack__(**asked)
    assert isinstance(caught.value, NotShared) and caught.value.help


def test_what_cannot_be_borrowed():
    """P15: is a BufferError with the lender's words, or says what is missing."""
    class Elsewhere:
        def __dlpack__(self, **keywords):
            raise BufferError("it lies on a device")

        def __dlpack_device__(self):
            return 2, 0
    with pytest.raises(NotShared):
        nv.from_dlpack(Elsewhere())
    for refused in ({"copy": False}, {"device": "gpu"}):
        with pytest.raises(NotShared):
            nv.from_dlpack(np.zeros(2), **refused)
    assert nv.from_dlpack(np.zeros(2), device="cpu", copy=True).tolist() == [0, 0]
    for asked in ({"copy": "yes"}, {"max_version": 1}, {"max_version": (1,)}, {"max_version": (1, None)}):
        with pytest.raises(WrongKind):
            NAMED.__dlpack__(**asked)
    for device in (np.array([]), np.array([1, 0]), (1, "x"), 3):
        with pytest.raises(NotShared):
            nv.from_dlpack(np.zeros(2), device=device)
        with pytest.raises(NotShared):
            NAMED.__dlpack__(dl_device=device)
    for wrong in ([1.0], None, 3, "x"):
        with pytest.raises(WrongKind, match="DLPack"):
            nv.from_dlpack(wrong)
    with pytest.raises(NotShared, match="packed"):
        nv.constant([1], dtype=nv.int4).__dlpack__()


def test_a_tensor_without_a_value_lends_nothing():
    """P14: as with every call for numbers."""
    with pytest.raises(InvalidArgument, match="a placeholder has no value"):
        nv.placeholder((2,)).__dlpack__()
    with pytest.raises(WrongKind, match="is traced"):
        nv.jit(lambda x: np.from_dlpack(x))(np.zeros(2))


def test_numpy_knows_the_type_of_a_tensor():
    """P5: in what is asked about types."""
    assert np.result_type(NAMED, np.float64) == np.float64
    assert np.result_type(nv.constant([1], dtype=nv.bfloat16)) == ml_dtypes.bfloat16
