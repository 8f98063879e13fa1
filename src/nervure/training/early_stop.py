"""Early stop: training ends when it has not improved for some epochs.

>>> stop, state = EarlyStop(patience=2), Progressed()
>>> [stop.ends(state, {"loss": loss}) for loss in (3.0, 2.0, 2.5, 2.0)]
[False, False, False, True]
>>> state
Progressed(best=2.0, waited=2, steps=None)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from nervure.errors import InvalidArgument, WrongKind, did_you_mean
from nervure.front.argument_parsing import integer, real, truth


@dataclass
class Progressed:
    """The best value so far, the number of epochs without a better one, and the step it was reached at."""

    best: float | None = None
    waited: int = 0
    steps: int | None = None


class EarlyStop:
    """Ends training when the value ``on`` has not become smaller (or ``larger``), by more than ``least``, for
    ``patience`` epochs.

    ``on`` is a name of the history; absent, it is the loss on the validation data if there are any, else the loss.
    With ``best``, a training that comes to its end, early or not, ends with the weights of its best epoch.

    >>> nv.training.EarlyStop(3, on="validation_accuracy", larger=True)
    EarlyStop(patience=3, on='validation_accuracy', larger=True, least=0.0, best=True)
    """

    def __init__(self, patience: int, on: str | None = None, larger: bool = False, least: float = 0.0,
                 best: bool = True) -> None:
        self.patience = integer(patience, "EarlyStop", "patience", help="EarlyStop(5) waits for five epochs", least=1)
        self.on, self.larger = on, truth(larger, "EarlyStop", "larger")
        self.least, self.best = real(least, "EarlyStop", "least"), truth(best, "EarlyStop", "best")
        if not self.least >= 0:
            raise InvalidArgument("least is too small", op="EarlyStop", operand="least", got=self.least,
                                  expected="0 or more", help="EarlyStop(5) waits for five epochs")

    def ends(self, state: Progressed, entry: Mapping[str, float]) -> bool:
        """Whether training ends after an epoch with this entry of the history."""
        value = self._value(entry)
        start = -math.inf if self.larger else math.inf
        before = start if state.best is None else state.best
        if (value - before) * (1 if self.larger else -1) > self.least:  # false for NaN
            state.best, state.waited, steps = value, 0, entry.get("steps")
            state.steps = None if steps is None else int(steps)
        else:
            state.waited += 1
        return state.waited >= self.patience

    def _value(self, entry: Mapping[str, float]) -> float:
        name = self.on or ("validation_loss" if "validation_loss" in entry else "loss")
        if name not in entry:
            raise InvalidArgument(f"the history has no {name}", op="EarlyStop", operand="on", got=name,
                                  expected=", ".join(entry), help=did_you_mean(name, entry, "fit(validation=...)"))
        value = entry[name]
        if not isinstance(value, (int, float)):
            raise WrongKind(f"{name} is no number", op="EarlyStop", operand="on", got=f"{value!r:.60}",
                            expected="a number", help="a metric of your own makes one of an array")
        return float(value)

    def __repr__(self) -> str:
        return (f"EarlyStop(patience={self.patience}, on={self.on!r}, larger={self.larger}, least={self.least!r}, "
                f"best={self.best})")
