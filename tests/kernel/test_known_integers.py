"""Integers between known numbers: intervals hold for any arguments, and indices that are in range have no check."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops, transformers
from nervure.kernel.known_integers import KnownIntegers
from tests.kernel.loops_transformer import Loops

X = nv.Parameter(nv.int64, (6,))
SMALL = nv.Parameter(nv.int8, (6,))
MASK = nv.Parameter(nv.bool_, (6,))
FLOATS = nv.Parameter(nv.float32, (6,))


def held(x, low, high):
    return ops.Minimum(ops.Maximum(x, x.full(low)), x.full(high)).output


WIDE, SHORT = held(X.output, -2, 5), held(SMALL.output, -100, 100)
CASES = {
    "held": (WIDE, (-2, 5)),
    "sum": (WIDE + WIDE * 3 - 1, (-9, 19)),
    "difference": (WIDE - WIDE, (-7, 7)),
    "wraps": (SHORT + SHORT, (-128, 127)),
    "product that wraps": (held(X.output, 0, 2**62) * 4, (-2**63, 2**63 - 1)),
    "iota": (ops.Iota((2, 6), None).output, (0, 11)),
    "chosen": (ops.Where(MASK, WIDE, WIDE.full(9)).output, (-2, 9)),
    "mask": (ops.Convert(MASK, nv.int64).output, (0, 1)),
    "float": (held(ops.Convert(FLOATS, nv.int64).output, 0, 3), (0, 3)),
    "saturated": (ops.Convert(held(X.output, 0, 300), nv.int8).output, (-128, 127)),
    "wrapped": (ops.Convert(held(X.output, 0, 300), nv.int8, mode="wrap").output, (-128, 127)),
    "fits": (ops.Convert(held(X.output, 0, 100), nv.int8).output, (0, 100)),
    "moved": (ops.Reverse(ops.Concatenate(WIDE, WIDE.full(8), axis=0), [0]).output, (-2, 8)),
    "gathered": (ops.Gather(WIDE, ops.Constant(np.array([0, 5])), 0).output, (-2, 5)),
    "constant": (ops.Constant(np.array([4, -1, 2])).output, (-1, 4)),
    "unknown": (X.output, (-2**63, 2**63 - 1)),
}


@pytest.mark.parametrize("name", CASES)
def test_elements_lie_between_the_numbers_that_are_known(name):
    value, expected = CASES[name]
    assert KnownIntegers().of(value) == expected
    with transformers.make_transformer("interpreter") as made:
        run = made.build(nv.Function([value], [X, SMALL, MASK, FLOATS]))
        generator = np.random.default_rng(0)
        for scale in (3, 200, 2**62):
            x = generator.integers(-scale, scale, 6)
            found, = run([x, x.astype(np.int8), x > 0, x.astype(np.float32)])
            assert expected[0] <= found.min() and found.max() <= expected[1]


def test_an_interval_does_not_depend_on_which_is_asked_for_first():
    """However long the chain is that it follows from."""
    chain = [ops.Iota((5,), 0).output]
    for _ in range(2000):
        chain.append(chain[-1] + 1)
    for first in (2000, 10):
        known = KnownIntegers()
        known.of(chain[first])
        assert [known.of(chain[number]) for number in (10, 27, 2000)] == [(10, 14), (27, 31), (2000, 2004)]


def test_an_index_that_is_in_range_has_no_check():
    table, place = nv.Parameter(nv.float32, (7, 3)), nv.Parameter(nv.int64, (5,))
    rows, places = np.arange(21, dtype=np.float32).reshape(7, 3), np.array([-9, 0, 3, 6, 2])
    for low, high, may_fail in ((0, 6, False), (0, 7, True), (-1, 6, True), (2, 3, False)):
        run = Loops().build(nv.Function([ops.Gather(table, held(place.output, low, high), 0)], [table, place]))
        assert any([step.may_fail for step in run.plan.steps]) is may_fail
        assert np.array_equal(run([rows, places])[0], rows[np.clip(places, low, high)])


def test_rows_of_a_joined_axis_are_found_where_they_lie():
    images = nv.Parameter(nv.float32, (2, 3, 4, 5))
    place = nv.Parameter(nv.int64, (2, 6))
    flat = ops.Reshape(ops.Permute(images, (0, 2, 3, 1)), (2, 20, 3))
    rows = ops.GatherNd(flat, ops.Reshape(held(place.output, 0, 19), (2, 6, 1)), batch=1)
    given = np.random.default_rng(1).normal(size=(2, 3, 4, 5)).astype(np.float32), np.arange(12).reshape(2, 6) * 3 % 20
    expected = np.stack([given[0][n].reshape(3, 20)[:, given[1][n]].T for n in range(2)])
    with transformers.make_transformer("interpreter") as interpreter:
        for made in (interpreter, Loops()):
            assert np.array_equal(made.build(nv.Function([rows], [images, place]))([*given])[0], expected)


@pytest.mark.parametrize("dtype", [nv.int8, nv.int32, nv.int64, nv.uint8, nv.uint32, nv.uint64], ids=str)
def test_the_ends_of_a_type_are_out_of_range(dtype, cpu):
    x, place = nv.Parameter(nv.float32, (3,)), nv.Parameter(dtype, (4,))
    rows, low, high = np.float32([5, 6, 7]), *map(int, dtype.limits)
    last = -1 if low else 2
    for made in (Loops(), cpu):
        run = made.build(nv.Function([ops.Gather(x, place, 0)], [x, place]))
        assert run([rows, np.array([0, 2, last, 1], dtype.numpy)])[0].tolist() == [5, 7, 7, 6]
        for bad in (low if low else 3, high, 3, -4 if low else high - 1):
            with pytest.raises(IndexError, match="Gather"):
                run([rows, np.array([0, bad, 1, 2], dtype.numpy)])
