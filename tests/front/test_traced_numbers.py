"""Numbers that a traced function is given: as weak as outside. The numbers are claims of docs/axes.md."""

from __future__ import annotations

import dataclasses
import enum
import math
import operator
import warnings

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nervure as nv

DTYPES = [np.bool_, np.int8, np.int32, np.uint8, np.int64, np.float16, ml_dtypes.bfloat16, np.float32, np.float64,
          np.complex64]
NUMBERS = [2, -3, 0.5, -1.25, 1e-3, 1j, True, False, np.float32(0.1), np.float64(0.1), np.float16(1.5), np.int8(100),
           np.uint8(3), np.bool_(True), np.complex64(1 - 1j), 0, 0.0, 10**30]
OPERATIONS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
              operator.gt, operator.le, nv.add, nv.multiply, nv.maximum, nv.divide,
              lambda a, b: nv.where(nv.greater(a, 0), a, b), lambda a, b: nv.sum(a) + b, lambda a, b: -a + abs(b)]
LEAVES = st.sampled_from(["x", "first", "second", 3, 0.25])
TREES = st.recursive(LEAVES, lambda below: st.tuples(st.integers(0, len(OPERATIONS) - 1), below, below), max_leaves=5)
TRANSFORMERS = {name: nv.transformers.make_transformer(name) for name in ("interpreter", "cpu")}


def value(tree, names):
    """A tree of operations with these values of its leaves."""
    if isinstance(tree, tuple):
        at, left, right = tree
        return OPERATIONS[at](value(left, names), value(right, names))
    return names.get(tree, tree) if isinstance(tree, str) else tree


