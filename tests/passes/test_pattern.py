"""Patterns: captures, predicates, alternatives, optional ops, numbers, operands in either order with backtracking."""

from __future__ import annotations

import math

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.errors import InvalidArgument, WrongKind
from nervure.ir.kinds import Elementwise, View
from nervure.passes.pattern import Patterns, match, same_number, uniform_number
from tests.passes.agreement import assert_agree, grids
from tests.passes.midpoint import Midpoint

p = Patterns()
x, y, z = p.any("x"), p.any("y"), p.any("z")


@pytest.fixture
def values():
    return [nv.Parameter(nv.float32, (3,)).value for _ in range(3)]


def test_captures(values):
    a, b, c = values
    assert match(p.Subtract(x, p.Multiply(y, z)), a - b * c) == {"x": a, "y": b, "z": c}
    assert match(p.Subtract(x, p.Multiply(y, z)), a - b / c) is None
    assert match(p.Subtract(x, y), (a - b).op.output) is not None


def test_an_op_in_a_pattern_can_be_captured(values):
    a, b, _ = values
    found = match(p.Negative(p.Add(x, y).named("total")), -(a + b))
    assert found["total"].op.operands == (a, b)


def test_a_name_stands_for_one_value(values):
    a, b, _ = values
    assert match(p.Subtract(x, x), a - a) == {"x": a}
    assert match(p.Subtract(x, x), a - b) is None


def test_operands_of_commutative_ops_stand_in_either_order(values):
    a, b, _ = values
    pattern = p.Add(p.Negative(x), y)
    assert match(pattern, -a + b) == match(pattern, b + -a) == {"x": a, "y": b}
    assert match(p.Subtract(p.Negative(x), y), b - -a) is None


def test_a_choice_that_fails_later_is_taken_back(values):
    """Two ops whose operands may be swapped share a name: one of the four orders fits."""
    a, b, c = values
    pattern = p.Add(p.Multiply(x, y), p.Multiply(x, z))
    for left in (a * b, b * a):
        for right in (a * c, c * a):
            found = match(pattern, left + right)
            assert found["x"] is a and {found["y"], found["z"]} == {b, c}
    assert match(pattern, a * b + c * c) is None


def test_the_inner_choice_is_tried_for_each_outer_one(values):
    a, b, c = values
    pattern = p.Add(p.Multiply(x, p.Negative(y)), p.Negative(x))
    assert match(pattern, -a + -b * a) == {"x": a, "y": b}
    assert match(pattern, a * -b + -c) is None


def test_predicates(values):
    a, b, _ = values
    integers = nv.Parameter(nv.int32, (3,)).value
    pattern = p.Add(x.where(lambda value: value.dtype.is_integer), y)
    assert match(pattern, integers + integers) is not None
    assert match(pattern, a + b) is None
    small = p.Multiply(x, p.number("n").where(lambda number: abs(number) < 2))
    assert match(small, a * 1.5)["n"] == 1.5
    assert match(small, a * 2.5) is None
    root = p.Negative(x).where(lambda value: value.shape == (3,)).where(lambda value: value.dtype is nv.float32)
    assert match(root, -a) is not None and match(root, -integers) is None


def test_alternatives(values):
    a, b, _ = values
    pattern = p.Negative(p.Exp(x) | p.Log(x) | p.Add(x, y))
    assert match(pattern, -ops.Exp(a).output) == {"x": a, "y": None}
    assert match(pattern, -ops.Log(a).output)["x"] is a
    assert match(pattern, -(a + b)) == {"x": a, "y": b}
    assert match(pattern, -ops.Sin(a).output) is None
    assert str(pattern) == "Negative(((Exp(x) | Log(x)) | Add(x, y)))"


def test_a_later_alternative_is_taken_if_what_follows_needs_it(values):
    a, b, _ = values
    pattern = p.Subtract(p.Add(x, y) | p.Add(z, x), x)
    found = match(pattern, (a + b) - b)
    assert found["x"] is b


def test_optional_ops(values):
    a, _, _ = values
    pattern = p.Negative(p.optional(p.Convert(x).named("conversion")))
    assert match(pattern, -a) == {"x": a, "conversion": None}
    wide = ops.Convert(a, nv.float64).output
    assert match(pattern, -wide) == {"x": a, "conversion": wide}


