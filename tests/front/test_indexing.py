"""``x[...]``, ``x.at[...]``, gather, scatter, one_hot and look-ups, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nervure as nv
from nervure.errors import AxisMismatch, IndexOutOfRange, InvalidArgument, NervureError, ShapeMismatch, WrongKind
from nervure.types.axis import FlattenedAxis, axis
from nervure.types.dim import dim
from tests.front.tensors import check, plain, tensor

N, H, W = axis("N", 2), axis("H", 4), axis("W", 5)


# -- views -----------------------------------------------------------------------------------------


def test_positions():
    """A137: an integer removes its axis; out of range is an IndexError that names axis and range."""
    x, a = tensor(N, H, W)
    check(x[1], a[1], [H, W])
    check(x[:, -1], a[:, -1], [N, W])
    check(x[1, 2, np.int8(3)], a[1, 2, 3], [])
    for item in (2, -3, (0, 4), (0, 0, -6)):
        with pytest.raises(IndexOutOfRange) as caught:
            x[item]
        assert isinstance(caught.value, IndexError) and caught.value.operand.startswith("axis ")
    with pytest.raises(IndexOutOfRange, match="there is no position 4") as caught:
        x[0, 4]
    assert (caught.value.operand, caught.value.got, caught.value.expected) == ("axis H", "4", "-4 to 3")
    with pytest.raises(IndexOutOfRange, match="no position 0"):
        nv.zeros((0,))[0]


def test_positions_on_unknown_lengths():
    """A137: looked up by the call, which raises the IndexError."""
    x = nv.placeholder("N=n, H=4")
    for position in (2, -2):
        f = nv.computation(x[position], x)
        a = np.arange(12, dtype=np.float32).reshape(3, 4)
        np.testing.assert_array_equal(f(a), a[position])
        with pytest.raises(IndexError):
            f(a[:1])
    y = nv.placeholder([axis("N", nv.dim("k", min=3))])
    assert isinstance(y[2].value.op, nv.ops.Reshape)
    last = nv.placeholder((nv.dim("j", min=1),))
    assert nv.computation(last[-1], last)(np.float32([1, 2, 3])).item() == 3.0


def test_kept_axes():
    """A138: ``:`` keeps the axis itself, a range keeps name and class, a range of a flattened axis is a new
    plain axis.
    """
    x, a = tensor(N, H, W)
    y = x[:, 1:3, ::2]
    check(y, a[:, 1:3, ::2], "N=2, H=2, W=3")
    assert y.axes[0] is x.axes[0] and y.axes[1].axis_class == H.axis_class
    flat = nv.flatten_at(x, 1)
    assert flat[0].axes[0] is flat.axes[1]
    part = flat[:, 3:9].axes[1]
    assert part.length == 6 and not part.is_flattened and part.axis_class not in (H.axis_class, flat.axes[1].axis_class)
    shifted = nv.placeholder([H.offset(-1)])[:2]
    assert [str(one) for one in shifted.axes] == ["H-1: 2"]


@given(st.data())
def test_ranges_clip(data):
    """A139: as Python's, for steps of any sign."""
    length = data.draw(st.integers(0, 6))
    ends = st.one_of(st.none(), st.integers(-9, 9))
    item = slice(data.draw(ends), data.draw(ends), data.draw(st.sampled_from([None, 1, 2, 5, -1, -2, -5])))
    x, a = plain(length)
    check(x[item], a[item])
    n = nv.placeholder((dim("n"),))
    np.testing.assert_array_equal(nv.computation(n[item], n)(a), a[item])


