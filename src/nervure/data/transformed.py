"""Data with transforms, and data whose batches are made ahead of time by threads.

>>> from nervure.data.batches import Batches
>>> from nervure.data.transforms import Flip
>>> data = Prefetched(Transformed(Batches(np.zeros((6, 1, 4, 4)), np.arange(6), size=2), [Flip()], seed=1))
>>> len(data), [labels.tolist() for _, labels in data.epoch(0, start=2)]
(3, [[0, 1]])
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import cast

import numpy as np

from nervure.data.batches import read_place
from nervure.data.nested import Batch, mapped
from nervure.data.sources import Source, Stream, as_source, other_length
from nervure.errors import InvalidArgument, WrongKind, shown
from nervure.front.argument_parsing import integer, members
from nervure.ir.identity import Uncopyable

Mapped = Callable[["tuple[np.ndarray, ...]", np.random.Generator], "tuple[np.ndarray, ...]"]


class Transformed(Uncopyable):
    """Batches of ``data`` after ``transforms``, functions of a batch and a generator of random numbers, one by one.

    The numbers of transform t for batch i of an epoch are those of ``np.random.default_rng([seed, epoch, i, t])``. In a
    batch that is a tuple pictures come first and labels last; in a dict ``entries`` names them.

    >>> pictures, labels = np.zeros((6, 8, 8), np.float32), np.arange(6)
    >>> data = nv.data.Transformed(nv.data.Batches(pictures, labels, size=2), [nv.data.transforms.Crop(6)], seed=1)
    >>> nv.data.check(data)
    >>> next(data.epoch(0))[0].shape
    (2, 6, 6)
    """

    def __init__(self, data: object, transforms: object, seed: int = 0,
                 entries: tuple[str, ...] | None = None) -> None:
        self.source, self.seed = _source(data, "Transformed"), integer(seed, "Transformed", "seed", least=0)
        self.transforms = cast("list[Mapped]", members(transforms, "Transformed", "transforms", "a list of functions"))
        for each in self.transforms:
            if not callable(each) or isinstance(each, type):
                raise WrongKind("a transform is called with a batch and a generator", op="Transformed",
                                operand="transforms", got=shown(each), expected="a function",
                                help="as in [nv.data.transforms.Flip()]")
        self.entries = None if entries is None else tuple(
            str(name) for name in members(entries, "Transformed", "entries", "names"))

    @property
    def kind(self) -> dict[str, int]:
        """The numbers that determine its batches: those of the data, and the seed."""
        return {**self.source.kind, "transforms": len(self.transforms), "transform_seed": self.seed}

    def __len__(self) -> int:
        return _length(self.source, "Transformed")

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """Yields the batches of epoch ``number`` from batch ``start`` on."""
        epoch, first = read_place(number, start, "Transformed")
        for at, batch in enumerate(self.source.epoch(epoch, first), first):
            # The numbers that transforms draw are those of all examples, so that each process needs the whole batch.
            yield self._after(cast("Batch", mapped(np.asarray, batch)), epoch, at)

    def _after(self, batch: Batch, number: int, at: int) -> Batch:
        names = self.entries if isinstance(batch, Mapping) else None
        if isinstance(batch, Mapping) and (names is None or any(name not in batch for name in names)):
            raise InvalidArgument("a batch is a dict", op="Transformed", operand="entries", got=shown(names),
                                  expected=f"names of pictures and labels: {', '.join(batch)}",
                                  help='entries=("images", "labels")')
        arrays = cast("tuple[np.ndarray, ...]", batch if names is None or not isinstance(batch, Mapping) else
                      tuple([batch[name] for name in names]))
        for place, transform in enumerate(self.transforms):
            arrays = transform(arrays, np.random.default_rng([self.seed, number, at, place]))
        if names is None or not isinstance(batch, Mapping):
            return arrays
        if not isinstance(arrays, (tuple, list)) or len(arrays) != len(names):
            raise InvalidArgument("the transforms return other entries than they are given", op="Transformed",
                                  operand="transforms", got=f"a tuple of {len(arrays)}" if isinstance(
                                      arrays, (tuple, list)) else shown(arrays),
                                  expected=f"a tuple of {len(names)}: {', '.join(names)}",
                                  help="each transform returns an entry for each that it takes")
        return {**batch, **dict(zip(names, arrays, strict=True))}

    def __repr__(self) -> str:
        return f"Transformed({len(self.transforms)} transforms, seed={self.seed})"


class Prefetched(Uncopyable):
    """Batches of ``data`` that ``workers`` threads make ahead of time, at most ``ahead`` of them, in their order.

    Each batch is read by itself, so that data have to be readable from any batch on, cheaply: arrays, ``Batches``,
    ``Transformed``, and objects with ``epoch(number, start)``. NumPy releases Python's lock in its loops, so threads
    share the work. An error comes where the batch would have come, with a note that names it. A reader that stops early
    leaves no thread behind.

    >>> data = nv.data.Prefetched(nv.data.Batches(np.arange(5), size=2, shuffled=False), workers=2)
    >>> [batch.tolist() for batch, in data.epoch(0)]
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, data: object, workers: int = 1, ahead: int = 4) -> None:
        self.source = _source(data, "Prefetched")
        self.workers, self.ahead = [
            integer(value, "Prefetched", name, help="one thread is enough for most data", least=1)
            for name, value in (("workers", workers), ("ahead", ahead))]
        self._count = _length(self.source, "Prefetched")

    @property
    def kind(self) -> dict[str, int]:
        """The numbers that determine its batches, those of the data."""
        return dict(self.source.kind)

    def __len__(self) -> int:
        return self._count

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """Yields the batches of epoch ``number`` from batch ``start`` on."""
        waiting: deque[Future[Batch]] = deque()
        epoch, first = read_place(number, start, "Prefetched")
        places = iter(range(first, self._count))
        with ThreadPoolExecutor(self.workers, "nervure batches") as pool:
            try:
                for at in islice(places, self.ahead):
                    waiting.append(pool.submit(self._read, epoch, at))
                while waiting:
                    batch = waiting.popleft().result()
                    for at in islice(places, 1):
                        waiting.append(pool.submit(self._read, epoch, at))
                    yield batch
            finally:
                for future in waiting:
                    future.cancel()

    def _read(self, number: int, at: int) -> Batch:
        try:
            batch = next(self.source.epoch(number, at), None)
            if batch is None:
                raise other_length(at, number, self._count, "Prefetched")
            return batch
        except Exception as error:
            error.add_note(f"in batch {at} of epoch {number}")
            raise

    def __repr__(self) -> str:
        return f"Prefetched({self._count} batches, workers={self.workers}, ahead={self.ahead})"


def _source(data: object, op: str) -> Source:
    source = as_source(data, op)
    if isinstance(source, Stream):
        raise WrongKind("a generator can be read but once", op=op, operand="data", got="an iterator",
                        expected="data that can be read from any batch on",
                        help="as in nv.data.Batches(images, labels)")
    return source


def _length(source: Source, op: str) -> int:
    if source.length is None:
        raise WrongKind("the data do not say how many batches they have", op=op, operand="data",
                        got="no __len__", expected="a number of batches", help="give the class a __len__")
    return source.length
