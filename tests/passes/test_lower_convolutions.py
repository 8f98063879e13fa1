"""Convolutions as products: nothing of them is left to Python, values and bits are those of the definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.ir.function import Function
from nervure.kernel.plan import make_plan
from nervure.kernel.schedule.products.notes import described_products
from nervure.passes.lower_convolutions import lower_convolutions
from nervure.passes.pipelines import native
from tests.conformance.samples import samples_of, types_of
from tests.conformance.sampling import concrete, generic
from tests.conformance.test_ops import generator
from tests.passes.agreement import assert_agree, classes

FORMS = ("Convolution", "ConvolutionDataGradient", "ConvolutionFilterGradient", "ConvolutionTranspose")
CASES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((3, 5, 9), (4, 5, 3), {"paddings": [(2, 1)]}),
    ((2, 6, 8, 7), (4, 3, 3, 2), {"strides": (2, 3), "dilations": (1, 2), "paddings": [(1, 2), (2, 0)], "groups": 2}),
    ((2, 4, 7, 7), (4, 1, 3, 3), {"paddings": [(1, 1), (1, 1)], "groups": 4}),
    ((1, 2, 5, 4, 6), (3, 2, 2, 1, 3), {"strides": (1, 2, 2), "paddings": [(0, 1), (-1, 0), (1, 1)]}),
    ((2, 4, 6, 4), (6, 2, 3, 2), {"strides": (3, 2), "groups": 2}),  # windows side by side
    ((2, 24, 6, 6), (3, 24, 5, 5), {"paddings": [(2, 2), (2, 2)]}),  # a block of points ends within a window position
]
"""Data, filters, attributes."""


def functions(x: Any, f: Any, attributes: dict[str, Any]) -> list[tuple[Function, tuple[Any, Any]]]:
    """A convolution of such shapes and both gradients, each with the shapes of its operands."""
    data, filters = nv.Parameter(nv.float32, x), nv.Parameter(nv.float32, f)
    slid = ops.Convolution(data, filters, **attributes)
    result = nv.Parameter(nv.float32, slid.shape)
    back = ops.ConvolutionDataGradient(result, filters, **attributes, lengths=x[2:])
    turned = ops.ConvolutionFilterGradient(data, result, **attributes, lengths=f[2:])
    return [(Function([slid], [data, filters]), (x, f)), (Function([back], [result, filters]), (slid.shape, f)),
            (Function([turned], [data, result]), (x, slid.shape))]


def drawn(*shapes: Any) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [rng.standard_normal(shape, np.float32) for shape in shapes]


@pytest.mark.parametrize("name", FORMS)
def test_no_convolution_is_left_to_python(name, monkeypatch):
    def refuse(*_: object) -> None:
        raise AssertionError("a step of Python")

    monkeypatch.setattr("nervure.transformers.cpu.compile.host.host_program", refuse)
    for dtype in types_of(name)[::3]:
        for number, sample in enumerate(samples_of(name, dtype)):
            case = concrete(sample, generic(sample), generator(name, number))
            with nv.transformers.make_transformer("cpu") as transformer:
                got, = transformer.compile(case.function)(case.arguments)
            assert got.shape == case.function.results[0].shape


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results_are_those_of_the_definition(case):
    for before, shapes in functions(*case):
        after = lower_convolutions(before)
        assert not set(FORMS).intersection(classes(after))
        assert [value.type for value in after.results] == [value.type for value in before.results]
        with nv.transformers.make_transformer("cpu") as transformer:
            arrays = drawn(*shapes)
            got, = transformer.compile(before)(arrays)
        expected, = nv.transformers.make_transformer("interpreter").compile(before)(arrays)
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)


def test_the_lowered_function_says_the_same():
    before, shapes = functions(*CASES[1])[0]
    assert_agree(before, lower_convolutions(before), [np.round(array * 8) for array in drawn(*shapes)])


@pytest.mark.parametrize("groups", [1, 2])
def test_what_follows_a_convolution_is_computed_in_its_kernel(groups):
    """Bias, activation and a residual, although rows of places have gaps between them: nothing is cropped later."""
    shapes = (2, 4, 9, 8), (6, 4 // groups, 3, 3), (6,), (2, 6, 9, 8)
    x, f, bias, other = parameters = [nv.Parameter(nv.float32, shape) for shape in shapes]
    slid = ops.Convolution(x, f, paddings=[(1, 1), (1, 1)], groups=groups)
    after = ops.Relu(slid + ops.Broadcast(bias, slid.shape, [0, 2, 3])) + other
    function, arrays = Function([after], parameters), drawn(*shapes)
    *before, last = make_plan(native(function)).steps
    assert last.kernel.name == "product" and {step.kernel.name for step in before} == {"piece"}
    with nv.transformers.make_transformer("cpu") as transformer:
        got, = transformer.compile(function)(arrays)
    expected, = nv.transformers.make_transformer("interpreter").compile(function)(arrays)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)


def windows(x: np.ndarray, window: int, padding: int) -> np.ndarray:
    """(N, C, positions, places) of data with two lengths."""
    padded = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    seen = np.lib.stride_tricks.sliding_window_view(padded, (window, window), (2, 3))
    n, c, height, width = seen.shape[:4]
    return seen.transpose(0, 1, 4, 5, 2, 3).reshape(n, c, window * window, height * width)


def contracted(x: np.ndarray, y: np.ndarray, *indices: tuple[int, ...]) -> np.ndarray:
    parameters = [nv.Parameter(nv.float32, array.shape) for array in (x, y)]
    with nv.transformers.make_transformer("cpu") as transformer:
        return transformer.compile(Function([ops.Contract(*parameters, *indices)], parameters))([x, y])[0]


def test_bits_are_those_of_a_contraction():
    """O67: windows written out, position by position, the channels of each in order; a gradient's batch and places."""
    x, f, r = drawn((3, 24, 9, 9), (8, 24, 5, 5), (3, 8, 9, 9))
    case = functions(x.shape, f.shape, {"paddings": [(2, 2), (2, 2)]})
    with nv.transformers.make_transformer("cpu") as transformer:
        forward, data, filters = [transformer.compile(function)(arrays)[0] for (function, _), arrays
                                  in zip(case, ([x, f], [r, f], [x, r]), strict=True)]
    flat = f.reshape(8, 24, 25)
    expected = contracted(flat, windows(x, 5, 2), (1, 4, 3), (0, 4, 3, 2), (0, 1, 2))
    assert forward.tobytes() == expected.tobytes()
    expected = contracted(flat[..., ::-1].copy(), windows(r, 5, 2), (4, 1, 3), (0, 4, 3, 2), (0, 1, 2))
    assert data.tobytes() == expected.tobytes()
    expected = contracted(r.reshape(3, 8, 81), windows(x, 5, 2), (3, 0, 4), (3, 1, 2, 4), (0, 1, 2))
    assert filters.tobytes() == expected.tobytes()


