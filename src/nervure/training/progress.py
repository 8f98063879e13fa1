"""Progress of a training: a bar on a terminal, and a line for each epoch.

>>> line({"epoch": 2, "steps": 90, "loss": 0.25, "validation_loss": 0.5}, epochs=10, seconds=75.0)
'epoch 2/10: loss 0.2500, validation loss 0.5000; 1:15 left'
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager

from nervure.training.readings import Entry, is_measure
from nervure.training.standing import Standing

OFTEN = 0.1
"""The seconds between two updates that people can still read."""


def line(entry: Entry, epochs: int, seconds: float) -> str:
    """Returns an epoch's entry of the history as a line; ``seconds`` are those that remain."""
    return f"epoch {entry['epoch']}/{epochs}: {numbers(entry)}; {clock(seconds)} left"


def numbers(entry: Mapping[str, float]) -> str:
    """Returns the numbers of an entry that a training should improve."""
    return ", ".join([f"{name.replace('_', ' ')} {value:.4f}" for name, value in entry.items()
                      if is_measure(name, value)])


def clock(seconds: float) -> str:
    """Returns a time as minutes and seconds, with hours if there are any.

    >>> clock(59.6), clock(3700)
    ('1:00', '1:01:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Progress(AbstractContextManager["Progress"]):
    """Shows a training of ``epochs`` epochs with ``batches`` batches each (None: unknown), from its current position
    on.
    """

    def __init__(self, standing: Standing, epochs: int, batches: int | None, shows: bool) -> None:
        from tqdm import tqdm
        self._standing, self._epochs, self._shows = standing, epochs, shows
        self._total = None if batches is None else epochs * batches
        self._first, self._started, self._shown = standing.steps, time.perf_counter(), 0.0
        is_terminal = sys.stderr is not None and sys.stderr.isatty()  # a program may have no such stream
        self._bar = tqdm(total=self._total, initial=standing.steps, unit="step", leave=False,
                         mininterval=OFTEN, disable=not (shows and is_terminal))

    def batch(self) -> None:
        """Counts one more batch."""
        if self._bar.disable:
            return
        now = time.perf_counter()
        if now - self._shown > OFTEN:
            self._shown = now
            self._bar.set_description(f"epoch {self._standing.epoch + 1}/{self._epochs}", refresh=False)
            self._bar.set_postfix_str(numbers(self._standing.tally.means()), refresh=False)
        self._bar.update()

    def epoch(self, entry: Entry) -> None:
        """Ends an epoch."""
        if self._shows:
            self._bar.clear()
            print(line(entry, self._epochs, self._left()), flush=True)
            self._bar.refresh()

    def _left(self) -> float:
        """Returns the seconds that the rest takes at the speed so far."""
        done = self._standing.steps - self._first
        steps, epoch = self._standing.steps, max(self._standing.epoch, 1)
        total = self._epochs * (steps / epoch) if self._total is None else self._total
        rest = max(total - steps, 0)
        return rest * (time.perf_counter() - self._started) / max(done, 1)

    def __exit__(self, *exception: object) -> None:
        self._bar.close()
