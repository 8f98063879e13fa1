"""Regions: what a body takes from around it becomes an operand."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.ir.region import Region
from nervure.ir.structural import equal
from nervure.ir.verify import verify


def parameter(shape=(3,)):
    return nv.Parameter(nv.float32, shape)


def test_everything_that_depends_on_a_parameter_is_inside():
    a, b, x = parameter(), parameter(), parameter()
    outside = nv.ops.Exp(a * b)
    region = Region.of([nv.ops.Tanh(x * outside) + b, x], [x])
    verify(region.body)
    assert region.arity == 1 and region.captured == (outside.output, b.output)
    assert [type(op).__name__ for op in region.body.operations] == [
        "Parameter", "Parameter", "Parameter", "Multiply", "Tanh", "Add"]


def test_constants_are_inside_and_captured_once():
    a, x = parameter(), parameter()
    region = Region.of([x * 2.0 + a, a - x], [x])
    assert region.captured == (a.output,)
    assert sum(type(op) is nv.ops.Full for op in region.body.operations) == 1


def test_a_result_from_outside_is_captured_too():
    a, x = parameter(), parameter()
    region = Region.of([a, nv.ops.Full(1.0, nv.float32, ())], [x])
    assert region.captured == (a.output,) and region.arity == 1
    assert region(parameter())[0] is a.output


def test_putting_operands_in_gives_the_same_graph():
    a, x, y = parameter(), parameter(), parameter()
    body = nv.ops.Sin(x) * a
    direct = nv.Function([nv.ops.Sin(y) * a], [a, y])
    assert equal(nv.Function(Region.of([body], [x])(y), [a, y]), direct)


def test_a_region_runs_as_a_function():
    a, x = parameter(), parameter()
    region = Region.of([x * a + 1.0], [x])
    executable = nv.transformers.make_transformer("interpreter").compile(region.body)
    x_value, a_value = np.float32([1, 2, 3]), np.float32([10, 20, 30])
    np.testing.assert_array_equal(executable([x_value, a_value])[0], x_value * a_value + 1)


def test_captured_values_have_their_parameters_types():
    a, x = parameter(), parameter()
    region = Region.of([x + a], [x])
    with pytest.raises(ValueError, match="another type"):
        Region(region.body, [parameter((4,)).output])


def test_names_and_labels_are_kept():
    a, x = nv.placeholder("H=3").named("a"), parameter()
    region = Region.of([x + a.value], [x])
    captured = region.body.parameters[1]
    assert (captured.name, captured.output.labels) == ("a", ("H",))