def test_windows_that_lie_side_by_side_are_one_product_back_to_the_data():
    """O67: each element of the data meets one position, whose filters are its points."""
    r, f = drawn((2, 700, 4, 5), (700, 3, 2, 3))
    case, _ = functions((2, 3, 8, 15), f.shape, {"strides": (2, 3)})[1]
    assert [type(op) for op in lower_convolutions(case).operations].count(ops.Contract) == 1
    with nv.transformers.make_transformer("cpu") as transformer:
        got, = transformer.compile(case)([r, f])
    whole = contracted(f.reshape(700, 18), r.reshape(2, 700, 20), (2, 1), (0, 2, 3), (0, 1, 3))
    expected = whole.reshape(2, 3, 2, 3, 4, 5).transpose(0, 1, 4, 2, 5, 3).reshape(2, 3, 8, 15)
    assert got.tobytes() == expected.tobytes()


def test_bits_do_not_depend_on_what_is_known_nor_on_the_batch_nor_on_threads():
    """O67: lengths that a call brings, one image of several, one thread."""
    shape, f, attributes = (4, 6, 10, 11), (5, 6, 3, 3), {"strides": (1, 2), "paddings": [(1, 1), (0, 2)]}
    n, h, w = nv.dim("n", min=1), nv.dim("h", min=3), nv.dim("w", min=3)
    x, filters = drawn(shape, f)
    with nv.transformers.make_transformer("cpu") as transformer:
        known = transformer.compile(functions(shape, f, attributes)[0][0])([x, filters])[0]
        brought = transformer.compile(functions((n, 6, h, w), f, attributes)[0][0])
        assert brought([x, filters])[0].tobytes() == known.tobytes()
        assert brought([x[2:3], filters])[0].tobytes() == known[2:3].tobytes()
        with nv.flags.overriding(threads=1):
            assert brought([x, filters])[0].tobytes() == known.tobytes()


