"""Values that are made inside of others: when they are, when they have memory of their own, and that no bit tells."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.ir.function import Function
from nervure.kernel.plan import KernelStep, make_plan
from nervure.passes.pipelines import native
from tests.kernel.loops_transformer import Loops

N = nv.dim("n", min=1)


def data(*shape):
    return nv.Parameter(nv.float32, shape)


def plan_of(results, parameters):
    return make_plan(native(Function(results, parameters)))


def inside(plan):
    """The classes of the values that lie inside of others, with those of the others."""
    return [(type(value.op).__name__, type(place.whole.op).__name__) for value, place in plan.inside.items()]


def kernels(plan):
    return [step.kernel.name for step in plan.steps if isinstance(step, KernelStep)]


def product(rows=6, columns=5, points=4):
    """A product that something follows, and its parameters."""
    x, y = data(rows, points), data(points, columns)
    return ops.Relu(ops.MatMul(x, y)).output, [x, y]


def padded(value):
    return ops.Pad(value, [(1, 2)] * value.rank).output


def random_arrays(parameters):
    rng = np.random.default_rng(3)
    return [rng.standard_normal(each.shape).astype(np.float32) for each in parameters]


def assert_same(results, parameters):
    """What the loops of a function leave is what its definition says."""
    function, arrays = Function(results, parameters), random_arrays(parameters)
    found = Loops().compile(native(function))(arrays)
    expected = nv.transformers.make_transformer("interpreter").compile(function)(arrays)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def test_what_follows_a_product_is_made_where_its_padding_is():
    value, parameters = product()
    plan = plan_of([padded(value)], parameters)
    assert inside(plan) == [("Relu", "Pad")] and kernels(plan) == ["product", *["piece"] * 4]
    assert_same([padded(value)], parameters)


def test_a_reader_finds_it_there():
    value, parameters = product()
    results = [padded(value), ops.Sum(value, [0]).output, ops.Exp(ops.Permute(value, (1, 0))).output]
    assert inside(plan_of(results, parameters)) == [("Relu", "Pad")]
    assert_same(results, parameters)


def test_parts_are_made_side_by_side_and_a_padding_around_them():
    (one, first), (other, second) = product(), product(6, 3)
    joined = ops.Concatenate(one, other, axis=1)
    plan = plan_of([padded(joined)], [*first, *second])
    assert inside(plan) == [("Relu", "Concatenate"), ("Relu", "Concatenate"), ("Concatenate", "Pad")]
    assert kernels(plan) == ["product", "product", *["piece"] * 4]
    assert_same([padded(joined)], [*first, *second])


def test_a_second_padding_copies():
    value, parameters = product()
    results = [padded(value), ops.Pad(value, [(0, 1), (0, 0)]).output]
    assert inside(plan_of(results, parameters)) == [("Relu", "Pad")]
    assert_same(results, parameters)


def roots(value):
    return [value, padded(value)]


def parts_that_follow_from_each_other(value):
    return [ops.Concatenate(value, ops.Exp(ops.Reverse(value, [0])), axis=0)]


def the_same_part_twice(value):
    return [ops.Concatenate(value, value, axis=0)]


def a_part_of_it(value):
    return [ops.Pad(value, [(1, -2), (0, 0)])]


def another_order(value):
    return [padded(ops.Permute(value, (1, 0)).output)]


def a_flat_reader(value):
    return [padded(value), ops.Exp(ops.Reshape(value, (value.shape[0] * value.shape[1],)))]


@pytest.mark.parametrize("build", [
    roots, the_same_part_twice, a_part_of_it, another_order, a_flat_reader, parts_that_follow_from_each_other])
def test_others_have_memory_of_their_own(build):
    value, parameters = product()
    assert plan_of(build(value), parameters).inside == {}
    assert_same(build(value), parameters)


def test_what_python_reads_has_memory_of_its_own():
    value, parameters = product()
    function = Function([padded(value)], parameters, effects=[ops.PrintOp(value)])
    assert make_plan(native(function)).inside == {}


def test_layers_inside_of_others_share_kernels_only_where_they_lie_alike():
    (one, first), (other, second), (third, more) = product(), product(), product()
    results = [padded(one), padded(other), ops.Pad(third, [(0, 3), (2, 1)]).output]
    plan = plan_of(results, [*first, *second, *more])
    products = [step.kernel for step in plan.steps if step.kernel.name == "product"]
    assert products[0].body is products[1].body and products[0].body is not products[2].body
    assert_same(results, [*first, *second, *more])


def images(batch=2):
    """Two convolutions with what stands around them, a residual, pooling and a concatenation, and the parameters."""
    x, first, second, bias = data(batch, 3, 9, 8), data(5, 3, 3, 3), data(5, 5, 3, 3), data(5)
    around = {"paddings": [(1, 1), (1, 1)]}
    each = ops.Broadcast(bias, (batch, 5, 9, 8), [0, 2, 3])
    one = ops.Relu(ops.Convolution(x, first, **around) + each).output
    two = ops.Relu(ops.Convolution(one, second, **around) + each + one).output
    joined = ops.Concatenate(two, one, axis=1)
    pooled = ops.MaxPool(two, axes=(2, 3), windows=(3, 3), strides=(2, 2), paddings=[(1, 1), (1, 1)])
    return [ops.Pad(joined, [(0, 0), (0, 0), (1, 1), (2, 1)]).output, pooled.output], [x, first, second, bias]


@pytest.mark.parametrize("batch", [2, N], ids=str)
def test_no_bit_depends_on_it(batch, cpu, monkeypatch):
    """O67: bits are the same where every value has memory of its own and every line is a product."""
    results, parameters = images(batch)
    function, arrays = Function(results, parameters), random_arrays(images()[1])
    together = cpu.compile(function)(arrays)
    monkeypatch.setattr("nervure.kernel.plan.places_inside", lambda *_: {})
    monkeypatch.setattr("nervure.kernel.schedule.products.matrices.lines_of", lambda *_: None)
    with nv.flags.overriding(cache=False, cache_executables=False), nv.transformers.make_transformer("cpu") as other:
        apart = other.compile(function)(arrays)
    assert [array.tobytes() for array in together] == [array.tobytes() for array in apart]
    expected = nv.transformers.make_transformer("interpreter").compile(function)(arrays)
    for one, other in zip(together, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
