"""Every function evaluated without a compiler, against what it means. All of its arguments are tried on the cpu."""

from __future__ import annotations

import numpy as np
import pytest

from nervure.kernel.math import FUNCTIONS
from nervure.kernel.math.arrays import evaluate
from nervure.ops.scalar import SCALAR_FUNCTIONS
from nervure.types.dtype import float64
from tests.conformance.meaning import meaning

NUMBERS = np.array([0.0, -0.0, 0.1, -0.4, 0.75, 1.0, 1.7, 2.0, 3.3, -3.3, 12.5, -20.0, 1e6, np.inf, -np.inf, np.nan])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_near_what_it_means(name):
    arguments = [NUMBERS, NUMBERS[::-1].copy()][:len(SCALAR_FUNCTIONS[name].operands)]
    got = evaluate(FUNCTIONS[name], *arguments)
    wanted = np.array([meaning(name, float64, *numbers) for numbers in zip(*[x.tolist() for x in arguments])])
    np.testing.assert_allclose(got, wanted, rtol=1e-15)
    assert (np.signbit(got) == np.signbit(wanted))[~np.isnan(wanted)].all()