def test_what_is_not_finite_in_a_filter():
    """Q12: around what came out zeros are multiplied; between strides there are none."""
    filters, found = np.float32([[[np.inf, 1]]]), []
    for length, stride in ((4, 1), (6, 2)):
        function = functions((1, 1, length), (1, 1, 2), {"strides": (stride,)})[1][0]
        with nv.transformers.make_transformer("cpu") as transformer:
            found.append(transformer.compile(function)([np.ones((1, 1, 3), np.float32), filters])[0][0, 0].tolist())
    np.testing.assert_array_equal(found[0], [np.inf, np.inf, np.inf, np.nan])
    np.testing.assert_array_equal(found[1], [np.inf, 1, np.inf, 1, np.inf, 1])


def test_functions_without_convolutions_stay():
    x = nv.Parameter(nv.float32, (5,))
    function = Function([ops.Max(x, [0])], [x])
    assert lower_convolutions(function) is function


def test_sizes_that_are_brought_lose_no_speed_in_the_gradient_for_filters():
    """Its windows are read where they lie, whatever sizes are known: runs of places are found without numbers."""
    n, h, w = nv.dim("n", min=1), nv.dim("h", min=3), nv.dim("w", min=3)
    for x in ((2, 12, 7, 9), (n, 12, 7, 9), (n, 12, h, w)):
        function, _ = functions(x, (10, 12, 3, 3), {"paddings": [(1, 1), (1, 1)]})[2]
        product, = [step.kernel for step in make_plan(native(function)).steps if described_products(step.kernel)]
        assert {"rows", "left_points"} <= {buffer.name for buffer in product.buffers}


@pytest.mark.parametrize(("x", "f"), [((3, 4, 7, 7), (200, 4, 3, 3)), ((20, 3, 2, 5, 5), (72, 3, 1, 3, 3)),
                                      ((5, 6, 4), (60, 3, 3))])
