"""Phases of strides: every element of every window meets its position once, and phases come together in order."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.ir.function import Function
from nervure.passes.phases import Steps, by_phases
from tests.passes.agreement import run


@pytest.mark.parametrize("steps", [Steps(stride, dilation, start, count) for stride, dilation, start, count
                                   in itertools.product((1, 2, 3), (1, 2), (-3, 0, 2), (1, 2, 4))], ids=str)
def test_every_element_meets_its_position_once_in_the_order_of_places(steps):
    seen = set()
    for phase in range(steps.stride):
        meeting = steps.meeting(phase)
        places = [moved for _, moved in meeting]
        assert places == sorted(places)
        for element, moved in meeting:
            assert steps.stride * moved + steps.dilation * element + steps.start == phase
        seen.update([element for element, _ in meeting])
    missing = [element for element in range(steps.positions) if element not in seen]
    assert not missing


@pytest.mark.parametrize("lengths, strides", [
    ((4, 6), (1, 1)), ((4, 6), (2, 3)), ((5, 7), (2, 2)), ((3, 5, 4), (1, 3, 1))])
def test_phases_are_put_between_each_other(lengths, strides):
    steps = [Steps(stride, 0, 0, 1) for stride in strides]
    numbers = itertools.count()
    whole = by_phases(lengths, steps, lambda shape, _: ops.Full(next(numbers), nv.int32, shape).output)
    got, = run(Function([whole], []), [])
    phases = np.indices(lengths) % np.array(strides).reshape(-1, *[1] * len(lengths))
    assert (got == np.ravel_multi_index(tuple(phases), strides)).all()
    assert whole.shape == lengths


def test_lengths_may_be_symbols():
    n = nv.dim("n", min=1)
    x = nv.Parameter(nv.float32, (n,))
    whole = by_phases((n,), [Steps(2, 0, 0, 1)], lambda shape, _: ops.Full(1, nv.float32, shape).output)
    assert whole.shape == (n,)
    for length in (1, 2, 5):
        got, = run(Function([whole + x.output], [x]), [np.zeros(length, np.float32)])
        assert got.tolist() == [1] * length
