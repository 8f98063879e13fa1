"""Views against the meaning of their index maps, element by element; and that strides suffice where they can."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nervure as nv
from nervure.ops.update import IndexView
from nervure.transformers.interpreter.reading import view, view_through
from nervure.types.dim import dim, index
from nervure.types.index_map import IndexMap
from nervure.types.view import ComplexView
from tests.transformers.build import compiled, parameter
from tests.types.view_meaning import assembled

ops = nv.ops
X = np.arange(24.0).reshape(2, 3, 4)
I, J = index(0), index(1)

SIMPLE = {
    "permute": lambda x: ops.Permute(x, (2, 0, 1)),
    "broadcast": lambda x: ops.Broadcast(x, (5, 2, 3, 7, 4), (0, 3)),
    "reverse": lambda x: ops.Reverse(x, (0, 2)),
    "slice": lambda x: ops.Slice(x, [(1, 1, 1), (2, 2, -2), (0, 2, 3)]),
    "empty slice": lambda x: ops.Slice(x, [(0, 2, 1), (0, 0, 1), (0, 4, 1)]),
    "diagonal": lambda x: ops.Diagonal(x, 1, 1, 2),
    "windows": lambda x: ops.Windows(x, axes=(1, 2), windows=(2, 3), strides=(1, 1)),
    "flatten": lambda x: ops.Reshape(x, (2, 12)),
    "reshape": lambda x: ops.Reshape(x, (4, 6)),
}
COPIED = {
    "edge": lambda x: ops.FoldedPad(x, [(1, 1), (0, 2), (3, 0)], "edge"),
    "reflect": lambda x: ops.FoldedPad(x, [(1, 1), (0, 2), (3, 0)], "reflect"),
    "wrap": lambda x: ops.FoldedPad(x, [(1, 1), (5, 2), (3, 0)], "wrap"),
    "pad": lambda x: ops.Pad(x, [(1, 2), (0, 1), (-1, 3)], 7),
    "cut": lambda x: ops.Pad(x, [(-1, 0), (-2, 1), (-1, -2)], 7),
    "concatenate": lambda x: ops.Concatenate(x, x, ops.Slice(x, [(0, 2, 1), (0, 1, 1), (0, 4, 1)]), axis=1),
}


def meaning(op, arrays):
    view = op.view
    return assembled(view, arrays, {}) if isinstance(view, ComplexView) else view.index_map.take(arrays[0])


def of_strides(array):
    """The same elements in other places of memory."""
    other = np.zeros([2 * length for length in array.shape], array.dtype).transpose()
    view = other.transpose()[tuple([slice(None, None, -2)] * array.ndim)]
    view[...] = array
    return view


@pytest.mark.parametrize("arrange", [np.ascontiguousarray, np.asfortranarray, of_strides], ids=["C", "F", "strided"])
@pytest.mark.parametrize("name", [*SIMPLE, *COPIED])
def test_views_mean_their_index_maps(name, arrange):
    x = parameter(2, 3, 4, dtype=nv.float64)
    op = {**SIMPLE, **COPIED}[name](x)
    arrays = [X, X, X[:, :1]][:len(op.operands)]
    got = view(op.view, [arrange(array) for array in arrays], {})
    np.testing.assert_array_equal(got, meaning(op, arrays))
    assert got.shape == op.output.shape
    np.testing.assert_array_equal(compiled([op], [x])(arrange(X))[0], meaning(op, arrays))


@pytest.mark.parametrize("name", [name for name in SIMPLE if name != "empty slice"])
def test_what_strides_can_express_copies_nothing(name):
    op = SIMPLE[name](parameter(2, 3, 4, dtype=nv.float64))
    assert np.shares_memory(view(op.view, [X], {}), X)


def test_a_reshape_inside_an_index_map_is_strides_of_a_contiguous_array():
    flat = IndexMap((6, 4), (I // 3, I % 3, J))
    assert np.shares_memory(view_through(flat, X, {}), X)
    np.testing.assert_array_equal(view_through(flat, of_strides(X), {}), X.reshape(6, 4))


@pytest.mark.parametrize("coordinates", [(I + 5, J), (I // 3 + 5, I % 3), (1 - I, J)], ids=str)
def test_what_lies_outside_of_a_tensor_is_never_read(coordinates):
    with pytest.raises(IndexError, match="outside the tensor"):
        view_through(IndexMap((6, 3), coordinates), X[:, :, 0], {})


def test_element_types_of_any_kind_are_moved():
    for dtype in (nv.bfloat16, nv.int4, nv.float8_e4m3fn, nv.bool_, nv.complex64):
        x = parameter(4, dtype=dtype)
        array = np.array([0, 1, 2, 3]).astype(dtype.numpy)
        got, = compiled([ops.Reverse(ops.Pad(x, [(1, 0)], 1), (0,))], [x])(array)
        assert got.astype(complex).tolist() == array[::-1].astype(complex).tolist() + [1]


def test_views_of_symbolic_shapes():
    n = dim("N")
    x = parameter(n, 3, dtype=nv.float64)
    results = [ops.Reverse(x, (0,)), ops.Reshape(x, (3 * n,)), ops.Broadcast(x, (n, n, 3), (0,)),
               ops.Pad(x, [(n, 1), (0, 0)], 5),
               ops.Concatenate(x, x, axis=0), ops.FoldedPad(x, [(2, 2), (0, 0)], "edge")]
    executable = compiled(results, [x])
    for length in (4, 1):
        array = np.arange(3.0 * length).reshape(length, 3)
        expected = [array[::-1], array.ravel(), np.broadcast_to(array, (length, length, 3)),
                    np.pad(array, ((length, 1), (0, 0)), constant_values=5), np.concatenate([array, array]),
                    np.pad(array, ((2, 2), (0, 0)), mode="edge")]
        for got, wanted in zip(executable(array), expected, strict=True):
            np.testing.assert_array_equal(got, wanted)


@given(st.data())
def test_views_of_views(data):
    """Two slices, a transposition, a broadcast, a reversal, in any order, against NumPy."""
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    array = np.arange(float(np.prod(shape))).reshape(shape)
    x = parameter(*shape, dtype=nv.float64)
    value, expected = x.value, array
    for kind in data.draw(st.permutations(["slice", "slice", "permute", "broadcast", "reverse"])):
        rank = expected.ndim
        if kind == "slice":
            slices = []
            for length in expected.shape:
                step = data.draw(st.sampled_from([-2, -1, 1, 2]))
                start = data.draw(st.integers(0, length - 1))
                room = (length - 1 - start) // step if step > 0 else start // -step
                slices.append((start, data.draw(st.integers(1, room + 1)), step))
            value = ops.Slice(value, slices).output
            expected = expected[tuple(slice(start,
                                            (start + extent * step) if start + extent * step >= 0 else None, step)
                                      for start, extent, step in slices)]
        elif kind == "permute":
            order = data.draw(st.permutations(range(rank)))
            value, expected = ops.Permute(value, order).output, expected.transpose(order)
        elif kind == "broadcast":
            target = (*expected.shape[:1], 2, *expected.shape[1:])
            value = ops.Broadcast(value, target, (1,)).output
            expected = np.broadcast_to(expected[:, None], target)
        else:
            axis = data.draw(st.integers(0, rank - 1))
            value, expected = ops.Reverse(value, (axis,)).output, np.flip(expected, axis)
    np.testing.assert_array_equal(compiled([value], [x])(array)[0], expected)


def test_an_index_map_that_leaves_its_tensor_is_an_index_error():
    n = dim("N")
    x, y = parameter(n), parameter(dim("M"))
    op = IndexView(x, IndexMap((dim("M"),), (index(0) + 1,)))
    executable = compiled([op, y], [x, y])
    assert executable(np.arange(4.0), np.zeros(3))[0].tolist() == [1, 2, 3]
    with pytest.raises(IndexError, match="outside the tensor") as caught:
        executable(np.arange(4.0), np.zeros(4))
    assert (caught.value.op, caught.value.got, caught.value.expected) == ("IndexView", "1 to 4", "0 to 3")
