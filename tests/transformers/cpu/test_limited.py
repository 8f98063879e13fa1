"""Programs within a limit of memory: the same bits, in the memory that their plans say, or one error."""

from __future__ import annotations

import itertools
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

import nervure as nv
from nervure import flags
from nervure.errors import InvalidArgument, NotSupported
from tests.conformance.running import TRANSFORMERS

pytestmark = pytest.mark.skipif("cpu" not in TRANSFORMERS, reason="only the cpu transformer plans memory")
ROWS = 600


def layer(x, w, noise):
    h = nv.tanh(nv.matmul(x, w))
    h = h * nv.uniform(h.shape) if noise else nv.gelu(h) + h
    return x + nv.matmul(h, w.T)


def training(rows=ROWS, limit=None, count=6, noise=True, transformer=None):
    """Weights, and a step of a training of layers within a limit."""
    nv.seed(5)  # the streams
    rng = np.random.default_rng(1)
    weights = [nv.variable((32, 128), rng.normal(size=(32, 128)).astype(np.float32) * 0.1) for _ in range(count)]
    x = y = nv.placeholder((rows, 32))
    for w in weights:
        y = layer(y, w, noise)
    loss = nv.mean(y * y, out_axes=())
    updates = [nv.assign(w, w - 0.1 * slope) for w, slope in zip(weights, nv.deriv(loss, weights), strict=True)]
    return weights, nv.computation([loss, *updates], x, memory_limit=limit, transformer=transformer)


def run(weights, step, rows=ROWS, calls=3):
    x = np.random.default_rng(2).normal(size=(rows, 32)).astype(np.float32)
    nv.seed(5)  # their first step
    losses = [step(x)[0] for _ in range(calls)]
    return [*losses, *[step.transformer.get(w) for w in weights]]


def same(first, second):
    return all([np.array_equal(mine, theirs) for mine, theirs in zip(first, second, strict=True)])


class Usual(NamedTuple):
    """What the training does without a limit: its numbers, its bytes, and the steps of its plan."""

    numbers: list
    bytes: int
    steps: list


@cache
def usual(noise=True):
    """The training without a limit, which is compiled once for the tests of this file."""
    weights, step = training(noise=noise)
    executable = step.executable
    assert not executable.made_again
    steps = [str(step) for step in executable.compilation.plan.steps]
    return Usual(run(weights, step), executable.memory({}).bytes, steps)


@pytest.mark.parametrize("noise", [True, False])
@pytest.mark.parametrize("share", [0.75, 0.5])
def test_the_bits_are_those_without_a_limit(share, noise):
    """V6, V7, V8: losses, weights and random numbers."""
    limit = int(usual(noise).bytes * share)
    limited = training(limit=limit, noise=noise)
    assert limited[1].executable.memory({}).bytes <= limit
    assert limited[1].executable.made_again
    assert same(usual(noise).numbers, run(*limited))


def test_what_fits_is_as_it_is_without_a_limit():
    """V8"""
    size = usual().bytes
    found = training(limit=size)[1].executable
    assert found.memory({}).bytes == size and not found.made_again
    assert [str(step) for step in found.compilation.plan.steps] == usual().steps


def test_nothing_fits():
    """V9: the error gives the least bytes that were found, with which a plan is found."""
    with pytest.raises(InvalidArgument, match="it needs more memory than its limit") as raised:
        training(limit=1000)
    assert raised.value.operand == "memory_limit" and raised.value.expected == "at most 1,000 bytes"
    least = int(raised.value.got.split()[0].replace(",", ""))
    assert 1000 < least < usual().bytes / 2
    assert training(limit=least)[1].executable.memory({}).bytes <= least
    for wrong in (-1, "lots", 1.5, True):
        with pytest.raises(InvalidArgument, match="this is no limit of memory"):
            training(limit=wrong)


