"""Operands of different axes are aligned. Values are those of ``np.einsum`` on the same letters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nervure as nv
from nervure.errors import AxisMismatch, InvalidArgument, ShapeMismatch
from nervure.front.alignment import pairing
from nervure.types.axis import axis
from nervure.types.dim import dim

LENGTHS = {"N": 2, "C": 3, "H": 4, "W": 5, "K": 6, "M": 7}


def named(letters: str, seed: int = 0):
    """A constant with these axes and random elements, and its array."""
    array = np.random.default_rng([seed, *map(ord, letters)]).standard_normal([LENGTHS[one] for one in letters])
    return nv.constant(array, axes={one: LENGTHS[one] for one in letters}, dtype=nv.float64), array


def names(tensor) -> str:
    return "".join(tensor.axes.names)


def spread(array: np.ndarray, own: str, result: str) -> np.ndarray:
    """An array with axes ``own`` broadcast to ``result``, by einsum."""
    missing = [one for one in result if one not in own]
    ones = [np.ones(LENGTHS[one]) for one in missing]
    return np.einsum(",".join([own, *missing]) + "->" + result, array, *ones)


EXAMPLES = [("HW", "H", "HW"), ("CH", "WHN", "CHWN"), ("HW", "WH", "HW"), ("HW", "NW", "HWN"), ("HW", "NHW", "NHW"),
            ("C", "HW", "CHW"), ("NCHW", "CHWN", "NCHW")]


@pytest.mark.parametrize(("left", "right", "result"), EXAMPLES)
def test_examples(left, right, result):
    """A60, A61, A62, A63, A64: axes meet by what they are, in the order that the rules give."""
    x, a = named(left, 1)
    y, b = named(right, 2)
    total = x + y
    assert names(total) == result
    np.testing.assert_array_equal(total.numpy(), spread(a, left, result) + spread(b, right, result))


def test_three_operands_align_from_the_left():
    """A65: the axes of the first two, and then those of the third."""
    (c, a), (x, b), (y, d) = named("W", 1), named("HW", 2), named("NH", 3)
    chosen = nv.where(c > 0, x, y)
    assert names(chosen) == "HWN"
    expected = np.where(spread(a, "W", "HWN") > 0, spread(b, "HW", "HWN"), spread(d, "NH", "HWN"))
    np.testing.assert_array_equal(chosen.numpy(), expected)
    assert names(nv.clip(named("H")[0], named("W")[0], named("C")[0])) == "HWC"


@st.composite
def operands(draw):
    letters = st.lists(st.sampled_from("NCHW"), unique=True, max_size=4).map("".join)
    return draw(letters), draw(letters), draw(letters)


@given(operands())
def test_alignment_is_that_of_einsum(case):
    """A60 to A65 for any axes of three operands."""
    tensors = [named(letters, seed) for seed, letters in enumerate(case)]
    product = nv.where(tensors[0][0] > 0, tensors[1][0], tensors[2][0]) * tensors[0][0]
    order = "" if not case[0] else case[0]
    for letters in case[1:]:
        order = expected_order(order, letters)
    assert names(product) == expected_order(order, case[0])
    result = names(product)
    first, second, third = (spread(array, own, result) for (_, array), own in zip(tensors, case, strict=True))
    np.testing.assert_array_equal(product.numpy(), np.where(first > 0, second, third) * first)


def expected_order(left: str, right: str) -> str:
    """The rule, in letters."""
    if set(right) <= set(left):
        return left
    if set(left) <= set(right):
        return right
    return left + "".join(one for one in right if one not in left)


@pytest.mark.parametrize(("left", "right"), [
    ("H=4", "H=5"), ("H=4, W=3", "N=2, H=5"), ("H=4", "H=4, H=5"), ("H=4, H=5", "H=4"), ("H=n", "H=4, H=5"),
])
def test_one_role_two_lengths(left, right):
    """A66, A67: an axis of the same class and offset that has no partner is an error when the op is built."""
    x, y = nv.placeholder(two_of_one_class(left)), nv.placeholder(two_of_one_class(right))
    with pytest.raises(AxisMismatch, match="axis H has two lengths") as caught:
        x + y
    assert caught.value.op == "add" and caught.value.operand == "2"
    assert {"got", "expected"} <= {name for name in ("got", "expected") if "H: " in getattr(caught.value, name)}
    assert caught.value.location.file == __file__


def two_of_one_class(text: str) -> list[nv.Axis]:
    return [axis(name, dim(length) if length.isalpha() else int(length))
            for name, length in (part.strip().split("=") for part in text.split(","))]


def test_assigned_values_align_too():
    """A66, A68: an axis of the target's class with another length; one of unknown length is checked by the call."""
    w = nv.variable("H=4")
    with pytest.raises(AxisMismatch, match="axis H has two lengths") as caught:
        nv.assign(w, nv.placeholder("H=5"))
    assert (caught.value.op, caught.value.got, caught.value.expected) == ("assign", "H: 5", "H: 4")
    x = nv.placeholder("H=n")
    f = nv.computation([nv.assign(w, x), w], x)
    assert f([1, 2, 3, 4])[1].tolist() == [1, 2, 3, 4]
    with pytest.raises(ShapeMismatch) as caught:
        f([1, 2, 3])
    assert caught.value.op == "assign" and w.numpy().tolist() == [1, 2, 3, 4]


