"""Positions, and the lengths that they find: types, text, inlining, calls on all transformers."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import nervure as nv
from nervure.ir.function import Function
from nervure.ir.op import Value
from nervure.ir.parser import parse_function
from nervure.ir.printer import print_function
from nervure.ir.structural import equal
from nervure.ir.verify import verify
from nervure.ir.whole_op import fresh_length
from nervure.ops import FindPositions, Full, Gather, Max, Multiply, Sum
from nervure.passes.pipelines import standard
from nervure.types.dim import dim, found
from tests.conformance.running import transformer

TRANSFORMERS = ["interpreter", "cpu"]

N = dim("n")


def gathered(mask: Value, x: Value, number: int | None = None) -> Value:
    where = FindPositions(mask, length=fresh_length(mask.shape[0]) if number is None else found(number))
    return Gather(x, where.outputs[0], 0).output


def masked_sum() -> Function:
    mask, x = nv.Parameter(nv.bool_, (N,)), nv.Parameter(nv.float32, (N,))
    chosen = gathered(mask.value, x.value)
    twice = Multiply(chosen, Full(2.0, nv.float32, chosen.shape))
    return Function([Sum(chosen, [0]), twice], [mask, x])


def test_text_is_read_back():
    function = masked_sum().numbered()
    verify(function)
    text = print_function(function)
    assert "symbol ?0" in text and "effect" in text
    again = parse_function(text)
    verify(again)
    assert equal(again, function) and print_function(again) == text


def test_equal_graphs_are_equal_once_numbered():
    assert equal(masked_sum().numbered(), masked_sum().numbered())
    assert masked_sum().numbered().numbered().effects[0].found[0].name == "?0"


def test_inlining_gives_each_call_a_length_of_its_own():
    function = masked_sum()
    parameters = [nv.Parameter(op.output.dtype, op.output.shape) for op in (*function.parameters, *function.parameters)]
    first, second = function(*parameters[:2]), function(*parameters[2:])
    assert first[1].shape != second[1].shape
    whole = Function([first[1], second[1]], parameters)
    verify(whole)
    arrays = [np.array([True, False, True]), np.float32([1, 2, 3]), np.array([False] * 3), np.float32([4, 5, 6])]
    for name in TRANSFORMERS:
        one, other = transformer(name).build(whole)(*arrays)
        assert (one.tolist(), other.tolist()) == ([2.0, 6.0], [])


def test_one_length_is_found_by_one_op():
    mask, other, x = nv.Parameter(nv.bool_, (N,)), nv.Parameter(nv.bool_, (N,)), nv.Parameter(nv.float32, (N,))
    same = Function([gathered(mask.value, x.value, 7), gathered(mask.value, x.value, 7)], [mask, x])
    assert len(standard(same).effects) == 1, "two ops that do the same are one"
    with pytest.raises(nv.InvalidArgument, match="find one length"):
        Function([gathered(mask.value, x.value, 7), gathered(other.value, x.value, 7)], [mask, other, x])


@pytest.mark.parametrize(("type", "attributes", "error"), [
    ((nv.bool_, (2, 3)), {}, nv.ShapeMismatch), ((nv.int32, (3,)), {}, nv.DtypeMismatch),
    ((nv.int64, (3,)), {}, nv.InvalidArgument), ((nv.bool_, (3,)), {"length": N}, nv.InvalidArgument),
    ((nv.bool_, (3,)), {"length": found(1) + 1}, nv.InvalidArgument)])
def test_types_are_checked(type, attributes, error):
    with pytest.raises(error):
        FindPositions(nv.Parameter(*type), **{"length": found(0), **attributes})


@pytest.mark.parametrize("name", TRANSFORMERS)
@pytest.mark.parametrize("threads", [1, 2])
def test_sizes_that_are_larger_than_blocks_and_tiles(name, threads):
    executable = transformer(name).build(masked_sum())
    rng = np.random.default_rng(5)
    with nv.flags.overriding(threads=threads):
        for size in (0, 1, 63, 1000, 100_003, 17):
            for share in (0.0, 0.3, 1.0):
                mask, x = rng.random(size) < share, rng.integers(-9, 9, size).astype(np.float32)
                total, twice = executable(mask, x)
                assert total == x[mask].sum() and twice.tolist() == (2 * x[mask]).tolist()


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_calls_of_two_threads_do_not_disturb_each_other(name):
    executable = transformer(name).build(masked_sum())
    rng = np.random.default_rng(6)
    wrong: list[int] = []

    def work(seed: int) -> None:
        own = np.random.default_rng(seed)
        x = own.integers(-9, 9, 5000).astype(np.float32)
        for _ in range(40):
            mask = own.random(5000) < own.random()
            total, twice = executable(mask, x)
            if total != x[mask].sum() or twice.tolist() != (2 * x[mask]).tolist():
                wrong.append(seed)

    workers = [threading.Thread(target=work, args=(int(seed),)) for seed in rng.integers(0, 1000, 2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


@pytest.mark.parametrize("name", TRANSFORMERS)
@pytest.mark.parametrize("counts", [[1, -1, 2], [3, 3, 3], [2**62, 2**62, 2**62]])
def test_wrong_counts_are_errors(name, counts):
    given = nv.Parameter(nv.int64, (N,))
    positions = FindPositions(given, length=fresh_length(8), bound=8)
    executable = transformer(name).build(Function(positions.outputs, [given]))
    assert executable(np.array([0, 3, 1]))[0].tolist() == [1, 1, 1, 2]
    with pytest.raises(nv.InvalidArgument, match="negative|more than the bound"):
        executable(np.array(counts))
    assert executable(np.array([8]))[1].item() == 8


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_choice_among_no_elements_is_an_error(name):
    mask, x = nv.Parameter(nv.bool_, (N,)), nv.Parameter(nv.float32, (N,))
    executable = transformer(name).build(Function([Max(gathered(mask.value, x.value), [0])], [mask, x]))
    assert executable(np.array([True, False]), np.float32([3, 4]))[0].item() == 3.0
    with pytest.raises(nv.InvalidArgument, match="no element to choose from"):
        executable(np.array([False, False]), np.float32([3, 4]))


def test_no_python_runs_between_kernels():
    loaded = transformer("cpu").build(masked_sum())._loaded
    runners = [type(code).__name__ for code in loaded.codes]
    assert "HostCode" not in runners and "CallCode" in runners


def test_memory_is_planned_for_the_most():
    mask, x = nv.Parameter(nv.bool_, (N,)), nv.Parameter(nv.float32, (N,))
    for name in TRANSFORMERS:
        executable = transformer(name).build(Function([gathered(mask.value, x.value)], [mask, x]))
        bindings = executable._binder.bind([np.zeros(100, bool), np.zeros(100, np.float32)])[1]
        assert bindings["n"] == 100 and 400 <= executable.memory(bindings).bytes < 4000
        assert executable.report() and executable.report([np.zeros(10, bool), np.zeros(10, np.float32)])
