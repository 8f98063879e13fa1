"""Eager evaluation: the ops that are computed when a tensor is asked for its value."""

from __future__ import annotations

import gc
import sys
import weakref

import numpy as np
import pytest

import nervure as nv
from nervure import transformers
from nervure.errors import IndexOutOfRange, InvalidArgument, NervureError, ShapeMismatch, WrongKind
from nervure.tensor_storage import hold
from nervure.transformers.cpu.compile import compilation


@pytest.fixture
def transformer(transformer, monkeypatch):
    """Each in turn is the default transformer."""
    monkeypatch.setattr(transformers, "_default", transformer)
    return transformer


def parameter(values):
    return nv.parameter(nv.constant(values))


# -- proceed ---------------------------------------------------------------------------------------------------------


def test_proceed_computes_once(transformer):
    """T10: the graph goes on from what was computed; what exists is returned as it is."""
    calls = []
    x = nv.tensor([[1.0, 2.0]], axes="H=1, W=2")
    y = nv.proceed(nv.host_call(lambda array: calls.append(1) or array * 2, [x], like=x, effectful=False))
    assert y.facet is nv.Facet.EXIST and y.axes == x.axes and y.dtype is x.dtype and y is nv.proceed(y)
    assert (y + 1).tolist() == [[3.0, 5.0]] and y.tolist() == [[2.0, 4.0]] and len(calls) == 1
    assert nv.proceed(x) is x and nv.proceed([1, 2]).tolist() == [1.0, 2.0]
    assert nv.proceed(nv.argmax(x)).dtype is nv.argmax(x).dtype


def test_each_call_builds_what_it_computes_and_compiles_nothing_again(tmp_path, monkeypatch):
    """Q23."""
    own_cache = nv.flags.overriding(cache_directory=str(tmp_path), cache_executables=True)
    with transformers.make_transformer("cpu") as cpu, own_cache:
        monkeypatch.setattr(transformers, "_default", cpu)
        w, built = parameter([1.0, 2.0]), []
        loss, build = nv.sum(nv.exp(w * w)), cpu.build
        monkeypatch.setattr(cpu, "build", lambda function: built.append(function) or build(function))
        loss.backward()
        monkeypatch.setattr(compilation, "make_plan", lambda *_: pytest.fail("it compiles"))
        loss.backward()
        assert len(built) == 2 and built[0] is not built[1]


def test_derivatives_look_through_what_was_computed(transformer):
    """T11: to parameters and to the tensor itself; a second one, too."""
    w = parameter([1.0, 2.0])
    y = nv.proceed(w * w)
    loss = nv.sum(y * y)
    assert nv.deriv(loss, w).tolist() == [4.0, 32.0] and nv.deriv(loss, y).tolist() == [2.0, 8.0]
    assert nv.deriv(nv.sum(nv.deriv(loss, w)), w).tolist() == [12.0, 48.0]
    z = nv.proceed(nv.exp(nv.proceed(w * 0)) * w)
    nv.sum(z).backward()
    assert w.grad.tolist() == [1.0, 1.0] and loss.variables() == [w]


def test_the_derivative_of_random_numbers_is_of_those_drawn(transformer):
    """T11: the same elements are dropped."""
    w = nv.parameter(nv.ones((200,)))
    y = nv.proceed(nv.dropout(w * 3.0, 0.5))
    first = nv.deriv(nv.sum(y), w).tolist()
    assert first == y.tolist() and set(first) == {0.0, 6.0}
    assert nv.deriv(nv.sum(nv.proceed(y * 2)), w).tolist() == [2 * entry for entry in first]


def test_effects_below_happen_once(transformer):
    """T11: and derivatives end there."""
    w = parameter([1.0, 2.0])
    y = nv.proceed(nv.sequential([nv.assign(w, w + 1), w * w]))
    assert w.tolist() == [2.0, 3.0] and y.tolist() == [4.0, 9.0]
    assert nv.deriv(nv.sum(y * y), w).tolist() == [0.0, 0.0] and w.tolist() == [2.0, 3.0]


