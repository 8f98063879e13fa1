"""Tensors with a job, and random tensors."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

import nervure as nv
from nervure.errors import AxisMismatch, InvalidArgument, NervureError, ShapeMismatch, WrongKind
from nervure.types.axis import axis
from nervure.types.dim import dim

H, W = axis("H", 2), axis("W", 3)


@pytest.mark.parametrize(("tensor", "flags"), [
    (nv.constant([1.0, 2.0]), (True, True, False, False)), (nv.placeholder((2,)), (False, True, False, True)),
    (nv.persistent_tensor((2,)), (False, True, False, False)), (nv.variable((2,)), (False, True, True, False)),
    (nv.temporary((2,)), (False, False, False, False)), (nv.tensor([1.0, 2.0]), (False, True, False, False))])
def test_the_table(tensor, flags):
    """A180, A186: constant, persistent, trainable, input; all are assignable tensors."""
    assert (tensor.is_constant, tensor.is_persistent, tensor.is_trainable, tensor.is_input) == flags
    assert isinstance(tensor, nv.AssignableTensorOp) and isinstance(tensor, nv.Tensor)


@pytest.mark.parametrize(("flags", "role"), [
    ({"constant": True}, "constant"), ({"input": True}, "placeholder"), ({"persistent": True}, "persistent"),
    ({"trainable": True}, "variable"), ({}, "temporary"), ({"persistent": False}, "temporary"),
    ({"constant": True, "persistent": True, "trainable": False, "input": False}, "constant")])
def test_four_flags_make_each_of_them(flags, role):
    """A320: the constructor takes the flags of the table; all that keep or receive a value are persistent."""
    value = 2.0 if role in ("constant", "persistent", "variable") else None
    made = nv.AssignableTensorOp("H=2", value, nv.float64, **flags)
    assert made.role == role and made.axes.names == ("H",) and made.dtype is nv.float64
    assert value is None or made.tolist() == [2.0, 2.0]
    assert all(getattr(made, f"is_{name}") is flag for name, flag in flags.items())


def test_the_constructor_makes_what_the_functions_make():
    """A320: of the device in force, with a layout, usable as such."""
    w = nv.AssignableTensorOp([H, W], np.ones((2, 3)), trainable=True, layout="F")
    x = nv.AssignableTensorOp("H=n, W=3", input=True)
    assert w.order == "F" and w.grad.shape == (2, 3)
    assert nv.computation(nv.sum(w) + nv.sum(x), x)(np.ones((4, 3))).item() == 18.0
    assert nv.AssignableTensorOp(initial_value=[1, 2], constant=True).tolist() == [1.0, 2.0]
    with nv.devices(nv.NumPyTensor):
        assert isinstance(nv.AssignableTensorOp((2,), trainable=True), nv.NumPyTensor)


@pytest.mark.parametrize("flags", [
    {"constant": True, "trainable": True}, {"constant": True, "persistent": False}, {"constant": True, "input": True},
    {"trainable": True, "input": True}, {"input": True, "persistent": False}, {"trainable": True, "persistent": False}])
def test_flags_that_nothing_has(flags):
    """A320: the error lists what there is."""
    with pytest.raises(InvalidArgument, match="no tensor has these flags") as caught:
        nv.AssignableTensorOp("H=2", 1.0, **flags)
    assert "variable: persistent, trainable" in caught.value.expected
    with pytest.raises(InvalidArgument, match="a constant has a value"):
        nv.AssignableTensorOp("H=2", constant=True)
    with pytest.raises(InvalidArgument, match="has no value of its own"):
        nv.AssignableTensorOp("H=2", 1.0, input=True)
    with pytest.raises(WrongKind):
        nv.AssignableTensorOp("H=2", trainable="yes")


def test_constants_are_immutable():
    """A181: they keep an array of their own, and cannot be assigned or set."""
    array = np.float32([1, 2])
    x = nv.constant(array)
    array[0] = 9
    assert x.tolist() == [1.0, 2.0]
    x.numpy()[0] = 9
    assert x.tolist() == [1.0, 2.0]
    with pytest.raises(InvalidArgument, match="a constant cannot be assigned"):
        nv.assign(x, 0)
    with pytest.raises(InvalidArgument):
        nv.computation(x, x)


def test_constants_with_axes():
    """A181: the shape is that of the axes; one number fills them."""
    assert nv.constant([[1, 2, 3], [4, 5, 6]], axes=[H, W]).axes == nv.make_axes([H, W])
    assert nv.constant(2.0, axes=[H, W]).tolist() == [[2.0] * 3] * 2
    with pytest.raises(ShapeMismatch) as caught:
        nv.constant([1, 2, 3], axes=[H])
    assert (caught.value.got, caught.value.expected) == ("(3,)", "(2,) for (H: 2)")


def test_placeholders():
    """A182: the caller gives the value; without one there is an error that names it."""
    x = nv.placeholder([H]).named("x")
    f = nv.computation(x + x, x)
    assert f([1.0, 2.0]).tolist() == [2.0, 4.0]
    with pytest.raises(InvalidArgument) as caught:
        (x + x).numpy()
    assert "x" in str(caught.value)
    with pytest.raises(InvalidArgument):
        nv.computation(x + x)


def test_persistent_tensors_and_variables():
    """A183, A184, A189: they keep their value between computations; given as an argument, the call sets them."""
    for make in (nv.persistent_tensor, nv.variable):
        w = make([H], 1.0)
        step = nv.computation([nv.assign(w, w * 2), w])
        assert step()[1].tolist() == [2.0, 2.0] and step()[1].tolist() == [4.0, 4.0]
        f = nv.computation(w + 0, w)
        assert f(np.float32([5, 6])).tolist() == [5.0, 6.0]
        assert w.numpy().tolist() == [5.0, 6.0]


def test_variables_below():
    """A184: x.variables() finds the parameters, once each, in the order of the graph."""
    w, b, p, x = nv.variable([H]), nv.variable([H]), nv.persistent_tensor([H]), nv.placeholder([H])
    y = nv.tanh(w * x + b) * w + p
    assert y.variables() == [w, b] and w.variables() == [w] and (x + p).variables() == []


def test_temporaries():
    """A185: assigned and read inside one run, forgotten at its end."""
    t = nv.temporary([H])
    f = nv.computation(nv.sequential([nv.assign(t, 3.0), t * 2]))
    assert f().tolist() == [6.0, 6.0]
    with pytest.raises(InvalidArgument, match="before it has a value"):
        nv.computation(t * 2)


def test_a_temporary_of_a_body_is_assigned_in_front_of_it():
    """A185: the error says so."""
    t, x = nv.temporary(()), nv.constant([1.0, 2.0])
    loop = nv.scan(lambda c, v: (c, nv.sequential([nv.assign(t, v * 2), t + 1])), 0.0, x)[1]
    with pytest.raises(InvalidArgument, match="in front of a loop"):
        nv.computation(loop)
    assert nv.computation(nv.sequential([nv.assign(t, 0.0), loop]))().tolist() == [3.0, 5.0]


@pytest.mark.parametrize(("initial", "expected"), [
    (None, [0.0, 0.0]), (3, [3.0, 3.0]), (2.5, [2.5, 2.5]), ([1, 2], [1.0, 2.0]), (np.array([1.0, 2.0]), [1.0, 2.0]),
    (lambda axes: np.arange(axes.size), [0.0, 1.0]), (lambda axes: nv.iota(axes[0]) + 1, [1.0, 2.0]),
    (lambda axes: 7, [7.0, 7.0]),
    (nv.constant([8.0, 9.0]), [8.0, 9.0])])
def test_initial_values(initial, expected):
    """A187: nothing, a number, an array, a callable of the axes, a constant; always copied."""
    for make in (nv.persistent_tensor, nv.variable):
        assert make([H], initial).numpy().tolist() == expected
    if isinstance(initial, np.ndarray):
        w = nv.variable([H], initial)
        initial[0] = 99
        assert w.numpy().tolist() == expected


def test_named_values_go_to_their_axes():
    """A255: an initial value, what a callable of the axes gives, a constant and a tensor of a tensor."""
    rows = np.float32([[1, 2], [3, 4]])
    turned = nv.constant(rows.T, axes="W=2, H=2")
    square = nv.make_axes("H=2, W=2")
    for made in (nv.variable(square, turned), nv.persistent_tensor(square, turned * 1),
                 nv.variable(square, lambda _: turned), nv.constant(turned, axes=square),
                 nv.tensor(turned, axes="H=2, W=2")):
        assert made.axes == square and made.tolist() == rows.tolist()
    for make in (nv.constant, nv.tensor):
        assert make(turned).axes == turned.axes and make(turned).tolist() == rows.T.tolist()
        assert not make(nv.constant(rows)).is_named
    other = nv.zeros("H=2, K=2")
    for refused in (lambda: nv.variable(square, other), lambda: nv.constant(other, axes=square),
                    lambda: nv.variable(square, lambda _: other).numpy(), lambda: nv.tensor(other, square)):
        with pytest.raises(AxisMismatch, match="other axes|lacks K"):
            refused()


@pytest.mark.parametrize("value", [np.ones((1, 3)), [1, 2, 3], np.ones((2, 1)), [[1], [2]], 5, np.ones((2, 3))])
@pytest.mark.parametrize("given", [lambda value: value, lambda value: lambda axes: np.array(value),
                                   lambda value: nv.constant(value), lambda value: lambda axes: nv.constant(value)])
def test_initial_values_without_names_are_spread_as_numpy_does(value, given):
    """A191: along axes without names; the element type is that of the value."""
    for make in (nv.variable, nv.persistent_tensor):
        made = make((2, 3), given(value))
        assert made.tolist() == np.broadcast_to(value, (2, 3)).tolist() and made.shape == (2, 3)


@pytest.mark.parametrize("make", [nv.variable, nv.persistent_tensor])
def test_without_axes_a_place_has_those_of_its_initial_value(make):
    rows = np.arange(6, dtype=np.float64).reshape(2, 3)
    assert make(initial_value=rows).axes.lengths == (2, 3)
    np.testing.assert_array_equal(make(initial_value=rows).numpy(), rows)
    assert make(initial_value=[1.0, 2.0]).axes.lengths == (2,)
    assert make(initial_value=nv.constant(rows, "H=2, W=3")).axes.names == ("H", "W")
    assert make(initial_value=0.5).axes.lengths == make().axes.lengths == ()
    assert make((), initial_value=0.5).axes.lengths == ()
    with pytest.raises(nv.ShapeMismatch):
        make((), initial_value=rows)


def test_initial_values_are_spread_along_the_axes_that_they_lack():
    """A191: as in an assignment, by names; positions do not count."""
    row, turned = nv.constant([1, 2, 3], axes=[W]), nv.constant([[1, 2], [3, 4], [5, 6]], axes=[W, H])
    for given in (lambda value: value, lambda value: lambda axes: value):
        assert nv.variable([H, W], given(row)).tolist() == [[1, 2, 3]] * 2
        assert nv.variable([H, W], given(turned)).tolist() == [[1, 3, 5], [2, 4, 6]]


@pytest.mark.parametrize("value", [np.ones((1, 3)), [1, 2, 3], np.ones((2, 1)), np.ones((3, 2))], ids=str)
def test_named_places_are_not_filled_by_position(value):
    """A191: an array of another shape says what it needs."""
    with pytest.raises(ShapeMismatch) as caught:
        nv.variable([H, W], value)
    assert "nv.constant(value, axes=" in caught.value.help


# -- axes that get their lengths later ---------------------------------------------------------------------------------


def test_a_place_over_an_axis_without_length():
    """A198: takes the length that is set before its first use."""
    batch = nv.make_axis(name="N")
    x = nv.placeholder([batch, W]).named("x")
    w = nv.variable([batch], initial_value=2.0)
    counted = nv.persistent_tensor([batch], lambda axes: np.arange(axes.size))
    scratch = nv.temporary([batch])
    assert repr(x) == "<placeholder (N: ?, W: 3)>" and x.axes.names == ("N", "W") and x.name == "x"
    batch.length = 2
    assert repr(x) == "<placeholder f32[N=2, W=3] 'x'>" and (x.shape, x.dtype) == ((2, 3), nv.float32)
    assert (w.tolist(), counted.tolist(), scratch.shape) == ([2, 2], [0, 1], (2,))
    f = nv.computation(x * w, x)
    assert f(np.ones((2, 3))).tolist() == [[2] * 3] * 2
    with pytest.raises(ShapeMismatch):
        f(np.ones((4, 3)))


def test_the_first_use_of_a_place_needs_the_lengths():
    """A198: as an operand, and for its shape; the error says how to set one."""
    batch = nv.make_axis(name="N")
    x = nv.placeholder([batch])
    for use in (lambda: x + 1, lambda: x.shape, lambda: nv.computation(x, x), lambda: nv.assign(x, 0.0),
                lambda: nv.variable([batch], [1.0, 2.0])):
        with pytest.raises(InvalidArgument, match="length of axis N") as caught:
            use()
        assert "axis.length = " in caught.value.help and caught.value.location.file == __file__
    batch.length = nv.dim("n")
    assert nv.computation(x + 1, x)(np.zeros(3)).tolist() == [1, 1, 1]
    late = nv.make_axis(name="M")
    w = nv.variable([late])
    late.length = nv.dim("m")
    with pytest.raises(InvalidArgument, match="lengths that are numbers"):
        w.numpy()


def test_initial_values_that_fail():
    """A191: another shape is a ValueError, when the tensor is made or, from a callable, at first use."""
    with pytest.raises(ShapeMismatch):
        nv.variable([H], [1, 2, 3])
    with pytest.raises(ShapeMismatch):
        nv.variable([H], lambda axes: np.zeros(3)).numpy()
    with pytest.raises(InvalidArgument, match="division") as caught:
        nv.variable([H], lambda axes: 1 / 0).numpy()
    assert "called with the axes" in caught.value.help
    with pytest.raises(WrongKind):
        nv.variable([H], "ones")


@pytest.mark.parametrize("axes", [nv.make_axes([H, W]), [H, W], (H, W), {"H": 2, "W": 3}, "H=2, W=3", nv.zeros([H, W])],
                         ids=str)
def test_ways_to_give_axes(axes):
    """A188: Axes, a list, a dict, a string, a tensor for its axes; a plain shape makes anonymous axes."""
    for make in (nv.placeholder, nv.variable, nv.persistent_tensor, nv.temporary, nv.zeros, nv.uniform):
        assert make(axes).axes == nv.make_axes([H, W])
    for make in (nv.placeholder, nv.variable, nv.zeros, nv.uniform):
        assert make((2, 3)).shape == make([2, 3]).shape == (2, 3) and not make((2, 3)).is_named
        assert make(()).shape == () and make(4).shape == (4,)


@pytest.mark.parametrize("data", [
    [[1, 2], [3, 4]], 5, 2.5, True, np.arange(3), np.float16([1, 2]), range(4), np.array([1, 2], ml_dtypes.bfloat16),
    (1, 2.5),
    memoryview(b"abc"), nv.constant([1.0, 2.0]), []], ids=lambda data: type(data).__name__)
def test_tensor(data):
    """A190: a persistent tensor from anything that NumPy reads."""
    x = nv.tensor(data)
    expected = data.numpy() if isinstance(data, nv.Tensor) else np.asarray(data)
    assert x.is_persistent and not x.is_constant and x.shape == expected.shape
    np.testing.assert_array_equal(x.numpy().astype(np.float64), expected.astype(np.float64))


def test_tensor_with_axes():
    """A190: axes and dtype may be given; a tensor's own axes stay."""
    assert nv.tensor([[1, 2, 3]] * 2, [H, W], nv.int8).dtype is nv.int8
    assert nv.tensor(nv.zeros([H, W])).axes == nv.make_axes([H, W])
    for wrong in (["a", "b"], object(), [[1], [2, 3]]):
        with pytest.raises(NervureError):
            nv.tensor(wrong)


