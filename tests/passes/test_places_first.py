"""Convolutions over short rows: products with the zeros around data are left out, and bits are those of all points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.ir.function import Function
from nervure.kernel.ir import walk
from nervure.kernel.plan import make_plan
from nervure.kernel.routines import product_of
from nervure.kernel.schedule.products.notes import described_products
from nervure.ops.convolution import Geometry
from nervure.ops.update import FilledView
from nervure.passes import places_first
from nervure.passes.pipelines import native
from nervure.types.dim import index_symbols
from nervure.types.index_map import IndexMap, indices
from tests.kernel.contraction_rule import contraction
from tests.passes.test_lower_convolutions import drawn, functions

LEFT_OUT = "what lies outside of data is left out"
CASES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((8, 512, 3, 4), (48, 512, 3, 3), {"paddings": [(1, 1), (1, 1)]}),     # a position of the window is a block
    ((16, 256, 3, 2), (64, 256, 3, 3), {"paddings": [(1, 1), (1, 1)]}),    # two are
    ((8, 1024, 3), (64, 1024, 3), {"paddings": [(1, 1)]}),                 # half a one is
    ((8, 256, 5, 4), (80, 256, 3, 3), {"paddings": [(1, 0), (2, 1)], "strides": (2, 1), "dilations": (1, 2)}),
    ((8, 512, 3, 3), (96, 256, 3, 3), {"paddings": [(1, 1), (1, 1)], "groups": 2}),
    ((8, 256, 2, 2, 2), (48, 256, 2, 2, 2), {"paddings": [(1, 0), (1, 0), (0, 1)]}),
    ((8, 256, 2), (48, 256, 5), {"paddings": [(4, 4)]}),                   # some places see nothing at first
]
"""Data, filters, attributes."""


def compiled(function: Function, arrays: list[np.ndarray]) -> np.ndarray:
    with nv.transformers.make_transformer("cpu") as transformer:
        return transformer.compile(function)(arrays)[0]


def check_values(function: Function, arrays: list[np.ndarray], rtol: float = 1e-4, atol: float = 1e-3) -> None:
    """What the cpu gives is near to the definition."""
    expected, = nv.transformers.make_transformer("interpreter").compile(function)(arrays)
    np.testing.assert_allclose(compiled(function, arrays), expected, rtol=rtol, atol=atol)


def leaves_out(function: Function) -> bool:
    notes = [note for step in make_plan(native(function)).steps for note in described_products(step.kernel)]
    return any([LEFT_OUT in note for note in notes])


def check_what_follows(*shapes: tuple[int, ...]) -> None:
    """A bias, relu and a residual are computed in the kernel of a convolution of these, which leaves zeros out."""
    x, f, bias, other = parameters = [nv.Parameter(nv.float32, shape) for shape in shapes]
    slid = ops.Convolution(x, f, paddings=[(1, 1), (1, 1)])
    after = ops.Relu(slid + ops.Broadcast(bias, slid.shape, [0, 2, 3])) + other
    function, arrays = Function([after], parameters), drawn(*shapes)
    assert leaves_out(function) and len(make_plan(native(function)).steps[-1].read) == 4
    check_values(function, arrays)


def check_doubles(x_shape: tuple[int, ...], f_shape: tuple[int, ...]) -> None:
    """A convolution of doubles leaves zeros out, and is near to the definition."""
    x, f = nv.Parameter(nv.float64, x_shape), nv.Parameter(nv.float64, f_shape)
    function = Function([ops.Convolution(x, f, paddings=[(1, 1), (1, 1)])], [x, f])
    arrays = [array.astype(np.float64) for array in drawn(x.shape, f.shape)]
    assert leaves_out(function)
    check_values(function, arrays, 1e-12, 1e-11)


def points_of(x: np.ndarray, window: tuple[int, ...], attributes: dict[str, Any]) -> np.ndarray:
    """(groups, N and places, positions and channels): every element that windows see, zeros around data included."""
    rank, groups = len(window), attributes.get("groups", 1)
    strides, dilations = attributes.get("strides", (1,) * rank), attributes.get("dilations", (1,) * rank)
    padded = np.pad(x, [(0, 0), (0, 0), *attributes["paddings"]])
    spread = tuple([(length - 1) * dilation + 1 for length, dilation in zip(window, dilations, strict=True)])
    seen = np.lib.stride_tricks.sliding_window_view(padded, spread, tuple(range(2, 2 + rank)))
    seen = seen[(slice(None), slice(None), *[slice(None, None, stride) for stride in strides],
                 *[slice(None, None, dilation) for dilation in dilations])]
    n, c, *places = seen.shape[:2 + rank]
    apart = seen.reshape(n, groups, c // groups, *seen.shape[2:])
    order = (1, 0, *range(3, 3 + rank), *range(3 + rank, 3 + 2 * rank), 2)
    return apart.transpose(order).reshape(groups, n * int(np.prod(places)), -1)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_bits_are_those_of_all_points(case):
    """O67: by the rule of contractions, written down once more; of one image; of one thread."""
    x_shape, f_shape, attributes = case
    (function, _), *_ = functions(*case)
    assert leaves_out(function)
    x, f = drawn(x_shape, f_shape)
    got = compiled(function, [x, f])
    groups, rank = attributes.get("groups", 1), len(f_shape) - 2
    filters = f.reshape(groups, -1, *f_shape[1:]).transpose(0, *range(3, 3 + rank), 2, 1)
    columns = [contraction(points, right.reshape(-1, right.shape[-1])) for points, right
               in zip(points_of(x, f_shape[2:], attributes), filters, strict=True)]
    whole = np.concatenate(columns, 1).reshape(x_shape[0], *got.shape[2:], f_shape[0])
    assert got.tobytes() == np.ascontiguousarray(np.moveaxis(whole, -1, 1)).tobytes()
    (one, _), *_ = functions((1, *x_shape[1:]), f_shape, attributes)
    assert not leaves_out(one) and compiled(one, [x[-1:], f]).tobytes() == got[-1:].tobytes()
    with nv.flags.overriding(threads=1):
        assert compiled(function, [x, f]).tobytes() == got.tobytes()


@pytest.mark.parametrize(("x", "f", "stride"), [
    ((8, 48, 4, 3), (256, 48, 3, 3), 1), ((16, 64, 7, 8), (256, 64, 3, 3), 2), ((8, 64, 4), (512, 64, 3), 1)])
def test_so_are_those_of_the_gradient_for_the_data(x, f, stride):
    """O67: of one image, for which nothing is left out, and of the definition."""
    rank = len(x) - 2
    attributes = {"paddings": [(1, 1)] * rank, "strides": (stride,) * rank}
    function, shapes = functions(x, f, attributes)[1]
    assert leaves_out(function)
    r, filters = drawn(*shapes)
    got = compiled(function, [r, filters])
    one, _ = functions((1, *x[1:]), f, attributes)[1]
    assert not leaves_out(one) and compiled(one, [r[:1], filters]).tobytes() == got[:1].tobytes()
    expected, = nv.transformers.make_transformer("interpreter").compile(function)([r, filters])
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-3)


FILTERS: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((40, 48, 4, 4), (20, 48, 3, 3), {"paddings": [(1, 1), (1, 1)]}),       # the second block is not full
    ((70, 50, 8), (16, 50, 3), {"paddings": [(1, 1)]}),
    ((9, 96, 8, 7), (24, 48, 3, 3), {"paddings": [(1, 1), (1, 1)], "strides": (2, 2), "groups": 2}),
    ((3, 48, 2, 4, 4), (16, 48, 2, 3, 3), {"paddings": [(0, 1), (2, 0), (1, 1)]}),
    ((5, 64, 8, 8), (17, 64, 3, 7), {"paddings": [(2, 2), (3, 3)], "dilations": (2, 1)}),
    ((6, 48, 2), (16, 48, 5), {"paddings": [(2, 2)]}),
    ((6, 48, 2), (16, 48, 7), {"paddings": [(3, 3)]}),                      # some positions see nothing
    ((5, 48, 14, 14), (20, 48, 3, 3), {"paddings": [(1, 1), (1, 1)]}),      # blocks begin and end inside of images
    ((1, 48, 28, 23), (18, 48, 3, 3), {"paddings": [(1, 1), (1, 1)]}),      # and of the only one
    ((2, 96, 29, 24), (32, 48, 5, 4),
     {"paddings": [(3, 2), (0, 2)], "strides": (1, 2), "dilations": (2, 1), "groups": 2}),
    ((3, 48, 700), (16, 48, 61), {"paddings": [(30, 30)]}),                 # inside of lines
    ((2, 48, 300), (16, 48, 3), {"paddings": [(260, 0)]}),                  # some blocks see nothing
    ((2, 48, 9, 11, 8), (16, 48, 3, 2, 3), {"paddings": [(1, 1), (0, 1), (2, 1)], "dilations": (1, 2, 1)}),
]


@pytest.mark.parametrize("case", FILTERS, ids=str)
def test_so_are_those_of_the_gradient_for_filters(case):
    """O67: by the rule of contractions; of a batch that a call brings; of one thread."""
    x_shape, f_shape, attributes = case
    function, shapes = functions(*case)[2]
    assert leaves_out(function)
    x, r = drawn(*shapes)
    got = compiled(function, [x, r])
    groups, filters = attributes.get("groups", 1), f_shape[0]
    results = np.moveaxis(r.reshape(len(r), groups, filters // groups, -1), 3, 1).reshape(-1, groups, filters // groups)
    rows = [contraction(points.T.copy(), results[:, group]) for group, points
            in enumerate(points_of(x, f_shape[2:], attributes))]
    whole = np.stack(rows).reshape(groups, *f_shape[2:], f_shape[1], filters // groups)
    expected = np.moveaxis(whole, (-1, -2), (1, 2)).reshape(f_shape)
    assert got.tobytes() == np.ascontiguousarray(expected).tobytes()
    brought = functions((nv.dim("n", min=1), *x_shape[1:]), f_shape, attributes)[2][0]
    assert leaves_out(brought) and compiled(brought, [x, r]).tobytes() == got.tobytes()
    with nv.flags.overriding(threads=1):
        assert compiled(function, [x, r]).tobytes() == got.tobytes()


@pytest.mark.parametrize(("x", "f", "padding"), [
    ((8, 48, 4, 4), (64, 48, 3, 3), 0),       # nothing to leave out
    ((1, 48, 80, 80), (64, 48, 3, 3), 1),     # a little
    ((8, 24, 4, 4), (64, 24, 3, 3), 1),       # a few channels
    ((8, 48, 4, 1), (64, 48, 3, 3), 1),       # no rows of places
    ((8, 48, 4, nv.dim("w", min=4)), (64, 48, 3, 3), 1),
])
def test_where_it_is_not_worth_it_the_gradient_for_filters_reads_zeros(x, f, padding):
    assert not leaves_out(functions(x, f, {"paddings": [(padding, padding)] * 2})[2][0])


def test_of_doubles_too():
    check_doubles((8, 256, 2, 3), (64, 256, 3, 3))


def test_no_kernel_stores_zeros_or_multiplies_them():
    """A place is multiplied by the points that it has: all over all, those of windows without zeros."""
    (function, _), *_ = functions(*CASES[0])
    steps = make_plan(native(function)).steps
    sizes = {buffer.size for step in steps for buffer in step.kernel.buffers if buffer.role != "scratch"}
    assert sizes == {8 * 512 * 12, 48 * 512 * 9, 8 * 48 * 12}
    found = [product for entry in walk(steps[-1].kernel.body) if (product := product_of(entry)) is not None]
    assert found and all([index_symbols(product.points) for product in found])


def test_what_follows_is_computed_in_the_kernel():
    check_what_follows((8, 512, 2, 3), (64, 512, 3, 3), (64,), (8, 64, 2, 3))


def test_an_infinite_filter_is_not_met_in_zeros_that_are_left_out():
    """Q12: of one image zeros around the data are multiplied, and give NaN; of eight they are left out."""
    x, f = np.ones((8, 512, 3), np.float32), np.ones((64, 512, 2), np.float32)
    f[:, :, 0] = np.inf
    found = []
    for images in (1, 8):
        (function, _), *_ = functions((images, 512, 3), f.shape, {"paddings": [(1, 0)]})
        found.append(compiled(function, [x[:images], f])[0, 0])
    np.testing.assert_array_equal(found, [[np.nan, np.inf, np.inf], [512, np.inf, np.inf]])


@pytest.mark.parametrize(("x", "f", "padding"), [
    ((7, 512, 4, 4), (64, 512, 3, 3), 1),     # images do not fill tiles
    ((nv.dim("n", min=1), 512, 4, 4), (64, 512, 3, 3), 1),
    ((8, 128, 4, 4), (64, 128, 3, 3), 1),     # more than two positions of the window are a block
    ((8, 512, 13, 5), (64, 512, 3, 3), 1),    # more places than wait in a cache
    ((8, 512, 4, 4), (64, 512, 3, 3), 0),     # nothing to leave out
    ((8, 512, 4, 4), (17, 512, 3, 3), 1),     # filters do not fill registers
    ((8, 512, 4, 1), (64, 512, 3, 3), 1),     # no rows of places
])
def test_where_it_is_not_worth_it_zeros_are_stored(x, f, padding):
    (function, _), *_ = functions(x, f, {"paddings": [(padding, padding)] * 2})
    assert not leaves_out(function)


@pytest.mark.parametrize("channels", [128, 256])
def test_of_channels_that_are_not_there_zeros_are_multiplied(channels):
    """What lies outside of the data in another way than by place and position of the window."""
    x, f = parameters = [nv.Parameter(nv.float32, shape) for shape in ((3, 8, channels), (channels * 3, 64))]
    image, offset, c, at = indices(4)
    seen = FilledView(x, IndexMap((8, 3, channels, 3), (at + offset - 1, image, c + 9)))
    filters = ops.Reshape(f, (3, channels, 64))
    function = Function([ops.Contract(filters, seen, (2, 3, 1), (0, 2, 3, 4), (0, 1, 4))], parameters)
    arrays = drawn(x.shape, f.shape)
    assert not leaves_out(function)
    check_values(function, arrays)


def test_what_products_cannot_leave_out_they_multiply():
    """Four positions of a window in a block: its points are no range, so zeros are packed."""
    shapes = (8, 128, 3, 3), (64, 128, 3, 3)
    x, f = parameters = [nv.Parameter(nv.float32, shape) for shape in shapes]
    seen = places_first.in_columns(x, Geometry((1, 1), (1, 1), ((1, 1), (1, 1)), 1), (3, 3), (3, 3))
    function = Function([ops.Contract(f, seen, (1, 4, 2, 3), (0, 5, 2, 3, 4, 6, 7), (0, 5, 1, 6, 7))], parameters)
    arrays = drawn(*shapes)
    assert not leaves_out(function)
    whole = ops.Convolution(x, f, paddings=[(1, 1), (1, 1)])
    expected, = nv.transformers.make_transformer("interpreter").compile(Function([whole], parameters))(arrays)
    np.testing.assert_allclose(compiled(function, arrays)[:, 0], expected, rtol=1e-4, atol=1e-3)
