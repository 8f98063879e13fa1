"""Convolutions as kernels: nothing is left to Python, no window is copied, and padding is not worth a NaN."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.ir.function import Function
from nervure.ir.leaves import Constant
from nervure.ir.op import Value
from nervure.kernel.ir import For, Load, Store, walk
from nervure.kernel.plan import KernelStep, Plan, make_plan
from nervure.memory.storage import StorageKind
from nervure.ops.convolution import ConvolutionForm
from nervure.passes.lower_convolutions import lower_convolutions
from nervure.passes.lower_depthwise import lower_depthwise
from nervure.passes.pipelines import native
from nervure.types.dim import evaluate
from tests.conformance.samples import samples_of, types_of
from tests.conformance.sampling import concrete, generic
from tests.passes.agreement import assert_agree
from tests.passes.convolution_cases import CASES, DEPTHWISE, WINDOWS
from tests.passes.convolution_rule import Case
from tests.passes.test_convolutions import CPU, N, compiled, each_case, each_form, function, operands, same

CASE = {case.note: case for case in CASES}


@pytest.mark.parametrize("name", ["Convolution", "ConvolutionDataGradient", "ConvolutionFilterGradient",
                                  "ConvolutionTranspose"])
def test_no_convolution_is_left_to_python(name):
    for dtype in types_of(name):
        for sample in samples_of(name, dtype):
            before = concrete(sample, generic(sample), np.random.default_rng(0)).function
            after = native(before)
            assert not any([isinstance(op, ConvolutionForm) for op in after.operations])
            assert [value.type for value in after.results] == [value.type for value in before.results]
            assert all([isinstance(step, KernelStep) for step in make_plan(after).steps])


@each_form
@pytest.mark.parametrize("case", [*WINDOWS[:8], *DEPTHWISE[:9]], ids=str)
def test_the_lowered_function_says_the_same(case, form):
    before = function(case, form)
    assert_agree(before, native(before), [np.round(array * 8) for array in operands(case, form)])


def test_functions_without_convolutions_stay():
    x = nv.Parameter(nv.float32, (5,))
    before = Function([ops.Max(x, [0])], [x])
    assert lower_convolutions(lower_depthwise(before)) is before


# -- memory --------------------------------------------------------------------------------------------------------


def most_elements(case: Case) -> int:
    """Those of the largest of data, filters and result, with all that windows see around them."""
    around = [length + sum(padding) + 2 * window * dilation for length, padding, (window, _, dilation, _)
              in zip(case.x[2:], case.attributes["paddings"], case.windows, strict=True)]
    return max(case.x[0] * max(case.x[1], case.f[0]) * prod(around), prod(case.f))


@each_form
@each_case
def test_windows_are_read_where_the_data_lie(case, form):
    """No value in memory has an element for each element of each window."""
    plan = make_plan(native(function(case, form, N)))
    sizes = [evaluate(prod(value.shape), {"n": case.x[0]}) for value in plan.held]
    assert max(sizes, default=0) <= most_elements(case)


FEWEST = [
    ("large windows of a channel a group", "result", 1),
    ("large windows of a channel a group", "data", 1),
    ("windows of one place", "result", 1),
    ("windows of one place", "data", 1),
    ("windows side by side and many filters", "data", 2),
    ("a position is a block of points", "result", 3),
    ("one image of many lines", "result", 3),
    ("blocks begin and end inside of images", "filters", 2),
]
"""Kernels of a member of the form: its product, and those that bring data or filters into an order or pad them."""


@pytest.mark.parametrize(("note", "form", "count"), FEWEST)
def test_a_convolution_is_a_few_kernels(note, form, count):
    assert len(make_plan(native(function(CASE[note], form))).steps) <= count


# -- what is not finite ----------------------------------------------------------------------------------------------


OPERANDS = {"filters": ("result", 1), "filters, in the gradient for the data": ("data", 1),
            "data, in the gradient for the filters": ("filters", 0),
            "results, in the gradient for the filters": ("filters", 1)}
"""A member of the form, and the operand that has elements which are not finite."""

SKIPPED = {
    "filters": [
        "windows longer than the data", "two lines that see padding alone", "cut data",
        "a large window, strides and a few channels", "dilated lines", "most lines see less",
        "padding before lines alone", "volumes", "strided volumes", "a position is a block of points",
        "two positions are a block of points", "a position is two blocks of points", "blocks of points in groups",
        "volumes of one block a position", "lines apart by strides, a block two positions",
        "a block ends inside of a line of the window", "many images, fewer filters", "volumes and many filters",
        "a multiple of eight images", "seven images", "images of one column", "images of two lines",
        "one image of many lines", "images in several tasks", "two lines of zeros on each side",
        "strides and many filters", "doubles over short lines", "doubles over longer lines"],
    "filters, in the gradient for the data": [
        "windows side by side", "windows side by side and many filters", "windows of one place, every third line",
        "windows longer than the data", "a long window", "dilated places", "most lines see less", "dilated volumes",
        "a position is a block of points", "two positions are a block of points",
        "a position is two blocks of points", "blocks of points in groups", "volumes of one block a position",
        "a block ends inside of a line of the window", "a multiple of eight images", "seven images",
        "images of one column", "images of two lines", "filters that fill no register", "one image of many lines",
        "images in several tasks", "strides and many filters", "many images, the second block is not full",
        "blocks begin and end inside of images", "blocks begin and end inside of the only image",
        "doubles over short lines"],
    "data, in the gradient for the filters": [case.note for case in CASES],
    "results, in the gradient for the filters": [
        "windows longer than the data", "windows much longer than the data", "a long window",
        "more padding than the window has places", "two lines that see padding alone", "cut data", "dilated places",
        "most lines see less", "dilated volumes", "a position is a block of points",
        "two positions are a block of points", "a position is two blocks of points", "blocks of points in groups",
        "volumes of one block a position", "lines apart by strides, a block two positions",
        "a block ends inside of a line of the window", "a multiple of eight images", "seven images",
        "images of one column", "images of two lines", "filters that fill no register", "one image of many lines",
        "images in several tasks", "strides and many channels", "strides and many filters",
        "many images, the second block is not full", "many images of one line",
        "blocks begin and end inside of images", "blocks begin and end inside of the only image",
        "blocks end inside of lines in groups", "doubles over short lines"],
}
"""Cases whose kernels skip all products with zeros that are not elements of data."""


def where_an_element_is_infinite(case: Case, name: str) -> tuple[np.ndarray, np.ndarray]:
    """A member of the form whose operand has infinite elements at its first place, and the same where it is infinite
    if such an element meets one of the other operand, and as if they were 0 elsewhere.
    """
    form, which = OPERANDS[name]
    run, arrays = compiled(case, form), [abs(array) for array in operands(case, form)]
    first = np.zeros(arrays[which].shape, bool)
    first[(slice(None), slice(None), *[0] * case.rank)] = True

    def result(other: np.ndarray, own: np.ndarray) -> np.ndarray:
        return run([own, other] if which == 0 else [other, own])[0]

    other, dtype = arrays[1 - which], case.dtype.numpy
    got = result(other, np.where(first, np.inf, arrays[which]).astype(dtype))
    finite = result(other, np.where(first, 0, arrays[which]).astype(dtype))
    meets = result(np.ones_like(other), first.astype(dtype)) > 0
    return got, np.where(meets, np.inf, finite).astype(dtype)


@pytest.mark.parametrize("name", OPERANDS)
@each_case
def test_an_element_that_is_not_finite_and_meets_padding_alone_gives_nan_or_nothing(case, name):
    """Q12: products with zeros that are not elements of the data may be skipped; nothing else is touched by them."""
    got, expected = where_an_element_is_infinite(case, name)
    is_skipped = ~np.isnan(got) | (case.note in SKIPPED[name])
    np.testing.assert_array_equal(got[is_skipped], expected[is_skipped])
    assert np.isfinite(expected[~is_skipped]).all()


# -- layouts ---------------------------------------------------------------------------------------------------------


def moves(plan: Plan) -> list[KernelStep]:
    """The kernels that copy elements of what others have made, and compute nothing of them."""
    return [step for step in plan.steps if isinstance(step, KernelStep)
            and all([isinstance(entry, For | Load | Store) for entry in walk(step.kernel.body)])
            and any([storage.kind is StorageKind.TEMPORARY for storage in step.read])]


def network(is_constant: bool, *counts: int, shape: tuple[Any, ...] = (3, 64, 8, 8)) -> tuple[
        Function, list[np.ndarray]]:
    """Convolutions of these numbers of filters, one behind the other, the last one transposed with windows side by
    side, a pooling, and a sum over all places; and the arguments that are filters.
    """
    generator, given, arrays = np.random.default_rng(7), [], []

    def filters(*shape: int) -> Value:
        array = generator.standard_normal(shape, np.float32)
        if is_constant:
            return Constant(array).value
        given.append(nv.Parameter(nv.float32, shape))
        arrays.append(array)
        return given[-1].value

    x = nv.Parameter(nv.float32, shape)
    y, channels = x.value, 64
    for count in counts[:-1]:
        slid = ops.Convolution(y, filters(count, channels, 3, 3), paddings=[(1, 1), (1, 1)])
        y, channels = ops.Relu(slid).output, count
    up = ops.ConvolutionTranspose(y, filters(channels, counts[-1], 2, 2), strides=(2, 2))
    pooled = ops.MaxPool(ops.Relu(up), axes=(2, 3), windows=(2, 2), strides=(2, 2))
    joined = ops.Concatenate(pooled, y * 2, axis=1)
    return Function([ops.Sum(joined, [2, 3])], [x, *given]), arrays


NETWORKS = [(64, 64), (64, 32, 16, 64, 16), (32, 16), (64, 12, 64, 16)]


@pytest.mark.parametrize("counts", NETWORKS, ids=str)
def test_nothing_crosses_memory_between_convolutions_that_stay(counts):
    """What one makes lies as the next one reads it, whatever stands between them."""
    function, _ = network(True, *counts)
    assert moves(make_plan(native(function))) == []


@pytest.mark.parametrize("counts", NETWORKS, ids=str)
def test_bits_of_a_chain_are_those_of_filters_that_a_call_brings(counts):
    """O67: and of any number and size of images."""
    data = np.random.default_rng(5).standard_normal((3, 64, 8, 8), np.float32)
    function, filters = network(False, *counts)
    expected, = CPU.compile(function)([data, *filters])
    for length in (8, nv.dim("side", min=2)):
        kept = CPU.compile(network(True, *counts, shape=(N, 64, length, length))[0])
        assert same(kept([data])[0], expected)
        assert same(kept([data[1:2]])[0], expected[1:2])
