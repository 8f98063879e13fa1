"""Convolutions over longer rows: products with the zeros above and below data are left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.ir.function import Function
from nervure.ir.leaves import Constant
from nervure.ops.update import FilledView
from nervure.passes import channels_last
from nervure.types.index_map import IndexMap, indices
from tests.kernel.contraction_rule import contraction
from tests.passes.test_lower_convolutions import drawn, functions
from tests.passes.test_places_first import (
    check_doubles,
    check_values,
    check_what_follows,
    compiled,
    leaves_out,
    points_of,
)

CASES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 64, 9, 7), (48, 64, 3, 3), {"paddings": [(1, 1), (1, 1)]}),       # a block ends inside of a row of the window
    ((3, 256, 5, 6), (64, 256, 3, 3), {"paddings": [(1, 1), (1, 1)]}),
    ((1, 24, 12, 11), (64, 24, 5, 5), {"paddings": [(2, 2), (2, 2)]}),     # two lines see less, each of its own
    ((5, 32, 8, 6), (80, 32, 3, 2), {"paddings": [(1, 0), (0, 1)]}),       # above alone
    ((2, 40, 10, 9), (96, 20, 3, 3), {"paddings": [(0, 2), (1, 1)], "dilations": (2, 1), "groups": 2}),
    ((1, 128, 3, 8), (48, 128, 2, 1), {"paddings": [(3, 0), (0, 0)]}),     # two lines see nothing
    ((2, 16, 5, 3, 4), (48, 16, 3, 2, 2), {"paddings": [(1, 1), (1, 0), (0, 1)]}),
    ((33, 64, 14, 14), (64, 64, 3, 3), {"paddings": [(1, 1), (1, 1)]}),    # images in several tasks
    ((1, 48, 50, 40), (64, 48, 3, 3), {"paddings": [(1, 1), (1, 1)]}),     # an image in several tasks
]
"""Data, filters, attributes."""


def expected(x: np.ndarray, f: np.ndarray, attributes: dict[str, Any]) -> np.ndarray:
    """The convolution by the rule of contractions, with all zeros around data."""
    groups, rank = attributes.get("groups", 1), f.ndim - 2
    filters = f.reshape(groups, -1, *f.shape[1:]).transpose(0, *range(3, 3 + rank), 2, 1)
    columns = [contraction(points, right.reshape(-1, right.shape[-1])) for points, right
               in zip(points_of(x, f.shape[2:], attributes), filters, strict=True)]
    result = ops.Convolution(*[nv.Parameter(nv.float32, array.shape) for array in (x, f)], **attributes).shape
    whole = np.concatenate(columns, 1).reshape(len(x), *result[2:], len(f))
    return np.ascontiguousarray(np.moveaxis(whole, -1, 1))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_bits_are_those_of_all_points(case):
    """O67: by the rule of contractions, written down once more; of a batch that a call brings; of one thread."""
    x_shape, f_shape, attributes = case
    (function, _), *_ = functions(*case)
    assert leaves_out(function)
    x, f = drawn(x_shape, f_shape)
    got = compiled(function, [x, f])
    assert got.tobytes() == expected(x, f, attributes).tobytes()
    (brought, _), *_ = functions((nv.dim("n", min=1), *x_shape[1:]), f_shape, attributes)
    assert leaves_out(brought) and compiled(brought, [x, f]).tobytes() == got.tobytes()
    with nv.flags.overriding(threads=1):
        assert compiled(function, [x, f]).tobytes() == got.tobytes()


SINGLE_CHANNEL: Any = ((1, 1, 16, 16), (64, 1, 3, 3), {"paddings": [(1, 1), (3, 0)], "dilations": (2, 2)})
"""Points that are two places apart."""


@pytest.mark.parametrize("case", [*CASES, SINGLE_CHANNEL], ids=str)
def test_so_are_those_of_data_whose_channels_lie_last(case, monkeypatch):
    """O67: of filters that last from call to call, whose data have their channels side by side."""
    monkeypatch.setattr(channels_last, "CROSSING", 0)
    x_shape, f_shape, attributes = case
    x, f = drawn(x_shape, f_shape)
    for batch in (x_shape[0], nv.dim("n", min=1)):
        parameter = nv.Parameter(nv.float32, (batch, *x_shape[1:]))
        function = Function([ops.Convolution(parameter, Constant(f), **attributes)], [parameter])
        assert leaves_out(function) and channels_last.chosen(function)
        assert compiled(function, [x]).tobytes() == expected(x, f, attributes).tobytes()


@pytest.mark.parametrize("case", [
    ((2, 48, 9, 7), (40, 48, 3, 3), {"paddings": [(1, 1), (1, 1)]}),
    ((1, 64, 12, 11), (24, 64, 5, 5), {"paddings": [(2, 2), (2, 2)]}),
    ((3, 96, 8, 6), (64, 96, 3, 2), {"paddings": [(0, 1), (0, 0)], "dilations": (2, 1)}),  # most lines see less
    ((2, 48, 4, 3, 4), (32, 48, 3, 2, 2), {"paddings": [(1, 1), (1, 0), (0, 1)]}),
], ids=str)
def test_so_are_those_of_the_gradient_for_the_data(case):
    """O67: those of a convolution of what came out with turned filters."""
    x_shape, f_shape, attributes = case
    function, shapes = functions(*case)[1]
    assert leaves_out(function)
    r, f = drawn(*shapes)
    spatial = tuple(range(2, f.ndim))
    reaches = [(length - 1) * dilation for length, dilation
               in zip(f_shape[2:], attributes.get("dilations", (1,) * len(spatial)), strict=True)]
    paddings = [(reach - before, reach - after) for reach, (before, after)
                in zip(reaches, attributes["paddings"], strict=True)]
    turned = np.ascontiguousarray(np.flip(f, spatial).swapaxes(0, 1))
    assert compiled(function, [r, f]).tobytes() == expected(r, turned, {**attributes, "paddings": paddings}).tobytes()


def test_strides_are_phases_of_which_each_leaves_out_its_own():
    """The gradient for the data of a strided convolution; its result reads zeros."""
    (result, _), (function, shapes), _ = functions((2, 48, 14, 14), (64, 48, 3, 3), {
        "paddings": [(1, 1), (1, 1)], "strides": (2, 2)})
    assert leaves_out(function) and not leaves_out(result)
    arrays = drawn(*shapes)
    check_values(function, arrays)


def test_what_follows_is_computed_in_the_kernel():
    check_what_follows((3, 64, 9, 8), (64, 64, 3, 3), (64,), (3, 64, 9, 8))


def test_of_doubles_too():
    check_doubles((2, 40, 7, 9), (64, 40, 3, 3))


def test_what_shows_zeros_otherwise_is_multiplied_with_them():
    """A view that is 0 at the first and the last channel of every place."""
    x, f = parameters = [nv.Parameter(nv.float32, shape) for shape in ((62, 6, 8), (64, 64))]
    c, line, place = indices(3)
    seen = FilledView(x, IndexMap((64, 6, 8), (c - 1, line, place)))
    function = Function([ops.Contract(f, seen, (0, 1), (1, 2, 3), (0, 2, 3))], parameters)
    arrays = drawn(x.shape, f.shape)
    check_values(function, arrays)


@pytest.mark.parametrize(("x", "f", "padding"), [
    ((2, 64, 9, 5), (64, 64, 3, 3), 1),                         # lines of fewer places than a register tile has rows
    ((2, 64, 9, 9), (64, 64, 3, 3), 0),                         # nothing to leave out
    ((2, 64, 80, 9), (64, 64, 3, 3), 1),                        # very little
    ((2, 64, 2, 9), (64, 64, 3, 3), 1),                         # no line sees the whole window
    ((2, 64, nv.dim("h", min=9), 9), (64, 64, 3, 3), 1),
    ((2, 64, 9, 9), (17, 64, 3, 3), 1),                         # filters do not fill registers
])
def test_where_it_is_not_worth_it_zeros_are_read(x, f, padding):
    (function, _), *_ = functions(x, f, {"paddings": [(padding, padding)] * 2})
    assert not leaves_out(function)


def test_an_infinite_filter_is_not_met_in_lines_that_are_left_out():
    """Q12: in zeros above the data, which are left out, but not in those beside them."""
    x, f = np.ones((1, 64, 7, 7), np.float32), np.ones((64, 64, 3, 3), np.float32)
    f[:, :, 0] = np.inf
    (function, _), *_ = functions(x.shape, f.shape, {"paddings": [(1, 1), (1, 1)]})
    found = compiled(function, [x, f])[0, 0]
    assert found[0].tolist() == [256, *[384] * 5, 256]
    assert np.isnan(found[1:, [0, -1]]).all() and np.isposinf(found[1:, 1:-1]).all()
