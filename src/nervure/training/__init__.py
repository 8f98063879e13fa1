"""Training: a trainer, callbacks, early stop, metrics, and plots of a history."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from nervure.support.elsewhere import unknown_name
from nervure.training.callbacks import Callback
from nervure.training.early_stop import EarlyStop
from nervure.training.epoch_metrics import AUC, Confusion, Perplexity
from nervure.training.interruption import Interrupted
from nervure.training.logs import plot
from nervure.training.metrics import Gathered, Metric, accuracy
from nervure.training.tensorboard import TensorBoard
from nervure.training.trainer import Trainer

__all__ = ["AUC", "Callback", "Confusion", "EarlyStop", "Gathered", "Interrupted", "Metric", "Perplexity",
           "TensorBoard", "Trainer", "accuracy", "plot"]


if not TYPE_CHECKING:  # type checkers see missing attributes as missing
    def __getattr__(name: str) -> NoReturn:
        raise unknown_name("nv.training", name, __all__)
