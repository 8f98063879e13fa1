"""The reach of an address is that of all its iterations."""

from __future__ import annotations

import numpy as np
import pytest

from nervure.kernel.loop_index import Indices, LoopIndex
from nervure.kernel.operands import Address
from nervure.kernel.reach import NOWHERE, reach
from nervure.kernel.tuning import TRIED_POINTS
from nervure.types.dim import dim_max, dim_min, evaluate

I, J, K = map(LoopIndex, range(3))


def places(address: Address, loops: Indices, values: dict[str, int]) -> list[int]:
    """Where each iteration is, one after the other."""
    if not loops:
        start = evaluate(address.base, values)
        return [start + sum([step * values[index.name] for index, step in address.steps])]
    (index, extent), *inner = loops
    return [place for turn in range(evaluate(extent, values))
            for place in places(address, tuple(inner), {**values, index.name: turn})]


@pytest.mark.parametrize("seed", range(100))
def test_it_is_that_of_all_iterations(seed):
    rng = np.random.default_rng(seed)
    first, second, third = rng.integers(0, 6, 3).tolist()
    a, b, c = rng.integers(-4, 5, 3).tolist()
    loops = ((I, first), (J, [second, second - I.dim, dim_min(second, 2 * I.dim)][rng.integers(3)]),
             (K, [third, dim_max(third - J.dim, 0)][rng.integers(2)]))
    base = [7, I.dim // 2 - J.dim % 3, (I.dim + K.dim) * a // 3][rng.integers(3)]
    address = Address(base, ((I, a), (J, b), (K, c)))
    found = places(address, loops, {})
    assert reach(address, loops) == ((min(found), max(found)) if found else NOWHERE)


def test_what_is_affine_takes_no_time_and_too_much_is_left_open():
    assert reach(Address(3, ((I, 2), (J, -1))), ((I, 10**12), (J, 10**9))) == (4 - 10**9, 1 + 2 * 10**12)
    assert reach(Address(I.dim // 2), ((I, TRIED_POINTS),)) == (0, TRIED_POINTS // 2 - 1)
    assert reach(Address(I.dim // 2), ((I, TRIED_POINTS + 1),)) is None
