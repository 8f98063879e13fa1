"""Pieces of arrays: their places, and whether they make a whole."""

from __future__ import annotations

import numpy as np
import pytest

from nervure.types.pieces import ArrayPiece, is_grid


def test_the_place_of_a_piece():
    assert ArrayPiece((2, 0), np.zeros((3, 4))).box == ((2, 5), (0, 4))
    assert ArrayPiece((), np.zeros(())).box == ()


@pytest.mark.parametrize(("shape", "boxes", "fits"), [
    ((), [()], True), ((), [], False), ((), [(), ()], False),
    ((4,), [((0, 4),)], True), ((4,), [((2, 4),), ((0, 2),)], True), ((4,), [((0, 1),), ((1, 4),)], True),
    ((4,), [], False), ((4,), [((0, 2),)], False), ((4,), [((2, 4),)], False), ((4,), [((0, 5),)], False),
    ((4,), [((0, 2),), ((0, 2),)], False), ((4,), [((0, 3),), ((2, 4),)], False), ((4,), [((0, 4),), ((0, 4),)], False),
    ((0,), [((0, 0),)], True), ((0, 3), [((0, 0), (0, 3))], True), ((0, 3), [((0, 0), (0, 2))], False),
    ((2, 2), [((0, 1), (0, 2)), ((1, 2), (0, 2))], True), ((2, 2), [((0, 1), (0, 1)), ((1, 2), (1, 2))], False),
    ((2, 2), [((0, 1), (0, 1)), ((0, 1), (1, 2)), ((1, 2), (0, 1))], False),
    ((2, 2), [((0, 1), (0, 1)), ((0, 1), (1, 2)), ((1, 2), (0, 1)), ((1, 2), (1, 2))], True),
    ((2, 2), [((0, 1), (0, 1)), ((0, 1), (1, 2)), ((1, 2), (0, 1)), ((0, 1), (0, 1))], False),
    ((2, 2), [((0, 2),)], False)])
def test_pieces_that_make_a_whole(shape, boxes, fits):
    assert is_grid(shape, boxes) is fits
