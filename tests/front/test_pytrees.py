"""Containers come back as they were: of their class, with their entries and their attributes."""

from __future__ import annotations

import dataclasses
import enum
import operator
import time
from collections import Counter, OrderedDict, UserDict, defaultdict
from typing import NamedTuple

import numpy as np
import pytest

import nervure as nv
from nervure.front.pytrees import flatten, flatten_as, unflatten
from nervure.functions.nesting import Nested


class Lines(list):
    """A list that may have attributes."""


class Doubled(list):
    def __init__(self, entries):
        super().__init__([entry * 2 for entry in entries])

    def __iter__(self):
        return (entry + 1 for entry in super().__iter__())

    def extend(self, entries):
        raise AssertionError("it is not made anew")


class Table(dict):
    def __init__(self, first, second):
        super().__init__(a=first, b=second)
        self.scale = 5.0

    def __setitem__(self, key, entry):
        raise AssertionError("it is not made anew")

    def __getitem__(self, key):
        return -super().__getitem__(key)


class Latest(OrderedDict):
    pass


class Grouped(defaultdict):
    pass


class Open(dict):
    """Its entries are its attributes."""

    def __init__(self, **entries):
        super().__init__(entries)
        self.__dict__ = self


class Point(NamedTuple):
    x: object
    y: object


class Moved(Point):
    def __new__(cls, x, y):
        return super().__new__(cls, x + 1, y + 1)


class Slotted(list):
    __slots__ = ("__hidden", "shown")

    def fill(self, hidden, shown):
        self.__hidden, self.shown = hidden, shown
        return self

    def read(self):
        return self.__hidden, self.shown


class Pair(tuple, enum.Enum):
    ONE = (1, 2)


def with_scale(value, scale=5.0):
    value.scale = scale
    return value


def latest():
    made = Latest(a=1.0, b=2.0)
    made.move_to_end("a")
    return with_scale(made)


MADE = {
    "list": (lambda: with_scale(Lines([1.0, 2.0])), vars), "computing list": (lambda: Doubled([1.0]), list.copy),
    "dict": (lambda: Table(1.0, 2.0), vars), "OrderedDict": (latest, vars), "Counter": (lambda: Counter("aab"), dict),
    "defaultdict": (lambda: with_scale(Grouped(list, {"a": 1.0})), vars), "open": (lambda: Open(a=1.0), vars),
    "named": (lambda: Moved(1.0, 2.0), vars), "named with more": (lambda: with_scale(Moved(1.0, 2.0)), vars),
    "slots": (lambda: Slotted([1.0]).fill(2.0, 3.0), Slotted.read),
    "time": (lambda: time.gmtime(0), tuple), "mapping": (lambda: UserDict({"a": 1.0}), dict)}


@pytest.mark.parametrize("name", MADE)
def test_a_container_comes_back_as_it_was(name):
    """A265: nothing is computed anew, and nothing beside the entries is lost."""
    make, seen = MADE[name]
    value = make()
    leaves, pattern = flatten(value)
    again = unflatten(pattern, leaves)
    assert again is not value and type(again) is type(value) and seen(again) == seen(value)
    assert again == value and repr(again) == repr(value)
    assert getattr(again, "default_factory", None) is getattr(value, "default_factory", None)
    assert flatten(again) == (leaves, pattern) and hash(pattern) == hash(flatten(again)[1])


def test_a_function_sees_what_a_container_has_beside_its_entries(transformer):
    """A265: numbers and arrays among it come with each call."""
    traced = []

    @nv.jit(transformer=transformer)
    def scaled(lines):
        traced.append(1)
        return with_scale(Lines([lines[0] * lines.scale]), lines.scale * 2)

    for scale in (5, 7):
        found = scaled(with_scale(Lines([np.arange(3)]), scale))
        assert type(found) is Lines and found[0].tolist() == [0, scale, 2 * scale] and found.scale == 2 * scale
    assert len(traced) == 1
    assert scaled(with_scale(Lines([np.arange(3)]), np.arange(3)))[0].tolist() == [0, 1, 4] and len(traced) == 2
    with pytest.raises(AttributeError, match="scale"):
        scaled(Lines([np.arange(3)]))


def test_the_attributes_of_an_open_dict_are_its_entries():
    """A265: one and the same in the function, in its result, and in a gradient."""
    def loss(parameters):
        parameters.b = parameters["a"] * 2
        return nv.sum(parameters.a * parameters["b"])

    gradient = nv.grad(loss)(Open(a=np.float32([1, 2])))
    assert gradient.a is gradient["a"] and gradient.a.tolist() == [4, 8]


def test_a_member_of_an_enumeration_is_a_leaf():
    """A265: it is one of a kind, whatever it is made of."""
    assert flatten([Pair.ONE])[0] == [Pair.ONE]
    found = nv.jit(lambda x, pair: (x * pair[1], pair))(np.float32([1]), Pair.ONE)
    assert found[0].tolist() == [2] and found[1] is Pair.ONE


@dataclasses.dataclass
class Layer:
    weights: object


def test_the_paths_of_attributes():
    """As Python writes them."""
    value = {"a": with_scale(Lines([1.0])), "b": Layer([2.0])}
    assert Nested.of(value).paths == ["['a'][0]", "['a'].scale", "['b'].weights[0]"]
    assert operator.attrgetter("scale")(Nested.of(value).again([1, 2, 3])["a"]) == 2
    with pytest.raises(nv.NervureError) as caught:
        nv.scan(lambda carry, row: (Layer(carry.weights > 0), row), Layer(nv.ones(())), nv.ones((2,)))
    assert "carry.weights" in str(caught.value)


@pytest.mark.parametrize(("first", "value", "leaves"), [
    ({"a": 0, "b": [0, {"c": 0, "d": 0}]}, {"b": [1, {"d": 2, "c": 3}], "a": 4}, [4, 1, 3, 2]),
    (Table(0, 0), Table(1, 2), None), ([0, 0], [1, 2], [1, 2]), (0, 5, [5]),
])
def test_entries_come_in_the_order_of_another_pattern(first, value, leaves):
    """A362"""
    pattern = flatten(first)[1]
    found = flatten_as(pattern, value)
    assert found == (flatten(value)[0] if leaves is None else leaves, pattern)
    assert unflatten(pattern, found[0]) == value


@pytest.mark.parametrize("value", [{"a": 1}, {"a": 1, "c": 2}, {"a": 1, "b": 2, "c": 3}, {"b": [1], "a": 2}, [1, 2], 1,
                                   OrderedDict(a=1, b=2), defaultdict(int, a=1, b=2)])
def test_patterns_of_other_keys_or_kinds_differ(value):
    """A362"""
    pattern = flatten({"a": 0, "b": 0})[1]
    assert flatten_as(pattern, value) == flatten(value) and flatten_as(pattern, value)[1] != pattern
