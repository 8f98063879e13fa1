"""Lowering makes a valid kernel of every op, with sizes and with symbols."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.kernel.cluster import cluster
from nervure.kernel.cluster.steps import LoopStrategy
from nervure.kernel.ir import BLOCK
from nervure.kernel.plan import KernelStep
from nervure.kernel.verify import verify_kernel
from nervure.passes.pipelines import standard
from tests.conformance.samples import NAMES, samples_of, types_of
from tests.conformance.sampling import concrete, generic, symbolic
from tests.kernel.loops_transformer import Loops


@pytest.mark.parametrize("name", NAMES)
def test_lowered_kernels_are_valid(name):
    """With sizes every place is proved to be inside; with symbols some are left open, but nothing is wrong."""
    for sample in samples_of(name, types_of(name)[-1])[:4]:
        for build, unproved in ((concrete, None), (symbolic, [])):
            case = build(sample, generic(sample), np.random.default_rng(0))
            for step in Loops().compile(case.function).plan.steps:
                if isinstance(step, KernelStep):
                    verify_kernel(step.lowered.kernel, unproved)


def test_totals_over_rows_are_combined_lane_by_lane_and_block_by_block():
    """A softmax of many rows makes the sums of its columns on the way; the second block has one row."""
    x = nv.Parameter(nv.float32, (BLOCK + 1, 2))
    y = ops.Softmax(x, [1])
    function = standard(nv.Function([ops.Sum(y, [0]), ops.Max(y, [0])], [x]))
    assert [step.strategy for step in cluster(function)] == [LoopStrategy.CROSS_ROWS]
    given = np.random.default_rng(0).standard_normal((BLOCK + 1, 2), np.float32)
    with Loops() as loops:
        total, largest = loops.compile(function)([given])
    expected = np.exp(given.astype(float)) / np.exp(given.astype(float)).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(total, expected.sum(axis=0), rtol=1e-5)
    np.testing.assert_allclose(largest, expected.max(axis=0), rtol=1e-6)
