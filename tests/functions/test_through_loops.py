"""Functions of functions through branches and loops: each composition against differences, or a loop of Python."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.errors import NotSupported

TIMES = np.linspace(0, 1, 5)


def recurrence(x):
    start, times = nv.constant(0.3, dtype=nv.float64), nv.constant(TIMES, dtype=nv.float64)
    last, squares = nv.scan(lambda carry, time: (nv.sin(carry) * x + time, carry * carry), start, times)
    return last + nv.sum(squares)


def chosen(x):
    return nv.cond(x > 0, nv.sin, nv.square, x)


def doubled(x):
    return nv.while_loop(lambda total: total < 10, lambda total: total * x, x)


def slope(function, x, step=1e-6):
    ahead, behind = [function(np.array(x + way)) for way in (step, -step)]  # arrays: numbers alone are float32
    return (ahead - behind) / (2 * step)


@pytest.mark.parametrize("function", [recurrence, chosen])
@pytest.mark.parametrize("x", [0.7, -0.4])
def test_directions(function, x):
    """D5: through a scan and a branch, forwards, backwards, and both."""
    x = np.array(x)
    first, second = slope(nv.jit(function), x), slope(nv.grad(function), x)
    for found in (nv.jvp(function, (x,), (1.0,))[1], nv.linearize(function, x)[1](1.0), nv.vjp(function, x)[1](1.0)[0],
                  nv.jacobian(function, mode="forward")(x)):
        np.testing.assert_allclose(found, first, rtol=1e-7)
    for found in (nv.hvp(function, (x,), (1.0,)), nv.hessian(function)(x), nv.grad(nv.grad(function))(x)):
        np.testing.assert_allclose(found, second, rtol=1e-6)


@pytest.mark.parametrize("function", [recurrence, chosen, doubled, nv.grad(recurrence), nv.grad(chosen)])
def test_many_examples(function):
    """D24: through a scan, a branch that each example chooses, and a loop that each ends."""
    x = np.array([1.5, 2.0, 3.0]) if function is doubled else np.array([0.7, -0.4, 0.1])
    np.testing.assert_allclose(nv.vmap(function)(x), [nv.jit(function)(np.array(entry)) for entry in x], rtol=1e-12)


def test_inside_of_a_loop():
    """D24: a map and a derivative in the body of a loop."""
    def step(x, _):
        return x - 0.1 * nv.vmap(nv.grad(lambda entry: entry ** 4))(x), None
    start = np.array([1.0, -2.0])
    found = nv.jit(lambda x: nv.scan(step, x, None, 3)[0])(start)
    for _ in range(3):
        start = start - 0.4 * start ** 3
    np.testing.assert_allclose(found, start)


def test_a_loop_without_a_bound_has_directions_alone():
    """A403, O52: forward mode needs no bound, reverse mode says that it does."""
    value, slope = nv.jvp(doubled, (np.float64(2.0),), (1.0,))
    step = 1e-6
    above = doubled(nv.constant(2.0 + step, dtype=nv.float64)).item()
    assert slope == pytest.approx((above - value.item()) / step, rel=1e-4)
    with pytest.raises(NotSupported, match="no derivative in reverse mode") as caught:
        nv.vjp(doubled, np.float64(2.0))
    assert "max_trips" in caught.value.help
