"""The interpreter runs one op after the other, looks for NaN and takes times if asked, and drops values after use."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import flags, ops
from nervure.errors import NumericError
from nervure.transformers.interpreter.step_list import StepList


def logarithm_of_a_difference():
    x = ops.Parameter(nv.float32, (3,))
    return nv.Function([ops.Exp(ops.Log(x - 1.0))], [x])


def test_the_op_that_makes_the_first_nan_is_named():
    """Infinities pass, and so does a NaN of the arguments."""
    steps = StepList(logarithm_of_a_difference(), {})
    with flags.overriding(check_nan=True):
        with pytest.raises(NumericError, match="Log: the result has a NaN and no operand has one"):
            steps.run([np.float32([2, 0.5, 3])], {})
        assert steps.run([np.float32([1, 2, np.inf])], {})[0].tolist() == [0.0, 1.0, np.inf]
        assert np.isnan(steps.run([np.float32([np.nan, 2, 2])], {})[0]).tolist() == [True, False, False]


def test_nothing_is_looked_at_unless_it_is_asked_for():
    assert np.isnan(StepList(logarithm_of_a_difference(), {}).run([np.float32([0, 2, 2])], {})[0]).sum() == 1


def test_values_are_dropped_after_their_last_reader():
    """And the clock has an entry for each step."""
    function, clock = logarithm_of_a_difference(), []
    result, = StepList(function, {}).run([np.float32([2, 3, 4])], {}, clock)
    np.testing.assert_allclose(result, [1, 2, 3], rtol=1e-6)
    assert len(clock) == len([op for op in function.operations if not isinstance(op, (ops.Parameter, ops.Full))])
