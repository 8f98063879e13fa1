"""Distributions: by Kolmogorov and Smirnov, by chances, by moments; bits, axes, derivatives, what is refused."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import nervure as nv
from nervure import random
from nervure.errors import AxisMismatch, DtypeMismatch, InvalidArgument, ShapeMismatch, WrongKind
from tests.shares import DEEP

COUNT = 20_000
LEAST = 1e-4
"""The least chance of a sample, or a worse one, that passes: seeds are fixed, so that it is decided once."""

TWO_SIDED = SimpleNamespace(cdf=lambda x: (1 + np.sign(x - 1) * stats.maxwell(scale=2).cdf(np.abs(x - 1))) / 2)

CONTINUOUS = {
    "exponential": (lambda axes: random.exponential(axes, 2.0), stats.expon(scale=2)),
    "gumbel": (lambda axes: random.gumbel(axes, 1.0, 2.0), stats.gumbel_r(1, 2)),
    "laplace": (lambda axes: random.laplace(axes, 1.0, 2.0), stats.laplace(1, 2)),
    "logistic": (lambda axes: random.logistic(axes, 1.0, 2.0), stats.logistic(1, 2)),
    "cauchy": (lambda axes: random.cauchy(axes, 1.0, 2.0), stats.cauchy(1, 2)),
    "rayleigh": (lambda axes: random.rayleigh(axes, 2.0), stats.rayleigh(scale=2)),
    "weibull": (lambda axes: random.weibull(axes, 1.5, 2.0), stats.weibull_min(1.5, scale=2)),
    "pareto": (lambda axes: random.pareto(axes, 3.0, 2.0), stats.pareto(3, scale=2)),
    "lognormal": (lambda axes: random.lognormal(axes, 0.5, 0.25), stats.lognorm(0.25, scale=np.exp(0.5))),
    "triangular": (lambda axes: random.triangular(axes, -1.0, 0.0, 3.0), stats.triang(0.25, -1, 4)),
    "truncated normal": (lambda axes: random.truncated_normal(axes, -1.0, 2.5, 1.0, 2.0),
                         stats.truncnorm(-1, 2.5, 1, 2)),
    **{f"truncated normal {low} {high}": (lambda axes, low=low, high=high: random.truncated_normal(axes, low, high),
                                          stats.truncnorm(low, high))
       for low, high in ((6.0, 7.0), (3.0, np.inf), (-9.0, -8.0), (20.0, 21.0), (-np.inf, np.inf), (-8.0, 0.5))},
    **{f"gamma {a}": (lambda axes, a=a: random.gamma(axes, a, 2.0), stats.gamma(a, scale=2))
       for a in (0.3, 1.0, 2.5, 200.0)},
    "beta": (lambda axes: random.beta(axes, 0.7, 2.0), stats.beta(0.7, 2)),
    "chi-square": (lambda axes: random.chisquare(axes, 3.0), stats.chi2(3)),
    "student": (lambda axes: random.t(axes, 2.5), stats.t(2.5)),
    "maxwell": (lambda axes: random.maxwell(axes, 2.0), stats.maxwell(scale=2)),
    "double-sided maxwell": (lambda axes: random.double_sided_maxwell(axes, 1.0, 2.0), TWO_SIDED),
    **{f"wald {mean} {scale}": (lambda axes, mean=mean, scale=scale: random.wald(axes, mean, scale),
                                stats.invgauss(mean / scale, scale=scale))
       for mean, scale in ((1.0, 1.0), (3.0, 0.5), (2.0, 40.0))},
    **{f"loggamma {a}": (lambda axes, a=a: random.loggamma(axes, a), stats.loggamma(a)) for a in (0.01, 1.5)},
    **{f"generalised normal {p}": (lambda axes, p=p: random.generalized_normal(axes, p, 1.0, 2.0),
                                   stats.gennorm(p, 1, 2)) for p in (0.5, 1.0, 3.0)},
    "fisher": (lambda axes: random.f(axes, 3.0, 6.0), stats.f(3, 6))}

WHOLE = {
    "randint": (lambda axes: random.randint(axes, -3, 4), stats.randint(-3, 4)),
    "geometric": (lambda axes: random.geometric(axes, 0.3), stats.geom(0.3)),
    "poisson few": (lambda axes: random.poisson(axes, 2.5), stats.poisson(2.5)),
    "poisson many": (lambda axes: random.poisson(axes, 37.5), stats.poisson(37.5)),
    "binomial few": (lambda axes: random.binomial(axes, 30, 0.1), stats.binom(30, 0.1)),
    "binomial many": (lambda axes: random.binomial(axes, 200, 0.3), stats.binom(200, 0.3)),
    "binomial likely": (lambda axes: random.binomial(axes, 15, 0.9), stats.binom(15, 0.9)),
    "negative binomial": (lambda axes: random.negative_binomial(axes, 3.5, 0.4), stats.nbinom(3.5, 0.4)),
    "rademacher": (lambda axes: (random.rademacher(axes) + 1) // 2, stats.bernoulli(0.5)),
    "categorical": (lambda axes: random.categorical(np.log(np.float32([0.1, 0.2, 0.7])), axes=axes),
                    stats.rv_discrete(values=([0, 1, 2], [0.1, 0.2, 0.7]))),
    "choice": (lambda axes: random.choice(4, axes, p=[0.4, 0.3, 0.2, 0.1]),
               stats.rv_discrete(values=([0, 1, 2, 3], [0.4, 0.3, 0.2, 0.1])))}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_distributions(name):
    """A430: by Kolmogorov and Smirnov."""
    nv.seed(11)
    draw, expected = CONTINUOUS[name]
    assert stats.kstest(draw((COUNT,)).numpy().astype(float), expected.cdf).pvalue > LEAST


PARAMETERS = {
    "beta": (0.3, 0.7), "cauchy": (0.1, 0.7), "chisquare": (0.3,), "double_sided_maxwell": (0.1, 0.7),
    "exponential": (0.7,), "f": (0.3, 0.7), "gamma": (0.3, 0.7), "generalized_normal": (0.3, 0.1, 0.7),
    "gumbel": (0.1, 0.7), "laplace": (0.1, 0.7), "loggamma": (1 / 3,), "logistic": (0.1, 0.7), "lognormal": (0.1, 0.7),
    "maxwell": (0.7,), "pareto": (0.3, 0.7), "rayleigh": (0.7,), "t": (0.3,), "triangular": (0.1, 0.2, 0.7),
    "truncated_normal": (-1.1, 1.7, 0.1, 0.7), "wald": (0.3, 0.7), "weibull": (0.3, 0.7)}


@pytest.mark.parametrize("name", PARAMETERS)
def test_numbers_are_as_precise_as_the_element_type(name, interpreter):
    """A430: a parameter may be a number or a tensor of float64; both draw the same."""
    draw, found = getattr(random, name), []
    for read in (float, lambda number: nv.constant(number, dtype=nv.float64)):
        nv.seed(17, transformer=interpreter)
        drawn = draw((100,), *map(read, PARAMETERS[name]), dtype=nv.float64)
        found.append(nv.computation(drawn, transformer=interpreter)())
    np.testing.assert_allclose(*found, rtol=1e-14)


@pytest.mark.parametrize(("low", "high"), [(0.5, 3.0), (-12.0, -11.0)])
def test_the_derivatives_of_cut_normal_numbers(low, high, transformer):
    """A432: those of the mean, for either bound."""
    nv.seed(18, transformer=transformer)
    ends = nv.variable((), low, dtype=nv.float64), nv.variable((), high, dtype=nv.float64)
    mean = nv.mean(random.truncated_normal((COUNT,), *ends, dtype=nv.float64))
    slopes = nv.computation(list(nv.deriv(mean, ends)), transformer=transformer)()
    step = 1e-4
    expected = [(stats.truncnorm.mean(low + step, high) - stats.truncnorm.mean(low - step, high)) / (2 * step),
                (stats.truncnorm.mean(low, high + step) - stats.truncnorm.mean(low, high - step)) / (2 * step)]
    np.testing.assert_allclose(slopes, expected, rtol=0.05, atol=1e-3)


@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers(name):
    """A430: by the chance of each, of rare ones together."""
    nv.seed(12)
    draw, expected = WHOLE[name]
    found = draw((COUNT,)).numpy()
    low, high = int(expected.ppf(1e-3)), int(expected.ppf(1 - 1e-3))
    values = np.arange(low, high + 1)
    counted = np.array([(found <= low).sum(), *[(found == k).sum() for k in values[1:-1]], (found >= high).sum()])
    chances = np.array([expected.cdf(low), *expected.pmf(values[1:-1]), expected.sf(high - 1)])
    assert counted.sum() == COUNT and stats.chisquare(counted, COUNT * chances / chances.sum()).pvalue > LEAST


def test_shares():
    """A430: of Dirichlet's distribution each is beta, and they add up to 1; along any axis."""
    nv.seed(13)
    found = random.dirichlet("K=3, N=8000", nv.constant([0.5, 1.0, 2.5], "K=3"), "K").numpy()
    np.testing.assert_allclose(found.sum(axis=0), 1, rtol=1e-5)
    for row, a in zip(found, (0.5, 1.0, 2.5), strict=True):
        assert stats.kstest(row.astype(float), stats.beta(a, 4 - a).cdf).pvalue > LEAST


