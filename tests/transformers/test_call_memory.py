"""The memory of a call, in symbols and in numbers."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.transformers.call_memory import CallMemory, megabytes
from nervure.types.dim import evaluate

N, M = nv.dim("n", min=1), nv.dim("m", min=1)


@pytest.mark.parametrize("size, text", [
    (0, "0"), (1, "1.0e-6"), (40, "4.0e-5"), (1234, "1.234e-3"), (9_999, "9.999e-3"), (10_000, "0.01"),
    (123_400, "0.1234"), (1_000_000, "1.0"), (12_345_678, "12.345678"), (40 * N, "n * 4.0e-5"),
    (40 * N * M + 12 * N + 64, "m*n * 4.0e-5 + n * 1.2e-5 + 6.4e-5"), (40 * N - 40, "n * 4.0e-5 - 4.0e-5"),
    (4 * (N // 2), "(n//2) * 4.0e-6")])
def test_bytes_are_shown_in_millions_with_every_digit(size, text):
    """T135."""
    assert megabytes(size) == text


def test_the_words_say_whether_it_is_a_bound():
    """T136."""
    assert str(CallMemory(2, 80)) == "2 tensors, 8.0e-5 MB"
    assert str(CallMemory(1, 80 * N, is_exact=False)) == "1 tensor, at most n * 8.0e-5 MB"


def chain(length):
    x = nv.Parameter(nv.float32, (N, 8))
    y = x
    for _ in range(length):
        y = nv.ops.MatMul(nv.ops.Exp(y), nv.ops.Permute(nv.ops.Exp(y), (1, 0)))
        y = nv.ops.MatMul(y, nv.ops.Exp(x))
    return nv.Function([y, nv.ops.Exp(x)], [x])


@pytest.mark.parametrize("name", ["cpu", "interpreter"])
def test_what_is_reckoned_in_symbols_is_never_less(name):
    """T136."""
    with nv.transformers.make_transformer(name) as transformer:
        executable = transformer.build(chain(2))
        bound = executable.memory()
        for size in (1, 3, 16, 100):
            exact = executable.memory({"n": size})
            assert 2 * 32 * size <= exact.bytes <= evaluate(bound.bytes, {"n": size})
            assert exact.is_exact and not bound.is_exact and exact.tensors == bound.tensors


@pytest.mark.parametrize("name", ["cpu", "interpreter"])
def test_results_alone_are_exact(name):
    """T136."""
    x = nv.Parameter(nv.float32, (N, 8))
    with nv.transformers.make_transformer(name) as transformer:
        executable = transformer.build(nv.Function([nv.ops.Exp(x), nv.ops.Sin(x)], [x]))
        assert executable.memory() == (2, 64 * N, True) and executable.memory({"n": 5}) == (2, 320, True)


@pytest.mark.parametrize("name", ["cpu", "interpreter"])
def test_lengths_that_a_call_finds_count_as_the_most_that_they_can_be(name):
    """V6, T136."""
    for length, bindings in ((N, {"n": 5}), (5, {})):
        x = nv.placeholder((length,))
        with nv.transformers.make_transformer(name) as transformer:
            found = transformer.computation([nv.exp(x[x > 0]), x * 2], x).executable.memory(bindings)
        assert 2 * 20 <= found.bytes < 500 and not found.is_exact


def adam(transformer, limit):
    x = nv.placeholder((nv.dim("n"), 3))
    loss = nv.mean(nv.square(nv.dot(x, nv.variable((3, 2), 1.0))), out_axes=())
    return nv.computation([loss, nv.optim.Adam(0.1)(loss)], x, memory_limit=limit, transformer=transformer)


def double(transformer, limit):
    x = nv.placeholder((nv.dim("n", max=20),))
    return nv.computation(x * 2, x, memory_limit=limit, transformer=transformer)


@pytest.mark.parametrize(("name", "limit"), [("cpu", None), ("cpu", 100_000), ("interpreter", None)])
@pytest.mark.parametrize("make", [adam, double])
def test_sizes_that_no_call_has_are_errors(name, limit, make):
    """T136: each symbol has a size, an integer within its bounds."""
    with nv.transformers.make_transformer(name) as transformer:
        executable = make(transformer, limit).executable
        for sizes in ({}, {"m": 2}, {"n": -1}, {"n": 2.0}, {"n": None}, *([{"n": 21}] if make is double else [])):
            with pytest.raises(nv.InvalidArgument, match="each symbol needs a size: n"):
                executable.memory(sizes)
        assert executable.memory({"n": np.int64(4)}) == executable.memory({"n": 4})


@pytest.mark.parametrize("name", ["cpu", "interpreter"])
def test_sizes_hold_what_a_call_checks(name):
    """T136."""
    x, y = nv.placeholder((nv.dim("n"),)), nv.placeholder((nv.dim("m"),))
    with nv.transformers.make_transformer(name) as transformer:
        executable = transformer.computation(x + y[1:], x, y).executable
        assert executable.memory({"n": 4, "m": 5}).bytes >= 16
        with pytest.raises(nv.ShapeMismatch, match="call"):
            executable.memory({"n": 4, "m": 9})
