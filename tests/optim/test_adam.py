"""Adam against its published algorithm, written out in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv


def reference(w: np.ndarray, gradient_of, steps: int, rate: float, beta1=0.9, beta2=0.999, epsilon=1e-8) -> np.ndarray:
    """Algorithm 1 of Kingma and Ba, in float64."""
    w, m, v = w.astype(np.float64), 0.0, 0.0
    for t in range(1, steps + 1):
        gradient = gradient_of(w)
        m = beta1 * m + (1 - beta1) * gradient
        v = beta2 * v + (1 - beta2) * gradient**2
        w = w - rate * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + epsilon)
    return w


def test_steps_follow_the_published_algorithm():
    start, target = np.float32([1.0, -2.0, 0.5]), np.float32([0.0, 1.0, 2.0])
    w = nv.variable("F=3", start)
    loss = nv.sum(nv.square(w - nv.constant(target, axes="F=3")) * nv.constant([1.0, 2.0, 3.0], axes="F=3"))
    with nv.transformers.make_transformer("interpreter") as transformer:
        step = transformer.computation([loss, nv.optim.Adam(learning_rate=0.05)(loss)])
        for _ in range(25):
            step()
        found = transformer.get(w)
    expected = reference(start, lambda w: 2 * (w - target) * [1, 2, 3], 25, 0.05)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-5)


def test_all_variables_move_together_and_only_those_asked_for():
    a, b, c = (nv.variable((), 1.0) for _ in range(3))
    loss = a * b * c
    with nv.transformers.make_transformer("interpreter") as transformer:
        transformer.computation(nv.optim.Adam(0.5)(loss, variables=[a, b]))()
        moved = [float(transformer.get(entry)) for entry in (a, b, c)]
    assert moved[2] == 1.0 and moved[0] == moved[1] == pytest.approx(0.5, rel=1e-5)


def test_the_rate_may_be_a_tensor():
    w, rate = nv.variable((), 1.0), nv.placeholder(())
    with nv.transformers.make_transformer("interpreter") as transformer:
        step = transformer.computation(nv.optim.Adam(rate)(w * w), rate)
        step(0.0)
        assert transformer.get(w) == 1.0
        step(0.25)
        assert float(transformer.get(w)) == pytest.approx(0.75, rel=1e-3)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="beta1"):
        nv.optim.Adam(beta1=1.0)
    with pytest.raises(ValueError, match="not negative"):
        nv.optim.Adam(learning_rate=-1.0)
    with pytest.raises(ValueError, match="no variable"):
        nv.optim.Adam()(nv.constant(1.0))