@pytest.mark.parametrize(("a", "b", "dtype"), [
    *[(1e-3, 1e-3, dtype) for dtype in (nv.float16, nv.bfloat16, nv.float32, nv.float64)],
    (2e-3, 1e-3, nv.float32), (0.02, 3.0, nv.float32), (1e-30, 1e-30, nv.float32)], ids=str)
def test_shares_of_small_shapes(a, b, dtype):
    """A430: where gamma numbers themselves would be 0, shares are still beta distributed."""
    ends = np.array([0.0, 1e-3, 0.1, 0.4, 0.6, 0.9, 1.0])
    expected = np.diff(stats.beta(a, b).cdf(ends)) * COUNT
    for seed, draw in ((25, lambda: random.beta((COUNT,), a, b, dtype)),
                       (26, lambda: random.dirichlet((COUNT, 2), [a, b], dtype=dtype)[:, 0])):
        nv.seed(seed)
        counted = np.histogram(draw().numpy().astype(float), ends)[0]
        likely = expected > 5
        assert (counted[expected < 1e-3] == 0).all() and counted.sum() == COUNT
        chances = expected[likely] / expected[likely].sum()
        assert stats.chisquare(counted[likely], counted[likely].sum() * chances).pvalue > LEAST


def test_the_derivatives_of_shares():
    """A432: those of the mean, a / (a + b), for shapes below 1 and above."""
    nv.seed(27)
    for value in (0.2, 0.5, 2.0):
        a = nv.variable((), value)
        assert abs(nv.deriv(nv.mean(random.beta((COUNT,), a, 2.0)), a).item() - 2 / (value + 2)**2) < 0.01