def test_what_was_computed_is_let_go():
    """T10: nothing but the tensor keeps it."""
    w = parameter([1.0])
    y = nv.proceed(w * 2)
    seen = weakref.ref(y.variable)
    del y
    gc.collect()
    assert seen() is None


def test_a_traced_function_has_no_numbers():
    """T12: the error names the function and says what to do."""
    for ask in (nv.proceed, lambda x: nv.mref(x, 0), nv.parameter, lambda x: nv.sum(x).backward()):
        with pytest.raises(WrongKind, match="while ask is traced|while <lambda> is traced") as caught:
            nv.jit(lambda x, ask=ask: ask(x * 2))(np.ones(2, np.float32))
        assert caught.value.help


@pytest.mark.parametrize("act", [
    nv.reset_grad, nv.call_optimizer, lambda w: w.storage, lambda w: setattr(w, "storage", np.ones(2, np.float32)),
    lambda w: w.set_mref(0, 5.0), lambda w: nv.sum(w).backward()], ids=range(6))
def test_nothing_is_written_while_a_function_is_traced(act):
    """T12: it would happen in its first call alone."""
    w = parameter([1.0, 2.0])
    nv.hook_optimizer(w, nv.optim.SGD(0.5))
    nv.sum(w * w).backward()
    with pytest.raises(WrongKind, match="is traced") as caught:
        nv.jit(lambda x: [act(w), x][1])(np.ones(2, np.float32))
    assert caught.value.help and w.tolist() == [1.0, 2.0] and w.grad.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("draw", [nv.randn, nv.rand])
def test_numbers_drawn_now(draw):
    """T14: one shape, or lengths; they stay; every call of a traced function draws anew."""
    for shape in ((3, 4), [3, 4], "H=3, W=4"):
        assert draw(shape).shape == (3, 4)
    x = draw(3, 4)
    assert x.shape == (3, 4) and x.tolist() == x.tolist() and x.facet is nv.Facet.EXIST and draw().shape == ()
    assert draw(5, dtype=nv.float64).dtype is nv.float64 and draw(2, requires_grad=True).requires_grad
    nv.seed(1)
    first = draw(5).tolist()
    nv.seed(1)
    assert draw(5).tolist() == first != draw(5).tolist()
    traced = nv.jit(lambda x: x + draw(5))
    assert traced(np.zeros(5, np.float32)).tolist() != traced(np.zeros(5, np.float32)).tolist()


def test_expressions_of_numbers_stay_expressions():
    """T14: zeros, ones, full and arange."""
    for x in (nv.zeros((2,)), nv.ones((2,)), nv.full((2,), 3), nv.arange(3)):
        assert x.facet is nv.Facet.INPUT and type(x) is nv.Tensor and nv.proceed(x).facet is nv.Facet.EXIST


# -- inputs ----------------------------------------------------------------------------------------------------------


def test_inputs_are_given_what_they_hold(transformer):
    """T13, T27: whatever computes uses it; the length may change."""
    x, w = nv.make_input(("a", 2), "x"), parameter([1.0, 2.0])
    y = nv.sum(x * w, axis=1)
    for length in (3, 1, 5, 2):
        hold(x, np.full((length, 2), length))
        assert y.tolist() == [3.0 * length] * length == nv.evaluate(y).tolist() == nv.proceed(y).tolist()
        nv.sum(y).backward()
        assert w.grad.tolist() == [length * length] * 2
    assert nv.evaluate([y, x])[1].tolist() == x.storage.tolist() == [[2.0, 2.0]] * 2


def test_an_input_without_a_value_is_named():
    """T13: as before, and a call with a value for it needs none."""
    x = nv.make_input((2,), "x")
    with pytest.raises(InvalidArgument, match="no value of its own") as caught:
        (x + 1).numpy()
    assert caught.value.operand == "x"
    assert nv.computation(x + 1, x)([1, 2]).tolist() == [2.0, 3.0]
    assert x.storage.tolist() == [0.0, 0.0] and (x + 1).tolist() == [1.0, 1.0]


