"""Taps of filters that are moved, and windows that are drawn."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import nervure as nv

RNG = np.random.default_rng(8)
IMAGES, FILTERS = RNG.standard_normal((2, 4, 5, 6)), RNG.standard_normal((6, 2, 3, 2))
OFFSETS = np.round(RNG.uniform(-2, 2, (2, 24, 3, 4))) + RNG.uniform(0.2, 0.8, (2, 24, 3, 4))
MASK = RNG.uniform(size=(2, 12, 3, 4))


def element(plane, y, x):
    """The element at a place, linear between elements, with zeros around the plane."""
    top, left = int(np.floor(y)), int(np.floor(x))
    return sum([(1 - abs(y - row)) * (1 - abs(x - column)) * plane[row, column]
                for row, column in itertools.product((top, top + 1), (left, left + 1))
                if 0 <= row < plane.shape[0] and 0 <= column < plane.shape[1]])


def test_each_tap_looks_at_its_place(transformer):
    """T443: two parts of the channels, two groups, stride 2 and padding 1, by the definition."""
    found = np.zeros((2, 6, 3, 4))
    for n, k, i, j, c, a, b in itertools.product(*map(range, (2, 6, 3, 4, 2, 3, 2))):
        channel, tap = k // 3 * 2 + c, 2 * a + b
        at = channel // 2 * 12 + 2 * tap
        y, x = 2 * i - 1 + a + OFFSETS[n, at, i, j], 2 * j - 1 + b + OFFSETS[n, at + 1, i, j]
        found[n, k, i, j] += (FILTERS[k, c, a, b] * MASK[n, channel // 2 * 6 + tap, i, j]
                              * element(IMAGES[n, channel], y, x))
    x, offsets = nv.placeholder((nv.dim("n"), 4, 5, 6), nv.float64), nv.placeholder((nv.dim("n"), 24, 3, 4), nv.float64)
    mask = nv.placeholder((nv.dim("n"), 12, 3, 4), nv.float64)
    result = nv.deformable_convolution(x, FILTERS, offsets, mask, 2, padding=1, groups=2)
    compute = transformer.computation(result, x, offsets, mask)
    np.testing.assert_allclose(compute(IMAGES, OFFSETS, MASK), found, rtol=1e-9, atol=1e-12)


def test_derivatives_of_all():
    """T443: to second order, of images, filters, offsets and masks."""
    nv.testing.check_grads(
        lambda *given: nv.deformable_convolution(*given, 2, padding=1, groups=2), [IMAGES, FILTERS, OFFSETS, MASK])


@pytest.mark.parametrize(("shape", "window", "offsets"), [((2, 3, 6), (2,), (2, 2, 5)),
                                                          ((1, 2, 4, 3, 5), (2, 2, 2), (1, 24, 3, 2, 4))])
def test_offsets_of_zero_are_a_convolution(shape, window, offsets):
    """T443: over one place and three."""
    x, f = RNG.standard_normal(shape), RNG.standard_normal((4, shape[1], *window))
    found = nv.deformable_convolution(x, f, np.zeros(offsets)).numpy()
    np.testing.assert_allclose(found, nv.convolution(x, f).numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("call", [
    lambda: nv.deformable_convolution(IMAGES, FILTERS, OFFSETS, groups=2),
    lambda: nv.deformable_convolution(IMAGES, FILTERS, OFFSETS, None, 2, padding=1),
    lambda: nv.deformable_convolution(IMAGES, FILTERS, OFFSETS[:, :23], None, 2, padding=1, groups=2),
    lambda: nv.deformable_convolution(IMAGES, FILTERS, OFFSETS, MASK[:, :6], 2, padding=1, groups=2),
    lambda: nv.deformable_convolution(IMAGES[0], FILTERS, OFFSETS)], ids=range(5))
def test_what_does_not_fit(call):
    """T443."""
    with pytest.raises(nv.ShapeMismatch) as caught:
        call()
    assert caught.value.help and caught.value.expected


# -- windows that are drawn, positions --------------------------------------------------------------------------


def test_windows_are_drawn_anew(transformer):
    """T444: for each row; each result is an element of x at its position, and the last window ends with x."""
    x = nv.placeholder((nv.dim("n"), 1, 40))
    compute = transformer.computation(nv.fractional_max_pooling(x, 2, 25, return_index=True), x)
    given = np.tile(np.arange(40, dtype=np.float32), (30, 1, 1))
    values, index = compute(given)
    np.testing.assert_array_equal(values, index)
    assert (values[..., -1] == 39).all() and len(np.unique(values[:, 0], axis=0)) > 5
    assert (np.diff(values) >= 1).all() and (np.diff(values) <= 2).all()
    assert compute(given[:0])[0].shape == (0, 1, 25)


@pytest.mark.parametrize(("window", "count"), [(3, 1), (3, 4), (1, 4), (2, nv.dim("m", min=1))])
def test_drawn_windows_need_room(window, count, transformer):
    """T444: a call says so where the length is a symbol."""
    n = nv.dim("n", min=1)
    x, other = nv.placeholder((1, 1, n)), nv.placeholder((count,))
    pooled = nv.fractional_max_pooling(x, window, count, samples=np.full((1, 1, 1), 0.5))
    compute, number = transformer.computation(pooled + other * 0, x, other), count if isinstance(count, int) else 3
    room, given = number + window - 1, np.zeros(number, np.float32)
    fixed = nv.fractional_max_pooling(np.arange(room, dtype=np.float32)[None, None], window, number,
                                      samples=np.full((1, 1, 1), 0.5))
    assert compute(np.arange(room, dtype=np.float32)[None, None], given).tolist() == fixed.tolist()
    for length in range(1, room):
        with pytest.raises(nv.ShapeMismatch, match="fractional_max_pooling"):
            compute(np.zeros((1, 1, length), np.float32), given)


def test_positions_of_symbolic_lengths(transformer):
    """T444: of padding, of names, and of any lengths; behind the window of nothing but padding is no position."""
    x = nv.placeholder("N=n, H=h, W=w", nv.float64)
    values, index = nv.pooling(x, "max", {"H": 3, "W": 2}, 2, padding="same", return_index=True)
    back = nv.max_unpool(values, index, {"H": x.axes[1].length, "W": x.axes[2].length})
    compute = transformer.computation([values, index, back], x)
    for height, width in ((5, 6), (1, 3)):
        given = RNG.standard_normal((2, height, width))
        found, positions, unpooled = compute(given)
        np.testing.assert_array_equal(np.take_along_axis(given.reshape(2, -1), positions.reshape(2, -1), 1),
                                      found.reshape(2, -1))
        np.testing.assert_array_equal(unpooled[unpooled != 0], given[unpooled != 0])
        assert {*unpooled[unpooled != 0]} == {*found.ravel()}


@pytest.mark.parametrize(("kind", "call"), [
    (nv.InvalidArgument, lambda: nv.pooling(IMAGES, "avg", 2, return_index=True)),
    (nv.ShapeMismatch, lambda: nv.max_unpool(IMAGES, np.zeros((2, 4, 5, 5), np.int64), [9, 9])),
    (nv.InvalidArgument, lambda: nv.fractional_max_pooling(IMAGES, 2)),
    (nv.InvalidArgument, lambda: nv.fractional_max_pooling(IMAGES, 2, [5, 5])),
    (nv.InvalidArgument, lambda: nv.fractional_max_pooling(IMAGES, 2, ratio=1.5)),
    (nv.ShapeMismatch, lambda: nv.fractional_max_pooling(IMAGES, 2, [3, 3], samples=np.zeros((2, 4, 1)))),
    (nv.InvalidArgument, lambda: nv.nn.FractionalMaxPool(2)),
    (nv.InvalidArgument, lambda: nv.nn.MaxUnpool(2, padding="same")(IMAGES, np.zeros(IMAGES.shape, np.int64))),
    (nv.ShapeMismatch, lambda: nv.channel_shuffle(IMAGES, 3))], ids=range(9))
def test_mistakes_of_windows(kind, call):
    """T444."""
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.help and caught.value.expected
