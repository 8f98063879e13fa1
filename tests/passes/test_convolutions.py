"""Convolutions, their gradients and transposes have the bits of the rule, however they are computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np
import pytest

import nervure as nv
from nervure import flags, ops
from nervure.ir.function import Function
from nervure.ir.leaves import Constant
from nervure.ir.op import Value
from nervure.kernel.plan import make_plan
from nervure.ops.update import FilledView
from nervure.passes.pipelines import native
from nervure.types.element_groups import ANY
from nervure.types.index_map import IndexMap, indices
from tests.kernel.contraction_rule import contraction
from tests.passes.convolution_cases import CASES, DEPTHWISE, SIZES, TRANSPOSED, WINDOWS
from tests.passes.convolution_rule import FORMS, Case, check

CPU = nv.transformers.make_transformer("cpu")
N = nv.dim("n", min=1)

each_case = pytest.mark.parametrize("case", CASES, ids=str)
each_form = pytest.mark.parametrize("form", FORMS)


@cache
def operands(case: Case, form: str) -> list[np.ndarray]:
    """Random operands of a member of the form."""
    generator, dtype = np.random.default_rng(7), case.dtype
    if dtype.is_integer:
        return [generator.integers(0, 100, shape).astype(dtype.numpy) for shape in case.shapes(form)]
    arrays = [generator.standard_normal(shape) for shape in case.shapes(form)]
    if dtype.kind == "bool":
        return [array > 1 for array in arrays]
    turned = [array * (1 if not dtype.is_complex else np.exp(1j * array)) for array in arrays]
    return [array.astype(dtype.numpy) for array in turned]


def member(case: Case, form: str, first: Any, second: Any, lengths: Sequence[Any] | None = None) -> Value:
    """A member of the form of these operands; ``lengths`` are those of the data, if they are not the case's."""
    attributes = case.attributes
    if form == "result":
        return ops.Convolution(first, second, **attributes).output
    if form == "data":
        return ops.ConvolutionDataGradient(first, second, **attributes, lengths=lengths or case.x[2:]).output
    return ops.ConvolutionFilterGradient(first, second, **attributes, lengths=case.f[2:]).output


def function(case: Case, form: str, batch: Any = None, lengths: Sequence[Any] | None = None) -> Function:
    """A function of both operands. ``batch`` and ``lengths`` of the data may be others than the case's."""
    x = nv.Parameter(case.dtype, (case.x[0] if batch is None else batch, case.x[1], *(lengths or case.x[2:])))
    f = nv.Parameter(case.dtype, case.f)
    r = nv.Parameter(case.dtype, ops.Convolution(x, f, **case.attributes).shape)
    first, second = {"result": (x, f), "data": (r, f), "filters": (x, r)}[form]
    return Function([member(case, form, first, second, lengths)], [first, second])


@cache
def compiled(case: Case, form: str) -> Any:
    """A member of the form, alone in a function of arguments of known sizes."""
    return CPU.compile(function(case, form))


@cache
def plain(case: Case, form: str) -> np.ndarray:
    """The result of the function above."""
    return compiled(case, form)(operands(case, form))[0]


def symbols(case: Case) -> list[Any]:
    """A symbol for each length of the data, which may be as short as windows allow."""
    return [nv.dim(f"l{number}", min=max((window - 1) * dilation + 1 - sum(padding), 1)) for number, (
        (window, _, dilation, _), padding) in enumerate(zip(case.windows, case.attributes["paddings"], strict=True))]


def same(got: np.ndarray, expected: np.ndarray) -> bool:
    """Whether two arrays have the same shape and bits."""
    return got.shape == expected.shape and got.tobytes() == expected.tobytes()


# -- the rule ------------------------------------------------------------------------------------------------------


