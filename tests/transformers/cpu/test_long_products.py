"""Products of more points than a group of blocks has: they have the bits of the rule, and lose no more than it says."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

import nervure as nv
from nervure import flags
from nervure.kernel import interpret as kernel_interpreter
from nervure.kernel.ir import CONTRACT_BLOCK, CONTRACT_GROUP
from nervure.kernel.parser import parse_kernel
from tests.kernel import contraction_rule
from tests.kernel.contraction_rule import contraction
from tests.kernel.running import run as interpreted
from tests.transformers.cpu.running import run

GROUP = CONTRACT_BLOCK * CONTRACT_GROUP
N = nv.dim("N", min=1)


def drawn(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("points", [GROUP, GROUP + 1, 2 * GROUP + 700])
@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_a_long_product_has_the_bits_of_the_rule(each_cpu, layout, points):
    """O48: known lengths or not, whatever the threads; one is stored at once, another one is computed with."""
    x, y = drawn(5, points), drawn(points, 3)
    expected = contraction(x, y)
    given = np.ascontiguousarray(x.T) if layout == "columns" else x
    for length in (N, points):
        a = nv.placeholder((length, 5) if layout == "columns" else (5, length))
        b = nv.placeholder((length, 3))
        product = nv.matmul(a.T if layout == "columns" else a, b)
        step = each_cpu.computation([product, product * nv.sum(b, axis=0) + 1.0], a, b)
        for threads in (1, 2):
            with flags.overriding(threads=threads):
                stored, more = step(given, y)
            assert np.array_equal(stored, expected), length
            np.testing.assert_allclose(more, expected * y.sum(0) + 1, rtol=1e-3, atol=0.1)


@pytest.mark.parametrize("is_known", [False, True], ids=["symbol", "number"])
def test_filters_of_many_pictures(each_cpu, is_known):
    """O67: the gradient for filters adds up the places of all images, here more than a group has."""
    count, channels, size, filters = 260, 2, 32, 5
    pictures, gradient = drawn(count, channels, size, size), drawn(count, filters, size, size)
    images = {"N": count if is_known else N}
    x = nv.placeholder({**images, "C": channels, "H": size, "W": size})
    g = nv.placeholder({**images, "K": filters, "H": size, "W": size})
    f = nv.variable({"K": filters, "C": channels, "H": 3, "W": 3}, initial_value=0.5)
    result = nv.convolution(x, f, ["H", "W"], padding=1, out_axes=g.axes)
    step = each_cpu.computation(nv.deriv(nv.sum(result * g, out_axes=()), f), x, g)
    padded = np.pad(pictures, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), (2, 3))  # of image, channel, position
    places = windows.transpose(0, 4, 5, 1, 2, 3).reshape(count * size * size, channels * 9)
    expected = contraction(gradient.swapaxes(0, 1).reshape(filters, -1), places)
    assert count * size * size > GROUP and np.array_equal(step(pictures, gradient).reshape(filters, -1), expected)


@lru_cache(maxsize=1)
def bytes_of(points):
    """Two matrices of bytes, and places of their product with what stands there."""
    random = np.random.default_rng(points)
    x, y = [random.integers(-128, 128, shape, np.int8) for shape in ((300, points), (points, 64))]
    rows, columns = random.integers(0, 300, 40), random.integers(0, 64, 40)
    expected = [np.dot(x[row].astype(np.int64), y[:, column].astype(np.int64))
                for row, column in zip(rows, columns, strict=True)]
    return x, y, (rows, columns), expected


@pytest.mark.parametrize("layouts", ["rows rows", "rows columns", "columns rows", "columns columns"])
@pytest.mark.parametrize("points", [GROUP, GROUP + 1, 2 * GROUP + 700])
def test_a_long_product_of_bytes_has_all_points(each_cpu, layouts, points):
    """O48: integers are exact, in whatever order blocks of them are added, and whether their rows are packed or not."""
    x, y, places, expected = bytes_of(points)
    left, right = [layout == "columns" for layout in layouts.split()]
    given = [np.ascontiguousarray(entry) for entry in (x.T if left else x, y if right else y.T)]
    for length in (N, points):
        a = nv.placeholder((length, 300) if left else (300, length), dtype=nv.int8)
        b = nv.placeholder((length, 64) if right else (64, length), dtype=nv.int8)
        product = nv.matmul(nv.convert(a.T if left else a, nv.int32), nv.convert(b if right else b.T, nv.int32))
        found = each_cpu.computation(product, a, b)(*given)
        assert np.array_equal(found[places], expected), length


CHAIN = """
kernel chains(in x: f32[{n}], in y: f32[{n}*3], out z: f32[3]):
  for i < 3{vector}:
    v0 = contract over j < {n}:
      v1 = x[j]
      v2 = y[3*j + i]
      give v1, v2
    z[i] = v0
"""


@pytest.mark.parametrize("points", [GROUP - 1, GROUP, GROUP + 1, GROUP + CONTRACT_BLOCK, 2 * GROUP, 2 * GROUP + 513])
def test_chains_without_register_tiles(points):
    """O48."""
    x, y = drawn(points), drawn(points, 3)
    for vector in ("", " vector"):
        kernel, found = parse_kernel(CHAIN.format(n=points, vector=vector)), np.zeros(3, np.float32)
        run(kernel, {"x": x, "y": y.ravel(), "z": found}, {})
        assert np.array_equal(found, contraction(x[None], y)[0])


def test_the_meaning_of_a_kernel(monkeypatch):
    """O48: with groups of two blocks."""
    monkeypatch.setattr(kernel_interpreter.ir, "CONTRACT_GROUP", 2)
    monkeypatch.setattr(contraction_rule, "GROUP", 2)
    x, y = drawn(2600), drawn(2600, 3)
    found, _ = interpreted(parse_kernel(CHAIN.format(n=2600, vector="")), {}, x=x, y=y.ravel())
    assert np.array_equal(found["z"], contraction(x[None], y)[0])


def test_how_far_a_long_contraction_is_off():
    """O45: equal products, whose roundings all go one way."""
    points = 2**24
    a, b = nv.placeholder((1, N)), nv.placeholder((N, 2))
    x, y = np.full((1, points), 0.7, np.float32), np.full((points, 2), 0.3, np.float32)
    with nv.transformers.make_transformer("cpu") as cpu:
        found = cpu.computation(nv.matmul(a, b), a, b)(x, y)
    exact = points * float(x[0, 0]) * float(y[0, 0])
    assert np.all(abs(found / exact - 1) <= (512 + points / 2**19) * 2.0**-23)
