"""Views and moves: other axes, another order, another shape, joined and cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nervure as nv
from nervure.errors import AxisMismatch, InvalidArgument, ShapeMismatch, WrongKind
from nervure.ir.kinds import View
from nervure.types.axis import axis
from nervure.types.dim import dim
from tests.front.tensors import check, plain, tensor

N, C, H, W = axis("N", 2), axis("C", 3), axis("H", 4), axis("W", 5)


def test_broadcast():
    """A130: to more axes, in any order; x's must be among them."""
    x, a = tensor(H, W)
    check(nv.broadcast(x, [W, N, H]), np.broadcast_to(a.T[:, None], (5, 2, 4)), [W, N, H])
    check(nv.broadcast(x, "H=4, W=5"), a, [H, W])
    check(nv.broadcast(3.0, "H=4"), np.full(4, 3.0), [H])
    with pytest.raises(AxisMismatch, match="the tensor has axes that the result lacks") as caught:
        nv.broadcast(x, [N, W])
    assert "H: 4" in caught.value.expected and isinstance(caught.value, ValueError)
    y, b = plain(3, 1)
    check(nv.broadcast(y, (2, 3, 4)), np.broadcast_to(b, (2, 3, 4)))
    with pytest.raises(ShapeMismatch):
        nv.broadcast(y, (1,))
    check(nv.broadcast(plain(4, 5)[0], [H, W]), plain(4, 5)[1], [H, W])
    with pytest.raises(AxisMismatch, match="no axis names"):
        nv.broadcast(plain(5)[0], [H, W])


def test_order():
    """A131: the same axes, in another order."""
    x, a = tensor(N, H, W)
    for order in ([W, N, H], ["W", "N", "H"], [2, 0, 1], nv.make_axes([W, N, H]), tensor(W, N, H)[0]):
        check(nv.axes_with_order(x, order), a.transpose(2, 0, 1), [W, N, H])
    for wrong in ([W, H], [W, H, H], [W, H, C]):
        with pytest.raises(ValueError):
            nv.axes_with_order(x, wrong)
    y, b = plain(2, 3, 4)
    check(y.transpose(), b.T)
    check(y.transpose(1, 2, 0), b.transpose(1, 2, 0))
    check(y.transpose((1, 2, 0)), b.transpose(1, 2, 0))


def test_cast_axes():
    """A132: other axes of the same lengths, position by position; nothing is moved."""
    x, a = tensor(H, W)
    check(nv.cast_axes(x, "N=4, K=5"), a, "N=4, K=5")
    assert nv.cast_axes(x, "N=4, K=5").value is x.value
    check(nv.cast_axes(x, (4, 5)), a)
    check(nv.cast_axes(plain(4, 5)[0], [H, W]), a, [H, W])
    for wrong in ([W, H], [H], [H, W, N]):
        with pytest.raises(AxisMismatch, match="the lengths must stay"):
            nv.cast_axes(x, wrong)
    y, z = nv.placeholder("H=n"), nv.placeholder("W=m")
    f = nv.computation(nv.cast_axes(y, "W=m") + z, y, z)
    assert f(np.zeros(3, np.float32), np.zeros(3, np.float32)).shape == (3,)
    with pytest.raises(ValueError, match="m|n"):
        f(np.zeros(3, np.float32), np.zeros(4, np.float32))


def test_map_roles():
    """A133: axes are renamed, the others stay."""
    x, a = tensor(N, H, W)
    check(nv.map_roles(x, {H: axis("K", 4), "W": "M"}), a, "N=2, K=4, M=5")
    with pytest.raises(AxisMismatch):
        nv.map_roles(x, {H: axis("K", 5)})
    with pytest.raises(AxisMismatch, match="no axis"):
        nv.map_roles(x, {C: "K"})
    with pytest.raises(WrongKind):
        nv.map_roles(x, [H])
    with pytest.raises(ValueError):
        nv.map_roles(x, {H: "W", W: axis("W", 4)})