def test_the_memory_of_an_input():
    """T22, T27: the same object afterwards; it grows, and is kept for shorter values."""
    x = nv.make_input(("a", 2), "x")
    with pytest.raises(InvalidArgument, match="lengths of this input are not known"):
        _ = x.storage
    array = np.ones((3, 2), np.float32)
    x.storage = array
    assert x.storage is array and (x * 2).tolist() == [[2.0, 2.0]] * 3
    array[0] = 7
    assert (x * 2)[0].tolist() == [14.0, 14.0]
    hold(x, np.zeros((2, 2)))
    assert np.shares_memory(x.storage, array) and x.storage.shape == (2, 2)
    hold(x, np.zeros((9, 2)))
    assert not np.shares_memory(x.storage, array) and x.storage is x.storage
    square = nv.make_input(("n", "n"), "square")
    for wrong in (np.ones((2, 3)), np.ones((2,))):
        with pytest.raises(ShapeMismatch):
            hold(square, wrong)


def test_an_input_has_the_shape_of_its_value():
    """T397: and strides; until it gets another. What is built with it has symbols, as before."""
    x = nv.make_input(("a", 10), "x")
    y = x * 2.0
    model = nv.build(nv.sum(y + x, axis=1))
    for length in (3, 5, 2):
        model.set_input("x", np.ones((length, 10)))
        assert model.get_input("x") is x
        assert (x.shape, x.strides, x.offset, x.orig_shape) == ((length, 10), (10, 1), 0, (length, 10))
        assert x.numel() == x.size == 10 * length and len(x) == length and x.order == "C"
        assert str(y.shape) == str((x + 1).shape) == str(x.type.shape) == "(a, 10)" and "f32[a, 10]" in repr(x)
        assert model.forward().tolist() == [30.0] * length
    turned = nv.make_input(("a", "b"), "t", order="F")
    turned.storage = np.asfortranarray(np.ones((4, 2), np.float32))
    assert (turned.shape, turned.strides, turned.order) == ((4, 2), (1, 4), "F")


BUILT = {
    "arithmetic": lambda x: x + 1.0 - x, "broadcast": lambda x: x * nv.ones((4,)), "reduced": lambda x: x - x.mean(0),
    "a slice": lambda x: x[1:, ::-1] + x[:-1], "joined": lambda x: nv.concatenate([x, x], 0),
    "stacked": lambda x: nv.stack([x, x], 0), "shaped": lambda x: x.reshape(-1, 2), "multiplied": lambda x: x @ x.T,
    "like it": lambda x: nv.zeros_like(x) + nv.ones_like(x) - x, "normalised": lambda x: nv.softmax(x, axis=1),
    "gathered": lambda x: nv.gather(x, nv.constant([0, 1], dtype=nv.int32), 0), "padded": lambda x: nv.pad(x, 1),
    "split": lambda x: nv.split(x, 2, axis=1)[0], "expanded": lambda x: nv.expand_dims(x, 0), "flat": nv.flatten,
    "squared": lambda x: nv.einsum("ij,kj->ik", x, x), "derived": lambda x: nv.deriv(nv.sum(x * x), x),
    "dense": nv.nn.Sequential(nv.nn.Linear(4, 4), nv.nn.ReLU())}


@pytest.mark.parametrize("name", BUILT)
def test_graphs_over_an_input_with_a_value_have_symbols(name):
    """T397: they are those over one without, and serve other lengths."""
    held, free = nv.make_input(("a", 4), "x"), nv.make_input(("a", 4), "x")
    hold(held, np.ones((3, 4)))
    y, z = BUILT[name](held), BUILT[name](free)
    assert str(y.type) == str(z.type)
    value = np.random.default_rng(1).normal(size=(6, 4)).astype(np.float32)
    expected = nv.computation(z, free)(value)
    hold(held, value)
    assert nv.computation(y, held)(value).tolist() == expected.tolist() == y.tolist()


def test_temporaries_have_memory_too():
    """T27: of several lengths."""
    t = nv.make_input(("n",), None)
    t.storage = np.float32([1, 2, 3])
    assert (t + 1).tolist() == [2.0, 3.0, 4.0]
    x = nv.make_input(("n",), "x")
    doubled = nv.computation(nv.sequential([nv.assign(t, x * 2), t + 1]), x)
    assert doubled([1, 2]).tolist() == [3.0, 5.0] and doubled([1]).tolist() == [3.0]


