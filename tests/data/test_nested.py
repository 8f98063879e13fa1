"""Structures: arrays in tuples and dicts, as batches and targets are."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

import nervure as nv
from nervure.data import Batches
from nervure.data.nested import leaves, leaves_like, mapped, read_batch, read_structure

Pair = namedtuple("Pair", "left right")
X, Y = np.arange(6).reshape(3, 2), np.arange(3)


def test_batches_are_made_up_as_what_is_given():
    """T371: tuples, dicts and named tuples, nested; a dict alone makes dicts."""
    data = Batches(X, {"class": Y, "boxes": Pair(X, Y)}, size=2, shuffled=False)
    first, second = data
    assert list(first[1]) == ["class", "boxes"] and isinstance(first[1]["boxes"], Pair)
    assert first[1]["boxes"].left.tolist() == X[:2].tolist() and second[1]["class"].tolist() == [2]
    named, = Batches({"x": X, "y": Y}, seed=3)
    order = np.random.default_rng([3, 0]).permutation(3)
    assert named["x"].tolist() == X[order].tolist() and named["y"].tolist() == Y[order].tolist()
    with pytest.raises(nv.ShapeMismatch, match="different numbers of examples"):
        Batches({"x": X, "y": (Y, Y[1:])})
    with pytest.raises(nv.InvalidArgument, match="nothing to take batches of"):
        Batches({})


def test_lists_of_numbers_are_arrays():
    """T319, T371: a tuple with arrays in it is made up of them; a list is one array, but in a batch of a loader."""
    assert read_structure((1, 2), "fit").tolist() == [1, 2] and read_structure([Y, Y], "fit").shape == (2, 3)
    assert read_structure(([1, 2], Y), "fit")[0].tolist() == [1, 2]
    batch = read_batch([X, [Y, nv.constant(Y)]], "fit")
    assert isinstance(batch[1], tuple) and batch[1][1].tolist() == Y.tolist()
    assert read_batch(X, "fit")[0] is X and list(read_batch({"a": [1, 2]}, "fit")) == ["a"]
    with pytest.raises(nv.ShapeMismatch, match="no axis of examples"):
        read_structure((Y, 3.0), "fit")


def test_leaves_in_the_order_of_a_form():
    """T371: dicts in any order; what is made up in another way is named by its path."""
    form = {"a": 0, "b": (0, {"c": 0})}
    assert leaves_like(form, {"b": (1, {"c": 2}), "a": 3}, "fit") == [3, 1, 2]
    assert [path for path, _ in leaves(form)] == ["a", "b[0]", "b[1].c"]
    for other, got in [({"a": 3}, "a dict of a"), ({"a": 3, "b": (1,)}, "1 entries"), ((1, 2), "2 entries"),
                       ({"a": 3, "b": (1, 2)}, "an array")]:
        with pytest.raises(nv.InvalidArgument, match="made up in another way") as caught:
            leaves_like(form, other, "fit")
        assert caught.value.got == got
    assert mapped(lambda leaf: leaf + 1, Pair(1, [2])) == Pair(2, [3])