def test_ranges_with_symbols():
    """A139: ends may be expressions; a step of 0, or an end of which too little is known, is a ValueError."""
    n = dim("n")
    x = nv.placeholder((n,))
    f = nv.computation([x[n // 2:], x[:n // 3], x[np.int64(1):np.int64(3)]], x)
    a = np.arange(7, dtype=np.float32)
    assert [entry.tolist() for entry in f(a)] == [[3, 4, 5, 6], [0, 1], [1, 2]]
    m = dim("m")
    for wrong in (slice(None, None, 0), slice(m - n, dim("k") - 2 * m, -2)):
        with pytest.raises(InvalidArgument):
            x[wrong]
    for wrong in (slice(1.5), slice("a", None), slice(None, None, n)):
        with pytest.raises(WrongKind):
            x[wrong]


SYMBOLIC = {
    "all but the last": lambda x, n: x[0:n - 1], "all but three": lambda x, n: x[:n - 3],
    "both": lambda x, n: x[n - 2:2 - n],
    "the last two": lambda x, n: x[n - 2:], "from the front": lambda x, n: x[-n:], "turned": lambda x, n: x[:2 - n],
    "reversed": lambda x, n: x[n - 1::-1], "reversed to the second": lambda x, n: x[n - 1:0:-1],
    "in steps": lambda x, n: x[n - 5:n - 1:2], "half": lambda x, n: x[n // 2 - 1:],
    "last": lambda x, n: x[n - 1], "third from the end": lambda x, n: x[n - 3], "first": lambda x, n: x[-n]}


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
@pytest.mark.parametrize("name", SYMBOLIC)
def test_expressions_index_as_numbers_do(name, transformer):
    """A137, A139: for every length what NumPy gives, with the derivative; or an IndexError of the call."""
    x, chosen = nv.placeholder("H=n"), SYMBOLIC[name]
    y = chosen(x, x.shape[0])
    with nv.transformers.make_transformer(transformer) as made:
        compute = made.computation([y, nv.deriv(nv.sum(y * y), x)], x)
        for length in range(7):
            a = np.arange(1.0, length + 1).astype(np.float32)
            try:
                expected = chosen(a, length)
            except IndexError:
                with pytest.raises(IndexError):
                    compute(a)
                continue
            slopes = np.zeros_like(a)
            slopes[chosen(np.arange(length), length)] = 2 * expected
            for found, wanted in zip(compute(a), (expected, slopes), strict=True):
                np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
def test_symbolic_splits_pads_and_writes(transformer):
    """A137, A139, A148, A157: for every length as for numbers; what cannot be is an error of the call."""
    x = nv.placeholder((dim("n"),))
    n = x.shape[0]
    parts = nv.split(x, [n - 1])
    with nv.transformers.make_transformer(transformer) as made:
        compute = made.computation([*parts, x[1:] - x[:n - 1]], x)
        for length in range(5):
            a = np.arange(1.0, length + 1).astype(np.float32)
            expected = [*np.split(a, [length - 1]), a[1:] - a[:max(length - 1, 0)]]
            assert [entry.tolist() for entry in compute(a)] == [entry.tolist() for entry in expected]
        write = made.computation(x.at[n - 1].set(9.0), x)
        assert write(np.float32([1, 2, 3])).tolist() == [1.0, 2.0, 9.0]
        with pytest.raises(IndexError):
            write(np.zeros(0, np.float32))
        for padded in (nv.pad(x, [(n - 1, 0)]), nv.pad(x, [(-1, 0)])):
            run = made.computation(padded, x)
            assert run(np.float32([1, 2])).tolist() in ([0.0, 1.0, 2.0], [2.0])
            with pytest.raises(ShapeMismatch, match="negative"):
                run(np.zeros(0, np.float32))


def test_missing_and_too_many():
    """A140: missing trailing slices are full; too many are a ValueError."""
    x, a = tensor(N, H, W)
    check(x[1:], a[1:], [axis("N", 1), H, W])
    check(x[()], a, [N, H, W])
    with pytest.raises(InvalidArgument, match="too many indices") as caught:
        x[0, 0, 0, 0]
    assert caught.value.expected == "at most 3 for (N: 2, H: 4, W: 5)" and isinstance(caught.value, ValueError)


def test_items_by_axis():
    """A141: a dict from axes, names or positions; axes that it lacks are full."""
    x, a = tensor(N, H, W)
    check(x[{H: slice(0, 3), "W": 3}], a[:, :3, 3], "N=2, H=3")
    check(x[{0: 1}], a[1], [H, W])
    check(x[{}], a, [N, H, W])
    check(plain(3, 4)[0][{1: [0, 2]}], plain(3, 4)[1][:, [0, 2]])
    with pytest.raises(AxisMismatch):
        x[{"V": 0}]
    for wrong in ({H: 0, "H": 1}, {H: None}, {H: ...}):
        with pytest.raises(InvalidArgument):
            x[wrong]


def test_slice_functions():
    """A142: tensor_slice takes one entry an axis, slice_along_axis an axis and one entry; axes= renames."""
    x, a = tensor(N, H, W)
    check(nv.tensor_slice(x, [slice(None), 1]), a[:, 1], [N, W])
    check(nv.tensor_slice(x, (0, slice(1, 3), slice(None, None, -1)), axes="A=2, B=5"), a[0, 1:3, ::-1], "A=2, B=5")
    check(nv.tensor_slice(x, [0], axes=[W, H]), a[0].T, [W, H])
    check(nv.slice_along_axis(x, H, slice(1, 3)), a[:, 1:3], "N=2, H=2, W=5")
    check(nv.slice_along_axis(x, "W", -1), a[..., -1], [N, H])
    with pytest.raises(WrongKind):
        nv.tensor_slice(x, [[0, 1]])
    with pytest.raises(InvalidArgument, match="too many"):
        nv.tensor_slice(x, [0] * 4)
    with pytest.raises(AxisMismatch):
        nv.tensor_slice(x, [0], axes="A=1, B=5")


def test_new_axes_and_ellipsis():
    """A143: None is a new axis of length 1, ``...`` stands for the axes that are left."""
    y, b = plain(2, 3, 4)
    for item in ((None,), (..., None), (0, None, ..., 1), (..., 1), (slice(1), ...), (Ellipsis,), (None, ..., None, 2)):
        check(y[item], b[item])
    x, a = tensor(N, H)
    z = x[:, None]
    assert z.shape == (2, 1, 4) and z.axes[0] is x.axes[0] and z.axes[2] is x.axes[1] and z.is_named
    with pytest.raises(InvalidArgument, match="one ellipsis"):
        y[..., ...]


# -- arrays ----------------------------------------------------------------------------------------


INDEX_ITEMS = [
    ([2, 0],), (slice(None), [1, 1, 0]), ([[0, 1], [2, 0]],), ([0, 1], [2, 1]), ([0, 1], slice(None), [3, 0]),
    (slice(None), [0, 2], [1, 3]), (0, slice(None), [1, 2]), (slice(None), 1, [0, 2]), ([0, 1], 2),
    ([[0], [1]], [1, 2]),
    (..., [0, 1]), ([1], ..., [0]), (slice(None), [0], ..., [1]), (slice(None), None, [1, 2]), ([0, 1], None, [1, 2]),
    (None, [0, 1], [1, 2]), (slice(None, None, -1), [0, 2], slice(1, None)), ([-1, -2],), ([],), (slice(None), [], [])]


@pytest.mark.parametrize("item", INDEX_ITEMS, ids=repr)
def test_index_arrays(item):
    """A144: lists, arrays and tensors pick as in NumPy; their shape stands where the indices stood, or in front."""
    y, b = plain(3, 3, 4, 2)
    check(y[item], b[tuple([np.array(one, int) if isinstance(one, list) else one for one in item])])
    arrays = tuple([np.array(one, np.int32) if isinstance(one, list) else one for one in item])
    check(y[arrays], b[arrays])
    tensors = tuple([nv.constant(one) if isinstance(one, np.ndarray) else one for one in arrays])
    check(y[tensors], b[arrays])


@given(st.data())
def test_any_index(data):
    """A144: any mixture of integers, slices, None and arrays that broadcast together."""
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    y, b = plain(*shape)
    entries = []
    for length in shape[:data.draw(st.integers(0, len(shape)))]:
        positions = st.integers(-length, length - 1)
        arrays = [st.lists(positions, min_size=3, max_size=3).map(np.array),
                  st.lists(st.lists(positions, min_size=1, max_size=1), min_size=2, max_size=2).map(np.array)]
        entries.append(data.draw(st.one_of(positions, st.just(slice(None)), st.just(slice(None, None, -2)), *arrays)))
    for _ in range(data.draw(st.integers(0, 2))):
        entries.insert(data.draw(st.integers(0, len(entries))), None)
    whole = sum(entry is not None for entry in entries) == len(shape)
    if data.draw(st.booleans()):
        entries.insert(data.draw(st.integers(0, len(entries))) if whole else len(entries), Ellipsis)
    item = tuple(entries)
    check(y[item], b[item])
    expected = b.copy()
    expected[item] = -1.0
    check(y.at[item].set(-1.0), expected)
    expected = b.copy()
    np.add.at(expected, item, 2.0)
    check(y.at[item].add(2.0), expected)


def test_index_by_a_tensor_of_the_graph():
    """A144: a position that is computed; out of range is an IndexError of the call."""
    y, b = plain(3, 4)
    k = nv.placeholder((), nv.int32)
    f = nv.computation(y[k], k)
    np.testing.assert_array_equal(f(np.int32(-1)), b[-1])
    with pytest.raises(IndexError):
        f(np.int32(3))


def test_what_is_no_index():
    """A144: floats, strings, truth values."""
    y, _ = plain(3, 4)
    for wrong in (1.0, "a", True, np.bool_(False), [0.5], np.array(["a"]), nv.constant([0.5]), {1, 2}):
        with pytest.raises(TypeError) as caught:
            y[wrong]
        assert isinstance(caught.value, NervureError) and caught.value.location.file == __file__


@pytest.mark.parametrize("index", [[0, 1], np.array([0, 1]), nv.constant(np.array([0, 1])), np.array([True, False]),
                                   nv.constant(np.array(1))])
def test_named_tensors_are_not_indexed_by_tensors(index):
    """A145: a TypeError that names nv.gather."""
    with pytest.raises(WrongKind) as caught:
        tensor(N, H)[0][index]
    assert "nv.gather" in caught.value.help and isinstance(caught.value, TypeError)


def test_masks():
    """A146: NumPy's masks, of arrays or computed now."""
    y, b = plain(3, 4)
    for mask in (b > 5, b[:, 0] > 3, np.zeros((3, 4), bool)):
        check(y[mask], b[mask])
        check(y[nv.constant(mask)], b[mask])
    check(y[y > 5], b[b > 5])
    check(y[:, np.array([True, False, True, False])], b[:, [0, 2]])
    check(y.at[y > 5].set(0.0), np.where(b > 5, 0, b))
    with pytest.raises(ValueError, match="the mask has another shape"):
        y[np.zeros((3, 3), bool)]
    with pytest.raises(InvalidArgument, match="too many"):
        y[np.zeros((3, 4, 1), bool)]


def test_masks_that_are_not_known():
    """A146: while tracing, or below a placeholder, the number of elements is found when the graph runs."""
    @nv.jit
    def positive(x):
        return x[x > 0]
    assert positive(np.float32([1, -1])).tolist() == [1.0]
    x = nv.placeholder((3,))
    assert nv.computation(x[x > 0], x)(np.float32([2, -1, 3])).tolist() == [2.0, 3.0]
    assert x[nv.constant([True, False, True])].shape == (2,)


def test_changed_elements():
    """A147: a new tensor; the place is given by any item; the value broadcasts to it."""
    y, b = plain(3, 4)
    for item in (1, slice(1, None), (slice(None), slice(None, None, -2)), (..., 0), (1, 2), None, ([0, 2],),
                 ([0, 2], [1, 3])):
        for name, change in (("set", lambda old: np.full_like(old, 9)), ("add", lambda old: old + 9),
                             ("multiply", lambda old: old * 9), ("min", lambda old: np.minimum(old, 9)),
                             ("max", lambda old: np.maximum(old, 9))):
            expected = b.copy()
            expected[item] = change(expected[item])
            check(getattr(y.at[item], name)(9.0), expected)
    row = np.float32([10, 20, 30, 40])
    expected = b.copy()
    expected[1:] += row
    check(y.at[1:].add(row), expected)
    np.testing.assert_array_equal(y.numpy(), b)
    check(y.at[1].get(), b[1])


def test_changed_elements_of_named_tensors():
    """A147: values align by axes; what has other axes is an AxisMismatch."""
    x, a = tensor(N, H, W)
    v, b = tensor(W, N)
    expected = a.copy()
    expected[:, 1] = b.T
    check(x.at[:, 1].set(v), expected, [N, H, W])
    expected = a.copy()
    expected[:, 1:3] += b.T[:, None]
    check(x.at[{H: slice(1, 3)}].add(v), expected, [N, H, W])
    with pytest.raises(AxisMismatch, match="the target lacks H"):
        x.at[:, 1].set(tensor(H)[0])
    with pytest.raises(AxisMismatch, match="two lengths"):
        x.at[:, :, :2].set(v)
    with pytest.raises(WrongKind):
        x.at[0].set("no")


def test_duplicates_in_changed_elements():
    """A147: the last value stays, the others combine."""
    y = nv.zeros((3,))
    values = nv.constant([1.0, 2.0, 3.0])
    assert y.at[[0, 0, 1]].set(values).tolist() == [2.0, 3.0, 0.0]
    assert y.at[[0, 0, 1]].add(values).tolist() == [3.0, 3.0, 0.0]
    assert y.at[[0, 0, 1]].max(values).tolist() == [2.0, 3.0, 0.0]


def test_assigned_elements():
    """A147, A210: set_item takes the same items; index arrays write the whole variable."""
    for item in (1, slice(1, None), ([0, 2],), (slice(None), [1, 1]), (0, 1)):
        w, array = nv.variable((3, 4), np.zeros((3, 4))), np.zeros((3, 4))
        array[item] = 5.0
        nv.evaluate(nv.set_item(w, item, 5.0))
        np.testing.assert_array_equal(w.numpy(), array)


def test_changed_elements_keep_the_type():
    """A147: values are converted to the tensor's element type where that keeps their kind."""
    k = nv.constant(np.array([1, 2, 3], np.int8))
    assert k.at[0].set(7).dtype is nv.int8
    assert nv.constant([1.0, 2.0]).at[0].set(np.float64(3)).dtype is nv.float32


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_integers_are_subtracted_in_the_type_of_their_place(dtype):
    """A147, O20: a number of Python too, and what is subtracted need have no negative; integers wrap."""
    array = np.array([100, 3, 200 if dtype is np.uint8 else 2]).astype(dtype)
    lowest = int(np.iinfo(dtype).min)
    assert nv.constant(array).at[1:].subtract(1).tolist() == [100, 2, int(array[2]) - 1]
    twice = (array - np.array([2, 4, 0], dtype)).tolist()
    assert nv.constant(array).at[[0, 1, 1]].subtract(2).tolist() == twice
    assert nv.constant(array).at[0].subtract(lowest).numpy()[0] == (array - dtype(lowest))[0]


@pytest.mark.parametrize("item",
                         [1, (slice(None), slice(None, None, -2)), ([0, 2, 0],), ([0, 1], [1, 3]), (0, None, [1, 1])])
def test_derivatives(item):
    """A151: of reading and writing, twice; what is read twice adds up."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal((3, 4))
    nv.testing.check_grads(lambda x: x[item] ** 3.0, [x])
    y = rng.standard_normal(x[item].shape)
    nv.testing.check_grads(lambda x, y: x.at[item].set(y * y) * x, [x, y])
    nv.testing.check_grads(lambda x, y: x.at[item].add(y * y) * x, [x, y])


# -- by axis ---------------------------------------------------------------------------------------


def test_gather():
    """A153: the index's axes in the place of the axis."""
    x, a = tensor(N, H, W)
    check(nv.gather(x, [2, 0, 2], "H"), a[:, [2, 0, 2]], "N=2, H=3, W=5")
    index = np.array([[3, 0, 1], [2, -1, 0]])
    check(nv.gather(x, nv.constant(index, axes="A=2, B=3"), H), a[:, index], "N=2, A=2, B=3, W=5")
    check(nv.gather(x, 3, H), a[:, 3], [N, W])
    y, b = plain(3, 4)
    check(nv.gather(y, index, 1), b[:, index])
    check(nv.gather(y, [1, 1], 0), b[[1, 1]])


def test_gather_with_shared_axes():
    """A153: axes that index and x share go together."""
    x, a = tensor(N, H, W)
    best = np.array([3, 1])
    check(nv.gather(x, nv.constant(best, axes="N=2"), "H"), a[np.arange(2), best], [N, W])
    index = np.array([[3, 1], [0, 0], [2, 3]])
    check(nv.gather(x, nv.constant(index, axes="K=3, N=2"), "H"),
          np.stack([a[n][index[:, n]] for n in range(2)]), "N=2, K=3, W=5")
    both = np.random.default_rng(0).integers(0, 4, (5, 2))
    check(nv.gather(x, nv.constant(both, axes="W=5, N=2"), "H"),
          np.take_along_axis(a, both.T[:, None], 1)[:, 0], [N, W])


def test_gather_errors():
    """A153: out of range is an IndexError of the run, and what is no integer a TypeError."""
    x, _ = tensor(N, H)
    for index in ([4], [-5]):
        with pytest.raises(IndexError) as caught:
            nv.gather(x, index, "H").numpy()
        assert caught.value.location.file == __file__
    with pytest.raises(WrongKind):
        nv.gather(x, [0.5], "H")
    with pytest.raises(AxisMismatch):
        nv.gather(x, [[0, 1]], "H")
    with pytest.raises(AxisMismatch):
        nv.gather(plain(3)[0], nv.constant(np.array([0]), axes="N=1"), 0)
    with pytest.raises(AxisMismatch, match="no axis"):
        nv.gather(x, [0], "V")


@pytest.mark.parametrize("mode", ["set", "add", "multiply", "mul", "min", "max", "minimum", "maximum"])
def test_scatter(mode):
    """A154: updates with the axes of the gather, in any order or fewer; each mode."""
    x, a = tensor(N, H, W)
    functions = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}
    index, updates = [2, 0], np.random.default_rng(1).uniform(0, 30, (5, 2)).astype(np.float32)
    expected = a.copy()
    target = expected[:, index] if mode == "set" else None
    if mode == "set":
        expected[:, index] = updates.T[None]
    else:
        function = functions[mode[:3]]
        expected[:, index] = function(expected[:, index], updates.T[None])
    result = nv.scatter(x, index, nv.constant(updates, axes="W=5, H=2"), "H", mode)
    check(result, expected, [N, H, W])
    assert target is None or target.shape == (2, 2, 5)


def test_scatter_with_shared_axes():
    """A154: an index of (N) writes one element a sample."""
    x, a = tensor(N, H)
    index = nv.constant(np.array([3, 1]), axes="N=2")
    expected = a.copy()
    expected[[0, 1], [3, 1]] = [7, 8]
    check(nv.scatter(x, index, nv.constant([7.0, 8.0], axes="N=2"), "H"), expected, [N, H])
    expected[[0, 1], [3, 1]] = a[[0, 1], [3, 1]] + 1
    check(nv.scatter(x, index, 1.0, "H", "add"), expected, [N, H])
    y, b = plain(3, 4)
    expected = b.copy()
    np.add.at(expected, (slice(None), [1, 1]), 2.0)
    check(nv.scatter(y, [1, 1], 2.0, 1, "add"), expected)
    with pytest.raises(InvalidArgument, match="unknown mode") as caught:
        nv.scatter(x, index, 1.0, "H", "ad")
    assert caught.value.help == "did you mean add?"
    with pytest.raises(IndexError):
        nv.scatter(y, [4], 1.0, 1).numpy()
    np.testing.assert_array_equal(y.numpy(), b)


def test_gather_elements_and_positions():
    """A153: NumPy's take_along_axis, and slices at positions."""
    y, b = plain(3, 4)
    index = np.array([[0, 3], [1, 1], [2, 0]])
    check(nv.gather_elements(y, index, 1), np.take_along_axis(b, index, 1))
    x, a = tensor(H, W)
    other = np.random.default_rng(0).integers(0, 4, (5, 2))
    check(nv.gather_elements(x, nv.constant(other, axes="W=5, H=2"), "H"), np.take_along_axis(a, other.T, 0),
          "H=2, W=5")
    with pytest.raises(AxisMismatch, match="both be named"):
        nv.gather_elements(y, nv.constant(index, axes="H=3, W=2"), 1)
    check(nv.gather_nd(y, [[0, 1], [2, 3]]), b[[0, 2], [1, 3]])
    with pytest.raises(AxisMismatch):
        nv.gather_nd(x, [[0, 1]])


def test_derivatives_by_axis():
    """A151, A153, A154: twice, with shared axes and without."""
    rng = np.random.default_rng(4)
    x = nv.constant(rng.standard_normal((2, 4)), axes=[N, H], dtype=nv.float64)
    u = nv.constant(rng.standard_normal(2), axes=[N], dtype=nv.float64)
    index = nv.constant(np.array([3, 1]), axes="N=2")
    nv.testing.check_grads(lambda x: nv.gather(x, index, "H") ** 3.0, [x])
    nv.testing.check_grads(lambda x: nv.gather(x, [0, 0, 2], "H") ** 3.0, [x])
    nv.testing.check_grads(lambda x, u: nv.scatter(x, index, u * u, "H") * x, [x, u])
    nv.testing.check_grads(lambda x, u: nv.scatter(x, index, u * u, "H", "add") * x, [x, u])


def test_one_hot():
    """A155: the new axis first; negative integers count from the end, once."""
    labels = np.array([2, 0, -1])
    expected = np.eye(4, dtype=np.float32)[labels].T
    x = nv.constant(labels, axes="N=3")
    for way in (axis("C", 4), "C=4"):
        check(nv.one_hot(x, way), expected, "C=4, N=3")
    check(nv.one_hot(nv.constant(labels), 4), expected)
    assert nv.one_hot(x, "C=4", dtype=nv.int8).dtype is nv.int8
    assert nv.one_hot(x, "C=4").dtype is nv.float32
    with pytest.raises(IndexError):
        nv.one_hot(x, "C=2").numpy()
    with pytest.raises(AxisMismatch):
        nv.one_hot(x, 4)
    with pytest.raises(AxisMismatch):
        nv.one_hot(nv.constant(labels), "C=4")
    with pytest.raises(WrongKind):
        nv.one_hot(nv.constant([0.5]), 4)


def test_lookuptable():
    """A156: rows of a table; the row pad_idx has gradient zero; axes= orders or names the result."""
    table, a = tensor(axis("V", 6), axis("E", 3))
    index = np.array([[5, 0], [0, 2]])
    words = nv.constant(index, axes="REC=2, N=2")
    check(nv.lookuptable(table, words), a[index], "REC=2, N=2, E=3")
    check(nv.lookuptable(table, words, axes="E=3, REC=2, N=2"), a[index].transpose(2, 0, 1), "E=3, REC=2, N=2")
    check(nv.lookuptable(nv.constant(a), nv.constant(index)), a[index])
    check(nv.lookuptable(nv.constant(a), words, axes="REC=2, N=2, E=3"), a[index], "REC=2, N=2, E=3")
    weights = nv.variable(table.axes, a)
    for pad, expected in ((None, [2, 0, 1, 0, 0, 1]), (0, [0, 0, 1, 0, 0, 1]), (-1, [2, 0, 1, 0, 0, 0])):
        gradient = nv.deriv(nv.sum(nv.lookuptable(weights, words, pad_idx=pad), out_axes=()), weights)
        np.testing.assert_array_equal(gradient.numpy(), np.repeat(np.array(expected)[:, None], 3, 1))
    with pytest.raises(AxisMismatch):
        nv.lookuptable(nv.constant(a), words)
    with pytest.raises(ValueError, match="a table has two axes"):
        nv.lookuptable(nv.zeros((3,)), nv.constant(index))
    with pytest.raises(InvalidArgument):
        nv.lookuptable(table, words, pad_idx=6)


def test_tensors_of_positions():
    """A159: iota, arange, eye, and tensors of one number, from axes or lengths."""
    check(nv.iota(axis("H", 4)), np.arange(4), [H])
    check(nv.iota("H=4", dtype=nv.float32), np.arange(4), [H])
    check(nv.iota(3), np.arange(3))
    for arguments in ((5,), (2, 9), (2, 9, 3), (9, 2, -2), (0.0, 1.0, 0.25), (3, 3), (1.5,)):
        check(nv.arange(*arguments),
              np.arange(*arguments).astype(np.float32 if any(isinstance(one, float) for one in arguments)
                                           else np.int64))
    assert nv.arange(4).dtype is nv.int64 and nv.arange(4, dtype=nv.int8).dtype is nv.int8
    check(nv.eye(3), np.eye(3))
    check(nv.eye(2, 3, offset=1), np.eye(2, 3, 1))
    check(nv.eye(H, axis("W", 5)), np.eye(4, 5), [H, W])
    check(nv.eye([H, W]), np.eye(4, 5), [H, W])
    check(nv.zeros("H=4, W=5"), np.zeros((4, 5)), [H, W])
    check(nv.ones((2,)), np.ones(2))
    check(nv.full([H], 7), np.full(4, 7), [H])
    check(nv.full_like(tensor(H, W)[0], 2), np.full((4, 5), 2), [H, W])
    assert nv.full((2,), True).dtype is nv.bool_ and nv.full((2,), np.int16(3)).dtype is nv.int16
    check(nv.tril(plain(3, 3)[0], 1), np.tril(plain(3, 3)[1], 1))
    check(nv.triu(tensor(H, W)[0], -1), np.triu(tensor(H, W)[1], -1), [H, W])
    n = nv.placeholder((dim("n"),))
    assert nv.computation(n + nv.arange(dim("n"), dtype=nv.float32), n)(np.float32([5, 5])).tolist() == [5.0, 6.0]
    for wrong in (lambda: nv.arange(1, 2, 0), lambda: nv.iota([H, W]), lambda: nv.eye([H, W, N]),
                  lambda: nv.zeros((-1,))):
        with pytest.raises(ValueError):
            wrong()
    for wrong in (lambda: nv.full((2,), [1, 2]), lambda: nv.arange("a"), lambda: nv.arange(1j)):
        with pytest.raises(TypeError):
            wrong()


def test_flattened_axis_of_an_index():
    """A138: FlattenedAxis keeps its parts where it is kept whole."""
    flat = FlattenedAxis([H, W])
    x, a = tensor(N, flat)
    check(nv.unflatten(x[1]), a[1].reshape(4, 5), [H, W])


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
def test_axes_whose_length_is_an_expression(transformer):
    """A300: they are indexed as others are, on every axis; a negative length is an error of the call."""
    n = dim("n")
    x = nv.placeholder((n - 2, 3))
    with nv.transformers.make_transformer(transformer) as made:
        f = made.computation([x[:, 1], x[1:-1], x[::-1] - x, x.at[1:, 0].add(5)], x)
        for length in range(4):
            a = np.arange(3.0 * length, dtype=np.float32).reshape(length, 3)
            added = a.copy()
            added[1:, 0] += 5
            for found, wanted in zip(f(a), (a[:, 1], a[1:-1], a[::-1] - a, added), strict=True):
                np.testing.assert_array_equal(found, wanted)
        y = nv.placeholder((n,))
        cropped = made.computation(nv.pad(y, [(0, -2)])[:-1], y)
        assert cropped(np.float32([1, 2, 3, 4])).tolist() == [1.0]
        with pytest.raises(ShapeMismatch, match="negative"):
            cropped(np.zeros(1, np.float32))
