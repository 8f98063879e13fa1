"""Static values make equal cache keys where they are equal, and no key keeps an array of the caller's."""

from __future__ import annotations

import dataclasses
import functools
import random
import re
from collections import Counter, OrderedDict, defaultdict, deque

import ml_dtypes
import numpy as np
import pytest

import nervure as nv
from nervure.front.cache_keys import cache_key


class Settings:
    """An object like any other: compared by identity."""

    def __init__(self, rate, table=None):
        self.rate, self.table = rate, table

    def scaled(self, x):
        return x * self.rate


class Slotted:
    __slots__ = ("__weakref__", "rate")

    def __init__(self, rate):
        self.rate = rate


class Private:
    __slots__ = ("__rate",)

    def __init__(self, rate):
        self.__rate = rate

    def change(self):
        self.__rate = 5.0

    def scaled(self, x):
        return x * self.__rate


class Lines(list):
    """A list that may have attributes."""


class Names(set):
    """A set that may have attributes."""


class Alike:
    """Compared by its contents, and without a hash."""

    def __init__(self, rate):
        self.rate = rate

    def __eq__(self, other):
        return self.rate == other.rate


def change_list(value):
    value[0] = 5.0


def change_rate(value):
    value.rate = 5.0


def change_rows(value):
    value.table["rows"].append(5.0)


def change_array_inside(value):
    value.table[0] = 5.0


def change_bound(value):
    value.__self__.rate = 5.0


def change_partial(value):
    value.args[0].rate = 5.0


CHANGES = [(np.arange(3.0), change_list), (np.array([None, "a"], object), change_list), ([1.0, 2.0], change_list),
           (deque([1.0]), change_list), (bytearray(b"a"), lambda value: value.append(1)), (Settings(1.0), change_rate),
           (Slotted(1.0), change_rate), (Private(1.0), Private.change), (Lines([1.0]), change_rate),
           (Names([1.0]), change_rate), (Alike(1.0), change_rate), (Settings(1.0, {"rows": []}), change_rows),
           (Settings(1.0, np.ones(2, ml_dtypes.bfloat16)), change_array_inside), ({1.0}, lambda value: value.add(5.0)),
           (Settings(1.0).scaled, change_bound), (functools.partial(max, Settings(1.0)), change_partial),
           (np.ma.masked_array([1.0, 2.0]), lambda value: value.__setitem__(0, np.ma.masked))]


@pytest.mark.parametrize(("value", "change"), CHANGES, ids=range(len(CHANGES)))
def test_a_change_is_seen(value, change):
    """A265: by the key, deep inside as well; nothing else changes it."""
    before = cache_key(value)
    assert cache_key(value) == before and hash(cache_key(value)) == hash(before)
    change(value)
    assert cache_key(value) != before


@pytest.mark.parametrize(("one", "other"), [
    (0.0, -0.0), (1, 1.0), (1, True), (np.float32(0), np.float32(-0.0)), (np.zeros(2), -np.zeros(2)),
    (np.zeros(2, np.float32), np.zeros(2, np.int32)), (np.zeros((2, 1)), np.zeros((1, 2))), ([1], (1,)),
    (np.zeros(2, np.float16), np.zeros(2, ml_dtypes.bfloat16)), (slice(1), slice(2)), ("a", b"a"),
    (0.0 + 0j, complex(0.0, -0.0)), (Settings(1), Settings(1)), (max, min)],
    ids=lambda value: type(value).__name__)
def test_what_differs(one, other):
    """A265: also what compares as equal and is not the same."""
    assert cache_key(one) != cache_key(other)


@pytest.mark.parametrize("make", [
    lambda: float("nan"), lambda: np.arange(6.0)[::2], lambda: {"a": [1, np.ones(2)]}, lambda: slice(0, 3),
    lambda: frozenset([1, "a"]), lambda: Alike(2.0), lambda: re.compile("a"), lambda: nv.float32, lambda: None,
    lambda: nv.axis("H", 2), lambda: np.zeros((0, 3)), lambda: np.array(2.0), lambda: 10**40])
