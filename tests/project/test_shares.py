"""The tables of which tests run, and which first, are of files and tests that there are."""

from __future__ import annotations

import ast

import pytest

from tests.project.source import ROOT, parse
from tests.shares import SHARES

FIRST = next(ast.literal_eval(node.value) for node in parse(ROOT / "tests/conftest.py").body
             if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "FIRST")


@pytest.mark.parametrize("name", SHARES)
def test_a_share_is_of_tests_that_there_are(name):
    file, _, test = name.partition("::")
    assert f"def {test or 'test_'}" in (ROOT / "tests" / file).read_text(encoding="utf-8")
    assert SHARES[name] > 1


@pytest.mark.parametrize("name", FIRST)
def test_what_begins_first_is_there(name):
    assert (ROOT / "tests" / name).exists()
