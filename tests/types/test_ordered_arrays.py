"""Arrays in an order of their own: where the elements lie, whose memory it is, and when nothing is copied."""

from itertools import permutations

import numpy as np
import pytest

from nervure.types.layout import row_major
from nervure.types.ordered_arrays import byte_strides, empty, flat, has_own_memory, in_order, is_in_order

SHAPES = [(), (0,), (3,), (2, 3), (1, 4), (2, 1, 3), (3, 0, 2), (2, 3, 4)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_order_of_every_shape(shape):
    values = np.arange(np.prod(shape, dtype=int), dtype=np.int16).reshape(shape)
    for order in [None, *permutations(range(len(shape)))]:
        made = in_order(values, order, copy=True)
        assert made.flags.owndata and made.base is None and made.flags.writeable and is_in_order(made, order)
        assert made.tobytes() == values.tobytes() and not np.shares_memory(made, values)
        assert in_order(made, order) is made and empty(shape, np.dtype(np.int16), order).strides == made.strides
        assert made.strides == byte_strides(shape, order, 2) or not made.size


def test_the_dimension_that_comes_last_moves_fastest():
    assert byte_strides((2, 3, 4), (1, 2, 0), 4) == (4, 32, 8)
    assert not is_in_order(np.ones((2, 3)), (1, 0)) and is_in_order(np.ones((2, 3)).T, (1, 0))


def test_rows_with_gaps():
    layout = row_major((2, 3), sizes=(3, 4))
    made = in_order(np.arange(6.0).reshape(2, 3), layout)
    is_own = has_own_memory(made, layout)
    assert is_own and made.strides == (32, 8) and made.base.size == 12
    assert in_order(made, layout) is made and is_in_order(made, layout) and not is_in_order(made, None)
    assert flat(made).tolist() == [0.0, 1.0, 2.0, 0.0, 3.0, 4.0, 5.0] and np.shares_memory(flat(made), made)
    assert not has_own_memory(made, None)
    part = made[1:]
    is_own = has_own_memory(made, layout)
    assert not is_own and part.base is made.base
    assert not is_in_order(np.ones((2, 4))[:, :3], layout)  # for want of the third row
    assert flat(made.T).tolist() == flat(made).tolist() and flat(np.ones((0, 3))).size == 0


def test_gaps_are_closed_and_elements_aligned():
    wide, odd = np.ones((2, 8))[:, ::2], np.zeros(17, np.uint8)[1:].view(np.float64)
    assert in_order(wide, None).strides == (32, 8)
    assert in_order(odd, None).flags.aligned and in_order(odd, None).tolist() == [0, 0]
