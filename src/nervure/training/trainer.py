"""The trainer: fits a module to data by an optimiser and a loss, with checkpoints, validation and logs.

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

import itertools
import os
from collections.abc import Callable, Iterable, Mapping
from typing import cast

import numpy as np

from nervure import transformers
from nervure.data.batches import Batches
from nervure.data.nested import Structure
from nervure.data.sources import Source, Stream, as_source
from nervure.errors import InvalidArgument, WrongKind, shown
from nervure.front.argument_parsing import integer, members, truth
from nervure.front.effects import Effect
from nervure.front.tensor import Tensor
from nervure.nn.composites import as_module
from nervure.support.atomic_file import file_name
from nervure.support.elsewhere import explains_keywords
from nervure.training import checkpoints
from nervure.training.callbacks import Callback, read_callbacks
from nervure.training.early_stop import EarlyStop
from nervure.training.fit import Fit, TrainingPlan
from nervure.training.learner import Learner
from nervure.training.metrics import Metric
from nervure.training.parts import read_roles
from nervure.training.programs import Goal, Measure
from nervure.training.readings import Entry
from nervure.training.standing import Standing
from nervure.training.weighting import check_takes_weights
from nervure.transformers.base import Transformer
from nervure.transformers.program_options import read_options
from nervure.types.mesh import Mesh, MeshAxes, Shard

MEASURED = 256
"""The number of examples in a batch when nothing is learnt."""

_BEGUN = ("validation_", "learning_rate_")
_TAKEN = ("loss", "epoch", "steps", "learning_rate")


class Trainer(Learner):
    """Trains a module, or a function of tensors; ``loss`` and ``metrics`` are functions of its outputs and targets.

    A metric that is a function is a mean over the examples of a batch; a ``Metric`` is one number of a whole epoch. It
    has the name that is given with it, or its own. ``axes`` are those of each array of a batch, in the form of a
    batch; absent, they are plain shapes with any number of examples. State is on ``transformer`` (absent: the default
    one).

    A batch is a tuple, inputs first and targets last, or one array that is both, or a dict. If it is a dict,
    ``targets`` names the entries that are targets, one or a list; the others are inputs by name. An entry may be a
    tuple or dict of arrays. ``weights`` names the entry, or its position in a tuple, that says how much each example
    counts: a loss with a parameter ``reduction`` becomes the weighted mean, one with a parameter ``weights`` receives
    them.

    On a ``mesh`` of devices ``shard`` and ``shard_parameters`` say, as for ``nv.computation``, how tensors are split:
    ``mesh=nv.Mesh({"data": 4}), shard={"N": "data"}`` with ``axes`` that are named. The devices divide the lengths of
    the first batch; the last one of an epoch, which has the rest, lies whole on each device if they do not divide it.

    >>> model = nv.nn.Sequential(nv.nn.LinearLayer("F=2", "Y=1"))
    >>> trainer = nv.Trainer(model, nv.optim.SGD(0.1), nv.nn.losses.mean_squared_error, axes=("N=n, F=2", "N=n, Y=1"))
    >>> data = np.ones((8, 2)), np.ones((8, 1))
    >>> [round(entry["epoch"]) for entry in trainer.fit(data, epochs=2, shows=False)]
    [1, 2]
    """

    @explains_keywords
    def __init__(self, module: object, optimizer: Callable[[Tensor], Effect], loss: Measure,
                 metrics: Mapping[str, Measure | Metric] | Iterable[Measure | Metric] = (),
                 axes: object = None, transformer: Transformer | None = None, *,
                 targets: int | str | Iterable[int | str] | None = None, weights: int | str | None = None,
                 memory_limit: int | str | None = None, mesh: Mesh | None = None, shard: Shard | None = None,
                 shard_parameters: MeshAxes | None = None) -> None:
        named = _named(metrics)
        for name, thing, example in [("optimizer", optimizer, "nv.optim.Adam(1e-3)"),
                                     ("loss", loss, "nv.nn.losses.cross_entropy"),
                                     *[(name, metric, "nv.training.accuracy") for name, metric in named.items()
                                       if not isinstance(metric, Metric)]]:
            if not callable(thing) or isinstance(thing, type):
                raise WrongKind(f"{name} is called to train", op="Trainer", operand=name, got=shown(thing),
                                expected="an optimiser" if name == "optimizer" else "a function of outputs and targets",
                                help=f"as in {example}")
        if weights is not None:
            check_takes_weights(loss)
        goal = Goal(as_module(module, "Trainer"), optimizer, loss, named, read_roles(targets, weights))
        options = read_options("Trainer", memory_limit, "numpy", mesh, shard, shard_parameters)
        if options.sharding is not None:
            options = options._replace(sharding=options.sharding._replace(allows_rest=True))
        super().__init__(goal, _listed(axes), transformers.chosen(transformer).following(options))
        self.is_stopped = False
        self.running: Fit | None = None
        self._source: Source | None = None

    @property
    def history(self) -> list[Entry]:
        """The entries of all epochs of the last training, in a list that later ones do not change."""
        return [] if self.standing is None else list(self.standing.history)

    @explains_keywords
    def fit(self, data: object, epochs: int, validation: object = None, *, size: int = 32, seed: int = 0,
            steps: int | None = None, folder: str | os.PathLike[str] | None = None,
            resume: bool | str | os.PathLike[str] = False, save_every: int | None = None, keep: int = 2,
            stop: EarlyStop | None = None, callbacks: Iterable[Callback] = (), shows: bool = True) -> list[Entry]:
        """Trains for ``epochs`` epochs, and returns the history: one entry for each epoch. An entry has the epoch's
        number, the steps so far, loss and metrics over its batches as they were learnt from, the learning rate of its
        last step, and loss and metrics over the ``validation`` data.

        ``data`` are a tuple or a dict of arrays, from which batches of ``size`` are taken in an order drawn from
        ``seed``; or ``nv.data.Batches``; or an object with ``epoch(number, start)``, as ``nv.data.Data`` describes it;
        or a function of an epoch's number that returns batches, such as a generator function; or an iterable of
        batches; or a generator, whose next ``steps`` batches are an epoch. ``steps`` is the number of batches in an
        epoch; absent, an epoch has all. Each of ``callbacks`` is called at steps and epochs.

        ``folder`` receives the history as CSV and JSON, and a checkpoint after each epoch and every ``save_every``
        steps. The newest ``keep`` checkpoints stay, and with ``stop`` the best one. ``resume`` goes on from the newest
        of them (from the start if there is none), from a checkpoint that is given, or, without a folder, from the
        trainer's current position: the result has the same bits as without the interruption. With ``stop`` training
        ends with the weights of its best epoch.

        Ctrl-C ends it after the current step: once a checkpoint is written, Interrupted, a KeyboardInterrupt, is
        raised. A loss that is not finite is a NumericError that names its origin; that step has changed nothing.

        >>> trainer = nv.Trainer(nv.nn.LinearLayer(2, 1), nv.optim.SGD(0.1), nv.nn.losses.mean_squared_error)
        >>> data = np.ones((8, 2)), np.ones((8, 1))
        >>> first = trainer.fit(data, epochs=2, folder="run", shows=False)
        >>> [int(entry["epoch"]) for entry in trainer.fit(data, epochs=3, folder="run", resume=True, shows=False)]
        [1, 2, 3]
        """
        count = _count(epochs, "epochs")
        own = as_source(data, "fit", None if steps is None else _count(steps, "steps"), self._source, size, seed)
        if isinstance(own, Stream) and own.steps is None and count > 1:
            raise InvalidArgument("a generator gives its batches once", op="fit", operand="data", got=f"{count} epochs",
                                  expected="one epoch, or the number of batches that make one",
                                  help="steps=100 takes the next hundred in each epoch; a function of the number of an "
                                       "epoch makes a new generator for each")
        other = None if validation is None else _again(validation)
        kept = _count(keep, "keep")
        place = None if folder is None else checkpoints.Folder(
            file_name(folder, "fit", "folder", 'as in folder="run"'), kept, self.transformer.peers)
        plan = TrainingPlan(own, count, other, place, None if save_every is None else _count(save_every, "save_every"),
                            _checked_stop(stop), truth(shows, "fit", "shows"), read_callbacks(callbacks))
        is_used_up = bool(resume) and own is self._source and own.is_used_up()
        if not is_used_up:  # else the batches that it gave have prepared the trainer
            self.prepare(own.first())
        is_resumed = self._go_back(resume, plan)
        standing = self.standing if is_resumed and self.standing is not None else Standing(own.kind)
        if not is_resumed:
            own.begin()
            if is_used_up:
                own.first()  # an error
        self._source, self.is_stopped = own, False
        return Fit(self, plan, not is_resumed).run(standing)

    def stop(self) -> None:
        """Ends the running training after this step, or at the end of this epoch: ``fit`` writes a checkpoint and
        returns. ``resume=True`` goes on from there.
        """
        self.is_stopped = True

    def _go_back(self, resume: bool | str | os.PathLike[str], plan: TrainingPlan) -> bool:
        """Goes back to the state that ``resume`` names; returns whether there is one."""
        if not isinstance(resume, (bool, int, np.bool_)):
            path = file_name(resume, "fit", "resume", "resume=True goes on from the newest checkpoint, resume=False "
                                                      "begins anew")
            self._restored(checkpoints.read(path), plan)
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

    def _restored(self, checkpoint: checkpoints.SavedTraining, plan: TrainingPlan) -> None:
        _check_kind(checkpoint.standing, plan, checkpoint.path)
        self.restore(checkpoint)
        if plan.folder is not None:
            plan.folder.go_on(checkpoint.standing.steps)

    def evaluate(self, data: object, size: int = MEASURED) -> Entry:
        """Computes loss and metrics over data, in evaluation mode: nothing is learnt, and modules draw nothing. Random
        numbers that the loss or a metric draws are the transformer's, and leave those of a training alone.

        >>> model = nv.nn.LinearLayer(2, 1, weights=0.0, bias=False)
        >>> trainer = nv.Trainer(model, nv.optim.SGD(0.1), nv.nn.losses.mean_squared_error)
        >>> trainer.evaluate((np.ones((8, 2)), np.ones((8, 1))))
        {'loss': 1.0}
        """
        own = as_source(data, "evaluate", None, None, size, 0, False)
        own.first()
        self.renew()
        return self.means(own)

    def predict(self, *inputs: object, size: int = MEASURED, **named: object) -> np.ndarray:
        """Returns the outputs of the module for inputs, in order and by name, in evaluation mode, ``size`` examples at
        a time. The result is an array, or arrays in tuples and dicts, in the form of the module's output.

        >>> model = nv.nn.LinearLayer(2, 1, weights=2.0, bias=False)
        >>> trainer = nv.Trainer(model, nv.optim.SGD(0.1), nv.nn.losses.mean_squared_error)
        >>> trainer.predict(np.ones((3, 2))).tolist()
        [[4.0], [4.0], [4.0]]
        """
        roles = self.goal.roles
        if roles.names_entries and len(inputs) == 1 and isinstance(inputs[0], Mapping) and not named:
            apart = {*(roles.targets or ()), roles.weights}
            named, inputs = {name: entry for name, entry in inputs[0].items() if name not in apart}, ()
        if not inputs and not named:
            raise InvalidArgument("there is nothing to predict from", op="predict", got="no inputs",
                                  expected="what the module takes", help="as in trainer.predict(images)")
        given = (*inputs, named) if named else inputs
        is_one = len(given) == 1 and isinstance(given[0], Mapping)
        batches = ((batch,) if is_one else cast("tuple[Structure, ...]", batch)
                   for batch in Batches(*given, size=size, shuffled=False).epoch(0))
        first = next(batches)
        self.renew()
        found = self.predicting(first, has_names=bool(named)).joined(itertools.chain([first], batches))
        return cast("np.ndarray", found)  # or in the form that the module returns

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a checkpoint, from which ``fit(..., resume=path)`` goes on. InvalidArgument before any training.

        While ``fit`` runs, as in a callback, it is written when the step or the epoch is done: once all callbacks have
        seen the end of it, and ``stop`` that of the epoch.
        """
        name = file_name(path, "save")
        if self.standing is None:
            raise InvalidArgument("there is no training to save", op="save", got="a trainer that was not fitted",
                                  expected="a fit before it", help="nv.save_weights(module, path) saves weights alone")
        if self.running is not None:
            self.running.save_soon(name)
        else:
            self.save_checkpoint(name, self.standing)

    def __repr__(self) -> str:
        loss = getattr(self.goal.loss, "__name__", repr(self.goal.loss))
        return (f"Trainer({type(self.goal.module).__name__}, {self.goal.optimizer!r}, {loss}, "
                f"metrics={list(self.goal.metrics)}, on {self.transformer.name})")


