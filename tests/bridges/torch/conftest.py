"""Fixtures for tests of the bridge: PyTorch begins each test with nothing compiled and the same random numbers."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def fresh():
    """Nothing is compiled before a test or after it."""
    torch = sys.modules["torch"]
    torch._dynamo.reset()
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()


@pytest.fixture
def made(monkeypatch):
    """The programs that were compiled."""
    from nervure.bridges.torch import freezing
    found = []

    class Kept(freezing.TracedProgram):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            found.append(self)
    monkeypatch.setattr(freezing, "TracedProgram", Kept)
    return found