def test_axes_of_other_offset_are_other_axes():
    """A66: class alone is no role."""
    height = nv.axis("H", 4)
    x, y = nv.placeholder([height]), nv.placeholder([height.offset(-1)])
    assert [str(one) for one in (x + y).axes] == ["H: 4", "H-1: 4"]


def test_matching_is_one_to_one():
    """A67: known partners first, then those whose lengths are unknown; each axis has one."""
    left = nv.make_axes([axis("H", dim("n")), axis("H", 4)])
    right = nv.make_axes([axis("H", 4), axis("H", dim("m"))])
    assert pairing(left, right) == {1: 0, 0: 1}
    assert pairing(nv.make_axes([axis("H", dim("n"))]), nv.make_axes([axis("H", 4), axis("H", 5)])) == {0: 0}


def test_unknown_lengths_are_assumed():
    """A68: the assumption names the op and the line, and a call that breaks it runs nothing."""
    x, y = nv.placeholder("H=n"), nv.placeholder("H=m")
    calls = []
    watched = nv.host_call(lambda array: calls.append(1) or array, [x], like=x, effectful=True)
    f = nv.computation(watched + y, x, y)
    assert [(str(one.left), str(one.right)) for one in f.function.assumptions] in ([("m", "n")], [("n", "m")])
    assert f(np.float32([1, 2]), np.float32([3, 4])).tolist() == [4.0, 6.0]
    with pytest.raises(ValueError, match="m|n") as caught:
        f(np.float32([1, 2]), np.float32([3]))
    assert caught.value.op == "add" and caught.value.location.file == __file__
    assert len(calls) == 1


def test_a_symbol_is_never_a_broadcast_one():
    """A69: length 1 at the call does not stretch; a literal 1 does."""
    x, y = nv.placeholder((dim("n"),)), nv.placeholder((3,))
    f = nv.computation(x + y, x, y)
    with pytest.raises(ValueError):
        f(np.float32([1]), np.float32([1, 2, 3]))
    one, many = nv.placeholder((1,)), nv.placeholder((dim("n"),))
    g = nv.computation(one + many, one, many)
    assert g(np.float32([1]), np.float32([1, 2, 3])).tolist() == [2.0, 3.0, 4.0]
    with pytest.raises(AxisMismatch):
        nv.placeholder("H=1") + nv.placeholder("H=3")
    assert (nv.placeholder("H=1") + nv.placeholder("H=n")).shape == (1,)


def test_symbols_are_known_by_name():
    """A70: one symbol is one length within a computation, at least 0, and inside its bounds."""
    x, y = nv.placeholder("H=n"), nv.placeholder("W=n")
    f = nv.computation(x + y, x, y)
    assert f(np.zeros(2, np.float32), np.zeros(2, np.float32)).shape == (2, 2)
    with pytest.raises(ValueError, match="n"):
        f(np.zeros(2, np.float32), np.zeros(3, np.float32))
    bounded = nv.placeholder([nv.axis("H", nv.dim("a", min=1, max=4))])
    g = nv.computation(bounded * 2, bounded)
    assert g(np.zeros(4, np.float32)).shape == (4,)
    for length in (0, 5):
        with pytest.raises(ValueError, match="a"):
            g(np.zeros(length, np.float32))