@each_form
@each_case
def test_bits_are_those_of_the_rule(case, form):
    """O67, O69: with one thread, too."""
    arrays, expected = operands(case, form), plain(case, form)
    check(case, form, arrays, expected)
    with flags.overriding(threads=1):
        assert same(compiled(case, form)(arrays)[0], expected)


@each_form
@each_case
def test_bits_do_not_depend_on_the_batch_nor_on_the_processor(case, form):
    """O67, O69: one image of several has the bits that it has among them, with narrower vectors, too."""
    (first, second), expected = operands(case, form), plain(case, form)
    with flags.overriding(cpu_features="avx2"):
        brought = CPU.compile(function(case, form, N))
    for threads in (1, 2):
        with flags.overriding(threads=threads):
            assert same(brought([first, second])[0], expected), threads
    if form != "filters":
        assert same(brought([first[-1:], second])[0], expected[-1:])


LENGTHS = [*[(case, "result") for case in (*WINDOWS, *DEPTHWISE)][::2],
           *[(case, "filters") for case in (*WINDOWS, *DEPTHWISE)][1::3]]


@pytest.mark.parametrize(("case", "form"), LENGTHS, ids=str)
def test_lengths_may_come_with_the_call(case, form):
    """O67, O69."""
    assert same(CPU.compile(function(case, form, N, symbols(case)))(operands(case, form))[0], plain(case, form))


@pytest.mark.parametrize("case", SIZES, ids=str)
def test_an_image_alone_has_the_bits_that_it_has_among_others(case):
    """O67: where a function knows that there is only one, too."""
    x, f = operands(case, "result")
    assert same(CPU.compile(function(case, "result", 1))([x[-1:], f])[0], plain(case, "result")[-1:])


@each_case
def test_bits_do_not_depend_on_whether_filters_stay(case):
    """O67: nor on what layout is best for filters that are constants, or for what reads a result."""
    (data, filters), expected = operands(case, "result"), plain(case, "result")
    for batch, is_largest, features in ((len(data), True, ""), (N, False, "avx2")):
        x = nv.Parameter(case.dtype, (batch, *case.x[1:]))
        made = member(case, "result", x, Constant(filters))
        with flags.overriding(cpu_features=features):
            whole = CPU.compile(Function([ops.Max(made, [0]) if is_largest else made], [x]))
        assert same(whole([data])[0], expected.max(0) if is_largest else expected), (batch, features)


@pytest.mark.parametrize("case", [*TRANSPOSED, *WINDOWS, *DEPTHWISE[:4]], ids=str)
def test_nor_do_those_of_the_gradient_for_the_data(case):
    """O67."""
    r, filters = operands(case, "data")
    x = nv.Parameter(case.dtype, case.r)
    whole = CPU.compile(Function([ops.Max(member(case, "data", x, Constant(filters)), [0])], [x]))
    assert same(whole([r])[0], plain(case, "data").max(0))


@pytest.mark.parametrize("case", TRANSPOSED, ids=str)
def test_bits_of_transposed_convolutions_are_those_of_gradients_for_the_data(case):
    """O67."""
    first, second = parameters = [nv.Parameter(case.dtype, shape) for shape in case.shapes("data")]
    least = ops.ConvolutionTranspose(first, second, **case.attributes).shape[2:]
    more = [length - own for length, own in zip(case.x[2:], least, strict=True)]
    made = ops.ConvolutionTranspose(first, second, **case.attributes, output_paddings=more)
    got, = CPU.compile(Function([made], parameters))(operands(case, "data"))
    check(case, "data", operands(case, "data"), got)
    assert same(got, plain(case, "data"))


KINDS = [WINDOWS[1], *SIZES[1:4], SIZES[7], SIZES[9], SIZES[20], DEPTHWISE[1]]
"""A few of each kind, for questions that do not depend on sizes."""

each_kind = pytest.mark.parametrize("case", KINDS, ids=str)


