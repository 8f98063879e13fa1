"""Plans: what runs where. What touches the world alone is left to Python: functions inside of ops are programs."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.ir.region import RegionOp
from nervure.ir.whole_op import WholeOp
from nervure.kernel.plan import OpaqueStep, make_plan
from nervure.memory.storage import StorageKind
from nervure.passes.pipelines import native
from tests.conformance.samples import NAMES, samples_of, types_of
from tests.conformance.sampling import concrete, generic
from tests.conformance.test_ops import generator
from tests.kernel.loops_transformer import Loops

ON_THE_HOST = ("HostCall", "PrintOp")


@pytest.mark.parametrize("name", NAMES)
def test_every_op_has_kernels_of_its_own(name):
    for dtype in types_of(name)[:2]:
        for number, sample in enumerate(samples_of(name, dtype)):
            function = concrete(sample, generic(sample), generator(name, number)).function
            plan = make_plan(native(function))
            left = {type(step.op).__name__ for step in plan.steps
                    if isinstance(step, OpaqueStep) and not isinstance(step.op, (RegionOp, WholeOp))}
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


# -- weights that are packed apart ---------------------------------------------------------------------------------


def panels(w, *more, dtype=nv.float32):
    """The storages that are packed by a step of their own, where an argument is multiplied by w."""
    x = nv.placeholder("R=100, K=40", dtype=dtype)
    plan = make_plan(Loops().computation([nv.dot(x, w), *more], x).optimised)
    return [storage for step in plan.steps for storage in step.written if storage.kind is StorageKind.DERIVED]


def test_a_side_that_is_packed_and_follows_from_a_variable_or_a_constant_is_packed_apart():
    panel, = panels(nv.variable("C=200, K=40", 0.5))
    assert panel.size == 40 * 200
    panel, = panels(nv.variable("K=40, C=200", 0.5, dtype=nv.bfloat16), dtype=nv.bfloat16)
    assert panel.dtype == nv.float32
    assert len(panels(nv.constant(np.ones((200, 40), np.float32), "C=200, K=40"))) == 1


def test_a_side_is_not_packed_apart_where_it_is_read_as_it_lies_or_follows_from_more_than_one_variable():
    w, scale = nv.variable("C=200, K=40", 0.5), nv.variable("C=200", 2.0)
    assert panels(nv.variable("K=40, C=200", 0.5)) == []
    assert panels(w * scale) == []


def test_a_side_is_not_packed_apart_where_the_function_writes_the_variable():
    w = nv.variable("C=200, K=40", 0.5)
    assert panels(w, nv.assign(w, w * 2.0)) == []
    other = nv.variable("C=200, K=40", 0.5)
    assert len(panels(w, nv.assign(other, other * 2.0))) == 1
