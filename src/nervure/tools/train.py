"""Training of a recipe: its network is trained, saved, loaded again, checked, and tested on unseen examples.

>>> Settings(epochs=3, seed=1, out=Path("runs/digits")).resume
False
"""

from __future__ import annotations

import resource
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import nervure as nv
from nervure.errors import InternalError
from nervure.tools.mesh_options import Distribution
from nervure.tools.recipes import RECIPES
from nervure.tools.recipes.recipe import Recipe, RecipeData
from nervure.training.early_stop import EarlyStop
from nervure.training.logs import plot
from nervure.transformers.base import Transformer


class Settings(NamedTuple):
    """The options of the command. With ``patience`` some examples are held back to decide when to stop; with a mesh in
    ``distribution`` the training runs on its devices.
    """

    epochs: int
    seed: int
    out: Path
    transformer: str | None = None
    resume: bool = False
    patience: int | None = None
    distribution: Distribution = Distribution()


def train(name: str, data: RecipeData, settings: Settings) -> None:
    """Trains the recipe ``name`` on ``data``, and prints the progress. The examples that are held back are read once,
    at the end, for the recipe's report.

    Without a name the transformer is the one that ``flags.transformer`` names, else the best one here.
    """
    recipe = RECIPES[name]
    settings.out.mkdir(parents=True, exist_ok=True)
    weights, picture = settings.out / f"{name}.safetensors", settings.out / f"{name}.png"
    with nv.transformers.make_transformer(settings.transformer) as transformer:
        trainer = _train(recipe, data, settings, transformer)
        served = recipe.serve(trainer.module, transformer)
        answers = recipe.answers(served["predict"], data.test)
        nv.save(weights, served["predict"] if len(served) == 1 else dict(served))
        loaded = nv.load(weights) if len(served) == 1 else nv.load_together(weights)["predict"]
        if not np.array_equal(recipe.answers(loaded, data.test), answers):
            raise InternalError(f"{weights} does not give the answers of the network that it was saved from")
        plot(trainer.history, picture, recipe.title)
        _tell(f"saved, reloaded and checked: {weights}; plot: {picture}")
        for line in recipe.report(served, answers, data.test, settings.out):
            _tell(line)


def _tell(line: str) -> None:
    """Prints a line, in the first process of a job."""
    if nv.processes.index() == 0:
        print(line)


def _train(recipe: Recipe, data: RecipeData, settings: Settings, transformer: Transformer) -> nv.Trainer:
    """Returns a fitted trainer, and a line about its speed, counted from the first step on, which is compiled before.
    """
    nv.seed(settings.seed)
    nv.seed(settings.seed, transformer)
    trainer = nv.Trainer(recipe.network(), recipe.optimizer(settings.epochs * data.steps), recipe.loss,
                         recipe.metrics, axes=recipe.axes, transformer=transformer, **settings.distribution._asdict())
    started = time.perf_counter()
    trainer.prepare(data.first())
    compiled = time.perf_counter()
    trainer.fit(data.batches, settings.epochs, data.watched, folder=settings.out, resume=settings.resume,
                stop=None if settings.patience is None else EarlyStop(settings.patience))
    seconds = time.perf_counter() - compiled
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # kilobytes on Linux
    _tell(f"{trainer.steps_taken / seconds:.1f} steps per second on {transformer.name}, "
          f"{trainer.seconds_computing / seconds:.0%} of the time arithmetic; compiled in {compiled - started:.1f} s, "
          f"peak memory {peak:.0f} MB")
    return trainer
