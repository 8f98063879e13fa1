"""Layers and losses give what PyTorch's give from the same numbers, and so do their gradients."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from tests.nn.figures import figures, kept
from tests.nn.torch_cases import CASES, Case, cotangent


def ours(case: Case, transformer: nv.transformers.base.Transformer) -> dict[str, np.ndarray]:
    """The same figures, computed here."""
    given = {key: nv.variable(case.axes.get(key, array.shape), array) for key, array in case.arrays.items()}
    found = case.here(*given.values())
    result, behind = found if isinstance(found, tuple) else (found, {})
    error = nv.constant(cotangent(result.shape), axes=result.axes)
    gradients = nv.deriv(result, list(given.values()), error=error)
    values = transformer.computation([result, *gradients])()
    names = ["result", *[f"gradient of {key}" for key in given]]
    return {**dict(zip(names, values, strict=True)), **{key: transformer.get(place) for key, place in behind.items()}}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("transformer", ["cpu", "interpreter"])
def test_values_and_gradients_are_those_of_torch(name, transformer):
    """T211, T212, T213, T214, T215, T216, T225, T226, T227, T413, T414, T416, T417, T419,
    T420, T421, T440, T444, T445, T446, T447, T449, T450: live, or against those kept.
    """
    expected = figures(name)
    with nv.transformers.make_transformer(transformer) as made:
        found = ours(CASES[name], made)
    assert set(found) == set(expected) and len(found) > 1
    for key, array in expected.items():
        np.testing.assert_allclose(found[key], array, rtol=1e-5, atol=1e-5, err_msg=key)


def test_figures_are_kept_for_every_case():
    assert {key.partition("/")[0] for key in kept()} == set(CASES)
