"""The learner: a goal on a transformer, with its programs and its state, which checkpoints save and restore.

>>> import numpy as np
>>> import nervure as nv
>>> goal = Goal(nv.nn.LinearLayer(2, 1, weights=0.0), nv.optim.SGD(0.1), nv.nn.losses.mean_squared_error, {})
>>> learner = Learner(goal, None, nv.transformers.default())
>>> batch = np.ones((4, 2), np.float32), np.ones((4, 1), np.float32)
>>> first, second = [learner.learn(batch).means["loss"] for _ in range(2)]
>>> first > second, list(learner.state_names().values())
(True, ['linearlayer.0.weights', 'linearlayer.0.bias'])
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

import numpy as np

from nervure.computation import Computation
from nervure.data.nested import Batch, Structure
from nervure.data.sources import Source
from nervure.errors import FormatError
from nervure.files.state_dict import make_spread_state, make_state_dict, variable_of
from nervure.files.state_entries import StateRoot, root_around
from nervure.files.state_loading import fitting
from nervure.front.creation import AssignableTensorOp, handle_of
from nervure.front.pytrees import Pattern, flatten
from nervure.front.random import SEED, STEP
from nervure.front.record import record_of
from nervure.ir.identity import Uncopyable
from nervure.ir.variable import Variable
from nervure.nn.module import Module
from nervure.optim.optimizer import Optimizer
from nervure.training import checkpoints
from nervure.training.best import BestWeights, Values
from nervure.training.checkpoints import SavedTraining
from nervure.training.draws import Draws
from nervure.training.early_stop import Progressed
from nervure.training.parts import BatchParts
from nervure.training.programs import BatchProgram, Goal, Prediction, Programs, places_for
from nervure.training.readings import BatchReading, Entry, Tally, Whole
from nervure.training.standing import Standing
from nervure.transformers.base import Transformer


class Learner(Uncopyable):
    """A goal, with the programs and the state for learning it. ``standing`` is the position of the last training, None
    before the first. ``steps_taken`` counts the steps of this process, ``seconds_computing`` is the time spent in
    calls of its programs.
    """

    def __init__(self, goal: Goal, axes: object, transformer: Transformer) -> None:
        self.goal, self.transformer = goal, transformer
        self.standing: Standing | None = None
        self.steps_taken, self.seconds_computing = 0, 0.0
        self.best = BestWeights(transformer)
        self._draws = Draws()
        self._origin: str | None = None
        self._axes = axes
        self._programs: Programs | None = None
        self._prepared: Programs | None = None
        self._predictions = dict[tuple[Pattern, bool], Programs]()

    # -- calls -----------------------------------------------------------------------------------------

    def programs_for(self, batch: Batch) -> Programs:
        """Returns the programs for such batches, made at the first one."""
        if self._programs is None:
            places = places_for(batch, self._axes, self.goal.module, self.goal.roles)
            self._programs = Programs(self.goal, places, self.transformer, self._draws)
        return self._programs

    def renew(self) -> None:
        """Replaces programs of modules that hold other parameters or modules by now."""
        if self._programs is not None:
            self._programs = self._programs.renewed()
        self._predictions = {key: programs.renewed() for key, programs in self._predictions.items()}

    def predicting(self, inputs: tuple[Structure, ...], has_names: bool) -> Prediction:
        """Returns the program for inputs alone, as the module is called with them: if ``has_names``, the last is a
        dict of named inputs. The programs of a training serve if their inputs have the same form.
        """
        pattern = flatten(inputs)[1]
        trained = self._programs
        if trained is not None and bool(trained.parts.named) is has_names and flatten(
                trained.parts.without_targets())[1] == pattern:
            return trained.prediction
        if (pattern, has_names) not in self._predictions:
            form = cast("tuple[object, ...]", places_for(
                inputs, self._axes_of(inputs, has_names), self.goal.module))
            parts = BatchParts(form[:-1], cast("dict[str, object]", form[-1]), None, None) if has_names else BatchParts(
                form, {}, None, None)
            self._predictions[pattern, has_names] = Programs(self.goal, form, self.transformer, self._draws, parts)
        return self._predictions[pattern, has_names].prediction

    def _axes_of(self, inputs: tuple[Structure, ...], has_names: bool) -> object:
        """Returns the axes of inputs, if any are known."""
        if self._axes is None:
            return None
        known = self.goal.roles.parts(self._axes)
        return (*known.inputs, {name: known.named.get(name) for name in cast("dict[str, object]", inputs[-1])}
                ) if has_names else known.inputs

    def prepare(self, batch: Batch) -> Computation[tuple[np.ndarray, ...]]:
        """Compiles the step. The variables that it updates belong to its optimiser from now on. InvalidArgument if a
        mesh does not divide the batch.
        """
        self.renew()
        programs = self.programs_for(batch)
        programs.check_divided(batch)
        self._give_to_optimizer(programs)
        return programs.step

    def _give_to_optimizer(self, programs: Programs) -> None:
        """Records that the variables which a step updates belong to the optimiser."""
        self._prepared = programs
        for variable in programs.step.function.variables if isinstance(self.goal.optimizer, Optimizer) else ():
            if variable.trainable:
                record_of(handle_of(variable)).optimizer = self.goal.optimizer

    def learn(self, batch: Batch) -> BatchReading:
        """Makes one step, and returns loss and metrics before it. If the loss is not finite: NumericError, and nothing
        is changed.
        """
        programs = self.programs_for(batch)
        if programs is not self._prepared:  # it was made anew while the training ran
            self._give_to_optimizer(programs)
        reading = self._computed(programs.stepping, batch)
        self.steps_taken += 1
        return reading

    @property
    def module(self) -> Module:
        """The module that is trained."""
        return self.goal.module

    def means(self, data: Source, pause: Callable[[], None] = lambda: None) -> Entry:
        """Returns loss and metrics over all data, each batch weighted by its number of examples; ``pause`` runs after
        each.
        """
        tally, wholes = Tally(), tuple[Whole, ...]()
        for batch in data.epoch(0):
            program = self.programs_for(batch).evaluating
            wholes = program.layout.wholes
            tally.count(self._computed(program, batch), wholes)
            pause()
        return self.entry(tally, wholes)

    def entry(self, tally: Tally, wholes: Sequence[Whole]) -> Entry:
        """Returns the readings of an epoch, by name and in order."""
        return tally.entry(wholes, ["loss", *self.goal.metrics])

    @property
    def wholes(self) -> tuple[Whole, ...]:
        """The metrics of whole epochs that a step computes."""
        return () if self._programs is None else self._programs.stepping.layout.wholes

    def _computed(self, program: BatchProgram, batch: Batch) -> BatchReading:
        started = time.perf_counter()
        reading = program.read(batch)
        self.seconds_computing += time.perf_counter() - started
        return reading

    # -- state -----------------------------------------------------------------------------------------

    def state_names(self) -> Mapping[AssignableTensorOp, str]:
        """Names all that a step reads or writes, except slots of optimisers. Places in the module have its names for
        them; others are ``trainer.0.name`` and so on.
        """
        names = self.goal.module.state_names()
        return {**names, **{place: f"trainer.{number}.{place.name or 'value'}"
                            for number, place in enumerate(self._places_beside(names))}}

    def state_paths(self) -> Mapping[AssignableTensorOp, str]:
        """Returns the paths of places: those in the module, and in the module around the others, unless a path occurs
        in both.
        """
        paths = self.goal.module.state_paths()
        taken, beside = set(paths.values()), self._root_beside().paths
        return {**paths, **{place: beside[place] for place in self._places_beside(paths)
                            if place in beside and beside[place] not in taken}}

    def place_at(self, path: str) -> AssignableTensorOp | None:
        """Returns the place at a path."""
        found = self.goal.module.place_at(path)
        return self._root_beside().place_at(path) if found is None else found

    def _places_beside(self, own: Iterable[AssignableTensorOp]) -> list[AssignableTensorOp]:
        """Returns the places that a step reads or writes, besides ``own`` and the slots of optimisers."""
        if self._programs is None:
            return []
        variables = self._programs.step.function.variables
        known = {SEED, STEP, self._draws.seed, self._draws.step, *[place.variable for place in own],
                 *self._slots(variables)}
        return [handle_of(variable) for variable in variables if variable not in known]

    def _root_beside(self) -> StateRoot:
        """Returns the module around the places of other modules that a step uses."""
        return root_around(self._places_beside(self.goal.module.state_names()))

    def _slots(self, variables: Iterable[Variable]) -> list[Variable | None]:
        """Returns the variables of the optimiser's slots."""
        optimizer = self.goal.optimizer
        if not isinstance(optimizer, Optimizer):
            return []
        return [slot.variable for variable in variables if variable.trainable
                for slot in optimizer.slots(handle_of(variable)).values()]

    def save_checkpoint(self, path: str, standing: Standing) -> None:
        """Writes all that a training needs to go on, in its current state."""
        own = self.transformer
        with self.best.away():
            random = self._draws.get(own)
            if own.sharding is None:
                own.peers.by_first(functools.partial(checkpoints.write, path, make_state_dict(self, optimizers=True),
                                                     standing, random))
            else:
                checkpoints.write_together(path, make_spread_state(self, optimizers=True), standing, random, own.peers)

    def restore(self, checkpoint: SavedTraining) -> None:
        """Goes back to a checkpoint, all at one moment. For another model's: InvalidArgument, and nothing is changed.

        The step has been built before, since only the step shows which state it has.
        """
        found = fitting(self, checkpoint.state)
        if found.failed:
            raise found.refusal("the checkpoint is of another model or optimiser", "fit", checkpoint.path,
                                "build the model and the optimiser as they were, or leave out resume=")
        self.transformer.restore({**found.values, **self._draws.cells(checkpoint.random)})
        found.warn()
        self.standing, self._origin = checkpoint.standing, os.path.dirname(checkpoint.path)
        self.best.forget()

    def note_best(self, steps: int) -> None:
        """Records the current weights, after ``steps`` steps, as the best so far."""
        self.best.note(steps, self._weights())

    def end_with_best(self, progressed: Progressed, folder: str | None) -> bool:
        """Puts the best weights in place of the last ones; False if they are not found. They are the recorded ones, or
        come from the checkpoint in ``folder``, or from the folder of the checkpoint that training went on from.
        """
        steps = progressed.steps
        return steps is not None and self.best.put(steps, lambda: next((values for place in (folder, self._origin) if (
            values := self._kept(place, steps, progressed)) is not None), None))

    def _kept(self, folder: str | None, steps: int, progressed: Progressed) -> Values | None:
        """Returns the weights of a checkpoint in a folder, if it is the best one."""
        if folder is None:
            return None
        try:
            checkpoint = checkpoints.read(checkpoints.path_in(folder, steps))
        except (OSError, FormatError):
            return None
        found, weights = fitting(self, checkpoint.state), self._weights()
        is_it = not found.failed and checkpoint.standing.progressed.best == progressed.best
        return {variable: found.values[variable] for variable in weights} if is_it else None

    def _weights(self) -> list[Variable]:
        return [variable_of(place) for place in self.state_names()]

    def begin(self, is_resumed: bool) -> None:
        """Begins a training, with the random state of the interrupted one if ``is_resumed``, else that of the
        transformer.
        """
        if is_resumed:
            self.transformer.restore(self._draws.cells(self._draws.get(self.transformer)))
        else:
            self._draws.begin(self.transformer)

    def recall(self) -> None:
        """Puts the last weights back, if the best ones took their place."""
        self.best.go_back()

    def end(self) -> None:
        """Ends a training: the transformer's random numbers continue after its own."""
        self._draws.end(self.transformer)