def outcome(function, *arguments):
    """What a function gives, as an array, or the kind of its error."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = function(*arguments)
            return result.numpy() if isinstance(result, nv.Tensor) else result
        except (ValueError, TypeError, ArithmeticError) as error:
            return type(error)


def check_alike(found, expected):
    """Of one type, one element type and the same values."""
    assert type(found) is type(expected), (found, expected)
    if isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype and found.shape == expected.shape
        nv.testing.assert_close(found, expected)
    elif not isinstance(expected, type):
        np.testing.assert_equal(found, expected)
    else:
        assert found is expected


@settings(deadline=None, max_examples=100)
@given(TREES, st.sampled_from(DTYPES), *[st.sampled_from(NUMBERS)] * 4, st.sampled_from([*["interpreter"] * 7, "cpu"]))
def test_a_traced_function_gives_what_it_gives_outside(tree, dtype, first, second, third, fourth, name):
    """A262: the same types and values, or the same error, for any numbers; again where only the numbers change."""
    x = np.array([[0, 1], [2, 3]]).astype(dtype)

    def function(x, first, second):
        return value(tree, {"x": x, "first": first, "second": second})

    traced = nv.jit(function, transformer=TRANSFORMERS[name])
    for pair in ((first, second), (third, fourth), (second, first)):
        check_alike(outcome(traced, x, *pair), outcome(function, nv.constant(x, dtype=dtype), *pair))


@pytest.mark.parametrize(("array", "number", "dtype"), [
    (np.int8([1]), 2, np.int8), (np.float16([1]), 2.5, np.float16), (np.float16([1]), 2, np.float16),
    (np.int8([1]), 2.5, np.float32), (np.float64([1]), np.float32(2), np.float64), (np.int8([1]), True, np.int8),
    (np.float32([1]), 1j, np.complex64), (np.float64([1]), 1j, np.complex128), (np.bool_([1]), 2, np.int32),
    (np.uint8([1]), np.int64(2), np.uint8), (np.float32([1]), 10**30, np.float32)])
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_number_takes_the_type_of_the_tensor(array, number, dtype, name):
    """A262: at first and again, alone and nested."""
    double = nv.jit(lambda x, rates: x * rates["a"][0], transformer=TRANSFORMERS[name])
    for _ in range(2):
        found = double(array, {"a": [number]})
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, array.astype(dtype) * np.asarray(number).astype(dtype))


def test_a_function_is_traced_once_for_numbers_of_one_kind():
    """A262, A263: numbers are no part of the key, truth values are."""
    traced = []

    @nv.jit
    def step(x, rate, training=True):
        traced.append(training)
        return x * rate if training else x

    x = np.ones(2, np.float32)
    assert [step(x, rate).tolist() for rate in (0.5, 0.25, 4.0)] == [[0.5] * 2, [0.25] * 2, [4.0] * 2]
    assert traced == [True] and step.specialisations == ["f32[2], f32[]"]
    assert step(x, 3).tolist() == [3.0] * 2 and step(x, 4).tolist() == [4.0] * 2 and len(traced) == 2
    assert step(x, 3, training=False).tolist() == [1.0] * 2 and len(traced) == 3


def test_what_python_makes_of_numbers_python_makes_again():
    """A262: exactly, in its own types, with its own errors; a result of another type is traced anew."""
    whole = nv.jit(lambda n: [round(n), round(n, 1), math.floor(n), math.ceil(n), math.trunc(n), *divmod(n, 2),
                              *divmod(2, n)])
    for number in (2.75, -2.75):
        expected = [round(number), round(number, 1), math.floor(number), math.ceil(number), math.trunc(number)]
        assert whole(number) == [*expected, *divmod(number, 2), *divmod(2, number)]
    function = nv.jit(lambda x, n, m: {"power": n ** m, "both": (n / m, -n % m), "scaled": x * (n ** m)})
    x = np.ones(1, np.float32)
    assert function(x, 3, 40) == {"power": 3**40, "both": (0.075, 37), "scaled": np.float32(3**40)}
    assert function(x, 7, 50)["power"] == 7**50
    assert function(x, 2, -1) == {"power": 0.5, "both": (-2.0, 0), "scaled": np.float32(0.5)}
    with pytest.raises(ZeroDivisionError):
        function(x, 2, 0)
    assert len(function.specialisations) == 2


def test_a_number_that_does_not_fit_is_an_error_at_each_call():
    """A262: as it is outside, and nothing is changed."""
    w = nv.variable((2,), dtype=nv.int8)
    function = nv.jit(lambda n: [nv.assign(w, w + n), nv.fill(w[:1], n), w + 0])
    assert function(3)[2].tolist() == [3, 3]
    with pytest.raises(ValueError, match="300 does not fit int8"):
        function(300)
    assert w.tolist() == [3, 3]
    power = nv.jit(lambda x, n: x ** n)
    assert power(np.int32([3]), 2).tolist() == [9]
    with pytest.raises(ValueError, match="no negative powers"):
        power(np.int32([3]), -1)


@pytest.mark.parametrize("use", [bool, int, float, complex, range, len, list, np.asarray,
                                 lambda n: nv.zeros((n,)), lambda n: [0, 1][n], lambda n: 1 if n > 0 else 0,
                                 lambda n: nv.ones((3,))[:n], lambda n: nv.reshape(nv.ones((4,)), (n, -1)),
                                 lambda n: nv.sum(nv.ones((2, 2)), axis=n), hash, lambda n: {1: 2}[n],
                                 lambda n: n in {1, 2}, lambda n: f"{n}", lambda n: f"{n:.2f}", "{:5}".format, str,
                                 lambda n: n.as_integer_ratio(), lambda n: n.to_bytes(2, "big"),
                                 lambda n: {str(n): 1}])
def test_what_needs_the_number_itself_is_an_error(use):
    """A263: it names static=, which helps."""
    with pytest.raises(nv.WrongKind, match="has no value while it is traced") as caught:
        nv.jit(lambda n: [use(n), None][1])(1)
    assert "static=" in caught.value.help and caught.value.location.file == __file__
    assert nv.jit(lambda n: nv.zeros((n,)), static="n")(2).shape == (2,)


@pytest.mark.parametrize("use", [
    lambda x, n: nv.quantile(x, n), lambda x, n: nv.percentile(x, n), lambda x, n: nv.max(x, initial=n),
    lambda x, n: nv.sum(x, initial=n), lambda x, n: nv.sum(x, keepdims=n), lambda x, n: nv.pad(x, 1, value=n),
    lambda x, n: nv.linspace(0, n, 3), lambda x, n: nv.arange(n), lambda x, n: nv.arange(0, 2, n),
    lambda x, n: nv.unwrap(x, period=n), lambda x, n: nv.threshold(x, n, 0.5), lambda x, n: nv.celu(x, n),
    lambda x, n: nv.hard_tanh(x, n, 3), lambda x, n: nv.soft_shrink(x, n), lambda x, n: nv.safelog(x, n),
    lambda x, n: nv.squareplus(x, n), lambda x, n: nv.cdist(x[None], x[None], n), lambda x, n: nv.dropout(x, n),
    lambda x, n: nv.histogram(x, 3, range=(0, n)), lambda x, n: nv.kaiser(3, n), lambda x, n: nv.leaky_relu(x, n)])
def test_a_setting_that_needs_the_number_itself_is_an_error(use):
    """A263: it names static=, which helps."""
    x = np.arange(3.0)
    with pytest.raises(nv.WrongKind) as caught:
        nv.jit(lambda x, n: use(x, n))(x, 0.5)
    assert "static=" in caught.value.help
    nv.jit(lambda x, n: [use(x, n), None][1], static="n")(x, 1)


@pytest.mark.parametrize(("use", "expected"), [
    (lambda x, n: x[n], [4.0, 5.0, 6.0]), (lambda x, n: x[:, n], [2.0, 5.0]),
    (lambda x, n: nv.gather(x, n, 1), [2.0, 5.0]),
    (lambda x, n: nv.gather(x, nv.stack([n, n]).astype(int), 1)[0], [2.0] * 2),
    (lambda x, n: x.at[n, n].set(n)[1], [4.0, 1.0, 6.0]), (lambda x, n: nv.full((2,), n), [1.0, 1.0]),
    (lambda x, n: nv.constant(n, axes="H=2"), [1.0, 1.0]), (lambda x, n: nv.full_like(x, n, nv.int8)[0], [1, 1, 1]),
    (lambda x, n: nv.clip(x, n, 2 * n)[0], [1.0, 2.0, 2.0]), (lambda x, n: nv.stack([n, n + 1]), [1.0, 2.0]),
    (lambda x, n: nv.layer_norm(x, axis=1, scale=0, shift=n)[0], [1.0] * 3), (lambda x, n: n - x[0], [0.0, -1.0, -2.0]),
    (lambda x, n: np.float32([1, 2]) * n, [1.0, 2.0]), (lambda x, n: np.sqrt(n) * x[0], [1.0, 2.0, 3.0]),
    (lambda x, n: np.maximum(x[0], n + 1), [2.0, 2.0, 3.0]), (lambda x, n: nv.where(x[0] > n, n, 0.5), [0.5, 1.0, 1.0]),
    (lambda x, n: x[0] % (n == 1), None),
    (lambda x, n: nv.switch(n, [nv.exp, lambda row: row * 2, nv.log], x[0]), [2.0, 4.0, 6.0]),
    (lambda x, n: nv.switch(n - 7, [lambda row: row, nv.log], x[0]), [1.0, 2.0, 3.0]),
    (lambda x, n: nv.scan(lambda c, _: (nv.switch(n + 7, [nv.log, lambda row: row * 2], c), None), x[0], length=2)[0],
     [4.0, 8.0, 12.0]), (lambda x, n: nv.fori_loop(0, n + 1, lambda i, row: row * 2, x[0]), [4.0, 8.0, 12.0]),
    (lambda x, n: nv.fori_loop(n, x.shape[1], lambda i, row: row + i, x[0]), [4.0, 5.0, 6.0])])
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_functions_take_given_numbers(use, expected, name):
    """A262: an index, an operand, a fill, a bound."""
    x = np.arange(1.0, 7).reshape(2, 3).astype(np.float32)
    found = nv.jit(use, transformer=TRANSFORMERS[name])(x, 1)
    outside = use(nv.constant(x), 1)
    nv.testing.assert_close(found, outside)
    assert expected is None or found.tolist() == expected


@pytest.mark.parametrize("number", [1, np.int64(1), np.uint8(1)])
def test_the_number_of_a_branch_or_of_iterations_may_be_given(number):
    """A262: in whichever function of functions, and whichever integer it is."""
    def chosen(x, n):
        return nv.switch(n, [nv.exp, lambda v: v * 3, nv.log], x)

    def repeated(x, n):
        return nv.fori_loop(n, n + 2, lambda i, v: v * 3, x)
    x = np.float32(2)
    for function, factor in ((chosen, 3.0), (repeated, 9.0)):
        assert nv.jit(function)(x, number).item() == 2 * factor
        value, slope = nv.jvp(function, (x, number), (x, None))
        assert value.item() == slope.item() == 2 * factor
        assert nv.linearize(function, x, number)[1](x, None).item() == 2 * factor
        assert nv.vmap(function, (0, None))(np.float32([1, 2]), number).tolist() == [factor, 2 * factor]
    assert nv.grad(chosen)(x, number).item() == 3.0
    with pytest.raises(nv.NotSupported) as caught:
        nv.grad(repeated)(x, number)
    assert "static=" in caught.value.help and nv.grad(lambda x: repeated(x, int(number)))(x).item() == 9.0


@pytest.mark.parametrize("wrong", [True, 1.0, np.float32(1)])
@pytest.mark.parametrize(("use", "operand"), [
    (lambda n: nv.switch(n, [nv.exp, nv.log], 1.0), "index"), (lambda n: nv.fori_loop(0, n, nv.add, 1.0), "upper"),
    (lambda n: nv.fori_loop(n, 5, nv.add, 1.0), "lower")])
def test_a_given_number_that_is_no_integer_is_an_error(use, operand, wrong):
    with pytest.raises(nv.WrongKind, match="one integer") as caught:
        nv.jit(use)(wrong)
    assert caught.value.operand == operand


def test_an_index_of_a_named_tensor_may_be_given():
    """A262: it takes its axis away, and is checked by the call."""
    row = nv.jit(lambda x, n: x[{"H": n}])
    x = nv.constant([[1.0, 2.0], [3.0, 4.0]], axes="H=2, W=2")
    assert row(x, 1).tolist() == [3.0, 4.0] and row(x, -2).tolist() == [1.0, 2.0]
    with pytest.raises(IndexError):
        row(x, 2)


def test_numbers_are_differentiated_in_their_own_type():
    """A262: a Python float as float32; derivatives through a nested jitted function, too."""
    square = nv.jit(lambda x, s: nv.sum(x * s * s))
    x = np.ones(2, np.float32)
    assert nv.grad(square, "s")(x, 3.0).tolist() == 12.0
    assert nv.grad(square, 1)(x, np.float64(3)).dtype == np.float64
    assert nv.grad(lambda x, s=2.0: x * s, "s")(3.0) == 3.0
    with pytest.raises(TypeError, match="arguments of floats"):
        nv.grad(square, "s")(x, 3)


def test_a_jitted_function_inside_another_is_part_of_its_graph():
    """A264: with numbers and arrays alone, too, so that what it reads is read at each call."""
    w = nv.variable((), 1.0)
    inner = nv.jit(lambda x, n: x * n + w)
    outer = nv.jit(lambda x, n: inner(x, n) + inner(np.ones(2, np.float32), 2) + inner(np.ones(2, np.float32), n))
    x = np.zeros(2, np.float32)
    assert outer(x, 5.0).tolist() == [10.0] * 2
    nv.transformers.default().set(w, 10.0)
    assert outer(x, 5.0).tolist() == [37.0] * 2


def test_a_number_of_another_call_is_refused():
    """A263: what a trace leaves behind has no value."""
    kept = []
    nv.jit(lambda n: kept.append(n) or nv.zeros(()))(1.0)
    with pytest.raises(nv.WrongKind, match="given to another call"):
        nv.jit(lambda n: nv.constant(0.0) + (n + kept[0]))(1.0)
    with pytest.raises(ValueError, match="placeholder"):
        (nv.constant(1.0) + kept[0]).numpy()


@dataclasses.dataclass
class Settings:
    rate: object
    steps: object


def test_nested_numbers_come_back_as_they_are():
    """A262: a result that is a number is one of Python's."""
    function = nv.jit(lambda settings: Settings(settings.rate * 2, [settings.steps, settings.steps + 1]))
    for rate in (0.5, 0.75):
        result = function(Settings(rate, 3))
        assert result == Settings(rate * 2, [3, 4]) and type(result.rate) is float and type(result.steps[1]) is int


