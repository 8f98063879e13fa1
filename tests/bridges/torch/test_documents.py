"""The examples of the documents about PyTorch run as they stand."""

from __future__ import annotations

import pytest

from tests.project.source import ROOT
from tests.project.test_docs import OF_THE_BRIDGE, run_document

pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.mark.parametrize("name", sorted(OF_THE_BRIDGE))
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_document(ROOT / "docs" / name)
