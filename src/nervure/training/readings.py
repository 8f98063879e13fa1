"""Readings: what a step or an evaluation gives of one batch, told apart: means, rates, and what metrics of whole epochs
put together.

>>> import nervure as nv
>>> one = nv.constant(1.0)
>>> layout = Layout(("loss",), (), ("learning_rate",), False, ())
>>> layout.read((np.float32(0.5), np.float64(0.1)), examples=4)
Reading(means={'loss': 0.5}, amounts={'loss': 4.0}, rates={'learning_rate': 0.1}, parts={})
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np

from nervure.errors import InvalidArgument, WrongKind
from nervure.front.argument_parsing import shown
from nervure.front.pytrees import Pattern, unflatten
from nervure.training.metrics import Metric

Entry = dict[str, float]
"""What is known of an epoch: its number from 1, the steps so far, means and metrics by name. A metric whose result is
an array stands there as nested lists.
"""


Parts = list[list[np.ndarray] | None]
"""What a metric has put together: for each array of its ``update`` the pieces, None for what is not there."""


class Reading(NamedTuple):
    """The means of a batch by name, how much each counts, learning rates, and the arrays of metrics of whole epochs."""

    means: dict[str, float]
    amounts: dict[str, float]
    rates: dict[str, float]
    parts: dict[str, list[np.ndarray | None]]


class Whole(NamedTuple):
    """A metric of whole epochs: by which name, how what its ``update`` gave is made up, and, where it gathers, the axis
    of the examples of each array; None stands for what is not there.
    """

    name: str
    metric: Metric
    pattern: Pattern
    axes: tuple[int | None, ...]

    def result(self, parts: Sequence[np.ndarray | None]) -> float:
        """The metric of all that was put together, as it stands in the history."""
        made = unflatten(self.pattern, parts)
        value = self.metric.result(*made) if isinstance(made, tuple) else self.metric.result(made)
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            raise WrongKind(f"{self.name} is a number, or an array of numbers", op="Trainer", operand=self.name,
                            got=shown(value), expected="a number or an array",
                            help="result makes one of what update gave")
        return cast("float", array.astype(np.float64).tolist())  # of an array nested lists

    def joined(self, before: Parts | None, parts: Sequence[np.ndarray | None]) -> Parts:
        """What was put together, with that of one more batch: pieces that wait to be joined, or one sum."""
        if before is not None and [piece is None for piece in before] != [part is None for part in parts]:
            raise InvalidArgument(f"what {self.name} put together before is of another metric", op="fit",
                                  operand=self.name, got=f"{len(before)} arrays", expected=f"{len(parts)}",
                                  help="go on with the metrics of before, or from a checkpoint at the end of an epoch")
        pieces = [None if part is None else [part if self.metric.gathers else _wide(part)] for part in parts]
        if before is None:
            return pieces
        return [None if old is None or new is None else old + new if self.metric.gathers else [old[0] + new[0]]
                for old, new in zip(before, pieces, strict=True)]

    def whole(self, parts: Parts) -> list[np.ndarray | None]:
        """What was put together, as arrays."""
        return [None if pieces is None else pieces[0] if len(pieces) == 1 else np.concatenate(pieces, axis or 0)
                for pieces, axis in zip(parts, self.axes, strict=True)]


class Layout(NamedTuple):
    """What the results of a program are, in order: means, of which some are ``weighted``; the sum of the weights if
    there are such; the arrays of metrics of whole epochs; last the ``rates``.
    """

    means: tuple[str, ...]
    weighted: tuple[str, ...]
    rates: tuple[str, ...]
    has_weights: bool
    wholes: tuple[Whole, ...]

    def read(self, values: Sequence[np.ndarray], examples: int) -> Reading:
        """The results of a batch of so many examples."""
        rest = iter(values)
        means = {name: float(next(rest)) for name in self.means}
        amount = float(next(rest)) if self.has_weights else 0.0
        amounts = {name: amount if name in self.weighted else float(examples) for name in means}
        parts = {whole.name: [None if axis is None else next(rest) for axis in whole.axes] for whole in self.wholes}
        rates = {name: float(next(rest)) for name in self.rates}
        return Reading(means, amounts, rates, parts)


class Tally:
    """What has been read of an epoch so far: sums of means, what they count, the last rates, what metrics put together.

    >>> tally = Tally()
    >>> for loss, count in ((1.0, 3), (5.0, 1)):
    ...     tally.count(Reading({"loss": loss}, {"loss": count}, {}, {}), ())
    >>> tally.means()
    {'loss': 2.0}
    """

    def __init__(self, sums: Mapping[str, float] = {}, amounts: Mapping[str, float] = {},
                 rates: Mapping[str, float] = {}, parts: Mapping[str, Parts] = {}) -> None:
        self.sums, self.amounts, self.rates = dict(sums), dict(amounts), dict(rates)
        self.parts = dict(parts)

    def count(self, reading: Reading, wholes: Sequence[Whole]) -> None:
        """One more batch."""
        for name, value in reading.means.items():
            amount = reading.amounts[name]
            self.sums[name] = self.sums.get(name, 0.0) + (value * amount if amount else 0.0)
            self.amounts[name] = self.amounts.get(name, 0.0) + amount
        self.rates.update(reading.rates)
        for whole in wholes:
            self.parts[whole.name] = whole.joined(self.parts.get(whole.name), reading.parts[whole.name])

    def settle(self, wholes: Sequence[Whole]) -> None:
        """Joins the pieces that wait for it."""
        for whole in wholes:
            if whole.name in self.parts:
                joined = whole.whole(self.parts[whole.name])
                self.parts[whole.name] = [None if array is None else [array] for array in joined]

    def means(self) -> Entry:
        """The means so far."""
        return {name: total / self.amounts[name] if self.amounts[name] else math.nan
                for name, total in self.sums.items()}

    def entry(self, wholes: Sequence[Whole], order: Sequence[str]) -> Entry:
        """Means and metrics in this order, then rates."""
        found = {**self.means(), **{whole.name: whole.result(whole.whole(self.parts[whole.name])) for whole in wholes
                                    if whole.name in self.parts}}
        return {**{name: found[name] for name in order if name in found}, **self.rates}


def _wide(part: np.ndarray) -> np.ndarray:
    """A part to be summed up: in float64, or int64."""
    return part.astype(np.int64 if part.dtype.kind in "iub" else np.float64)


__all__ = ["Entry", "Layout", "Reading", "Tally", "Whole"]
