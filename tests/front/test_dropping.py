"""Noise in training, distances in pairs, products of groups."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.spatial.distance

import nervure as nv
from nervure.front.networks.noise import SATURATION

RNG = np.random.default_rng(12)


def test_channels_are_dropped_whole(transformer):
    """T448: of each sample; the others are divided by what stays."""
    nv.seed(3)
    for x, channels in ((nv.ones((40, 30, 5)), 1), (nv.ones("W=5, N=40, C=30"), "C")):
        found = transformer.computation(nv.channel_dropout(x, 0.25, channels))()
        rows = found if channels == 1 else found.transpose(1, 2, 0)
        assert (rows == rows[..., :1]).all() and {*np.unique(rows)} == {np.float32(0), np.float32(1 / 0.75)}
        assert abs((rows[..., 0] == 0).mean() - 0.25) < 0.05


@pytest.mark.parametrize("channels", [None, 1])
def test_mean_and_variance_stay(channels, transformer):
    """T448: elements, or whole channels, are at the limit."""
    nv.seed(4)
    x = RNG.standard_normal((200, 100, 4))
    found = transformer.computation(nv.alpha_dropout(nv.constant(x), 0.3, channels))()
    assert abs(found.mean()) < 0.02 and abs(found.var() - 1) < 0.05
    scale = 1 / np.sqrt(0.7 * (1 + 0.3 * SATURATION**2))
    at_limit = np.isclose(found, scale * SATURATION * 0.7)
    assert abs(at_limit.mean() - 0.3) < 0.02
    assert (at_limit == at_limit[..., :1]).all() == (channels == 1)


def test_classes_are_drawn_by_their_logits(transformer):
    """T448: with the probabilities of the softmax; the derivative of the hard choice is that of the shares."""
    nv.seed(5)
    logits = np.log(np.array([0.2, 0.5, 0.3]))
    x = nv.placeholder("N=n, Y=3", nv.float64)
    hard = nv.gumbel_softmax(x, hard=True, axis="Y")
    compute = transformer.computation([hard, nv.deriv(nv.sum(hard * hard, out_axes=()), x)], x)
    found, slope = compute(np.tile(logits, (20_000, 1)))
    assert {*found.ravel()} == {0.0, 1.0} and (found.sum(axis=1) == 1).all()
    np.testing.assert_allclose(found.mean(axis=0), [0.2, 0.5, 0.3], atol=0.015)
    assert np.isfinite(slope).all() and np.abs(slope).max() > 0.1
    cold = nv.gumbel_softmax(np.tile(logits, (500, 1)), temperature=0.01).numpy()
    np.testing.assert_allclose(cold.sum(axis=1), 1, rtol=1e-9)
    assert (cold.max(axis=1) > 0.9).mean() > 0.9


@pytest.mark.parametrize(("p", "metric"), [(1.0, "cityblock"), (2.0, "euclidean"), (np.inf, "chebyshev")])
def test_pairs_of_any_number_of_rows(p, metric, transformer):
    """T449: in SciPy's order."""
    x = nv.placeholder((nv.dim("n"), 3), nv.float64)
    compute = transformer.computation(nv.pdist(x, p), x)
    for count in (0, 1, 2, 7, 40):
        given = RNG.standard_normal((count, 3))
        expected = scipy.spatial.distance.pdist(given, metric) if count > 1 else np.zeros(0)
        np.testing.assert_allclose(compute(given), expected, rtol=1e-12)


def test_pairs_of_many_rows_are_found_exactly():
    """T449: the first and the second row of each pair, for numbers whose root is rounded."""
    count = 3000
    found = nv.pdist(np.stack([np.arange(count) ** 2, np.zeros(count)], 1).astype(np.float64), 1.0).numpy()
    first, second = np.triu_indices(count, 1)
    np.testing.assert_array_equal(found, second**2 - first**2)


def test_equal_rows_have_derivatives():
    """T449: of 0."""
    for p in (1.5, 2.0, 3.0):
        assert nv.grad(lambda x, p=p: nv.sum(nv.pdist(x, p)))(np.ones((3, 2))).tolist() == [[0.0, 0.0]] * 3
    nv.testing.check_grads(lambda x, y: nv.cdist(x, y, 3.0), [RNG.standard_normal((3, 2)), RNG.standard_normal((4, 2))])
    assert nv.cdist([[0.0, 1.0]], [[0.0, 2.0], [5.0, 7.0]], 0.0).tolist() == [[1.0, 2.0]]


def test_products_of_groups(transformer):
    """T449: of any lengths, also of none; rows behind the last group give 0."""
    x, w = nv.placeholder((nv.dim("n"), 4), nv.float64), RNG.standard_normal((3, 4, 2))
    sizes = nv.placeholder((3,), nv.int64)
    y = nv.ragged_dot(x, w, sizes)
    compute = transformer.computation([y, nv.deriv(nv.sum(nv.square(y), out_axes=()), x)], x, sizes)
    given = RNG.standard_normal((7, 4))
    for lengths in ([2, 0, 4], [0, 0, 0], [7, 0, 0]):
        expected, at = np.zeros((7, 2)), 0
        slope = np.zeros((7, 4))
        for k, length in enumerate(lengths):
            rows = slice(at, at + length)
            expected[rows] = given[rows] @ w[k]
            slope[rows] = 2 * expected[rows] @ w[k].T
            at += length
        found = compute(given, lengths)
        np.testing.assert_allclose(found[0], expected, rtol=1e-12)
        np.testing.assert_allclose(found[1], slope, rtol=1e-12)


@pytest.mark.parametrize(("kind", "call"), [
    (nv.InvalidArgument, lambda: nv.alpha_dropout([1.0], 1.0)),
    (nv.InvalidArgument, lambda: nv.gumbel_softmax([1.0], 0.0)),
    (nv.ShapeMismatch, lambda: nv.pdist([1.0])), (nv.InvalidArgument, lambda: nv.pdist([[1.0]], -1.0)),
    (nv.ShapeMismatch, lambda: nv.cdist([[1.0]], [[1.0, 2.0]])),
    (nv.ShapeMismatch, lambda: nv.ragged_dot([[1.0]], [1.0], [1])),
    (nv.ShapeMismatch, lambda: nv.ragged_dot([[1.0]], [[[1.0]]], [1, 1]))], ids=range(7))
def test_mistakes_are_explained(kind, call):
    """T448, T449."""
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.help and caught.value.expected
