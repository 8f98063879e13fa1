"""The scalar namespace of the interpreter: every special value, and the last bit."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from nervure.ops.scalar import SCALAR_FUNCTIONS
from nervure.transformers.interpreter.scalar import NumPyScalars
from nervure.types import dtype as types
from nervure.types.element_groups import FLOATS
from tests.conformance.meaning import formula
from tests.conformance.tolerance import EXACT, differs, scalar_tolerance

S = NumPyScalars()
INF, NAN = math.inf, math.nan

# Function, arguments, result: one row a special value. Floats are tried in float32 and float64.
SPECIAL = [
    ("negative", (0.0,), -0.0), ("absolute", (-0.0,), 0.0), ("absolute", (-INF,), INF),
    ("sign", (-0.0,), -0.0), ("sign", (0.0,), 0.0), ("sign", (NAN,), NAN), ("sign", (-INF,), -1.0),
    ("divide", (1.0, 0.0), INF), ("divide", (1.0, -0.0), -INF), ("divide", (0.0, 0.0), NAN),
    ("floordivide", (-7.0, 2.0), -4.0), ("floordivide", (7.0, 0.0), INF), ("floordivide", (0.0, 0.0), NAN),
    ("modulo", (-7.0, 2.0), 1.0), ("modulo", (7.0, -2.0), -1.0), ("modulo", (5.0, INF), 5.0),
    ("modulo", (-5.0, INF), INF), ("modulo", (5.0, -INF), -INF), ("modulo", (5.0, 0.0), NAN),
    ("power", (0.0, 0.0), 1.0), ("power", (NAN, 0.0), 1.0), ("power", (1.0, NAN), 1.0), ("power", (-8.0, 1 / 3), NAN),
    ("power", (0.0, -1.0), INF), ("power", (-0.0, -1.0), -INF), ("power", (-INF, 3.0), -INF),
    ("power", (2.0, -INF), 0.0),
    ("maximum", (NAN, 1.0), NAN), ("maximum", (1.0, NAN), NAN), ("minimum", (NAN, 1.0), NAN),
    ("minimum", (-INF, 1.0), -INF),
    ("fma", (INF, 0.0, 1.0), NAN), ("fma", (1.0, 2.0, INF), INF), ("fma", (2.0, 3.0, 4.0), 10.0),
    ("fma", (1e30, 1e30, -INF), -INF), ("fma", (NAN, 1.0, 1.0), NAN),
    ("floor", (-0.0,), -0.0), ("floor", (-0.5,), -1.0), ("ceil", (-0.5,), -0.0), ("ceil", (INF,), INF),
    ("round", (0.5,), 0.0), ("round", (1.5,), 2.0), ("round", (2.5,), 2.0), ("round", (-0.5,), -0.0),
    ("truncate", (-1.7,), -1.0), ("truncate", (NAN,), NAN),
    ("exp", (-INF,), 0.0), ("exp", (INF,), INF), ("exp", (NAN,), NAN), ("exp2", (3.0,), 8.0),
    ("expm1", (-0.0,), -0.0),
    ("expm1", (-INF,), -1.0), ("log", (0.0,), -INF), ("log", (-1.0,), NAN), ("log", (INF,), INF),
    ("log2", (8.0,), 3.0),
    ("log10", (0.0,), -INF), ("log1p", (-1.0,), -INF), ("log1p", (-2.0,), NAN), ("log1p", (-0.0,), -0.0),
    ("sqrt", (-0.0,), -0.0), ("sqrt", (-1.0,), NAN), ("rsqrt", (0.0,), INF), ("rsqrt", (-0.0,), -INF),
    ("rsqrt", (INF,), 0.0), ("rsqrt", (-1.0,), NAN), ("rsqrt", (4.0,), 0.5), ("cbrt", (-8.0,), -2.0),
    ("sin", (INF,), NAN), ("cos", (INF,), NAN), ("tan", (-INF,), NAN), ("sin", (-0.0,), -0.0), ("asin", (2.0,), NAN),
    ("acos", (1.0,), 0.0), ("atan2", (0.0, -0.0), math.pi), ("atan2", (-0.0, -0.0), -math.pi),
    ("atan2", (-0.0, 0.0), -0.0),
    ("sinh", (-0.0,), -0.0), ("cosh", (-INF,), INF), ("tanh", (INF,), 1.0), ("tanh", (-1000.0,), -1.0),
    ("asinh", (-0.0,), -0.0), ("acosh", (0.5,), NAN), ("atanh", (1.0,), INF), ("atanh", (-1.0,), -INF),
    ("atanh", (2.0,), NAN),
    ("sigmoid", (INF,), 1.0), ("sigmoid", (-INF,), 0.0), ("sigmoid", (0.0,), 0.5), ("sigmoid", (-1000.0,), 0.0),
    ("sigmoid", (NAN,), NAN), ("softplus", (-INF,), 0.0), ("softplus", (INF,), INF), ("softplus", (1000.0,), 1000.0),
    ("softplus", (NAN,), NAN), ("erf", (INF,), 1.0), ("erf", (NAN,), NAN), ("erf", (-0.0,), -0.0),
    ("erfc", (-INF,), 2.0),
    ("erf_inv", (1.0,), INF), ("erf_inv", (-1.0,), -INF), ("erf_inv", (1.5,), NAN), ("erf_inv", (-0.0,), -0.0),
    ("erf_inv", (NAN,), NAN), ("lgamma", (0.0,), INF), ("lgamma", (-3.0,), INF), ("lgamma", (1.0,), 0.0),
    ("lgamma", (-INF,), INF), ("lgamma", (NAN,), NAN), ("digamma", (0.0,), -INF), ("digamma", (-2.0,), NAN),
    ("digamma", (-0.0,), INF), ("digamma", (INF,), INF), ("digamma", (NAN,), NAN),
    ("equal", (0.0, -0.0), True), ("equal", (NAN, NAN), False), ("not_equal", (NAN, NAN), True),
    ("less", (NAN, 1.0), False),
    ("less_equal", (1.0, NAN), False), ("is_nan", (NAN,), True), ("is_inf", (-INF,), True),
    ("is_finite", (NAN,), False),
    ("is_finite", (1.0,), True),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("name", "arguments", "expected"), SPECIAL, ids=lambda entry: str(entry))
def test_special_values_of_floats(name, arguments, expected, dtype):
    with np.errstate(all="ignore"):
        got = getattr(S, name)(*[np.array([x], dtype) for x in arguments])
    assert got.dtype == (np.bool_ if isinstance(expected, bool) else dtype)
    if isinstance(expected, bool):
        assert got[0] == expected
        return
    tolerance = scalar_tolerance("interpreter", name, types.as_dtype(dtype))
    is_limit = expected == 0 or math.isinf(expected)
    assert not differs(got, np.array([expected], dtype), EXACT if is_limit else tolerance).any(), got


INTEGER = [
    ("add", np.int8, (127, 1), -128), ("subtract", np.uint8, (0, 1), 255), ("multiply", np.int32, (2**31 - 1, 2), -2),
    ("negative", np.int8, (-128,), -128), ("negative", np.uint8, (1,), 255),
    ("absolute", np.int16, (-2**15,), -2**15),
    ("sign", np.int32, (-5,), -1), ("sign", np.uint8, (7,), 1),
    ("floordivide", np.int32, (7, 0), 0), ("floordivide", np.int64, (-2**63, -1), -2**63),
    ("floordivide", np.int8, (-7, 2), -4),
    ("floordivide", np.uint32, (7, 0), 0), ("modulo", np.int32, (7, 0), 0), ("modulo", np.int8, (-128, -1), 0),
    ("modulo", np.int32, (-7, 3), 2), ("modulo", np.int32, (7, -3), -2),
    ("power", np.int32, (0, 0), 1), ("power", np.int32, (2, -1), 0), ("power", np.int32, (1, -5), 1),
    ("power", np.int32, (-1, -3), -1),
    ("power", np.int32, (-1, -4), 1), ("power", np.int32, (0, -1), 0), ("power", np.int8, (2, 7), -128),
    ("power", np.uint8, (3, 6), 217),
    ("shift_left", np.int32, (1, 32), 0), ("shift_left", np.int32, (1, -1), 0), ("shift_left", np.int8, (3, 7), -128),
    ("shift_right", np.int32, (-8, 1), -4), ("shift_right", np.int32, (-8, 40), -1),
    ("shift_right", np.int32, (8, -1), 0),
    ("shift_right", np.uint8, (255, 1), 127), ("shift_right", np.uint8, (255, 8), 0),
    ("shift_right", np.int64, (-1, -1), -1),
    ("bitwise_not", np.uint8, (0,), 255), ("bitwise_not", np.bool_, (True,), False),
    ("bitwise_and", np.int32, (12, 10), 8),
    ("bitwise_xor", np.bool_, (True, True), False), ("add", np.bool_, (True, True), True),
    ("multiply", np.bool_, (True, False), False),
    ("floor", np.int32, (5,), 5), ("round", np.bool_, (True,), True), ("fma", np.int8, (100, 2, 1), -55),
    ("maximum", np.int32, (3, -4), 3), ("less", np.uint64, (1, 2**63), True), ("is_nan", np.int64, (3,), False),
]


@pytest.mark.parametrize(("name", "dtype", "arguments", "expected"), INTEGER, ids=lambda entry: str(entry))
def test_integers(name, dtype, arguments, expected):
    with np.errstate(all="ignore"):
        got = getattr(S, name)(*[np.array([x], dtype) for x in arguments])
    assert got[0] == expected
    assert got.dtype == (np.bool_ if type(expected) is bool else dtype)


WIDE = {
    "exp": (-80, 80), "exp2": (-120, 120), "expm1": (-5, 5), "log": (1e-6, 1e6), "log2": (1e-6, 1e6),
    "log10": (1e-6, 1e6), "log1p": (-0.999, 1e4), "rsqrt": (1e-6, 1e6), "cbrt": (-1e6, 1e6), "sin": (-1e5, 1e5),
    "cos": (-1e5, 1e5), "atan": (-50, 50), "sinh": (-40, 40), "cosh": (-40, 40), "tanh": (-9, 9), "asinh": (-1e3, 1e3),
    "acosh": (1, 1e3), "sigmoid": (-80, 80), "softplus": (-80, 80), "erf": (-4, 4), "erfc": (-3, 9),
    "erf_inv": (-0.9999999, 0.9999999), "lgamma": (0.01, 60), "digamma": (-4.9, 40),
}
USUAL = {"normal": (-5, 5), "positive": (0.25, 9), "unit": (-0.999, 0.999), "above one": (1.25, 9), "low": (-1.5, -0.5),
         "high": (0.5, 1.5)}
RANGES = {name: WIDE.get(name, USUAL[declared.sample[0]]) for name, declared in SCALAR_FUNCTIONS.items()
          if declared.domain == FLOATS and len(declared.operands) == 1}
"""Where functions of one float are compared with mpmath."""


@pytest.mark.parametrize("name", sorted(RANGES))
def test_float32_is_right_to_the_last_bit(name):
    low, high = RANGES[name]
    x = np.random.default_rng(1).uniform(low, high, 60).astype(np.float32)
    got = getattr(S, name)(x)
    for value, result in zip(x.tolist(), got, strict=True):
        with mpmath.workdps(40):
            wanted = np.float32(float(formula(name)(mpmath.mpf(value))))
        assert abs(float(result) - float(wanted)) <= abs(np.spacing(wanted)) * (0 if name != "lgamma" else 1), value


@pytest.mark.parametrize(("name", "tolerance"), [("erf_inv", 4e-15), ("digamma", 2e-14), ("lgamma", 1e-13),
                                                 ("erfc", 1e-14)])
def test_float64_special_functions(name, tolerance):
    low, high = RANGES[name]
    x = np.random.default_rng(2).uniform(low, high, 100)
    if name == "erf_inv":
        x = np.concatenate([x, [1 - 2.0**-53, -1 + 2.0**-52, 1e-300, 5e-324, 1e-8, 0.5]])
    for value, result in zip(x.tolist(), getattr(S, name)(x).tolist(), strict=True):
        with mpmath.workdps(60):
            wanted = float(formula(name)(mpmath.mpf(value)))
        assert result == pytest.approx(wanted, rel=tolerance, abs=1e-14 if abs(wanted) > 1e-10 else 0), value


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fma_rounds_once(dtype):
    eps = np.finfo(dtype).eps
    x, y = dtype(1 + eps), dtype(1 - eps)
    got = S.fma(np.array([x]), np.array([y]), np.array([-1], dtype))
    assert got[0] == -dtype(eps) * dtype(eps) != x * y - dtype(1)
    tiny = np.finfo(dtype).smallest_subnormal
    halves = S.fma(np.array([tiny, tiny]), np.array([0.5, 0.5], dtype), np.array([0, tiny], dtype))
    assert halves.tolist() == [0.0, float(tiny) * 2]  # ties to even
    largest = np.finfo(dtype).max
    with np.errstate(all="ignore"):
        assert S.fma(np.array([largest]), np.array([2], dtype), np.array([-largest], dtype))[0] == largest
        assert S.fma(np.array([largest]), np.array([2], dtype), np.array([0], dtype))[0] == np.inf


def test_low_precision_is_computed_in_float32():
    x = np.array([1.0, 2.0], types.bfloat16.numpy)
    assert S.add(x, x).dtype == np.float32
    assert S.constant(0.1, x).dtype == np.float32
    assert S.where(np.array([True, False]), x, x).dtype == types.bfloat16.numpy  # what only moves, moves bits
    assert S.where(np.array([True, False]), x, S.constant(0.5, x)).tolist() == [1.0, 0.5]


def test_where_moves_bits():
    payload = np.array([0x7FC12345], np.uint32).view(np.float32)
    assert S.where(np.array([True]), payload, np.float32([0])).view(np.uint32)[0] == 0x7FC12345


def test_complex():
    pair = S.complex(np.float32([INF, 1]), np.float32([1, NAN]))
    assert pair.dtype == np.complex64 and pair[0].real == INF and pair[0].imag == 1
    assert S.absolute(np.array([3 + 4j], np.complex64)).dtype == np.float32
    assert S.sign(np.array([3 + 4j, 0])).tolist() == pytest.approx([0.6 + 0.8j, 0], rel=1e-15)
    assert S.conjugate(np.array([1 + 2j])).tolist() == [1 - 2j]
    assert (S.real(np.array([1 + 2j]))[0], S.imaginary(np.array([1 + 2j]))[0]) == (1, 2)