def _named(metrics: object) -> dict[str, Measure | Metric]:
    """Returns metrics by name, in their order."""
    found: dict[str, Measure | Metric] = {}
    listed: list[tuple[object, object]] = list(metrics.items()) if isinstance(metrics, Mapping) else [
        (entry.name if isinstance(entry, Metric) else getattr(entry, "__name__", repr(entry)), entry)
        for entry in members(metrics, "Trainer", "metrics")]
    for name, metric in listed:
        if not isinstance(name, str) or name in _TAKEN or name.startswith(_BEGUN) or name in found:
            raise InvalidArgument(f"no metric can be named {name}", op="Trainer", operand="metrics", got=shown(name),
                                  expected=f"names beside {', '.join(_TAKEN)}, each once, that do not start with "
                                           f"{' or '.join(_BEGUN)}",
                                  help='metrics={"name": function}')
        found[name] = cast("Measure | Metric", metric)
    return found


def _count(value: object, operand: str) -> int:
    of_epochs = "an epoch is one pass over the data, which are one argument: fit((images, labels), 20)"
    return integer(value, "fit", operand, help=of_epochs if operand == "epochs" else "leave it out", least=1)


def _checked_stop(stop: object) -> EarlyStop | None:
    if stop is not None and not isinstance(stop, EarlyStop):
        raise WrongKind("stop says when to end", op="fit", operand="stop", got=shown(stop), expected="an EarlyStop",
                        help="stop=nv.training.EarlyStop(patience=5)")
    return stop


def _again(validation: object) -> Source:
    """Returns validation data as a source that can be read after each epoch."""
    source = as_source(validation, "fit", None, None, MEASURED, 0, False)
    if isinstance(source, Stream):
        raise WrongKind("validation data are gone through after each epoch", op="fit", operand="validation",
                        got="a generator, which gives its batches once", expected="arrays, or what can be read again",
                        help="a list of its batches, or a function of the number of an epoch that makes a generator")
    return source


def _listed(axes: object) -> object:
    """Returns axes as they are; those in an iterator, which gives them once, as a list."""
    return axes if axes is None or isinstance(axes, (Mapping, tuple, list, str)) else members(axes, "Trainer", "axes")


def _check_kind(standing: Standing | None, plan: TrainingPlan, path: str | None) -> None:
    """Raises InvalidArgument if a training would go on with other data, or in another order."""
    if standing is None or standing.data == plan.data.kind:
        return
    raise InvalidArgument("the training was on other data, or in another order", op="fit", operand=path,
                          got=_kind(plan.data.kind), expected=_kind(standing.data),
                          help="go on with the data, size= and seed= of before, or leave out resume=")


def _kind(kind: Mapping[str, int]) -> str:
    return ", ".join([f"{name}={number}" for name, number in kind.items()])
