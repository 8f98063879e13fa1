"""Convolutions with channels last: which they are, and that the more there is to gain, the sooner they are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.ir.function import Function
from nervure.ir.leaves import Constant, Parameter
from nervure.passes import channels_last
from nervure.passes.lower_windows import lower_windows
from nervure.passes.pipelines import native, standard
from tests.arrays import normal


def chosen(function: Function) -> set[nv.Value]:
    """The filters that are chosen where convolutions are lowered."""
    return channels_last.chosen(lower_windows(standard(function)))


def same_padding(x: nv.Value, filters: Constant) -> nv.Value:
    window = filters.value.shape[2]
    return ops.Convolution(x, filters, paddings=[(window // 2, window // 2)] * 2).output


def alone(filters: int, channels: int, window: int, is_summed: bool) -> Function:
    """A convolution whose filters stay, and whose result a sum over all places reads."""
    x = nv.Parameter(nv.float32, (1, channels, 8, 8))
    slid = same_padding(x.value, Constant(normal(filters, channels, window, window)))
    return Function([ops.Sum(slid, [2, 3]) if is_summed else slid], [x])


def test_filters_that_change_or_have_no_register_tiles_have_channels_first():
    x = nv.Parameter(nv.float32, (1, 64, 8, 8))
    for dtype, is_chosen in ((nv.float32, True), (nv.bfloat16, False)):
        f = Constant(normal(64, 64, 7, 7).astype(dtype.numpy))
        slid = same_padding(ops.Convert(x, dtype).output, f)
        assert bool(chosen(Function([ops.Sum(slid, [2, 3])], [x]))) is is_chosen
    variable, place = nv.variable((64, 64, 7, 7), 0.5), nv.placeholder((1, 64, 8, 8))
    total = nv.sum(nv.convolution(place, variable, padding=3))
    assert len(chosen(nv.computation(total, place).function)) == 1
    assert not chosen(nv.computation([total, nv.assign(variable, variable * 0.5)], place).function)


def test_what_is_gained_has_to_make_up_for_what_crosses_memory():
    """The gain grows with the positions of a window and with the channels; a result that is given back costs more."""
    for is_summed in (True, False):
        by_window = [bool(chosen(alone(64, 64, window, is_summed))) for window in (1, 3, 5, 7, 9)]
        by_channels = [bool(chosen(alone(64, channels, 3, is_summed))) for channels in (1, 16, 64, 256, 1024)]
        for found in (by_window, by_channels):
            assert found == sorted(found)
        assert not by_window[0] and by_window[-1]
    for window in (1, 3, 5, 7):
        assert bool(chosen(alone(64, 64, window, False))) <= bool(chosen(alone(64, 64, window, True)))


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_the_gradient_of_data_is_chosen_where_its_convolution_is(stride):
    """What one makes the other reads, elements and sizes alike."""
    found = []
    for window, channels in itertools.product((1, 2, 3, 4, 5, 7, 9), (16, 32, 64, 128)):
        x = nv.Parameter(nv.float32, (1, channels, 9 * stride, 9 * stride))
        f = Constant(normal(channels, channels, window, window))
        slid = ops.Convolution(x, f, strides=(stride, stride))
        r = nv.Parameter(nv.float32, slid.outputs[0].shape)
        back = ops.ConvolutionDataGradient(r, f, strides=(stride, stride), lengths=x.shape[2:])
        found.append([bool(chosen(Function([op.output], [place]))) for op, place in ((slid, x), (back, r))])
    assert {True, False} == {forth for forth, _ in found} and all(forth == back for forth, back in found)


def test_convolutions_that_gain_nothing_have_channels_last_between_those_that_do():
    """To bring something between the others costs, unless a call gives it back."""
    x = nv.Parameter(nv.float32, (1, 16, 8, 8))
    few, many = Constant(normal(32, 16, 1, 1)), Constant(normal(64, 32, 7, 7))
    inner = ops.Relu(same_padding(x.value, few)).output
    total = ops.Sum(same_padding(inner, many), [2, 3])
    assert chosen(Function([total], [x])) == {few.value, many.value}
    assert chosen(Function([total, inner], [x])) == {many.value}
    assert not chosen(Function([ops.Sum(inner, [2, 3])], [x]))


def test_what_is_described_is_the_product_of_each_that_is_chosen():
    for function in (alone(64, 64, 7, True), alone(64, 64, 1, True)):
        described = [channels_last.described(op) for op in native(function).operations]
        assert len([entry for entry in described if entry is not None]) == len(chosen(function))


@pytest.mark.parametrize("length", [1, 2, 4])
def test_data_that_pass_through_several_are_brought_into_the_order_once(length):
    """Between convolutions all lies as they read it."""
    x = nv.Parameter(nv.float32, (1, 64, 8, 8))
    value = x.value
    for _ in range(length):
        value = ops.Relu(same_padding(value, Constant(normal(64, 64, 7, 7)))).output
    function = Function([ops.Sum(value, [2, 3])], [x])
    operations = native(function).operations
    assert [type(op.operands[0].op) for op in operations if isinstance(op, ops.Permute)
            and op.outputs[0].shape in ((1, 64, 8, 8), (1, 8, 8, 64))] == [Parameter]


def test_dilated_windows_see_all_data_of_a_length_that_a_call_brings(interpreter):
    x = nv.Parameter(nv.float32, (1, 64, nv.dim("h", min=9), 13))
    f = Constant(normal(64, 64, 5, 5))
    function = Function([ops.Sum(ops.Convolution(x, f, dilations=(3, 3), paddings=[(3, 3)] * 2), [2, 3])], [x])
    assert chosen(function) == {f.value}
    data = normal(1, 64, 10, 13)
    found, expected = [interpreter.build(each)(data)[0] for each in (native(function), function)]
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
