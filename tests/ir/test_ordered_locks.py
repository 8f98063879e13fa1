"""Turns: locks in one order, and what would wait for ever is an error."""

from __future__ import annotations

import signal
import threading
from functools import partial

import pytest

from nervure import flags
from nervure.errors import InUse
from nervure.ir.ordered_locks import OrderedLock, Visit, holding, visiting
from tests.processes import code_of_child
from tests.threads import run_together


class Place:
    """Something that one call at a time uses."""

    def __init__(self, name=None):
        self.name, self.lock = name, OrderedLock()


def in_thread(act):
    """What ``act()`` returns or raises in another thread."""
    found = []

    def run():
        try:
            found.append(act())
        except InUse as error:
            found.append(error)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    return found[0]


@pytest.fixture
def impatient():
    with flags.overriding(wait_limit=0):
        yield


def test_what_is_held_is_ours_until_the_end():
    first, second = Place(), Place()
    seen = holding([second, first], lambda: [place.lock.is_mine for place in (first, second)])
    assert seen == [True, True] and not first.lock.is_mine and not second.lock.is_mine
    assert holding([first], lambda: first.lock.holder.value) == threading.get_ident()
    assert first.lock.holder.value == 0
    assert in_thread(lambda: holding([first, second], lambda: "free")) == "free"


def test_locks_are_taken_in_one_order_however_they_are_listed():
    places = [Place() for _ in range(4)]
    taken = []

    def take(order):
        for _ in range(200):
            holding([places[k] for k in order], lambda: taken.append(1))

    run_together(*[partial(take, order) for order in ((0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1))])
    assert len(taken) == 600


def test_nothing_is_held_after_a_failure():
    place = Place()
    with pytest.raises(KeyError):
        holding([place], lambda: {}["x"])
    assert not place.lock.is_mine and place.lock.holder.value == 0


def test_reading_inside_is_allowed_and_leaves_the_outer_lock_alone():
    place = Place()

    def outer():
        assert holding([place], lambda: 5) == 5
        return place.lock.is_mine, place.lock.holder.value
    assert holding([place], outer) == (True, threading.get_ident())


def test_a_change_inside_is_refused_before_anything_happens():
    place, other, done = Place("w"), Place("v"), []

    def inner():
        return holding([place, other], lambda: done.append(1), changed=[other, place], op="step")
    with pytest.raises(InUse, match="w is in use by a call that has not ended") as caught:
        holding([place], lambda: visiting(Visit("HostCall", "model.py:3"), inner), changed=[place])
    assert done == [] and not other.lock.is_mine
    assert (caught.value.op, caught.value.operand) == ("step", "w")
    assert caught.value.got == "a change inside of HostCall at model.py:3"
    holding([place], inner_of(other, done), changed=[place])
    assert done == [1]


def inner_of(place, done):
    return lambda: holding([place], lambda: done.append(1), changed=[place])


def test_a_call_outside_of_all_functions_is_named_too():
    place = Place()
    with pytest.raises(InUse, match="a variable is in use") as caught:
        holding([place], lambda: holding([place], lambda: None, changed=[place]))
    assert caught.value.got == "a change inside of that call"


def test_a_thread_that_a_function_waits_for_gives_up(impatient):
    place = Place("w")

    def wait_for_another():
        return in_thread(lambda: holding([place], lambda: "never"))
    error = holding([place], lambda: visiting(Visit("HostCall", None), wait_for_another))
    assert isinstance(error, InUse) and "may be waiting for this thread" in str(error)
    assert error.got == "a call that is inside of HostCall" and "wait_limit" in error.help
    assert in_thread(lambda: holding([place], lambda: "free")) == "free"


def test_two_functions_that_want_each_others_locks_do_not_wait_for_ever(impatient):
    first, second = Place("first"), Place("second")
    both_inside = threading.Barrier(2)
    found = []

    def crossing(mine, theirs):
        def inside():
            both_inside.wait(60)
            return holding([theirs], lambda: "got it")
        try:
            found.append(holding([mine], lambda: visiting(Visit("HostCall", None), inside)))
        except InUse as error:
            found.append(error)

    run_together(partial(crossing, first, second), partial(crossing, second, first))
    assert len(found) == 2 and any([isinstance(entry, InUse) for entry in found])


def test_who_is_not_inside_of_a_function_is_waited_for(impatient):
    place = Place()
    is_held, may_end, found = threading.Event(), threading.Event(), []

    def long_call():
        is_held.set()
        assert may_end.wait(60)
    holder = threading.Thread(target=lambda: holding([place], long_call))
    waiter = threading.Thread(target=lambda: found.append(holding([place], lambda: "mine")))
    holder.start()
    assert is_held.wait(60)
    waiter.start()
    waiter.join(0.4)
    assert waiter.is_alive() and found == []
    may_end.set()
    waiter.join(60)
    holder.join(60)
    assert found == ["mine"]


def test_visits_end_with_their_function_however_it_ends(impatient):
    place = Place()

    def fail():
        raise KeyError
    with pytest.raises(KeyError):
        visiting(Visit("HostCall", None), fail)
    with pytest.raises(InUse) as caught:
        holding([place], lambda: visiting(Visit("outer", None), lambda: (
            visiting(Visit("inner", None), int), holding([place], int, changed=[place]))))
    assert caught.value.got == "a change inside of outer"


def test_a_signal_handler_may_read_and_not_change():
    place, found = Place("w"), []

    def handle(*_):
        found.append(holding([place], lambda: "read"))
        try:
            holding([place], lambda: "changed", changed=[place])
        except InUse as error:
            found.append(error.operand)
    before = signal.signal(signal.SIGUSR1, handle)
    try:
        holding([place], lambda: signal.raise_signal(signal.SIGUSR1), changed=[place])
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert found == ["read", "w"]


def in_child(act):
    """Whether ``act()`` was true in a child."""
    return code_of_child(act) == 0


def said(act):
    """What is said where something is in use."""
    try:
        return act()
    except InUse as error:
        return str(error)


@pytest.mark.parametrize("changes", [False, True])
def test_what_another_thread_changes_is_lost_in_a_child_and_what_it_reads_is_free(changes):
    """Claim Q31."""
    place, inside, leave = Place("w"), threading.Event(), threading.Event()

    def stay():
        inside.set()
        leave.wait(60)
    thread = threading.Thread(target=visiting, args=(
        Visit("HostCall", None), holding, [place], stay, [place] if changes else []))
    thread.start()
    inside.wait(60)
    expected = "w was in use by a call when this process was forked" if changes else "free"
    assert in_child(lambda: all([expected in said(lambda: holding([place], lambda: "free")) for _ in range(2)]))
    leave.set()
    thread.join()
    assert holding([place], lambda: "free") == "free"
    assert in_child(lambda: holding([place], lambda: "free") == "free")


def test_who_forks_inside_goes_on_in_the_child():
    place = Place("w")
    assert holding([place], lambda: in_child(lambda: holding([place], lambda: place.lock.is_mine)), changed=[place])


def test_a_child_of_a_child_knows_what_is_lost():
    place, inside, leave = Place("w"), threading.Event(), threading.Event()
    thread = threading.Thread(target=holding, args=([place], lambda: (inside.set(), leave.wait(60)), [place]))
    thread.start()
    inside.wait(60)
    assert in_child(lambda: in_child(lambda: "forked" in said(lambda: holding([place], lambda: "free"))))
    leave.set()
    thread.join()
