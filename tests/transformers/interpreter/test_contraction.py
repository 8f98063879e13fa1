"""Products on the interpreter: which matrices the linear algebra sees."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.ops import Contract
from nervure.transformers.interpreter.step_list import StepList


@pytest.mark.parametrize("dtype", [nv.float32, nv.float64])
def test_the_order_in_which_a_result_is_written_changes_no_bit(dtype):
    x, y = nv.Parameter(dtype, (17, 1)), nv.Parameter(dtype, (17, 2, 1, 5))
    made = Contract(x, y, (0, 1), (0, 3, 1, 2), (3, 1, 2)).output
    turned = Contract(x, y, (0, 1), (0, 3, 1, 2), (2, 1, 3)).output
    for seed in range(20):
        rng = np.random.default_rng(seed)
        arrays = [rng.standard_normal(value.shape).astype(dtype.numpy) for value in (x, y)]
        plain, permuted = StepList(nv.Function([made, turned], [x, y]), {}).run(arrays, {})
        np.testing.assert_array_equal(permuted, np.transpose(plain, (2, 1, 0)))
