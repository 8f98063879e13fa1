"""Operands of every public function take place from the left, as its examples call it."""

import contextlib
import doctest
import importlib
import inspect
import io
import itertools
from operator import attrgetter

import numpy as np
import pytest

import nervure as nv
from nervure.front import pytrees

ROOMS = ["", "fft", "linalg", "nn.losses", "random", "special"]
NOT_CALLED_ALONE = {
    "assign": "an effect has no value", "set_item": "an effect has no value", "fill": "an effect has no value",
    "deriv": "its operands are what it derives by, and no values", "grad": "takes a function",
}


def room(name):
    return attrgetter(name)(nv) if name else nv


def takes_tensors(parameter):
    return any(kind in str(parameter.annotation) for kind in ("Tensor", "Operand"))


def functions():
    """``room.name`` of each public function of two or more tensors."""
    for folder in ROOMS:
        for name in dir(room(folder)):
            function = getattr(room(folder), name)
            if (name[0] != "_" and inspect.isfunction(function) and function.__module__.startswith("nervure.")
                    and name not in NOT_CALLED_ALONE):
                taken = [each for each in inspect.signature(function).parameters.values() if takes_tensors(each)]
                if len(taken) > 1 or any(each.kind is each.VAR_POSITIONAL or "Sequence" in str(each.annotation)
                                         for each in taken):
                    yield f"{folder}.{name}".lstrip(".")


class Room:
    """A module in whose place an example finds a function that takes down its calls."""

    def __init__(self, module, path, function):
        self.module, self.path, self.function = module, path, function

    def __getattr__(self, name):
        first, *rest = self.path
        if name != first:
            return getattr(self.module, name)
        return Room(getattr(self.module, name), rest, self.function) if rest else self.function


def calls_in_the_examples(name):
    """The arguments of each call in the docstring of a function, by the names of its parameters."""
    function, calls = attrgetter(name)(nv), []

    def noted(*given, **named):
        calls.append(inspect.signature(function).bind(*given, **named))
        return function(*given, **named)

    names = vars(importlib.import_module(inspect.unwrap(function).__module__)) | {
        "nv": Room(nv, name.split("."), noted), "np": np}
    for example in doctest.DocTestParser().get_examples(function.__doc__):
        if not example.source.startswith("import"):
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
                exec(compile(example.source, name, "single"), names)
    return calls


def as_operand(value):
    """A float, an array or a list as a tensor; None if it is something else, such as a number of bins."""
    if isinstance(value, nv.Tensor):
        return value
    if isinstance(value, (int, str, dict)) or value is None or callable(value):
        return None
    with contextlib.suppress(Exception):
        array = np.asarray(value)
        if array.dtype.kind in "biufc" and array.size:
            return nv.constant(array.astype(np.float32) if array.dtype.kind == "f" else array)
    return None


def operands_of(call):
    """The operands in a call: a list of (parameter, position in its list or None, tensor)."""
    found = []
    for name, value in call.arguments.items():
        parameter = call.signature.parameters[name]
        if takes_tensors(parameter):
            many = parameter.kind is parameter.VAR_POSITIONAL or isinstance(value, (list, tuple)) and any(
                isinstance(entry, (nv.Tensor, np.ndarray)) for entry in value)
            found += [(name, at, as_operand(entry)) for at, entry in enumerate(value)] if many else [
                (name, None, as_operand(value))]
    return [entry for entry in found if entry[2] is not None]


def run(call, function, *replaced):
    """The results of a call with other operands, computed by the interpreter."""
    arguments = dict(call.arguments)
    for (name, at, _), tensor in replaced:
        if at is None:
            arguments[name] = tensor
        else:
            arguments[name] = type(arguments[name])([*arguments[name][:at], tensor, *arguments[name][at + 1:]])
    bound = inspect.BoundArguments(call.signature, arguments)
    nv.seed(3)
    leaves, _ = pytrees.flatten(function(*bound.args, **bound.kwargs))
    results = [leaf for leaf in leaves if isinstance(leaf, nv.Tensor)]
    with nv.transformers.make_transformer("interpreter") as transformer:
        return transformer.computation(results)()


def another(value):
    """Other numbers of the same kind: those of the last axis in reverse, some of them moved."""
    kind, turned = value.dtype.kind, value[..., ::-1] if value.ndim else value
    return {"f": lambda: turned * 0.75 + 0.125, "c": lambda: turned * 0.5, "b": lambda: ~turned}.get(
        kind, lambda: turned + (value.size < 2))().astype(value.dtype)


def check(call, function, plain, moved, is_first):
    """Fails unless a variable in place of the operand ``plain`` is read in its turn, where ``moved`` assigns it."""
    value = plain[2].numpy()
    new = another(value)
    axes = plain[2].axes if plain[2].is_named else value.shape

    def variable(numbers):
        return nv.variable(axes, numbers, dtype=plain[2].dtype)
    place = variable(value)
    held = nv.sequential([nv.assign(place, new), moved[2]])
    try:
        wanted = run(call, function, (plain, variable(value if is_first else new)), (moved, moved[2]))
        results = run(call, function, (plain, place), (moved, held))
    except nv.NervureError:
        return  # other numbers, or a number that is not known when the call is made, do not fit
    for got, expected in zip(results, wanted, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", list(functions()))
def test_operands_of_a_function_take_place_from_the_left(name):
    """A270: whichever operand assigns a variable that another one is, from the left or from the right."""
    function = attrgetter(name)(nv)
    for call in calls_in_the_examples(name)[:1]:
        operands = operands_of(call)
        for plain, moved in itertools.permutations(range(len(operands)), 2):
            check(call, function, operands[plain], operands[moved], plain < moved)


@pytest.mark.parametrize("compare", [lambda v, x: v < x, lambda v, x: x > v, lambda v, x: x == v, lambda v, x: v != x])
def test_comparisons_with_what_assigns_a_side_are_refused(compare):
    """A270: Python asks v for both v < x and x > v, so that no order follows."""
    v = nv.variable((2,), [1.0, 3.0])
    moved = nv.sequential([nv.assign(v, v + 1), nv.constant([2.5, 2.5])])
    with pytest.raises(nv.InvalidArgument, match="which side comes first") as error:
        compare(v, moved)
    assert "test_evaluation_order.py" in str(error.value)
    assert compare(v, nv.constant([1.0, 1.0])).shape == (2,)
    assert nv.evaluate(nv.less(v, moved)).tolist() == [True, False]
    assert nv.evaluate(nv.greater(moved, v)).tolist() == [False, False]


def test_derivatives_of_what_comes_behind(transformer):
    """A270, A271: the order changes no derivative, and places that were frozen are those that deriv knows."""
    v, w = nv.variable((), 2.0), nv.variable((), 3.0)
    y = nv.nn.losses.mean_squared_error(v, nv.sequential([nv.assign(v, 5.0), w * w]))
    assert [each.item() for each in transformer.computation([y, *nv.deriv(y, [v, w])])()] == [49.0, -14.0, 84.0]
