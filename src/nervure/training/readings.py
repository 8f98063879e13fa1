"""Readings: the results of a step or an evaluation for one batch.

A reading has means, learning rates, and the tensors that metrics of whole epochs collect.

>>> import nervure as nv
>>> one = nv.constant(1.0)
>>> layout = ResultLayout(("loss",), (), ("learning_rate",), False, ())
>>> layout.read((np.float32(0.5), np.float64(0.1)), examples=4)
BatchReading(means={'loss': 0.5}, amounts={'loss': 4.0}, rates={'learning_rate': 0.1}, parts={})
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np

from nervure.errors import InvalidArgument, WrongKind, shown
from nervure.front.given_arrays import numpy_array
from nervure.front.pytrees import Pattern, unflatten
from nervure.training.metrics import Metric

Entry = dict[str, float]
"""The numbers of an epoch: its number from 1, the steps so far, means and metrics by name. An array is a nested list.
"""


def is_measure(name: str, value: object) -> bool:
    """Whether a value of an entry is a number that tells how good a model is, not how far or how fast it goes."""
    return name not in ("epoch", "steps") and not name.startswith("learning_rate") and isinstance(value, (int, float))


def entry_numbers(value: object, rule: str, op: str, operand: str, help: str) -> np.ndarray:
    """Returns a value for an entry as an array; WrongKind, which states the ``rule``, for anything but numbers."""
    try:
        array = numpy_array(value, op)
    except (InvalidArgument, WrongKind):
        array = None
    if array is None or array.dtype.kind not in "fiub":
        raise WrongKind(rule, op=op, operand=operand, got=shown(value), expected="a number, or an array of numbers",
                        help=help)
    return array


Parts = list[list[np.ndarray] | None]
"""The data that a metric has collected: for each array of its ``update`` the pieces, None for an absent one."""


class BatchReading(NamedTuple):
    """The means of a batch by name with their weights, learning rates, and the arrays of metrics of whole epochs."""

    means: dict[str, float]
    amounts: dict[str, float]
    rates: dict[str, float]
    parts: dict[str, list[np.ndarray | None]]


class Whole(NamedTuple):
    """A metric of whole epochs: its name, the pattern of the result of its ``update``, and the axis of the examples of
    each array. The axis matters if the metric gathers; None stands for an absent array.
    """

    name: str
    metric: Metric
    pattern: Pattern
    axes: tuple[int | None, ...]

    def result(self, parts: Sequence[np.ndarray | None]) -> float:
        """Returns the metric of all collected data, as the history has it."""
        made = unflatten(self.pattern, parts)
        value = self.metric.result(*made) if isinstance(made, tuple) else self.metric.result(made)
        array = entry_numbers(value, f"{self.name} is a number, or an array of numbers", "Trainer", self.name,
                              "result makes one of what update gave")
        return cast("float", array.astype(np.float64).tolist())  # an array becomes nested lists

    def joined(self, before: Parts | None, parts: Sequence[np.ndarray | None]) -> Parts:
        """Adds the arrays of one more batch to the collected ones: pieces that will be joined later, or one sum."""
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
        """Returns the collected data as arrays."""
        return [None if pieces is None else pieces[0] if len(pieces) == 1 else np.concatenate(pieces, axis or 0)
                for pieces, axis in zip(parts, self.axes, strict=True)]


class ResultLayout(NamedTuple):
    """The results of a program, in order: means, of which some are ``weighted``; the sum of the weights if there are
    any. Then come the arrays of metrics of whole epochs, and last the ``rates``.
    """

    means: tuple[str, ...]
    weighted: tuple[str, ...]
    rates: tuple[str, ...]
    has_weights: bool
    wholes: tuple[Whole, ...]

    def read(self, values: Sequence[np.ndarray], examples: int) -> BatchReading:
        """Returns the results of a batch of ``examples`` examples as a reading."""
        rest = iter(values)
        means = {name: float(next(rest)) for name in self.means}
        amount = float(next(rest)) if self.has_weights else 0.0
        amounts = {name: amount if name in self.weighted else float(examples) for name in means}
        parts = {whole.name: [None if axis is None else next(rest) for axis in whole.axes] for whole in self.wholes}
        rates = {name: float(next(rest)) for name in self.rates}
        return BatchReading(means, amounts, rates, parts)


class Tally:
    """The readings of an epoch so far: sums of means, their weights, the last rates, the data that metrics have
    collected.

    >>> tally = Tally()
    >>> for loss, count in ((1.0, 3), (5.0, 1)):
    ...     tally.count(BatchReading({"loss": loss}, {"loss": count}, {}, {}), ())
    >>> tally.means()
    {'loss': 2.0}
    """

    def __init__(self, sums: Mapping[str, float] = {}, amounts: Mapping[str, float] = {},
                 rates: Mapping[str, float] = {}, parts: Mapping[str, Parts] = {}) -> None:
        self.sums, self.amounts, self.rates = dict(sums), dict(amounts), dict(rates)
        self.parts = dict(parts)

    def count(self, reading: BatchReading, wholes: Sequence[Whole]) -> None:
        """Adds one more batch."""
        for name, value in reading.means.items():
            amount = reading.amounts[name]
            self.sums[name] = self.sums.get(name, 0.0) + (value * amount if amount else 0.0)
            self.amounts[name] = self.amounts.get(name, 0.0) + amount
        self.rates.update(reading.rates)
        for whole in wholes:
            self.parts[whole.name] = whole.joined(self.parts.get(whole.name), reading.parts[whole.name])

    def settle(self, wholes: Sequence[Whole]) -> None:
        """Joins the waiting pieces."""
        for whole in wholes:
            if whole.name in self.parts:
                joined = whole.whole(self.parts[whole.name])
                self.parts[whole.name] = [None if array is None else [array] for array in joined]

    def means(self) -> Entry:
        """Returns the means so far."""
        return {name: total / self.amounts[name] if self.amounts[name] else math.nan
                for name, total in self.sums.items()}

    def entry(self, wholes: Sequence[Whole], order: Sequence[str]) -> Entry:
        """Returns means and metrics in this order, then rates."""
        found = {**self.means(), **{whole.name: whole.result(whole.whole(self.parts[whole.name])) for whole in wholes
                                    if whole.name in self.parts}}
        return {**{name: found[name] for name in order if name in found}, **self.rates}


def _wide(part: np.ndarray) -> np.ndarray:
    """Returns a part to be summed in float64, or int64."""
    return part.astype(np.int64 if part.dtype.kind in "iub" else np.float64)