def test_expand_dims():
    """A134: a new axis of length 1 at a position."""
    x, a = tensor(H, W)
    check(nv.expand_dims(x, axis("N", 1), 0), a[None], "N=1, H=4, W=5")
    check(nv.expand_dims(x, axis("N", 1), -1), a[..., None], "H=4, W=5, N=1")
    check(nv.expand_dims(x, axis("N", 2), 1), np.stack([a, a], 1), [H, N, W])
    check(nv.expand_dims(x, "N", 1), a[:, None], "H=4, N=1, W=5")
    y, b = plain(2, 3)
    check(nv.expand_dims(y, 1), np.expand_dims(b, 1))
    check(nv.expand_dims(y, -1), np.expand_dims(b, -1))
    with pytest.raises(ValueError, match="no such position"):
        nv.expand_dims(x, axis("N", 1), 3)
    check(nv.expand_dims(y, np.int64(1)), b[:, None])
    check(nv.expand_dims(x, "N=2", 1), np.stack([a, a], 1), "H=4, N=2, W=5")


@pytest.mark.parametrize("add", [lambda x, *where, **named: nv.stack([x, x], *where, **named),
                                 lambda x, *where, **named: nv.expand_dims(x, *where, **named)])
def test_the_place_of_a_new_axis_is_what_was_said(add):
    """A281: an integer of NumPy's is one, a second position is the same, and nothing that was said is left out."""
    x, _ = tensor(H, W)
    y, b = plain(2, 3)
    for place in (1, np.int64(1), -2):
        assert add(y, place).shape[::2] == (2, 3) and add(x, "N", place).shape[::2] == (4, 5)
        assert add(y, None, place).shape == add(y, place, 1).shape == add(y, place).shape
    for other in (0, 2):
        with pytest.raises(InvalidArgument, match="twice"):
            add(y, 1, other)
    for axis_of_none in (1.5, True, "N", ["N"], "N=2, K=3", axis("N", 2), (4, 5)):
        with pytest.raises(nv.NervureError):
            add(y, axis_of_none)


def test_flatten():
    """A135: several axes as one and back."""
    x, a = tensor(N, H, W)
    flat = nv.flatten(x)
    check(flat, a.ravel(), [nv.FlattenedAxis([N, H, W])])
    check(nv.flatten_at(x, 1), a.reshape(2, 20), [N, nv.FlattenedAxis([H, W])])
    check(nv.flatten_at(x, 2), a.reshape(8, 5), [nv.FlattenedAxis([N, H]), W])
    for whole in (0, 3):
        assert nv.flatten_at(x, whole).axes == flat.axes
    check(nv.unflatten(flat), a, [N, H, W])
    check(nv.unflatten(nv.axes_with_order(nv.flatten_at(x, 1), [1, 0])), a.transpose(1, 2, 0), [H, W, N])
    check(nv.unflatten(x), a, [N, H, W])
    check(nv.flatten(plain(2, 3)[0]), np.arange(6))
    with pytest.raises(InvalidArgument):
        nv.flatten_at(x, 4)


@pytest.mark.parametrize("move", [
    lambda x: x.T, lambda x: nv.axes_with_order(x, "W=5, N=2, H=4"), lambda x: nv.cast_axes(x, (2, 4, 5)), nv.flatten,
    lambda x: nv.broadcast(x, [C, N, H, W]), lambda x: nv.expand_dims(x, axis("K", 1)), lambda x: x[:, 1:3, ::-2],
    lambda x: x[1], lambda x: x[{"W": 2}], lambda x: nv.flatten_at(x, 1), nv.reverse, lambda x: nv.reshape(x, (8, 5)),
    lambda x: nv.squeeze(x[:, :1]), lambda x: nv.map_roles(x, {"H": "K"}), lambda x: nv.pad(x, 1),
    lambda x: nv.pad(x, 1, mode="edge"), lambda x: nv.concat_along_axis([x, x], N), lambda x: nv.stack([x, x])])
def test_moves_are_views(move):
    """A136: every op between x and the result translates indices; none computes or copies."""
    x = nv.placeholder([N, H, W])
    op = move(x).value.op
    while not isinstance(op, nv.ir.leaves.ReadVariable):
        assert isinstance(op, View)
        op = op.operands[0].op


@pytest.mark.parametrize("shape", [(20,), (-1,), (5, -1), (2, 2, 5), (1, 20, 1), 20, -1])
def test_reshape(shape):
    """A152: row-major order; one length may be -1."""
    x, a = plain(4, 5)
    check(x.reshape(shape), a.reshape(shape))
    if isinstance(shape, tuple):
        check(x.reshape(*shape), a.reshape(shape))
    check(nv.reshape(tensor(H, W)[0], shape), a.reshape(shape))


