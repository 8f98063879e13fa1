"""Tensor descriptions: immutable values with a printed form."""

import copy
import pickle

import numpy as np
import pytest

from nervure.errors import InvalidArgument, WrongKind
from nervure.types.axes import make_axes
from nervure.types.description import BasicTensorDescription, TensorDescription, check_index
from nervure.types.dim import dim
from nervure.types.dtype import all_dtypes, float32, float64, int64
from nervure.types.layout import Layout, row_major

N = dim("N")


def test_fields():
    x = BasicTensorDescription("f32", [np.int64(2), N])
    assert (x.dtype, x.shape, x.rank, x.read_only, x.layout) == (float32, (2, N), 2, True, None)
    assert x.size == 2 * N and x.nbytes == 8 * N and x.symbols == {"N"}
    scalar = BasicTensorDescription(float64, ())
    assert (scalar.rank, scalar.size, scalar.nbytes, scalar.symbols) == (0, 1, 8, frozenset())


def test_printed_forms():
    x = BasicTensorDescription(float32, (2, N + 1))
    assert str(x) == repr(x) == "f32[2, N + 1]"
    assert x.describe(("H", None)) == "f32[H=2, N + 1]"
    assert str(BasicTensorDescription(int64, ())) == "i64[]"
    assert repr(BasicTensorDescription(int64, (2,), layout=Layout((1,)))) == "i64[2] at strides (1,)"
    for dtype in all_dtypes:
        assert str(BasicTensorDescription(dtype, (3,))) == f"{dtype.short}[3]"


def test_equality_and_hash():
    x = BasicTensorDescription(float32, (2, N))
    same = BasicTensorDescription("float32", (2, dim("N")))
    assert x == same and hash(x) == hash(same) and len({x, same}) == 1
    for other in [x.with_(dtype=float64), x.with_(shape=(2, 3)), x.with_(read_only=False),
                  x.with_(layout=Layout((1, 2))), (float32, (2, N))]:
        assert x != other


def test_with_replaces_parts():
    x = BasicTensorDescription(float32, (2, 3), read_only=False, layout=row_major((2, 3)))
    assert x.with_() == x
    assert x.with_(dtype=float64).layout == x.layout
    reshaped = x.with_(shape=(6,))
    assert (reshaped.shape, reshaped.layout, reshaped.read_only) == ((6,), None, False)
    assert x.with_(shape=(3, 2), layout=row_major((3, 2))).layout.strides == (2, 1)
    assert x.with_(layout=None).layout is None and x.with_(read_only=True).read_only


def test_descriptions_do_not_change():
    x = BasicTensorDescription(float32, (2, 3))
    with pytest.raises(AttributeError):
        x.shape = (3,)
    with pytest.raises(AttributeError):
        del x.dtype
    with pytest.raises(AttributeError):
        x.other = 1
    assert not hasattr(x, "__dict__")


@pytest.mark.parametrize("make", [
    lambda: BasicTensorDescription(float32, (2, N), False, Layout((N, 1))),
    lambda: TensorDescription(float32, make_axes("H=2, W=3"))], ids=["basic", "axes"])
def test_copies_and_pickles_are_equal(make):
    x = make()
    for other in [copy.copy(x), copy.deepcopy(x)]:
        assert other == x and hash(other) == hash(x)
    if type(x) is BasicTensorDescription:
        assert pickle.loads(pickle.dumps(x)) == x


def test_what_is_refused():
    for shape in [(-1,), (2**63,), (2**61, 4), (0, 2**62)]:
        with pytest.raises(InvalidArgument):
            BasicTensorDescription(float32, shape)
    x = BasicTensorDescription("i8", (2**62,))
    with pytest.raises(InvalidArgument):
        x.with_(dtype=int64)  # the same shape, but more bytes
    for dtype, shape in [("float23", ()), (float32, 3), (float32, (2.5,)), (None, ())]:
        with pytest.raises(WrongKind):
            BasicTensorDescription(dtype, shape)
    with pytest.raises(InvalidArgument):
        BasicTensorDescription(float32, (2, 3), layout=Layout((1,)))


def test_the_shape_of_a_description_with_axes_is_its_axes_lengths():
    x = TensorDescription(float32, make_axes("N=32, H=128"))
    assert x.shape == (32, 128) and x.axes.names == ("N", "H")
    assert str(x) == repr(x) == "f32[N=32, H=128]"
    assert x.basic == BasicTensorDescription(float32, (32, 128)) and x.basic != x and x != x.basic
    assert str(TensorDescription(float32, make_axes(((32, 32), 128)))) == "f32[1024, 128]"
    assert TensorDescription(float32, make_axes({"N": N})).shape == (N,)


def test_with_on_axes():
    x = TensorDescription(float32, make_axes("N=32, H=128"))
    assert x.with_(dtype=int64).axes == x.axes
    assert str(x.with_(axes=make_axes("H=128"))) == "f32[H=128]"
    with pytest.raises(WrongKind):
        x.with_(shape=(3,))
    assert x == TensorDescription(float32, make_axes("N=32, H=128"))
    assert x != TensorDescription(float32, make_axes("H=128, N=32"))


def test_bounds_checking_is_at_hand():
    assert check_index((-1, 0), BasicTensorDescription(float32, (2, 3)).shape) == (1, 0)
