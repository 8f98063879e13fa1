"""Training steps in NumPy, written by hand: what says what is right, in float32."""

from __future__ import annotations

import numpy as np

from bench.contenders import Prepared, made
from bench.contenders.numpy import programs
from bench.steps import STEPS, Epoch, FirstStep, Forward, batches


def trained(model):
    return Prepared(model.training(model.parameters()), model.data())


def epoch(model):
    step, data = model.training(model.parameters()), model.data()
    return Prepared(lambda: np.array([step(*batch) for batch in batches(data)]))


def forward(model):
    network, parameters, inputs = model.network(), model.parameters(), model.data()[0]
    return Prepared(lambda: network(parameters, inputs)[0])


for name, problem in STEPS.items():
    if issubclass(problem, Epoch):
        programs(name, plain=made)(epoch)
    elif not issubclass(problem, FirstStep):  # nothing is compiled
        programs(name, plain=made)(forward if issubclass(problem, Forward) else trained)