def test_what_is_alike(make):
    """A265: made twice, it is the same."""
    assert cache_key(make()) == cache_key(make()) and hash(cache_key(make())) == hash(cache_key(make()))


def test_values_that_hold_themselves():
    """A265: an object among its own attributes is compared once; endless nesting is refused."""
    value = Settings(1.0)
    value.table = value
    before = cache_key(value)
    change_rate(value)
    assert cache_key(value) != before
    deep = []
    for _ in range(200):
        deep = [deep]
    with pytest.raises(nv.InvalidArgument, match="nested more than"):
        cache_key(Settings(deep))


@pytest.mark.parametrize("value", [
    iter([1]), (number for number in [1]), np.random.default_rng(0), random.Random(0), np.random.RandomState(0)],
    ids=lambda value: type(value).__name__)
def test_what_changes_by_being_used_is_refused(value):
    """A265: each call would see another one."""
    with pytest.raises(nv.WrongKind, match="changes by being used") as caught:
        nv.jit(lambda x, other: x)(np.ones(2, np.float32), value)
    assert caught.value.location.file == __file__


def test_what_cannot_be_compared_is_refused():
    """A265: it says what would do."""
    class Unhashable:
        def __hash__(self):
            raise TypeError("no")

    class Unreadable:
        def __array__(self, dtype=None, copy=None):
            raise ValueError("no")
    for value in (Unhashable(), Settings(Unreadable())):
        with pytest.raises(nv.WrongKind, match="cannot be seen") as caught:
            nv.jit(lambda x, other: x)(np.ones(2, np.float32), value)
        assert "__hash__" in caught.value.help


@pytest.mark.parametrize("name", ["interpreter", "cpu"])
def test_static_values_that_change_are_traced_anew(name):
    """A265: an array, a list, an object; what changes back is found again."""
    traced = []
    with nv.transformers.make_transformer(name) as transformer:
        @nv.jit(static=["table", "rows"], transformer=transformer)
        def scaled(x, table, rows, settings):
            traced.append(1)
            return x * table + rows[0] * settings.rate

        x, table, rows, settings = np.ones(2, np.float32), np.float32([1, 2]), [1.0], Settings(1.0)
        assert scaled(x, table, rows, settings).tolist() == [2.0, 3.0]
        table[0] = 10
        assert scaled(x, table, rows, settings).tolist() == [11.0, 3.0]
        rows[0] = 2.0
        assert scaled(x, table, rows, settings).tolist() == [12.0, 4.0]
        settings.rate = 3.0
        assert scaled(x, table, rows, settings).tolist() == [16.0, 8.0] and len(traced) == 4
        table[0], rows[0], settings.rate = 1, 1.0, 1.0
        assert scaled(x, table, rows, settings).tolist() == [2.0, 3.0] and len(traced) == 4


def test_a_private_slot_that_changes_is_seen(transformer):
    """A265: under the name that Python gives it."""
    scaled = nv.jit(lambda x, settings: settings.scaled(x), transformer=transformer)
    settings, x = Private(2.0), np.float32([1, 2])
    assert scaled(x, settings).tolist() == [2.0, 4.0]
    settings.change()
    assert scaled(x, settings).tolist() == [5.0, 10.0]


@pytest.mark.parametrize(("one", "other"), [(2, 2.0), (1, True), (0.0, -0.0), (2, np.int64(2)), ((1, "a"), (1.0, "a")),
                                            (2, np.float32(2))], ids=repr)
def test_keys_that_are_equal_and_differ(one, other, transformer):
    """A265: what a function computes of the keys of a dict is that of the call's dict."""
    function = nv.jit(lambda entries: [entries, {"b": [repr(key) for key in entries["a"]]}], transformer=transformer)
    for key in (one, other, one):
        found = function({"a": {key: np.arange(2)}})
        assert [(type(own), repr(own)) for own in found[0]["a"]] == [(type(key), repr(key))]
        assert found[1] == {"b": [repr(key)]}
    assert len(function.specialisations) == 2


