"""Functions of arrays: tracing, specialisation, nested arguments, derivatives."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import pickle
from collections import deque
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

import nervure as nv

F32 = np.float32


class Pair(NamedTuple):
    left: object
    right: object


@dataclasses.dataclass
class Layer:
    weights: object
    bias: object
    name: str = "layer"


def test_it_computes_and_traces_once_per_types_and_shapes():
    traced = []

    @nv.jit
    def double(x):
        traced.append(x.shape)
        return x + x

    assert double(np.ones(3, F32)).tolist() == [2.0] * 3
    assert double(np.full(3, 2, F32)).tolist() == [4.0] * 3
    assert double(np.ones((2, 1), np.int32)).dtype == np.int32
    assert traced == [(3,), (2, 1)]
    assert double.specialisations == ["f32[3]", "i32[2, 1]"]


def test_a_call_walks_once_over_the_graph_of_a_tensor(monkeypatch):
    """What the tensor needs is found on the way; a variable has its value without a walk."""
    module = importlib.import_module("nervure.computation")
    walks, walk, double, weights = [], module.postorder, nv.jit(lambda x: x + x), nv.variable((2,), 3.0)
    assert double(weights).tolist() == [6, 6]
    monkeypatch.setattr(module, "postorder", lambda *arguments: walks.append(arguments) or walk(*arguments))
    assert double(weights).tolist() == [6, 6] and len(walks) == 1


def test_dynamic_lengths_stay_symbolic():
    @nv.jit(dynamic={"x": {0: "n"}, "y": {0: "n"}})
    def scaled(x, y):
        return x * y + nv.sum(x)

    for length in (1, 4, 7):
        x = np.arange(length, dtype=F32)
        np.testing.assert_allclose(scaled(x, x), x * x + x.sum())
    assert scaled.specialisations == ["f32[n], f32[n]"]
    with pytest.raises(ValueError, match="n"):
        scaled(np.ones(3, F32), np.ones(4, F32))


def test_dynamic_axis_names():
    @nv.jit(dynamic="N")
    def mean(x):
        return nv.mean(x, out_axes="N")

    for length in (2, 5):
        x = nv.ones({"N": length, "H": 3})
        assert mean(x).tolist() == [1.0] * length
    assert mean.specialisations == ["f32[N, 3]"]


@pytest.mark.parametrize("dynamic", [
    nv.axis("N"), [nv.axis("N", 9)], nv.make_axes("N=9"), {nv.axis("N", 9)}, {"x": nv.axis("N", 9)}, {"x": ["N"]},
    {"x": {"N": "N"}}, {"x": {0: "N"}}, {"x": {-2: "N"}}], ids=str)
def test_ways_to_say_which_lengths_are_dynamic(dynamic):
    double = nv.jit(lambda x: x * 2, dynamic=dynamic)
    for length in (2, 5, 0):
        assert double(nv.ones({"N": length, "H": 3})).shape == (length, 3)
    assert double.specialisations == ["f32[N, 3]"]


@pytest.mark.parametrize("dynamic", [0, [0], 1.5, True, None, print, {"x": 1.5}, {"x": True}, {"x": {0: 5}},
                                     {"x": {0.5: "n"}}, {"x": {None: "n"}}, {"x": 3}, {"x": -3}, {"x": "N"},
                                     {"x": {"x": "n"}}], ids=repr)
def test_what_dynamic_does_not_take(dynamic):
    """T411: one message, when it is given or, for what its argument does not have, at the call."""
    with pytest.raises(nv.InvalidArgument, match="dynamic names the lengths of arguments that stay symbolic") as caught:
        nv.jit(lambda x: x * 2, dynamic=dynamic)(np.ones((2, 3), F32))
    assert caught.value.operand == "dynamic" and "{argument: {position: symbol}}" in caught.value.expected
    assert caught.value.location.file == __file__


def test_dynamic_places_that_one_array_of_an_argument_has():
    """T411: of several, such as parameters, one has to have it."""
    double = nv.jit(lambda x: x[0] * 2, dynamic={"x": 1})
    assert double([np.ones((2, 3), F32), np.ones(4, F32)]).shape == (2, 3)


def test_dynamic_positions_from_the_end():
    double = nv.jit(lambda x: x * 2, dynamic={"x": -1})
    assert [double(np.ones((2, length), F32)).shape for length in (3, 4)] == [(2, 3), (2, 4)]
    assert double.specialisations == ["f32[2, x_end1]"]


def test_flattened_axes_of_other_parts_are_compiled_anew():
    @nv.jit
    def parts(x):
        return nv.unflatten(x)

    for shape in ((2, 6), (3, 4)):
        x = nv.flatten(nv.constant(np.ones(shape), axes={"H": shape[0], "W": shape[1]}))
        assert parts(x).shape == shape


def test_nested_arguments_and_results():
    @nv.jit
    def apply(layer, inputs, *, scale):
        y = nv.dot(inputs["x"], layer.weights) + layer.bias
        return {"y": Pair(y * scale, [y, 7]), "name": layer.name, "nothing": None}

    layer = Layer(np.ones((2, 3), F32), np.ones(3, F32))
    result = apply(layer, {"x": np.ones((1, 2), F32)}, scale=2.0)
    assert result["y"].left.tolist() == [[6.0] * 3] and result["y"].right[0].tolist() == [[3.0] * 3]
    assert (result["y"].right[1], result["name"], result["nothing"]) == (7, "layer", None)
    assert isinstance(result["y"], Pair)

    remade = nv.jit(lambda layer: Layer(layer.weights * 2, layer.bias, layer.name))(layer)
    assert isinstance(remade, Layer) and remade.weights.tolist() == [[2.0] * 3] * 2


def test_numbers_are_traced_and_static_arguments_are_not():
    traced = []

    @nv.jit(static="axis")
    def total(x, axis, scale):
        traced.append(axis)
        return nv.sum(x, axis=axis) * scale

    x = np.ones((2, 3), F32)
    assert total(x, 0, 2.0).tolist() == [4.0] * 3
    assert total(x, 1, 3.0).tolist() == [9.0] * 2
    assert total(x, 1, 4.0).tolist() == [12.0] * 2
    assert traced == [0, 1]


CHANGED = {
    "array": (lambda: np.ones(3), lambda value: value.fill(7)), "set": (lambda: {1}, lambda value: value.add(2)),
    "object": (lambda: np.array([1, "a"], object), lambda value: value.fill(7)),
    "bytes": (lambda: bytearray(b"a"), lambda value: value.append(1)),
    "deque": (lambda: deque([1]), lambda value: value.append(1)),
    "masked": (lambda: np.ma.masked_array([1.0, 2.0], [0, 1]), lambda value: value.fill(7))}


@pytest.mark.parametrize("name", CHANGED)
def test_results_that_are_no_tensors_have_memory_of_their_own(name, transformer):
    """A223: neither a caller who changes one, nor what the function read, changes those of later calls."""
    make, change = CHANGED[name]
    around = make()
    function = nv.jit(lambda x: (x * 2, around, [make()]), transformer=transformer)
    for _ in range(3):
        _, outer, (inner,) = function(np.arange(3))
        assert type(outer) is type(inner) is type(around) and repr(outer) == repr(inner) == repr(make())
        assert outer is not around and outer is not inner
        change(outer)
        change(inner)
    change(around)
    assert repr(function(np.arange(3))[1]) == repr(make())


def test_a_static_value_that_is_a_result_is_the_one_of_the_call(transformer):
    """A265: not that of the first call, which may have changed since."""
    function = nv.jit(lambda x, table, names: (x + 1, table, [names, table["k"]]), static=["table", "names"],
                      transformer=transformer)
    first, second = [({"k": np.float32([1, 2])}, {"a"}) for _ in range(2)]
    assert function(np.arange(3), *first)[1]["k"] is first[0]["k"]
    first[0]["k"][:] = 9
    first[1].add("b")
    _, table, (names, again) = function(np.arange(3), *second)
    assert table["k"] is again is second[0]["k"] and again.tolist() == [1, 2] and names is second[1]
    assert len(function.specialisations) == 1
    program, arrays = function.specialised(np.arange(3), *second)
    second[0]["k"][:] = 9
    assert program(*arrays)[1]["k"].tolist() == [1, 2]


def test_wrong_use_is_explained():
    with pytest.raises(TypeError, match="takes a function"):
        nv.jit(3)
    with pytest.raises(ValueError, match="no argument y"):
        nv.jit(lambda x: x, static="y")
    with pytest.raises(TypeError, match="missing a required argument"):
        nv.jit(lambda x: x)()
    with pytest.raises(TypeError, match="must give one tensor"):
        nv.grad(lambda x: 3.0)(np.ones(2, F32))
    with pytest.raises(ValueError, match="not a scalar"):
        nv.grad(lambda x: x * x)(np.ones(2, F32))
    with pytest.raises(TypeError, match="arguments of floats"):
        nv.grad(lambda x: nv.sum(x))(np.ones(2, np.int32))
    with pytest.raises(ValueError, match="no argument"):
        nv.grad(lambda x: nv.sum(x), 3)


def test_gradients_of_arrays_and_of_tensors():
    def f(x, y):
        return nv.sum(x * x * y)

    x, y = np.arange(3, dtype=F32), np.full(3, 2, F32)
    assert nv.grad(f)(x, y).tolist() == [0.0, 4.0, 8.0]
    dx, dy = nv.grad(f, (0, "y"))(x, y)
    assert dx.tolist() == [0.0, 4.0, 8.0] and dy.tolist() == [0.0, 1.0, 4.0]
    value, gradient = nv.value_and_grad(f, 1)(x, y)
    assert value == 10.0 and gradient.tolist() == [0.0, 1.0, 4.0]
    hessian_row = nv.grad(lambda x: nv.sum(nv.grad(f)(x, nv.constant(y))))(x)
    assert hessian_row.tolist() == [4.0] * 3
    assert nv.jit(lambda x: nv.grad(f)(x, x))(x).tolist() == (2 * x * x).tolist()


@pytest.mark.parametrize("function", [nv.jit, nv.grad])
def test_a_function_that_reads_a_placeholder_extends_its_graph(function):
    x, given = nv.placeholder((3,)), np.float32([1, 2, 3])
    compute = nv.computation(function(lambda y: nv.sum(y * y * x))(np.float32(2)), x)
    assert [compute(given).item(), compute(given + 1).item()] == [24.0, 36.0]  # sums of 4 x, and of 2 * 2 x
    with pytest.raises(nv.InvalidArgument, match="not among its arguments"):
        nv.explain(nv.jit(lambda y: y * x), given)


@pytest.mark.parametrize("function", [nv.jit, nv.grad])
def test_a_function_of_a_length_extends_its_graph(function):
    """The length has a value when a call comes: that of an argument, or one that the function reads."""
    x, given = nv.placeholder((nv.dim("n"),)), np.float32([1, 2, 3])
    twos = nv.full(x.shape, 2.0)
    argument, inside = function(lambda y: nv.sum(y * y))(twos), function(lambda y: nv.sum(y * y * twos))(np.float32(2))
    compute = nv.computation([nv.sum(argument), inside], x)
    assert [entry.item() for entry in compute(given)] == [12.0, 24.0]
    with pytest.raises(nv.InvalidArgument, match="a length that no argument has"):
        nv.explain(nv.jit(lambda y: y * twos), given)


def test_a_gradient_counts_its_argument_alone():
    w = nv.variable((), 3.0)
    product = nv.grad(lambda v: v * w)
    assert product(w).item() == 3.0


def test_gradients_of_nested_arguments():
    def loss(parameters, x):
        return nv.mean(nv.square(nv.dot(x, parameters["w"]) + parameters["b"][0]))

    parameters = {"w": np.ones(2, F32), "b": [np.float32(1)]}
    gradient = nv.grad(loss)(parameters, np.ones((4, 2), F32))
    assert gradient["w"].tolist() == [6.0, 6.0] and gradient["b"][0].item() == 6.0


def test_updates_inside_are_returned_effects():
    count = nv.persistent_tensor((), 0.0)
    with nv.transformers.make_transformer("interpreter") as transformer:
        step = nv.jit(lambda x: (x + count, nv.assign(count, count + 1)), transformer=transformer)
        results = [step(np.float32(10))[0].item() for _ in range(3)]
    assert results == [10.0, 11.0, 12.0]


def test_a_custom_derivative_with_several_results():
    @nv.custom_vjp
    def both(x, y):
        return x * y, x + y

    @both.defvjp
    def _(gradients, x, y):
        return gradients[0] * 10.0, gradients[1] * 100.0

    x, y = nv.variable((2,), 2.0), nv.variable((2,), 3.0)
    product, total = both(x, y)
    loss = nv.sum(product * product + total)
    assert loss.item() == 2 * (36.0 + 5.0)
    assert nv.deriv(loss, x).tolist() == [120.0] * 2 and nv.deriv(loss, y).tolist() == [100.0] * 2


def test_a_custom_derivative_is_checked():
    function = nv.custom_vjp(lambda x: x * 2)
    x = nv.variable((2,), 1.0)
    with pytest.raises(ValueError, match="no derivative has been declared"):
        function(x)
    wrong_count = nv.custom_vjp(lambda x: x * 2, lambda gradient, x: (gradient, gradient))
    with pytest.raises(ValueError, match="one gradient an operand"):
        nv.deriv(nv.sum(wrong_count(x)), x)
    wrong_type = nv.custom_vjp(lambda x: x * 2, lambda gradient, x: nv.sum(gradient))
    with pytest.raises(ValueError, match="operand's type"):
        nv.deriv(nv.sum(wrong_type(x)), x)


def test_the_gradient_of_a_custom_derivative_goes_by_names():
    x = nv.variable("H=2, W=2", np.float32([[1, 2], [3, 4]]))
    weights = nv.constant([[5.0, 6.0], [7.0, 8.0]], axes="W=2, H=2")
    turned = nv.custom_vjp(lambda x: x * weights, lambda gradient, x: weights * gradient)
    assert nv.deriv(nv.sum(turned(x)), x).tolist() == [[5.0, 7.0], [6.0, 8.0]]
    renamed = nv.custom_vjp(lambda x: x * 2, lambda gradient, x: nv.zeros("H=2, K=2"))
    with pytest.raises(nv.AxisMismatch):
        nv.deriv(nv.sum(renamed(x)), x)


def test_containers_that_hold_themselves_are_refused():
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="nested more than"):
        nv.jit(lambda x: x)(endless)


# -- kept by other libraries ------------------------------------------------------------------------------------------


@nv.jit
def doubled(x):
    return x * 2


def test_a_copy_of_a_jitted_function_is_the_function():
    """P4: as of any function."""
    assert copy.copy(doubled) is doubled and copy.deepcopy([doubled])[0] is doubled


def test_a_jitted_function_of_a_module_pickles_by_its_name():
    """P4: not the function below it."""
    assert pickle.loads(pickle.dumps(doubled)) is doubled


def test_a_jitted_function_without_a_name_of_its_own_is_kept_with_its_options(cloudpickle):
    """P4: what was compiled stays behind."""
    function = nv.jit(lambda x, times: x * times, dynamic={"x": 0}, static="times")
    again = pickle.loads(cloudpickle.dumps(function))
    assert again(np.ones(2, np.float32), 3).tolist() == [3, 3]
    assert again(np.ones(4, np.float32), 3).tolist() == [3] * 4
    assert again.specialisations == ["f32[x_0]"]


def test_a_jitted_function_with_a_transformer_stays_where_it_is():
    """P4: its variables would stay behind."""
    with nv.transformers.make_transformer("interpreter") as transformer:
        with pytest.raises(nv.WrongKind, match="cannot be pickled"):
            pickle.dumps(nv.jit(abs, transformer=transformer))


class Model:
    def __init__(self, factor):
        self.factor = factor

    @nv.jit
    def scaled(self, x):
        """x times the factor."""
        return x * self.factor


def test_a_jitted_method_is_a_method():
    """P4: bound to its instance, which is part of what is compiled."""
    two, three = Model(2.0), Model(3.0)
    assert two.scaled(np.ones(2)).tolist() == [2, 2] and three.scaled(np.ones(2)).tolist() == [3, 3]
    assert Model.scaled(two, np.ones(1)).tolist() == [2] and len(Model.scaled.specialisations) == 3
    assert pickle.loads(pickle.dumps(Model.scaled)) is Model.scaled


@nv.custom_vjp
def clipped(x):
    return nv.clip(x, -1, 1)


def test_a_function_with_a_derivative_of_its_own_pickles_by_its_name(cloudpickle):
    """P4: as a jitted one does."""
    assert pickle.loads(pickle.dumps(clipped)) is clipped
    made = nv.custom_vjp(lambda x: x * 2, lambda gradient, x: gradient)
    assert pickle.loads(cloudpickle.dumps(made))(nv.constant([1.0])).tolist() == [2]


class HeldInSlot:
    """An object without a dict."""

    __slots__ = ("y",)

    def __init__(self, y):
        self.y = y


@pytest.mark.parametrize("hold", [
    lambda y: deque([1, y]), lambda y: SimpleNamespace(y=y), lambda y: SimpleNamespace(y=[{"z": y}]), HeldInSlot,
    lambda y: {"y": y}.values(), lambda y: {y} if isinstance(y, nv.Tensor) else deque([y]),
    lambda y: HeldInSlot(deque([HeldInSlot(y)]))])
@pytest.mark.parametrize("make", [lambda a, n: a * 2, lambda a, n: n + 1])
def test_a_result_that_holds_tensors_of_the_trace_is_refused(hold, make):
    """A263: tensors are found in dicts, lists, tuples and dataclasses alone."""
    with pytest.raises(nv.WrongKind, match="holds what has no value while it is traced") as caught:
        nv.jit(lambda a, n: {"first": a, "held": [hold(make(a, n))]})(np.float32([1, 2]), 3)
    assert caught.value.operand == "result['held'][0]"


def test_objects_without_tensors_of_the_trace_are_results():
    """A263: those that exist, or that a call brings."""
    layer, w, itself = nv.nn.LinearLayer("F=2", "G=2"), nv.variable((), 1.0), SimpleNamespace()
    itself.itself, itself.function = itself, nv.jit(lambda a: a + 1)
    itself.function(F32(1))
    x = np.float32([1, 2])
    found = nv.jit(lambda a: (a * 2, layer, SimpleNamespace(w=w), itself, {1, 2}, np.float32))(x)
    assert found[1] is layer and found[2].w is w and found[3] is itself and found[4:] == ({1, 2}, np.float32)
    given = SimpleNamespace(x=x)
    assert nv.jit(lambda a, given: (a, given))(x, given)[1] is given


def yields(x):
    yield x + 1.0


async def awaits(x):
    return x + 1.0


async def yields_later(x):
    yield x + 1.0


@pytest.mark.parametrize(("function", "operand", "help"), [
    (yields, "result", "a list of all values"),
    (lambda x: {"a": [(x + i for i in range(2))]}, "result['a'][0]", "a list"),
    (lambda x: map(abs, [x]), "result", "list"), (awaits, "result", "without async"),
    (yields_later, "result", "without async")])
def test_results_that_are_computed_later_are_errors(function, operand, help):
    """A generator would compute with placeholders of a trace that has ended."""
    with pytest.raises(nv.WrongKind, match="only after the function was traced") as caught:
        nv.jit(function)(np.float32([1, 2]))
    assert caught.value.operand == operand and help in caught.value.help and caught.value.op == function.__name__
    assert nv.jit(lambda x: list(yields(x)))(np.float32([1, 2]))[0].tolist() == [2.0, 3.0]
