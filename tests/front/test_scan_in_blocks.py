"""Loops with ``checkpoint=k``: they are what they are without, and keep the carry once in k iterations."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.ops.looping import Scan
from tests.conformance.running import TRANSFORMERS

T = nv.dim("t")


def run(returns, transformer, *parameters):
    return nv.computation(returns, *parameters, transformer=nv.transformers.make_transformer(transformer))


def losses(length, dtype=nv.float32, **keywords):
    """The loss of a recurrent layer over an input, what the layer gives, and the slopes of all that it takes."""
    x = nv.placeholder((length, 3), dtype)
    w = nv.variable((3, 3), np.linspace(-0.4, 0.5, 9).reshape(3, 3), dtype)
    first = nv.variable((3,), np.full(3, 0.3), dtype)

    def cell(h, row):
        h = nv.tanh(nv.matmul(h, w) + row)
        return h, {"h": h, "square": h * h}

    last, rows = nv.scan(cell, first, x, **keywords)
    loss = nv.sum(rows["square"]) + nv.sum(last * rows["h"])
    return x, [last, rows["h"], loss, *nv.deriv(loss, [w, first, x])]


@pytest.mark.parametrize("transformer", TRANSFORMERS)
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_in_blocks_is_the_scan(transformer, reverse):
    """A402: values have the same bits, derivatives other orders of sums; one program serves all lengths."""
    x, returns = losses(T, reverse=reverse)
    plain = run(returns, transformer, x)
    for every in (1, 3):
        x, returns = losses(T, reverse=reverse, checkpoint=every)
        blocks = run(returns, transformer, x)
        for length in (0, 1, 2, 3, 8):
            data = np.random.default_rng(length).normal(size=(length, 3)).astype(np.float32)
            expected, found = plain(data), blocks(data)
            for mine, theirs in zip(found[:2], expected[:2], strict=True):
                np.testing.assert_array_equal(mine, theirs)
            for mine, theirs in zip(found[2:], expected[2:], strict=True):
                np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("length", [0, 3, 5])
def test_lengths_that_are_numbers(length):
    """A402: without a rest there is one block or one loop over blocks; a length of 0 is the first carry."""
    data = np.random.default_rng(length).normal(size=(length, 3)).astype(np.float32)
    for every in (3, 20):
        (x, mine), (y, theirs) = losses(length, checkpoint=every), losses(length)
        for a, b in zip(nv.computation(mine, x)(data), nv.computation(theirs, y)(data), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_second_derivatives_and_tangents():
    """A402: a loop in blocks has derivatives of any order, in both modes."""
    def loss(every):
        def inner(w):
            def step(h, x):
                h = nv.sin(h * w + x)
                return h, h
            last, rows = nv.scan(step, 0.5, nv.constant(np.linspace(0, 1, 7), dtype=nv.float32), checkpoint=every)
            return last + nv.sum(rows * rows)
        return inner

    w = np.float32(0.7)
    for derivative in (lambda f: nv.grad(nv.grad(f)), lambda f: nv.jacobian(f, mode="forward")):
        assert derivative(loss(3))(w).item() == pytest.approx(derivative(loss(None))(w).item(), rel=1e-4)


def test_few_carries_are_kept():
    """A402: memory grows with length / k and with k, not with the length."""
    def step(every):
        x = nv.placeholder((T, 4))
        w, u = nv.variable((4, 64), 0.1), nv.variable((64, 64), 0.01)
        last = nv.scan(lambda h, row: (nv.tanh(nv.matmul(h, u) + nv.matmul(row, w)), None), nv.zeros((64,)), x,
                       checkpoint=every)[0]
        loss = nv.sum(last)
        return nv.computation([loss, *nv.deriv(loss, [w, u])], x)

    plain, blocks = step(None).executable, step(32).executable
    for length in (1024, 4096, 5000):
        row = 64 * 4
        assert plain.memory({"t": length}).bytes > 2 * row * length
        slices = 3 * 4 * 4 * length  # as they came, and copies of those of all blocks and of the rest
        assert blocks.memory({"t": length}).bytes < row * length // 32 + slices + 130_000


def test_the_inside_runs_again_in_blocks():
    """A402: no value of the loop but carries before blocks goes from the forward loop to the backward one."""
    x, returns = losses(12, checkpoint=4)
    function = nv.computation([returns[2], returns[3]], x).optimised
    scans = [op for op in function.operations if isinstance(op, Scan)]
    assert {scan.length for scan in scans} == {3}
    kept = [output.type.shape for output in scans[0].outputs if any([output in scan.operands for scan in scans[1:]])]
    assert kept == [(3, 3)]


@pytest.mark.parametrize("transformer", TRANSFORMERS)
def test_effects_variables_and_random_numbers(transformer, capsys):
    """A402: effects happen once, and each iteration draws what it draws without blocks."""
    results = []
    for every in (None, 2):
        nv.seed(3)
        count, scale = nv.variable((), 0.0), nv.variable((), 2.0)
        def body(h, x, count=count, scale=scale):
            noise = nv.uniform(())
            counted = nv.sequential([nv.assign(count, count + 1.0), noise * scale])
            return nv.print_op(h * x + counted, "h"), noise
        last, rows = nv.scan(body, 1.0, nv.constant(np.linspace(0, 1, 5), dtype=nv.float32), checkpoint=every)
        step = run([last, rows, nv.deriv(last + nv.sum(rows), scale)], transformer)
        results.append([*step(), step.transformer.get(count.variable)])
        assert len(capsys.readouterr().out.splitlines()) == 5
    for mine, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)


def test_map_and_fori_loop_take_blocks_too():
    """A402."""
    data = np.linspace(0, 1, 10).reshape(5, 2).astype(np.float32)
    squares = nv.map(lambda row: nv.exp(row) * row, nv.constant(data), checkpoint=2)
    np.testing.assert_allclose(squares.numpy(), np.exp(data) * data, rtol=1e-6)
    w = nv.variable((), 1.1)
    power = nv.fori_loop(0, 7, lambda i, value: value * w, 1.0, checkpoint=3)
    slope, value = nv.computation([nv.deriv(power, w), power])()
    assert slope.item() == pytest.approx(7 * 1.1 ** 6, rel=1e-5) and value.item() == pytest.approx(1.1 ** 7, rel=1e-5)