def test_orders():
    """A430: all are as likely, and rows stay whole."""
    nv.seed(14)
    x, run = np.arange(12).reshape(3, 4), nv.computation(random.permutation(np.arange(12).reshape(3, 4)))
    found = [tuple(run()[:, 0].tolist()) for _ in range(600)]
    assert stats.chisquare([found.count(entry) for entry in sorted(set(found))]).pvalue > LEAST
    assert len(set(found)) == 6 and sorted(run().tolist()) == x.tolist()
    named = random.permutation(nv.constant(x, "N=3, F=4"), "F")
    assert str(named.axes) == "(N: 3, F: 4)" and np.sort(named.numpy(), axis=1).tolist() == x.tolist()


def test_picks_without_replacement():
    """A430: each at most once, likely ones more often."""
    nv.seed(15)
    run = nv.computation(random.choice(5, (3,), replace=False, p=[0.6, 0.1, 0.1, 0.1, 0.1]))
    found = np.array([run() for _ in range(300)])
    assert all(len(set(row)) == 3 for row in found.tolist()) and (found == 0).any(axis=1).mean() > 0.9
    assert sorted(random.choice(np.array([5, 6, 7]), (3,), replace=False).tolist()) == [5, 6, 7]
    assert random.choice(np.zeros((0, 2)), (0,)).shape == (0, 2) and random.choice(0, (0,)).tolist() == []
    rows = random.choice(nv.constant([[1, 2], [3, 4]], "N=2, F=2"), "M=3", axis="N")
    assert str(rows.axes) == "(M: 3, F: 2)" and {tuple(row) for row in rows.tolist()} <= {(1.0, 2.0), (3.0, 4.0)}


