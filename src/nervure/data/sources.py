"""Sources: any object that gives batches, as data whose epochs can be read from any batch on.

A source of one's own is an object with ``epoch(number, start)``, which returns the batches of an epoch from ``start``
on. Batch ``i`` follows from ``[seed, number, i]`` alone, so that training can go on from any place:

>>> class Noise:
...     def epoch(self, number, start=0):
...         for i in range(start, 3):
...             drawn = np.random.default_rng([7, number, i])
...             yield drawn.standard_normal((4, 2)), drawn.integers(2, size=4)
>>> data = as_source(Noise(), "fit")
>>> whole = [inputs for inputs, _ in data.epoch(1)]
>>> all(np.array_equal(mine, inputs) for mine, (inputs, _) in zip(whole[1:], data.epoch(1, start=1)))
True

``nv.data.check`` checks that.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from itertools import islice
from typing import Protocol, runtime_checkable

import numpy as np

from nervure.data.batches import Batches
from nervure.data.nested import Batch, arrays_of, has_arrays, read_batch
from nervure.errors import InvalidArgument, WrongKind, shown
from nervure.front.argument_parsing import members
from nervure.ir.identity import Uncopyable


@runtime_checkable
class Data(Protocol):
    """Data with epochs: ``epoch(number, start)`` returns the batches of one from ``start`` on, both counting from 0.

    A batch follows from the number of its epoch, its own number, and a seed alone. Optional members are ``__len__``,
    the batches of an epoch, and ``kind``, a dict of integers that distinguishes one set of data from another.

    >>> class Noise:
    ...     def epoch(self, number, start=0):
    ...         for i in range(start, 3):
    ...             yield np.random.default_rng([7, number, i]).standard_normal((2, 4))
    >>> nv.data.check(Noise())
    """

    def epoch(self, number: int, start: int = 0) -> Iterable[object]:
        """Returns the batches of epoch ``number`` from batch ``start`` on."""


Read = Callable[[int, int], Iterable[object]]


class Source(Uncopyable):
    """Batches by epoch, each read and checked. ``length`` is the number of batches of an epoch, None if it is not
    known; ``repeats`` says whether a batch that was given once can be read again.
    """

    def __init__(self, read: Read, length: int | None, kind: Mapping[str, int], op: str, steps: int | None = None,
                 repeats: bool = True) -> None:
        self._read, self.op, self.steps, self.repeats = read, op, steps, repeats
        self.length = length if steps is None else steps
        self.kind = {**kind, **({} if steps is None else {"steps": steps})}
        if steps is not None and length is not None and steps > length:
            raise _too_short(length, steps, op)

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """Yields the batches of an epoch, from number ``start`` on; InvalidArgument if there are fewer than ``steps``.
        """
        at = start
        for value in islice(self._read(number, start), None if self.steps is None else self.steps - start):
            batch = read_batch(value, self.op)
            if not arrays_of(batch):
                raise InvalidArgument("a batch has arrays", op=self.op, operand="data", got="a batch of nothing",
                                      expected="one or more", help=f"look at batch {at} of epoch {number}")
            yield batch
            self.used()
            at += 1
        if self.steps is not None and at < self.steps:
            raise _too_short(at, self.steps, self.op)

    def can_give(self, number: int, start: int) -> bool:
        """Whether an epoch can be read from this batch on."""
        return True

    def first(self) -> Batch:
        """Returns the first batch of all, which is given again later; InvalidArgument if there is none."""
        for batch in self.epoch(0):
            return batch
        raise InvalidArgument("there are no batches", op=self.op, operand="data", got="no batches",
                              expected="one or more", help="look where the data come from")

    def is_used_up(self) -> bool:
        """Whether no batch is left of those that are given once."""
        return False

    def used(self) -> None:
        """Marks the batch that was given last as used."""

    def begin(self) -> None:
        """Begins a training that does not continue an earlier one."""


class Stream(Source):
    """An iterator, such as a generator, whose batches come once: an epoch is the next ``steps`` of them, or all.

    ``taken`` counts the batches given so far. A training that goes on in another process receives a new iterator, of
    which earlier batches are skipped; in the same process it may receive the same one, which has advanced.
    """

    repeats = False

    def __init__(self, iterator: Iterator[object], op: str, steps: int | None = None) -> None:
        super().__init__(self._batches, None, {}, op, steps, repeats=False)
        self.iterator, self.taken = iterator, 0
        self._begun, self._last = 0, list[object]()

    def used(self) -> None:
        """Marks the last batch as used, so that it is not given again."""
        self._last = []

    def begin(self) -> None:
        """Makes the rest of the iterator the first epoch."""
        self._begun = self.taken - len(self._last)

    def can_give(self, number: int, start: int) -> bool:
        """Whether these batches are still to come."""
        return self._wanted(number, start) >= self.taken - len(self._last)

    def _wanted(self, number: int, start: int) -> int:
        return self._begun + number * (self.steps or 0) + start

    def first(self) -> Batch:
        """Returns the next batch, which is given again later."""
        self._pull()
        if not self._last:
            return super().first()
        return read_batch(self._last[0], self.op)

    def is_used_up(self) -> bool:
        """Whether the iterator has given batches, and gives no more."""
        self._pull()
        return self.taken > 0 and not self._last

    def _pull(self) -> None:
        """Holds the next batch, if there is one and no unused batch is held."""
        if not self._last:
            self._last = list(islice(self.iterator, 1))
            self.taken += len(self._last)

    def _batches(self, number: int, start: int) -> Iterator[object]:
        wanted = self._wanted(number, start)
        if self.steps is None and number > 0:
            raise InvalidArgument("a generator gives its batches once", op=self.op, operand="data",
                                  got=f"epoch {number + 1}", expected="one epoch, or the batches that make one",
                                  help="steps=100 takes the next hundred in each epoch")
        if not self.can_give(number, start):
            raise InvalidArgument("the generator has given these batches before", op=self.op, operand="data",
                                  got=f"one that stands after batch {self.taken}", expected=f"batch {wanted}",
                                  help="give a new one, which is read from its start")
        while True:
            self._pull()
            if not self._last:
                return
            at, (batch,) = self.taken - 1, self._last
            if at >= wanted:
                yield batch  # held until it has been used: after a step that fails it comes again
            self.used()


def as_source(value: object, op: str, steps: int | None = None, known: Source | None = None, size: int = 32,
              seed: int = 0, shuffled: bool = True) -> Source:
    """Returns data as a source. ``value`` is ``Batches``, an object with an ``epoch``, an array, a tuple or dict of
    arrays, an iterable of batches, a function from the number of an epoch to an iterable, or an iterator. ``known`` is
    the source of an iterator that may be given again.
    """
    if isinstance(known, Stream) and known.iterator is value and known.steps == steps:
        return known
    if (isinstance(value, (tuple, list)) or has_arrays(value)) and not _is_list_of_batches(value):
        arrays = members(value, op, "data") if isinstance(value, (tuple, list)) else [value]
        value = Batches(*arrays, size=size, seed=seed, shuffled=shuffled)
    length = len(value) if isinstance(value, Sized) else None
    if isinstance(value, Data) and not isinstance(value, type):
        _check_epoch(value, op)
        kind = _checked_kind(getattr(value, "kind", {} if length is None else {"batches": length}), op)
        return Source(lambda number, start: _iterated(value.epoch(number, start), "epoch", op), length, kind, op, steps)
    if isinstance(value, Iterator):
        return Stream(value, op, steps)
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        looped = value
        return Source(lambda number, start: islice(looped, start, None), length,
                      {} if length is None else {"batches": length}, op, steps, repeats=False)
    if callable(value) and not isinstance(value, type):
        made = _of_number(value, op)
        return Source(lambda number, start: islice(_iterated(made(number), "the function of an epoch's number", op),
                                                   start, None), None, {}, op, steps)
    raise WrongKind("this is no data", op=op, operand="data", got=shown(value),
                    expected="arrays in a tuple or a dict, nv.data.Batches, an object with epoch(number, start), what "
                             "gives batches in a loop, or a function of an epoch's number that returns that",
                    help="as in (images, labels)")


def _is_list_of_batches(value: object) -> bool:
    """Whether a list contains batches, which are tuples or dicts of arrays, rather than arrays."""
    return isinstance(value, list) and bool(value) and all([isinstance(entry, (tuple, Mapping)) and has_arrays(entry)
                                                            for entry in value])


def _of_number(function: Callable[..., object], op: str) -> Callable[[int], object]:
    """Returns a function of an epoch's number as it is, one without parameters as such; WrongKind for one that takes
    more.
    """
    try:
        signature = inspect.signature(function)
    except ValueError:  # a function of C has no signature
        return function
    for given in ((0,), ()):
        try:
            signature.bind(*given)
        except TypeError:
            continue
        return function if given else lambda number: function()
    raise WrongKind("a function that gives data takes the number of an epoch", op=op, operand="data",
                    got=f"{getattr(function, '__name__', 'a function')}{signature}", expected="batches(number)",
                    help="def batches(number): ... yield images, labels")


def _iterated(value: object, maker: str, op: str) -> Iterable[object]:
    """Returns the batches of an epoch that ``maker`` has made; WrongKind for what is no batches."""
    if not isinstance(value, Iterable):
        raise WrongKind(f"{maker} gives no batches", op=op, operand="data", got=shown(value),
                        expected="an iterator or a list",
                        help="a function with yield gives batches: def batches(number): ... yield images, labels")
    return value


def _check_epoch(value: Data, op: str) -> None:
    """Raises WrongKind if ``epoch`` cannot be read from a batch on."""
    try:
        inspect.signature(value.epoch).bind(0, 0)
    except TypeError as error:
        raise WrongKind(f"epoch takes the number of an epoch, and that of a batch to start at: {error}", op=op,
                        operand="data", got=f"epoch{inspect.signature(value.epoch)}", expected="epoch(number, start)",
                        help="training goes on from any batch of any epoch") from None
    except ValueError:
        pass  # a function of C has no signature


def _checked_kind(kind: object, op: str) -> dict[str, int]:
    if not isinstance(kind, Mapping) or not all([isinstance(name, str) and isinstance(number, (int, np.integer))
                                                 for name, number in kind.items()]):
        raise WrongKind("kind tells one set of data from another", op=op, operand="kind", got=shown(kind),
                        expected="a dict of integers by names", help='as in {"examples": 1000, "seed": 1}')
    return {name: int(number) for name, number in kind.items()}


def other_length(found: int, number: int, length: int, op: str) -> InvalidArgument:
    """Returns the error for an epoch of another number of batches than the ``length`` of the data."""
    return InvalidArgument("an epoch has another number of batches than the data say", op=op, operand=f"epoch {number}",
                           got=f"{found} batches", expected=f"{length}, which is their len()",
                           help="count those of one epoch")


def _too_short(found: int, steps: int, op: str) -> InvalidArgument:
    return InvalidArgument("the data have fewer batches than an epoch", op=op, operand="steps",
                           got=f"{found} batches", expected=f"steps={steps}",
                           help="leave out steps= where an epoch is all of the data")
