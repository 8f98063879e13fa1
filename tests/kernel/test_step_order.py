"""The order of steps: memory ends early, and everything is made before it is read."""

from __future__ import annotations

import pytest

import nervure as nv
from nervure.errors import InternalError
from nervure.kernel import plan as plans
from nervure.kernel.plan import make_plan
from nervure.kernel.step_order import check_order, relieved
from nervure.memory.storage import StorageKind
from nervure.passes.pipelines import native
from nervure.types.dim import index
from nervure.types.index_map import IndexMap
from tests.conformance.running import DEEP
from tests.fuzz.graphs import random_case

LAYERS = 6


def steps_of(function, monkeypatch):
    """The steps in their first order, and as they are moved."""
    monkeypatch.setattr(plans, "relieved", lambda steps, awaited: list(steps))
    first = make_plan(native(function)).steps
    return list(first), relieved(first, {})


def accesses(steps):
    """For each memory what touches it, in order: reads between two writes in any order."""
    found = {}
    for step in steps:
        for storage in step.written:
            found.setdefault(storage, [set()]).extend([id(step), set()])
        for storage in step.read:
            found.setdefault(storage, [set()])[-1].add(id(step))
    return found


def most_alive(steps):
    """The most bytes of the memory of a call that are in use during a step."""
    last = {storage: number for number, step in enumerate(steps) for storage in (*step.read, *step.written)}
    begun, most = set(), 0
    for number, step in enumerate(steps):
        begun |= {storage for storage in step.written if storage.kind is StorageKind.TEMPORARY}
        most = max(most, sum(storage.size * storage.dtype.itemsize for storage in begun if last[storage] >= number))
    return most


def layers(batch):
    """A step of convolutions over one another."""
    x, weights = nv.placeholder((batch, 8, 12, 12)), [nv.variable((8, 8, 3, 3), 0.1) for _ in range(LAYERS)]
    h = x
    for weight in weights:
        h = nv.tanh(nv.convolution(h, weight, padding=1))
    loss = nv.sum(h, out_axes=())
    return nv.computation([loss, nv.optim.SGD(0.1, momentum=0.9)(loss)], x).function


def test_what_is_read_is_what_was_read_before(monkeypatch):
    moved = 0
    for seed in range(200 if DEEP else 60):
        before, after = steps_of(random_case(seed).function, monkeypatch)
        assert accesses(before) == accesses(after)
        assert [step for step in before if step.may_fail] == [step for step in after if step.may_fail]
        moved += before != after
    assert moved  # else nothing of this was tried


@pytest.mark.parametrize("batch", [4, nv.dim("n", min=4)])
def test_gradients_of_weights_do_not_wait_for_other_layers(batch, monkeypatch, cpu):
    before, after = steps_of(layers(batch), monkeypatch)
    assert accesses(before) == accesses(after) and sorted(map(id, before)) == sorted(map(id, after))
    if batch == 4:
        assert most_alive(after) < 0.75 * most_alive(before)
    else:
        assert after != before


def test_a_step_that_reads_what_no_step_before_it_fills_is_an_error_of_ours():
    x = nv.Parameter(nv.float32, (8, 8))
    steps = make_plan(native(nv.Function([nv.ops.MatMul(nv.ops.MatMul(x, x), x)], [x]))).steps
    check_order(steps)
    with pytest.raises(InternalError, match="reads temporary 0, which no step before it fills"):
        check_order(steps[::-1])


def test_memory_of_no_element_needs_nobody_who_fills_it(cpu):
    x = nv.Parameter(nv.float32, (0, 3))
    shown = nv.ops.FilledView(nv.ops.Sum(x, [1]), IndexMap((64,), (index(0) - 1,)), 0.0)
    check_order(make_plan(native(nv.Function([shown], [x]))).steps)
    x = nv.placeholder((nv.dim("n", max=0),))  # a symbol that can only be 0
    twice = nv.concatenate([x, x * 0.5])
    check_order(make_plan(nv.computation([nv.sum(twice * twice), nv.sum(nv.sin(twice))], x).optimised).steps)
