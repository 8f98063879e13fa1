"""Sources: whatever gives batches is read from any batch of any epoch on."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.data.sources import Stream, as_source

NUMBERS = np.arange(7)


def first_column(batches: object) -> list[list[int]]:
    return [batch[0].tolist() for batch in batches]


def test_what_has_a_length_and_gives_batches_is_data():
    """T319: another library's loader, from its start each epoch."""
    class Loader:
        def __len__(self):
            return 3

        def __iter__(self):
            return iter([([number], [number + 1]) for number in range(3)])
    data = as_source(Loader(), "fit")
    assert data.length == 3 and data.kind == {"batches": 3}
    assert [[array.tolist() for array in batch] for batch in data.epoch(5, start=2)] == [[[2], [3]]]


class Foreign:
    """An array of another library, which gives its rows in a loop."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array

    def __len__(self):
        return len(self.array)

    def __iter__(self):
        return map(Foreign, self.array)


def of_torch(array):
    return pytest.importorskip("torch", reason="PyTorch is not installed").tensor(array)


@pytest.mark.parametrize("made", [np.array, nv.constant, Foreign, of_torch])
def test_one_array_is_data_whose_rows_are_examples(made):
    """T319: it is of NumPy, a tensor, or of any other library."""
    data = as_source(made(np.arange(15.0).reshape(5, 3)), "fit", size=2, shuffled=False)
    assert data.length == 3 and data.repeats
    assert [[array.shape for array in batch] for batch in data.epoch(0)] == [[(2, 3)], [(2, 3)], [(1, 3)]]


class Squares:
    """A source of one's own, without a length or a kind."""

    def epoch(self, number, start=0):
        for i in range(start, 4):
            yield np.array([number, i]), np.array([i * i, i])


def test_functions_of_nothing():
    """T378: a generator function, which makes a new generator for each epoch."""
    def endless():
        while True:
            yield NUMBERS
    data = as_source(endless, "fit", 2)
    assert first_column(data.epoch(1)) == [NUMBERS.tolist()] * 2 == first_column(data.epoch(0))
    with pytest.raises(nv.WrongKind, match="takes the number of an epoch") as caught:
        as_source(lambda number, start: [], "fit")
    assert caught.value.got == "<lambda>(number, start)"


@pytest.mark.parametrize("value", [Squares(), lambda number: Squares().epoch(number),
                                   lambda number: list(Squares().epoch(number))])
def test_data_of_one_s_own(value):
    """T377, T378: an object with ``epoch``, and a function of the number of an epoch, which is passed over."""
    data = as_source(value, "fit")
    assert data.length is None and data.kind == {} and data.repeats
    assert first_column(data.epoch(2, 1)) == [[2, 1], [2, 2], [2, 3]]
    limited = as_source(value, "fit", 3)
    assert first_column(limited.epoch(1, 2)) == [[1, 2]] and limited.length == 3 and limited.kind == {"steps": 3}
    with pytest.raises(nv.InvalidArgument, match="fewer batches than an epoch") as caught:
        list(as_source(value, "fit", 5).epoch(0))
    assert caught.value.got == "4 batches"


def test_what_has_no_length_is_gone_through():
    """T378: anything that can be iterated over again."""
    class Endless:
        def __iter__(self):
            return iter(NUMBERS.reshape(-1, 1))
    data = as_source(Endless(), "fit")
    assert first_column(data.epoch(3, 5)) == [[5], [6]] and data.length is None and not data.repeats
    assert first_column(as_source(Endless(), "fit", 2).epoch(3)) == [[0], [1]]


def test_a_generator_gives_its_batches_once():
    """T378: an epoch is the next ones; what was looked at first, and what was not used, comes again."""
    data = as_source((np.array([number]) for number in range(9)), "fit", 3)
    assert isinstance(data, Stream) and data.first()[0].tolist() == data.first()[0].tolist() == [0]
    assert first_column(data.epoch(0)) == [[0], [1], [2]]
    reading = data.epoch(1)
    assert next(reading)[0].tolist() == [3] and next(reading)[0].tolist() == [4]
    assert first_column(data.epoch(1, 1)) == [[4], [5]]  # the second was given, and not used
    with pytest.raises(nv.InvalidArgument, match="has given these batches before"):
        next(data.epoch(0))
    data.begin()
    assert first_column(data.epoch(0)) == [[6], [7], [8]]  # a new training takes what is left
    fresh = as_source((np.array([number]) for number in range(9)), "fit", 3)
    assert first_column(fresh.epoch(2, 1)) == [[7], [8]]  # a new one is read from its start


def test_generators_that_end():
    """T378: without ``steps`` there is one epoch."""
    data = as_source(iter([NUMBERS]), "fit")
    assert first_column(data.epoch(0)) == [NUMBERS.tolist()]
    with pytest.raises(nv.InvalidArgument, match="gives its batches once"):
        next(data.epoch(1))
    with pytest.raises(nv.InvalidArgument, match="no batches"):
        as_source(iter(()), "fit").first()


class Wrong:
    """A source with something that is wrong with it."""

    kind: object = {}

    def epoch(self, number):
        return [NUMBERS]


@pytest.mark.parametrize(("value", "message"), [
    (Wrong(), "epoch takes the number of an epoch"), (3, "this is no data"), ("words", "this is no data"),
    (Squares, "this is no data"), ({"a": "b"}, "the elements are not numbers"), ({3: NUMBERS}, "have names")])
def test_what_is_no_data(value, message):
    """T320, T377: it is refused before anything is read."""
    with pytest.raises(nv.WrongKind, match=message):
        as_source(value, "fit")


@pytest.mark.parametrize("made", [None, 3])
def test_an_epoch_that_is_no_batches(made):
    """T320, T377: it is refused when it is read."""
    class Empty:
        def epoch(self, number, start=0):
            return made
    for value in (Empty(), lambda number: made):
        with pytest.raises(nv.WrongKind, match="gives no batches"):
            next(as_source(value, "fit").epoch(0))
    with pytest.raises(nv.WrongKind, match="epoch gives no batches"):
        nv.data.check(Empty())


def test_kinds_are_integers():
    """T377: they are compared when a training goes on."""
    class Kind(Squares):
        kind = {"size": np.int64(4)}
    assert as_source(Kind(), "fit").kind == {"size": 4} and type(as_source(Kind(), "fit").kind["size"]) is int
    Kind.kind = {"name": "squares"}
    with pytest.raises(nv.WrongKind, match="kind tells one set of data from another"):
        as_source(Kind(), "fit")
    with pytest.raises(nv.InvalidArgument, match="a batch has arrays"):
        next(as_source(iter([()]), "fit").epoch(0))


def test_a_list_of_batches_is_no_array():
    """T378: tuples or dicts of arrays in a list; arrays in a list are arrays, as in a tuple."""
    pair = (NUMBERS, NUMBERS)
    assert as_source([pair, pair], "fit").kind == {"batches": 2}
    assert as_source([{"x": NUMBERS}], "fit").length == 1
    assert as_source([NUMBERS, NUMBERS], "fit", size=2).length == 4 and as_source(pair, "fit", size=7).length == 1
