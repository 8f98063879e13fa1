"""The examples of the documents about PyTorch, and of the modules that need it, run as they stand."""

from __future__ import annotations

import pytest

from tests.project.source import ROOT
from tests.project.test_docs import OF_THE_BRIDGE, run_document
from tests.project.test_doctests import MODULES, check_examples

pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.mark.parametrize("name", sorted(OF_THE_BRIDGE))
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_document(ROOT / "docs" / name)


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith("nervure.bridges.torch")])
def test_examples_of_modules_are_true(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_examples(name)
