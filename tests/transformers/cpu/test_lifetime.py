"""Dropped objects are freed by reference counts alone, and their memory goes back to the system."""

from __future__ import annotations

import gc
import os
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest

import nervure as nv
from nervure.errors import IndexOutOfRange
from nervure.transformers.cpu.runtime import pooled_arrays
from tests.processes import run_text

SHARE = 1 if os.environ.get("DEEP_TESTS") else 10


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def softmax(cpu):
    x = nv.placeholder({"N": nv.dim("N", min=1), "C": 8})
    return cpu.computation(nv.softmax(x, axis="C"), x)


def training(cpu):
    x, w = nv.placeholder({"N": nv.dim("N", min=1), "C": 8}), nv.variable("C=8", 0.5)
    loss = nv.sum(nv.square(nv.dot(x, w)), out_axes=())
    return cpu.computation([loss, nv.assign(w, w - 1e-3 * nv.deriv(loss, w))], x)


def with_function(cpu):
    x = nv.placeholder({"N": nv.dim("N", min=1), "C": 8})
    return cpu.computation([nv.host_call(lambda value: value + 1, [x * 2], x), nv.exp(x)], x)


def drawing(cpu):
    x = nv.placeholder({"N": nv.dim("N", min=1), "C": 8})
    return cpu.computation([nv.normal("C=8") + x, x[:, ::-1]], x)


@pytest.mark.parametrize("make", [softmax, training, with_function, drawing])
def test_dropped_means_freed_without_the_collector(make, no_collector):
    cpu = nv.transformers.make_transformer("cpu")
    step = make(cpu)
    array = np.ones((5, 8), np.float32)
    for _ in range(3):
        results = step(array)
        step(np.repeat(array, 2, axis=0)[::2])
        step(np.ones((3, 8), np.float32))
    results = [result for result in (results if isinstance(results, tuple) else [results]) if result is not None]
    loaded = step.executable._loaded
    libraries = [code.library for code in loaded.codes if hasattr(code, "library")]
    things = [step, step.executable, loaded, step.function, array, *results, cpu, *libraries]
    seen = [weakref.ref(thing) for thing in things]
    del step, loaded, array, results, cpu, libraries, things
    assert [ref() for ref in seen] == [None] * len(seen)


def test_an_error_keeps_nothing(no_collector):
    x, k = nv.placeholder("N=3"), nv.placeholder("K=2", "int64")
    with nv.transformers.make_transformer("cpu") as cpu:
        step = cpu.computation(nv.gather(x, k, "N"), x, k)
        arguments = [np.ones(3, np.float32), np.array([0, 7])]
        step(arguments[0], np.array([0, 1]))
        counts = [sys.getrefcount(argument) for argument in arguments]
        for _ in range(3):
            with pytest.raises(IndexOutOfRange):
                step(*arguments)
        assert [sys.getrefcount(argument) for argument in arguments] == counts
        seen = weakref.ref(step.executable)
        del step
        assert seen() is None


def test_results_outlive_what_made_them():
    cpu = nv.transformers.make_transformer("cpu")
    step = softmax(cpu)
    result = step(np.ones((5, 8), np.float32))
    cpu.close()
    del step, cpu
    pooled_arrays.trim()
    softmax(nv.transformers.make_transformer("cpu"))(np.zeros((5, 8), np.float32))
    assert (result == 0.125).all()


START = """
import gc, os, sys
import numpy as np
import nervure as nv

cpu = nv.transformers.make_transformer("cpu")
def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def growth(act, count, warm_up):
    "How many bytes more are resident after so many acts."
    for number in range(warm_up):
        act(number)
    before = resident()
    for number in range(warm_up, warm_up + count):
        act(number)
    return resident() - before
"""


def check(body: str) -> None:
    """Runs a text without a cache; what it asserts holds."""
    print(run_text(START, body, NERVURE_CACHE="0"))


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="tells resident memory by /proc")
def test_compiling_and_dropping_leaves_memory_flat():
    check(f"""
    rows = np.linspace(-1, 1, 77, dtype=np.float32).reshape(7, 11)
    ops = [nv.negative, nv.absolute, nv.exp, nv.square]
    def cycle(number):
        x, w = nv.placeholder({{"A": 7, "B": 11}}), nv.variable("B=11", 1.0)
        y = x * w
        for place in range(3):
            y = ops[number // 4 ** place % 4](y) + float(number)
        total = nv.sum(y, out_axes=["A"])
        step = cpu.computation([total, nv.assign(w, w * 0.5)], x)
        for _ in range(2):
            step(rows)
    found = growth(cycle, {2000 // SHARE}, 100)
    print("compiled and dropped", {2000 // SHARE}, "grown by", found)
    assert found < 5_000_000, found
    """)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="tells resident memory by /proc")
def test_many_sizes_leave_memory_flat():
    check(f"""
    x, w = nv.placeholder({{"N": nv.dim("n", min=1), "C": nv.dim("c", min=1)}}), nv.variable((), 1.0)
    step = cpu.computation([nv.softmax(x * w, axis="C"), nv.sum(x, out_axes=["C"]), nv.assign(w, w * 0.999)], x)
    def call(number):
        step(np.ones((1 + number * 7919 % 1000, 1 + number % 60), np.float32))
    found = growth(call, {1000 // SHARE}, 100)
    print("sizes", {1000 // SHARE}, "grown by", found)
    assert found < 5_000_000, found
    """)
