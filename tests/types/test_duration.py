"""Durations: between and beyond the times that are known."""

from __future__ import annotations

import pytest

from nervure.transformers.cpu.cache.codec import decode, encode
from nervure.types.dim import dim
from nervure.types.duration import MOST_NANOSECONDS, Duration

N = dim("N")


@pytest.mark.parametrize(("length", "expected"), [(0, 90), (10, 100), (15, 200), (20, 300), (30, 700), (1_000, 39_500)])
def test_times_are_in_proportion_between_sizes_and_go_on_beyond_the_last(length, expected):
    slope = Duration(N, ((0, 90), (10, 100), (20, 300), (30, 700)))
    assert slope.nanoseconds({"N": length}) == expected


def test_a_time_is_neither_negative_nor_endless():
    assert Duration(N, ((10, 100), (11, 50))).nanoseconds({"N": 1000}) == 0
    assert Duration(N, ((0, 0), (1, 10**14))).nanoseconds({"N": 10**30}) == MOST_NANOSECONDS


def test_one_time_is_that_of_all_sizes():
    assert Duration(N, ((8, 70),)).nanoseconds({"N": 100}) == 70


def test_what_is_read_may_be_wrong():
    good = Duration(4 * N, ((1, 2), (3, 4)))
    assert decode(Duration, encode(good)) == good and good.is_sound()
    for known in ((), ((3, 4), (1, 2)), ((1, 2), (1, 4)), ((1, -2),), ((1, MOST_NANOSECONDS + 1),)):
        assert not Duration(N, known).is_sound()
