"""Random graphs: a fixed number in every run (all of them with ``python -m tests.fuzz``), and what went wrong once."""

from __future__ import annotations

import doctest
import importlib

import pytest

from nervure.ir.function import Function
from nervure.ir.parser import parse_function
from nervure.ir.region import RegionOp
from nervure.kernel.live_columns import with_live_columns
from nervure.kernel.plan import make_plan
from nervure.passes.pipelines import native
from nervure.support.machine import GENERIC
from nervure.types.dim import Dim
from tests.conformance.running import DEEP
from tests.fuzz import programs
from tests.fuzz.__main__ import run
from tests.fuzz.checks import failure
from tests.fuzz.graphs import Case, random_attention, random_case, random_regions, random_rows
from tests.fuzz.kept_cases import KEPT

GRAPHS, CHUNK = 120 if DEEP else 40, 10
MODULES = ("growth", "recipes", "attending", "regions", "unrolled", "programs", "graphs", "comparison", "checks",
           "work", "minimise", "kept_cases")


@pytest.mark.parametrize("first", range(0, GRAPHS, CHUNK))
def test_random_graphs(first):
    failures = [said for seed in range(first, first + CHUNK) if (said := run(seed, limit=100)) is not None]
    assert failures == [], "\n".join(failures)


@pytest.mark.parametrize("first", range(0, 2000 if DEEP else 10, CHUNK))
def test_random_graphs_on_xla(first):
    """X1, X9"""
    pytest.importorskip("jax", reason="jax is not installed")
    seeds = range(first, first + (CHUNK if DEEP else 4))
    cases = [(random_regions if seed % 4 == 3 else random_case)(seed, 100) for seed in seeds]
    failures = [said for case in cases if (said := failure(case, ["xla"])) is not None]
    assert failures == [], "\n".join(failures)


@pytest.mark.parametrize("seed", range(8))
def test_random_programs(seed):
    """A364, A367, A369: loops, branches and effects in each other do what Python does, or nothing at all."""
    assert programs.failure_of(seed) is None


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: kept.name)
def test_what_went_wrong_once(kept):
    case = Case(parse_function(kept.text), kept.bindings, kept.seed)
    assert failure(case, [kept.check]) is None


def test_graphs_are_varied():
    """The vocabulary is used, sizes are symbols and numbers, variables change, rows have a batch; loops and branches
    stand inside of each other, have effects, and are differentiated.
    """
    cases = [random_case(seed) for seed in range(60)]
    used = {type(op).__name__ for case in cases for op in case.function.operations}
    assert len(used) > 90
    assert {len(case.bindings) for case in cases} == {1, 3}
    assert any([case.function.updates for case in cases]) and any([len(case.function.results) > 3 for case in cases])
    assert all([str(root.shape[0]) == "n" for seed in range(10)
                for root in random_rows(seed).function.roots])

    bodies = [body for seed in range(100) for body in bodies_of(random_regions(seed).function)]
    held, names = {type(op).__name__ for body in bodies for op in body.operations}, {body.name for body in bodies}
    assert {"If", "Switch", "Scan", "While", "Guard", "PrintOp"} <= held
    assert {"loop_body", "loop_condition", "branch", "checkpoint_body", "element"} <= names
    assert {"loop_body_backward", "branch_backward"} <= names


def test_attention_is_varied():
    """Masks, windows, derivatives and loops are among what is drawn; lengths reach blocks of 512, and are symbols."""
    cases = [random_attention(seed) for seed in range(100)]
    ops = [op for case in cases for op in case.function.operations]
    drawn = [op for op in ops if type(op).__name__ == "Attention"]
    assert len({(op.before is None, op.after is None, len(op.operands)) for op in drawn}) == 8
    assert {"MaskedSoftmax", "Scan", "If", "After", "Tanh", "Less"} <= {type(op).__name__ for op in ops}
    scores = [op.shape[-2:] for op in ops if type(op).__name__ == "MatMul"]
    assert any([isinstance(length, Dim) for shape in scores for length in shape])
    assert any([min(shape) > 512 for shape in scores if all([isinstance(length, int) for length in shape])])


def test_attention_shares_loops_over_live_columns(monkeypatch):
    found = []
    monkeypatch.setattr("nervure.kernel.loop_sharing.with_live_columns", lambda shared: found.append(
        (shared, with_live_columns(shared))) or found[-1][1])
    for seed in range(10, 22):
        make_plan(native(random_attention(seed, 100).function), GENERIC._replace(first_cache=1024, own_cache=2**14))
    assert {whole is live for whole, live in found} == {True, False}


def bodies_of(function: Function) -> list[Function]:
    """The functions that a function's ops hold, and those inside of them."""
    own = [body for op in function.operations if isinstance(op, RegionOp) for body in op.bodies]
    return [*own, *[inner for body in own for inner in bodies_of(body)]]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(f"tests.fuzz.{name}")
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0
