"""Memory is looked at before it is asked for."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import flags
from nervure.errors import InvalidArgument
from nervure.flags import physical_memory
from nervure.ir.function import Function
from nervure.transformers.memory_estimate import dropped_after, last_uses, needed
from tests.transformers.build import compiled, parameter

ops = nv.ops
N = nv.dim("N")


def test_what_is_alive_together_counts():
    x = parameter(1000)
    y = x.value
    for _ in range(10):
        y = ops.Negative(y).output
    assert needed(nv.Function([y], [x]), {})[0] == 8000  # an operand and a result
    halves = [ops.Negative(x).output for _ in range(5)]
    assert needed(nv.Function(halves, [x]), {})[0] == 20_000


def test_a_value_that_nothing_reads_is_dropped_after_the_op_that_makes_it():
    x = parameter(1000)
    values, positions = ops.Sort(x).outputs
    y = ops.Negative(values).output
    last = last_uses(nv.Function([y], [x]))
    assert (last[x.value], last[values], last[positions]) == (values.op, y.op, values.op) and y not in last
    assert dropped_after(values.op, last) == [x.value, positions]


def test_views_and_leaves_take_nothing_unless_they_are_results():
    x = parameter(1000)
    spread = ops.Broadcast(x, (10**9, 1000), (0,))
    assert needed(nv.Function([ops.Sum(ops.Slice(spread, [(0, 2, 1), (0, 1000, 1)]), (0,))], [x]), {})[0] == 4000
    assert needed(nv.Function([spread], [x]), {})[0] == 4 * 10**12


@pytest.mark.parametrize("build", [
    lambda x: ops.Broadcast(x, (2**40, 4), (0,)),
    lambda x: ops.Negative(ops.Broadcast(x, (2**40, 4), (0,))),
    lambda x: ops.Full(0, nv.float32, (2**40, 4)),
])
def test_more_than_this_machine_has_is_refused(build):
    x = parameter(4)
    executable = compiled([build(x)], [x])
    with pytest.raises(InvalidArgument, match="more memory than there is") as caught:
        executable(np.ones(4))
    assert caught.value.location.file == __file__
    assert f"{2**44:,} bytes" in caught.value.got


def test_sizes_depend_on_symbols():
    x = parameter(N)
    executable = compiled([ops.Sum(ops.Negative(ops.Broadcast(x, (N, N, N), (0, 1))), (0, 1))], [x])
    assert executable(np.ones(3))[0].tolist() == [-9.0] * 3
    with flags.overriding(memory_limit=10**6), pytest.raises(InvalidArgument, match="more memory"):
        executable(np.ones(100))


def test_a_huge_broadcast_can_be_reduced():
    x = parameter(3)
    total = ops.Sum(ops.Broadcast(x, (2**22, 3), (0,)), (0,))
    assert compiled([total], [x])(np.float32([1, 2, 3]))[0].tolist() == [2**22, 2**23, 3 * 2**22]


def test_the_memory_of_this_machine_is_known():
    assert 2**28 < physical_memory() < 2**60


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
def test_there_is_nothing_to_pad_with(mode, transformer):
    """An axis whose symbol is 0 has no element to repeat; nothing outside of it is read."""
    x = nv.Parameter(nv.float32, (N, 2))
    with nv.transformers.make_transformer(transformer) as backend:
        down, across = [backend.compile(Function([ops.FoldedPad(x, pairs, mode)], [x]))
                        for pairs in (((1, 1), (0, 0)), ((0, 0), (1, 1)))]
        assert down(np.ones((1, 2), np.float32))[0].tolist() == [[1.0, 1.0]] * 3
        assert across(np.ones((0, 2), np.float32))[0].shape == (0, 4)
        with pytest.raises(InvalidArgument, match="no elements to be padded with") as caught:
            down(np.ones((0, 2), np.float32))
        assert caught.value.op == "FoldedPad" and caught.value.location.file == __file__
        assert caught.value.got == "(0, 2), as N is 0"


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
@pytest.mark.parametrize("op", [ops.Max, ops.Min, ops.ArgMax])
def test_there_is_nothing_to_choose_from(op, transformer):
    """What has no unit refuses an axis whose symbol is 0, unless nothing is asked for."""
    x = nv.Parameter(nv.float32, (N, 2))
    with nv.transformers.make_transformer(transformer) as backend:
        down, across = [backend.compile(Function([op(x, [axis])], [x])) for axis in (0, 1)]
        assert down(np.ones((3, 2), np.float32))[0].shape == (2,)
        assert across(np.ones((0, 2), np.float32))[0].shape == (0,)
        for _ in range(2):
            with pytest.raises(InvalidArgument, match="an empty axis has no such element") as caught:
                down(np.ones((0, 2), np.float32))
        assert caught.value.op == op.__name__ and caught.value.location.file == __file__
