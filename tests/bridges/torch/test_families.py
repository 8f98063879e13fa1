"""The comparison of models by ``python -m bench.torch_models``, of a model that needs PyTorch alone."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from bench.torch_models.comparing import compared  # noqa: E402
from bench.torch_models.family import Family  # noqa: E402


def test_a_family_is_compared_with_eager_mode():
    """New statistics of a batch norm are values of arguments, and no calls that PyTorch runs."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    found = compared(Family("torch", "linear", lambda: (model, (torch.randn(5, 3),), {})), is_training=True)
    assert found.ratio <= 2 and found.graphs == 1 and not found.fallbacks
