"""The trainer: a module, an optimiser and a loss, fitted to data, with all that is around that.

>>> import numpy as np
>>> import nervure as nv
>>> images, labels = np.eye(4, dtype=np.float32), np.arange(4)
>>> trainer = Trainer(nv.nn.LinearLayer(4, 4, weights=0.0), nv.optim.Adam(0.1), nv.nn.losses.cross_entropy,
...                   {"accuracy": nv.training.accuracy})
>>> history = trainer.fit((images, labels), epochs=20, shows=False)
>>> trainer.evaluate((images, labels))["accuracy"], trainer.predict(images).argmax(axis=1).tolist()
(1.0, [0, 1, 2, 3])
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import cast

import numpy as np

from nervure import transformers
from nervure.data.batches import Batch, Batches, Data, as_data
from nervure.elsewhere import explains_keywords
from nervure.errors import InvalidArgument, WrongKind
from nervure.front.argument_parsing import integer, members, shown, truth
from nervure.front.effects import Effect
from nervure.front.tensor import Tensor
from nervure.nn.composites import as_module
from nervure.saving import file_name
from nervure.training import checkpoints
from nervure.training.early_stop import EarlyStop
from nervure.training.fit import Fit, Plan
from nervure.training.learner import Learner
from nervure.training.programs import Goal, Measure
from nervure.training.standing import Entry, Standing
from nervure.transformers.base import Transformer
from nervure.types.axes import AxesLike

MEASURED = 256
"""Examples at a time where nothing is learnt."""

_TAKEN = ("loss", "epoch", "steps")


class Trainer(Learner):
    """Trains a module, or a function of tensors: ``loss`` and ``metrics`` are functions of what it gives and targets.

    A metric is a mean over the examples of a batch, by its name, or by that of its function. ``axes`` are those of
    each array of a batch, inputs first; absent: of plain shapes, with any number of examples. State is on
    ``transformer`` (absent: the default one).

    >>> model = nv.nn.Sequential(nv.nn.LinearLayer("F=2", "Y=1"))
    >>> trainer = nv.Trainer(model, nv.optim.SGD(0.1), nv.nn.losses.mean_squared_error, axes=("N=n, F=2", "N=n, Y=1"))
    >>> data = np.ones((8, 2)), np.ones((8, 1))
    >>> [round(entry["epoch"]) for entry in trainer.fit(data, epochs=2, shows=False)]
    [1, 2]
    """

    @explains_keywords
    def __init__(self, module: object, optimizer: Callable[[Tensor], Effect], loss: Measure,
                 metrics: Mapping[str, Measure] | Iterable[Measure] = (),
                 axes: Iterable[AxesLike | Tensor] | None = None, transformer: Transformer | None = None) -> None:
        named = _named(metrics)
        for name, thing, example in [("optimizer", optimizer, "nv.optim.Adam(1e-3)"),
                                     ("loss", loss, "nv.nn.losses.cross_entropy"),
                                     *[(name, metric, "nv.training.accuracy") for name, metric in named.items()]]:
            if not callable(thing) or isinstance(thing, type):
                raise WrongKind(f"{name} is called to train", op="Trainer", operand=name, got=shown(thing),
                                expected="an optimiser" if name == "optimizer" else "a function of outputs and targets",
                                help=f"as in {example}")
        goal = Goal(as_module(module, "Trainer"), optimizer, loss, named)
        super().__init__(goal, None if axes is None else list(axes), transformers.chosen(transformer))

    @property
    def history(self) -> list[Entry]:
        """What is known of each epoch of the last training."""
        return [] if self.standing is None else self.standing.history

    @explains_keywords
    def fit(self, data: object, epochs: int, validation: object = None, *, size: int = 32, seed: int = 0,
            folder: str | os.PathLike[str] | None = None, resume: bool | str | os.PathLike[str] = False,
            save_every: int | None = None, keep: int = 2, stop: EarlyStop | None = None,
            shows: bool = True) -> list[Entry]:
        """Trains for so many epochs, and returns the history: of each its number, the steps so far, and the means of
        loss and metrics over its batches as they were learnt from, and over the validation data.

        Data are a tuple of arrays, inputs first, of which batches of ``size`` are taken in an order drawn from
        ``seed``; or ``nv.data.Batches``; or what gives batches in a loop and has a length. ``folder`` gets a checkpoint
        after each epoch and every ``save_every`` steps, of which the newest ``keep`` stay, and with ``stop`` the best,
        and the history as CSV and JSON. ``resume`` goes on from the newest of them (where there is none, from the
        start), from a checkpoint that is given, or, without a folder, from where this trainer stands: to the bit as if
        it had not been interrupted. With ``stop`` training ends with the weights of its best epoch.

        Ctrl-C ends it after the step that runs: Interrupted, a KeyboardInterrupt, when a checkpoint is written. A loss
        that is not finite is a NumericError that names what made it so; that step has changed nothing.

        >>> trainer = nv.Trainer(nv.nn.LinearLayer(2, 1), nv.optim.SGD(0.1), nv.nn.losses.mean_squared_error)
        >>> data = np.ones((8, 2)), np.ones((8, 1))
        >>> first = trainer.fit(data, epochs=2, folder="run", shows=False)
        >>> [int(entry["epoch"]) for entry in trainer.fit(data, epochs=3, folder="run", resume=True, shows=False)]
        [1, 2, 3]
        """
        own = as_data(data, size, seed, True, "fit")
        other = None if validation is None else as_data(validation, MEASURED, 0, False, "fit")
        kept = _count(keep, "keep")
        place = None if folder is None else checkpoints.Folder(file_name(folder, "fit"), kept)
        plan = Plan(own, _count(epochs, "epochs"), other, place,
                    None if save_every is None else _count(save_every, "save_every"),
                    _checked_stop(stop), truth(shows, "fit", "shows"))
        self.prepare(_first(own))
        is_resumed = self._go_back(resume, plan)
        standing = self.standing if is_resumed and self.standing is not None else Standing(own.kind)
        return Fit(self, plan, not is_resumed).run(standing)

    def _go_back(self, resume: bool | str | os.PathLike[str], plan: Plan) -> bool:
        """Whether there is something to resume; all is as it was there then."""
        if not isinstance(resume, (bool, int, np.bool_)):
            self._restored(checkpoints.read(file_name(resume, "fit")), plan)
            return True
        if not resume:
            return False
        if plan.folder is None:
            _check_kind(self.standing, plan, None)
            self.recall()
            return self.standing is not None
        found = plan.folder.newest()
        if found is not None:
            self._restored(found, plan)
        return found is not None

    def _restored(self, checkpoint: checkpoints.Checkpoint, plan: Plan) -> None:
        _check_kind(checkpoint.standing, plan, checkpoint.path)
        self.restore(checkpoint)
        if plan.folder is not None:
            plan.folder.go_on(checkpoint.standing.steps)

    def evaluate(self, data: object, size: int = MEASURED) -> Entry:
        """Loss and metrics over data, in evaluation: nothing is learnt or drawn.

        >>> model = nv.nn.LinearLayer(2, 1, weights=0.0, bias=False)
        >>> trainer = nv.Trainer(model, nv.optim.SGD(0.1), nv.nn.losses.mean_squared_error)
        >>> trainer.evaluate((np.ones((8, 2)), np.ones((8, 1))))
        {'loss': 1.0}
        """
        own = as_data(data, size, 0, False, "evaluate")
        _first(own)
        return self.means(own)

    def predict(self, *inputs: object, size: int = MEASURED) -> np.ndarray:
        """What the module gives for inputs, in evaluation, ``size`` examples at a time.

        >>> model = nv.nn.LinearLayer(2, 1, weights=2.0, bias=False)
        >>> trainer = nv.Trainer(model, nv.optim.SGD(0.1), nv.nn.losses.mean_squared_error)
        >>> trainer.predict(np.ones((3, 2))).tolist()
        [[4.0], [4.0], [4.0]]
        """
        parts = [self.programs_for(batch, has_targets=False).prediction(*batch)
                 for batch in Batches(*inputs, size=size, shuffled=False).epoch(0)]
        return np.concatenate(parts)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a checkpoint, from which ``fit(..., resume=path)`` goes on. InvalidArgument before any training."""
        name = file_name(path, "save")
        if self.standing is None:
            raise InvalidArgument("there is no training to save", op="save", got="a trainer that was not fitted",
                                  expected="a fit before it", help="nv.save_weights(module, path) saves weights alone")
        self.save_checkpoint(name, self.standing)

    def __repr__(self) -> str:
        loss = getattr(self.goal.loss, "__name__", repr(self.goal.loss))
        return (f"Trainer({type(self.goal.module).__name__}, {self.goal.optimizer!r}, {loss}, "
                f"metrics={list(self.goal.metrics)}, on {self.transformer.name})")