def test_the_attributes_of_a_given_number():
    """A262: a NumPy scalar has the methods of tensors, a number of Python's its own."""
    assert nv.jit(lambda n: n.astype(nv.int32))(np.float32(2.5)).dtype == np.int32
    with pytest.raises(AttributeError, match="'float' object has no attribute 'astype'"):
        nv.jit(lambda n: n.astype(nv.int32))(2.5)


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5

    @property
    def doubled(self):
        return self.value * 2

    def above(self, other):
        return self.value - other


@pytest.mark.parametrize(("use", "numbers"), [
    (lambda n: n.conjugate(), [1 + 2j, 3j]), (lambda n: (n.real, n.imag), [1 + 2j, 3j]), (lambda n: n.real, [2, 3]),
    (lambda n: n.real, [2.5, 3.5]), (lambda n: n.conjugate() / n.denominator, [2, 3]),
    (lambda n: n.is_integer(), [2.5, 3.0]), (lambda n: n.bit_length(), [5, 1000]), (lambda n: n.is_integer(), [
        np.float64(2.5), np.float64(3)]), (lambda n: n.value, list(Level)), (lambda n: n.doubled, list(Level)),
    (lambda n: n.above(n - 2), list(Level)), (lambda n: n.above(other=1), list(Level))])
def test_what_numbers_of_python_have(use, numbers, transformer):
    """A262: attributes and methods that give numbers give those of each call, alone and beside a tensor."""
    traced = []
    function = nv.jit(lambda x, n: [traced.append(n), use(n)][1], transformer=transformer)
    for number in numbers:
        found, expected = function(np.ones(2), number), use(number)
        assert found == expected and type(found) is type(expected)
    assert len(traced) == 1
    if type(use(numbers[0])) in (int, float):
        scaled = nv.jit(lambda x, n: x * use(n), transformer=transformer)
        assert [scaled(np.ones(1), number).tolist() for number in numbers] == [[use(number)] for number in numbers]


def test_the_name_of_a_member_is_no_number():
    """A263: it names static=, which helps."""
    with pytest.raises(nv.WrongKind, match="has no value while it is traced") as caught:
        nv.jit(lambda level: {"LOW": 1, "HIGH": 2}[level.name])(Level.LOW)
    assert "static=" in caught.value.help
    assert nv.jit(lambda level: {"LOW": 1, "HIGH": 2}[level.name], static="level")(Level.HIGH) == 2