@each_kind
def test_variables_have_the_bits_of_arguments_after_each_change(case):
    """O67: variables that only calls of others write, and those that the function itself writes."""
    (x, f), geometry = operands(case, "result"), case.attributes
    place, filters = nv.placeholder(x.shape), nv.variable(f.shape, f)
    made = nv.convolution(place, filters, strides=list(geometry["strides"]), dilations=list(geometry["dilations"]),
                          padding=list(geometry["paddings"]), groups=case.groups)
    read, written = CPU.computation(made, place), CPU.computation([made, nv.assign(filters, -filters)], place)
    expected = plain(case, "result")
    for sign in (1, -1, 1):
        np.testing.assert_array_equal(read(x) * sign, expected)
        np.testing.assert_array_equal(written(x)[0] * sign, expected)


MOVED = "another layout"

EPILOGUES: dict[str, tuple[Callable[..., Any], Callable[..., np.ndarray]]] = {
    "a bias, an activation and a residual": (lambda y, b, z: ops.Relu(y + b) + z,
                                             lambda y, b, z: np.maximum(y + b, 0) + z),
    "a scale and a shift": (lambda y, b, z: (y - b) * b + b, lambda y, b, z: (y - b) * b + b),
    MOVED: (lambda y, b, z: ops.Permute(y + z, (*range(1, y.rank), 0)), lambda y, b, z: np.moveaxis(y + z, 0, -1)),
    "a bias of doubles": (lambda y, b, z: ops.Convert(y, nv.float64) + ops.Convert(b, nv.float64),
                          lambda y, b, z: y.astype(np.float64) + b.astype(np.float64)),
}
"""What may follow a convolution: of its result, a number for each channel and a value of the result's shape."""


def followed(case: Case, name: str, is_constant: bool) -> tuple[Function, list[np.ndarray], np.ndarray]:
    """A convolution and what follows it as one function, its arguments, and its result by NumPy."""
    generator, (build, expected) = np.random.default_rng(3), EPILOGUES[name]
    x, f = operands(case, "result")
    bias, other = [generator.standard_normal(shape, np.float32) for shape in ((case.r[1],), case.r)]
    parameters = [nv.Parameter(nv.float32, array.shape) for array in (x, bias, other)]
    given = [] if is_constant else [nv.Parameter(nv.float32, f.shape)]
    slid = member(case, "result", parameters[0], Constant(f) if is_constant else given[0])
    spread = ops.Broadcast(parameters[1], slid.shape, [0, *range(2, slid.rank)])
    each = bias.reshape(-1, *[1] * case.rank)
    function = Function([build(slid, spread, parameters[2])], [*parameters, *given])
    return function, [x, bias, other, *([] if is_constant else [f])], expected(plain(case, "result"), each, other)


@pytest.mark.parametrize("is_constant", [False, True], ids=["argument", "constant"])
@pytest.mark.parametrize("name", EPILOGUES)
@each_kind
def test_what_follows_changes_no_bit_and_takes_no_kernel_of_its_own(case, name, is_constant):
    """O67."""
    function, arrays, expected = followed(case, name, is_constant)
    assert same(CPU.compile(function)(arrays)[0], np.ascontiguousarray(expected))
    x, f = [nv.Parameter(nv.float32, shape) for shape in (case.x, case.f)]
    filters = Constant(operands(case, "result")[1]) if is_constant else f
    alone = Function([member(case, "result", x, filters)], [x] if is_constant else [x, f])
    most = len(make_plan(native(alone)).steps) + (name == MOVED)  # a result that lies in memory in another order
    assert len(make_plan(native(function)).steps) <= most