def test_reshape_to_axes():
    """A152: axes in the place of lengths name the result; another size is a ShapeMismatch."""
    x, a = tensor(H, W)
    check(nv.reshape(x, "A=2, B=10"), a.reshape(2, 10), "A=2, B=10")
    check(nv.reshape(x, [axis("A", 20)]), a.ravel(), "A=20")
    for wrong in ((3, 7), (-1, 3), (-1, -1), (0, -1)):
        with pytest.raises(ValueError):
            nv.reshape(x, wrong)


def test_reshape_of_unknown_size():
    """A152: a size that is not known to be equal is assumed, and checked by every call."""
    x = nv.placeholder((dim("n"), dim("m")))
    f = nv.computation(x.reshape(dim("k"), 2), x)
    g = nv.computation([x.reshape(-1), x.reshape(dim("m"), dim("n"))], x)
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert [entry.shape for entry in g(a)] == [(6,), (3, 2)]
    y = nv.placeholder((3, 2))
    h = nv.computation(x.reshape(6) + y.reshape(-1), x, y)
    np.testing.assert_array_equal(h(a, a.reshape(3, 2)), 2 * a.ravel())
    with pytest.raises(ValueError):
        h(np.zeros((2, 2), np.float32), np.zeros((3, 2), np.float32))
    with pytest.raises(ValueError, match="k"):
        f(a)


PADDINGS = [1, (1, 2), (0, 3), -1, (2, -1), 0]


@pytest.mark.parametrize("padding", PADDINGS)
def test_pad_with_a_number(padding):
    """A148: an int or a pair (before, after) an axis; negative crops."""
    x, a = tensor(H, W)
    before, after = (padding, padding) if isinstance(padding, int) else padding
    bigger = np.pad(a, [(0, 0), (max(before, 0), max(after, 0))], constant_values=7)
    expected = bigger[:, max(-before, 0):bigger.shape[1] - max(-after, 0)]
    result = nv.pad(x, [0, padding], value=7)
    check(result, expected, [H, axis("W", 5 + before + after)])
    assert result.axes[0] is x.axes[0]
    check(nv.pad(x, {"W": padding}, value=7), expected, [H, axis("W", 5 + before + after)])


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
def test_pad_with_elements(mode):
    """A148: NumPy's other modes."""
    x, a = plain(4, 5)
    check(nv.pad(x, [(2, 1), (0, 3)], mode=mode), np.pad(a, [(2, 1), (0, 3)], mode=mode))


def test_pad_axes():
    """A148: an int alone is for all axes; axes= are those of the result; mistakes are named."""
    x, a = tensor(H, W)
    check(nv.pad(x, 1), np.pad(a, 1), "H=6, W=7")
    check(nv.pad(x, 1, axes="A=6, B=7"), np.pad(a, 1), "A=6, B=7")
    with pytest.raises(AxisMismatch):
        nv.pad(x, 1, axes="A=6, B=8")
    with pytest.raises(InvalidArgument, match="a padding is needed for each axis"):
        nv.pad(x, [1])
    with pytest.raises(InvalidArgument, match="(?s)pad: unknown mode.*'constant', 'edge'"):
        nv.pad(x, 1, mode="mean")
    with pytest.raises(ValueError, match="edge"):
        nv.pad(x, 1, mode="edgy")
    with pytest.raises(WrongKind):
        nv.pad(x, ["1", 2])
    with pytest.raises(ValueError):
        nv.pad(x, -3)


def test_stack():
    """A149: a new axis, as long as the list, at any position; the tensors may have their axes in any order."""
    (x, a), (y, b) = tensor(H, W), tensor(W, H)
    check(nv.stack([x, y], axis("K", 2)), np.stack([a, b.T]), "K=2, H=4, W=5")
    check(nv.stack([x, y, x], "K", 1), np.stack([a, b.T, a], 1), "H=4, K=3, W=5")
    check(nv.stack([x, x], "K", pos=-1), np.stack([a, a], -1), "H=4, W=5, K=2")
    unset = nv.make_axis(name="K")
    assert nv.stack([x, x], unset).axes[0] is unset and unset.length == 2
    p, c = plain(2, 3)
    check(nv.stack([p, p + 1], 1), np.stack([c, c + 1], 1))
    with pytest.raises(AxisMismatch, match="another length"):
        nv.stack([x, y], axis("K", 3))
    with pytest.raises(AxisMismatch, match="differ in axes"):
        nv.stack([x, tensor(H, C)[0]], "K")
    with pytest.raises(InvalidArgument, match="nothing to join"):
        nv.stack([], "K")
    with pytest.raises(WrongKind, match="takes a list"):
        nv.stack(x, "K")


