"""Functions of functions in each other, over functions with loops, branches and checkpoints: each against differences.

A row of a table is a way to a gradient, to a Hessian, or to what many examples give. All rows of a table agree.
"""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv

X = np.array([0.7, -0.4, 1.2])
MANY = np.array([X, X[::-1] * 0.5, [0.3, 0.2, -0.9], [-1.5, 0.1, 0.8]])
DIRECTIONS = np.eye(3)
SLICES = np.linspace(-1, 1, 12).reshape(4, 3)


def plain(x):
    return nv.sum(nv.sin(x) * nv.exp(x * x * 0.3)) + x[0] * x[1]


def scanned(x):
    def step(carry, row):
        carry = nv.tanh(carry * x + row)
        return carry, nv.sum(carry * x)
    last, totals = nv.scan(step, x * 0.5, nv.constant(SLICES, dtype=nv.float64), reverse=True)
    return nv.sum(last * last) + nv.sum(totals * totals)


def chosen(x):
    total = nv.sum(x)
    branches = [lambda v: nv.sum(nv.exp(v * v * 0.3)) * v[1], lambda v: nv.sum(v ** 3)]
    return nv.cond(total > 1, *branches, x) + nv.switch(nv.convert(total > 0, nv.int32), branches, x * 0.5)


def repeated(x):
    """Newton's square root of 1 + x x, in as many steps as it takes."""
    z = 1 + nv.sum(x * x)
    root = nv.while_loop(lambda r: nv.absolute(r * r - z) > 1e-3, lambda r: (r + z / r) / 2, z, max_trips=12)
    return root * nv.sum(nv.sin(x))


def counted(x):
    return nv.sum(nv.fori_loop(1, 4, lambda i, v: nv.sin(v * x) + i.astype(nv.float64) * v[::-1], x))


def mapped(x):
    return nv.sum(nv.map(lambda v: nv.sin(v) * nv.sum(x), x) * x)


def nested(x):
    def step(carry, row):
        inner = nv.fori_loop(0, 2, lambda i, v: nv.sin(v + row), carry)
        return nv.cond(nv.sum(row) > 0, lambda: inner * x, lambda: inner + x), inner
    last, rows = nv.scan(step, x, nv.constant(SLICES, dtype=nv.float64))
    return nv.sum(last * last) + nv.sum(rows)


def remade(x):
    return nv.sum(nv.checkpoint(lambda v: nv.sin(v * v) * nv.sum(v))(nv.checkpoint(nv.exp)(x * 0.5)))


def derived(x):
    """A loop whose body takes a gradient, a tangent, and many of both."""
    def potential(v):
        return nv.sum(nv.sin(v) * v)

    def step(v, _):
        v = v - 0.1 * nv.grad(potential)(v)
        slope = nv.jvp(potential, (v,), (x,))[1]
        return v + nv.vmap(lambda w: nv.grad(lambda u: u ** 3)(w))(v) * 0.01, slope
    last, slopes = nv.scan(step, x, None, 3)
    return nv.sum(last * x) + nv.sum(slopes)


FUNCTIONS = [plain, scanned, chosen, repeated, counted, mapped, nested, remade, derived]

GRADIENTS = {
    "grad": lambda f: nv.grad(f),
    "value and grad": lambda f: lambda x: nv.value_and_grad(f)(x)[1],
    "vjp": lambda f: lambda x: nv.vjp(f, x)[1](1.0)[0],
    "jacobian, forward": lambda f: nv.jacobian(f, mode="forward"),
    "jacobian, reverse": lambda f: nv.jacobian(f, mode="reverse"),
    "vmap of jvp": lambda f: lambda x: nv.vmap(lambda v: nv.jvp(f, (x,), (v,))[1])(DIRECTIONS),
    "vmap of linearize": lambda f: lambda x: nv.vmap(nv.linearize(f, x)[1])(DIRECTIONS),
    "jit of grad": lambda f: nv.jit(nv.grad(f)),
    "grad of jit": lambda f: nv.grad(nv.jit(f)),
    "grad of checkpoint": lambda f: nv.grad(nv.checkpoint(f)),
    "map of jvp": lambda f: nv.jit(lambda x: nv.map(lambda v: nv.jvp(f, (x,), (v,))[1], nv.constant(DIRECTIONS,
                                                                                                     dtype=nv.float64))),
    "grad through a cond": lambda f: nv.grad(lambda x: nv.cond(nv.sum(x) > -99, f, lambda v: v[0], x)),
    "grad through a scan": lambda f: nv.grad(lambda x: nv.scan(lambda c, _: (c + f(x), None), 0.0, None, 1)[0]),
}

HESSIANS = {
    "hessian": nv.hessian,
    "forward over reverse": lambda f: nv.jacobian(nv.grad(f), mode="forward"),
    "reverse over reverse": lambda f: nv.jacobian(nv.grad(f), mode="reverse"),
    "reverse over forward": lambda f: nv.jacobian(nv.jacobian(f, mode="forward"), mode="reverse"),
    "forward over forward": lambda f: nv.jacobian(nv.jacobian(f, mode="forward"), mode="forward"),
    "vmap of hvp": lambda f: lambda x: nv.vmap(lambda v: nv.hvp(f, (x,), (v,)))(DIRECTIONS),
    "vmap of grad of jvp": lambda f: lambda x: nv.vmap(
        lambda v: nv.grad(lambda y: nv.jvp(f, (y,), (v,))[1])(x))(DIRECTIONS),
    "vmap of linearize of grad": lambda f: lambda x: nv.vmap(nv.linearize(nv.grad(f), x)[1])(DIRECTIONS),
    "vmap of vjp of grad": lambda f: lambda x: nv.vmap(lambda v: nv.vjp(nv.grad(f), x)[1](v)[0])(DIRECTIONS),
    "jit of hessian": lambda f: nv.jit(nv.hessian(f)),
    "hessian of checkpoint": lambda f: nv.hessian(nv.checkpoint(f)),
    "map of hvp": lambda f: nv.jit(lambda x: nv.map(lambda v: nv.hvp(f, (x,), (v,)), nv.constant(DIRECTIONS,
                                                                                                 dtype=nv.float64))),
}


