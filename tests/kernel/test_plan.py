"""Plans: what runs where. Nothing but products of sums and what touches the world is left to Python."""

from __future__ import annotations

import pytest

import nervure as nv
from nervure.kernel.plan import HostStep, make_plan
from nervure.passes.pipelines import standard
from tests.conformance.samples import NAMES, samples_of, types_of
from tests.conformance.sampling import concrete, generic
from tests.conformance.test_ops import generator
from tests.kernel.loops_transformer import Loops

ON_THE_HOST = ("Contract", "Convolution", "ConvolutionDataGradient", "ConvolutionFilterGradient", "HostCall", "PrintOp",
               "Guard")


@pytest.mark.parametrize("name", NAMES)
def test_every_op_has_kernels_of_its_own(name):
    for dtype in types_of(name)[:2]:
        for number, sample in enumerate(samples_of(name, dtype)):
            function = concrete(sample, generic(sample), generator(name, number)).function
            plan = make_plan(standard(function))
            left = {type(step.op).__name__ for step in plan.steps if isinstance(step, HostStep)}
            assert left <= set(ON_THE_HOST)


def updates_in(plan):
    return [root.number for root in plan.in_place]


def test_a_new_value_is_written_in_place_if_nobody_needs_the_old_one():
    w = nv.variable("N=8", 1.0)
    step = Loops().computation([nv.assign(w, w * 2.0)])
    assert len(updates_in(make_plan(step.optimised))) == 1


def test_a_new_value_has_memory_of_its_own_where_the_old_one_is_read_at_other_places():
    w = nv.variable("N=8", 1.0)
    step = Loops().computation([nv.assign(w, w[::-1])])
    assert updates_in(make_plan(step.optimised)) == []


def test_a_new_value_has_memory_of_its_own_where_something_may_fail_later():
    w, index = nv.variable("N=8", 1.0), nv.placeholder("K=2", dtype=nv.int64)
    table = nv.variable("V=4, D=3", 1.0)
    step = Loops().computation([nv.assign(w, w * 2.0), nv.gather(table, index, axis="V")], index)
    plan = make_plan(step.optimised)
    checked = [number for number, entry in enumerate(plan.steps) if getattr(entry, "lowered", None)
               and entry.lowered.failures]
    written = [number for number, entry in enumerate(plan.steps)
               if any([root in entry.written for root in plan.in_place])]
    assert not written or min(written) > max(checked)
