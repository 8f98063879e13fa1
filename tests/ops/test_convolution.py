"""Convolution and its gradients: shapes, errors, values against the definition, derivatives of any order."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import nervure as nv
from nervure.errors import DtypeMismatch, InvalidArgument, ShapeMismatch
from nervure.ir.kinds import Access, multiply_body
from nervure.ops import Convolution, ConvolutionDataGradient, ConvolutionFilterGradient, ConvolutionTranspose
from nervure.types.dim import dim, index
from tests.ops.evaluation import check_derivatives, evaluate, normal, tensor


def reference(x: np.ndarray, f: np.ndarray, strides, dilations, paddings, groups) -> np.ndarray:
    """The definition, an output element at a time."""
    spatial = x.ndim - 2
    padded = np.pad(x, [(0, 0), (0, 0), *[(max(a, 0), max(b, 0)) for a, b in paddings]])
    for d, (a, b) in enumerate(paddings):
        padded = padded.take(range(max(-a, 0), padded.shape[2 + d] - max(-b, 0)), 2 + d)
    places = [(padded.shape[2 + d] - dilations[d] * (f.shape[2 + d] - 1) - 1) // strides[d] + 1 for d in range(spatial)]
    result = np.zeros((x.shape[0], f.shape[0], *places))
    channels, filters = f.shape[1], f.shape[0] // groups
    for n, k, *o in product(*map(range, result.shape)):
        group = k // filters
        starts = [o[d] * strides[d] for d in range(spatial)]
        window = tuple([slice(starts[d], starts[d] + dilations[d] * (f.shape[2 + d] - 1) + 1, dilations[d])
                        for d in range(spatial)])
        result[(n, k, *o)] = (padded[(n, slice(group * channels, (group + 1) * channels), *window)] * f[k]).sum()
    return result


CASES = [
    ((2, 3, 7), (4, 3, 3), (1,), (1,), ((0, 0),), 1),
    ((2, 4, 9), (6, 2, 3), (2,), (2,), ((2, 1),), 2),
    ((1, 3, 5, 6), (2, 3, 3, 2), (1, 1), (1, 1), ((1, 1), (0, 0)), 1),
    ((2, 4, 6, 7), (4, 1, 3, 3), (2, 3), (1, 2), ((1, 0), (2, 2)), 4),
    ((1, 4, 6, 6), (8, 2, 2, 3), (1, 2), (2, 1), ((-1, 0), (0, -2)), 2),
    ((1, 2, 4, 3, 5), (2, 2, 2, 2, 3), (1, 2, 1), (1, 1, 2), ((0, 0), (1, 1), (2, 0)), 1),
]


@pytest.mark.parametrize("x_shape, f_shape, strides, dilations, paddings, groups", CASES)
def test_convolution_is_its_definition(x_shape, f_shape, strides, dilations, paddings, groups) -> None:
    x, f = normal(*x_shape), normal(*f_shape)
    expected = reference(x, f, strides, dilations, paddings, groups)
    attributes = (strides, dilations, paddings, groups)
    assert Convolution(tensor(*x_shape), tensor(*f_shape), *attributes).shape == expected.shape
    np.testing.assert_allclose(evaluate(lambda x, f: Convolution(x, f, *attributes), x, f), expected, atol=1e-12)


@pytest.mark.parametrize("x_shape, f_shape, strides, dilations, paddings, groups", CASES)
def test_the_gradients_are_transposes(x_shape, f_shape, strides, dilations, paddings, groups) -> None:
    attributes = (strides, dilations, paddings, groups)
    x, f = normal(*x_shape), normal(*f_shape)
    result = reference(x, f, *attributes)
    weights = normal(*result.shape)
    data = evaluate(lambda g, f: ConvolutionDataGradient(g, f, *attributes, x_shape[2:]), weights, f)
    filters = evaluate(lambda x, g: ConvolutionFilterGradient(x, g, *attributes, f_shape[2:]), x, weights)
    assert data.shape == x.shape and filters.shape == f.shape
    np.testing.assert_allclose((data * x).sum(), (result * weights).sum(), rtol=1e-10)
    np.testing.assert_allclose((filters * f).sum(), (result * weights).sum(), rtol=1e-10)
    check_derivatives(lambda x, f: Convolution(x, f, *attributes), x, f)


def test_gradients_have_gradients() -> None:
    attributes = ((2,), (1,), ((1, 0),), 2)
    g = normal(1, 4, 3)
    check_derivatives(lambda g, f: ConvolutionDataGradient(g, f, *attributes, (6,)), g, normal(4, 1, 2))
    check_derivatives(lambda x, g: ConvolutionFilterGradient(x, g, *attributes, (2,)), normal(1, 2, 6), g)


def test_shapes_are_symbolic() -> None:
    n, h, w = dim("N"), dim("H", min=8), dim("W", min=8)
    same = Convolution(tensor(n, 3, h, w), tensor(16, 3, 3, 3), paddings=[(1, 1), (1, 1)])
    assert same.shape == (n, 16, h, w)
    halved = Convolution(tensor(n, 3, h, w), tensor(16, 3, 2, 2), strides=(2, 2))
    assert halved.shape == (n, 16, (h - 2) // 2 + 1, (w - 2) // 2 + 1)
    back = halved.vjp(halved.output, *halved.operands)
    assert [value.shape for value in back] == [(n, 3, h, w), (16, 3, 2, 2)]
    padding = dim("P")
    assert Convolution(tensor(1, 1, 9), tensor(1, 1, 3), paddings=[(padding, padding)]).shape == (1, 1, 2 * padding + 7)


def test_the_iteration_is_affine_and_pads_by_reading_zero() -> None:
    op = Convolution(tensor(2, 4, 9), tensor(6, 2, 3), (2,), (3,), ((1, 1),), 2)
    structure = op.structure(*[operand.type for operand in op.operands])
    n, g, k, o, c, w = [index(d) for d in range(6)]
    assert structure.domain == (2, 2, 3, 3, 2, 3) and structure.reduced == (4, 5)
    assert structure.reads == (Access((n, 2 * g + c, 2 * o + 3 * w - 1), fill=0), Access((3 * g + k, c, w)))
    assert structure.writes == (Access((n, 3 * g + k, o)),) and structure.body is multiply_body
    back = ConvolutionDataGradient(tensor(2, 6, 3), tensor(6, 2, 3), (2,), (3,), ((1, 1),), 2, (9,))
    structure = back.structure(*[operand.type for operand in back.operands])
    assert structure.writes == (Access((n, 2 * g + c, 2 * o + 3 * w - 1), drop=True),) and structure.combine == "add"


@pytest.mark.parametrize("build, kind, operand", [
    (lambda: Convolution(tensor(2, 3, 8), tensor(4, 2, 3)), ShapeMismatch, "2 (f)"),
    (lambda: Convolution(tensor(2, 3, 8), tensor(4, 3, 3, 3)), ShapeMismatch, "2 (f)"),
    (lambda: Convolution(tensor(2, 3), tensor(4, 3)), ShapeMismatch, "1 (x)"),
    (lambda: Convolution(tensor(2, 3, 8), tensor(4, 3, 9)), ShapeMismatch, "2 (f)"),
    (lambda: Convolution(tensor(2, 3, 8), tensor(4, 3, 0)), ShapeMismatch, "2 (f)"),
    (lambda: Convolution(tensor(2, 3, 8), tensor(4, 3, 3, dtype=nv.float64)), DtypeMismatch, "2 (f)"),
    (lambda: Convolution(tensor(2, 4, 8), tensor(3, 2, 3), groups=2), ShapeMismatch, "groups"),
    (lambda: Convolution(tensor(2, 4, 8), tensor(3, 2, 3), groups=0), InvalidArgument, "groups"),
    (lambda: Convolution(tensor(2, 3, 8), tensor(4, 3, 3), strides=(1, 1)), InvalidArgument, "strides"),
    (lambda: Convolution(tensor(2, 3, 8), tensor(4, 3, 3), strides=(0,)), InvalidArgument, "strides"),
    (lambda: Convolution(tensor(2, 3, 8), tensor(4, 3, 3), paddings=[(1, 1, 1)]), InvalidArgument, "paddings"),
    (lambda: ConvolutionDataGradient(tensor(2, 4, 5), tensor(4, 3, 3), lengths=(8,)), ShapeMismatch, "1 (r)"),
    (lambda: ConvolutionDataGradient(tensor(2, 4, 6), tensor(4, 3, 3), lengths=(8, 8)), InvalidArgument, "lengths"),
    (lambda: ConvolutionFilterGradient(tensor(2, 3, 8), tensor(2, 4, 5), lengths=(3,)), ShapeMismatch, "2 (r)"),
    (lambda: ConvolutionTranspose(tensor(2, 3, 8), tensor(4, 3, 3)), ShapeMismatch, "1 (x)"),
    (lambda: ConvolutionTranspose(tensor(2, 4, 8), tensor(4, 3, 3), output_paddings=(1,)), InvalidArgument,
     "output_paddings"),
    (lambda: ConvolutionTranspose(tensor(2, 4, 8), tensor(4, 3, 3), (2,), (3,), output_paddings=(3,)), InvalidArgument,
     "output_paddings"),
])
def test_what_does_not_fit_is_explained(build, kind, operand) -> None:
    with pytest.raises(kind) as caught:
        build()
    assert caught.value.operand == operand and caught.value.got is not None
    assert caught.value.op.startswith("Convolution")
    assert caught.value.location.file == __file__


def test_labels_survive_where_dimensions_do() -> None:
    x, f = tensor(2, 3, 8, 9), tensor(4, 3, 3, 3)
    x.output.labels, f.output.labels = ("N", "C", "H", "W"), ("K", "C", None, None)
    op = Convolution(x, f)
    assert op.output.labels == ("N", "K", "H", "W")
    back = op.vjp(op.output, *op.operands)
    assert back[0].value.labels == ("N", "C", "H", "W") and back[1].value.labels == ("K", "C", None, None)


def test_transposed_convolution_is_the_transpose() -> None:
    x, f = normal(2, 4, 5), normal(4, 3, 3)
    for strides, paddings, extra in [((1,), ((0, 0),), (0,)), ((2,), ((1, 0),), (1,)), ((3,), ((1, 1),), (2,))]:
        attributes = (strides, (1,), paddings, 1, extra)
        got = evaluate(lambda x, f, attributes=attributes: ConvolutionTranspose(x, f, *attributes), x, f)
        data = normal(*got.shape)
        there = reference(data, f, strides, (1,), paddings, 1)
        assert there.shape == x.shape
        np.testing.assert_allclose((there * x).sum(), (got * data).sum(), rtol=1e-10)
    check_derivatives(lambda x, f: ConvolutionTranspose(x, f, (2,)), x, f)
    check_derivatives(lambda x, f: ConvolutionTranspose(x, f, (2,), (4,), ((1, 2),), 1, (3,)), x, f)
    n = dim("N")
    assert ConvolutionTranspose(tensor(1, 4, n), tensor(4, 3, 2), (2,)).shape == (1, 3, 2 * n)


def test_empty_batches_and_low_precision() -> None:
    assert evaluate(Convolution, normal(0, 3, 5), normal(2, 3, 3)).shape == (0, 2, 3)
    assert (evaluate(Convolution, normal(1, 0, 5), normal(2, 0, 3)) == np.zeros((1, 2, 3))).all()
    x, f = np.full((1, 64, 64), 0.1, np.float16), np.full((1, 64, 64), 0.1, np.float16)
    exact = (x.astype(np.float64) * f.astype(np.float64)).sum()
    assert evaluate(Convolution, x, f)[0, 0, 0] == np.float16(exact)
