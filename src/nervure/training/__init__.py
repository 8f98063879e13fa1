"""Training: a trainer, early stop, metrics, and plots of a history."""

from __future__ import annotations

from nervure.training.early_stop import EarlyStop
from nervure.training.interruption import Interrupted
from nervure.training.logs import plot
from nervure.training.metrics import accuracy
from nervure.training.trainer import Trainer

__all__ = ["EarlyStop", "Interrupted", "Trainer", "accuracy", "plot"]
