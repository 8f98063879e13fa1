"""Ops that are computed as a whole have an expected time that grows with their elements."""

from __future__ import annotations

import nervure as nv
from nervure.kernel.plan import make_plan
from nervure.passes.pipelines import native
from nervure.transformers.cpu.compile.whole_op_data import call_of


def test_a_whole_op_takes_longer_for_more_elements():
    x = nv.Parameter(nv.float32, (nv.dim("N", min=1), 3))
    step, = make_plan(native(nv.Function([nv.ops.Sort(x).outputs[0]], [x]))).steps
    _, launch = call_of(step, ())
    assert launch.duration.nanoseconds({"N": 2000}) == 2 * launch.duration.nanoseconds({"N": 1000}) > 0