# -- storage ---------------------------------------------------------------------------------------------------------


def test_storage_is_live(transformer):
    """T19: both ways, the same object as long as somebody has it."""
    w = nv.tensor([1.0, 2.0, 3.0])
    double, step = nv.computation(w * 2), nv.computation([nv.assign(w, w + 1), nv.sum(w)])
    assert double().tolist() == [2.0, 4.0, 6.0]
    memory = w.storage
    assert memory is w.storage and memory.flags.writeable
    memory[0] = 10
    assert double().tolist() == [20.0, 4.0, 6.0] and w.tolist() == [10.0, 2.0, 3.0]
    for _ in range(3):
        step()
    assert memory.tolist() == [13.0, 5.0, 6.0] and memory is w.storage
    transformer.set(w, [7, 8, 9])
    assert memory.tolist() == [7.0, 8.0, 9.0]
    slice_of_it = memory[1:]
    del memory
    step()
    assert slice_of_it.tolist() == [9.0, 10.0]
    slice_of_it[:] = 0
    assert w.tolist() == [8.0, 0.0, 0.0]


@pytest.mark.parametrize("shape", [(64, 64), (512, 512)])
def test_what_is_written_into_a_storage_that_goes_is_read_by_the_next_call(transformer, shape):
    """T19: where products have packed a weight, too."""
    w, x, rows = nv.tensor(np.ones(shape, np.float32)), nv.make_input(("n", shape[0]), "x"), np.ones((3, shape[0]))
    run, across = nv.computation(nv.dot(x, w.T), x), nv.computation(nv.dot(x, w), x)
    for number in range(2, 5):
        w.storage[...] = number
        assert (run(rows) == number * shape[0]).all() and (across(rows) == number * shape[0]).all()
        held = w.storage
        run(rows)
        held[...] = number + 0.5
        del held
        assert (run(rows) == (number + 0.5) * shape[0]).all()
    w.storage = array = np.ones(shape, np.float32)
    run(rows)
    array[...] = 2.0
    del array
    assert (run(rows) == 2 * shape[0]).all()


def test_storage_of_views_constants_and_expressions():
    """T21: a view lies in the tensor below, a constant is read-only, what is computed has none."""
    w, c = nv.tensor([[1.0, 2.0], [3.0, 4.0]]), nv.constant([1.0, 2.0])
    assert w.T[1].storage is w.storage and c.storage.tolist() == [1.0, 2.0]
    assert nv.constant(3.0, axes="H=2").storage.tolist() == [3.0, 3.0]
    with pytest.raises(ValueError, match="read-only"):
        c.storage[0] = 5
    for computed in (w + 1, nv.pad(w, 1), w.T.reshape(-1)):
        with pytest.raises(InvalidArgument, match="what is computed has no storage") as caught:
            _ = computed.storage
        assert "nv.proceed(x)" in caught.value.help


def test_an_array_in_place_of_the_storage(transformer):
    """T22: it is used as it is; what does not fit changes nothing."""
    w = nv.variable((2, 2), 1.0)
    array = np.full((2, 2), 3, np.float32)
    w.storage = array
    assert w.storage is array and (w + 1).tolist() == [[4.0] * 2] * 2
    nv.evaluate(nv.assign(w, w * 2))
    assert array.tolist() == [[6.0] * 2] * 2
    part = np.zeros((4, 2), np.float32)
    w.storage = part[1:3]
    nv.evaluate(nv.assign(w, 5.0))
    nv.evaluate(nv.assign(w, w + 1))
    assert part.tolist() == [[0.0] * 2, [6.0] * 2, [6.0] * 2, [0.0] * 2]
    frozen = np.ones((2, 2), np.float32)
    frozen.flags.writeable = False
    for wrong, kind in ((np.ones((2, 2)), WrongKind), ([[1, 2], [3, 4]], WrongKind),
                        (np.ones((2, 3), np.float32), ShapeMismatch), (frozen, InvalidArgument),
                        (np.ones((2, 2), np.float32).T[::-1], InvalidArgument)):
        with pytest.raises(kind):
            w.storage = wrong
    for computed in (w + 1, w[0], nv.constant(1.0)):
        with pytest.raises(WrongKind, match="a storage to replace"):
            computed.storage = array
    assert w.tolist() == [[6.0] * 2] * 2


