"""The loop of a training: batches, epochs, and the work between them.

>>> import numpy as np
>>> import nervure as nv
>>> trainer = nv.Trainer(nv.nn.LinearLayer(2, 1, weights=0.0), nv.optim.SGD(0.1), nv.nn.losses.mean_squared_error)
>>> from nervure.data.sources import as_source
>>> data = as_source((np.ones((4, 2)), np.ones((4, 1))), "fit", size=2)
>>> history = Fit(trainer, TrainingPlan(data, epochs=2, shows=False)).run(Standing({}))
>>> [int(entry["steps"]) for entry in history]
[2, 4]
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nervure import processes
from nervure.data.nested import Batch, arrays_of
from nervure.data.sources import Source
from nervure.errors import InvalidArgument, NumericError, notice, warn_user
from nervure.files.state_dict import make_state_dict
from nervure.front.random import SEED, STEP
from nervure.training.callbacks import Callbacks, check_entry
from nervure.training.checkpoints import Folder
from nervure.training.early_stop import EarlyStop
from nervure.training.interruption import Interrupted, deferred
from nervure.training.logs import write_logs
from nervure.training.not_finite import origin
from nervure.training.programs import NOT_FINITE
from nervure.training.progress import Progress
from nervure.training.readings import Entry
from nervure.training.standing import Standing

if TYPE_CHECKING:
    from nervure.training.trainer import Trainer


class TrainingPlan(NamedTuple):
    """The plan of a training: its length, its data, and the files that it keeps in a folder."""

    data: Source
    epochs: int
    validation: Source | None = None
    folder: Folder | None = None
    save_every: int | None = None
    stop: EarlyStop | None = None
    shows: bool = True
    callbacks: Callbacks = Callbacks()


class Fit:
    """One training by a plan; ``is_new`` unless it continues an earlier one."""

    def __init__(self, trainer: Trainer, plan: TrainingPlan, is_new: bool = True) -> None:
        self._trainer, self._plan, self._is_new = trainer, plan, is_new
        self._is_first = trainer.transformer.peers.index == 0
        self._shows = plan.shows and self._is_first
        self._is_pressed: Callable[[], bool] = lambda: False
        self._last: Batch | None = None
        self._asked: list[str] = []

    def run(self, standing: Standing) -> list[Entry]:
        """Trains from ``standing`` to the end of the plan, and returns the history. Ctrl-C interrupts it."""
        plan, trainer = self._plan, self._trainer
        trainer.standing = self._standing = standing
        if plan.folder is not None:
            os.makedirs(plan.folder.path, exist_ok=True)
        if self._is_new:
            self._check_alike()
            trainer.best.forget()
        trainer.begin(not self._is_new)
        try:
            self._train()
            if plan.stop is not None and plan.stop.best:
                self._end_with_best()
        finally:
            for callback in plan.callbacks:
                callback.fit_end(trainer)
        return list(standing.history)

    def _check_alike(self) -> None:
        """Raises InvalidArgument if the processes of a job begin with different weights, data or random numbers: what
        they computed together would be no training.
        """
        peers, plan = self._trainer.transformer.peers, self._plan
        if peers.count == 1:
            return
        transformer = self._trainer.transformer
        weights = make_state_dict(self._trainer, transformer=transformer).arrays()
        random = transformer.snapshot([SEED, STEP])
        own = {"epochs": plan.epochs, "data": dict(plan.data.kind), "first batch": _number_of(plan.data.first()),
               "weights": _number_of(tuple(weights.values())), "random numbers": _number_of(tuple(random.values()))}
        told = [json.loads(text) for text in peers.together(lambda: json.dumps(own).encode())]
        for name, value in own.items():
            for index, other in enumerate(told):
                if other[name] != value:
                    raise InvalidArgument("the processes of a job do not begin alike", op="fit", operand=name,
                                          got=f"{other[name]} in process {index}, {value} in process {peers.index}",
                                          expected="the same in all",
                                          help="read the same files, and draw from generators with a seed: "
                                               "np.random.default_rng(0), nv.seed(0)")

    def _train(self) -> None:
        plan, standing, trainer = self._plan, self._standing, self._trainer
        length = plan.data.length
        with deferred() as is_pressed, Progress(standing, plan.epochs, length, self._shows) as progress:
            # Processes that make their steps together end after the same one.
            is_alone = trainer.transformer.peers.count == 1
            self._is_pressed = is_pressed if is_alone else lambda: processes.ends_here(is_pressed())
            trainer.running = self
            try:
                if not self._is_new:
                    plan.callbacks.restore(standing.callbacks)
                for callback in plan.callbacks:
                    callback.fit_begin(trainer)
                while not self._is_over():
                    self._epoch(progress)
            finally:
                trainer.end()
                trainer.running = None
                standing.callbacks = plan.callbacks.states()
                self._write_asked()

    def _is_over(self) -> bool:
        standing, plan = self._standing, self._plan
        return self._trainer.is_stopped or standing.epoch >= plan.epochs or (
            standing.has_ended and plan.stop is not None)

    def _end_with_best(self) -> None:
        """Puts the weights of the best epoch in place of the last ones, unless these are the best."""
        plan, progressed = self._plan, self._standing.progressed
        if progressed.best is None or progressed.steps == self._standing.steps:
            return
        if not self._trainer.end_with_best(progressed, None if plan.folder is None else plan.folder.path):
            notice(f"the checkpoint with the best weights, after {progressed.steps} steps, is not there: "
                   "training ends with the last ones")
        elif self._shows:
            print(f"the weights are the best, those after {progressed.steps} steps", flush=True)

    def _epoch(self, progress: Progress) -> None:
        plan, standing, trainer = self._plan, self._standing, self._trainer
        if standing.batch == 0:
            for callback in plan.callbacks:
                callback.epoch_begin(trainer)
            trainer.renew()
        for batch in self._batches():
            self._learn(batch)
            self._write_asked()
            progress.batch()
            if plan.save_every is not None and standing.steps % plan.save_every == 0:
                self._save()
            self._pause()
            if trainer.is_stopped:
                self._save()
                return
        entry = standing.finish_epoch(trainer.entry(standing.tally, trainer.wholes), self._validated())
        for callback in plan.callbacks:
            callback.epoch_end(trainer, entry)
        check_entry(entry)
        standing.has_ended = plan.stop is not None and plan.stop.ends(standing.progressed, entry)
        if plan.stop is not None and plan.stop.best and standing.progressed.steps == standing.steps:
            trainer.note_best(standing.steps)
        self._write_asked()
        progress.epoch(entry)
        self._save()
        if plan.folder is not None and self._is_first:
            write_logs(plan.folder.path, standing.history)
        self._pause()

    def _batches(self) -> Iterator[Batch]:
        """Returns the batches from the current position on. If a number of the batch before is known, the data are
        also asked for that batch, to compare.
        """
        standing, data = self._standing, self._plan.data
        if standing.seen is None or standing.batch == 0 or not data.can_give(standing.epoch, standing.batch - 1):
            return data.epoch(standing.epoch, standing.batch)
        batches = data.epoch(standing.epoch, standing.batch - 1)
        again = next(batches, None)
        if again is None or _number_of(again) != standing.seen:
            _tell_of_other_data(data, standing)
        return batches

    def _learn(self, batch: Batch) -> None:
        """Makes a step, and counts it; NumericError that names the origin of a loss that is not finite."""
        standing, trainer, callbacks = self._standing, self._trainer, self._plan.callbacks
        for callback in callbacks:
            callback.step_begin(trainer, batch)
        programs = trainer.programs_for(batch)
        try:
            reading = trainer.learn(batch)
        except NumericError as error:
            if error.message != NOT_FINITE:
                raise
            where = f"epoch {standing.epoch + 1}, batch {standing.batch + 1}"
            raise origin(programs.step.function, programs.form.arguments(batch), trainer.transformer, where) from None
        standing.count(reading, trainer.wholes)
        self._plan.data.used()
        self._last = batch
        for callback in callbacks:
            callback.step_end(trainer, {**reading.means, **reading.rates})

    def _validated(self) -> Entry:
        """Returns loss and metrics on the validation data, or nothing without such data."""
        validation, trainer = self._plan.validation, self._trainer
        if validation is None:
            return {}
        trainer.renew()
        return trainer.means(validation, self._pause)

    def save_soon(self, path: str) -> None:
        """Has a checkpoint written to ``path`` when this step or epoch is done: where the training can go on."""
        self._asked = [*[other for other in self._asked if other != path], path]

    def _write_asked(self) -> None:
        """Writes the checkpoints that were asked for while the step or the epoch ran."""
        asked, self._asked = self._asked, []
        if asked:
            self._settle()
        for path in asked:
            self._trainer.save_checkpoint(path, self._standing)

    def _settle(self) -> None:
        """Brings the position up to date with all that a checkpoint has of it."""
        standing = self._standing
        if standing.batch and self._last is not None:
            standing.seen = _number_of(self._last)
        standing.callbacks = self._plan.callbacks.states()
        standing.tally.settle(self._trainer.wholes)

    def _save(self) -> str | None:
        """Writes a checkpoint; older ones are removed, except the best, and so are all of other trainings."""
        plan, standing = self._plan, self._standing
        self._settle()
        if plan.folder is None:
            return None
        return plan.folder.add(standing.steps, lambda path: self._trainer.save_checkpoint(path, standing),
                               standing.progressed.steps)

    def _pause(self) -> None:
        """Ends the training here if Ctrl-C was pressed, in any process: the state of the model and the counts agree."""
        if not self._is_pressed():
            return
        standing = self._standing
        path = self._save()
        place = f"interrupted in epoch {standing.epoch + 1}, after {standing.steps} steps"
        if standing.epoch == self._plan.epochs:
            place = f"interrupted after {standing.steps} steps, the last ones"
        saved = "nothing was saved; fit(..., resume=True) goes on from here" if path is None else (
            f"saved as {path}; resume=True goes on from there")
        raise Interrupted(f"{place}; {saved}", path)


def _number_of(batch: Batch) -> int:
    """Returns a number that follows from all bits of a batch."""
    number = 0
    for array in arrays_of(batch):
        number = zlib.crc32(np.ascontiguousarray(array).tobytes(), number)
    return number


def _tell_of_other_data(data: Source, standing: Standing) -> None:
    """Raises InvalidArgument if data that promise the same batches give others; warns if they promise nothing."""
    message = f"batch {standing.batch} of epoch {standing.epoch + 1} is another one than before the interruption"
    if not data.repeats:
        warn_user(f"{message}: the training goes on with it, but is not what it would have been")
        return
    raise InvalidArgument(message, op="fit", operand="data", got="other elements", expected="those of before",
                          help="a batch follows from its epoch and number alone: nv.data.check(data) says what differs")
