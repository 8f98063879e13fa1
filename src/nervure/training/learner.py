"""What learns: a goal on a transformer, with its programs and its state, which a checkpoint holds and gives back.

>>> import numpy as np
>>> import nervure as nv
>>> goal = Goal(nv.nn.LinearLayer(2, 1, weights=0.0), nv.optim.SGD(0.1), nv.nn.losses.mean_squared_error, {})
>>> learner = Learner(goal, None, nv.transformers.default())
>>> batch = np.ones((4, 2), np.float32), np.ones((4, 1), np.float32)
>>> first, second = [learner.learn(batch)["loss"] for _ in range(2)]
>>> first > second, list(learner.state_names().values())
(True, ['linearlayer.0.weights', 'linearlayer.0.bias'])
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from nervure.computation import Computation
from nervure.data.batches import Batch, Data
from nervure.errors import FormatError
from nervure.front.creation import AssignableTensorOp, handle_of
from nervure.front.random import SEED, STEP
from nervure.front.record import record_of
from nervure.front.tensor import Tensor
from nervure.ir.identity import Identity
from nervure.ir.variable import Variable
from nervure.nn.module import Module
from nervure.optim.optimizer import Optimizer
from nervure.state_dict import make_state_dict, variable_of
from nervure.state_entries import Home, home_around
from nervure.state_loading import fitting
from nervure.training import checkpoints
from nervure.training.best import BestWeights, Values
from nervure.training.checkpoints import Checkpoint, Random
from nervure.training.early_stop import Progressed
from nervure.training.programs import Goal, Programs, places_for
from nervure.training.standing import Standing
from nervure.transformers.base import Transformer
from nervure.types.axes import AxesLike


class Learner(Identity):
    """A goal, and what it is learnt with. ``standing`` is where the last training stands, None before the first;
    ``steps_taken`` counts the steps of this process, ``seconds_computing`` those that calls of its programs took.
    """

    def __init__(self, goal: Goal, axes: Iterable[AxesLike | Tensor] | None, transformer: Transformer) -> None:
        self.goal, self.transformer = goal, transformer
        self.standing: Standing | None = None
        self.steps_taken, self.seconds_computing = 0, 0.0
        self.best = BestWeights(transformer)
        self._random: Random | None = None
        self._origin: str | None = None
        self._axes = axes
        self._programs: Programs | None = None

    # -- calls -----------------------------------------------------------------------------------------

    def programs_for(self, batch: Batch, has_targets: bool = True) -> Programs:
        """The programs for such batches, made at the first one."""
        if self._programs is None or (has_targets and self._programs.targets is None):
            axes = None if self._axes is None else list(self._axes)[:len(batch) if not has_targets else None]
            places = places_for(batch, axes)
            inputs = places[:-1] if has_targets and len(places) > 1 else places
            self._programs = Programs(self.goal, inputs, places[-1] if has_targets else None, self.transformer)
        return self._programs

    def prepare(self, batch: Batch) -> Computation[tuple[np.ndarray, ...]]:
        """The step, compiled by now. What it updates belongs to its optimiser, whatever had updated it before."""
        step = self.programs_for(batch).step
        if isinstance(self.goal.optimizer, Optimizer):
            for variable in step.function.variables:
                if variable.trainable:
                    record_of(handle_of(variable)).optimizer = self.goal.optimizer
        return step

    def learn(self, batch: Batch) -> dict[str, float]:
        """One step; loss and metrics before it. NumericError, and nothing is changed, where the loss is not finite."""
        values = self._computed(self.programs_for(batch).step, batch)
        self.steps_taken += 1
        return values

    @property
    def module(self) -> Module:
        """What is trained."""
        return self.goal.module

    def measure(self, batch: Batch) -> dict[str, float]:
        """Loss and metrics of a batch."""
        return self._computed(self.programs_for(batch).evaluation, batch)

    def means(self, data: Data, pause: Callable[[], None] = lambda: None) -> dict[str, float]:
        """Loss and metrics over all data, each batch by its number of examples; ``pause`` runs after each."""
        total = Standing({})
        for batch in data.epoch(0):
            total.count(self.measure(batch), len(batch[0]))
            pause()
        return total.means()

    def _computed(self, program: Computation[tuple[np.ndarray, ...]], batch: Batch) -> dict[str, float]:
        started = time.perf_counter()
        values = program(*batch)
        self.seconds_computing += time.perf_counter() - started
        return dict(zip(["loss", *self.goal.metrics], map(float, values), strict=True))

    # -- state -----------------------------------------------------------------------------------------

    def state_names(self) -> Mapping[AssignableTensorOp, str]:
        """The names of all that a step reads or writes beside slots of optimisers: those of the module, and
        ``trainer.0.name`` for what is in no module.
        """
        names = self.goal.module.state_names()
        return {**names, **{place: f"trainer.{number}.{place.name or 'value'}"
                            for number, place in enumerate(self._places_beside(names))}}

    def state_paths(self) -> Mapping[AssignableTensorOp, str]:
        """The paths of places in the module, and of others in the one around those, but for paths that both have."""
        paths = self.goal.module.state_paths()
        taken, beside = set(paths.values()), self._home_beside().paths
        return {**paths, **{place: beside[place] for place in self._places_beside(paths)
                            if place in beside and beside[place] not in taken}}

    def place_at(self, path: str) -> AssignableTensorOp | None:
        """The place at a path."""
        found = self.goal.module.place_at(path)
        return self._home_beside().place_at(path) if found is None else found

    def _places_beside(self, own: Iterable[AssignableTensorOp]) -> list[AssignableTensorOp]:
        """What a step reads or writes beside places of its own and slots of optimisers."""
        if self._programs is None or self._programs.targets is None:
            return []
        variables = self._programs.step.function.variables
        known = {SEED, STEP, *[place.variable for place in own], *self._slots(variables)}
        return [handle_of(variable) for variable in variables if variable not in known]

    def _home_beside(self) -> Home:
        """The module around what a step uses of other modules than its own."""
        return home_around(self._places_beside(self.goal.module.state_names()))

    def _slots(self, variables: Iterable[Variable]) -> list[Variable | None]:
        """What the optimiser keeps."""
        optimizer = self.goal.optimizer
        if not isinstance(optimizer, Optimizer):
            return []
        return [slot.variable for variable in variables if variable.trainable
                for slot in optimizer.slots(handle_of(variable)).values()]

    def save_checkpoint(self, path: str, standing: Standing) -> None:
        """Writes all that a training needs to go on, as it is now."""
        with self.best.away():
            checkpoints.write(path, make_state_dict(self, optimizers=True), standing, self._drawn())

    def restore(self, checkpoint: Checkpoint) -> None:
        """Goes back to a checkpoint, all at one moment; InvalidArgument, and nothing is changed, for another model's.

        The step is there by now: only then it is known what it keeps.
        """
        found = fitting(self, checkpoint.state)
        if found.failed:
            raise found.refusal("the checkpoint is of another model or optimiser", "fit", checkpoint.path,
                                "build the model and the optimiser as they were, or leave out resume=")
        self.transformer.restore({**found.values, **_cells(checkpoint.random)})
        found.warn()
        self.standing, self._origin = checkpoint.standing, os.path.dirname(checkpoint.path)
        self.best.forget()

    def note_best(self, steps: int) -> None:
        """The weights as they are, after so many steps, are the best so far."""
        self.best.note(steps, self._weights())

    def end_with_best(self, progressed: Progressed, folder: str | None) -> bool:
        """Puts the best weights in the place of the last ones: those that were noted, or of the checkpoint in the
        folder, or in that of the checkpoint that training went on from. False where they are nowhere.
        """
        steps = progressed.steps
        return steps is not None and self.best.put(steps, lambda: next((values for place in (folder, self._origin) if (
            values := self._kept(place, steps, progressed)) is not None), None))

    def _kept(self, folder: str | None, steps: int, progressed: Progressed) -> Values | None:
        """The weights of a checkpoint in a folder, if it is the best one."""
        if folder is None:
            return None
        try:
            checkpoint = checkpoints.read(checkpoints.path_in(folder, steps))
        except (FileNotFoundError, FormatError):
            return None
        found, weights = fitting(self, checkpoint.state), self._weights()
        is_it = not found.failed and checkpoint.standing.progressed.best == progressed.best
        return {variable: found.values[variable] for variable in weights} if is_it else None

    def _weights(self) -> list[Variable]:
        return [variable_of(place) for place in self.state_names()]

    def remember(self) -> None:
        """Keeps in mind where the random numbers stand, which others on the transformer may draw from."""
        self._random = self._drawn()

    def recall(self) -> None:
        """Lets weights be the last ones again, and random numbers stand where they stood at the last ``remember``."""
        self.best.go_back()
        if self._random is not None:
            self.transformer.restore(_cells(self._random))

    def _drawn(self) -> Random:
        low, high = self.transformer.get(SEED).tolist()
        return low, high, int(self.transformer.get(STEP))


def _cells(random: Random) -> dict[Variable, np.ndarray]:
    """The values of the variables that random numbers follow from."""
    return {SEED: np.array(random[:2], np.uint32), STEP: np.array(random[2], np.uint64)}