def test_a_limit_above_the_least_is_kept_to():
    """V9: a search that aims at a limit passes over plans that a search for the least finds."""
    sizes, rng = [28, 28, 33, 11, 15], np.random.default_rng(0)
    weights = [nv.variable((a, b), rng.normal(size=(a, b)).astype(np.float32)) for a, b in itertools.pairwise(sizes)]
    x = y = nv.placeholder((4, 28))
    for w, f in zip(weights, (nv.tanh, softmax, softmax, nv.sigmoid), strict=True):
        y = f(nv.matmul(y, w))
    loss = nv.mean(y * y)
    returns = [loss, *[nv.assign(w, w - 0.1 * d) for w, d in zip(weights, nv.deriv(loss, weights), strict=True)]]
    with pytest.raises(InvalidArgument) as raised:
        nv.computation(returns, x, memory_limit=0)
    least = int(raised.value.got.split()[0].replace(",", ""))
    for limit in (least, least + 60, least + 127):
        assert nv.computation(returns, x, memory_limit=limit).executable.memory({}).bytes <= limit


def softmax(x):
    return nv.softmax(x, axis=-1)


def test_other_transformers():
    """V11"""
    with pytest.raises(NotSupported, match="keeps no limit of memory"):
        training(limit=10**6, transformer=nv.transformers.make_transformer("interpreter"))


def test_lengths_that_are_found():
    """V11"""
    x = nv.placeholder((100,))
    with pytest.raises(NotSupported, match="lengths that are known in front of a call"):
        nv.computation(nv.sum(nv.exp(x[x > 0])), x, memory_limit="1MB")


def test_symbols():
    """V10: one program for each set of values that are made again."""
    weights, step = training(nv.dim("n", min=1), "2MB")
    executable, sizes = step.executable, (1, 30, 300, 600, 700)
    assert same(run(weights, step, 600), usual().numbers)
    for rows in sizes:
        run(weights, step, rows, 1)
        assert executable.memory({"n": rows}).bytes <= 2_000_000
    assert executable.program({"n": 1}) is executable.program({"n": 30})
    assert executable.program({"n": 1}) is not executable.program({"n": 600})
    with pytest.raises(InvalidArgument, match="it needs more memory than its limit"):
        run(weights, step, 20_000, 1)
    assert same(run(weights, step, 300, 1)[1:], run(weights, step, 300, 0)), "the call that failed changed nothing"


def test_kernels_that_share_a_loop():
    """V7, V9: a product whose rows stay in scratch memory of a loop is no value that waits in memory."""
    def slopes(limit):
        x, w = [nv.placeholder([nv.dim(name) for name in names], nv.float64) for names in ("tk", "k")]
        y = nv.tanh(nv.matmul(nv.matmul(x, w), x))
        loss = nv.sum(y * y) + nv.sum(nv.sin(x))
        return nv.computation([loss, *nv.deriv(loss, [x, w])], x, w, memory_limit=limit)

    usual, arrays = slopes(None), (np.linspace(-2, 1, 340).reshape(20, 17), np.linspace(-1, 1, 17))
    assert any([len(step.cluster.parts) > 1 for step in usual.executable.compilation.plan.steps])
    with pytest.raises(InvalidArgument, match="it needs more memory than its limit"):
        slopes(1000)(*arrays)
    assert same(slopes(usual.executable.memory({"t": 20, "k": 17}).bytes)(*arrays), usual(*arrays))


def test_a_loss_whose_step_makes_what_its_derivative_reads():
    """V8, V9: such a step waits for no other work; its totals are not made early."""
    x, w, rows = nv.placeholder((8,)), nv.placeholder((8, 8)), nv.placeholder((50, 8))
    last, totals = nv.scan(lambda carry, row: (nv.tanh(carry @ w + row), nv.sum(carry)), x, rows)
    y = last + nv.sum(totals) * 0.01
    loss = nv.sum(y * y) + nv.sum(nv.sin(y))
    with pytest.raises(InvalidArgument, match="it needs more memory than its limit"):
        nv.computation([loss, *nv.deriv(loss, [x, rows])], x, w, rows, memory_limit=2000)


