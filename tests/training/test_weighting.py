"""Weights of examples, against sums written out in NumPy."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import nervure as nv
from nervure import nn
from nervure.front.creation import as_tensor
from nervure.training.weighting import spread, weighted_mean

generator = np.random.default_rng(5)
X = generator.standard_normal((12, 3)).astype(np.float32)
Y = generator.standard_normal((12, 1)).astype(np.float32)
LABELS = generator.integers(3, size=12)
W = generator.random(12).astype(np.float32) * 3
W[4] = 0
squared = nn.losses.mean_squared_error


def fitted(weights: np.ndarray, size: int, loss: object = squared) -> tuple[list, np.ndarray]:
    layer = nn.LinearLayer(3, 1, weights=0.5, bias=False)
    own = nv.Trainer(layer, nv.optim.SGD(0.1), loss, weights=-1)
    return own.fit((X, Y, weights), 2, size=size, shows=False), layer.weights.numpy()


def test_a_step_is_that_of_the_weighted_mean():
    """T373: sum(w l) / sum(w), and its gradient; the means of an epoch are over the weights."""
    history, weights = fitted(W, 12)
    expected = np.full((3, 1), 0.5)
    losses = []
    for _ in range(2):
        error = X @ expected - Y
        losses.append((W * error[:, 0] ** 2).sum() / W.sum())
        expected = expected - 0.1 * 2 * X.T @ (W[:, None] * error) / W.sum()
    assert np.allclose(weights, expected, atol=1e-5)
    assert np.allclose([entry["loss"] for entry in history], losses, rtol=1e-5)


def test_weights_of_one_scale_change_nothing():
    """T373: nor do those that are all 1, beside rounding; an example of weight 0 is none."""
    plain = nn.LinearLayer(3, 1, weights=0.5, bias=False)
    nv.Trainer(plain, nv.optim.SGD(0.1), squared).fit((X, Y), 2, size=5, shows=False)
    assert np.allclose(fitted(np.ones(12), 5)[1], plain.weights.numpy(), atol=1e-6)
    assert np.allclose(fitted(W, 12)[1], fitted(W * 8, 12)[1], atol=1e-6)
    kept = np.arange(12) != 4
    own = nv.Trainer(lambda x: x @ nv.constant(np.ones((3, 1))), nv.optim.SGD(0.1), squared, weights=2)
    assert own.evaluate((X, Y, W), size=5)["loss"] == pytest.approx(
        own.evaluate((X[kept], Y[kept], W[kept]), size=3)["loss"], rel=1e-6)


def test_a_batch_of_no_weight():
    """T373: its loss is 0 and changes nothing, though another example is infinitely wrong."""
    data = (np.float32([[1.0], [np.inf], [2.0]]), np.zeros((3, 1), np.float32), np.float32([0, 0, 1]))
    own = nv.Trainer(lambda x: x, nv.optim.SGD(0.1), squared, weights=2)
    assert own.evaluate(nv.data.Batches(*data, size=2, shuffled=False))["loss"] == 4.0
    assert np.isnan(own.evaluate((data[0], data[1], np.zeros(3)))["loss"])


def test_losses_and_metrics_that_take_weights():
    """T373: ``reduction`` of the losses, ``weights`` of one's own; what takes neither is of all alike."""
    def own_loss(outputs, targets, weights):
        return nv.sum((outputs[:, 0] - targets[:, 0]) ** 2 * weights, out_axes=()) / nv.sum(weights, out_axes=())

    def plain(outputs, targets):
        return nv.mean(outputs, out_axes=())
    assert np.allclose(fitted(W, 5)[1], fitted(W, 5, own_loss)[1], atol=1e-6)
    smooth = functools.partial(nn.losses.cross_entropy, smoothing=0.1)
    trainer = nv.Trainer(lambda x: x, nv.optim.SGD(0.1), smooth, [nv.training.accuracy, plain], targets=1, weights=2)
    found = trainer.evaluate((X, LABELS, W), size=5)
    logs = X - np.log(np.exp(X.astype(np.float64)).sum(axis=1, keepdims=True))
    smoothed = np.eye(3)[LABELS] * 0.9 + 0.1 / 3
    assert found["loss"] == pytest.approx((W * -(smoothed * logs).sum(axis=1)).sum() / W.sum(), rel=1e-5)
    assert found["accuracy"] == pytest.approx((W * (X.argmax(axis=1) == LABELS)).sum() / W.sum(), rel=1e-6)
    assert found["plain"] == pytest.approx(X.mean(), rel=1e-5)


def test_weights_of_positions():
    """T373: over as many axes as they have, the rest is averaged; by name where axes have names."""
    values = generator.random((4, 3, 2)).astype(np.float32)
    for weights in (np.arange(4.0), np.arange(12.0).reshape(4, 3), np.arange(24.0).reshape(4, 3, 2)):
        means = values.mean(axis=tuple(range(weights.ndim, 3)))
        assert weighted_mean(as_tensor(values), weights).item() == pytest.approx(
            (means * weights).sum() / weights.sum(), rel=1e-5)
    named = nv.constant(values, "N=4, T=3, C=2")
    by_time = weighted_mean(named, nv.constant([1.0, 0.0, 2.0], "T=3"))
    assert by_time.item() == pytest.approx(np.average(values.mean(axis=(0, 2)), weights=[1, 0, 2]), rel=1e-5)
    assert spread(nv.constant([1.0, 2.0, 3.0], "T=3"), named).numpy()[0, :, 0].tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(nv.AxisMismatch, match="weights have axes that the losses lack"):
        weighted_mean(as_tensor(values[:, 0, 0]), np.ones((4, 2)))


def test_a_loss_that_takes_no_weights_is_refused():
    """T320, T373: before anything is built."""
    with pytest.raises(nv.WrongKind, match="<lambda> takes no weights of examples"):
        nv.Trainer(lambda x: x, nv.optim.SGD(0.1), lambda x, y: nv.mean(x - y, out_axes=()), weights=2)
    with pytest.raises(nv.WrongKind, match="weights is a tensor"):
        nv.Trainer(lambda x: x, nv.optim.SGD(0.1), squared, weights=2).evaluate((X, X, (W, W)))
