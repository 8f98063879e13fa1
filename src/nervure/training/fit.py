"""The loop of a training: batches, epochs, and what happens between them.

>>> import numpy as np
>>> import nervure as nv
>>> from nervure.data import Batches
>>> from nervure.training.programs import Goal
>>> goal = Goal(nv.nn.LinearLayer(2, 1, weights=0.0), nv.optim.SGD(0.1), nv.nn.losses.mean_squared_error, {})
>>> data = Batches(np.ones((4, 2)), np.ones((4, 1)), size=2)
>>> history = Fit(Learner(goal, None, nv.transformers.default()), Plan(data, epochs=2, shows=False)).run(Standing({}))
>>> [int(entry["steps"]) for entry in history]
[2, 4]
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

from nervure.data.batches import Batch, Data
from nervure.errors import NumericError, notice
from nervure.training.checkpoints import Folder
from nervure.training.early_stop import EarlyStop
from nervure.training.interruption import Interrupted, deferred
from nervure.training.learner import Learner
from nervure.training.logs import write_logs
from nervure.training.not_finite import origin
from nervure.training.programs import NOT_FINITE
from nervure.training.progress import Progress
from nervure.training.standing import Entry, Standing


class Plan(NamedTuple):
    """How long is trained, on what, and what is kept of it in a folder."""

    data: Data
    epochs: int
    validation: Data | None = None
    folder: Folder | None = None
    save_every: int | None = None
    stop: EarlyStop | None = None
    shows: bool = True


class Fit:
    """One training of a learner by a plan; ``is_new`` where it does not go on with one before it."""

    def __init__(self, learner: Learner, plan: Plan, is_new: bool = True) -> None:
        self._learner, self._plan, self._is_new = learner, plan, is_new
        self._is_pressed: Callable[[], bool] = lambda: False

    def run(self, standing: Standing) -> list[Entry]:
        """Trains from where it stands to the end of the plan; the history. Interrupted by Ctrl-C."""
        plan = self._plan
        self._learner.standing = self._standing = standing
        if plan.folder is not None:
            os.makedirs(plan.folder.path, exist_ok=True)
        if self._is_new:
            self._learner.best.forget()
        with deferred() as self._is_pressed, Progress(standing, plan.epochs, len(plan.data), plan.shows) as progress:
            try:
                while standing.epoch < plan.epochs and not (standing.has_ended and plan.stop is not None):
                    self._epoch(progress)
            finally:
                self._learner.remember()
        if plan.stop is not None and plan.stop.best:
            self._end_with_best()
        return standing.history

    def _end_with_best(self) -> None:
        """The weights of the best epoch in the place of the last ones, where these are not the best."""
        plan, progressed = self._plan, self._standing.progressed
        if progressed.best is None or progressed.steps == self._standing.steps:
            return
        if not self._learner.end_with_best(progressed, None if plan.folder is None else plan.folder.path):
            notice(f"the checkpoint with the best weights, after {progressed.steps} steps, is not there: "
                   "training ends with the last ones")
        elif plan.shows:
            print(f"the weights are the best, those after {progressed.steps} steps", flush=True)

    def _epoch(self, progress: Progress) -> None:
        plan, standing = self._plan, self._standing
        for batch in plan.data.epoch(standing.epoch, standing.batch):
            self._learn(batch)
            progress.batch()
            if plan.save_every is not None and standing.steps % plan.save_every == 0:
                self._save()
            self._pause()
        entry = standing.finish_epoch(self._validated())
        standing.has_ended = plan.stop is not None and plan.stop.ends(standing.progressed, entry)
        if plan.stop is not None and plan.stop.best and standing.progressed.steps == standing.steps:
            self._learner.note_best(standing.steps)
        progress.epoch(entry)
        self._save()
        if plan.folder is not None:
            write_logs(plan.folder.path, standing.history)
        self._pause()

    def _learn(self, batch: Batch) -> None:
        """A step, counted; NumericError that names what made the loss not finite."""
        standing, learner = self._standing, self._learner
        try:
            means = learner.learn(batch)
        except NumericError as error:
            if error.message != NOT_FINITE:
                raise
            where = f"epoch {standing.epoch + 1}, batch {standing.batch + 1}"
            raise origin(learner.programs_for(batch).step.function, batch, learner.transformer, where) from None
        standing.count(means, len(batch[0]))

    def _validated(self) -> Entry:
        """Loss and metrics on the validation data, if there are such."""
        validation = self._plan.validation
        return {} if validation is None else self._learner.means(validation, self._pause)

    def _save(self) -> str | None:
        """Writes a checkpoint; older ones go, but for the best, and of other trainings all."""
        plan, standing = self._plan, self._standing
        if plan.folder is None:
            return None
        return plan.folder.add(standing.steps, lambda path: self._learner.save_checkpoint(path, standing),
                               standing.progressed.steps)

    def _pause(self) -> None:
        """Where training may be interrupted: what is learnt and what is counted agree."""
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
