"""Batches of arrays, in an order that follows from a seed and the number of the epoch alone.

So any place of any epoch can be gone back to, and nothing has to be kept for that but two numbers:

>>> data = Batches(np.arange(5), np.arange(5) * 10, size=2, seed=1)
>>> whole = [inputs.tolist() for inputs, _ in data.epoch(3)]
>>> [inputs.tolist() for inputs, _ in data.epoch(3, start=1)] == whole[1:], len(data)
(True, 3)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from itertools import islice
from typing import Protocol, runtime_checkable

import numpy as np

from nervure.elsewhere import explains_keywords
from nervure.errors import InvalidArgument, ShapeMismatch, WrongKind
from nervure.front.argument_parsing import integer, members, shown, truth
from nervure.front.given_arrays import check_numbers, numpy_array
from nervure.front.tensor import Tensor
from nervure.ir.identity import Identity

Batch = tuple[np.ndarray, ...]
"""Arrays whose first axis is that of the examples: inputs, and last the targets."""


@runtime_checkable
class Data(Protocol):
    """What gives batches: so many an epoch, from any of them on; ``kind`` tells one set of data from another."""

    @property
    def kind(self) -> dict[str, int]: ...

    def __len__(self) -> int: ...

    def epoch(self, number: int, start: int = 0) -> Iterable[Batch]: ...


class Batches(Identity):
    """Arrays of as many examples each, ``size`` at a time; the last batch of an epoch has what is left.

    The order of epoch ``number`` is drawn from ``(seed, number)``; with ``shuffled=False`` it is that of the arrays.

    >>> data = nv.data.Batches(np.arange(5), size=2, shuffled=False)
    >>> [batch.tolist() for batch, in data.epoch(0)]
    [[0, 1], [2, 3], [4]]
    """

    @explains_keywords
    def __init__(self, *arrays: object, size: int = 32, seed: int = 0, shuffled: bool = True) -> None:
        self.arrays = tuple([_array(entry) for entry in arrays])
        self.size, self.seed = integer(size, "Batches", "size"), integer(seed, "Batches", "seed")
        self.shuffled = truth(shuffled, "Batches", "shuffled")
        if not self.arrays:
            raise InvalidArgument("there is nothing to take batches of", op="Batches", got="no arrays",
                                  expected="arrays of examples", help="as in Batches(images, labels)")
        _check_lengths(self.arrays)
        if self.size < 1 or self.seed < 0:
            name, value, least = ("size", self.size, 1) if self.size < 1 else ("seed", self.seed, 0)
            raise InvalidArgument(f"{name} is too small", op="Batches", operand=name, got=value,
                                  expected=f"{least} or more", help="64 examples at a time are usual")

    @property
    def kind(self) -> dict[str, int]:
        """What its order follows from: examples, their number in a batch, seed, and whether they are shuffled."""
        return {"examples": len(self.arrays[0]), "size": self.size, "seed": self.seed, "shuffled": int(self.shuffled)}

    def __len__(self) -> int:
        return (len(self.arrays[0]) + self.size - 1) // self.size

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """The batches of an epoch, from number ``start`` on; both count from 0."""
        count = len(self.arrays[0])
        order = np.random.default_rng([self.seed, number]).permutation(count) if self.shuffled else np.arange(count)
        for first in range(start * self.size, count, self.size):
            chosen = order[first:first + self.size]
            yield tuple([array[chosen] for array in self.arrays])

    def __iter__(self) -> Iterator[Batch]:
        return self.epoch(0)

    def __repr__(self) -> str:
        return f"Batches({len(self.arrays[0])} examples, size={self.size}, seed={self.seed})"


class _Iterated(Identity):
    """What can be iterated over and has a length, such as another library's loader, from its start each epoch."""

    def __init__(self, batches: Iterable[object]) -> None:
        self._batches = batches

    @property
    def kind(self) -> dict[str, int]:
        return {"batches": len(self)}

    def __len__(self) -> int:
        assert isinstance(self._batches, Sized)
        return len(self._batches)

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        for batch in islice(self._batches, start, None):
            yield tuple([_array(entry) for entry in (batch if isinstance(batch, (tuple, list)) else (batch,))])


def as_data(value: object, size: int, seed: int, shuffled: bool, op: str) -> Data:
    """Data as it is; a tuple of arrays, an array alone, and what gives batches in a loop, as data."""
    if isinstance(value, Data):
        return value
    if isinstance(value, (np.ndarray, Tensor, tuple, list)):
        arrays = [value] if isinstance(value, (np.ndarray, Tensor)) else members(value, op, "data")
        return Batches(*arrays, size=size, seed=seed, shuffled=shuffled)
    if isinstance(value, Iterable) and isinstance(value, Sized):
        return _Iterated(value)
    raise WrongKind("this is no data", op=op, operand="data", got=shown(value),
                    expected="a tuple of arrays, nv.data.Batches, or what gives batches in a loop and has a length",
                    help="as in (images, labels)")


def _array(value: object) -> np.ndarray:
    """An array as it is, anything else as NumPy reads it; with an axis for the examples."""
    if not isinstance(value, np.ndarray):
        array = value.numpy() if isinstance(value, Tensor) else numpy_array(value, "Batches")
    else:
        array = value
        check_numbers(array, "Batches")
    if array.ndim == 0:
        raise ShapeMismatch("a number has no axis of examples", op="Batches", got=shown(value),
                            expected="arrays with an axis for the examples", help="as in Batches(images, labels)")
    return array


def _check_lengths(arrays: tuple[np.ndarray, ...]) -> None:
    lengths = [len(array) for array in arrays]
    if len(set(lengths)) > 1:
        raise ShapeMismatch("the arrays have different numbers of examples", op="Batches",
                            got=", ".join(map(str, lengths)), expected="one number",
                            help="the first axis of each is that of the examples")
    if lengths[0] == 0:
        raise InvalidArgument("there are no examples", op="Batches", got="arrays of length 0", expected="one or more",
                              help="look where the arrays come from")


__all__ = ["Batches"]
