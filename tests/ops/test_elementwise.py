"""Elementwise ops: values against NumPy and SciPy, derivatives against differences, special points, type errors."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import scipy.special

import nervure as nv
from nervure import ops
from nervure.autodiff.reverse import gradients
from nervure.errors import DtypeMismatch, InvalidArgument, ShapeMismatch
from nervure.ir.kinds import Composite, Elementwise, Pointwise
from nervure.ir.op import registry
from nervure.ir.provenance import on_behalf_of
from tests.ops.evaluation import check_derivatives, compute, evaluate

RNG = np.random.default_rng(5)
NORMAL = RNG.standard_normal(7) * 2
POSITIVE = RNG.random(7) * 3 + 0.2
UNIT = RNG.random(7) * 1.8 - 0.9
OTHER = RNG.standard_normal(7)

UNARY = [
    (ops.Negative, np.negative, NORMAL),
    (ops.Absolute, np.abs, NORMAL),
    (ops.Square, np.square, NORMAL),
    (ops.Reciprocal, np.reciprocal, POSITIVE),
    (ops.Exp, np.exp, NORMAL),
    (ops.Exp2, np.exp2, NORMAL),
    (ops.Expm1, np.expm1, NORMAL),
    (ops.Log, np.log, POSITIVE),
    (ops.Log2, np.log2, POSITIVE),
    (ops.Log10, np.log10, POSITIVE),
    (ops.Log1p, np.log1p, POSITIVE),
    (ops.Sqrt, np.sqrt, POSITIVE),
    (ops.Rsqrt, lambda x: 1 / np.sqrt(x), POSITIVE),
    (ops.Cbrt, np.cbrt, NORMAL),
    (ops.SafeLog, np.log, POSITIVE),
    (ops.Sin, np.sin, NORMAL),
    (ops.Cos, np.cos, NORMAL),
    (ops.Tan, np.tan, UNIT),
    (ops.Asin, np.arcsin, UNIT),
    (ops.Acos, np.arccos, UNIT),
    (ops.Atan, np.arctan, NORMAL),
    (ops.Sinh, np.sinh, NORMAL),
    (ops.Cosh, np.cosh, NORMAL),
    (ops.Tanh, np.tanh, NORMAL),
    (ops.Asinh, np.arcsinh, NORMAL),
    (ops.Acosh, np.arccosh, POSITIVE + 1),
    (ops.Atanh, np.arctanh, UNIT),
    (ops.Sigmoid, scipy.special.expit, NORMAL),
    (ops.LogSigmoid, scipy.special.log_expit, NORMAL),
    (ops.Softplus, lambda x: np.logaddexp(x, 0), NORMAL),
    (ops.Relu, lambda x: np.maximum(x, 0), NORMAL),
    (ops.LeakyRelu, lambda x: np.where(x > 0, x, 0.01 * x), NORMAL),
    (ops.Elu, lambda x: np.where(x > 0, x, np.expm1(x)), NORMAL),
    (ops.Selu, lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)), NORMAL),
    (ops.Gelu, lambda x: x * scipy.special.ndtr(x), NORMAL),
    (ops.GeluTanh, lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))), NORMAL),
    (ops.Silu, lambda x: x * scipy.special.expit(x), NORMAL),
    (ops.Mish, lambda x: x * np.tanh(np.logaddexp(x, 0)), NORMAL),
    (ops.HardSigmoid, lambda x: np.clip(x / 6 + 0.5, 0, 1), NORMAL),
    (ops.SparsePlus, lambda x: np.where(x > 1, x, (np.clip(x, -1, 1) + 1)**2 / 4), NORMAL),
    (ops.SparseSigmoid, lambda x: (np.clip(x, -1, 1) + 1) / 2, NORMAL),
    (ops.HardSwish, lambda x: x * np.clip(x / 6 + 0.5, 0, 1), NORMAL),
    (ops.Erf, scipy.special.erf, NORMAL),
    (ops.Erfc, scipy.special.erfc, NORMAL),
    (ops.ErfInv, scipy.special.erfinv, UNIT),
    (ops.StopGradient, lambda x: x, NORMAL),
]
FLAT = [
    (ops.Floor, np.floor), (ops.Ceil, np.ceil), (ops.Round, np.round), (ops.Truncate, np.trunc), (ops.Sign, np.sign),
]
BINARY = [
    (ops.Add, np.add, NORMAL, OTHER),
    (ops.Subtract, np.subtract, NORMAL, OTHER),
    (ops.Multiply, np.multiply, NORMAL, OTHER),
    (ops.Divide, np.divide, NORMAL, POSITIVE),
    (ops.Mod, np.mod, NORMAL, POSITIVE),
    (ops.Power, np.power, POSITIVE, OTHER),
    (ops.Maximum, np.maximum, NORMAL, OTHER),
    (ops.Minimum, np.minimum, NORMAL, OTHER),
    (ops.Atan2, np.arctan2, NORMAL, OTHER),
    (ops.Hypot, np.hypot, NORMAL, OTHER),
    (ops.SquaredDifference, lambda x, y: (x - y) ** 2, NORMAL, OTHER),
    (ops.PRelu, lambda x, y: np.where(x > 0, x, x * y), NORMAL, OTHER),
    (ops.SigmoidCrossEntropy, lambda x, t: np.logaddexp(x, 0) - x * t, NORMAL, RNG.random(7)),
]


def name(entry: object) -> str | None:
    return entry.__name__ if isinstance(entry, type) else None


@pytest.mark.parametrize("op, reference, x", UNARY, ids=name)
def test_unary_values_and_derivatives(op: type, reference: object, x: np.ndarray) -> None:
    np.testing.assert_allclose(evaluate(op, x), reference(x), rtol=1e-13, atol=1e-14)
    if op is not ops.StopGradient:
        check_derivatives(op, x)


@pytest.mark.parametrize("op, reference, x, y", BINARY, ids=name)
def test_binary_values_and_derivatives(op: type, reference: object, x: np.ndarray, y: np.ndarray) -> None:
    np.testing.assert_allclose(evaluate(op, x, y), reference(x, y), rtol=1e-13, atol=1e-14)
    check_derivatives(op, x, y)


@pytest.mark.parametrize("op, reference", FLAT, ids=name)
def test_steps_have_no_derivative(op: type, reference: object) -> None:
    np.testing.assert_array_equal(evaluate(op, NORMAL), reference(NORMAL))
    assert slopes(op, NORMAL) == [None]


@pytest.mark.parametrize("op", [ops.Lgamma, ops.Digamma, ops.Trigamma])
def test_gamma(op: type) -> None:
    reference = {ops.Lgamma: scipy.special.gammaln, ops.Digamma: scipy.special.digamma,
                 ops.Trigamma: lambda x: scipy.special.zeta(2, x)}[op]
    np.testing.assert_allclose(evaluate(op, POSITIVE), reference(POSITIVE), rtol=1e-12)
    check_derivatives(op, POSITIVE)


def test_trigamma_everywhere() -> None:
    x = np.array([-0.5, -2.25, -1e-8, 1e-8, 1e8, 0, -3, math.inf, math.nan])
    expected = [float(mpmath.psi(1, value)) for value in x[:5]] + [math.inf, math.inf, 0, math.nan]
    np.testing.assert_allclose(evaluate(ops.Trigamma, x), expected, rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_trigamma_is_within_six_units(dtype: type) -> None:
    """O80: of large numbers, too, of which x + 1 is rounded, and near poles."""
    rng, greatest = np.random.default_rng(3), math.log2(float(np.finfo(dtype).max))
    beside = [np.nextafter(dtype(-n), dtype(end)) for n in range(1, 30) for end in (-math.inf, 0)]
    x = np.concatenate([rng.uniform(-40, 40, 200), 2 ** rng.uniform(-30, greatest - 1, 200),
                        -(2 ** rng.uniform(-30, 20, 100)), beside]).astype(dtype)
    x = x[(x > 0) | (x != np.rint(x))]

    def exact(x: mpmath.mpf) -> mpmath.mpf:
        if x > 0:
            return mpmath.psi(1, x)
        return (mpmath.pi / mpmath.sinpi(x)) ** 2 - mpmath.psi(1, 1 - x)

    with mpmath.workdps(40):
        for value, found in zip(x.tolist(), evaluate(ops.Trigamma, x)):
            wanted = exact(mpmath.mpf(value))
            unit = float(np.spacing(max(dtype(wanted), np.finfo(dtype).tiny)))
            assert abs(float(found) - wanted) <= 6 * unit, value


@pytest.mark.parametrize("x, y", [(7, 2), (-7, 2), (7, -2), (7, 0), (-128, -1)])
def test_integer_division_is_pythons_and_by_zero_0(x: int, y: int) -> None:
    a, b = np.array([x], np.int8), np.array([y], np.int8)
    quotient, rest = evaluate(ops.FloorDivide, a, b), evaluate(ops.Mod, a, b)
    expected = (0, 0) if y == 0 else (-128, 0) if y == -1 else divmod(x, y)
    assert (quotient[0], rest[0]) == expected


def test_clip_limits_and_passes_the_gradient_at_its_bounds() -> None:
    x, low, high = np.array([-2., -1., 0., 1., 2.]), np.full(5, -1.), np.full(5, 1.)
    np.testing.assert_array_equal(evaluate(ops.Clip, x, low, high), np.clip(x, -1, 1))
    assert slopes(ops.Clip, x, low, high) == [[0, 1, 1, 1, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]]
    crossed = [np.array([0.]), np.array([2.]), np.array([1.])]
    assert evaluate(ops.Clip, *crossed) == 1 and slopes(ops.Clip, *crossed) == [[0], [0], [1]]


def test_where_takes_bits_and_sends_the_gradient_to_the_side_taken() -> None:
    condition, x, y = np.array([True, False]), np.array([1., np.nan]), np.array([np.inf, -0.])
    assert np.signbit(evaluate(ops.Where, condition, x, y)).tolist() == [False, True]
    assert slopes(lambda c, a, b: ops.Where(c, a, b), condition, x, y, wanted=[1, 2]) == [[1, 0], [0, 1]]
    check_derivatives(ops.Where, condition, NORMAL[:2], OTHER[:2])


CONVENTIONS = [
    ("sqrt at 0 is infinite", ops.Sqrt, [0.], [math.inf]),
    ("relu at 0", ops.Relu, [0.], [0]),
    ("absolute at 0", ops.Absolute, [0.], [0]),
    ("reciprocal squared at 0 in power", lambda x: ops.Power(x, x.full(2)), [0.], [0]),
    ("power of 1 at 0", lambda x: ops.Power(x, x.full(1)), [0.], [1]),
    ("power of 0 at 0", lambda x: ops.Power(x, x.full(0)), [0.], [0]),
    ("power of 3 of negative numbers", lambda x: ops.Power(x, x.full(3)), [-2.], [12]),
    ("0 to a positive power", lambda y: ops.Power(y.full(0), y), [2.], [0]),
    ("elu at 0 and far right", ops.Elu, [0., 800.], [1, 1]),
    ("maximum shares at ties", lambda x: ops.Maximum(x, x.full(1)), [1., 0., 2.], [0.5, 0, 1]),
    ("minimum shares at ties", lambda x: ops.Minimum(x, x.full(1)), [1., 0., 2.], [0.5, 1, 0]),
    ("hypot at the origin", lambda x: ops.Hypot(x, x.full(0)), [0., -3.], [0, -1]),
    ("safelog below its limit", ops.SafeLog, [0., 0.5], [0, 2]),
    ("sigmoid far out", ops.Sigmoid, [-800., 800.], [0, 0]),
    ("softplus far out", ops.Softplus, [-800., 800.], [0, 1]),
    ("log_sigmoid far out", ops.LogSigmoid, [-800., 800.], [1, 0]),
    ("expm1 far left keeps its digits", ops.Expm1, [-40.], [math.exp(-40)]),
    ("divide is safe where x is 0", lambda x: ops.Divide(x, x.full(4)), [0.], [0.25]),
    ("divide is safe where 0 is divided", lambda y: ops.Divide(y.full(0), y), [2.], [0]),
    ("mish far out", ops.Mish, [-800., 800.], [0, 1]),
    ("gelu far out", ops.Gelu, [-40., 40.], [0, 1]),
    ("gelu_tanh far out", ops.GeluTanh, [-40., 40.], [0, 1]),
    ("sigmoid_cross_entropy far out", lambda x: ops.SigmoidCrossEntropy(x, x.full(1)), [-800., 800.], [-1, 0]),
]


@pytest.mark.parametrize("build, x, expected", [case[1:] for case in CONVENTIONS],
                         ids=[case[0] for case in CONVENTIONS])
def test_derivative_conventions(build: object, x: list[float], expected: list[float]) -> None:
    np.testing.assert_allclose(slopes(build, np.array(x))[0], expected, rtol=1e-14, atol=1e-300)


@pytest.mark.parametrize("exponent, second", [(2, 2), (3, 0), (1, 0), (0, 0)])
def test_second_derivative_of_power_at_0(exponent: int, second: float) -> None:
    x = nv.Parameter(nv.float64, (1,))
    first, = gradients([ops.Power(x, x.full(exponent))], [x], [None])
    again, = gradients([first], [x], [None])
    assert compute([again], [x], [np.zeros(1)])[0] == second


def test_integers_have_no_negative_constant_powers() -> None:
    x = nv.Parameter(nv.int32, (3,))
    for exponent in (x.full(-1), ops.Constant(np.array([1, 0, -2], np.int32))):
        with pytest.raises(InvalidArgument, match="negative power") as caught:
            ops.Power(x, exponent)
        assert caught.value.operand == "2 (y)" and caught.value.location.file == __file__
    with on_behalf_of(x.provenance):
        assert ops.Power(x, x.full(-1)).shape == (3,)  # a folded exponent: no user wrote it
    two = np.array([2, 1, -1], np.int32)
    assert evaluate(ops.Power, two, np.array([-1, -5, -3], np.int32)).tolist() == [0, 1, -1]


def test_converting_saturates_or_wraps() -> None:
    x = np.array([300., -1.5, np.nan, np.inf])
    assert evaluate(lambda x: ops.Convert(x, nv.uint8), x).tolist() == [255, 0, 0, 255]
    y = np.array([300, -1])
    assert evaluate(lambda y: ops.Convert(y, nv.uint8), y).tolist() == [255, 0]
    assert evaluate(lambda y: ops.Convert(y, nv.uint8, "wrap"), y).tolist() == [44, 255]
    assert evaluate(lambda x: ops.Bitcast(x, nv.int64), np.array([1.0])).tolist() == [0x3FF << 52]
    check_derivatives(lambda x: ops.Convert(ops.Convert(x, nv.float64), nv.float64), NORMAL)
    assert slopes(lambda x: ops.Convert(ops.Convert(x, nv.int32), nv.float64), NORMAL) == [None]


@pytest.mark.parametrize("op, reference", [
    (ops.BitwiseAnd, np.bitwise_and), (ops.BitwiseOr, np.bitwise_or), (ops.BitwiseXor, np.bitwise_xor)])
def test_bits(op: type, reference: object) -> None:
    x, y = RNG.integers(-128, 127, 9).astype(np.int8), RNG.integers(-128, 127, 9).astype(np.int8)
    np.testing.assert_array_equal(evaluate(op, x, y), reference(x, y))
    np.testing.assert_array_equal(evaluate(ops.BitwiseNot, x), ~x)


def test_shifts_past_the_width() -> None:
    x, y = np.array([-3, 5, -3, 5], np.int8), np.array([1, 1, 8, -1], np.int8)
    assert evaluate(ops.ShiftLeft, x, y).tolist() == [-6, 10, 0, 0]
    assert evaluate(ops.ShiftRight, x, y).tolist() == [-2, 2, -1, 0]


def test_comparisons_with_nan_are_false_but_for_not_equal() -> None:
    x, y = np.array([1., 2., np.nan]), np.array([2., 2., 2.])
    found = {op: evaluate(op, x, y).tolist() for op in
             (ops.Equal, ops.NotEqual, ops.Less, ops.LessEqual, ops.Greater, ops.GreaterEqual)}
    assert found == {ops.Equal: [False, True, False], ops.NotEqual: [True, False, True],
                     ops.Less: [True, False, False], ops.LessEqual: [True, True, False],
                     ops.Greater: [False, False, False], ops.GreaterEqual: [False, True, False]}


def test_logic_and_predicates() -> None:
    x, y = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    assert evaluate(ops.LogicalAnd, x, y).tolist() == [False, False, False, True]
    assert evaluate(ops.LogicalOr, x, y).tolist() == [False, True, True, True]
    assert evaluate(ops.LogicalXor, x, y).tolist() == [False, True, True, False]
    assert evaluate(ops.LogicalNot, x).tolist() == [True, True, False, False]
    special = np.array([np.nan, np.inf, -np.inf, 1.])
    assert evaluate(ops.IsNan, special).tolist() == [True, False, False, False]
    assert evaluate(ops.IsInf, special).tolist() == [False, True, True, False]
    assert evaluate(ops.IsFinite, special).tolist() == [False, False, False, True]


def test_complex_parts() -> None:
    re, im = NORMAL.astype(np.float32), OTHER.astype(np.float32)
    z = evaluate(ops.Complex, re, im)
    np.testing.assert_array_equal(z, re + 1j * im)
    np.testing.assert_array_equal(evaluate(ops.Real, z), re)
    np.testing.assert_array_equal(evaluate(ops.Imaginary, z), im)
    np.testing.assert_array_equal(evaluate(ops.Conjugate, z), z.conj())
    magnitude = evaluate(ops.Absolute, z)
    assert magnitude.dtype == np.float32
    np.testing.assert_allclose(magnitude, np.abs(z), rtol=1e-6)


@pytest.mark.parametrize("op", [ops.Gelu, ops.GeluTanh, ops.Mish, ops.Silu, ops.LogSigmoid])
def test_composites_round_low_precision_once(op: type) -> None:
    x = np.linspace(-4, 4, 41).astype(nv.bfloat16.numpy)
    wide = evaluate(op, x.astype(np.float32))
    assert evaluate(op, x).tobytes() == wide.astype(nv.bfloat16.numpy).tobytes()


def test_hypot_neither_overflows_nor_loses_infinities() -> None:
    x, y = np.array([3e200, 0., np.inf, 1.]), np.array([4e200, 0., np.nan, -np.inf])
    np.testing.assert_allclose(evaluate(ops.Hypot, x, y), [5e200, 0, np.inf, np.inf], rtol=1e-15)


@pytest.mark.parametrize("op", [op for op in registry.values() if issubclass(op, Pointwise) and op.arity == 2
                                and op.__module__.startswith("nervure.")], ids=name)
def test_two_operands_must_agree(op: type) -> None:
    dtype = next(iter(sorted(op.admits, key=str)))
    other = nv.int16 if dtype is not nv.int16 else nv.int8
    x = nv.Parameter(dtype, (3,))
    with pytest.raises(ShapeMismatch) as caught:
        op(x, nv.Parameter(dtype, (4,)))
    assert (caught.value.op, caught.value.operand) == (op.__name__, f"2 ({op.operand_names[1]})")
    assert (caught.value.got, caught.value.expected) == (f"{dtype.short}[4]", f"{dtype.short}[3]")
    with pytest.raises(DtypeMismatch) as caught:
        op(x, nv.Parameter(other, (3,)))
    assert caught.value.help and caught.value.location.file == __file__


def test_what_is_not_admitted_is_named() -> None:
    with pytest.raises(DtypeMismatch) as caught:
        ops.Exp(nv.Parameter(nv.int32, (3,)))
    assert (caught.value.op, caught.value.got, caught.value.expected) == ("Exp", "i32[3]", "floats")
    with pytest.raises(DtypeMismatch, match="compare it, as in ops.NotEqual"):
        ops.Where(*[nv.Parameter(nv.float32, (3,))] * 3)
    with pytest.raises(ShapeMismatch, match=r"expected: condition: bool\[2\], x: f32\[2\]"):
        ops.Where(nv.Parameter(nv.bool_, (2,)), *[nv.Parameter(nv.float32, (3,))] * 2)
    with pytest.raises(DtypeMismatch, match="differ in width"):
        ops.Bitcast(nv.Parameter(nv.float32, (3,)), nv.int64)


def test_labels_pass_through() -> None:
    x = nv.Parameter(nv.float16, (3,))
    x.value.labels = ("N",)
    assert ops.Gelu(x).value.labels == ("N",) == ops.Equal(x, nv.Parameter(nv.float16, (3,))).value.labels


def test_every_elementwise_op_says_what_it_is() -> None:
    own = [op for op in registry.values() if issubclass(op, Pointwise) and op.__module__.startswith("nervure.ops")]
    assert len(own) > 80
    for op in own:
        assert op.__doc__ and (op.evaluate is not Elementwise.evaluate if issubclass(op, Elementwise)
                               else op.decompose is not Composite.decompose), op


def slopes(build: object, *arrays: np.ndarray, wanted: list[int] | None = None) -> list[list[float] | None]:
    """The derivative of the sum of the results in each argument."""
    inputs = [nv.Parameter(nv.as_dtype(array.dtype), array.shape) for array in arrays]
    found = gradients([build(*inputs)], inputs if wanted is None else [inputs[at] for at in wanted], [None])
    kept = [entry for entry in found if entry is not None]
    values = iter(compute(kept, inputs, arrays) if kept else [])
    return [None if entry is None else next(values).tolist() for entry in found]
