"""``nv.checkpoint`` as users write it: arguments, captures, variables, random numbers, effects, compositions."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument, NotSupported, WrongKind
from tests.conformance.running import TRANSFORMERS

pytestmark = pytest.mark.parametrize("transformer", TRANSFORMERS)


def run(returns, transformer, *parameters):
    """A computation of ``returns``, a list, on a transformer."""
    return nv.computation(returns, *parameters, transformer=nv.transformers.make_transformer(transformer))


def same(first, second):
    assert len(first) == len(second)
    for mine, theirs in zip(first, second, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@dataclasses.dataclass
class Parts:
    sums: object
    name: str


def test_arguments_and_results_are_nested(transformer):
    """V3"""
    @nv.checkpoint
    def f(pair, scale=1.0, *, mode):
        """Adds."""
        return {"a": Parts(pair["x"] * scale + pair["y"][0], mode), "b": (None, nv.exp(pair["y"][1]), 3.0)}

    assert f.__name__ == "f" and f.__doc__ == "Adds."
    x = nv.placeholder("N=3")
    with pytest.raises(WrongKind, match="checkpoint"):
        f({"x": x, "y": [x, x]}, mode="sum")  # a string is no result

    @nv.checkpoint
    def g(pair, scale=1.0, *, mode):
        assert mode == "sum"
        return {"a": pair["x"] * scale + pair["y"][0], "b": (None, nv.exp(pair["y"][1]), 3.0)}

    found = g({"x": x, "y": [x, x * 2.0]}, 5.0, mode="sum")
    assert found["a"].axes == x.axes and found["b"][0] is None
    values = run([found["a"], found["b"][1], found["b"][2]], transformer, x)(np.float32([0, 1, 2]))
    np.testing.assert_allclose(values[0], [0, 6, 12])
    np.testing.assert_allclose(values[1], np.exp([0, 2, 4]), rtol=1e-6)
    assert values[2] == 3.0


def test_derivatives_of_captured_tensors_and_variables(transformer):
    """V1, V3: first and second derivatives, to the bit."""
    x = nv.placeholder("N=4", nv.float64)
    w, v = nv.variable((), 0.7, nv.float64), nv.variable((), -0.2, nv.float64)

    def f(y):
        return nv.tanh(y * w) * nv.exp(x * v)

    found = []
    for layer in (f, nv.checkpoint(f)):
        y = layer(layer(x))
        loss = nv.sum(y * y, out_axes=())
        first = nv.deriv(loss, [x, w, v])
        found.append([loss, *first, *nv.deriv(nv.sum(first[0] * first[0], out_axes=()) + first[1], [x, w, v])])
    results = run([*found[0], *found[1]], transformer, x)(np.linspace(-1, 1, 4))
    count = len(found[0])
    same(results[:4], results[count:count + 4])
    for mine, theirs in zip(results[4:count], results[count + 4:], strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


def test_random_numbers_are_the_same_again(transformer):
    """V4"""
    x = nv.placeholder("N=1000")

    @nv.checkpoint
    def dropped(y):
        mask = nv.uniform(y.axes) < 0.5
        return nv.where(mask, nv.exp(y), 0.0), mask

    y, mask = dropped(x)
    step = run([mask, y, nv.deriv(nv.sum(y, out_axes=()), x)], transformer, x)
    calls = [step(np.zeros(1000, np.float32)) for _ in range(2)]
    for mask, y, slope in calls:
        same([y, slope], [mask.astype(np.float32)] * 2)
    assert not np.array_equal(calls[0][0], calls[1][0])


def test_assignments_prints_and_guards_happen_once(transformer, capfd):
    """V4"""
    count, w = nv.variable((), 0.0), nv.variable((), 2.0)
    x = nv.placeholder(())

    @nv.checkpoint
    def f(y):
        return nv.sequential([nv.assign(count, count + 1), nv.print_op(nv.exp(y * w) * count, "inside")])

    y = f(x)
    step = run([y, nv.deriv(y, x), count], transformer, x)
    for number in (1, 2):
        value, slope, now = step(0.5)
        assert now == number
        np.testing.assert_allclose([value, slope], np.exp(1) * number * np.array([1, 2]), rtol=1e-6)
        assert capfd.readouterr().out.count("inside") == 1


def test_compositions(transformer):
    """V3: with vmap, jvp, hvp, scans and itself."""
    del transformer

    def f(x):
        return nv.sum(nv.tanh(x * 2.0) ** 2)

    g = nv.checkpoint(nv.checkpoint(f))
    x, rows = np.linspace(-1, 1, 3), np.linspace(-1, 1, 6).reshape(2, 3)
    for made in (lambda h: nv.vmap(h)(rows), lambda h: nv.vmap(nv.grad(h))(rows), lambda h: nv.grad(h)(x),
                 lambda h: nv.jvp(h, (x,), (x + 1,))[1], lambda h: nv.hvp(h, (x,), (x,)), lambda h: nv.hessian(h)(x),
                 lambda h: nv.grad(lambda y: nv.jvp(h, (y,), (y,))[1])(x),
                 lambda h: nv.grad(lambda y: nv.scan(lambda c, r: (c * h(r), None), 1.0, y)[0])(rows)):
        np.testing.assert_allclose(made(g), made(f), rtol=1e-12)


def test_numbers_for_each_example(transformer):
    """V4: under vmap each example draws its own, as without a checkpoint."""
    del transformer
    x = np.zeros((2, 100), np.float32)
    noisy = nv.vmap(nv.checkpoint(lambda row: row + nv.uniform((100,))))(x)
    assert not np.array_equal(noisy[0], noisy[1])


def test_errors(transformer):
    """V5"""
    x, seen = nv.placeholder(()), []
    with pytest.raises(WrongKind, match="checkpoint takes a function"):
        nv.checkpoint(x)
    w = nv.variable((), 1.0)
    with pytest.raises(InvalidArgument, match="the function gives no value"):
        nv.checkpoint(lambda y: nv.assign(w, y))(x)
    called = nv.checkpoint(lambda y: nv.host_call(lambda a: seen.append(1) or a, [y], y, True))(x)
    run([called], transformer, x)(1.0)
    assert len(seen) == 1
    with pytest.raises(NotSupported, match="a derivative would call this function again"):
        nv.deriv(nv.checkpoint(lambda y: nv.host_call(lambda a: a, [y], y, True) * y)(x), x)
