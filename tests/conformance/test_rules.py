"""The rules that hold for all ops: what types demand, what is said of scalars, how far sums may be off."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.autodiff.reverse import gradients
from nervure.errors import DtypeMismatch, InvalidArgument, ShapeMismatch
from nervure.ir.function import Function
from nervure.types.dtype import as_dtype
from tests.conformance.running import REFERENCE, TRANSFORMERS, run
from tests.conformance.scalar_ops import scalar_op
from tests.conformance.tolerance import COMPLEX_ROUNDED, EXACT, differs, flushed

pytestmark = pytest.mark.parametrize("transformer", TRANSFORMERS)
INF, NAN = math.inf, math.nan


def computed(transformer: str, build: Any, *arrays: Any) -> np.ndarray:
    arrays = tuple(map(np.asarray, arrays))
    parameters = [nv.Parameter(as_dtype(array.dtype), array.shape) for array in arrays]
    return run(transformer, Function([build(*parameters)], parameters), arrays)[0]


# -- scalars: a few of the values that the table of test_scalar_table.py holds, as they are written down --------------

SAID: list[tuple[str, str, Any, tuple[Any, ...], Any]] = [
    ("O20", "add", nv.int8, (127, 1), -128), ("O20", "negative", nv.int16, (-2**15,), -2**15),
    ("O20", "absolute", nv.int8, (-128,), -128), ("O20", "multiply", nv.uint8, (16, 17), 16),
    ("O21", "floordivide", nv.int32, (-7, 2), -4), ("O21", "modulo", nv.int32, (-7, 2), 1),
    ("O21", "floordivide", nv.uint64, (7, 0), 0), ("O21", "modulo", nv.int64, (7, 0), 0),
    ("O21", "floordivide", nv.int64, (-2**63, -1), -2**63), ("O21", "modulo", nv.int64, (-2**63, -1), 0),
    ("O22", "floordivide", nv.float32, (-7.0, 2.0), -4.0), ("O22", "floordivide", nv.float64, (-1.0, 0.0), -INF),
    ("O22", "modulo", nv.float32, (7.0, -2.0), -1.0), ("O22", "modulo", nv.float64, (7.0, 0.0), NAN),
    ("O23", "power", nv.int32, (0, 0), 1), ("O23", "power", nv.float32, (0.0, 0.0), 1.0),
    ("O23", "power", nv.int32, (-1, -3), -1), ("O23", "power", nv.int32, (2, -1), 0),
    ("O23", "power", nv.int32, (0, -1), 0),
    ("O23", "power", nv.float64, (-8.0, 1 / 3), NAN), ("O23", "power", nv.float64, (1.0, NAN), 1.0),
    ("O24", "shift_left", nv.int32, (1, 32), 0), ("O24", "shift_left", nv.uint8, (1, 255), 0),
    ("O24", "shift_right", nv.int32, (-8, 40), -1), ("O24", "shift_right", nv.int32, (8, -1), 0),
    ("O24", "shift_right", nv.int8, (-128, 7), -1), ("O24", "shift_right", nv.uint8, (128, 7), 1),
    ("O25", "add", nv.bool_, (True, True), True), ("O25", "multiply", nv.bool_, (True, False), False),
    ("O25", "maximum", nv.bool_, (False, True), True), ("O25", "minimum", nv.bool_, (False, True), False),
    ("O26", "divide", nv.float32, (1.0, -0.0), -INF), ("O26", "divide", nv.float64, (0.0, 0.0), NAN),
    ("O26", "multiply", nv.float32, (2.0**-100, 2.0**-49), 2.0**-149), ("O26", "sqrt", nv.float64, (-0.0,), -0.0),
    ("O26", "fma", nv.float32, (1 + 2.0**-23, 1 - 2.0**-23, -1.0), -(2.0**-46)),
    ("O27", "maximum", nv.float32, (NAN, 1.0), NAN), ("O27", "minimum", nv.float64, (1.0, NAN), NAN),
    ("O28", "sign", nv.float32, (-0.0,), -0.0), ("O28", "sign", nv.float64, (NAN,), NAN),
    ("O28", "sign", nv.complex128, (3 + 4j,), 0.6 + 0.8j), ("O28", "sign", nv.complex64, (0j,), 0j),
    ("O29", "less", nv.float32, (NAN, 1.0), False), ("O29", "equal", nv.float64, (NAN, NAN), False),
    ("O29", "not_equal", nv.float64, (NAN, NAN), True), ("O29", "equal", nv.float32, (0.0, -0.0), True),
    ("O30", "round", nv.float32, (2.5,), 2.0), ("O30", "round", nv.float64, (-0.5,), -0.0),
    ("O30", "ceil", nv.float32, (-0.25,), -0.0), ("O30", "floor", nv.float64, (-INF,), -INF),
    ("O30", "truncate", nv.int8, (-7,), -7), ("O31", "sigmoid", nv.float32, (-1000.0,), 0.0),
    ("O31", "sigmoid", nv.float64, (1000.0,), 1.0), ("O31", "softplus", nv.float32, (1000.0,), 1000.0),
    ("O31", "tanh", nv.float64, (-1e300,), -1.0), ("O32", "log", nv.float32, (-0.0,), -INF),
    ("O32", "log", nv.float64, (-1.0,), NAN), ("O32", "atanh", nv.float64, (1.0,), INF),
    ("O32", "rsqrt", nv.float32, (-0.0,), -INF), ("O32", "sin", nv.float64, (-0.0,), -0.0),
    ("O32", "asin", nv.float32, (2.0,), NAN), ("O32", "cos", nv.float64, (INF,), NAN),
    ("O32", "digamma", nv.float32, (0.0,), -INF), ("O32", "digamma", nv.float64, (-0.0,), INF),
    ("O32", "digamma", nv.bfloat16, (-0.0,), INF), ("O32", "digamma", nv.float16, (-1.0,), NAN),
    ("O32", "lgamma", nv.float16, (-0.0,), INF), ("O32", "lgamma", nv.bfloat16, (-1.0,), INF),
    ("O39", "absolute", nv.complex64, (3 + 4j,), 5.0),
]


@pytest.mark.parametrize("row", SAID, ids=lambda row: f"{row[0]} {row[1]} {row[2]} {row[3]}")
def test_what_is_said_of_scalars(row, transformer):
    _, name, dtype, arguments, expected = row
    got = computed(transformer, scalar_op(name), *[np.array([entry], dtype.numpy) for entry in arguments])
    is_rounded = dtype.is_complex and name in COMPLEX_ROUNDED.split()
    bound = 8 * np.finfo(dtype.numpy).eps * np.abs(got) if is_rounded else EXACT
    wanted = np.array([expected], got.dtype)
    assert not (differs(got, wanted, bound) & ~np.asarray(flushed(transformer, wanted))).any(), got


def test_constant_negative_powers(transformer):
    """O23: an integer to a constant negative power is an error."""
    x = nv.Parameter(nv.int32, (2,))
    with pytest.raises(InvalidArgument) as caught:
        ops.Power(x, ops.Full(-1, nv.int32, (2,)))
    assert caught.value.op == "Power" and caught.value.got == "-1"


CONVERSIONS = [
    ("O33", nv.float32, 1e10, nv.int8, 127), ("O33", nv.float64, -1.9, nv.int32, -1),
    ("O33", nv.float32, NAN, nv.int64, 0), ("O33", nv.float64, -INF, nv.uint8, 0),
    ("O33", nv.float32, INF, nv.int64, 2**63 - 1), ("O34", nv.int32, -5, nv.uint8, 0),
    ("O34", nv.uint64, 2**64 - 1, nv.int64, 2**63 - 1), ("O35", nv.float64, 1 + 2.0**-24, nv.float32, 1.0),
    ("O35", nv.float64, 65520.0, nv.float16, INF), ("O35", nv.float32, 1e4, nv.float8_e4m3fn, NAN),
    ("O35", nv.float64, 1 + 2.0**-8 + 2.0**-40, nv.bfloat16, 1 + 2.0**-7), ("O36", nv.float32, NAN, nv.bool_, True),
    ("O36", nv.float64, -0.0, nv.bool_, False), ("O36", nv.complex64, 2 + 3j, nv.float32, 2.0),
]


@pytest.mark.parametrize("row", CONVERSIONS, ids=lambda row: f"{row[0]} {row[2]} to {row[3]}")
def test_what_is_said_of_conversions(row, transformer):
    _, source, number, target, expected = row
    got = computed(transformer, lambda x: ops.Convert(x, target), np.array([number], source.numpy))
    assert got[0] == target.numpy.type(expected) or (expected != expected and got[0] != got[0])


def test_wrapping_conversion(transformer):
    """O34: modulo 2**bits."""
    got = computed(transformer, lambda x: ops.Convert(x, nv.int8, mode="wrap"), np.array([200, -129, 256], np.int32))
    assert got.tolist() == [-56, 127, 0]


def test_bits_are_kept(transformer):
    """O37, O38: casts and choices keep bits."""
    words = np.array([0x7FC12345, 0x80000000, 1], np.uint32)
    floats = computed(transformer, lambda x: ops.Bitcast(x, nv.float32), words)
    assert floats.view(np.uint32).tolist() == words.tolist()
    chosen = computed(transformer, ops.Where, np.array([True, False, True]), floats, floats[::-1])
    assert chosen.view(np.uint32).tolist() == words.tolist()
    assert computed(transformer, lambda x: ops.Bitcast(x, nv.bool_), np.array([0, 2, 128], np.uint8)).tolist() == [
        False, True, True]


def test_low_precision_is_rounded_once(transformer):
    """O11: a product of three bfloat16 rounds after each op, a sum of many after the last addition."""
    x = np.full(1000, 1.0, nv.bfloat16.numpy)
    assert computed(transformer, lambda x: ops.Sum(x, [0]), x) == nv.bfloat16.numpy.type(1000)
    a, b = nv.bfloat16.numpy.type(1.0078125), nv.bfloat16.numpy.type(1.0234375)
    got = computed(transformer, ops.Multiply, np.array([a]), np.array([b]))
    assert got[0] == nv.bfloat16.numpy.type(np.float32(a) * np.float32(b))
    gelu = computed(transformer, ops.Gelu, np.array([-3.0], nv.bfloat16.numpy))
    assert gelu[0] == nv.bfloat16.numpy.type(-3 * 0.5 * math.erfc(3 * math.sqrt(0.5)))


# -- what types demand -------------------------------------------------------------------------------------------------


def test_errors_have_parts(transformer):
    """O1, O2: no conversion, no broadcast, and an error that says where and what to do."""
    a, b, c = nv.Parameter(nv.float32, (2, 3)), nv.Parameter(nv.float64, (2, 3)), nv.Parameter(nv.float32, (3,))
    for other, kind in ((b, DtypeMismatch), (c, ShapeMismatch)):
        for build in (ops.Add, ops.Maximum, lambda x, y: x.value * y):
            with pytest.raises(kind) as caught:
                build(a, other)
            error = caught.value
            assert error.op and error.operand == "2 (y)" and error.help and error.location.file == __file__
            assert (error.got, error.expected) == (str(other.type), str(a.type))


@pytest.mark.parametrize("dtype", [nv.int4, nv.uint4, nv.float4_e2m1fn, nv.float8_e8m0fnu], ids=str)
def test_storage_types(dtype, transformer):
    """O12: moved, chosen and converted, not computed with."""
    x = nv.Parameter(dtype, (3,))
    for build in (lambda: ops.Add(x, x), lambda: ops.Sum(x, [0]), lambda: ops.Equal(x, x)):
        with pytest.raises(DtypeMismatch):
            build()
    numbers = np.array([1, 2, 4], dtype.numpy)
    assert computed(transformer, lambda x: ops.Convert(ops.Reverse(x, [0]), nv.float32), numbers).tolist() == [4, 2, 1]


def test_an_assumption_that_does_not_hold(transformer):
    """O8: the call says which lengths differ."""
    n, m = nv.dim("N"), nv.dim("M")
    x, y = nv.Parameter(nv.float32, (n,)), nv.Parameter(nv.float32, (m,))
    function = Function([ops.Add(x, ops.AssumeShape(y, (n,), needed_by="Add"))], [x, y])
    assert run(transformer, function, [np.float32([1, 2]), np.float32([3, 4])])[0].tolist() == [4, 6]
    with pytest.raises(ShapeMismatch, match="does not hold"):
        run(transformer, function, [np.float32([1, 2]), np.float32([3])])


# -- reductions, writes, random numbers --------------------------------------------------------------------------------


def test_reductions_of_nothing(transformer):
    """O41: the unit, or an error."""
    empty, nobody = np.zeros((0, 2)), np.zeros((0,), bool)
    assert computed(transformer, lambda x: ops.Sum(x, [0]), empty).tolist() == [0, 0]
    assert computed(transformer, lambda x: ops.Prod(x, [0]), empty).tolist() == [1, 1]
    assert np.isnan(computed(transformer, lambda x: ops.Mean(x, [0]), empty)).all()
    assert not computed(transformer, lambda x: ops.Any(x, [0]), nobody)
    assert computed(transformer, lambda x: ops.All(x, [0]), nobody)
    for op in (ops.Max, ops.Min, ops.ArgMax, ops.ArgMin):
        with pytest.raises(InvalidArgument):
            op(nv.Parameter(nv.float32, (0, 2)), [0])
        x = nv.Parameter(nv.float32, (nv.dim("N"), 2))
        with pytest.raises(InvalidArgument):
            run(transformer, Function([op(x, [0])], [x]), [empty.astype(np.float32)])


def test_first_of_equals(transformer):
    """O42: the first, and NaN before all."""
    x = np.array([[1.0, 3, 3, 0, 0], [1, NAN, 9, NAN, -9]])
    assert computed(transformer, lambda x: ops.ArgMax(x, [1]), x).tolist() == [1, 1]
    assert computed(transformer, lambda x: ops.ArgMin(x, [1]), x).tolist() == [3, 1]


def test_sums_of_integers_wrap(transformer):
    """O43: in their own type."""
    x = np.full((2, 3), 100, np.int8)
    assert computed(transformer, lambda x: ops.Sum(x, [0, 1]), x) == np.int8(600 - 512)
    assert computed(transformer, lambda x: ops.Prod(x, [1]), x).tolist() == [64, 64]
    assert computed(transformer, lambda x, y: ops.MatMul(x, y), x, x.T).tolist() == [[48, 48], [48, 48]]


def test_updates_of_one_place(transformer):
    """O44: the last stays, or all are combined."""
    x, index, updates = np.array([1, 1, 1]), np.array([2, 0, 2, -1]), np.array([5, 6, 7, -3])
    expected = {"set": [6, 1, -3], "add": [7, 1, 10], "multiply": [6, 1, -105], "minimum": [1, 1, -3],
                "maximum": [6, 1, 7]}
    for mode, wanted in expected.items():
        got = computed(transformer, lambda x, i, u, mode=mode: ops.Scatter(x, i, u, 0, mode), x, index, updates)
        assert got.tolist() == wanted, mode


@pytest.mark.parametrize("dtype", [nv.float32, nv.float64], ids=str)
def test_how_far_sums_are_off(dtype, transformer):
    """O45: against exact sums."""
    rng, eps, n = np.random.default_rng(5), float(np.finfo(dtype.numpy).eps), 20_000
    x, y = [(rng.standard_normal(n) * np.exp(rng.standard_normal(n) * 3)).astype(dtype.numpy) for _ in range(2)]
    got = float(computed(transformer, lambda x: ops.Sum(x, [0]), x))
    numbers = list(map(Fraction, x.tolist()))
    assert abs(Fraction(got) - sum(numbers)) <= (70 + math.log2(n)) * eps * float(sum(map(abs, numbers)))
    got = float(computed(transformer, lambda x, y: ops.Dot(x, y, pairs=[(0, 0)]), x, y))
    products = [left * right for left, right in zip(numbers, map(Fraction, y.tolist()), strict=True)]
    assert abs(Fraction(got) - sum(products)) <= (512 + n / 512) * eps * float(sum(map(abs, products)))


@pytest.mark.parametrize("dtype", [nv.float32, nv.float64], ids=str)
@pytest.mark.parametrize("count", [2**18, 2**21, 2**22])
def test_small_numbers_are_not_lost_beside_a_large_one(dtype, count, transformer):
    """O45: 1 and many numbers of which each, 64 together or 4,096 together are too small to change it."""
    eps = float(np.finfo(dtype.numpy).eps)
    for small in (eps / 2.1, eps / 2.1 / 64, eps / 2.1 / 4096):
        x = np.full(count, small, dtype.numpy)
        x[0] = 1
        rest = Fraction(float(x[1])) * (count - 1)
        for array, axis in ((x, 0), (x[:, None], 0)):
            got = Fraction(float(np.ravel(computed(transformer, lambda x, axis=axis: ops.Sum(x, [axis]), array))[0]))
            assert abs(got - 1 - rest) <= (70 + math.log2(count)) * eps * float(1 + rest), small


def test_updates_of_one_place_are_a_chain(transformer):
    """O76: in row-major order on the cpu, whatever the threads; within n eps everywhere."""
    rng, n, eps = np.random.default_rng(6), 30_000, 2.0**-23
    index, start = rng.integers(0, 3, n).astype(np.int32), np.float32([1e3, -1, 2**24])
    updates = (rng.standard_normal(n) * 10.0 ** rng.integers(-3, 4, n)).astype(np.float32)
    updates[index == 2] = 1
    expected = start.copy()
    np.add.at(expected, index, updates)
    exact = start.astype(np.float64)
    np.add.at(exact, index, updates.astype(np.float64))
    for threads in (1, 2):
        with nv.flags.overriding(threads=threads):
            got = computed(transformer, lambda x, i, u: ops.Scatter(x, i, u, axis=0, mode="add"), start, index, updates)
        magnitudes = np.bincount(index, abs(updates)) + abs(start)
        assert np.all(abs(got - exact) <= n * eps * magnitudes)
        if transformer == "cpu":
            assert got.tobytes() == expected.tobytes() and got[2] == 2**24
    wanted = np.bincount(index, updates.astype(np.float64), minlength=3)
    got = computed(transformer, lambda x, i, u: gradients([ops.Gather(x, i, axis=0)], [x], [u])[0],
                   start, index, updates)
    assert np.all(abs(got - wanted) <= n * eps * np.bincount(index, abs(updates)))


def test_how_far_products_are_off(transformer):
    """O77."""
    x = (1 + np.random.default_rng(7).standard_normal(300_000) / 2**12).astype(np.float32)
    got = float(computed(transformer, lambda x: ops.Prod(x, [0]), x))
    exact = float(np.multiply.reduce(x.astype(np.longdouble)))
    assert abs(got / exact - 1) <= len(x) * 2.0**-23


def test_random_numbers_have_the_same_bits(transformer):
    """O46, O47: whatever runs them; another step, stream or seed gives others.

    XLA adds the product of a number between bounds without rounding it first (X4).
    """
    seed, step = np.array([3, 9], np.uint32), np.uint64(5)
    builds = {
        "bits": lambda s, t: ops.RandomBits(s, t, 1, (7, 3)),
        "uniform": lambda s, t: ops.RandomUniform(s, t, 1, (7, 3)),
        "wide": lambda s, t: ops.RandomUniform(s, t, 1, (7, 3), nv.float64),
        "truth": lambda s, t: ops.RandomBernoulli(s, t, 1, (7, 3), 0.5),
        "between": lambda s, t: _between(ops.RandomUniform(s, t, 1, (70, 3)), -0.1, 0.3),
        "between, low precision": lambda s, t: _between(ops.RandomUniform(s, t, 1, (70, 3), nv.bfloat16), 1.0, 2.0)}
    for name, build in builds.items():
        mine, theirs = (computed(each, build, seed, step) for each in (transformer, REFERENCE))
        if transformer == "xla" and name.startswith("between"):
            np.testing.assert_allclose(mine.astype(np.float64), theirs.astype(np.float64), rtol=0,
                                       atol=2.0**-7 if "low" in name else 2.0**-24)
        else:
            assert mine.tobytes() == theirs.tobytes()
    first = computed(transformer, builds["bits"], seed, step)
    others = [computed(transformer, builds["bits"], seed, np.uint64(6)),
              computed(transformer, builds["bits"], seed + 1, step),
              computed(transformer, lambda s, t: ops.RandomBits(s, t, 2, (7, 3)), seed, step)]
    assert all((first != other).mean() > 0.9 for other in others)


def _between(x: Any, low: float, high: float) -> Any:
    return ops.Between(x, x.value.full(low), x.value.full(high))


def test_logsumexp_does_not_overflow(transformer):
    """O31: with huge and with infinite elements."""
    x = np.array([[1e4, 1e4], [-1e4, -1e4], [-INF, -INF], [INF, 0]])
    got = computed(transformer, lambda x: ops.LogSumExp(x, [1]), x)
    np.testing.assert_allclose(got, [1e4 + math.log(2), -1e4 + math.log(2), -INF, INF])