@given(st.data())
def test_anonymous_tensors_follow_numpy(data):
    """A71: shapes broadcast from the right, by ones."""
    whole = data.draw(st.lists(st.integers(0, 3), max_size=4))
    arrays = []
    for seed in range(2):
        keep = data.draw(st.integers(0, len(whole)))
        shape = [1 if data.draw(st.booleans()) else length for length in whole[keep:]]
        arrays.append(np.random.default_rng(seed).standard_normal(shape))
    x, y = (nv.constant(array, dtype=nv.float64) for array in arrays)
    np.testing.assert_array_equal((x + y).numpy(), arrays[0] + arrays[1])
    assert not (x + y).is_named


def test_anonymous_shapes_that_do_not_broadcast():
    """A71: a ShapeMismatch with the operand and both lengths."""
    with pytest.raises(ShapeMismatch, match="do not broadcast") as caught:
        nv.zeros((2, 3)) + nv.zeros((2, 4))
    assert caught.value.operand == "2" and caught.value.got == "(2, 4)" and "3" in caught.value.expected


def test_names_meet_scalars():
    """A72: a tensor of rank 0, of either kind, meets everything."""
    x, a = named("HW")
    for scalar in (nv.constant(2.0), nv.constant(2.0, axes=()), 2.0, np.float32(2)):
        assert names(x * scalar) == names(scalar * x) == "HW"
        np.testing.assert_array_equal((scalar * x).numpy(), 2 * a)


def test_names_are_lent_by_position():
    """A73: an anonymous tensor of the same rank and lengths takes the names."""
    x, a = named("HW")
    b = np.arange(20.0).reshape(4, 5)
    for total in (x + b, b + x, x + nv.constant(b)):
        assert names(total) == "HW"
        np.testing.assert_array_equal(total.numpy(), a + b)


@pytest.mark.parametrize("shape", [(5,), (5, 4), (1, 5), (4, 5, 1), ("n", 5)])
def test_names_are_lent_to_nothing_else(shape):
    """A74: another rank, or a length that is not provably equal, needs axes."""
    other = nv.placeholder(tuple([dim(one) if isinstance(one, str) else one for one in shape]))
    with pytest.raises(AxisMismatch, match=r"operand 2 has no axis names; give it axes=\(\.\.\.\)"):
        named("HW")[0] + other
    with pytest.raises(AxisMismatch, match="operand 1 has no axis names"):
        other + named("HW")[0]


def test_names_are_lent_from_the_left():
    """A258: by all operands on the left together, so that three operands meet as two and then the third do."""
    x, a = named("HW")
    column = nv.constant(np.arange(4.0), axes=x.axes[:1])
    b = np.arange(20.0).reshape(4, 5)
    clipped = nv.clip(column, x, b)
    assert names(clipped) == "HW"
    np.testing.assert_array_equal(clipped.numpy(), np.minimum(np.maximum(np.arange(4.0)[:, None], a), b))
    with pytest.raises(AxisMismatch, match="operand 3 has no axis names"):
        nv.clip(column, x, np.arange(4.0))
    with pytest.raises(AxisMismatch, match="operand 3"):
        nv.where(x > 1, nv.ones("H=4, W=5, N=2"), b)


def test_all_named_or_all_anonymous():
    """A75: no function makes a tensor of both."""
    with pytest.raises(ValueError):
        nv.constant(np.zeros((2, 3)), axes=[nv.axis("H", 2), 3])
    with pytest.raises(AxisMismatch):
        nv.expand_dims(nv.zeros((2, 3)), nv.axis("H", 1), 0)
    with pytest.raises(AxisMismatch):
        nv.stack([nv.zeros((2, 3))] * 2, nv.axis("N", 2))
    with pytest.raises(InvalidArgument):
        nv.make_axes([nv.axis("H", 2), 3])
