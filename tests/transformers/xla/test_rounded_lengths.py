"""Lengths that are rounded up, so that a few programs serve all calls."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import nn

pytest.importorskip("jax", reason="jax is not installed")

RANDOM = np.random.default_rng(0)


@pytest.fixture
def xla():
    with nv.transformers.make_transformer("xla") as transformer:
        yield transformer


def network():
    """A classifier with a batch norm, and its loss over a batch of any size."""
    n = nv.dim("n", min=1)
    x, labels = nv.placeholder((n, 1, 6, 6)), nv.placeholder((n,), dtype=nv.int64)
    model = nn.Sequential(nn.Conv(1, 4, (3, 3)), nn.BatchNorm(4), nn.ReLU(), nn.MaxPool(2),
                          nn.Functional(nv.flatten_at, 1), nn.LinearLayer(16, 5))
    return x, labels, nn.losses.cross_entropy(model(x), labels)


def losses(transformer, **options):
    """The losses of steps with batches of several sizes, and the computation."""
    nv.seed(0, transformer=transformer)
    x, labels, loss = network()
    step = nv.computation([loss, nv.optim.Adam(0.01)(loss)], x, labels, transformer=transformer, **options)
    random, found = np.random.default_rng(1), []
    for size in (3, 5, 8, 2, 7):
        images = random.standard_normal((size, 1, 6, 6), np.float32)
        found.append(step(images, random.integers(0, 5, size))[0].item())
    return found, step


def test_steps_with_any_batch_are_one_program(xla):
    """X14: losses and updates are those without padding, batch norms, pools and gradients included."""
    found, step = losses(xla, pad_to={"n": 8})
    with nv.transformers.make_transformer("cpu") as cpu:
        expected, _ = losses(cpu, pad_to=8)
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    assert [dict(key) for key in step.executable._known] == [{"n": 8}]


def test_results_are_cut_and_guards_see_the_elements_of_the_call(xla):
    """X14: indices, one-hot rows and random numbers as well; the largest value of a symbol is kept."""
    n = nv.dim("n", min=1, max=10)
    text = nv.placeholder((n,), dtype=nv.int64)
    table = nv.constant(RANDOM.standard_normal((5, 3)).astype(np.float32))
    rows = nv.gather(table, text, 0)
    run = nv.computation([rows / nv.sum(rows), nv.mean(rows, axis=[0]), nv.uniform((n, 2))], text, transformer=xla,
                         pad_to=8)
    plain = nv.computation([rows / nv.sum(rows), nv.mean(rows, axis=[0])], text, transformer=xla)
    for size in (2, 9, 10):
        given = RANDOM.integers(0, 5, size)
        shares, mean, noise = run(given)
        np.testing.assert_allclose(shares, plain(given)[0], rtol=1e-5)
        np.testing.assert_allclose(mean, plain(given)[1], rtol=1e-5)
        assert shares.shape == (size, 3) and noise.shape == (size, 2)
    assert [dict(key) for key in run.executable._known] == [{"n": 8}, {"n": 10}]
    with pytest.raises(nv.errors.IndexOutOfRange):
        run([1, 7])


def test_jit_rounds_its_own_symbols(xla):
    """X14: one number for all symbols."""
    double = nv.jit(lambda x: nv.softmax(x, axis=0), dynamic={"x": [0]}, transformer=xla, pad_to=4)
    for size in (1, 3, 4):
        given = RANDOM.standard_normal(size).astype(np.float32)
        np.testing.assert_allclose(double(given), np.exp(given) / np.exp(given).sum(), rtol=1e-5)


@pytest.mark.parametrize("options, text", [
    ({"pad_to": {"k": 8}}, "no length has this symbol"),
    ({"pad_to": 0}, "lengths are rounded up to multiples of a number"),
    ({"pad_to": {"n": "many"}}, "n: 'many'"),
    ({"pad_to": 8}, "pad_to= would change what Reverse reads"),
])
def test_what_cannot_be_rounded_is_an_error(xla, options, text):
    """X14: an unknown symbol, a number that is none, and an op that reads from the end."""
    x = nv.placeholder((nv.dim("n"),))
    with pytest.raises(nv.NervureError) as caught:
        nv.computation(nv.flip(x), x, transformer=xla, **options)([1, 2, 3])
    assert text in str(caught.value) and caught.value.help
