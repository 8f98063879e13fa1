"""Eight threads that switch every microsecond build and run what a single one does, bit for bit and name for name."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import nervure as nv
from nervure.ir.printer import print_function
from nervure.transformers.interpreter.transformer import Interpreter
from tests.threads import run_together

THREADS = 8
ROUNDS = 200 if os.environ.get("DEEP_TESTS") else 20
GRAPHS = 200 if os.environ.get("DEEP_TESTS") else 6
"""Of them each thread builds its own: six have all sizes and all depths."""


pytestmark = pytest.mark.usefixtures("fast_switching")


def in_threads(work: Callable[[int], Any], count: int = THREADS) -> list[Any]:
    """The result of ``work(number)`` for each thread; the first exception of any."""
    barrier = threading.Barrier(count)

    def run(number: int) -> Any:
        barrier.wait()
        return work(number)

    return run_together(*[partial(run, number) for number in range(count)])


def build_and_run(number: int, turn: int) -> tuple[str, bytes]:
    """A graph that depends on the numbers, with names, scopes, random numbers, a derivative and an update."""
    size = 2 + (number + turn) % 5
    with nv.transformers.make_transformer("interpreter") as transformer, nv.name_scope(f"graph_{number}_{turn}"):
        nv.seed(number, transformer)
        x = nv.placeholder({"N": nv.dim("n"), "F": size}).named("x")
        w = nv.variable({"F": size}, 0.5).named("w")
        noise = nv.uniform(w.axes).named("noise")
        hidden = nv.tanh(nv.dot(x, w * noise)).named("hidden")
        for _ in range(turn % 3):
            hidden = hidden * hidden
        loss = nv.sum(hidden, out_axes=()).named("loss")
        step = transformer.computation([loss, nv.assign(w, w - nv.deriv(loss, w)), w], x)
        inputs = np.arange(3 * size, dtype=np.float32).reshape(3, size) / 10
        results = [step(inputs) for _ in range(2)]
    arrays = [result for row in results for result in row if result is not None]
    return print_function(step.function), b"".join(result.tobytes() for result in arrays)


def test_different_graphs_side_by_side():
    def work(number: int) -> list[Any]:
        return [build_and_run(number, turn) for turn in range(GRAPHS)]
    serial = [work(number) for number in range(THREADS)]
    assert in_threads(work) == serial
    assert len({bits for row in serial for _, bits in row}) > THREADS


def test_one_executable_for_all():
    x = nv.Parameter(nv.float32, (16, 16))
    function = nv.Function([nv.ops.MatMul(nv.ops.Tanh(x), x), x * 2.0], [x])
    executable = nv.transformers.make_transformer("interpreter").compile(function)
    inputs = [np.random.default_rng(number).standard_normal((16, 16)).astype(np.float32) for number in range(THREADS)]
    serial = [[entry.tobytes() for entry in executable([array])] for array in inputs]

    def work(number: int) -> bool:
        return all([entry.tobytes() for entry in executable([inputs[number]])] == serial[number] for _ in range(ROUNDS))
    assert in_threads(work) == [True] * THREADS


def test_updates_of_one_variable_take_turns():
    count = nv.persistent_tensor((), 0, dtype=nv.int64)
    with nv.transformers.make_transformer("interpreter") as transformer:
        step = transformer.computation([count + 1, nv.assign(count, count + 1)])
        seen = in_threads(lambda number: [int(step()[0]) for _ in range(ROUNDS)])
        assert sorted(entry for row in seen for entry in row) == list(range(1, THREADS * ROUNDS + 1))
        assert int(transformer.get(count)) == THREADS * ROUNDS


def test_one_jitted_function_is_traced_once():
    traced = []

    @nv.jit
    def double(x: Any) -> Any:
        traced.append(threading.get_ident())
        return x + x

    assert in_threads(lambda number: double(np.float32(number)).item()) == [2.0 * number for number in range(THREADS)]
    assert len(traced) == 1


def test_one_function_is_traced_for_two_kinds_of_argument_side_by_side():
    """Claim Q32: each trace waits in the middle until the other one has come as far."""
    barrier = threading.Barrier(2)

    @nv.jit
    def double(x: Any) -> Any:
        barrier.wait(30)
        return x + x
    arrays = [np.ones(2, np.float32), np.ones(3, np.float32)]
    assert [found.tolist() for found in in_threads(lambda number: double(arrays[number % 2]), 2)] == [[2.0] * 2,
                                                                                                     [2.0] * 3]


def test_a_trace_that_waits_for_a_thread_that_needs_it_is_an_error_there():
    """Claim Q32."""
    said: list[str] = []

    def other() -> None:
        try:
            double(np.float32(1))
        except nv.InUse as error:
            said.append(str(error))

    @nv.jit
    def double(x: Any) -> Any:
        if not said:
            thread = threading.Thread(target=other)
            thread.start()
            thread.join(60)
        return x + x
    with nv.flags.overriding(wait_limit=0):
        assert double(np.float32(2)).item() == 4.0
    assert len(said) == 1 and "inside of the trace of double" in said[0] and __file__ in said[0]


class Meeting(Interpreter):
    """Builds wait in the middle until another one has come as far; so does what is worked out for a size."""

    barrier = threading.Barrier(2)

    def make_executable(self, function: Any) -> Any:
        self.barrier.wait(30)
        made = super().make_executable(function)
        specialise = made.specialise
        made.specialise = lambda bindings: (self.barrier.wait(30), specialise(bindings))[1]
        return made


def test_computations_compile_and_find_their_sizes_side_by_side():
    """Claim Q30."""
    x = nv.placeholder("N=n")
    with Meeting() as transformer:
        made = in_threads(lambda number: nv.computation(x * float(number), x, transformer=transformer), 2)
        assert in_threads(lambda number: made[0]([1.0] * (number + 1)).tolist(), 2) == [[0.0], [0.0, 0.0]]


def test_a_computation_that_several_threads_call_first_is_compiled_once(tmp_path: Any) -> None:
    built = []

    class Counting(Interpreter):
        def make_executable(self, function: Any) -> Any:
            built.append(function)
            return super().make_executable(function)
    x = nv.placeholder("N=n").named("x")
    nv.save(tmp_path / "double.nervure", nv.computation(x * 2.0, x))
    with Counting() as transformer:
        loaded = nv.load(tmp_path / "double.nervure", transformer=transformer)
        assert not built
        assert in_threads(lambda number: loaded([1.0 * number]).tolist()) == [[2.0 * n] for n in range(THREADS)]
    assert len(built) == 1
