"""The memory of inputs: it grows, and is kept."""

from __future__ import annotations

import numpy as np

from nervure.front.input_memory import InputMemory

FLOAT = np.dtype(np.float32)


def test_memory_grows_and_is_kept():
    """T27: a shorter value lies in the memory of a longer one; a longer one gets more."""
    memory = InputMemory((0, 1))
    assert memory.array is None
    long = memory.room((4, 10), FLOAT)
    assert long.tolist() == [[0.0] * 10] * 4 and memory.room((4, 10), FLOAT) is long
    short = memory.room((2, 10), FLOAT)
    assert np.shares_memory(short, long) and memory.array is short and short.flags.c_contiguous
    assert np.shares_memory(memory.room((3, 10), FLOAT), long)
    longer = memory.room((5, 10), FLOAT)
    assert not np.shares_memory(longer, long) and longer.shape == (5, 10)


def test_memory_of_others_is_used_as_it_is():
    """T22: until a longer value comes."""
    memory, array = InputMemory((0, 1)), np.ones((3, 2), np.float32)
    memory.adopt(array)
    assert memory.array is array and np.shares_memory(memory.room((2, 2), FLOAT), array)
    assert not np.shares_memory(memory.room((4, 2), FLOAT), array)


def test_memory_of_another_order():
    """T28: the first dimension moves fastest; growing and shrinking keep it."""
    memory = InputMemory((1, 0))
    for length in (3, 2, 5):
        assert memory.room((length, 2), FLOAT).flags.f_contiguous and memory.array.shape == (length, 2)
    array = np.asfortranarray(np.ones((3, 2), np.float32))
    memory.adopt(array)
    assert np.shares_memory(memory.room((2, 2), FLOAT), array)