@pytest.mark.parametrize("rows", [50, 200, 600, 1000, 2000])
def test_what_the_plan_says_is_what_a_call_takes(rows):
    """V6: the block of a call, and results and new values that lie elsewhere."""
    step = training(rows, None if rows < 600 else "3MB" if rows < 1500 else "5MB")[1]
    executable = step.executable
    run([], step, rows, 1)
    program = executable._specialised({}).usual.program
    made = sum([array.nbytes for array in program.make_results()])
    in_place = executable._loaded.in_place({})
    outside = [root for root in executable._loaded.compiled.roots if root not in in_place]
    assert len(outside) == len(program.make_results())
    assert executable.memory({}).bytes == program.record.arena_bytes + made


def test_all_that_compile_take_a_limit():
    """V6"""
    def f(x):
        for _ in range(4):
            x = nv.matmul(nv.tanh(x), nv.eye(64))
        return nv.sum(x * x)

    x = np.ones((500, 64), np.float32)
    jitted = nv.jit(nv.grad(f)), nv.jit(nv.grad(f), memory_limit="660kB")
    assert same(*[[each(x)] for each in jitted])
    sizes = [each.specialised(x)[0].executable.memory({}).bytes for each in jitted]
    assert sizes[1] <= 660_000 < sizes[0]
    place = nv.placeholder((500, 64)).named("x")
    model = nv.build(f(place), inputs=("x",), memory_limit="1MB")
    assert model.forward(x) == nv.build(f(place), inputs=("x",)).forward(x)
    trainer = nv.Trainer(nv.nn.Sequential(nv.nn.LinearLayer(4, 64), nv.nn.LinearLayer(64, 1)), nv.optim.SGD(0.01),
                         nv.nn.losses.mean_squared_error, memory_limit="1MB")
    data = np.ones((64, 4), np.float32), np.ones((64, 1), np.float32)
    assert len(trainer.fit(data, epochs=1, shows=False)) == 1
    assert trainer.transformer.memory_limit == 1_000_000


def test_a_second_cut_waits_for_nothing_that_the_first_one_made_again():
    """V6, V8: the first value is read by no step any more, so that no kernel makes it."""
    x, e = nv.placeholder((3, 7, 32)), nv.placeholder((3, 7, 32))
    weights = [nv.placeholder((32, 32)) for _ in range(5)]

    def step(limit):
        w, q, k, v, p = weights
        y = nv.map(lambda row: nv.tanh(row @ w) + nv.mean(row, axis=0), nv.tanh(x))
        z = nv.softmax((y @ q) @ nv.swapaxes(y @ k, -1, -2), axis=-1) @ (y @ v)
        loss = nv.sum((z @ p) * e)
        return nv.computation([z, loss, *nv.deriv(loss, [x, w, q])], x, e, *weights, memory_limit=limit)
    usual, rng = step(None), np.random.default_rng(3)
    limit = int(usual.executable.memory({}).bytes * 0.8)
    limited = step(limit)
    given = [rng.normal(size=place.shape).astype(np.float32) / 8 for place in (x, e, *weights)]
    assert limited.executable.memory({}).bytes <= limit and same(usual(*given), limited(*given))


def test_the_switch():
    """V12"""
    size = usual().bytes
    with flags.overriding(memory_limit=size // 2):
        weights, step = training()
        assert step.executable.memory({}).bytes <= size // 2
        found = run(weights, step)
    assert same(found, usual().numbers)
    assert flags.parse("memory_limit", "2GB") == 2 * 10**9


def test_explanations_list_what_is_made_again():
    """V8"""
    _, step = training(limit="1.5MB")
    shown, details = str(nv.explain(step)), nv.explain(step).details()
    count = len(step.executable.made_again)
    assert f"made again: {count} values of" in shown
    assert str(details).count("is made again: ") == count



def test_effects_and_calls_of_python_happen_once(capfd):
    """V9"""
    x = nv.placeholder((500, 64))
    y = nv.print_op(nv.sum(x), "total") * x
    for _ in range(4):
        y = nv.tanh(nv.matmul(nv.exp(y * 0.01), nv.eye(64)))
    slope = nv.deriv(nv.sum(y * y), x)
    step = nv.computation([slope], x, memory_limit="800kB")
    step(np.ones((500, 64), np.float32))
    assert step.executable.made_again and capfd.readouterr().out.count("total") == 1
