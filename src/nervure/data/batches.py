"""Batches of arrays, in an order that follows from a seed and the number of the epoch alone.

So reading can go back to any place of any epoch, and two numbers are enough to remember it:

>>> data = Batches(np.arange(5), np.arange(5) * 10, size=2, seed=1)
>>> whole = [inputs.tolist() for inputs, _ in data.epoch(3)]
>>> [inputs.tolist() for inputs, _ in data.epoch(3, start=1)] == whole[1:], len(data)
(True, 3)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import cast

import numpy as np

from nervure import processes
from nervure.data.nested import Batch, arrays_of, mapped, read_structure
from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.front.argument_parsing import integer, truth
from nervure.ir.identity import Uncopyable
from nervure.support.elsewhere import explains_keywords
from nervure.types.chosen_rows import ChosenRows


class Batches(Uncopyable):
    """Arrays of equally many examples, ``size`` at a time; the last batch of an epoch has the rest.

    A batch has the form of the arguments: a tuple with an entry for each of ``arrays``, or, for a single dict, a dict.
    An entry may itself be a tuple or dict of arrays. The order of epoch ``number`` is drawn from ``(seed, number)``;
    with ``shuffled=False`` it is that of the arrays.

    In a job of several processes all have the same batches, in the same order. An entry is then read when it is used: a
    computation on a mesh reads in each process the examples that its own devices hold, and no others.

    >>> data = nv.data.Batches(np.arange(5), size=2, shuffled=False)
    >>> [batch.tolist() for batch, in data.epoch(0)]
    [[0, 1], [2, 3], [4]]
    >>> next(nv.data.Batches({"x": np.arange(3), "y": np.ones(3)}, size=1, shuffled=False).epoch(0))
    {'x': array([0]), 'y': array([1.])}
    """

    @explains_keywords
    def __init__(self, *arrays: object, size: int = 32, seed: int = 0, shuffled: bool = True) -> None:
        alone = arrays[0] if len(arrays) == 1 and isinstance(arrays[0], Mapping) else None
        self.arrays = cast("Batch", tuple([read_structure(entry, "Batches") for entry in arrays]) if alone is None else
                           read_structure(alone, "Batches"))
        self.size = integer(size, "Batches", "size", help="64 examples at a time are usual", least=1)
        self.seed = integer(seed, "Batches", "seed", least=0)
        self.shuffled = truth(shuffled, "Batches", "shuffled")
        self._count = _checked_length(self.arrays)

    @property
    def kind(self) -> dict[str, int]:
        """The numbers that determine its order: examples, their number in a batch, seed, and whether they are
        shuffled.
        """
        return {"examples": self._count, "size": self.size, "seed": self.seed, "shuffled": int(self.shuffled)}

    def __len__(self) -> int:
        return (self._count + self.size - 1) // self.size

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """Yields the batches of an epoch, from number ``start`` on; both count from 0."""
        (epoch, begin), count = read_place(number, start, "Batches"), self._count
        order = np.random.default_rng([self.seed, epoch]).permutation(count) if self.shuffled else np.arange(count)
        read = _later if processes.count() > 1 else _now
        for first in range(begin * self.size, count, self.size):
            chosen = order[first:first + self.size]
            yield cast("Batch", mapped(partial(read, chosen), self.arrays))

    def __iter__(self) -> Iterator[Batch]:
        return self.epoch(0)

    def __repr__(self) -> str:
        return f"Batches({self._count} examples, size={self.size}, seed={self.seed})"


def read_place(number: object, start: object, op: str) -> tuple[int, int]:
    """Reads the number of an epoch and that of the batch at which it starts, which both count from 0."""
    epoch, begin = [integer(value, op, name, help="epochs and batches count from 0", least=0)
                    for name, value in (("number", number), ("start", start))]
    return epoch, begin


def _now(chosen: np.ndarray, array: np.ndarray) -> np.ndarray:
    rows: np.ndarray = array[chosen]
    return rows


def _later(chosen: np.ndarray, array: np.ndarray) -> ChosenRows:
    return ChosenRows(array, chosen)


def _checked_length(structure: Batch) -> int:
    """Returns the number of examples that all arrays of a structure have."""
    lengths = [len(array) for array in arrays_of(structure)]
    if not lengths:
        raise InvalidArgument("there is nothing to take batches of", op="Batches", got="no arrays",
                              expected="arrays of examples", help="as in Batches(images, labels)")
    if len(set(lengths)) > 1:
        raise ShapeMismatch("the arrays have different numbers of examples", op="Batches",
                            got=", ".join(map(str, lengths)), expected="one number",
                            help="the first axis of each is that of the examples")
    if lengths[0] == 0:
        raise InvalidArgument("there are no examples", op="Batches", got="arrays of length 0", expected="one or more",
                              help="look where the arrays come from")
    return lengths[0]
