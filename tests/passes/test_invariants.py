"""Invariants leave loops: what is dear and the same in each iteration is computed in front, with the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.ir.region import RegionOp
from nervure.ir.verify import verify
from nervure.ops.arithmetic import Add
from nervure.ops.contraction import Contract
from nervure.ops.exponential import Exp
from tests.conformance.running import TRANSFORMERS

X, W = np.linspace(-1, 1, 3).astype(np.float32), np.linspace(-0.3, 0.4, 9).reshape(3, 3).astype(np.float32)


def counts(function, kind):
    """The number of ops of a kind outside of loops, and inside of them at any depth."""
    inside = [body for op in function.operations if isinstance(op, RegionOp) for body in op.bodies]
    own = sum([isinstance(op, kind) for op in function.operations])
    return own, sum([sum(counts(body, kind)) for body in inside])


def built(loop, transformer="cpu"):
    x, w = nv.placeholder((3,)), nv.placeholder((3, 3))
    return nv.computation(loop(x, w), x, w, transformer=nv.transformers.make_transformer(transformer))


def scanned(x, w):
    return nv.scan(lambda h, _: (nv.matmul(h * 0.5, nv.exp(w)) + x, None), x, length=4)[0]


def repeated(x, w):
    def body(carry):
        count, h = carry
        return count + 1, nv.matmul(h * 0.5, nv.exp(w)) + x
    return nv.while_loop(lambda carry: carry[0] < nv.sum(nv.exp(w)) - 5, body, (0.0, x))[1]


def nested(x, w):
    return nv.while_loop(lambda h: nv.sum(h * h) < 100,
                         lambda h: nv.scan(lambda g, _: (nv.matmul(g, nv.exp(w)), None), h, length=3)[0], x)


@pytest.mark.parametrize("loop", [scanned, repeated, nested])
def test_what_is_the_same_is_computed_once(loop):
    """A409: of a scan, of a while loop and its condition, and of loops in loops."""
    function = built(loop).optimised
    verify(function)
    assert counts(function, Exp) == (1, 0)
    assert counts(function, Contract)[1] > 0


@pytest.mark.parametrize("transformer", TRANSFORMERS)
@pytest.mark.parametrize("loop", [scanned, repeated, nested])
def test_bits_stay(loop, transformer):
    """A373, A409: those of the body as it is written."""
    def unrolled(x, w):
        h = x
        if loop is nested:
            while (h * h).sum() < 100:
                for _ in range(3):
                    h = nv.matmul(nv.constant(h), nv.exp(nv.constant(w))).numpy()
            return h
        for _ in range(4 if loop is scanned else int(np.ceil(np.exp(w).sum() - 5))):
            h = (nv.matmul(nv.constant(h * np.float32(0.5)), nv.exp(nv.constant(w))) + nv.constant(x)).numpy()
        return h
    np.testing.assert_allclose(built(loop, transformer)(X, W), unrolled(X, W), rtol=1e-6)


def test_what_may_fail_stays():
    """A409: an index out of range is no error of a loop that runs no iteration."""
    x, at, goes_on = nv.placeholder((3,)), nv.placeholder((), nv.int64), nv.placeholder((), nv.bool_)
    table = nv.constant([1.0, 2.0])
    result = nv.while_loop(lambda c: nv.logical_and(goes_on, nv.sum(c) < 9), lambda c: c + nv.exp(table[at]), x)
    run = nv.computation(result, x, at, goes_on)
    assert run(X, 7, False).tolist() == X.tolist()
    with pytest.raises(nv.errors.IndexOutOfRange):
        run(X, 7, True)


def test_what_is_large_or_cheap_stays():
    """A409: a matrix of what is given as vectors, and a sum."""
    def wide(x):
        return nv.scan(lambda h, _: (h * nv.sum(nv.exp(x[:, None] + x)[:, :2] * h[:2]), None), x, length=4)[0]

    def cheap(x):
        return nv.scan(lambda h, _: (h * (x + 1), None), x, length=4)[0]
    y = nv.placeholder((50,))
    assert counts(nv.computation(wide(y), y).optimised, Exp) == (0, 1)
    assert counts(nv.computation(cheap(y), y).optimised, Add) == (0, 1)
