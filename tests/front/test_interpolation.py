"""Elements between places; their numbers beside PyTorch's are in ``tests/nn/torch_image_cases.py``."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv

RNG = np.random.default_rng(7)
IMAGES, GRID = RNG.standard_normal((2, 3, 4, 5)), RNG.uniform(-0.9, 0.9, (2, 3, 2, 2))


def test_lengths_may_be_symbols(transformer):
    """T440: one program for images and grids of all sizes, with its derivatives."""
    shape = (nv.dim("n", min=1), 3, nv.dim("h", min=1), nv.dim("w", min=1))
    x, grid = nv.placeholder(shape, nv.float64), nv.placeholder((shape[0], nv.dim("o"), 2, 2), nv.float64)
    found = nv.grid_sample(x, grid, padding="reflection")
    compute = transformer.computation([found, *nv.deriv(nv.sum(found * found, out_axes=()), [x, grid])], x, grid)
    for places in ((4, 5), (1, 2)):
        images = IMAGES[:, :, :places[0], :places[1]]
        expected = nv.grid_sample(images, GRID, padding="reflection").numpy()
        np.testing.assert_allclose(compute(images, GRID)[0], expected, rtol=1e-12)
        by_numbers = nv.grad(lambda pair: nv.sum(nv.square(nv.grid_sample(*pair, padding="reflection"))))(
            (images, GRID))
        for one, other in zip(compute(images, GRID)[1:], by_numbers, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_derivatives_are_those_of_differences(mode):
    """T440: to second order, of images and of grids."""
    nv.testing.check_grads(lambda x, grid: nv.grid_sample(x, grid, mode), [IMAGES[:1, :1], GRID[:1, :1]])


def test_a_line_is_itself_between_elements():
    """T440: of one place."""
    grid = np.random.default_rng(1).uniform(-1, 1, (1, 6, 1))
    found = nv.grid_sample(np.arange(8.0).reshape(1, 1, 8), grid, align_corners=True).numpy()
    np.testing.assert_allclose(found[0, 0], (grid[0, :, 0] + 1) * 3.5, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_places_do_not_meet(mode):
    """T440: one place, or three, give what two give where x is the same along the others."""
    line, grid = RNG.standard_normal((1, 1, 1, 8)), np.random.default_rng(1).uniform(-0.4, 0.4, (1, 6, 3))
    plane, room = np.tile(line, (1, 1, 8, 1)), np.tile(line[:, :, None], (1, 1, 8, 8, 1))
    expected = nv.grid_sample(plane, grid[..., :2], mode).numpy()
    np.testing.assert_allclose(nv.grid_sample(line[:, :, 0], grid[..., :1], mode).numpy(), expected, rtol=1e-9)
    np.testing.assert_allclose(nv.grid_sample(room, grid, mode).numpy(), expected, rtol=1e-9)


def test_the_nearest_element_keeps_its_type():
    """T440: and small floats compute in float32."""
    numbers = nv.constant(np.arange(6, dtype=np.int32).reshape(1, 1, 2, 3))
    assert nv.grid_sample(numbers, np.zeros((1, 1, 1, 2)), "nearest").dtype is nv.int32
    found = nv.grid_sample(nv.constant([[[1.0, 2.0]]], dtype=nv.bfloat16), [[[0.0]]])
    assert found.dtype is nv.bfloat16 and found.tolist() == [[[1.5]]]


def test_what_lies_outside_does_not_count():
    """T440: an infinity at the edge is not multiplied by a weight of 0, and no coordinate is out of range."""
    x, grid = np.array([[[np.inf, 1.0]]]), np.array([[[1.0], [-9.0], [1e30], [np.inf], [np.nan]]])
    with np.errstate(invalid="ignore"):
        assert nv.grid_sample(x, grid, align_corners=True).tolist() == [[[1.0, 0.0, 0.0, 0.0, 0.0]]]
        border = nv.grid_sample(np.array([[[3.0, 1.0]]]), grid, padding="border", align_corners=True)
    assert border.tolist()[0][0][:4] == [1.0, 3.0, 1.0, 1.0]


def test_a_grid_without_a_batch_serves_all_images():
    """T440: axes that only one of both has are the result's."""
    x = nv.constant(IMAGES, "N=2, C=3, H=4, W=5")
    found = nv.grid_sample(x, nv.constant(GRID[0], "P=3, Q=2, D=2"), places=["H", "W"])
    assert [str(axis) for axis in found.axes] == ["N: 2", "C: 3", "P: 3", "Q: 2"]
    both = nv.grid_sample(IMAGES, np.stack([GRID[0]] * 2))
    np.testing.assert_allclose(found.numpy(), both.numpy(), rtol=1e-12)


def test_no_product_with_weights_is_built():
    """T440: each element around a place is one gather."""
    x, grid = nv.placeholder((2, 3, 40, 50)), nv.placeholder((2, 6, 6, 2))
    names = [type(op).__name__ for op in nv.computation(nv.grid_sample(x, grid), x, grid).function.operations]
    assert names.count("GatherElements") == 4 and not {"Dot", "Einsum", "MatMul", "OneHot"} & {*names}


def test_affine_grids_of_symbols(interpreter):
    """T440: and an axis of one element is at 0."""
    theta = nv.placeholder((nv.dim("n"), 2, 3), nv.float64)
    height = nv.placeholder((nv.dim("h", min=1),))
    for corners in (False, True):
        compute = interpreter.computation(
            nv.affine_grid(theta, [height.shape[0], 1], corners), theta, height)
        for length in (1, 4):
            given = RNG.standard_normal((2, 2, 3))
            np.testing.assert_allclose(compute(given, np.zeros(length, np.float32)),
                                       nv.affine_grid(given, [length, 1], corners).numpy(), rtol=1e-12)


@pytest.mark.parametrize(("kind", "call"), [
    (nv.InvalidArgument, lambda: nv.grid_sample(IMAGES, GRID, "bilinear")),
    (nv.InvalidArgument, lambda: nv.grid_sample(IMAGES, GRID, padding="wrap")),
    (nv.ShapeMismatch, lambda: nv.grid_sample(IMAGES, GRID[..., :1])),
    (nv.ShapeMismatch, lambda: nv.grid_sample(IMAGES[:1], GRID)),
    (nv.AxisMismatch, lambda: nv.grid_sample(nv.constant(IMAGES, "N=2, C=3, H=4, W=5"), GRID)),
    (nv.InvalidArgument, lambda: nv.grid_sample(nv.constant(IMAGES, "N=2, C=3, H=4, W=5"),
                                                nv.constant(GRID, "N=2, P=3, Q=2, D=2"))),
    (nv.ShapeMismatch, lambda: nv.affine_grid(np.zeros((2, 2, 2)), [3, 4])),
    (nv.AxisMismatch, lambda: nv.affine_grid(np.zeros((2, 2, 3)), {"H": 3, "W": 4})),
    (nv.InvalidArgument, lambda: nv.affine_grid(np.zeros((2, 2, 3)), [0, 4]))], ids=range(9))
def test_mistakes_are_explained(kind, call):
    """T440."""
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.help and caught.value.expected