def test_symbolic_lengths():
    """A192: for placeholders and temporaries; what keeps its value needs numbers."""
    assert nv.placeholder("N=n").shape == nv.temporary("N=n").shape == (dim("n"),)
    for make in (nv.variable, nv.persistent_tensor):
        with pytest.raises(InvalidArgument, match="numbers"):
            make("N=n")


def test_names():
    """A193: ``named`` gives a tensor a label, which its reads, errors and printing show."""
    w = nv.variable([H]).named("weights")
    assert w.name == "weights" and repr(w) == "<variable f32[H=2] 'weights'>"
    y = (w + 1).named("sum")
    assert y.name == "sum" and repr(y) == "<Tensor f32[H=2] Add 'sum'>"
    with pytest.raises(WrongKind):
        w.named("")


# -- random ----------------------------------------------------------------------------------------


def test_random_tensors():
    """A194: uniform in [low, high), normal with loc and scale, bernoulli with probability p; a tensor stands
    for its axes.
    """
    nv.seed(3)
    like = nv.zeros("A=200, B=100")
    u = nv.uniform(like, -2.0, 3.0)
    assert u.axes == like.axes and u.dtype is nv.float32
    values = u.numpy()
    assert -2 <= values.min() < -1.9 and 2.9 < values.max() < 3 and abs(values.mean() - 0.5) < 0.05
    g = nv.normal(like, 1.0, 2.0).numpy()
    assert abs(g.mean() - 1) < 0.06 and abs(g.std() - 2) < 0.05
    b = nv.bernoulli(like, 0.3)
    assert b.dtype is nv.bool_ and abs(b.numpy().mean() - 0.3) < 0.02
    assert nv.bernoulli(like, 0.3, dtype=nv.float32).dtype is nv.float32
    assert nv.uniform((3,), dtype=nv.float64).dtype is nv.float64
    scaled = nv.uniform("A=2", nv.constant([0.0, 10.0], axes="A=2"), nv.constant([1.0, 11.0], axes="A=2")).numpy()
    assert 0 <= scaled[0] < 1 and 10 <= scaled[1] < 11
    for low, high in ((1.0, 0.0), (0.0, math.inf), (math.nan, 1.0), (0.0, 1e39), (0, 10**400)):
        with pytest.raises(InvalidArgument, match="no interval"):
            nv.uniform((2,), low, high)
    with pytest.raises(WrongKind):
        nv.uniform((2,), 0.0, 1j)