@pytest.mark.parametrize("name", ["randint", "rademacher", "permutation", "choice"])
def test_exact_arithmetic_has_the_same_bits_everywhere(name):
    """A431: the interpreter's and the cpu's."""
    draw = {"randint": lambda: random.randint((50,), -9, 10**12), "rademacher": lambda: random.rademacher((50,)),
            "permutation": lambda: random.permutation(50), "choice": lambda: random.choice(50, (20,))}[name]
    found = []
    for transformer in ("interpreter", "cpu"):
        nv.seed(5)
        with nv.transformers.make_transformer(transformer) as made:
            found.append(made.computation(draw())().tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["gamma 0.3", "student", "gumbel", "truncated normal", "poisson few", "binomial many"])
def test_transformers_agree(name):
    """A431: up to what their logarithms differ by; elements do not depend on how many others there are."""
    draw, _ = {**CONTINUOUS, **WHOLE}[name]
    found = []
    for transformer in ("interpreter", "cpu"):
        nv.seed(6)
        with nv.transformers.make_transformer(transformer) as made:
            found.append(made.computation(draw((300,)))())
    np.testing.assert_allclose(found[0].astype(float), found[1].astype(float), rtol=2e-4, atol=1e-5)


def test_parameters_are_over_axes_of_the_result():
    """A430: by name and by position, and lengths may be symbols."""
    nv.seed(16)
    scales = nv.constant([1.0, 100.0], "F=2")
    for draw in (random.exponential, random.gamma, random.poisson, random.rayleigh):
        x = draw("N=500, F=2", scales)
        assert str(x.axes) == "(N: 500, F: 2)" and 50 < x.numpy()[:, 1].mean() / x.numpy()[:, 0].mean() < 200 or (
            draw is random.rayleigh)
    n = nv.dim("n")
    given = nv.placeholder((n,))
    assert nv.computation(random.gamma((n,), given), given)(np.float32([1, 2, 3])).shape == (3,)
    for wrong in (lambda: random.gamma((3,), np.ones((2, 3), np.float32)), lambda: random.exponential("N=3", scales)):
        with pytest.raises(AxisMismatch):
            wrong()


@pytest.mark.parametrize("shape", [0.2, 0.9, 1.5, 10.0, 300.0])
def test_the_derivative_for_a_shape_is_that_of_the_quantile(shape):
    """A432: at each number drawn, dx/da at a constant value of the distribution function."""
    nv.seed(17)
    a = nv.variable((200,), np.full(200, shape), nv.float64)
    x = random.gamma((200,), a, dtype=nv.float64)
    values, slopes = nv.computation([x, nv.deriv(nv.sum(x), a)])()
    step = 1e-4 * shape
    level, upper = stats.gamma(shape).cdf(values), stats.gamma(shape).sf(values)
    expected = np.where(level < 0.5, stats.gamma(shape + step).ppf(level) - stats.gamma(shape - step).ppf(level),
                        stats.gamma(shape + step).isf(upper) - stats.gamma(shape - step).isf(upper)) / (2 * step)
    np.testing.assert_allclose(slopes, expected, rtol=2e-4, atol=1e-9)


