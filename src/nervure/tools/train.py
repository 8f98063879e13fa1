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
from nervure.data.batches import Batches
from nervure.data.digits import Examples, Split, split_by_class
from nervure.errors import InternalError
from nervure.tools.recipes import RECIPES, Recipe
from nervure.training.early_stop import EarlyStop
from nervure.training.logs import plot
from nervure.transformers.base import Transformer

AT_ONCE = 1000
"""The number of images in one call of a prediction."""


class Settings(NamedTuple):
    """The options of the command. With ``patience`` a tenth of each class is held back to decide when to stop."""

    epochs: int
    seed: int
    out: Path
    transformer: str | None = None
    resume: bool = False
    patience: int | None = None


def train(name: str, data: Split, settings: Settings) -> float:
    """Trains and prints the progress. Returns the accuracy on the examples that are held back, which are read once, at
    the end.

    Without a name the transformer is the one that ``flags.transformer`` names, else the best one here.
    """
    recipe = RECIPES[name]
    settings.out.mkdir(parents=True, exist_ok=True)
    with nv.transformers.make_transformer(settings.transformer) as transformer:
        trainer = _train(recipe, data, settings, transformer)
        weights, picture = settings.out / f"{name}.safetensors", settings.out / f"{name}.png"
        predict = _prediction(recipe, trainer, transformer)
        nv.save(weights, predict)
        answers = _answers(predict, data.test)
    _check_saved(weights, data.test, answers)
    plot(trainer.history, picture, recipe.title)
    print(f"saved, reloaded and checked: {weights}; plot: {picture}")
    accuracy = float(np.mean(answers == data.test.labels))
    print(f"test accuracy: {accuracy:.4f}")
    return accuracy


def _train(recipe: Recipe, data: Split, settings: Settings, transformer: Transformer) -> nv.Trainer:
    """Returns a fitted trainer, and a line about its speed, counted from the first step on, which is compiled before.
    """
    nv.seed(settings.seed)
    nv.seed(settings.seed, transformer)
    learnt, watched = _held_back(data.train, settings)
    batches = Batches(*learnt, size=recipe.size, seed=settings.seed)
    trainer = nv.Trainer(recipe.network(), recipe.optimizer(settings.epochs * len(batches)),
                         nv.nn.losses.cross_entropy, [nv.training.accuracy],
                         axes=(recipe.images, "N=n"), transformer=transformer)
    started = time.perf_counter()
    trainer.prepare(next(iter(batches)))
    compiled = time.perf_counter()
    trainer.fit(batches, settings.epochs, watched, folder=settings.out, resume=settings.resume,
                stop=None if settings.patience is None else EarlyStop(settings.patience))
    seconds = time.perf_counter() - compiled
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # kilobytes on Linux
    print(f"{trainer.steps_taken / seconds:.1f} steps per second on {transformer.name}, "
          f"{trainer.seconds_computing / seconds:.0%} of the time arithmetic; compiled in {compiled - started:.1f} s, "
          f"peak memory {peak:.0f} MB")
    return trainer


def _held_back(examples: Examples, settings: Settings) -> tuple[Examples, Examples | None]:
    """Returns the examples to learn from, and those that decide when to stop."""
    if settings.patience is None:
        return examples, None
    parts = split_by_class(examples.images, examples.labels, 0.1, settings.seed)
    return parts.train, parts.test


def _prediction(recipe: Recipe, trainer: nv.Trainer, transformer: Transformer) -> nv.Computation[np.ndarray]:
    """Images to the class of each."""
    images = nv.placeholder(recipe.images).named("images")
    logits: nv.Tensor = trainer.module.eval()(images)
    return nv.computation(nv.argmax(logits, -1), images, transformer=transformer)


def _answers(predict: nv.Computation[np.ndarray], examples: Examples) -> np.ndarray:
    return np.concatenate([predict(examples.images[start:start + AT_ONCE])
                           for start in range(0, len(examples), AT_ONCE)])


def _check_saved(path: Path, examples: Examples, answers: np.ndarray) -> None:
    """Checks that the saved network gives the same answers."""
    if not np.array_equal(_answers(nv.load(path), examples), answers):
        raise InternalError(f"{path} does not give the answers of the network that it was saved from")
