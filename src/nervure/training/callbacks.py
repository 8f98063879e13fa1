"""Callbacks: code of users that runs at the steps and epochs of a training.

>>> import nervure as nv
>>> class Halving(Callback):
...     '''Halves the learning rate after an epoch that is no better than the one before.'''
...     def epoch_end(self, trainer, entry):
...         if len(trainer.history) > 1 and entry["loss"] >= trainer.history[-2]["loss"]:
...             rate = trainer.goal.optimizer.learning_rate
...             trainer.transformer.set(rate, trainer.transformer.get(rate) / 2)
>>> trainer = nv.Trainer(lambda x: x, lambda loss: nv.doall([]), nv.nn.losses.mean_squared_error)
>>> class Counting(Callback):
...     steps = 0
...     def step_end(self, trainer, means):
...         self.steps += 1
>>> counting = Counting()
>>> _ = trainer.fit((np.ones(8), np.ones(8)), 2, size=4, callbacks=[counting], shows=False)
>>> counting.steps
4
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from nervure.errors import WrongKind, shown
from nervure.front.argument_parsing import members
from nervure.training.readings import Entry, entry_numbers

if TYPE_CHECKING:
    from nervure.training.trainer import Trainer


class Callback:
    """The base class of callbacks, whose methods are called while a training runs; a subclass overrides the ones it
    needs.

    A callback may read and set the attributes of the trainer, put numbers into an ``entry`` of the history, and end
    the training with ``trainer.stop()``. ``trainer.standing`` holds how many epochs, batches of the next one, and
    steps are done. ``state`` is the callback's memory: a checkpoint keeps it, and a training that goes on gives it to
    ``restore``.

    >>> class Lowest(nv.training.Callback):
    ...     loss = float("inf")
    ...     def step_end(self, trainer, means):
    ...         self.loss = min(self.loss, means["loss"])
    ...     def state(self):
    ...         return {"loss": self.loss}
    ...     def restore(self, state):
    ...         self.loss = state["loss"]
    """

    def fit_begin(self, trainer: Trainer) -> None:
        """Called when a training begins or goes on; in the latter case ``restore`` was called before."""

    def epoch_begin(self, trainer: Trainer) -> None:
        """Called when an epoch begins, but not when a training goes on in the middle of one."""

    def step_begin(self, trainer: Trainer, batch: object) -> None:
        """Called when a step on this batch begins."""

    def step_end(self, trainer: Trainer, means: Mapping[str, float]) -> None:
        """Called when a step is done and counted. ``means`` are the loss, metrics and learning rates of its batch."""

    def epoch_end(self, trainer: Trainer, entry: Entry) -> None:
        """Called when an epoch is done and validated, with its entry of the history, before the entry is written."""

    def fit_end(self, trainer: Trainer) -> None:
        """Called when the training ends, for whatever reason."""

    def state(self) -> Mapping[str, object]:
        """Returns the callback's memory, as values that JSON can hold."""
        return {}

    def restore(self, state: Mapping[str, object]) -> None:
        """Takes back a state that ``state`` returned."""


class Callbacks:
    """Callbacks in order, with the names under which their states are kept."""

    def __init__(self, listed: Sequence[Callback] = ()) -> None:
        self._listed, numbers = tuple(listed), Counter[str]()
        self._named = dict[str, Callback]()
        for entry in listed:
            kind = type(entry).__name__
            numbers[kind] += 1
            self._named[kind if numbers[kind] == 1 else f"{kind}.{numbers[kind]}"] = entry

    def __iter__(self) -> Iterator[Callback]:
        return iter(self._listed)

    def states(self) -> dict[str, dict[str, object]]:
        """Returns the states of all callbacks, as JSON gives them back; WrongKind for values that JSON cannot hold."""
        return {name: _checked_state(entry, name) for name, entry in self._named.items()}

    def restore(self, states: Mapping[str, Mapping[str, object]]) -> None:
        """Gives each callback its state, if there is one for it."""
        for name, entry in self._named.items():
            if name in states:
                entry.restore(states[name])


def read_callbacks(value: object) -> Callbacks:
    """Reads callbacks as users list them; WrongKind for anything that is no callback."""
    listed = [] if value is None else members(value, "fit", "callbacks", "a list of callbacks")
    found = [entry for entry in listed if isinstance(entry, Callback)]
    if len(found) < len(listed):
        other = next(entry for entry in listed if not isinstance(entry, Callback))
        raise WrongKind("this is no callback", op="fit", operand="callbacks", got=shown(other),
                        expected="objects of a class that derives from nv.training.Callback",
                        help=f"write {other.__name__}(...)" if isinstance(other, type) else
                        "a function becomes one as the method step_end or epoch_end of such a class")
    return Callbacks(found)


def check_entry(entry: Entry) -> None:
    """Converts the values that callbacks have put into an entry to Python's numbers; WrongKind for anything but
    numbers.
    """
    rule = "an entry of the history has numbers"
    for name, value in entry.items():
        if not isinstance(name, str):
            raise WrongKind(f"{rule} by names", op="fit", operand="entry", got=shown(name), expected="a text",
                            help="str(name) makes one")
        if type(value) not in (int, float):
            entry[name] = entry_numbers(value, rule, "fit", shown(name), "float(x) makes one").tolist()


def _checked_state(callback: Callback, name: str) -> dict[str, object]:
    state = callback.state()
    try:
        found = json.loads(json.dumps(dict(state), default=_plain))
    except (TypeError, ValueError, RecursionError) as error:
        raise WrongKind(f"the state of a callback is what JSON can hold: {error}", op="fit", operand=name,
                        got=shown(state), expected="numbers, texts and lists by name",
                        help="array.tolist() makes lists of an array") from None
    assert isinstance(found, dict)
    return found


def _plain(value: object) -> object:
    """Returns a number of NumPy's as one of Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is none of its types")
