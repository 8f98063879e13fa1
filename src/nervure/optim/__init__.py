"""Optimisers: they turn a loss, or a parameter and its gradient, into the effect that improves variables.

>>> import nervure as nv
>>> w = nv.variable((), 1.0)
>>> step = nv.computation([w * w, Adam(learning_rate=0.5)(w * w)])
>>> [round(float(step()[0]), 3) for _ in range(2)]
[1.0, 0.25]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from nervure.optim.adam import Adam, AdamW, Lion
from nervure.optim.adam_variants import Adamax, NAdam, RAdam
from nervure.optim.clipping import Clipped, clip_by_norm, clip_by_value, global_norm
from nervure.optim.composed_schedules import (
    Plateau,
    chained,
    cyclic,
    multi_step,
    multiplicative,
    polynomial,
    sequential,
    warm_restarts,
)
from nervure.optim.descent import ASGD, SGD, Adagrad, RMSProp
from nervure.optim.layerwise import Lamb, Lars
from nervure.optim.minimising import Minimum, minimise
from nervure.optim.muon import Muon
from nervure.optim.optimizer import Optimizer
from nervure.optim.quasi_newton import LBFGS
from nervure.optim.rule import Rule
from nervure.optim.scaled import Adadelta, Adafactor, Rprop
from nervure.optim.schedules import Schedule, constant, cosine, exponential, one_cycle, stepped, warm_up
from nervure.optim.wrapper import Accumulated, Groups, MovingAverage
from nervure.support.elsewhere import unknown_name

__all__ = ["ASGD", "Accumulated", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Clipped", "Groups",
           "LBFGS", "Lamb", "Lars", "Lion", "Minimum", "MovingAverage", "Muon", "NAdam", "Optimizer", "Plateau",
           "RAdam", "RMSProp", "Rprop", "Rule", "SGD", "Schedule", "chained", "clip_by_norm", "clip_by_value",
           "constant", "cosine", "cyclic", "exponential", "global_norm", "minimise", "multi_step", "multiplicative",
           "one_cycle", "polynomial", "sequential", "stepped", "warm_restarts", "warm_up"]


if not TYPE_CHECKING:  # type checkers see missing attributes as missing
    def __getattr__(name: str) -> NoReturn:
        raise unknown_name("nv.optim", name, __all__)
