"""Points of a domain as points of tensors of other shapes."""

from __future__ import annotations

from nervure.kernel.coordinates import Flat, at_coordinates, reshaped, without_ones
from nervure.types.dim import index


def test_lengths_of_one_come_and_go():
    i, j, k = index(0), index(1), index(2)
    assert without_ones((i, j, k), (2, 1, 3), (1, 2, 3, 1)) == (0, i, k, 0)
    assert without_ones((i, j), (2, 3), (2, 3)) == (i, j)
    assert without_ones((), (), (1, 1)) == (0, 0)


def test_other_lengths_must_be_the_same_in_order():
    i, j = index(0), index(1)
    assert without_ones((i, j), (2, 3), (3, 2)) is None
    assert without_ones((i, j), (2, 3), (6,)) is None
    assert without_ones((i,), (2,), (1,)) is None
    assert without_ones((i, j), (2, 2), (2, 1)) is None


def test_a_reshape_keeps_a_point_that_it_can_and_its_position_in_any_case():
    i, j = index(0), index(1)
    assert reshaped((i, j), (2, 3), (2, 3)) == (i, j)
    assert reshaped((i, j), (2, 3), (2, 1, 3)) == (i, 0, j)
    assert reshaped((i, j), (2, 3), (6,)) == Flat(i * 3 + j)
    assert reshaped(Flat(i), (6,), (2, 3)) == Flat(i)


def test_an_expression_at_a_point():
    i, j = index(0), index(1)
    assert at_coordinates(3 * i + j, (j, 2)) == 3 * j + 2
