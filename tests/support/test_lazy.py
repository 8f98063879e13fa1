"""Lazy attributes: computed once and kept, without a lock of the class."""

from __future__ import annotations

import threading

import pytest

from nervure.support.lazy import lazy, once
from tests.threads import run_together


class Thing:
    """Attributes of both kinds, which say what they were computed for; ``meet`` is called on the way."""

    def __init__(self, meet=lambda: None):
        self.meet, self.count = meet, 0

    @lazy
    def kept(self) -> list[int]:
        """A list."""
        self.count += 1
        self.meet()
        return [self.count]

    @once
    def dear(self) -> list[int]:
        self.count += 1
        self.meet()
        return [self.count]


@pytest.mark.parametrize("name", ["kept", "dear"])
def test_it_is_computed_once_and_is_a_plain_attribute_then(name):
    thing = Thing()
    assert getattr(thing, name) is getattr(thing, name) is vars(thing)[name]
    assert thing.count == 1 and getattr(Thing(), name) == [1]
    setattr(thing, name, 5)
    assert getattr(thing, name) == 5


def test_the_class_shows_the_descriptor_and_its_words():
    assert isinstance(Thing.kept, lazy) and Thing.kept.__doc__ == "A list."


@pytest.mark.parametrize("name", ["kept", "dear"])
def test_objects_of_one_class_are_computed_side_by_side(name):
    """Each waits in the middle until the other one has come as far."""
    barrier = threading.Barrier(2)
    things = [Thing(lambda: barrier.wait(30)) for _ in range(2)]
    assert run_together(*[lambda thing=thing: getattr(thing, name) for thing in things]) == [[1], [1]]


def test_all_threads_get_the_value_that_is_there_first():
    barrier = threading.Barrier(2)
    thing = Thing(lambda: barrier.wait(30))
    first, second = run_together(lambda: thing.kept, lambda: thing.kept)
    assert first is second is thing.kept and thing.count == 2


def test_what_is_dear_is_computed_by_one_thread():
    inside, leave = threading.Event(), threading.Event()

    def meet():
        inside.set()
        leave.wait(30)
    thing = Thing(meet)

    def second():
        inside.wait(30)
        threading.Timer(0.05, leave.set).start()
        return thing.dear
    first, second = run_together(lambda: thing.dear, second)
    assert first is second and thing.count == 1


def test_what_fails_is_computed_anew():
    class Failing:
        turns = 0

        @once
        def value(self) -> int:
            self.turns += 1
            return 1 // (self.turns - 1)
    failing = Failing()
    with pytest.raises(ZeroDivisionError):
        _ = failing.value
    assert failing.value == 1
