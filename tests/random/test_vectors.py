"""Random vectors, matrices and counts of several outcomes: by their distributions, names, derivatives, and errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import nervure as nv
from nervure import random
from nervure.errors import AxisMismatch, InvalidArgument, ShapeMismatch
from tests.random.test_distributions import LEAST

COVARIANCE = np.float32([[2, 0.6, 0], [0.6, 1, -0.3], [0, -0.3, 0.5]])


@pytest.mark.parametrize("p", [1.0, 2.0, 5.0])
def test_balls(p):
    """A430: the norm to the power of the number of dimensions is even, signs are, and axes keep their names."""
    nv.seed(31)
    x = random.ball("K=3, N=8000", p, "K")
    assert str(x.axes) == "(K: 3, N: 8000)"
    size = np.linalg.norm(x.numpy().astype(float), p, axis=0)
    assert size.max() <= 1 + 1e-6 and stats.kstest(size**3, "uniform").pvalue > LEAST
    assert stats.binomtest(int((x.numpy() > 0).sum()), 24000).pvalue > LEAST


def test_vectors_have_their_covariance():
    """A430: of all directions, by Kolmogorov and Smirnov; derivatives are those of the mean of squares."""
    nv.seed(32)
    mean, covariance = nv.variable((3,), [1.0, -1.0, 0.0]), nv.variable((3, 3), COVARIANCE)
    x = random.multivariate_normal("N=8000, F=3", nv.cast_axes(mean, "F=3"), covariance)
    found, of_mean, of_covariance = nv.computation([x, nv.deriv(nv.sum(x, out_axes=()), mean), nv.deriv(
        nv.mean(nv.square(x), out_axes="F=3") @ nv.ones("F=3"), covariance)])()
    for direction in np.float64([[1, 0, 0], [0, 1, 1], [1, -2, 3]]):
        spread = np.sqrt(direction @ COVARIANCE @ direction)
        expected = stats.norm(direction @ [1, -1, 0], spread)
        assert stats.kstest(found.astype(float) @ direction, expected.cdf).pvalue > LEAST
    assert of_mean.tolist() == [8000] * 3
    np.testing.assert_allclose(np.diagonal(of_covariance), 1, atol=0.15)
    batch = random.multivariate_normal((4, 2, 3), 0.0, np.stack([COVARIANCE, np.eye(3, dtype=np.float32)]))
    assert batch.shape == (4, 2, 3)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_matrices_are_orthogonal(shape):
    """A430: an element's square is beta distributed, and its sign is even."""
    nv.seed(33)
    x = random.orthogonal((3000, *shape), nv.float64).numpy()
    product = x.swapaxes(1, 2) @ x if shape[0] >= shape[1] else x @ x.swapaxes(1, 2)
    np.testing.assert_allclose(product, np.broadcast_to(np.eye(min(shape)), product.shape), atol=1e-12)
    longer = max(shape)
    for row, column in ((0, 0), (shape[0] - 1, shape[1] - 1)):
        each = x[:, row, column]
        assert stats.kstest(each**2, stats.beta(0.5, (longer - 1) / 2).cdf).pvalue > LEAST
        assert stats.binomtest(int((each > 0).sum()), 3000).pvalue > LEAST
    assert str(random.orthogonal("N=2, F=3").axes) == "(N: 2, F: 3)"


def test_counts_of_several_outcomes():
    """A430: each is binomial, and they add up to the trials; chances are in proportion."""
    nv.seed(34)
    found = random.multinomial("K=3, N=4000", 25, [1.0, 2.0, 5.0], "K")
    counts = found.numpy()
    assert str(found.axes) == "(K: 3, N: 4000)" and (counts.sum(axis=0) == 25).all() and counts.min() >= 0
    for row, chance in zip(counts, (0.125, 0.25, 0.625), strict=True):
        expected = stats.binom(25, chance)
        values = np.arange(int(expected.ppf(1e-3)) + 1, int(expected.ppf(1 - 1e-3)))
        counted = [(row < values[0]).sum(), *[(row == k).sum() for k in values], (row > values[-1]).sum()]
        chances = np.array([expected.cdf(values[0] - 1), *expected.pmf(values), expected.sf(values[-1])])
        assert stats.chisquare(counted, 4000 * chances).pvalue > LEAST
    with nv.transformers.make_transformer("interpreter") as made:
        each = random.multinomial((2, 3), np.array([4, 9]), [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
        assert made.computation(each)().tolist() == [[4, 0, 0], [0, 0, 9]]


@pytest.mark.parametrize(("mean", "scale"), [(1.0, 1.0), (2.0, 30.0), (3.0, 0.4)])
def test_the_derivatives_of_wald_are_those_of_the_quantile(mean, scale):
    """A432: at each number drawn, at a constant value of the distribution function."""
    nv.seed(35)
    places = [nv.variable((100,), np.full(100, value), nv.float64) for value in (mean, scale)]
    x = random.wald((100,), *places, dtype=nv.float64)
    values, *slopes = nv.computation([x, *[nv.deriv(nv.sum(x), place) for place in places]])()

    def distribution(m, s):
        return stats.invgauss(m / s, scale=s)
    density = distribution(mean, scale).pdf(values)
    for at, slope in enumerate(slopes):
        step = 1e-5 * (mean, scale)[at]
        ends = [distribution(*[value + sign * step * (d == at) for d, value in enumerate((mean, scale))]).cdf(values)
                for sign in (1, -1)]
        np.testing.assert_allclose(slope, -(ends[0] - ends[1]) / (2 * step) / density, rtol=1e-4, atol=1e-5)


def test_derivatives_of_means():
    """A432: those of the mean of the distribution, up to the sample."""
    nv.seed(36)
    a = nv.variable((), 1.5)
    assert abs(nv.deriv(nv.mean(random.loggamma((8000,), a)), a).item() - 0.935) < 0.05  # trigamma(1.5)
    assert abs(nv.deriv(nv.mean(random.maxwell((8000,), a)), a).item() - 1.596) < 0.05
    assert abs(nv.deriv(nv.mean(nv.absolute(random.generalized_normal((8000,), 1.0, 0.0, a))), a).item() - 1) < 0.05


@pytest.mark.parametrize(("program", "kind"), [
    (lambda: random.ball((2, 2), 0.0), InvalidArgument), (lambda: random.wald((2,), -1.0), InvalidArgument),
    (lambda: random.orthogonal((3,)), ShapeMismatch), (lambda: random.maxwell((3,), -1.0), InvalidArgument),
    (lambda: random.multivariate_normal((2, 2), 0.0, COVARIANCE), ShapeMismatch),
    (lambda: random.multinomial((2, 3), 4, [1.0, 2.0]), ShapeMismatch),
    (lambda: random.multinomial((2, 3), -4, [1.0, 2.0, 3.0]), InvalidArgument),
    (lambda: random.generalized_normal((2,), np.ones((3, 2), np.float32)), AxisMismatch)])
def test_parameters_out_of_range_are_refused(program, kind):
    """A430: where they are numbers."""
    with pytest.raises(kind) as caught:
        program()
    assert caught.value.help