def test_concatenate():
    """A150: along an axis that is found by its class in each; lengths along it may differ."""
    (x, a), (y, b) = tensor(H, W), tensor(W, axis("H", 2))
    check(nv.concat_along_axis([x, y], H), np.concatenate([a, b.T]), "H=6, W=5")
    check(nv.concat_along_axis([x, y], "H"), np.concatenate([a, b.T]), "H=6, W=5")
    p, c = plain(2, 3)
    check(nv.concatenate([p, p[:, :1]], 1), np.concatenate([c, c[:, :1]], 1))
    check(nv.concatenate([p, p]), np.concatenate([c, c]))
    with pytest.raises(InvalidArgument, match="two axes have the class of H"):
        nv.concat_along_axis([tensor(H, axis("H", 2))[0]] * 2, H)
    with pytest.raises(InvalidArgument, match="two axes have the class of H"):
        nv.concat_along_axis([tensor(H, H.offset(-1))[0]] * 2, H)
    with pytest.raises(AxisMismatch, match="no axis"):
        nv.concat_along_axis([x, y], C)
    with pytest.raises(AxisMismatch, match="axis W is not in every tensor"):
        nv.concat_along_axis([x, tensor(H, C)[0]], H)
    with pytest.raises(AxisMismatch, match="named and anonymous"):
        nv.concat_along_axis([x, p], 0)
    mixed = nv.concat_along_axis([x, nv.zeros([H, W], nv.float64)], H)
    assert mixed.dtype is nv.float64


def test_split():
    """A157: into equal parts, or before each position."""
    x, a = tensor(H, axis("W", 6))
    for parts in (3, [1, 4], [2], [-1]):
        for mine, theirs in zip(nv.split(x, parts, "W"), np.split(a, parts, 1), strict=True):
            np.testing.assert_array_equal(mine.numpy(), theirs)
    with pytest.raises(ShapeMismatch, match="does not divide"):
        nv.split(x, 4, "W")
    y = nv.placeholder("N=n, H=4")
    f = nv.computation(nv.split(y, 2, "N"), y)
    assert [part.shape for part in f(np.zeros((6, 4), np.float32))] == [(3, 4), (3, 4)]
    with pytest.raises(ValueError, match="n"):
        f(np.zeros((5, 4), np.float32))


def test_reverse_and_squeeze():
    """A157: axes backwards; axes of length 1 dropped."""
    x, a = tensor(H, W)
    check(nv.reverse(x, W), a[:, ::-1], [H, W])
    check(nv.reverse(x), a[::-1, ::-1], [H, W])
    y, b = tensor(axis("A", 1), H, axis("B", 1))
    check(nv.squeeze(y), b[0, :, 0], [H])
    check(nv.squeeze(y, "B"), b[..., 0], "A=1, H=4")
    with pytest.raises(ShapeMismatch):
        nv.squeeze(y, "H")
    z = nv.placeholder("N=n, H=4")
    assert nv.squeeze(z) is not z and nv.squeeze(z).shape == z.shape
    f = nv.computation(nv.squeeze(z, "N"), z)
    np.testing.assert_array_equal(f(np.ones((1, 4), np.float32)), np.ones(4))
    with pytest.raises(ShapeMismatch):
        f(np.ones((2, 4), np.float32))


