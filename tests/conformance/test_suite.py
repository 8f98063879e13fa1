"""The suite itself: its examples are true, its comparisons see what they should, its tables give reasons."""

from __future__ import annotations

import doctest
import importlib

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from tests.conformance import tolerance
from tests.conformance.comparison import check
from tests.conformance.random_views import random_view
from tests.conformance.running import REFERENCE, run
from tests.conformance.samples import samples_of
from tests.conformance.sampling import Case, concrete, generic
from tests.project.source import ROOT, module_name, python_files

HELPERS = [module_name(path) for path in python_files("tests/conformance") if not path.name.startswith("test_")]


@pytest.mark.parametrize("name", HELPERS)
def test_examples_are_true(name):
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name)):
        runner.run(test, out=report.append)
    assert not report, "".join(report)


def case_of(build, *arrays: np.ndarray) -> Case:
    parameters = [nv.Parameter(nv.types.dtype.as_dtype(array.dtype), array.shape) for array in arrays]
    op = build(*parameters)
    return Case(nv.Function([op], parameters), list(arrays), op, [entry.value for entry in parameters])


@pytest.mark.parametrize(("build", "factor", "is_seen"), [
    (lambda x: ops.Add(x, x), 1, True), (lambda x: ops.Reverse(x, [0]), 1, True), (lambda x: ops.Exp(x), 1, False),
    (lambda x: ops.Exp(x), 8, True), (lambda x: ops.Sum(x, [1]), 8, False), (lambda x: ops.Sum(x, [1]), 2000, True),
    (lambda x: ops.Max(x, [1]), 1, True), (lambda x: ops.Softmax(x, [1]), 10_000, True)])
def test_an_error_of_some_last_places_is_seen(build, factor, is_seen):
    case = case_of(build, np.random.default_rng(0).random((3, 4), np.float32) + 1)
    expected = run(REFERENCE, case.function, case.arguments)
    wrong = [expected[0] + factor * np.spacing(expected[0])]
    check(case, "interpreter", expected, expected, "as it is")
    if not is_seen:
        check(case, "interpreter", wrong, expected, "nearly")
        return
    with pytest.raises(AssertionError, match="wrong by a little"):
        check(case, "interpreter", wrong, expected, "wrong by a little")


def test_the_reference_does_not_use_the_interpreter():
    for name in ("jax_scalars", "jax_structure", "jax_runner"):
        source = (ROOT / "tests" / "conformance" / f"{name}.py").read_text(encoding="utf-8")
        assert "transformers.interpreter" not in source


def test_views_of_parameters_are_of_all_kinds():
    sample = samples_of("Add", nv.float32)[0]
    seen = set()
    for seed in range(40):
        case = concrete(sample, generic(sample), np.random.default_rng(seed), random_view)
        seen |= {type(operand.op).__name__ for operand in case.operands}
    assert seen == {"Permute", "Reverse", "Slice", "Broadcast", "Reshape", "IndexView"}


def test_what_xla_may_differ_by_is_documented():
    """X9"""
    text = (ROOT / "docs" / "xla.md").read_text(encoding="utf-8")
    rows = [row for row in tolerance.SCALAR_ROWS if row.provider == "xla" and row.dtype is nv.float32]
    named = {f"`{name}`" for row in rows for name in row.functions.split()}
    assert named and all(name in text for name in named)
    assert {row.tolerance.ulps for row in rows} == {8, 32}


def test_every_row_has_a_reason():
    assert all(len(row.reason) > 10 and row.functions.split() for row in tolerance.SCALAR_ROWS)