@pytest.mark.parametrize("dtype, low, high", [
    (nv.bfloat16, 1.0, 2.0), (nv.float16, -2.0, -1.0), (nv.bfloat16, 0.0, 3.0), (nv.float16, 1.0, 1.0009765625)])
def test_uniform_numbers_never_reach_the_upper_bound(dtype, low, high):
    """A194, O47: of few numbers all are drawn, but the upper bound is not."""
    drawn = nv.uniform((40_000,), low, high, dtype=dtype).numpy().astype(np.float64)
    assert drawn.min() == low and drawn.max() < high
    there = nv.constant(np.arange(1 << 16, dtype=np.uint16).view(dtype.numpy)).astype(nv.float64).numpy()
    inside = there[(there >= low) & (there < high)]
    assert set(drawn) <= set(inside) and (low == 0 or set(drawn) >= set(inside[:8]) | set(inside[-8:]))


def test_fresh_values():
    """A195: at every call; two ops draw apart; one op is one draw within a call; the seed starts anew."""
    def draws():
        nv.seed(11)
        x, y = nv.uniform((4,)), nv.uniform((4,))
        f = nv.computation([x, y, x + 0])
        return [f() for _ in range(2)]
    first = draws()
    for run in first:
        assert (run[0] == run[2]).all() and (run[0] != run[1]).any()
    assert (first[0][0] != first[1][0]).any()
    second = draws()
    for mine, theirs in zip(first, second, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    nv.seed(12)
    assert (nv.uniform((4,)).numpy() != first[0][0]).any()


def test_dropout():
    """A196: each element is dropped with the rate, the others are scaled; the gradient goes where the values went."""
    nv.seed(5)
    x = nv.variable((10_000,), 3.0)
    y = nv.dropout(x, 0.25)
    value, gradient = nv.computation([y, nv.deriv(nv.sum(y), x)])()
    assert set(np.unique(value)) == {0.0, 4.0} and abs((value == 0).mean() - 0.25) < 0.02
    np.testing.assert_allclose(gradient, value / 3)
    assert nv.dropout(x, 0).numpy().tolist() == x.numpy().tolist() and not nv.dropout(x, 1).numpy().any()
    assert nv.dropout(np.float32([math.inf, math.nan]), 1).tolist() == [0.0, 0.0]


def test_random_errors():
    """A194, A196: probabilities are numbers from 0 to 1."""
    for call in (lambda p: nv.bernoulli((2,), p), lambda p: nv.dropout(nv.zeros((2,)), p)):
        for wrong in (-0.1, 1.5, float("nan")):
            with pytest.raises(InvalidArgument):
                call(wrong)
        with pytest.raises(WrongKind):
            call("half")
    with pytest.raises(WrongKind):
        nv.seed(1.5)


def test_initialisers():
    """A197: glorot and he are callables of axes with the published widths."""
    nv.seed(1)
    axes = nv.make_axes("A=400, B=200")
    w = nv.variable(axes, nv.glorot).numpy()
    limit = np.sqrt(6 / 600)
    assert 0.98 * limit < w.max() < limit and -limit <= w.min() < -0.98 * limit
    w = nv.variable(axes, nv.he).numpy()
    assert abs(w.std() - np.sqrt(2 / 400)) < 0.002
    w = nv.variable(axes, lambda axes: nv.he(axes, out_axes="A")).numpy()
    assert abs(w.std() - np.sqrt(2 / 200)) < 0.002
    assert nv.variable("A=0, B=2", nv.glorot).numpy().shape == (0, 2)


def test_arrays_that_repeat_an_element_too_often_are_refused_before_they_are_copied():
    for repeated in (np.broadcast_to(np.float32(1), 2**45), np.broadcast_to(np.int8(1), 2**33)):
        for make in (nv.constant, nv.tensor, lambda array: nv.variable(array.shape, initial_value=array)):
            with nv.flags.overriding(memory_limit=2**32), pytest.raises(InvalidArgument, match="more memory than"):
                make(repeated)
    with nv.flags.overriding(memory_limit=2**20), pytest.raises(InvalidArgument, match="4,194,304 bytes"):
        nv.constant(np.broadcast_to(np.int8(1), 2**20), dtype=nv.float32)
