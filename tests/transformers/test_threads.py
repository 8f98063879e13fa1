"""Threads: calls take turns where they must, and give the bits of a serial run."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import nervure as nv
from tests.transformers.build import compiled, parameter, read, variable

ops = nv.ops


pytestmark = pytest.mark.usefixtures("fast_switching")


def run_all(function, count=200):
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(function, range(count)))


def graph(k):
    x = parameter(3)
    y = x.value
    for _ in range(k % 7 + 1):
        y = ops.Multiply(ops.Sin(y), x).output
    return compiled([ops.Sum(y, (0,))], [x])


def test_different_graphs():
    array = np.float32([0.1, 0.2, 0.3])
    serial = [graph(k)(array)[0] for k in range(200)]
    assert run_all(lambda k: graph(k)(array)[0]) == serial


def test_one_executable():
    x = parameter(4)
    executable = compiled([ops.Exp(ops.Sum(x, (0,)))], [x])
    arrays = [np.random.default_rng(k).standard_normal(4).astype(np.float32) for k in range(200)]
    serial = [executable(array)[0] for array in arrays]
    assert run_all(lambda k: executable(arrays[k])[0]) == serial


def test_updates_of_shared_variables_are_not_lost():
    with nv.transformers.make_transformer("interpreter") as transformer:
        a, b = variable(0.0), variable(0.0)
        one = read(a).full(1)
        both = compiled([], updates=[(a, ops.Add(read(a), one)), (b, ops.Subtract(read(b), one))],
                        transformer=transformer)
        crossed = compiled([ops.Add(read(b), read(a))], updates=[(b, ops.Subtract(read(b), one)),
                                                                 (a, ops.Add(read(a), one))],
                           transformer=transformer)
        sums = run_all(lambda k: both() if k % 2 else crossed()[0])
        assert all(entry == 0 for entry in sums[::2])  # nobody sees one of two updates
        assert (transformer.get(a), transformer.get(b)) == (200, -200)


def test_cells_are_made_once():
    with nv.transformers.make_transformer("interpreter") as transformer:
        entries = [variable(float(k)) for k in range(50)]
        barrier = threading.Barrier(8)

        def use(k):
            barrier.wait()
            return [id(cell) for cell in transformer.cells.of(entries)]

        with ThreadPoolExecutor(8) as pool:
            assert len({tuple(found) for found in pool.map(use, range(8))}) == 1
