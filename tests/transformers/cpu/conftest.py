"""Processors: the machine's own, and one with narrower vectors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nervure import flags
from nervure.transformers import make_transformer
from nervure.transformers.base import Transformer


@pytest.fixture(params=["", "avx2"])
def each_cpu(request: pytest.FixtureRequest) -> Iterator[Transformer]:
    """A cpu transformer with all that the machine has, then one without AVX-512."""
    with flags.overriding(cpu_features=request.param), make_transformer("cpu") as made:
        yield made
