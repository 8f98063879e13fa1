"""Plain data as JSON and back, by the types of its fields, and no value that is of another type."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum

import pytest

import nervure as nv
from nervure.transformers.cpu.cache.codec import decode, dims_in, encode
from nervure.types.dim import Dim, DimLike
from nervure.types.dtype import DType
from nervure.types.layout import Layout, row_major

N = nv.dim("N")


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Inner:
    lengths: tuple[DimLike, ...]
    pair: tuple[int, bool]


@dataclass(frozen=True)
class Outer:
    inner: tuple[Inner, ...]
    key: bytes
    dtype: DType
    colour: Colour
    seconds: float
    layout: Layout | None = None
    number: int | None = None


WHOLE = Outer((Inner((N * 2 + 1, 7), (3, True)), Inner((), (-1, False))), b"\x00\xff", nv.bfloat16, Colour.BLUE, 0.5,
              row_major((N, 3), sizes=(N, 4)), 0)


def test_there_and_back():
    for value in (WHOLE, Outer((), b"", nv.float32, Colour.RED, 0.0)):
        assert decode(Outer, json.loads(json.dumps(encode(value)))) == value
    assert set(map(str, dims_in(WHOLE))) == {"2*N + 1", "N"}


def places(data, path=()):
    """The paths to all leaves of a JSON value."""
    if isinstance(data, list) and data:
        return [found for number, entry in enumerate(data) for found in places(entry, (*path, number))]
    return [path]


def with_leaf(data, path, leaf):
    if not path:
        return leaf
    return [with_leaf(entry, path[1:], leaf) if number == path[0] else entry for number, entry in enumerate(data)]


@pytest.mark.parametrize("leaf", [[], {}, "??", 1.5, True, [1, 2, 3], "9**9", -(10 ** 30)], ids=str)
def test_a_value_of_another_kind_is_refused(leaf):
    """Each leaf in turn is replaced; what is taken has the types of its fields."""
    data = encode(WHOLE)
    refused = 0
    for path in places(data):
        try:
            value = decode(Outer, with_leaf(data, path, leaf))
        except ValueError:
            refused += 1
            continue
        assert type(value.seconds) is float and type(value.colour) is Colour and isinstance(value.dtype, DType)
        assert all([type(flag) is bool and type(number) is int for number, flag in [each.pair for each in value.inner]])
        assert all([isinstance(length, int | Dim) for each in value.inner for length in each.lengths])
    assert refused >= len(places(data)) - 8


@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: [*data, 1], lambda data: None,
                                    lambda data: [None, *data[1:]]])
def test_missing_and_further_fields_are_refused(change):
    with pytest.raises(ValueError):
        decode(Outer, change(encode(WHOLE)))
