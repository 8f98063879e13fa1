"""Steps of one structure share their kernels, and have the kernels that they would have alone."""

from __future__ import annotations

import os

import numpy as np
import pytest

import nervure as nv
from nervure.ir.parser import parse_function
from nervure.ir.printer import print_function
from nervure.kernel.plan import KernelStep, make_plan
from nervure.kernel.printer import print_kernel
from nervure.kernel.sharing import KernelSharing
from nervure.passes.pipelines import native
from tests.fuzz.graphs import random_case

GRAPHS = 300 if os.environ.get("DEEP_TESTS") else 30


def planned(function):
    return make_plan(native(function))


def told(plan):
    """All that is known of a plan's kernels, as text."""
    return [(print_kernel(step.kernel), str(step.storages), str(step.failures), str(step.lowered.points),
             [id(op) for op in step.kernel.origins]) for step in plan.steps if isinstance(step, KernelStep)]


def twice(function):
    """Both results of a function and of a copy on other parameters; None where it has no text that can be read."""
    try:
        copy = parse_function(print_function(function))
    except nv.NervureError:
        return None
    return nv.Function([*function.results, *copy.results], [*function.parameters, *copy.parameters])


@pytest.mark.parametrize("start", range(0, GRAPHS, 10))
def test_shared_kernels_are_those_that_steps_would_have_alone(start, monkeypatch):
    functions = [both for seed in range(start, start + 10) if (both := twice(random_case(seed).function))]
    optimised = [native(function) for function in functions]
    shared = [make_plan(function) for function in optimised]
    monkeypatch.setattr(KernelSharing, "kernels", lambda self, step: self._lower(step))
    for plan, function in zip(shared, optimised, strict=True):
        assert told(plan) == told(make_plan(function))
    assert functions


def layers(build, shapes=((4, 8), (4, 8)), dtypes=(nv.float32, nv.float32)):
    """The bodies of the kernels of a function of two parameters, each of which is put through one layer."""
    parameters = [nv.Parameter(dtype, shape) for dtype, shape in zip(dtypes, shapes, strict=True)]
    plan = planned(nv.Function([build(number, x) for number, x in enumerate(parameters)], parameters))
    return [step.kernel.body for step in plan.steps]


def soft(number, x):
    return nv.ops.Softmax(x, [1])


@pytest.mark.parametrize(("build", "options", "kernels"), [
    (soft, {}, 1), (soft, {"shapes": ((4, 8), (4, 9))}, 2), (soft, {"dtypes": (nv.float32, nv.float64)}, 2),
    (lambda number, x: nv.ops.Sum(nv.ops.Exp(x), [number]), {"shapes": ((8, 8), (8, 8))}, 2),
    (lambda number, x: nv.ops.Exp(x) + nv.Parameter(nv.float32, (4, 8)).full(number + 2), {}, 2),
    (lambda number, x: nv.ops.Pad(nv.ops.Exp(x), [(0, 0), (1, 2)]), {"shapes": ((64, 8), (64, 8))}, 1),
    (lambda number, x: nv.ops.Pad(x, [(0, 0), (1, 2)], number), {"shapes": ((64, 8), (64, 8))}, 2),
    (lambda number, x: x * (x if number else nv.ops.Exp(x)), {}, 2)])
def test_what_differs_is_not_shared(build, options, kernels):
    bodies = layers(build, **options)
    assert len(bodies) == 2 and len({id(body) for body in bodies}) == kernels


@pytest.mark.parametrize("first", [0, 1], ids=["the known ones first", "the known ones last"])
def test_indices_of_other_numbers_share_no_kernel(first):
    """Those that are known to be in range need no check, and count from no end."""
    tables, places = [np.arange(8.0), np.arange(8.0) + 10], [np.array([0, 3, 1, 2]), np.array([0, -1, 5, 3])]
    x, y = [nv.placeholder((8,), dtype=nv.float64) for _ in tables]
    taken = [x[places[0]], y[places[1]]]
    compute = nv.computation(taken[::-1] if first else taken, x, y)
    found = compute(*tables)[::-1] if first else compute(*tables)
    assert [each.tolist() for each in found] == [[0, 3, 1, 2], [10, 17, 15, 13]]
    outside = nv.computation([x[places[0]], y[nv.variable((4,), np.array([0, 99, 5, 3]), dtype=nv.int64)]], x, y)
    with pytest.raises(IndexError):
        outside(*tables)


def test_checks_name_the_ops_of_their_own_step():
    tables = [nv.Parameter(nv.float32, (5, 3)) for _ in range(2)]
    rows = [nv.Parameter(nv.int64, (4,)) for _ in range(2)]
    looked_up = [nv.ops.Gather(table, row, 0) for table, row in zip(tables, rows, strict=True)]
    plan = planned(nv.Function(looked_up, [*tables, *rows]))
    named = [failure.op for step in plan.steps for failure in step.failures]
    assert len(set(named)) == len(plan.steps) == 2


def test_explanations_name_the_lines_of_their_own_layer(cpu):
    x = nv.placeholder("N=4, F=8")
    first, second = nv.variable("F=8, G=8", 1.0), nv.variable("G=8, H=8", 1.0)
    hidden = nv.dot(x, first)
    result = nv.dot(hidden, second)
    steps = nv.explain(nv.computation(result, x), np.ones((4, 8), np.float32), repeat=0).steps
    lines = [line for step in steps for line in str(step).splitlines() if "Contract" in line and __file__[-15:] in line]
    assert len(lines) == len(set(lines)) == 2