def test_a_method_sees_its_object_change():
    """A265: the object is the first argument."""
    class Model:
        def __init__(self):
            self.rate = 2.0

        @nv.jit
        def scaled(self, x):
            return x * self.rate

    model, x = Model(), np.ones(1, np.float32)
    assert model.scaled(x) == 2.0
    model.rate = 3.0
    assert model.scaled(x) == 3.0


def test_what_a_function_reads_from_around_it_is_read_when_it_is_traced():
    """A266: but for variables."""
    table, w = np.float32([1, 2]), nv.variable((), 1.0)
    function = nv.jit(lambda x: x * table + w)
    x = np.ones(2, np.float32)
    assert function(x).tolist() == [2.0, 3.0]
    table[:] = 100
    nv.transformers.default().set(w, 5.0)
    assert function(x).tolist() == [6.0, 7.0]


ARRAY = np.float32([1, 2, 3])
MADE = {
    "constant": lambda array: nv.constant(array), "tensor": lambda array: nv.tensor(array),
    "variable": lambda array: nv.variable((3,), array), "callable": lambda array: nv.variable((3,), lambda _: array),
    "operand": lambda array: nv.zeros((3,)) + array, "reflected": lambda array: array * nv.ones((3,)),
    "function": lambda array: nv.exp(array), "where": lambda array: nv.where(array > 1, array, 0.0),
    "index": lambda array: nv.arange(5)[array.astype(np.int64)], "gather": lambda array: nv.gather(array, [2, 0], 0),
    "mask": lambda array: nv.constant([5.0, 6.0, 7.0])[array > 1], "stack": lambda array: nv.stack([array, array]),
    "dot": lambda array: nv.dot(nv.ones((3,)), array), "view": lambda array: nv.constant(array)[::-1],
    "axes": lambda array: nv.constant(array, axes="H=3"), "einsum": lambda array: nv.einsum("i->", array),
    "list": lambda array: nv.constant([array, array]), "at": lambda array: nv.zeros((3,)).at[:].set(array),
    "assign": lambda array: nv.sequential([nv.assign(w := nv.variable((3,)), array), w + 0]),
    "numpy": lambda array: np.where(nv.ones((3,)) > 0, array, 0.0), "softmax": lambda array: nv.softmax(array)}


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
@pytest.mark.parametrize("name", MADE)
def test_what_is_made_from_an_array_keeps_it(name, transformer):
    """A181, A267: half of it is not old and half new, either; the array may change before and between calls."""
    array = ARRAY.copy()
    with nv.transformers.make_transformer(transformer) as made:
        expected = made.computation(MADE[name](ARRAY.copy()))()
        built = MADE[name](array)
        if name == "callable":
            built.variable.initial_value()
        array[:] = 2
        compute = made.computation(built)
        np.testing.assert_array_equal(compute(), expected)
        array[:] = 1
        np.testing.assert_array_equal(compute(), expected)


def test_what_is_set_is_copied():
    """A267: transformer.set, and an argument that a call sets a variable to."""
    w, array = nv.variable((3,)), ARRAY.copy()
    with nv.transformers.make_transformer("cpu") as transformer:
        transformer.set(w, array)
        array[:] = 0
        assert transformer.get(w).tolist() == ARRAY.tolist()
        array[:] = ARRAY
        transformer.computation(w, w)(array)
        array[:] = 0
        assert transformer.get(w).tolist() == ARRAY.tolist()


@dataclasses.dataclass(frozen=True)
class Derived:
    first: object
    second: object = dataclasses.field(init=False, default=1.0)


def test_containers_come_back_as_they_were():
    """A265: also what a dataclass's constructor does not take, and dicts that are made in other ways."""
    value = Derived(np.float32(2))
    object.__setattr__(value, "second", 3.0)
    assert nv.jit(lambda entry: entry.first * entry.second)(value) == 6.0
    again = nv.jit(lambda entry: entry)(value)
    assert again == value and again.second == 3.0
    for kind in (Counter, OrderedDict, dict, lambda entries: defaultdict(list, entries)):
        entries = kind({"a": 2, "b": 3})
        found = nv.jit(lambda entries: entries)(entries)
        assert type(found) is type(entries) and found == entries
        assert getattr(found, "default_factory", None) is getattr(entries, "default_factory", None)