@each_kind
def test_all_members_of_the_form_in_one_function_have_their_bits(case):
    """O67: what is computed together shares data, filters and kernels."""
    (x, f), (r, _) = operands(case, "result"), operands(case, "data")
    parameters = [nv.Parameter(nv.float32, array.shape) for array in (x, f, r)]
    data, filters, result = parameters
    pairs = {"result": (data, filters), "data": (result, filters), "filters": (data, result)}
    made = [member(case, form, *pairs[form]) for form in FORMS]
    sums = ops.Sum(made[0] * made[0], [0, *range(2, 2 + case.rank)])
    got = CPU.compile(Function([*made, sums], parameters))([x, f, r])
    for form, array in zip(FORMS, got, strict=False):
        assert same(array, plain_of(case, form, [x, f, r]))


def plain_of(case: Case, form: str, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """A member of the form of its two among the data, the filters and the result."""
    x, f, r = arrays
    return compiled(case, form)({"result": [x, f], "data": [r, f], "filters": [x, r]}[form])[0]


@each_form
@each_kind
def test_there_may_be_no_image(case, form):
    """O67, O69: a gradient for filters is 0 then; with images the bits are those of a batch that is not empty."""
    arrays, whole = operands(case, form), CPU.compile(function(case, form, nv.dim("m")))
    assert same(whole(arrays)[0], plain(case, form))
    none = whole([array[:0] if form == "filters" or number == 0 else array for number, array in enumerate(arrays)])[0]
    assert same(none, np.zeros(case.f if form == "filters" else (0, *case.shape(form)[1:]), np.float32))


@pytest.mark.parametrize(("x", "f"), [((2, 1, 9), (0, 1, 3)), ((2, 0, 9), (4, 0, 3)), ((0, 3, 9), (4, 3, 3))], ids=str)
def test_there_may_be_no_filter_and_no_channel(x, f):
    """O67: sums of nothing are 0."""
    case = Case("", x, f, paddings=((1, 1),))
    for form in FORMS:
        got, = CPU.compile(function(case, form))([np.ones(shape, np.float32) for shape in case.shapes(form)])
        assert same(got, np.zeros(case.shape(form), np.float32))


# -- types, and convolutions in other words ------------------------------------------------------------------------


WIDTHS = nv.float64, nv.bfloat16, nv.int32, nv.uint8, nv.complex64, nv.bool_
"""One type of each way to add up."""


@each_form
@pytest.mark.parametrize("dtype", sorted(ANY - {nv.float32}, key=str), ids=str)
def test_every_type_has_them(dtype, form):
    """O67, O69: low precision is added up in float32, integers wrap, truth values are joined by or."""
    for case in (WINDOWS[1], DEPTHWISE[1], *([SIZES[9]] if dtype in WIDTHS else [])):
        own = case._replace(dtype=dtype)
        check(own, form, operands(own, form), plain(own, form))


def by_windows(case: Case, x: Value, f: Value) -> Value:
    """The convolution by padding, a view of all windows and a contraction of their elements, position by position."""
    attributes, rank = case.attributes, case.rank
    padded = ops.Pad(x, [(0, 0), (0, 0), *attributes["paddings"]])
    seen = ops.Windows(padded, [*range(2, 2 + rank)], case.f[2:], attributes["strides"], attributes["dilations"])
    places, positions = range(2, 2 + rank), range(10, 10 + rank)
    return ops.Contract(seen, f, (0, 20, *places, *positions), (1, 20, *positions), (0, 1, *places)).output


def by_slices(case: Case, x: Value, f: Value) -> Value:
    """The convolution by a slice for each position of a window, one behind the other, and a product of matrices."""
    padded = ops.Pad(x, [(0, 0), (0, 0), *case.attributes["paddings"]])
    everything = [(0, case.x[0], 1), (0, case.x[1], 1)]
    seen = [ops.Slice(padded, [*everything, *[(offset * dilation, count, stride) for offset, count, (
        _, stride, dilation, _) in zip(offsets, case.r[2:], case.windows, strict=True)]])
            for offsets in np.ndindex(*case.f[2:])]
    columns = ops.Reshape(ops.Concatenate(*seen, axis=1), (case.x[0], len(seen) * case.x[1], prod(case.r[2:])))
    rows = ops.Reshape(ops.Permute(f, (0, *range(2, f.rank), 1)), (case.f[0], len(seen) * case.x[1]))
    return ops.Reshape(ops.Contract(rows, columns, (1, 3), (0, 3, 2), (0, 1, 2)), case.r).output


@pytest.mark.parametrize("written_out", [by_windows, by_slices])
@pytest.mark.parametrize("case", [case for case in (*WINDOWS[:12], *SIZES[:12]) if case.groups == 1], ids=str)
def test_a_convolution_by_hand_has_the_same_bits(case, written_out):
    """O48, O67: it is the same contraction, whatever shows the windows."""
    parameters = [nv.Parameter(case.dtype, shape) for shape in case.shapes("result")]
    by_hand = Function([written_out(case, *[entry.value for entry in parameters])], parameters)
    assert same(CPU.compile(by_hand)(operands(case, "result"))[0], plain(case, "result"))


def test_a_view_that_is_zero_elsewhere_is_multiplied_with_its_zeros():
    """O48: zeros that depend on the channel of a place, too, not on its place and position alone."""
    for channels in (128, 256):
        x, f = parameters = [nv.Parameter(nv.float32, shape) for shape in ((3, 8, channels), (channels * 3, 64))]
        image, offset, c, at = indices(4)
        seen = FilledView(x, IndexMap((8, 3, channels, 3), (at + offset - 1, image, c + 9)))
        filters = ops.Reshape(f, (3, channels, 64))
        made = ops.Contract(filters, seen, (2, 3, 1), (0, 2, 3, 4), (0, 1, 4))
        data, right = [np.random.default_rng(7).standard_normal(entry.shape, np.float32) for entry in parameters]
        padded = np.pad(data, [(1, 1), (0, 0), (0, 9)])[:, :, 9:]
        windows = np.stack([padded[offset:offset + 3] for offset in range(3)])  # offset, place, image, channel
        left = windows.transpose(2, 1, 0, 3).reshape(24, 3 * channels)
        expected = contraction(left, right).reshape(8, 3, 64).transpose(0, 2, 1)
        assert same(CPU.compile(Function([made], parameters))([data, right])[0], np.ascontiguousarray(expected))


def test_zeros_of_channels_at_every_place():
    """O48: a view that is 0 at the first and the last channel of each place."""
    x, f = parameters = [nv.Parameter(nv.float32, shape) for shape in ((62, 6, 8), (64, 64))]
    c, line, place = indices(3)
    seen = FilledView(x, IndexMap((64, 6, 8), (c - 1, line, place)))
    made = ops.Contract(f, seen, (0, 1), (1, 2, 3), (0, 2, 3))
    data, left = [np.random.default_rng(7).standard_normal(entry.shape, np.float32) for entry in parameters]
    expected = contraction(left, np.pad(data, [(1, 1), (0, 0), (0, 0)]).reshape(64, 48)).reshape(64, 6, 8)
    assert same(CPU.compile(Function([made], parameters))([data, left])[0], expected)


def test_positions_in_front_of_places():
    """O48: images last, four positions of a window in a block of points, places in front of them."""
    case = Case("", (8, 128, 3, 3), (64, 128, 3, 3), paddings=((1, 1), (1, 1)))
    x, f = parameters = [nv.Parameter(nv.float32, shape) for shape in case.shapes("result")]
    moved = ops.Permute(x, (2, 3, 0, 1))
    image, row, column, c, line, place = indices(6)
    seen = FilledView(moved, IndexMap((8, 3, 3, 128, 3, 3), (line + row - 1, place + column - 1, image, c)))
    made = ops.Contract(f, seen, (1, 4, 2, 3), (0, 2, 3, 4, 5, 6), (0, 1, 5, 6))
    assert same(CPU.compile(Function([made], parameters))(operands(case, "result"))[0], plain(case, "result"))
