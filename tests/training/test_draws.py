"""Several trainers in one process: each gets the numbers that it would get alone."""

from __future__ import annotations

import threading
from functools import partial

import nervure as nv
from nervure import nn
from nervure.training import Callback
from tests.shares import DEEP
from tests.threads import run_together
from tests.training.samples import DATA, optimizer

SIZES = {"size": 8, "seed": 3, "shows": False}


def new(seed: int) -> nv.Trainer:
    """A trainer on the default transformer, with dropout, running statistics and a schedule."""
    nv.seed(seed)
    model = nn.Sequential(nn.LinearLayer(6, 8), nn.BatchNorm(8), nv.relu, nn.Dropout(0.3), nn.LinearLayer(8, 3))
    return nv.Trainer(model, optimizer(), nn.losses.cross_entropy)


def alone(seed: int) -> tuple[list, list]:
    own = new(seed)
    own.fit(DATA, 3, **SIZES)
    return own.history, weights(own)


def weights(own: nv.Trainer) -> list:
    return [place.tolist() for place in own.module.parameters()]


class Together(Callback):
    """Waits at the beginning for the other trainer."""

    def __init__(self, gate: threading.Barrier) -> None:
        self.gate = gate

    def fit_begin(self, trainer):
        self.gate.wait(60)


def test_side_by_side_in_threads():
    """T379: on one transformer, each with its own random numbers."""
    expected = alone(1)
    for _ in range(3 if DEEP else 1):
        pair = [new(1), new(1)]
        for own in pair:
            own.prepare(next(iter(nv.data.Batches(*DATA))))
        gate = threading.Barrier(2)
        nv.seed(1)
        run_together(*[partial(own.fit, DATA, 3, callbacks=[Together(gate)], **SIZES) for own in pair])
        assert [(own.history, weights(own)) for own in pair] == [expected] * 2


def test_in_turns():
    """T379: an epoch of one, an epoch of the other; what else draws in between changes neither."""
    first, second = alone(1), alone(2)
    one = new(1)
    one.fit(DATA, 1, **SIZES)
    other = new(2)
    for epoch in (1, 2, 3):
        other.fit(DATA, epoch, resume=epoch > 1, **SIZES)
        nv.evaluate(nv.uniform((3,)))
        one.fit(DATA, epoch, resume=True, **SIZES)
        one.evaluate(DATA)
    assert (one.history, weights(one)) == first and (other.history, weights(other)) == second


def test_a_trainer_within_another():
    """T379: a callback may train, evaluate and draw."""
    class Inner(Callback):
        def step_end(self, trainer, means):
            nv.evaluate(nv.normal((2,)))
            if trainer.standing.batch == 2:
                self.inner = nv.Trainer(nn.Sequential(nn.LinearLayer(6, 3), nn.Dropout(0.5)), nv.optim.SGD(0.1),
                                        nn.losses.cross_entropy)
                self.inner.fit(DATA, 1, **SIZES)
    expected, own, inner = alone(1), new(1), Inner()
    own.fit(DATA, 3, callbacks=[inner], **SIZES)
    assert (own.history, weights(own)) == expected and len(inner.inner.history) == 1


def test_what_a_loss_draws_where_it_is_evaluated():
    """T379: random numbers of the transformer; a training, validated or not, has its own."""
    class Noisy(Callback):
        def step_end(self, trainer, means):
            assert trainer.evaluate(DATA) != trainer.evaluate(DATA)

    def trained(*validation, callbacks=()):
        nv.seed(4)
        own = nv.Trainer(nn.LinearLayer(6, 3), optimizer(), lambda outputs, targets: nn.losses.cross_entropy(
            outputs + nv.normal((3,)), targets))
        own.fit(DATA, 2, *validation, callbacks=callbacks, **SIZES)
        return own
    expected = weights(trained())
    assert weights(trained(DATA)) == weights(trained(callbacks=[Noisy()])) == expected
    own = trained()
    before = drawn()
    own.evaluate(DATA)
    assert drawn()[2] == before[2] + 1


def test_what_comes_after_draws_other_numbers():
    """T379: a training moves on the random numbers of its transformer, as its steps would by themselves."""
    own = new(1)
    first = own.fit(DATA, 1, **SIZES)
    assert drawn() == [1, 0, 7] and own.fit(DATA, 1, **SIZES) != first and drawn() == [1, 0, 14]
    nv.seed(5)
    own.fit(DATA, 2, resume=True, **SIZES)
    assert drawn() == [1, 0, 21]  # of the seed that it began with


def drawn() -> list[int]:
    transformer = nv.transformers.default()
    return [*transformer.get(nv.front.random.SEED).tolist(), int(transformer.get(nv.front.random.STEP))]
