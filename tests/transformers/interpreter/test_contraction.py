"""Products on the interpreter: which matrices the linear algebra sees."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.ops import Contract
from nervure.transformers.interpreter.combine import Roles
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


def test_dimensions_have_roles_in_the_order_of_the_operands():
    assert Roles.of(left=(4, 1, 0), right=(0, 3, 2, 1), kept=(0, 2, 3, 4)) == Roles((0,), (4,), (3, 2), (1,))


def test_a_dimension_of_one_operand_alone_that_is_not_kept_has_no_role():
    assert Roles.of(left=(0, 2), right=(2, 1), kept=(0,)) == Roles((), (0,), (), (2,))