def _named(metrics: object) -> dict[str, Measure]:
    """Metrics by name, in their order."""
    found: dict[str, Measure] = {}
    listed: list[tuple[object, object]] = list(metrics.items()) if isinstance(metrics, Mapping) else [
        (getattr(entry, "__name__", repr(entry)), entry) for entry in members(metrics, "Trainer", "metrics")]
    for name, metric in listed:
        if not isinstance(name, str) or name in _TAKEN or name.startswith("validation_") or name in found:
            raise InvalidArgument(f"no metric can be named {name}", op="Trainer", operand="metrics", got=shown(name),
                                  expected=f"names beside {', '.join(_TAKEN)}, each once, that do not start with "
                                           "validation_",
                                  help='metrics={"name": function}')
        found[name] = cast("Measure", metric)
    return found


def _count(value: object, operand: str) -> int:
    is_epochs = operand == "epochs"
    number = integer(value, "fit", operand,
                     help="data are one argument: fit((images, labels), 20)" if is_epochs else "leave it out")
    if number < 1:
        raise InvalidArgument(f"{operand} is too small", op="fit", operand=operand, got=number, expected="1 or more",
                              help="an epoch is one pass over the data" if is_epochs else "leave it out")
    return number


def _checked_stop(stop: object) -> EarlyStop | None:
    if stop is not None and not isinstance(stop, EarlyStop):
        raise WrongKind("stop says when to end", op="fit", operand="stop", got=shown(stop), expected="an EarlyStop",
                        help="stop=nv.training.EarlyStop(patience=5)")
    return stop


def _first(data: Data) -> Batch:
    """The first batch; InvalidArgument where there is none."""
    for batch in data.epoch(0):
        return batch
    raise InvalidArgument("there are no batches", op="fit", operand="data", got="no batches", expected="one or more",
                          help="look where the data come from")


def _check_kind(standing: Standing | None, plan: Plan, path: str | None) -> None:
    """InvalidArgument where a training would go on with other data, or in another order."""
    if standing is None or standing.data == plan.data.kind:
        return
    raise InvalidArgument("the training was on other data, or in another order", op="fit", operand=path,
                          got=_kind(plan.data.kind), expected=_kind(standing.data),
                          help="go on with the data, size= and seed= of before, or leave out resume=")


def _kind(kind: Mapping[str, int]) -> str:
    return ", ".join([f"{name}={number}" for name, number in kind.items()])


__all__ = ["Trainer"]