def test_axes_are_given_in_three_ways():
    """A158: as an Axis, by name, by position; a near miss is suggested."""
    x, a = tensor(axis("height", 4), axis("width", 5))
    for way in (x.axes[1], "width", 1, -1, np.int64(1)):
        check(nv.reverse(x, way), a[:, ::-1], x.axes)
    with pytest.raises(AxisMismatch) as caught:
        nv.reverse(x, "hight")
    assert caught.value.help == "did you mean height?"
    with pytest.raises(AxisMismatch) as caught:
        nv.reverse(x, axis("width", 6))
    assert "width: 5" in caught.value.help
    with pytest.raises(IndexError):
        nv.reverse(x, 2)
    with pytest.raises(InvalidArgument, match="given twice"):
        nv.reverse(x, [0, "height"])
    with pytest.raises(WrongKind):
        nv.reverse(x, 1.5)


# -- views of views --------------------------------------------------------------------------------


@st.composite
def slices(draw, length: int):
    """A slice of any step, with ends inside and outside."""
    ends = st.one_of(st.none(), st.integers(-length - 2, length + 2))
    return slice(draw(ends), draw(ends), draw(st.sampled_from([None, 1, 2, 3, -1, -2, -3])))


@given(st.data())
def test_views_of_views(data):
    """A136, A139: slices of any step, a transpose, a broadcast and slices again, against NumPy; and written through."""
    shape = data.draw(st.lists(st.integers(1, 5), min_size=2, max_size=3))
    array = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    x = nv.constant(array, dtype=nv.float64)
    first = tuple([data.draw(slices(length)) for length in shape])
    view, expected = x[first], array[first]
    order = data.draw(st.permutations(range(len(shape))))
    view, expected = view.transpose(*order), expected.transpose(order)
    second = tuple([data.draw(slices(length)) for length in expected.shape])
    view, expected = view[second], expected[second]
    np.testing.assert_array_equal(view.numpy(), expected)
    wide = (data.draw(st.integers(1, 3)), *expected.shape)
    np.testing.assert_array_equal(nv.broadcast(view, wide).numpy(), np.broadcast_to(expected, wide))
    last = data.draw(slices(wide[0]))
    np.testing.assert_array_equal(nv.broadcast(view, wide)[last, ..., ::-1].numpy(),
                                  np.broadcast_to(expected, wide)[last, ..., ::-1])
    written = x.at[first].add(1.0)
    array = array.copy()
    array[first] += 1.0
    np.testing.assert_array_equal(written.numpy(), array)


@given(st.data())
def test_gradients_of_overlapping_views(data):
    """A151: an element that several views show gets the sum of their gradients."""
    length = data.draw(st.integers(1, 8))
    chosen = [data.draw(slices(length)) for _ in range(3)]
    x = nv.variable((length,), np.arange(length), dtype=nv.float64)
    total, expected = nv.constant(0.0, dtype=nv.float64), np.zeros(length)
    for weight, item in enumerate(chosen, start=1):
        total = total + nv.sum(x[item]) * weight
        expected[item] += weight
    np.testing.assert_array_equal(nv.deriv(total, x).numpy(), expected)


@pytest.mark.parametrize("move", [
    lambda x: x[1:, ::-2] * x[:-1, ::-2], lambda x: nv.pad(x, 1) ** 2.0,
    lambda x: nv.pad(x, [(2, 1), (0, 2)], mode="reflect"),
    lambda x: nv.concatenate([x, x[:1] * x[1:2]]), lambda x: nv.stack([x, x * x]),
    lambda x: nv.broadcast(x, (2, 3, 4)) ** 2.0,
    lambda x: x.T @ x, lambda x: x.reshape(-1)[::3] ** 2.0, lambda x: nv.expand_dims(x, 1) * x])
def test_derivatives_of_views(move):
    """A151: twice, against differences."""
    nv.testing.check_grads(move, [np.random.default_rng(3).uniform(0.5, 1.5, (3, 4))])


def test_a_place_between_axes_is_any_integer_but_no_truth_value():
    assert nv.flatten_at(nv.zeros((4, 2, 3)), np.int64(1)).shape == (4, 6)
    with pytest.raises(nv.WrongKind, match="index is an integer"):
        nv.flatten_at(nv.zeros((4, 2, 3)), True)


def test_the_number_of_shared_dimensions_is_an_integer():
    rows = nv.constant([[1.0, 2.0], [3.0, 4.0]])
    assert nv.gather_nd(rows, [[1], [0]], batch=np.int64(1)).tolist() == [2.0, 3.0]
    with pytest.raises(nv.WrongKind, match="batch is an integer"):
        nv.gather_nd(rows, [[1], [0]], batch="1")
