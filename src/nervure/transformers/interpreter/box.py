"""A box: the part of an iteration domain that is evaluated at once, as arrays.

>>> box = whole_box((2, 3))
>>> box.values(index(0) * 10 + index(1)).tolist()
[[0, 1, 2], [10, 11, 12]]
>>> [part.starts for part in boxes((4, 6), limit=6)]
[(0, 0), (1, 0), (2, 0), (3, 0)]
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from nervure.types.dim import DimLike, evaluate_arrays, index

__all__ = ["Box", "boxes", "index", "whole_box"]


class Box:
    """Starts and lengths, one a dimension of the domain. ``whole`` says that it is the domain itself."""

    __slots__ = ("starts", "lengths", "whole", "_bindings", "_names")

    def __init__(self, starts: tuple[int, ...], lengths: tuple[int, ...], whole: bool,
                 bindings: Mapping[str, int]) -> None:
        self.starts, self.lengths, self.whole = starts, lengths, whole
        self._bindings = bindings
        self._names: dict[str, int | np.ndarray] | None = None

    @property
    def names(self) -> dict[str, int | np.ndarray]:
        """The symbols' values and, shaped to broadcast over the box, those of the domain's indices."""
        if self._names is None:
            rank = len(self.lengths)
            self._names = dict(self._bindings)
            for d, (start, length) in enumerate(zip(self.starts, self.lengths, strict=True)):
                shape = tuple([length if other == d else 1 for other in range(rank)])
                self._names[f"%{d}"] = np.arange(start, start + length, dtype=np.int64).reshape(shape)
        return self._names

    def values(self, expression: DimLike) -> np.ndarray:
        """The values of an expression over the box: int64, one dimension a dimension of the domain, 1 where
        constant.
        """
        value = np.asarray(evaluate_arrays(expression, self.names), np.int64)
        return value if value.ndim == len(self.lengths) else value.reshape((1,) * len(self.lengths))

    def of(self, view: np.ndarray) -> np.ndarray:
        """The part of an array over the domain (lengths of 1 broadcast) that lies in this box."""
        if self.whole:
            return view
        return view[tuple([slice(start, start + length) if extent != 1 else slice(None)
                           for start, length, extent in zip(self.starts, self.lengths, view.shape, strict=True)])]


def whole_box(domain: tuple[int, ...], bindings: Mapping[str, int] | None = None) -> Box:
    """The domain as one box."""
    return Box((0,) * len(domain), domain, True, bindings or {})


def boxes(domain: tuple[int, ...], limit: int, bindings: Mapping[str, int] | None = None,
          groups: Sequence[Sequence[int]] | None = None, splittable: Iterable[int] | None = None) -> Iterator[Box]:
    """The domain in boxes, in row-major order, each with at most ``limit`` points where that is possible.

    Dimensions are split from the outermost on; ``splittable`` names those that may be (all). Where not the
    points of the domain but those of some of its dimensions are what takes memory, ``groups`` lists them:
    none shall have more than ``limit`` points.
    """
    groups = [range(len(domain))] if groups is None else groups
    steps = list(domain)
    for d in range(len(domain)) if splittable is None else sorted(splittable):
        size = max([math.prod([steps[other] for other in group]) for group in groups if d in group], default=0)
        if size > limit:
            steps[d] = max(1, steps[d] * limit // size)
    if steps == list(domain):
        yield whole_box(domain, bindings)
        return
    for starts in product(*[range(0, length, step) for length, step in zip(domain, steps, strict=True)]):
        lengths = tuple([min(step, length - start)
                         for start, step, length in zip(starts, steps, domain, strict=True)])
        yield Box(starts, lengths, False, bindings or {})
