"""The check of data of one's own: each way in which a source breaks its promise is named."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.data import Batches, check
from nervure.data.promises import difference


class Sound:
    """Five batches that keep the promise."""

    seed, count = 3, 5

    def __len__(self):
        return 5

    def epoch(self, number, start=0):
        for i in range(start, self.count):
            yield self.batch(number, i)

    def batch(self, number, i):
        drawn = np.random.default_rng([self.seed, number, i])
        return drawn.standard_normal((4, 2)), drawn.integers(3, size=4)


class OneGenerator(Sound):
    """Draws from one generator after the other."""

    def __init__(self):
        self.generator = np.random.default_rng(1)

    def batch(self, number, i):
        return self.generator.standard_normal((4, 2)), np.zeros(4, int)


class IgnoresStart(Sound):
    def epoch(self, number, start=0):
        return super().epoch(number)


class OfTheEpoch(Sound):
    """Draws what comes before, too, only if it starts there."""

    def epoch(self, number, start=0):
        generator = np.random.default_rng([self.seed, number])
        for _ in range(start, self.count):
            yield generator.standard_normal((4, 2)), np.zeros(4, int)


class Remembers(Sound):
    """Epochs are what they are by what was read before."""

    read = 0

    def epoch(self, number, start=0):
        self.read = max(self.read, number)
        for i in range(start, self.count):
            yield self.batch(self.read, i)


class TooFew(Sound):
    count = 4


class OtherTypes(Sound):
    def batch(self, number, i):
        return np.zeros((4, 2 if i < 2 else 3)), np.zeros(4)


class OtherLengths(Sound):
    def batch(self, number, i):
        return np.zeros((4, 2)), np.zeros(4 - i // 3)


class OtherForm(Sound):
    def batch(self, number, i):
        return (np.zeros((4, 2)), np.zeros(4)) if i < 3 else (np.zeros((4, 2)),)


class Nothing(Sound):
    count = 0


def test_what_keeps_its_promise():
    """T377: also batches that are made in the same memory each time."""
    class Reused(Sound):
        memory = np.zeros((4, 2))

        def batch(self, number, i):
            self.memory[...] = super().batch(number, i)[0]
            return self.memory, self.memory[:, 0]
    for data in (Sound(), Reused(), Batches(np.arange(9), size=2), lambda number: Sound().epoch(number),
                 [(np.zeros(3), np.ones(3))], (np.zeros(3), np.ones(3))):
        check(data)


@pytest.mark.parametrize(("data", "message", "operand"), [
    (OneGenerator(), "epoch 0 is another one when it is read again", "batch 0, entry [0]"),
    (Remembers(), "epoch 0 is another one when it is read again", "batch 0, entry [0]"),
    (IgnoresStart(), "epoch 0 from batch 1 on is another one", "batch 1, entry [0]"),
    (OfTheEpoch(), "epoch 0 from batch 1 on is another one", "batch 1, entry [0]"),
    (TooFew(), "another number of batches than the data say", "epoch 0"),
    (OtherTypes(), "batches have different types or shapes", "batch 2 of epoch 0, entry [0]"),
    (OtherLengths(), "different numbers of examples", "batch 3 of epoch 0"),
    (OtherForm(), "made up in another way", None), (Nothing(), "there are no batches", "epoch 0")],
    ids=lambda value: type(value).__name__)
def test_what_does_not(data, message, operand):
    """T377: the epoch, the batch, the entry and the element are named."""
    with pytest.raises(nv.InvalidArgument, match=message) as caught:
        check(data)
    assert caught.value.operand == operand


def test_generators_cannot_be_checked():
    """T377: they give their batches once."""
    with pytest.raises(nv.WrongKind, match="can be read but once"):
        check(iter([np.zeros(3)]))


def test_differences_are_of_bits():
    """T377: zeros of another sign differ, the same NaN does not."""
    one = (np.array([[0.0, np.nan]]),)
    assert difference(one, (np.array([[0.0, np.nan]]),)) is None
    assert difference(one, (np.array([[-0.0, np.nan]]),)) == ("entry [0]", "-0.0 at [0, 0] of the array", "0.0")
    assert difference(one, (np.zeros((1, 2), np.float32),)) == ("entry [0]", "float32 (1, 2)", "float64 (1, 2)")
