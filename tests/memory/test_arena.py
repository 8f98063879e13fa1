"""Arena packing: nothing that is alive at once shares a byte, and little room is lost."""

from __future__ import annotations

import random

import pytest

from nervure.memory.arena import LINE, Interval, pack


def rounded(size: int) -> int:
    return -(-size // LINE) * LINE


def most_alive(intervals: list[Interval]) -> int:
    steps = range(max([entry.last for entry in intervals], default=-1) + 1)
    return max([sum([rounded(entry.bytes) for entry in intervals if entry.first <= step <= entry.last])
                for step in steps], default=0)


def drawn(seed: int) -> list[Interval]:
    generator = random.Random(seed)
    firsts = [generator.randrange(40) for _ in range(60)]
    return [Interval(first, first + generator.randrange(12), generator.choice((0, 4, 64, 1000, 40_000)))
            for first in firsts]


@pytest.mark.parametrize("seed", range(20))
def test_what_is_alive_at_once_lies_apart(seed):
    intervals = drawn(seed)
    offsets, total = pack(intervals)
    assert most_alive(intervals) <= total <= 1.25 * most_alive(intervals)
    for number, (one, start) in enumerate(zip(intervals, offsets)):
        assert start % LINE == 0 and start + rounded(one.bytes) <= total
        for other, place in zip(intervals[:number], offsets):
            apart = one.last < other.first or other.last < one.first
            assert apart or start + one.bytes <= place or place + other.bytes <= start


def test_a_step_that_goes_up_and_down_again_takes_what_is_alive_at_once():
    """Activations of a network, which their gradients need in the opposite order, and what lives for one step."""
    sizes = [400, 300, 200, 100]
    kept = [Interval(number, 8 - number, size * 1000) for number, size in enumerate(sizes)]
    passing = [Interval(step, step + 1, 150_000 - 10_000 * step) for step in range(8)]
    offsets, total = pack([*passing, *kept])
    assert total == most_alive([*passing, *kept])


def test_nothing_takes_no_room():
    assert pack([]) == ([], 0)
    assert pack([Interval(0, 3, 0)]) == ([0], 0)