# -- single elements -------------------------------------------------------------------------------------------------


def test_elements_through_views(transformer):
    """T23: read and written, with negative indices, as NumPy's arrays are."""
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    x = nv.tensor(array)
    for view in (lambda t: t, lambda t: t.transpose(2, 0, 1), lambda t: t[:, 1:, ::-2], lambda t: t[1].T[::-1]):
        y, seen = view(x), view(array)
        for at in ((0,) * seen.ndim, (-1,) * seen.ndim):
            assert nv.mref(y, *at) == y.mref(*at) == seen[at]
            y.set_mref(*at, 100.0 + seen[at])
            seen[at] += 100
        assert x.tolist() == array.tolist()
    assert nv.mref(x + 1, 0, 0, 1) == array[0, 0, 1] + 1 and nv.mref(nv.constant([1, 2]), 1) == 2.0
    assert nv.mref(nv.make_tensor(3.0)) == 3.0


def test_a_set_element_is_a_new_version(transformer):
    """T20, T23: what was derived from the value before is not used again."""
    w, x = nv.variable((300, 200), 1.0), nv.placeholder((64, 300))
    product = nv.computation(x @ w, x)
    ones = np.ones((64, 300), np.float32)
    assert product(ones)[0, 0] == product(ones)[0, 0] == 300
    w.set_mref(5, 0, 11.0)
    assert product(ones)[0, 0] == 310 and product(ones)[0, 1] == 300
    memory = w.storage
    memory[6, 1] = 21
    assert product(ones)[0, 1] == 320
    memory[6, 1] = 31
    assert product(ones)[0, 1] == 330 == product(ones)[0, 1]


def test_elements_of_inputs():
    """T23, T27: within the lengths that they have now."""
    x = nv.make_input(("a", 2), "x")
    hold(x, [[1, 2], [3, 4], [5, 6]])
    assert nv.mref(x, 2, 1) == 6.0 and nv.mref(x, -1, 0) == 5.0 and nv.mref(x.T, 1, -3) == 2.0
    x.set_mref(-1, 0, 9.0)
    assert x.storage[2, 0] == 9.0
    with pytest.raises(IndexOutOfRange):
        nv.mref(x, 3, 0)


@pytest.mark.parametrize(("call", "kind"), [
    (lambda w: nv.mref(w, 2, 0), IndexOutOfRange), (lambda w: nv.mref(w, 0), IndexOutOfRange),
    (lambda w: nv.mref(w, 0, -3), IndexOutOfRange), (lambda w: nv.mref(w, 0.5, 0), WrongKind),
    (lambda w: nv.mref(w + 1, 2, 0), IndexOutOfRange), (lambda w: w.set_mref(2, 0, 1.0), IndexOutOfRange),
    (lambda w: w.set_mref(0, 0), IndexOutOfRange), (lambda w: w.set_mref(), WrongKind),
    (lambda w: w.set_mref(0, 0, [1.0, 2.0]), ShapeMismatch), (lambda w: w.set_mref(0, 0, "x"), WrongKind),
    (lambda w: w.set_mref(0, 0, 1j), WrongKind), (lambda w: (w + 1).set_mref(0, 0, 1.0), WrongKind),
    (lambda w: nv.constant([[1.0]]).set_mref(0, 0, 1.0), WrongKind)], ids=range(13))
def test_elements_that_there_are_not(call, kind):
    """T23: an error, and nothing is changed."""
    w = nv.tensor([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(kind) as caught:
        call(w)
    assert isinstance(caught.value, NervureError) and caught.value.location.file == __file__
    assert w.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_the_elements_of_a_constant_are_read_without_a_program_and_are_the_caller_s(monkeypatch):
    given = np.ones((2, 3), np.float32)
    x = nv.constant(given)
    monkeypatch.setattr(sys.modules["nervure.computation"], "build_function", None)
    array = x.numpy()
    array[0, 0] = 5
    assert x.tolist() == given.tolist() and array[0, 0] == 5
