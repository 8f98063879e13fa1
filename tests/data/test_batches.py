"""Batches: each example once an epoch, in an order that can be returned to."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.data import Batches


def test_each_example_once_in_an_order_of_seed_and_epoch():
    """T319: any place of an epoch can be started at."""
    numbers = np.arange(23)
    data = Batches(numbers, numbers * 2, size=5, seed=4)
    epochs = [[batch[0] for batch in data.epoch(number)] for number in range(3)]
    assert len(data) == 5 and [len(batch) for batch in epochs[0]] == [5, 5, 5, 5, 3]
    orders = [np.concatenate(epoch).tolist() for epoch in epochs]
    assert [sorted(order) for order in orders] == [numbers.tolist()] * 3
    assert orders[0] != orders[1] != orders[2] and orders[0] != numbers.tolist()
    again = Batches(numbers, size=5, seed=4)
    assert all(np.array_equal(one, other) for one, (other,) in zip(epochs[2][2:], again.epoch(2, start=2)))
    assert not any(np.any(2 * one != other) for one, other in data)
    assert next(Batches(numbers, size=23, seed=5).epoch(0))[0].tolist() != orders[0]


def test_without_shuffling_the_order_is_that_of_the_arrays():
    """T319: tensors and lists are read, too."""
    data = Batches(nv.constant([1.0, 2.0, 3.0]), [4, 5, 6], size=2, shuffled=False)
    assert [[array.tolist() for array in batch] for batch in data] == [[[1.0, 2.0], [4, 5]], [[3.0], [6]]]
    assert repr(data) == "Batches(3 examples, size=2, seed=0)"


@pytest.mark.parametrize("data", [Batches([0, 1, 2, 3], size=2), Batches([0, 1, 2, 3], size=2, shuffled=False),
                                  nv.data.Transformed(Batches([0, 1, 2, 3]), []),
                                  nv.data.Prefetched(Batches([0, 1, 2, 3]))], ids=lambda data: repr(data))
def test_epochs_and_batches_count_from_0(data):
    """T319: by integers of any kind."""
    assert len(list(data.epoch(np.int64(0), np.int32(0)))) == len(data)
    for place, name in (((-1,), "number"), ((0, -1), "start")):
        with pytest.raises(nv.InvalidArgument, match=f"{name} is 0 or more"):
            list(data.epoch(*place))
    for place, name in (((1.5,), "number"), ((None,), "number"), ((0, 1.5), "start")):
        with pytest.raises(nv.WrongKind, match=f"{name} is an integer"):
            list(data.epoch(*place))
