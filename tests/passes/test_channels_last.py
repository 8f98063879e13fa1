"""Convolutions with channels last: which they are; no bit changes, and nothing crosses memory between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.ir.function import Function
from nervure.ir.leaves import Constant
from nervure.kernel.plan import make_plan
from nervure.passes import channels_last
from nervure.passes.lower_windows import lower_windows
from nervure.passes.pipelines import native, standard
from tests.passes.agreement import classes

CASES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 48, 9, 7), (64, 48, 3, 3), {"paddings": [(1, 1), (1, 1)]}),
    ((3, 60, 9, 8), (50, 60, 3, 2), {"strides": (2, 3), "dilations": (1, 2), "paddings": [(1, 2), (2, 0)]}),
    ((2, 8, 11, 11), (96, 4, 7, 7), {"strides": (2, 2), "paddings": [(3, 3), (3, 3)], "groups": 2}),
    ((1, 520, 6, 5), (7, 520, 1, 1), {"strides": (2, 1)}),
    ((4, 50, 40), (49, 50, 5), {"paddings": [(-1, 2)]}),
    ((1, 24, 5, 4, 6), (48, 24, 2, 1, 3), {"strides": (1, 2, 2), "paddings": [(0, 1), (-1, 0), (1, 1)]}),
]
"""Data, filters, attributes."""


def drawn(*shapes: Any) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [rng.standard_normal(shape, np.float32) for shape in shapes]


def results(function: Function, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    with nv.transformers.make_transformer("cpu") as transformer:
        return transformer.build(function)(list(arrays))


def chosen(function: Function) -> set[nv.Value]:
    """What is chosen where convolutions are lowered."""
    return channels_last.chosen(lower_windows(standard(function)))


def pair(filters: Sequence[Any], shape: tuple[Any, ...] = (2, 64, 12, 12)) -> Function:
    """A pooling, two convolutions with what stands around them, the sum over all places at the end."""
    x, (first, second) = nv.Parameter(nv.float32, shape), filters
    scale = ops.Exp(Constant(drawn((64,))[0]))
    slid = ops.Convolution(ops.Tanh(x), first, paddings=[(1, 1), (1, 1)])
    pooled = ops.MaxPool(slid, axes=(2, 3), windows=(3, 3), strides=(2, 2), paddings=[(1, 1), (1, 1)])
    normed = ops.Relu(pooled * ops.Broadcast(scale, pooled.shape, [0, 2, 3]))
    slid = ops.Convolution(normed, second, paddings=[(1, 1), (1, 1)])
    both = ops.Concatenate(normed, ops.Relu(slid + normed), axis=1)
    parameters = [entry for entry in filters if isinstance(entry, nv.Parameter)]
    return Function([ops.Sum(both, [2, 3])], [x, *parameters])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_bits_do_not_depend_on_where_channels_lie(case, monkeypatch):
    """O67: with channels last, and of filters that a call brings, which have them first."""
    shape, of_filters, attributes = case
    monkeypatch.setattr(channels_last, "LEAST_FILTERS", 1)
    monkeypatch.setattr(channels_last, "CROSSING", 0)
    data, filters = drawn(shape, of_filters)
    x, f = nv.Parameter(nv.float32, shape), nv.Parameter(nv.float32, of_filters)
    last = Function([ops.Convolution(x, Constant(filters), **attributes)], [x])
    first = Function([ops.Convolution(x, f, **attributes)], [x, f])
    assert [len(chosen(function)) for function in (last, first)] == [1, 0]
    got, expected = results(last, [data]), results(first, [data, filters])
    assert got[0].tobytes() == expected[0].tobytes()
    interpreted, = nv.transformers.make_transformer("interpreter").compile(first)([data, filters])
    np.testing.assert_allclose(got[0], interpreted, rtol=1e-4, atol=1e-4)


def test_bits_of_a_chain_are_those_of_channels_first():
    """O67: what stands between two convolutions gives the same, too."""
    arrays = drawn((2, 64, 12, 12), (64, 64, 3, 3), (64, 64, 3, 3))
    kept, brought = pair([Constant(entry) for entry in arrays[1:]]), pair([
        nv.Parameter(nv.float32, entry.shape) for entry in arrays[1:]])
    assert [len(chosen(function)) for function in (kept, brought)] == [2, 0]
    assert results(kept, arrays[:1])[0].tobytes() == results(brought, arrays)[0].tobytes()


def test_nothing_crosses_memory_between_convolutions_with_channels_last():
    filters = [Constant(entry) for entry in drawn((64, 64, 3, 3), (64, 64, 3, 3))]
    made = native(pair(filters))
    moved = [op.operands[0] for op in made.operations if isinstance(op, ops.Permute)]
    assert [type(value.op) for value in moved] == [ops.Tanh, ops.Reshape, ops.Reshape]  # the data, and filters
    assert "Convolution" not in classes(made)


def test_short_rows_of_several_images_are_rows_of_one_product():
    filters = [Constant(entry) for entry in drawn((64, 64, 3, 3), (64, 64, 3, 3))]
    products = [step.kernel for step in make_plan(native(pair(filters))).steps if step.kernel.name == "product"]
    assert [kernel.sliced.extent for kernel in products] == [6, 2]
    assert all(["rows" in [buffer.name for buffer in kernel.buffers] for kernel in products])


@pytest.mark.parametrize("side", [12, nv.dim("side", min=5)], ids=str)
def test_any_number_and_size_of_images_has_the_same_bits(side):
    """O67: lengths that a call brings, one image of several."""
    n, (data, *filters) = nv.dim("n", min=1), drawn((3, 64, 12, 12), (64, 64, 3, 3), (64, 64, 3, 3))
    constants = [Constant(entry) for entry in filters]
    brought = pair(constants, (n, 64, side, side))
    assert len(chosen(brought)) == 2
    with nv.transformers.make_transformer("cpu") as transformer:
        compiled = transformer.build(brought)
        whole, = compiled([data])
        for number in range(3):
            assert compiled([data[number:number + 1]])[0].tobytes() == whole[number:number + 1].tobytes()
        known, = transformer.build(pair(constants, data.shape))([data])
    assert known.tobytes() == whole.tobytes()


def test_filters_that_change_or_are_few_or_short_numbers_have_channels_first():
    x = nv.Parameter(nv.float32, (1, 64, 8, 8))
    for count, dtype, is_chosen in ((64, nv.float32, True), (32, nv.float32, False), (64, nv.bfloat16, False)):
        f = ops.Convert(Constant(drawn((count, 64, 3, 3))[0]), dtype)
        f = Constant(nv.transformers.make_transformer("interpreter").compile(Function([f], []))([])[0])
        slid = ops.Convolution(ops.Convert(x, dtype), f, paddings=[(1, 1), (1, 1)])
        assert bool(chosen(Function([ops.Sum(slid, [2, 3])], [x]))) is is_chosen
    variable, place = nv.variable((64, 64, 3, 3), 0.5), nv.placeholder((1, 64, 8, 8))
    total = nv.sum(nv.convolution(place, variable, padding=1))
    assert len(chosen(nv.computation(total, place).function)) == 1
    assert not chosen(nv.computation([total, nv.assign(variable, variable * 0.5)], place).function)


def test_what_is_gained_has_to_make_up_for_what_crosses_memory():
    """A product of 64 by 64 channels is soon done; behind another one nothing has to be moved for it."""
    x, f = nv.Parameter(nv.float32, (1, 64, 8, 8)), Constant(drawn((64, 64, 1, 1))[0])
    alone = Function([ops.Convolution(x, f)], [x])
    assert not chosen(alone)
    wide = ops.Convolution(x, Constant(drawn((64, 64, 5, 5))[0]), paddings=[(2, 2), (2, 2)])
    behind = Function([ops.Sum(ops.Convolution(ops.Relu(wide), f), [2, 3])], [x])
    assert len(chosen(behind)) == 2


def test_explanations_tell_which_convolutions_have_channels_last():
    filters = drawn((64, 64, 3, 3), (64, 64, 3, 3))
    kept, brought = pair([Constant(entry) for entry in filters]), pair([
        nv.Parameter(nv.float32, entry.shape) for entry in filters])
    for function, count in ((kept, 2), (brought, 0)):
        with nv.transformers.make_transformer("cpu") as transformer:
            notes = [note for step in transformer.build(function).report().steps for note in step.notes]
        assert notes.count("channels last: 64 filters, 36864 multiply-adds a place") == count


@pytest.mark.parametrize(("shape", "of_filters", "attributes"), [
    ((2, 24, 5, 6), (24, 16, 2, 3), {"strides": (2, 3)}),  # windows side by side
    ((3, 32, 4), (32, 16, 2), {"strides": (2,), "groups": 2}),
    ((2, 24, 5, 6), (24, 16, 3, 4), {"strides": (2, 2), "paddings": [(1, 0), (1, 1)]}),
    ((2, 520, 5, 6), (520, 16, 3, 3), {"paddings": [(1, 1), (1, 1)]}),
    ((1, 16, 3, 4, 2), (16, 16, 1, 2, 2), {"strides": (1, 2, 3), "groups": 1}),
], ids=str)
def test_bits_of_transposed_convolutions_do_not_depend_on_where_channels_lie(shape, of_filters, attributes,
                                                                             monkeypatch):
    """O67: with channels last, and of filters that a call brings, which have them first."""
    monkeypatch.setattr(channels_last, "CROSSING", 0)
    data, filters = drawn(shape, of_filters)
    x, f = nv.Parameter(nv.float32, shape), nv.Parameter(nv.float32, of_filters)
    last = Function([ops.ConvolutionTranspose(x, Constant(filters), **attributes)], [x])
    first = Function([ops.ConvolutionTranspose(x, f, **attributes)], [x, f])
    assert [len(chosen(function)) for function in (last, first)] == [1, 0]
    assert results(last, [data])[0].tobytes() == results(first, [data, filters])[0].tobytes()
    interpreted, = nv.transformers.make_transformer("interpreter").compile(first)([data, filters])
    np.testing.assert_allclose(results(last, [data])[0], interpreted, rtol=1e-4, atol=1e-4)


def between(*counts: int) -> Function:
    """Convolutions with so many filters, one behind the other, the first of 64 channels, the last one transposed with
    windows side by side; and a sum over all places.
    """
    x = nv.Parameter(nv.float32, (1, 64, 8, 8))
    y, channels = x, 64
    for count in counts[:-1]:
        filters = Constant(drawn((count, channels, 3, 3))[0])
        y, channels = ops.Relu(ops.Convolution(y, filters, paddings=[(1, 1), (1, 1)])).output, count
    up = ops.ConvolutionTranspose(y, Constant(drawn((channels, counts[-1], 2, 2))[0]), strides=(2, 2))
    return Function([ops.Sum(ops.Relu(up), [2, 3])], [x])


@pytest.mark.parametrize(("counts", "are_chosen"), [((64, 32, 16, 64, 16), 5), ((32, 16), 0), ((64, 12, 64, 16), 2)])
def test_convolutions_of_few_filters_have_channels_last_between_those_of_many(counts, are_chosen):
    """They gain nothing by themselves, but to bring something between the others costs; twelve fill no registers."""
    assert len(chosen(between(*counts))) == are_chosen


def test_nothing_crosses_memory_on_the_way_through_few_filters_and_back_up():
    function = between(64, 32, 16, 64, 16)
    large = [op.operands[0] for op in native(function).operations
             if isinstance(op, ops.Permute) and op.operands[0].shape[0] == 1 and op.operands[0].rank == 4]
    assert [type(value.op) for value in large] == [nv.Parameter]


def test_what_a_call_gives_back_has_channels_first():
    """It would have to be brought there: few filters do not make up for that."""
    x = nv.Parameter(nv.float32, (1, 16, 8, 8))
    few, many = [Constant(each) for each in drawn((32, 16, 3, 3), (64, 32, 3, 3))]
    inner = ops.Relu(ops.Convolution(x, few, paddings=[(1, 1), (1, 1)]))
    total = ops.Sum(ops.Convolution(inner, many, paddings=[(1, 1), (1, 1)]), [2, 3])
    assert chosen(Function([total], [x])) == {few.output, many.output}
    assert chosen(Function([total, inner], [x])) == {many.output}