@pytest.mark.parametrize(("draw", "slope"), [
    (lambda p: random.exponential((4000,), p), 1.0), (lambda p: random.chisquare((4000,), p), 1.0),
    (lambda p: random.laplace((4000,), p), 1.0), (lambda p: random.lognormal((4000,), p, 0.1), 2.732),
    (lambda p: random.beta((4000,), p * 0 + 1.0, p), -0.25), (lambda p: random.triangular((4000,), 0.0, p, 2.0), 1 / 3),
    (lambda p: random.weibull((4000,), 2.0, p), 0.886), (lambda p: random.gumbel((4000,), 0.0, p), 0.577)])
def test_derivatives_of_means(draw, slope):
    """A432: those of the mean of the distribution, up to the sample."""
    nv.seed(18)
    p = nv.variable((), 1.0)
    assert abs(nv.deriv(nv.mean(draw(p)), p).item() - slope) < 0.08


def test_extremes_are_finite():
    """A430: no draw is infinite where its distribution is not."""
    nv.seed(19)
    kinds = (nv.float16, nv.bfloat16, nv.float32, nv.float64)
    draws = (random.gumbel, random.exponential, random.logistic, random.laplace, random.cauchy,
             lambda axes, dtype: random.gamma(axes, 0.001, dtype=dtype))
    for number, draw in enumerate(draws):
        for dtype in kinds if DEEP else kinds[number % 2::2]:
            x = draw((5000,), dtype=dtype).numpy().astype(float)
            assert np.isfinite(x[:2]).all() and not np.isnan(x).any()
    assert random.poisson((5,), 0.0).tolist() == [0] * 5 and random.binomial((3,), 4, 1.0).tolist() == [4] * 3
    assert random.binomial((3,), 0, 0.5).tolist() == [0] * 3 and random.geometric((3,), 1.0).tolist() == [1] * 3


@pytest.mark.parametrize(("call", "kind"), [
    (lambda: random.exponential((2,), -1.0), InvalidArgument), (lambda: random.gamma((2,), 0.0), InvalidArgument),
    (lambda: random.gamma((2,), 1.0, dtype=nv.int32), DtypeMismatch),
    (lambda: random.triangular((2,), 0.0, 3.0, 2.0), InvalidArgument),
    (lambda: random.truncated_normal((2,), 1.0, 1.0), InvalidArgument),
    (lambda: random.randint((2,), 3, 3), InvalidArgument),
    (lambda: random.randint((2,), 0, 300, nv.uint8), InvalidArgument),
    (lambda: random.randint((2,), 0, 3, nv.float32), WrongKind), (lambda: random.geometric((2,), 1.5), InvalidArgument),
    (lambda: random.binomial((2,), -1, 0.5), InvalidArgument), (lambda: random.poisson((2,), -1.0), InvalidArgument),
    (lambda: random.choice(2, (3,), replace=False), InvalidArgument), (lambda: random.choice(0, (3,)), InvalidArgument),
    (lambda: random.choice([1.0, 2.0, 3.0], (5,), p=[0.5, 0.5]), ShapeMismatch),
    (lambda: random.choice(2, (5,), p=[0.5, 0.25, 0.25]), ShapeMismatch),
    (lambda: random.choice(2, (1,), False, np.full((2, 2), 0.5)), ShapeMismatch)], ids=range(16))
def test_parameters_out_of_range_are_refused(call, kind):
    """A430: where they are numbers."""
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.help


def test_bounds_that_are_allowed_themselves():
    """A430: the error says so."""
    for draw in (lambda: random.poisson((3,), -1.0), lambda: random.binomial((3,), -1, 0.5),
                 lambda: random.multinomial((3,), -1, [1.0, 1.0, 1.0])):
        with pytest.raises(InvalidArgument) as caught:
            draw()
        assert caught.value.expected == "0 or more"
