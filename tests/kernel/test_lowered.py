"""Lowering makes a valid kernel of every op, with sizes and with symbols."""

from __future__ import annotations

import numpy as np
import pytest

from nervure.kernel.plan import KernelStep
from nervure.kernel.verify import verify_kernel
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
