"""A transformer for each test of xla; without jax they are skipped."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import nervure as nv
from nervure.transformers.base import Transformer


@pytest.fixture
def xla() -> Iterator[Transformer]:
    """A transformer over XLA of the test's own."""
    pytest.importorskip("jax", reason="jax is not installed")
    with nv.transformers.make_transformer("xla") as made:
        yield made
