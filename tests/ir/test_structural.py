"""Structural equality: what it ignores, what it tells apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from nervure import ops
from nervure.ir.function import Assumption, Function
from nervure.ir.printer import print_function
from nervure.ir.structural import difference, equal, fingerprint
from nervure.ir.variable import Variable
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import dim
from nervure.types.dtype import float32, int32
from tests.ir.functions import EXAMPLES, LONG, Apply, chain, functions


def parameter(*shape, dtype=float32):
    return ops.Parameter(dtype, shape)


def unary(build, *shape):
    x = parameter(*(shape or (2,)))
    return Function([build(x)], [x])


def variable(*shape, **options):
    return Variable(BasicTensorDescription(float32, shape), **options)


@pytest.mark.parametrize("name", EXAMPLES)
def test_two_builds_of_one_function_are_equal(name):
    first, second = EXAMPLES[name](), EXAMPLES[name]()
    assert equal(first, second) and fingerprint(first) == fingerprint(second) and difference(first, second) is None


@given(functions())
def test_names_and_labels_mean_nothing(function):
    before = fingerprint(function)
    for op in function.operations:
        op.name = None
        for value in op.outputs:
            value.labels = None
    other = Function(function.results, function.parameters, function.updates, function.effects, function.assumptions,
                     "other")
    assert fingerprint(other) == before


def different_pairs():
    x, y = parameter(2), parameter(2)
    one, other, third = variable(2), variable(2), variable(3)
    read = ops.ReadVariable(variable=one)
    condition = ops.Less(x, y)
    guards = [ops.Guard(condition, message=text) for text in "ab"]
    body = Function([x], [x])
    return {
        "op": (unary(lambda x: x + x), unary(lambda x: x * x)),
        "attribute": (unary(lambda x: x + 1.0), unary(lambda x: x + 2.0)),
        "sign of zero": (unary(lambda x: x + 0.0), unary(lambda x: x + -0.0)),
        "sharing": (unary(lambda x: _twice(x + x)), unary(lambda x: (x + x) * (x + x))),
        "operand order": (Function([x - y], [x, y]), Function([y - x], [x, y])),
        "parameter order": (Function([x - y], [x, y]), Function([x - y], [y, x])),
        "number of parameters": (Function([x], [x]), Function([x], [x, y])),
        "type": (unary(lambda x: x, 2), unary(lambda x: x, 3)),
        "element type": (Function([], [parameter(2)]), Function([], [parameter(2, dtype=int32)])),
        "symbol": (unary(lambda x: x, dim("N")), unary(lambda x: x, dim("M"))),
        "bounds": (unary(lambda x: x, dim("N")), unary(lambda x: x, dim("N", min=1))),
        "results": (Function([x, y], [x, y]), Function([y, x], [x, y])),
        "effects": (Function([], [x, y], effects=guards), Function([], [x, y], effects=guards[::-1])),
        "updates": (Function([], [x], {one: x}), Function([x], [x])),
        "read and updated variable": (Function([], [], {one: read}), Function([], [], {other: read})),
        "variable type": (Function([ops.ReadVariable(variable=one)]), Function([ops.ReadVariable(variable=third)])),
        "assumption": (Function([], [x]), Function([], [x], assumptions=[Assumption(dim("N"), 2, "f", None)])),
        "array": (Function([ops.Constant(np.zeros(99))]), Function([ops.Constant(np.arange(99.0))])),
        "type of an array": (Function([ops.Constant(np.zeros(99))]), Function([ops.Constant(np.zeros(99, np.int64))])),
        "held function": (unary(lambda x: Apply(x, body=body)), unary(lambda x: Apply(x, body=unary(_twice)))),
        "host function": tuple(unary(lambda x: ops.HostCall(x, function=lambda array: array, types=[x.type]))
                               for _ in range(2)),
    }


def _twice(value):
    return value * value


@pytest.mark.parametrize("what", different_pairs())
def test_what_differs(what):
    left, right = different_pairs()[what]
    assert not equal(left, right) and fingerprint(left) != fingerprint(right)
    assert difference(left, right).startswith("line ")


def test_variables_are_known_by_their_first_use():
    def step(*variables):
        reads = [ops.ReadVariable(variable=entry) for entry in variables]
        return Function([reads[0] - reads[1]], [], {variables[1]: reads[0]})

    first, second = variable(2, name="a"), variable(2, name="b")
    assert equal(step(first, second), step(second, first))


def test_arrays_are_compared_by_their_bits():
    array = np.arange(100, dtype=np.float32).reshape(10, 10)
    same = [Function([ops.Constant(entry)]) for entry in (array, array.T.copy().T, array.astype(">f4"))]
    assert len({fingerprint(function) for function in same}) == 1
    nan = np.array([np.nan]).view(np.uint64)
    assert not equal(*[Function([ops.Constant(bits.view(np.float64))]) for bits in (nan, nan + 1)])


def test_one_host_function_is_itself():
    def call(function):
        return unary(lambda x: ops.HostCall(x, function=function, types=[x.type]))

    def negated(array):
        return -array

    class Unhashable:
        __hash__ = None

        def __call__(self, array):
            return array

    assert equal(call(negated), call(negated))
    assert not equal(call(Unhashable()), call(Unhashable()))
    assert not equal(call(np.sin), call(np.sin))  # it cannot be remembered, so it is not trusted


def test_a_function_that_is_held_twice_costs_once():
    x = parameter()
    function = Function([x * x], [x])
    for _ in range(200):  # 2**200 calls if each holder compared on its own
        y = parameter()
        function = Function([Apply(Apply(y, body=function), body=function)], [y])
    assert print_function(function).count("function ") == 201
    assert len(fingerprint(function)) == 64


def test_a_long_chain():
    left, right = chain(LONG), chain(LONG)
    assert equal(left, right)
    assert difference(left, chain(LONG + 2)).startswith(
        f"line {LONG + 3}: return %{LONG} is not f32[2, 3] %{LONG + 1} = Add")
