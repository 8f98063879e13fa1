"""Functions that run inside a call may use other computations and read its variables, but not change them."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

import nervure as nv
from nervure.errors import InUse, InvalidArgument

ONES = np.ones(3, np.float32)


class Inside:
    """A computation that calls ``act`` in its middle, doubles ``w`` and gives its argument back."""

    def __init__(self, name):
        self.transformer = nv.transformers.make_transformer(name)
        self.w, x = nv.variable((3,), 1.0).named("w"), nv.placeholder((3,))
        self.act = lambda: None
        called = nv.host_call(self._call, [x], like=x)
        self.step = self.transformer.computation([called, nv.assign(self.w, self.w * 2)], x)
        self.increase = self.transformer.computation(nv.assign(self.w, self.w + 1))
        self.read = self.transformer.computation(self.w * 1.0)
        for _ in range(2):  # from now on all go the fast way, where there is one
            self.step(ONES), self.increase(), self.read()
        self.transformer.set(self.w, ONES)

    def _call(self, array):
        act, self.act = self.act, lambda: None
        act()
        return array

    def run(self, act):
        """One call of the step, in which ``act`` is called; the value of w afterwards."""
        self.act = act
        self.step(ONES)
        return self.transformer.get(self.w).tolist()

    def in_thread(self, act):
        """What happens to ``act`` in a thread that the function starts and waits for; and the value of w."""
        found = []

        def attempt():
            try:
                found.append(act())
            except InUse as error:
                found.append(error)

        def start_and_wait():
            thread = threading.Thread(target=attempt)
            thread.start()
            thread.join(60)
        return found, self.run(start_and_wait)


@pytest.fixture(params=["interpreter", "cpu"])
def inside(request):
    made = Inside(request.param)
    with made.transformer, nv.flags.overriding(wait_limit=0):
        yield made


def test_variables_are_read_as_they_were_before_the_call(inside):
    """Q17: by a computation, by ``get``, and by ``nv.save``'s snapshot."""
    seen = []
    assert inside.run(lambda: seen.append(inside.read().tolist())) == [2, 2, 2]
    assert inside.run(lambda: seen.append(inside.transformer.get(inside.w).tolist())) == [4, 4, 4]
    assert inside.run(lambda: seen.append(
        inside.transformer.snapshot([inside.w.variable])[inside.w.variable].tolist())) == [8, 8, 8]
    assert seen == [[1, 1, 1], [2, 2, 2], [4, 4, 4]]


CHANGES = {
    "another computation": lambda inside: inside.increase(),
    "the same computation": lambda inside: inside.step(ONES),
    "the same with other strides": lambda inside: inside.step(np.ones(6, np.float32)[::2]),
    "set": lambda inside: inside.transformer.set(inside.w, [7, 7, 7]),
    "copy_state": lambda inside: inside.transformer.copy_state(changed_elsewhere(inside)),
}


def changed_elsewhere(inside):
    other = nv.transformers.make_transformer(inside.transformer.name)
    other.set(inside.w, [7, 7, 7])
    return other


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_would_lose_an_update_and_is_refused(inside, change):
    """Q17: and neither the inner nor the outer call changes anything."""
    with pytest.raises(InUse, match="w is in use by a call that has not ended") as caught:
        inside.run(lambda: CHANGES[change](inside))
    assert caught.value.operand == "w" and caught.value.got.startswith("a change inside of HostCall at ")
    assert __file__ in caught.value.got and caught.value.location.file == __file__
    assert inside.transformer.get(inside.w).tolist() == [1, 1, 1]
    assert inside.run(lambda: None) == [2, 2, 2]
    inside.increase()
    assert inside.transformer.get(inside.w).tolist() == [3, 3, 3]


def test_a_function_that_handles_the_refusal_goes_on(inside):
    def careful():
        with pytest.raises(InUse):
            inside.increase()
    assert inside.run(careful) == [2, 2, 2]


def test_other_variables_may_be_changed(inside):
    """Q17: those that the call does not use."""
    v = nv.variable((), 0.0)
    count = inside.transformer.computation(nv.assign(v, v + 1))
    for done in range(1, 4):
        inside.run(count)
        assert inside.transformer.get(v) == done


