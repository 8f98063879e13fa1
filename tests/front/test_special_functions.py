"""Special functions that are made of others, against NumPy and SciPy: extremes, derivatives, all integer types."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import nervure as nv
from nervure.errors import InvalidArgument, WrongKind

RNG = np.random.default_rng(0)
ODD = np.array([0.0, -0.0, 1.0, -1.5, 2.5, -7.0, 1e30, -1e-30, np.inf, -np.inf, np.nan])
PAIRS = [entry.ravel() for entry in np.meshgrid(ODD, ODD)]
WHOLE = [RNG.integers(-2**40, 2**40, 300), RNG.integers(-2**20, 2**20, 300)]
TYPES = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


@pytest.mark.parametrize(("dtype", "digits"), [(np.float32, 1e-7), (np.float64, 1e-13)])
def test_the_normal_distribution(dtype, digits):
    """A433: in both tails, and the logarithm where the chance is no float any more."""
    x = np.linspace(-60, 12, 2001).astype(dtype)
    exact = x.astype(np.float64)
    chances, logarithms = scipy.special.ndtr(exact), scipy.special.log_ndtr(exact)
    some = chances > 1e-36
    np.testing.assert_allclose(nv.ndtr(x).numpy()[some], chances[some], rtol=digits)
    np.testing.assert_allclose(nv.log_ndtr(x).numpy(), logarithms, rtol=digits, atol=1e-36)
    np.testing.assert_allclose(nv.ndtr(x[::-1]).numpy(), scipy.special.ndtr(exact[::-1]), atol=1e-7)
    variable = nv.variable(x.shape, x, dtype)
    slope = nv.deriv(nv.sum(nv.log_ndtr(variable)), variable).numpy()
    expected = np.exp(-exact**2 / 2 - 0.5 * np.log(2 * np.pi) - logarithms)
    np.testing.assert_allclose(slope, expected, rtol=max(20 * digits, 2e-12), atol=1e-30)
    assert nv.log_ndtr(np.array([np.inf, -np.inf], dtype)).tolist() == [0.0, -np.inf]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["copysign", "fmod"])
def test_signs_and_rests(name):
    """A433: by nv and by np on tensors, bit for bit."""
    numpy_s = getattr(np, name)
    for x, y in (PAIRS, [entry.astype(np.float32) for entry in PAIRS]):
        for function in (getattr(nv, name), numpy_s):
            found = function(nv.constant(x), y).numpy()
            np.testing.assert_array_equal(found, numpy_s(x, y))
            is_number = ~np.isnan(found)
            np.testing.assert_array_equal(np.signbit(found)[is_number], np.signbit(numpy_s(x, y))[is_number])
    np.testing.assert_array_equal(nv.signbit(ODD[:-1]).numpy(), np.signbit(ODD[:-1]))
    np.testing.assert_array_equal(nv.fmod(*WHOLE).numpy(), np.fmod(*WHOLE))
    x = nv.variable((3,), [1.0, -2.0, 3.0])
    assert nv.deriv(nv.sum(nv.copysign(x, np.float32([-1, -1, 1]))), x).tolist() == [-1.0, 1.0, 1.0]


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
def test_divisors(transformer):
    """A433: of any signs, of zeros, and over axes with names."""
    first, second = [np.r_[entry, [0, 0, 12, 5]] for entry in WHOLE]
    second[-2:] = 0
    x, y = nv.constant(first), nv.constant(second)
    with nv.transformers.make_transformer(transformer) as made:
        divisors, multiples = made.computation([nv.gcd(x, y), nv.lcm(x, y)])()
    np.testing.assert_array_equal(divisors, np.gcd(first, second))
    np.testing.assert_array_equal(multiples, np.lcm(first, second))
    first, second = np.meshgrid(np.int8([-128, -127, -100, -3, 0, 1, 2, 64, 127]), np.int8([-128, -6, 0, 1, 3, 127]))
    np.testing.assert_array_equal(nv.gcd(first, second), np.gcd(first, second))
    np.testing.assert_array_equal(nv.lcm(first, second), np.lcm(first, second), "integers wrap")
    rows, columns = nv.constant(np.array([4, 6]), "N=2"), nv.constant(np.array([[4, 6, 9], [2, 3, 5]]), "N=2, C=3")
    assert np.gcd(rows, columns).tolist() == [[4, 2, 1], [2, 3, 1]]
    assert str(nv.gcd(rows, columns).axes) == "(N: 2, C: 3)"


@pytest.mark.parametrize("dtype", TYPES)
def test_bits(dtype):
    """A433: of all integer types, the least number included."""
    info = np.iinfo(dtype)
    x = np.r_[RNG.integers(info.min, info.max, 200, dtype=dtype, endpoint=True),
              np.array([0, 1, info.max, info.min], dtype)]
    found = nv.bitwise_count(x)
    np.testing.assert_array_equal(found.numpy(), np.bitwise_count(x))
    unsigned = x.view(np.dtype(dtype).str.replace("i", "u"))
    assert nv.clz(x).tolist() == [info.bits - int(number).bit_length() for number in unsigned]
    assert nv.clz(x).dtype.name == np.dtype(dtype).name and found.dtype is nv.uint8


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_entropies_and_gamma_functions():
    """A433: with derivatives that are finite where the functions are."""
    x, y = PAIRS
    np.testing.assert_allclose(nv.rel_entr(x, y).numpy(), scipy.special.rel_entr(x, y), rtol=1e-12)
    assert nv.rel_entr(*[nv.constant(each, dtype=nv.bfloat16) for each in (x, y)]).dtype is nv.bfloat16
    a, b = np.abs(RNG.standard_normal((2, 200))) * 5 + 0.1
    np.testing.assert_allclose(nv.betaln(a, b).numpy(), scipy.special.betaln(a, b), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(nv.multigammaln(a + 2, 4).numpy(), scipy.special.multigammaln(a + 2, 4), rtol=1e-12,
                               atol=1e-12)
    v = nv.variable((2,), [0.0, 2.0])
    assert nv.deriv(nv.sum(nv.rel_entr(v, 1.0)), v).tolist()[1] == pytest.approx(1 + np.log(2))
    assert np.isfinite(nv.deriv(nv.sum(nv.rel_entr(v, 1.0)), v).numpy()).all()


@pytest.mark.parametrize(("call", "kind"), [
    (lambda: nv.gcd(1.5, 2.0), WrongKind), (lambda: nv.clz(np.float32(1)), WrongKind),
    (lambda: nv.bitwise_count(np.float32(1)), WrongKind), (lambda: nv.multigammaln(2.0, 0), InvalidArgument)],
    ids=range(4))
def test_what_makes_no_sense_is_refused(call, kind):
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.help
