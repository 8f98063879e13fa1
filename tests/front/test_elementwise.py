"""Every elementwise function of the surface, against NumPy and SciPy in float64."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import nervure as nv
from nervure.front import op_functions
from nervure.front.pointwise import elementwise
from nervure.ops.scalar import SCALAR_FUNCTIONS
from nervure.types.element_groups import FLOATS
from tests.conformance.meaning import meaning

X = np.array([-2.5, -1.0, -0.3, -0.0, 0.0, 0.4, 1.0, 2.0, 3.7])
INSIDE = np.array([-0.9, -0.5, 0.0, 0.3, 0.99])
ABOVE = np.array([0.1, 0.5, 1.0, 2.0, 30.0])
FROM_ONE = np.array([1.0, 1.5, 4.0])
INTEGERS = np.array([-7, -1, 0, 3, 12], np.int32)
BOOLS = np.array([True, False, True])


SAMPLES = {"normal": X, "positive": ABOVE, "unit": INSIDE, "above one": FROM_ONE, "low": X - 5, "high": ABOVE + 0.5}


def exactly(name):
    """A function of floats, as the oracle of the scalar namespace has it."""
    return lambda values: np.array([meaning(name, nv.float64, value) for value in values.tolist()])


OF_ONE_FLOAT = {name: (exactly(name), SAMPLES[declared.sample[0]]) for name, declared in SCALAR_FUNCTIONS.items()
                if declared.domain == FLOATS and len(declared.operands) == 1}
UNARY = {
    **OF_ONE_FLOAT,
    "negative": (np.negative, X), "absolute": (np.abs, X), "sign": (np.sign, X), "square": (np.square, X),
    "relu": (lambda x: np.maximum(x, 0), X), "floor": (np.floor, X), "ceil": (np.ceil, X), "round": (np.round, X),
    "trunc": (np.trunc, X), "reciprocal": (np.reciprocal, ABOVE), "log_sigmoid": (special.log_expit, X),
    "silu": (lambda x: x * special.expit(x), X), "mish": (lambda x: x * np.tanh(np.logaddexp(x, 0)), X),
    "gelu": (lambda x: x * special.ndtr(x), X), "safelog": (np.log, ABOVE),
    "selu": (lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)), X),
    "hard_sigmoid": (lambda x: np.clip(x / 6 + 0.5, 0, 1), X),
    "hard_swish": (lambda x: x * np.clip(x / 6 + 0.5, 0, 1), X),
    "sparse_plus": (lambda x: np.where(x > 1, x, (np.clip(x, -1, 1) + 1)**2 / 4), X),
    "sparse_sigmoid": (lambda x: (np.clip(x, -1, 1) + 1) / 2, X),
    "leaky_relu": (lambda x: np.where(x > 0, x, 0.01 * x), X), "elu": (lambda x: np.where(x > 0, x, np.expm1(x)), X),
    "is_nan": (np.isnan, X), "is_inf": (np.isinf, X), "is_finite": (np.isfinite, X), "stop_gradient": (lambda x: x, X),
    "logical_not": (np.logical_not, X), "bitwise_not": (np.invert, INTEGERS),
}
BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.true_divide, "maximum": np.maximum,
    "minimum": np.minimum, "floordivide": np.floor_divide, "mod": np.mod, "atan2": np.arctan2, "hypot": np.hypot,
    "squared_difference": lambda x, y: (x - y)**2, "equal": np.equal, "not_equal": np.not_equal, "less": np.less,
    "less_equal": np.less_equal, "greater": np.greater, "greater_equal": np.greater_equal,
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
    "prelu": lambda x, y: np.where(x > 0, x, y * x),
}
INTEGER_BINARY = {"bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
                  "left_shift": np.left_shift, "right_shift": np.right_shift}
ELSEWHERE = {"convert", "bitcast", "where", "clip", "power", "divmod"}
"""Functions with a test of their own below."""


def test_every_function_is_tested():
    assert {*elementwise.__all__, *op_functions.FUNCTIONS} == set(UNARY) | set(BINARY) | set(INTEGER_BINARY) | ELSEWHERE


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_tensor(name):
    reference, values = UNARY[name]
    x = nv.constant(values, dtype=nv.as_dtype(values.dtype))
    np.testing.assert_allclose(getattr(nv, name)(x).numpy(), reference(values), rtol=1e-12, atol=1e-14)
    assert getattr(nv, name)(nv.constant(values, axes={"H": len(values)})).axes.names == ("H",)


@pytest.mark.parametrize("name", [name for name in UNARY if name not in (
    "negative", "absolute", "sign", "square", "relu", "floor", "ceil", "round", "trunc", "is_nan", "is_inf",
    "is_finite", "stop_gradient", "logical_not", "bitwise_not")])
def test_functions_of_real_numbers_make_float32_of_integers(name):
    values = np.array([1, 1], np.int64)
    assert getattr(nv, name)(nv.constant(values)).dtype is nv.float32


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_tensors(name):
    x, y = np.meshgrid(X, [-1.5, 0.5, 2.0])
    found = getattr(nv, name)(nv.constant(x, dtype=nv.float64), nv.constant(y, dtype=nv.float64)).numpy()
    np.testing.assert_allclose(found, BINARY[name](x, y), rtol=1e-12)
    number = getattr(nv, name)(nv.constant(x, dtype=nv.float64), 0.5).numpy()
    np.testing.assert_allclose(number, BINARY[name](x, 0.5), rtol=1e-12)


@pytest.mark.parametrize("name", INTEGER_BINARY)
def test_functions_of_bits(name):
    x, y = np.meshgrid(INTEGERS, np.array([0, 1, 5], np.int32))
    np.testing.assert_array_equal(getattr(nv, name)(nv.constant(x), nv.constant(y)).numpy(), INTEGER_BINARY[name](x, y))


def test_clip_where_and_power():
    x = nv.constant(X, dtype=nv.float64)
    np.testing.assert_array_equal(nv.clip(x, -1, 1).numpy(), np.clip(X, -1, 1))
    np.testing.assert_array_equal(nv.clip(x, low=0).numpy(), np.maximum(X, 0))
    np.testing.assert_array_equal(nv.clip(x, high=0).numpy(), np.minimum(X, 0))
    with pytest.raises(ValueError, match="needs a bound"):
        nv.clip(x)
    np.testing.assert_array_equal(nv.where(x > 0, x, 0).numpy(), np.where(X > 0, X, 0))
    np.testing.assert_allclose(nv.power(nv.constant(ABOVE, dtype=nv.float64), -1.5).numpy(), ABOVE**-1.5)
    assert nv.power(nv.constant(INTEGERS), 3).tolist() == (INTEGERS**3).tolist()
    with pytest.raises(ValueError, match="negative powers"):
        nv.power(nv.constant(INTEGERS), -1)


def test_gelu_has_two_formulas():
    x = nv.constant(X, dtype=nv.float64)
    expected = 0.5 * X * (1 + np.tanh(np.sqrt(2 / np.pi) * (X + 0.044715 * X**3)))
    np.testing.assert_allclose(nv.gelu(x, approximate="tanh").numpy(), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="approximation"):
        nv.gelu(x, approximate="fast")


def test_parameters_of_activations():
    x = nv.constant([-2.0, 3.0])
    assert nv.leaky_relu(x, slope=0.5).tolist() == [-1.0, 3.0]
    np.testing.assert_allclose(nv.elu(x, alpha=2.0).numpy(), [2 * np.expm1(-2), 3], rtol=1e-6)
    assert nv.prelu(x, nv.constant([0.25, 9.0])).tolist() == [-0.5, 3.0]
    assert nv.safelog(nv.constant([0.0])).item() == pytest.approx(-50.0)


def test_conversions():
    x = nv.constant([-300.0, 1.9, 300.0])
    assert nv.convert(x, nv.int8).tolist() == [-128, 1, 127]
    assert nv.convert(nv.constant(np.array([300, -1])), nv.uint8, mode="wrap").tolist() == [44, 255]
    assert nv.bitcast(nv.constant([1.0]), nv.int32).tolist() == [0x3F800000]


def test_numpy_functions_of_tensors_build_the_graph():
    x = nv.constant([1.0, 4.0])
    assert isinstance(np.sqrt(x), nv.Tensor) and np.sqrt(x).tolist() == [1.0, 2.0]
    assert np.maximum(np.float32([2.0, 2.0]), x).tolist() == [2.0, 4.0]
    assert (np.float32([1.0, 2.0]) @ x).item() == 9.0
    with pytest.raises(TypeError, match="does not know tensors"):
        np.add.outer(x, x)


def test_a_symbolic_length_is_an_operand():
    x = nv.placeholder({"N": nv.dim("n", min=1), "F": 3})
    length = x.shape[0]
    ones = np.ones((4, 3), np.float32)
    total = nv.sum(x, out_axes=())
    made = [(total / length, 3.0), (length * total, 48.0), (length // 2 - total, -10.0), (nv.sqrt(length), 2.0)]
    for tensor, expected in made:
        assert tensor.dtype is nv.float32
        assert nv.computation(tensor, x)(ones).tolist() == expected
    counts = nv.placeholder({"N": length}, dtype=nv.int64)
    total = nv.computation(counts + length, counts)(np.arange(5))
    assert total.dtype == np.int64 and total.tolist() == [5, 6, 7, 8, 9]
