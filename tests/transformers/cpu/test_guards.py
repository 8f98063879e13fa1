"""Guards on the cpu: kernels that end a call, after which nothing has changed."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.errors import InvalidArgument, NumericError
from nervure.ir.function import Function
from nervure.ir.op import Value
from nervure.ir.variable import Variable
from nervure.transformers.cpu.cache import executable_cache

ROWS = nv.dim("n", min=0)
X = nv.Parameter(nv.float32, (ROWS, 40))
W = Variable(nv.Parameter(nv.float32, (40,)).type, name="w")
ONES = np.ones((50, 40), np.float32)


def guarded(condition: Value, **attributes: str) -> Function:
    """A step that adds the sum of all rows to a variable where a condition holds."""
    old = ops.ReadVariable(W)
    guard = ops.Guard(condition, message="rows must be small", **attributes)
    return Function([ops.Sum(X, (0, 1))], [X], {W: old + ops.Sum(X, (0,))}, [guard])


def small() -> Value:
    return ops.Less(X, X.full(4)).output


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("place", [(0, 0), (3, 7), (49, 39)])
def test_a_guard_that_does_not_hold_changes_nothing_and_names_its_first_position(place, threads):
    wrong = ONES.copy()
    wrong[place] = wrong[49, 39] = 5
    with nv.flags.overriding(threads=threads), nv.transformers.make_transformer("cpu") as cpu:
        step = cpu.compile(guarded(small(), kind="numeric"))
        step([ONES])
        with pytest.raises(NumericError, match="rows must be small") as caught:
            step([wrong])
        assert caught.value.got == f"false at position {place}" and caught.value.location.file == __file__
        assert (cpu.get(W) == 50).all()
        assert step([ONES[:2]])[0] == 80 and (cpu.get(W) == 52).all()
        assert step([ONES[:0]])[0] == 0


def test_a_guard_is_a_kernel_and_the_function_is_kept_on_disk():
    with nv.transformers.make_transformer("cpu") as cpu:
        step = cpu.compile(guarded(small()))
        plan = step.compilation.plan
        assert [each.kernel.name for each in plan.steps if each.may_fail] == ["check"]
        assert executable_cache.describe(plan.function, step.compilation) is not None
        with pytest.raises(InvalidArgument, match="rows must be small"):
            step([ONES * 5])


def test_variables_are_written_in_place_behind_a_guard():
    old = ops.ReadVariable(W)
    guard = ops.Guard(small(), message="rows must be small")
    with nv.transformers.make_transformer("cpu") as cpu:
        step = cpu.compile(Function([], [X], {W: (old * 2.0 + 1.0)}, [guard]))
        assert len(step.compilation.plan.in_place) == 1
        for rows, expected in ((ONES, 1), (ONES * 5, 1), (ONES, 3)):
            if rows is not ONES:
                with pytest.raises(InvalidArgument):
                    step([rows])
            else:
                step([rows])
            assert (cpu.get(W) == expected).all()


def test_guards_fail_in_their_order():
    first, second = [ops.Guard(ops.Less(X, X.full(limit)), message=f"below {limit}") for limit in (3, 2)]
    for name in ("interpreter", "cpu"):
        with nv.transformers.make_transformer(name) as transformer:
            step = transformer.compile(Function([], [X], effects=[first, second]))
            for value, message in ((2.5, "below 2"), (5, "below 3")):
                with pytest.raises(InvalidArgument, match=message):
                    step([ONES * np.float32(value)])
