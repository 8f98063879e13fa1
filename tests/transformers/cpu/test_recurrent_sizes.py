"""Recurrent loops at real sizes against the same layers unrolled, bit by bit, and against NumPy, element by element."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import flags
from tests.conformance.running import DEEP

LENGTH = 64 if DEEP else 8
"""Iterations of the unrolled program, which takes long to compile; the loop takes as long for any number."""


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class Lstm:
    """A cell over namespaces: nervure's functions, or NumPy's in float64."""

    states = 2

    def __init__(self, rng, inputs, width):
        self.w = rng.normal(size=(inputs, 4 * width)) * inputs ** -0.5
        self.u, self.b = rng.normal(size=(width, 4 * width)) * width ** -0.5, rng.normal(size=4 * width) * 0.1

    def step(self, m, weights, state, x):
        (h, c), (w, u, b) = state, weights
        gates = m["matmul"](x, w) + m["matmul"](h, u) + b
        width = gates.shape[-1] // 4
        i, f, g, o = [gates[:, at * width:(at + 1) * width] for at in range(4)]
        c = m["sigmoid"](f) * c + m["sigmoid"](i) * m["tanh"](g)
        h = m["sigmoid"](o) * m["tanh"](c)
        return (h, c), h


class Gru(Lstm):
    states = 1

    def __init__(self, rng, inputs, width):
        self.w = rng.normal(size=(inputs, 3 * width)) * inputs ** -0.5
        self.u, self.b = rng.normal(size=(width, 3 * width)) * width ** -0.5, rng.normal(size=3 * width) * 0.1

    def step(self, m, weights, state, x):
        (h,), (w, u, b) = state, weights
        width = h.shape[-1]
        given, kept = m["matmul"](x, w) + b, m["matmul"](h, u)
        r, z = [m["sigmoid"](given[:, at * width:(at + 1) * width] + kept[:, at * width:(at + 1) * width])
                for at in range(2)]
        n = m["tanh"](given[:, 2 * width:] + r * kept[:, 2 * width:])
        h = (1 - z) * n + z * h
        return (h,), h


OURS = {"matmul": nv.matmul, "sigmoid": nv.sigmoid, "tanh": nv.tanh}
NUMPY = {"matmul": np.matmul, "sigmoid": sigmoid, "tanh": np.tanh}


def computed(cell, loop, length, batch, inputs, width, arrays, threads, is_trained):
    """The last states, all results, and gradients for the slices, first states and weights."""
    xs, h0 = nv.placeholder((length, batch, inputs)), nv.placeholder((batch, width))
    weights = [nv.variable(array.shape, array, nv.float32) for array in (cell.w, cell.u, cell.b)]
    state, rows = tuple([h0] * cell.states), []
    if loop:
        state, rows = nv.scan(lambda s, x: cell.step(OURS, weights, s, x), state, xs)
    else:
        for at in range(length):
            state, row = cell.step(OURS, weights, state, xs[at])
            rows.append(row)
        rows = nv.stack(rows)
    returns = [*state, rows]
    if is_trained:
        loss = nv.sum(rows * rows) + nv.sum(state[-1])
        returns += [nv.deriv(loss, entry) for entry in (xs, h0, *weights)]
    with flags.overriding(threads=threads), nv.transformers.make_transformer("cpu") as cpu:
        return nv.computation(returns, xs, h0, transformer=cpu)(*arrays)


def drawn(kind, length, batch, inputs, width):
    rng = np.random.default_rng(3)
    return kind(rng, inputs, width), [rng.normal(size=(length, batch, inputs)).astype(np.float32),
                                      (rng.normal(size=(batch, width)) * 0.5).astype(np.float32)]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind, batch, inputs, width", [
    (Lstm, 32, 256, 256), (Lstm, 1, 100, 200), (Gru, 32, 96, 128), (Gru, 7, 33, 65)])
def test_a_loop_has_the_bits_of_the_unrolled_layer(kind, batch, inputs, width, threads):
    """A373: forward, and what flows backwards through the carries; sums over iterations have an order of their own."""
    cell, arrays = drawn(kind, LENGTH, batch, inputs, width)
    found, expected = [computed(cell, loop, LENGTH, batch, inputs, width, arrays, threads, True)
                       for loop in (True, False)]
    count = cell.states + 1
    for mine, theirs in zip(found[:count], expected[:count], strict=True):
        np.testing.assert_array_equal(mine.view(np.uint32), theirs.view(np.uint32))
    for mine, theirs in zip(found[count:], expected[count:], strict=True):
        scale = np.sqrt(np.mean(theirs.astype(np.float64) ** 2))
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5 * scale)


@pytest.mark.parametrize("kind, length, batch, inputs, width", [
    (Lstm, 64, 32, 128, 256), (Lstm, 256, 4, 64, 96), (Gru, 50, 32, 64, 128), (Lstm, 100, 1, 64, 200)])
def test_elements_are_numpys(kind, length, batch, inputs, width):
    """A373: in float64, over all iterations; threads change no bit."""
    cell, arrays = drawn(kind, length, batch, inputs, width)
    found, again = [computed(cell, True, length, batch, inputs, width, arrays, threads, True) for threads in (1, 2)]
    for mine, theirs in zip(found, again, strict=True):
        np.testing.assert_array_equal(mine.view(np.uint32), theirs.view(np.uint32))
    xs, h0 = [array.astype(np.float64) for array in arrays]
    weights = [array.astype(np.float32).astype(np.float64) for array in (cell.w, cell.u, cell.b)]

    def run(xs, h0, weights):
        state, rows = tuple([h0] * cell.states), []
        for x in xs:
            state, row = cell.step(NUMPY, weights, state, x)
            rows.append(row)
        return [*state, np.stack(rows)]
    expected = run(xs, h0, weights)
    for mine, theirs in zip(found, expected, strict=False):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=3e-6)

    def loss(step):
        moved = run(xs + step * directions[0], h0 + step * directions[1],
                    [weight + step * direction for weight, direction in zip(weights, directions[2:], strict=True)])
        return np.sum(moved[-1] ** 2) + np.sum(moved[-2])
    rng, slopes = np.random.default_rng(1), found[cell.states + 1:]
    for chosen in range(5):  # along a random direction of each operand
        directions = [rng.normal(size=slope.shape) * (at == chosen) for at, slope in enumerate(slopes)]
        along = np.sum(slopes[chosen].astype(np.float64) * directions[chosen])
        size = np.sqrt(np.sum(slopes[chosen].astype(np.float64) ** 2))
        np.testing.assert_allclose(along, (loss(1e-6) - loss(-1e-6)) / 2e-6, rtol=1e-4, atol=1e-4 * size)
