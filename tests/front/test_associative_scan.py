"""Prefixes under associative functions: values of a loop and of JAX, nestings, names, derivatives, symbols, errors."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument, ShapeMismatch, WrongKind
from nervure.ops.looping import Scan
from tests.conformance.running import TRANSFORMERS


def run(returns, transformer, *parameters):
    return nv.computation(returns, *parameters, transformer=nv.transformers.make_transformer(transformer))


def compose(f, g):
    """Two affine maps one after the other, for rows of factors and of offsets."""
    return {"a": f["a"] * g["a"], "b": f["b"] * g["a"] + g["b"]}


def prefixes(fn, rows, reverse=False):
    order = rows[::-1] if reverse else rows
    found = [order[0]]
    for row in order[1:]:
        found.append(fn(found[-1], row))
    return found[::-1] if reverse else found


@pytest.mark.parametrize("transformer", TRANSFORMERS)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [1, 2, 3, 4, 7, 16, 31])
def test_prefixes_of_known_and_open_lengths(transformer, reverse, length):
    """A380: in order, though fn does not commute; where the length is a symbol, too."""
    rng = np.random.default_rng(length)
    a, b = [rng.normal(size=(length, 2)) for _ in range(2)]
    expected = prefixes(lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1]), [*zip(a, b, strict=True)], reverse)
    for shape in ((length, 2), (nv.dim("T"), 2)):
        x, y = [nv.placeholder(shape, nv.float64) for _ in range(2)]
        found = nv.associative_scan(compose, {"a": x, "b": y}, reverse=reverse)
        for mine, theirs in zip(run([found["a"], found["b"]], transformer, x, y)(a, b),
                                zip(*expected, strict=True), strict=True):
            np.testing.assert_allclose(mine, np.array(theirs), rtol=1e-12)


@pytest.mark.parametrize("reverse", [False, True])
def test_derivatives_of_known_and_open_lengths_agree(reverse):
    """A380: of first and second order."""
    data = np.random.default_rng(0).normal(size=(5, 2))
    found = []
    for shape in ((5, 2), (nv.dim("T"), 2)):
        x = nv.placeholder(shape, nv.float64)
        rows = nv.associative_scan(compose, {"a": x, "b": nv.sin(x)}, reverse=reverse)["b"]
        slope = nv.deriv(nv.sum(rows * rows), x)
        found.append(run([slope, nv.deriv(nv.sum(slope * slope), x)], "cpu", x)(data))
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)


@pytest.mark.parametrize("length", [0, 5])
def test_axes_have_names_and_positions(length):
    x = nv.placeholder({"F": 2, "T": nv.dim("T")})
    known = nv.placeholder({"F": 2, "T": length})
    data = np.arange(2.0 * length, dtype=np.float32).reshape(2, length)
    for tensor in (x, known):
        for axis in ("T", 1, -1):
            sums = nv.associative_scan(nv.add, tensor, axis=axis)
            assert sums.axes.names == ("F", "T")
            np.testing.assert_array_equal(run([sums], "cpu", tensor)(data)[0], np.cumsum(data, 1))


def test_a_known_length_takes_a_logarithmic_number_of_steps():
    """A380: without a loop."""
    calls = []
    def counted(a, b):
        calls.append(a.shape[0])
        return a + b
    x = nv.placeholder((1000,))
    compiled = run([nv.associative_scan(counted, x)], "cpu", x)
    assert len(calls) <= 2 * 10 and not any(isinstance(op, Scan) for op in compiled.function.operations)
    np.testing.assert_array_equal(compiled(np.ones(1000, np.float32))[0], np.arange(1, 1001))


def test_it_agrees_with_jax():
    lax = pytest.importorskip("jax.lax")
    data = np.random.default_rng(0).normal(size=(3, 9, 2, 2)).astype(np.float32)
    for reverse in (False, True):
        theirs = lax.associative_scan(lambda a, b: a @ b, data, reverse=reverse, axis=1)
        mine = nv.associative_scan(nv.matmul, nv.constant(data), reverse=reverse, axis=1)
        np.testing.assert_allclose(mine.numpy(), theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("call, kind, words", [
    (lambda: nv.associative_scan(nv.add, nv.zeros(())), ShapeMismatch, "no axis"),
    (lambda: nv.associative_scan(nv.add, ()), InvalidArgument, "no elements"),
    (lambda: nv.associative_scan(3, nv.zeros((2,))), WrongKind, "fn"),
    (lambda: nv.associative_scan(lambda a, b: a, (nv.zeros((2,)), nv.zeros((3,)))), ShapeMismatch, r"elems\[1\]"),
    (lambda: nv.associative_scan(lambda a, b: (a, b), nv.zeros((4,))), InvalidArgument, "nesting"),
    (lambda: nv.associative_scan(lambda a, b: nv.sum(a), nv.zeros((4, 2))), InvalidArgument, "changes the type"),
    (lambda: nv.associative_scan(lambda a, b: a, nv.placeholder("T=t"), axis="X"), nv.errors.NervureError, "X")])
def test_mistakes(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


@pytest.mark.parametrize("length", [nv.dim("n"), 5])
def test_entries_of_dicts_are_found_by_their_keys(length):
    """A362, A380: in any order, for one element at a time and for many."""
    x = nv.placeholder((length,))
    found = nv.associative_scan(lambda f, g: {"b": f["b"] * g["b"], "a": f["a"] + g["a"]}, {"a": x, "b": x})
    given = np.float32([1, 2, 3, 4, 5])
    sums, products = nv.computation([found["a"], found["b"]], x)(given)
    assert sums.tolist() == [1, 3, 6, 10, 15] and products.tolist() == [1, 2, 6, 24, 120]
