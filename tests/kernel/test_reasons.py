"""Clustering says why: each refusal by a function that meets it, and a reason for whatever is stored."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.kernel.cluster import Loops, cluster
from nervure.kernel.cluster.reasons import reasons
from nervure.kernel.cluster.steps import FusionBlocker, SharedSteps
from nervure.kernel.tuning import MOST_OPS
from nervure.passes.pipelines import minimal
from tests.conformance.samples import NAMES, samples_of, types_of
from tests.conformance.sampling import generic, symbolic
from tests.kernel.loops_transformer import Loops as LoopsTransformer
from tests.project.source import ROOT


def matrix(*shape):
    return nv.Parameter(nv.float32, shape or (64, 128))


def found_in(results, parameters):
    function = nv.Function(results, parameters)
    steps = cluster(function)
    return steps, reasons(function, steps)


def chain(x, length):
    for _ in range(length):
        x = ops.Exp(x)
    return x


def other_axes(x):
    e = ops.Exp(x)
    return ops.Sum(e, [1]), ops.Sum(e, [0])


def around(x):
    rows, columns = x.shape
    near = [ops.Exp(ops.Slice(x, [(down, rows - 2, 1), (along, columns - 2, 1)]))
            for down in range(3) for along in range(3)]
    return ops.Exp(sum(near[1:], near[0].value))


def few_rows(x):
    e = ops.Exp(x)
    return (e / ops.Broadcast(ops.Sum(e, [1]), x.shape, [1]),)


@pytest.mark.parametrize(("refusal", "build", "shape"), [
    (FusionBlocker.OTHER_SHAPE, lambda x: (ops.Sum(ops.Sum(ops.Exp(x), [1]), [0]),), ()),
    (FusionBlocker.OTHER_AXES, other_axes, ()),
    (FusionBlocker.OTHER_INDEX, lambda x: ((e := ops.Exp(x)) + ops.Reverse(e, [0]),), ()),
    (FusionBlocker.STENCIL, lambda x: (ops.Sum(around(x), [0, 1]),), ()),
    (FusionBlocker.FEW_ROWS, few_rows, (4, 1 << 16)),
    (FusionBlocker.TOO_MANY_OPS, lambda x: (chain(x, MOST_OPS + 1),), ()),
    (FusionBlocker.NO_LOOPS, lambda x: (ops.Exp(ops.Concatenate(x, x, axis=0)),), ()),
], ids=lambda entry: getattr(entry, "name", ""))
def test_each_refusal(refusal, build, shape):
    x = matrix(*shape)
    steps, found = found_in(build(x), [x])
    assert [why for step in steps if isinstance(step, Loops) for why in step.blockers.values()] == [refusal]
    (op, text), = [(op, text) for op, text in found.apart.items() if text == refusal.value]
    readers = [reason for listed in found.stored.values() for reason in listed if reason.text.endswith(refusal.value)]
    assert readers and {reason.text for reason in readers} == {f"{type(op).__name__} reads it: {text}"}


def test_what_shares_a_kernel_has_no_reason_to_be_apart():
    x = matrix()
    e = ops.Exp(x)
    steps, found = found_in([e / ops.Broadcast(ops.Sum(e, [1]), x.shape, [1])], [x])
    assert len(steps) == 1 and not found.apart
    assert [[reason.text for reason in listed] for listed in found.stored.values()] == [["result 0"]]


def test_an_op_that_waits_for_a_later_step():
    x = matrix()
    e = ops.Exp(x)
    mirrored = ops.Exp(e + ops.Reverse(e, [0]))
    steps, found = found_in([e * mirrored], [x])
    assert len(steps) == 2
    assert [reason.text for reason in found.stored[e.value]] == [
        f"Add reads it: {FusionBlocker.OTHER_INDEX.value}", "Multiply reads it: it also reads what a later step makes"]


def test_what_readers_compute_again_is_not_stored_and_its_operands_have_the_reason():
    x, y = matrix(), matrix()
    product = ops.Exp(x) * y
    double = product + product
    steps, found = found_in([ops.Sum(double, [1]), ops.Sum(double, [0]), product], [x, y])
    assert [value for value in found.stored if value.op is double.op] == []
    assert [reason.text for reason in found.stored[product]] == [
        f"Sum reads it: {FusionBlocker.OTHER_AXES.value}", "result 2"]
    assert [step for step in steps if isinstance(step, Loops) and double in step.stored] == []


def test_the_new_value_of_a_variable():
    w = nv.variable((3,), 0.0).named("w")
    function = minimal(LoopsTransformer().computation(nv.assign(w, w + 1.0)).function)
    found = reasons(function, cluster(function))
    assert [[reason.text for reason in listed] for listed in found.stored.values()] == [["new value of w"]]


@pytest.mark.parametrize("name", NAMES)
def test_whatever_loops_store_has_a_reason(name):
    for sample in samples_of(name, types_of(name)[-1])[:2]:
        function = symbolic(sample, generic(sample), np.random.default_rng(0)).function
        plan = LoopsTransformer().compile(function).plan
        found = reasons(plan.function, plan.clusters)
        for step in plan.clusters:
            for value in step.stored if isinstance(step, Loops) else ():
                assert found.stored[value] and all([reason.step is not step for reason in found.stored[value]])


def test_the_page_explains_every_refusal():
    page = (ROOT / "docs" / "explain.md").read_text(encoding="utf-8")
    assert [refusal.name for refusal in FusionBlocker if f"| {refusal.value} |" not in page] == []


def test_steps_that_share_an_outer_loop_say_each_their_own_reason():
    x = matrix()
    sort = ops.Sort(x)
    steps = cluster(nv.Function([ops.Exp(sort.outputs[0]), sort.outputs[1]], [x]))
    shared = SharedSteps(tuple(steps))
    for step in steps:
        for op in step.ops:
            assert shared.why_apart(op) == step.why_apart(op)
    assert shared.why_apart(sort) == "it has no loops" != steps[-1].why_apart(steps[-1].ops[0])