def test_short_rows_of_places_of_all_images_are_columns_of_one_product(x, f):
    """O67: where many filters go over short rows, what lies between two rows is left out of panels; bits stay."""
    attributes = {"paddings": [(window // 2, window // 2) for window in f[2:]], "groups": x[1] // f[1]}
    for function, shapes in functions(x, f, attributes)[:2]:
        arrays = drawn(*shapes)
        with nv.transformers.make_transformer("cpu") as transformer:
            got, = transformer.compile(function)(arrays)
            one = transformer.compile(functions((1, *x[1:]), f, attributes)[0][0])
            if got.shape[1] == f[0]:
                assert one([arrays[0][2:3], arrays[1]])[0].tobytes() == got[2:3].tobytes()
        expected, = nv.transformers.make_transformer("interpreter").compile(function)(arrays)
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("x", "f"), [((3, 64, 9, 10), (48, 64, 3, 3)), ((40, 32, 5, 4), (128, 16, 3, 3)),
                                      ((2, 40, 3, 4, 5), (96, 40, 2, 2, 3))])
def test_places_are_rows_of_a_product_where_many_filters_are_its_columns(x, f):
    """O67: of all images, without the gaps between rows of places; bits are those of one image, and of one thread."""
    rank = len(x) - 2
    attributes = {"paddings": [(window // 2, window // 2) for window in f[2:]], "groups": x[1] // f[1]}
    brought = (nv.dim("n", min=1), x[1], *[nv.dim(name, min=3) for name in "dhw"[:rank]])
    for number, (function, shapes) in enumerate(functions(x, f, attributes)[:2]):
        arrays = drawn(*shapes)
        found = []
        with nv.transformers.make_transformer("cpu") as transformer:
            for known in (x, (1, *x[1:]), brought):
                if known != brought or number == 0:
                    part = [arrays[0][-1:] if known[0] == 1 else arrays[0], arrays[1]]
                    found.append(transformer.compile(functions(known, f, attributes)[number][0])(part)[0])
            with nv.flags.overriding(threads=1):
                found.append(transformer.compile(function)(arrays)[0])
        assert all([other[-1:].tobytes() == found[0][-1:].tobytes() for other in found])
        expected, = nv.transformers.make_transformer("interpreter").compile(function)(arrays)
        np.testing.assert_allclose(found[0], expected, rtol=1e-4, atol=2e-4)
    product = make_plan(native(functions(x, f, attributes)[0][0])).steps[-1].kernel
    assert {"turned", "rows"} <= {buffer.name for buffer in product.buffers}
    assert "they have changed places: results are transposed" in described_products(product)[0]


def test_bits_stay_where_places_are_rows():
    """O67: windows written out, whose places follow each other in memory, are columns."""
    x, f = drawn((3, 64, 9, 9), (48, 64, 3, 3))
    with nv.transformers.make_transformer("cpu") as transformer:
        got, = transformer.compile(functions(x.shape, f.shape, {"paddings": [(1, 1), (1, 1)]})[0][0])([x, f])
    expected = contracted(f.reshape(48, 64, 9), windows(x, 3, 1), (1, 4, 3), (0, 4, 3, 2), (0, 1, 2))
    assert got.tobytes() == expected.tobytes()


def test_what_follows_a_turned_product_is_computed_in_its_kernel():
    shapes = (2, 32, 9, 8), (64, 32, 3, 3), (64,), (2, 64, 9, 8)
    x, f, bias, other = parameters = [nv.Parameter(nv.float32, shape) for shape in shapes]
    slid = ops.Convolution(x, f, paddings=[(1, 1), (1, 1)])
    after = ops.Relu(slid + ops.Broadcast(bias, slid.shape, [0, 2, 3])) + other
    function, arrays = Function([after], parameters), drawn(*shapes)
    last = make_plan(native(function)).steps[-1]
    assert "turned" in {buffer.name for buffer in last.kernel.buffers} and len(last.read) == 4
    with nv.transformers.make_transformer("cpu") as transformer:
        got, = transformer.compile(function)(arrays)
    expected, = nv.transformers.make_transformer("interpreter").compile(function)(arrays)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=2e-4)


@pytest.mark.parametrize("batch", [2, nv.dim("n", min=1)], ids=str)
def test_rows_of_the_gradient_for_filters_that_follow_each_other_see_one_channel(batch):
    """So a tile of a few rows reads a few lines of memory, not a few channels."""
    (_, _, (function, _)) = functions((batch, 4, 6, 6), (3, 4, 3, 3), {"paddings": [(1, 1), (1, 1)]})
    view, = [op for op in lower_convolutions(function).operations if isinstance(op, ops.IndexView)]
    data = np.zeros((2, 4, 6, 6), np.float32) + np.arange(4).reshape(4, 1, 1)
    with nv.transformers.make_transformer("interpreter") as interpreter:
        seen, = interpreter.compile(Function(view.outputs, function.parameters[:1]))([data])
    assert seen[0, :, 0, 2, 2].tolist() == np.repeat(range(4), 9).tolist()
