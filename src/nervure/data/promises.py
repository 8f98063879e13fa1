"""A check that users' data are reproducible: a batch follows from a seed, its epoch and its number alone.

>>> class Drawn:
...     def __init__(self):
...         self.generator = np.random.default_rng(1)
...     def epoch(self, number, start=0):
...         for i in range(start, 2):
...             yield self.generator.standard_normal(3), np.zeros(3)
>>> check(Drawn())
Traceback (most recent call last):
    ...
nervure.errors.InvalidArgument: check: epoch 0 is another one when it is read again
  operand:  batch 0, entry [0]
  got:      -0.7364540870016669 at [0] of the array
  expected: 0.345584192064786
  help:     draw from np.random.default_rng([seed, number, i]) for batch i of epoch number
...
"""

from __future__ import annotations

from itertools import islice

import numpy as np

from nervure.data.nested import Batch, arrays_of, leaves, leaves_like, mapped
from nervure.data.sources import Source, Stream, as_source, other_length
from nervure.errors import InvalidArgument, WrongKind
from nervure.front.argument_parsing import integer
from nervure.types.shape import index_at

HELP = "draw from np.random.default_rng([seed, number, i]) for batch i of epoch number"


def check(data: object, epochs: int = 2, batches: int = 100) -> None:
    """Reads data as an interrupted training does, and raises InvalidArgument if the readings differ. It reads each of
    the first ``epochs`` twice, the second time after all others, and from several batches on; at most ``batches`` of
    each.

    All batches of an epoch must have one form, and one type and shape except for the number of examples; the length
    and the kind of the data, if they have them, must be true.

    >>> nv.data.check(nv.data.Batches(np.arange(10), size=3, seed=1))
    """
    most = integer(batches, "check", "batches")
    source = as_source(data, "check")
    if isinstance(source, Stream):
        raise WrongKind("a generator can be read but once", op="check", operand="data", got="an iterator",
                        expected="data whose epochs can be read again", help="give a function that returns a new one")
    numbers = range(integer(epochs, "check", "epochs"))
    first = {number: _read(source, number, 0, most) for number in numbers}
    for number in numbers:
        _check_form(first[number], number)
        _check_length(source, first[number], number, most)
    for number in numbers:
        again = _read(source, number, 0, most)
        _compare(first[number], again, 0, f"epoch {number} is another one when it is read again")
        count = len(first[number])
        for start in sorted({1, count // 2, count - 1, count} - {0, -1}):
            _compare(first[number][start:], _read(source, number, start, most - start), start,
                     f"epoch {number} from batch {start} on is another one than epoch {number} as a whole")


def difference(expected: Batch, found: Batch) -> tuple[str, str, str] | None:
    """Returns the first difference of two batches: the path of the entry, and both values as text; None if there is
    none.
    """
    try:
        others = leaves_like(expected, found, "check")
    except InvalidArgument as error:
        return "the batch", str(error.got), str(error.expected)
    for (path, one), other in zip(leaves(expected), others, strict=True):
        assert isinstance(one, np.ndarray) and isinstance(other, np.ndarray)
        if one.dtype != other.dtype or one.shape != other.shape:
            return f"entry {path}", f"{other.dtype} {other.shape}", f"{one.dtype} {one.shape}"
        if one.tobytes() != other.tobytes():
            return f"entry {path}", *_element(one, other)
    return None


def _element(one: np.ndarray, other: np.ndarray) -> tuple[str, str]:
    """Returns the first element that differs in its bits."""
    bits = [np.ascontiguousarray(array).reshape(-1, 1).view(np.uint8).reshape(array.size, -1) for array in (one, other)]
    at = int(np.flatnonzero((bits[0] != bits[1]).any(axis=1))[0])
    index = ", ".join(map(str, index_at(at, one.shape)))
    return f"{other.flat[at]} at [{index}] of the array", str(one.flat[at])


def _read(source: Source, number: int, start: int, most: int) -> list[Batch]:
    """Reads at most ``most`` batches, copied, since the next one may be made in the same memory."""
    return [_copied(batch) for batch in islice(source.epoch(number, start), most)]


def _copied(batch: Batch) -> Batch:
    made = mapped(lambda array: np.array(array, copy=True), batch)
    assert isinstance(made, (tuple, dict))
    return made


def _compare(expected: list[Batch], found: list[Batch], start: int, message: str) -> None:
    for at, (one, other) in enumerate(zip(expected, found), start):
        differs = difference(one, other)
        if differs is not None:
            raise InvalidArgument(message, op="check", operand=f"batch {at}, {differs[0]}", got=differs[1],
                                  expected=differs[2], help=HELP)
    if len(expected) != len(found):
        raise InvalidArgument(message, op="check", operand="data", got=f"{len(found)} batches",
                              expected=f"{len(expected)}", help="epoch(number, start) gives the batches from start on")


def _check_form(batches: list[Batch], number: int) -> None:
    """Checks that the arrays of a batch have one number of examples. An entry must have one type, and one shape except
    for that number, in all batches.
    """
    if not batches:
        raise InvalidArgument("there are no batches", op="check", operand=f"epoch {number}", got="no batches",
                              expected="one or more", help="look where the data come from")
    for at, batch in enumerate(batches):
        where = f"batch {at} of epoch {number}"
        lengths = [len(array) for array in arrays_of(batch)]
        if len(set(lengths)) > 1:
            raise InvalidArgument("the arrays of a batch have different numbers of examples", op="check", operand=where,
                                  got=", ".join(map(str, lengths)), expected="one number",
                                  help="the first axis of each is that of the examples")
        for (path, one), other in zip(leaves(batches[0]), leaves_like(batches[0], batch, "check"), strict=True):
            assert isinstance(one, np.ndarray) and isinstance(other, np.ndarray)
            if one.dtype != other.dtype or one.shape[1:] != other.shape[1:]:
                raise InvalidArgument("batches have different types or shapes", op="check",
                                      operand=f"{where}, entry {path}", got=f"{other.dtype} {other.shape}",
                                      expected=f"{one.dtype} {one.shape}", help="all but the number of examples is one")


def _check_length(source: Source, batches: list[Batch], number: int, most: int) -> None:
    if source.length is not None and len(batches) != min(source.length, most):
        raise other_length(len(batches), number, source.length, "check")
