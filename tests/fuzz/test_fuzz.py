"""Random graphs: a fixed number in every run (all of them with ``python -m tests.fuzz``), and what went wrong once."""

from __future__ import annotations

import doctest
import importlib

import pytest

from nervure.ir.parser import parse_function
from tests.fuzz.__main__ import run
from tests.fuzz.checks import failure
from tests.fuzz.graphs import Case, random_case, random_rows
from tests.fuzz.kept_cases import KEPT

GRAPHS, CHUNK = 120, 10
MODULES = ("growth", "recipes", "graphs", "comparison", "checks", "work", "minimise", "kept_cases")


@pytest.mark.parametrize("first", range(0, GRAPHS, CHUNK))
def test_random_graphs(first):
    failures = [said for seed in range(first, first + CHUNK) if (said := run(seed, limit=100)) is not None]
    assert failures == [], "\n".join(failures)


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: kept.name)
def test_what_went_wrong_once(kept):
    case = Case(parse_function(kept.text), kept.bindings, kept.seed)
    assert failure(case, [kept.check]) is None


def test_graphs_are_varied():
    """The vocabulary is used, sizes are symbols and numbers, variables change, rows have a batch."""
    cases = [random_case(seed) for seed in range(60)]
    used = {type(op).__name__ for case in cases for op in case.function.operations}
    assert len(used) > 90
    assert {len(case.bindings) for case in cases} == {1, 3}
    assert any([case.function.updates for case in cases]) and any([len(case.function.results) > 3 for case in cases])
    assert all([str(root.shape[0]) == "n" for seed in range(10)
                for root in random_rows(seed).function.roots])


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(f"tests.fuzz.{name}")
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0
