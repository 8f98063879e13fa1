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

import time
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from nervure.computation import Computation
from nervure.data.batches import Batch, Data
from nervure.errors import InvalidArgument
from nervure.front.creation import AssignableTensorOp, handle_of
from nervure.front.random import SEED, STEP
from nervure.front.record import record_of
from nervure.front.tensor import Tensor
from nervure.ir.identity import Identity
from nervure.ir.variable import Variable
from nervure.nn.module import Module
from nervure.optim.optimizer import Optimizer
from nervure.state_dict import StateDict, fitting, make_state_dict
from nervure.training import checkpoints
from nervure.training.checkpoints import Checkpoint, Random
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
        self._random: Random | None = None
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
        names = dict(self.goal.module.state_names())
        if self._programs is None or self._programs.targets is None:
            return names
        variables = self._programs.step.function.variables
        known = {SEED, STEP, *[place.variable for place in names], *self._slots(variables)}
        others = [variable for variable in variables if variable not in known]
        numbered = {handle_of(variable): f"trainer.{number}.{variable.name or 'value'}"
                    for number, variable in enumerate(others)}
        return {**names, **numbered}

    def _slots(self, variables: Iterable[Variable]) -> list[Variable | None]:
        """What the optimiser keeps."""
        optimizer = self.goal.optimizer
        if not isinstance(optimizer, Optimizer):
            return []
        return [slot.variable for variable in variables if variable.trainable
                for slot in optimizer.slots(handle_of(variable)).values()]

    def save_checkpoint(self, path: str, standing: Standing) -> None:
        """Writes all that a training needs to go on, as it is now."""
        checkpoints.write(path, make_state_dict(self, optimizers=True).arrays(), standing, self._drawn())

    def restore(self, checkpoint: Checkpoint) -> None:
        """Goes back to a checkpoint, all at one moment; InvalidArgument, and nothing is changed, for another model's.

        The step is there by now: only then it is known what it keeps.
        """
        values, failed = fitting(self, StateDict(checkpoint.table))
        if failed:
            ordered = sorted(failed.unexpected, key=lambda key: not key.startswith("param"))  # the model says most
            found = [*[f"unexpected: {key}" for key in ordered],
                     *[f"{key}: {reason}" for key, reason in failed.mismatched.items()]]
            raise InvalidArgument("the checkpoint is of another model or optimiser", op="fit", operand=checkpoint.path,
                                  got=f"{'; '.join(found) or 'fewer tensors':.300}",
                                  expected=f"{', '.join(failed.missing) or 'what the step reads and writes':.300}",
                                  help="build the model and the optimiser as they were, or leave out resume=")
        self.transformer.restore({**values, **_cells(checkpoint.random)})
        self.standing = checkpoint.standing

    def remember(self) -> None:
        """Keeps in mind where the random numbers stand, which others on the transformer may draw from."""
        self._random = self._drawn()

    def recall(self) -> None:
        """Lets the random numbers stand where they stood at the last ``remember``."""
        if self._random is not None:
            self.transformer.restore(_cells(self._random))

    def _drawn(self) -> Random:
        low, high = self.transformer.get(SEED).tolist()
        return low, high, int(self.transformer.get(STEP))


def _cells(random: Random) -> dict[Variable, np.ndarray]:
    """The values of the variables that random numbers follow from."""
    return {SEED: np.array(random[:2], np.uint32), STEP: np.array(random[2], np.uint64)}