def itself(function):
    return function


EXAMPLES = {
    "vmap": (nv.vmap, itself),
    "vmap of jit": (lambda f: nv.vmap(nv.jit(f)), itself),
    "jit of vmap": (lambda f: nv.jit(nv.vmap(f)), itself),
    "map": (lambda f: nv.jit(lambda xs: nv.map(f, xs)), itself),
    "vmap of grad": (lambda f: nv.vmap(nv.grad(f)), nv.grad),
    "grad of vmap": (lambda f: nv.grad(lambda xs: nv.sum(nv.vmap(f)(xs))), nv.grad),
    "vmap of hessian": (lambda f: nv.vmap(nv.hessian(f)), nv.hessian),
    "vmap of vmap": (lambda f: lambda xs: nv.vmap(nv.vmap(f))(xs.reshape(2, 2, 3)).reshape(4), itself),
    "scan of vmap of grad": (lambda f: nv.jit(lambda xs: nv.scan(
        lambda c, x: (c, nv.vmap(nv.grad(f))(nv.stack([x, x]))[0]), (), xs)[1]), nv.grad),
}


def differences(function, x, step):
    """The slopes of a function of an array along each of its elements, last."""
    return np.stack([(np.asarray(function(x + way)) - np.asarray(function(x - way))) / (2 * step)
                     for way in step * np.eye(len(x))], axis=-1)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_ways_to_a_gradient(function):
    """D5, D24: forward, in reverse, mapped, compiled, in loops and branches."""
    expected = differences(nv.jit(function), X, 1e-5)
    for name, way in GRADIENTS.items():
        np.testing.assert_allclose(way(function)(X), expected, rtol=1e-7, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_ways_to_a_hessian(function):
    """D5, D10: each mode over each, mapped, compiled and in loops."""
    expected = differences(nv.jit(nv.grad(function)), X, 1e-5)
    for name, way in HESSIANS.items():
        np.testing.assert_allclose(way(function)(X), expected, rtol=1e-7, atol=1e-7, err_msg=name)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_many_examples(function):
    """D20, D21: what is mapped is a loop over examples, which may choose other branches and stop at other times."""
    expected = {}
    for one in (itself, nv.grad, nv.hessian):
        compiled = nv.jit(one(function))
        expected[one] = [compiled(row) for row in MANY]
    for name, (several, one) in EXAMPLES.items():
        np.testing.assert_allclose(several(function)(MANY), expected[one], rtol=1e-11, atol=1e-11, err_msg=name)


@pytest.mark.parametrize("function", [plain, scanned, repeated, nested, derived])
def test_third_derivatives(function):
    """D5: the derivative of a Hessian, each mode over it."""
    expected = differences(nv.jit(nv.hessian(function)), X, 1e-4)
    for name, way in {"forward": lambda f: nv.jacobian(nv.hessian(f), mode="forward"),
                      "vmap of jvp": lambda f: lambda x: np.moveaxis(nv.vmap(
                          lambda v: nv.jvp(nv.hessian(f), (x,), (v,))[1])(DIRECTIONS), 0, -1)}.items():
        np.testing.assert_allclose(way(function)(X), expected, rtol=1e-5, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_interpreter_agrees(function):
    """D5: both transformers, in one program: a value, its gradient, a tangent and one of the gradient."""
    def all_of(x, v):
        value, slope = nv.jvp(function, (x,), (v,))
        return [value, slope, nv.grad(function)(x), nv.hvp(function, (x,), (v,))]
    found = [nv.jit(all_of, transformer=nv.transformers.make_transformer(name))(X, DIRECTIONS[1])
             for name in ("cpu", "interpreter")]
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
def test_lengths_may_be_symbols(transformer):
    """D9, D22: of the loop and of the examples; what a program gives for each size is what one that knows it gives."""
    def running(x):
        def step(c, v):
            c = nv.cond(c > 0, lambda: nv.sin(c * v), lambda: c - v)
            return c, c * v
        last, rows = nv.scan(step, nv.sum(x) * 0.5, x)
        return last + nv.sum(rows * rows)

    def all_of(xs, v):
        first = nv.sum(xs) * 0.01 + v
        return [nv.vmap(running)(xs), nv.vmap(nv.grad(running))(xs), nv.grad(running)(first),
                nv.jvp(running, (first,), (v,))[1], nv.hvp(running, (first,), (v,)),
                nv.jacobian(nv.grad(running))(first)]
    xs, v = nv.placeholder((nv.dim("n"), nv.dim("t")), nv.float64), nv.placeholder((nv.dim("t"),), nv.float64)
    made = nv.transformers.make_transformer(transformer)
    compiled, rng = nv.computation(all_of(xs, v), xs, v, transformer=made), np.random.default_rng(0)
    for count, length in ((3, 4), (1, 1), (0, 2), (2, 0), (2, 9)):
        arrays = rng.standard_normal((count, length)), rng.standard_normal(length)
        expected = nv.jit(all_of, transformer=nv.transformers.make_transformer("interpreter"))(*arrays)
        for mine, theirs in zip(compiled(*arrays), expected, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-11)