@pytest.mark.parametrize("use", ["another computation", "read", "get", "set"])
def test_a_thread_that_the_function_waits_for_gives_up(inside, use):
    """Q18: the outer call goes on."""
    uses = {**CHANGES, "read": lambda inside: inside.read(), "get": lambda inside: inside.transformer.get(inside.w)}
    (error,), value = inside.in_thread(lambda: uses[use](inside))
    assert isinstance(error, InUse) and "may be waiting for this thread" in str(error)
    assert error.operand == "w" and "inside of HostCall at" in error.got
    assert value == [2, 2, 2]


@pytest.mark.parametrize("name", ["interpreter", "cpu"])
def test_what_uses_no_variables_may_be_called_from_anywhere(name):
    """Q18: the same computation too, from another thread."""
    with nv.transformers.make_transformer(name) as transformer:
        x, found, inner = nv.placeholder((3,)), [], []

        def call(array):
            if len(inner) < 2:
                inner.append(array)
                thread = threading.Thread(target=lambda: found.append(double(array)))
                thread.start()
                thread.join(60)
            return array
        double = transformer.computation(nv.host_call(call, [x], like=x) * 2, x)
        assert double(ONES).tolist() == [2, 2, 2] and [entry.tolist() for entry in found] == [[2, 2, 2]] * 2


@pytest.mark.parametrize("name", ["interpreter", "cpu"])
def test_printing_is_such_a_function(name, monkeypatch):
    """Q17: standard output may be anything."""
    with nv.transformers.make_transformer(name) as transformer:
        w = nv.variable((), 1.0).named("w")
        increase = transformer.computation(nv.assign(w, w + 1))
        step = transformer.computation([nv.print_op(w), nv.assign(w, w * 2)])

        class Output:
            def write(self, text):
                increase()
        monkeypatch.setattr(sys, "stdout", Output())
        with pytest.raises(InUse, match="PrintOp"):
            step()
        monkeypatch.undo()
        assert transformer.get(w) == 1


@pytest.mark.parametrize("name", ["interpreter", "cpu"])
def test_a_function_may_keep_its_arrays(name):
    """Q16: of an argument and of a value in between."""
    with nv.transformers.make_transformer(name) as transformer:
        x, kept = nv.placeholder((1000,)), []
        called = nv.host_call(lambda *arrays: kept.extend(arrays) or arrays[0], [nv.sin(x) * 2, x], like=x)
        step = transformer.computation(nv.exp(called) + 1, x)
        given = np.linspace(0, 1, 1000, dtype=np.float32)
        step(given)
        first = [array.copy() for array in kept]
        given[:] = 9
        for _ in range(20):
            step(given)
        assert np.array_equal(kept[0], first[0]) and np.array_equal(kept[1], first[1])
        assert not any([array.flags.writeable for array in kept])


@pytest.mark.parametrize("name", ["interpreter", "cpu"])
def test_an_initial_value_may_be_computed(name):
    """Q19: by other computations, whatever they change, but not from itself."""
    with nv.transformers.make_transformer(name) as transformer:
        w, places = nv.variable((3,), 1.0), []
        increase, read = transformer.computation(nv.assign(w, w + 1)), transformer.computation(w * 1.0)
        v = nv.variable((3,), lambda axes: (increase(), read())[1])
        assert transformer.get(v).tolist() == [2, 2, 2]
        places.append(nv.variable((3,), lambda axes: transformer.get(places[0])).named("u"))
        with pytest.raises(InvalidArgument, match="needs that value") as caught:
            transformer.get(places[0])
        assert caught.value.op == "u"


def test_an_initial_value_that_waits_for_a_thread_that_needs_it_gives_up(inside):
    """Q18, Q19: the thread does."""
    found, places = [], []

    def initial(axes):
        def attempt():
            try:
                inside.transformer.get(places[0])
            except InUse as error:
                found.append(error)
        thread = threading.Thread(target=attempt)
        thread.start()
        thread.join(60)
        return ONES
    places.append(nv.variable((3,), initial).named("u"))
    assert inside.transformer.get(places[0]).tolist() == [1, 1, 1]
    assert found[0].operand == "u" and "the initial value of u" in found[0].got