def test_numbers_are_seen_through_views():
    full = ops.Full(2.5, nv.float32, (3,))
    wide = ops.Broadcast(full, (4, 3), (0,))
    single = ops.Broadcast(ops.Constant(np.float32([2.5])), (4, 1), (0,))
    for op in (full, wide, ops.Reshape(wide, (12,)), ops.Permute(wide, (1, 0)), single):
        assert uniform_number(op.output) == 2.5
    assert uniform_number(ops.Pad(full, ((1, 1),)).output) is None
    assert uniform_number(ops.Constant(np.float32([2.5, 2.5])).output) is None
    assert uniform_number(ops.Concatenate(full, full, axis=0).output) is None


def test_numbers_tell_zeros_apart(values):
    a, _, _ = values
    assert match(p.Subtract(x, 0), a - 0.0) and not match(p.Subtract(x, 0), a - -0.0)
    assert match(p.Subtract(x, -0.0), a - -0.0) and not match(p.Subtract(x, -0.0), a - 0.0)
    assert not match(p.Subtract(x, math.nan), a - math.nan)
    assert same_number(0j, 0) and not same_number(complex(-0.0, 0.0), 0) and not same_number(complex(-0.0, 0.0), -0.0)
    assert same_number(True, 1) and same_number(2, 2.0)


def test_a_named_number_is_captured_and_compared(values):
    a, b, _ = values
    pattern = p.Add(p.Multiply(x, p.number("n")), p.Multiply(y, p.number("n")))
    assert match(pattern, a * 2.0 + b * 2.0)["n"] == 2.0
    assert match(pattern, a * 2.0 + b * 3.0) is None


def test_attributes_and_abstract_classes(values):
    a, _, _ = values
    assert match(p.Sum(x, axes=(0,)), ops.Sum(a, [0]).output) and not match(p.Sum(x, axes=()), ops.Sum(a, [0]).output)
    assert match(p.of(Elementwise, x), -a) == {"x": a}
    assert match(p.of(View, x), -a) is None


def test_a_class_derived_from_a_concrete_op_is_another_op(values):
    class Halfway(ops.Add):
        """Its derivation may have changed what it means."""

        def evaluate(self, s, *elements):
            return s.multiply(s.add(*elements), s.constant(0.5, elements[0]))

    a, b, _ = values
    assert match(p.Add(x, y), Halfway(a, b).output) is None
    assert match(p.of(Elementwise, x, y), Halfway(a, b).output) == {"x": a, "y": b}
    assert match(p.Halfway(x, y), Halfway(a, b).output) == {"x": a, "y": b}


def test_ops_with_several_outputs_do_not_match(values):
    a, b, _ = values
    op = ops.CustomDerivative(a, b, a, count=2, rule=lambda gradients, operands: [None])
    assert match(p.CustomDerivative(x, y, z), op.outputs[0]) is None


def test_what_is_misspelled_is_named():
    with pytest.raises(InvalidArgument, match="no op Ad\n") as error:
        p.Ad(x, y)
    assert "Add" in error.value.help
    with pytest.raises(InvalidArgument, match="no attribute axis"):
        p.Sum(x, axis=1)
    with pytest.raises(WrongKind, match="patterns and numbers"):
        p.Add(x, "y")


COMMUTATIVE = [name for name in ops.__all__ if getattr(ops, name).commutative]


@pytest.mark.parametrize("name", COMMUTATIVE)
def test_what_is_said_to_commute_does(name):
    """Bit by bit, on all special values of every element type."""
    op_class = getattr(ops, name)
    for dtype in sorted(op_class.admits, key=str):
        arrays = grids([dtype, dtype])
        a, b = [nv.Parameter(dtype, array.shape) for array in arrays]
        assert_agree(nv.Function([op_class(a, b)], [a, b]), nv.Function([op_class(b, a)], [a, b]), arrays, dtype)


def test_the_commutative_ops_are_those_that_were_reviewed():
    assert COMMUTATIVE == ["Add", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Equal", "LogicalAnd", "LogicalOr",
                           "LogicalXor", "Multiply", "NotEqual"]  # of two zeros Maximum may give either, by position


class AheadOfPattern(Midpoint):
    """Nearer to x: who derives from a commutative op may be another."""

    def evaluate(self, s, x, y):
        return s.add(s.multiply(x, s.constant(0.75, x)), s.multiply(y, s.constant(0.25, x)))


def test_a_user_s_commutative_op_is_matched_in_either_order(values):
    a, b, _ = values
    pattern = p.Midpoint(p.Negative(x), y)
    assert match(pattern, Midpoint(b, -a).output) == {"x": a, "y": b}
    assert match(p.AheadOfPattern(p.Negative(x), y), AheadOfPattern(b, -a).output) is None
