"""Kinds of attributes: the normal form of each, and when two values are equal."""

from __future__ import annotations

import numpy as np
import pytest

from nervure.ir import field
from nervure.ir.function import function_attribute
from tests.ir.functions import EveryKind

KINDS = {kind for kind in vars(field).values() if isinstance(kind, field.FieldKind)}


def test_the_examples_of_text_have_every_kind_that_has_text():
    assert KINDS - {field.function_of_host} == {entry.kind for entry in EveryKind.fields.values()}


def test_every_kind_says_what_it_admits():
    kinds = {*KINDS, function_attribute}
    assert all(kind.words and kind.example for kind in kinds) and len({kind.name for kind in kinds}) == len(kinds)


@pytest.mark.parametrize("kind, left, right", [
    (field.real, 0.0, -0.0), (field.number, 1, 1.0), (field.number, True, 1), (field.dimension, 2, field.Dim),
    (field.array, np.float32([0.0]), np.float32([-0.0])), (field.array, np.int8([1]), np.uint8([1])),
    (field.function_of_host, lambda: 0, lambda: 0)])
def test_what_differs_in_bits_or_identity_is_not_the_same(kind, left, right):
    assert kind.same(left, left) and not kind.same(left, right)


@pytest.mark.parametrize("kind, left, right", [
    (field.real, float("nan"), float("nan")), (field.array, np.float32([1.5]), np.float32([1.5])),
    (field.slices, ((0, 2, 1),), ((0, 2, 1),)), (field.string, "ab", "".join(["a", "b"]))])
def test_what_is_equal_bit_for_bit_is_the_same(kind, left, right):
    assert kind.same(left, right) and kind.key(left) == kind.key(right)
