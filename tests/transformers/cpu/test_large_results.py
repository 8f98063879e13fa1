"""Results that are larger than the caches: the same bits as small ones, whatever decides that they are large."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.kernel import tuning
from nervure.support.machine import GENERIC
from nervure.transformers.cpu.compile import compilation

LARGE = tuning.STREAMED_RESULT // 4 + 1001  # elements


@pytest.fixture(scope="module")
def numbers() -> np.ndarray:
    return np.random.default_rng(0).standard_normal(LARGE, dtype=np.float32)


@pytest.mark.parametrize("length", [LARGE, nv.dim("N")], ids=["number", "symbol"])
@pytest.mark.parametrize("threads", [1, 2])
def test_parts_of_a_large_result_are_small_results(numbers, length, threads):
    x, part = nv.placeholder((length,)), nv.placeholder((nv.dim("M"),))
    with nv.flags.overriding(threads=threads):
        large = nv.computation([nv.exp(x) * 0.5, x[1:] + x[:-1]], x)
        small = nv.computation([nv.exp(part) * 0.5, part[1:] + part[:-1]], part)
        whole = large(numbers)
        for start in range(0, LARGE, 500_000):
            end = min(start + 500_000, LARGE)
            for got, expected in zip(whole, small(numbers[start:end]), strict=True):
                assert got[start:start + len(expected)].tobytes() == expected.tobytes()


def test_variables_written_in_place_stay_in_the_caches(numbers):
    with nv.transformers.make_transformer("cpu") as cpu:
        w, x = nv.variable((LARGE,), numbers), nv.placeholder((LARGE,))
        step = cpu.computation([nv.assign(w, w - 0.5 * x), x + 1.0], x)
        step(numbers)
        plan = step.executable.compilation.plan
        past = [storage for kernel in plan.steps for buffer, storage in kernel.pairs
                if buffer in compilation.past_caches_of(kernel, plan.in_place, (), GENERIC)]
        assert past == [plan.roots[0]] and list(plan.in_place) == [plan.roots[1]]
        np.testing.assert_array_equal(cpu.get(w), numbers - np.float32(0.5) * numbers)


def test_a_condition_that_is_too_long_to_ask_is_not_asked():
    lengths = [nv.dim(f"h{place}", min=length, max=length) for place, length in enumerate((3, 4, 6))]
    x = nv.placeholder((nv.dim("n"), 4, *lengths))
    layer = nv.nn.ConvTranspose(4, 12, (3, 1, 3), strides=3, dilations=[1, 1, 2], padding=[0, 1, 1],
                                output_padding=[1, 0, 2], groups=2)
    values = np.random.default_rng(0).standard_normal((1, 4, 3, 4, 6)).astype(np.float32)
    np.testing.assert_allclose(nv.computation(layer(x), x)(values), layer(values).numpy(), rtol=1e-4, atol=1e-5)
