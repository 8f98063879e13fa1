"""Ops for which XLA has a primitive: the compiled text has it, and the numbers are the reference's."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.ir.kinds import Access, Structure, Structured, identity_body

jax = pytest.importorskip("jax", reason="jax is not installed")

IMAGES = "N=2, C=3, H=9, W=8"


def text_of(transformer, function, arguments):
    """The program of a function as JAX gives it to XLA."""
    executable = transformer.build(function)
    with jax.enable_x64(True):
        return executable.specialise({}).call.lower(arguments, [], []).as_text()


def pooled(kind, padding):
    x = nv.placeholder(IMAGES)
    y = nv.pooling(x, kind, {"H": 3, "W": 2}, strides={"H": 2, "W": 2}, padding=padding)
    return x, [y, nv.deriv(nv.sum(y * y, out_axes=()), x)]


@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("kind", ["max", "avg"])
def test_pooling_is_a_reduction_over_windows(xla, interpreter, kind, padding):
    """X11: and its gradient has no scatter."""
    x, returns = pooled(kind, padding)
    given = np.random.default_rng(0).integers(-4, 5, x.shape).astype(np.float32)
    mine, theirs = [nv.computation(returns, x, transformer=each) for each in (xla, interpreter)]
    for got, expected in zip(mine(given), theirs(given), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)
    text = text_of(xla, mine.function, [given])
    assert "stablehlo.reduce_window" in text and "stablehlo.scatter" not in text


@pytest.mark.parametrize("dtype", ["int8", "bfloat16", "complex64", "bool"])
def test_sums_of_overlapping_windows_are_exact(xla, interpreter, dtype):
    """X11: integers wrap, and truth values are or-ed."""
    x = nv.placeholder((7, 3), dtype=dtype)
    windows = nv.ops.Windows(x.value, axes=(0,), windows=(3,), strides=(2,))
    total = nv.Tensor(nv.ops.Sum(windows, (2,))) if dtype != "bool" else x
    back = nv.Tensor(nv.ops.AccumulateView(windows, windows.describe(x.value.type).index_map, (7, 3)))
    given = (np.arange(21).reshape(7, 3) * 37 % 16).astype(np.uint8).astype(nv.types.dtype.as_dtype(dtype).numpy)
    mine, theirs = [nv.computation([total, back], x, transformer=each)(given) for each in (xla, interpreter)]
    for got, expected in zip(mine, theirs, strict=True):
        assert got.tobytes() == expected.tobytes()


class AddDiagonalsByUserOfXla(Structured):
    """A row, and each element of a matrix added at the sum of its row's and its column's number."""

    operand_names = "x row"

    def infer(self, x, row):
        return row

    def structure(self, x, row):
        i, j = nv.types.dim.index(0), nv.types.dim.index(1)
        return Structure(x.shape, (Access((i, j)), None), (Access((i + j,)),), identity_body, "add",
                         initial=1)


def test_a_sum_of_overlapping_slices_begins_with_what_is_there(xla, interpreter):
    x, row = nv.Parameter(nv.float32, (3, 5)), nv.Parameter(nv.float32, (7,))
    function = nv.Function([AddDiagonalsByUserOfXla(x, row)], [x, row])
    given = np.arange(15, dtype=np.float32).reshape(3, 5), np.arange(7, dtype=np.float32) * 100
    expected = given[1] + [np.trace(given[0][:, ::-1], 4 - at) for at in range(7)]
    for transformer in (xla, interpreter):
        assert transformer.build(function)(*given)[0].tolist() == expected.tolist()
    assert "stablehlo.scatter" not in text_of(xla, function, given)


class PlaceByUserOfXla(Structured):
    """The place of the first largest element of each row."""

    operand_names = "x"

    def infer(self, x):
        return nv.BasicTensorDescription(nv.int64, x.shape[:1])

    def structure(self, x):
        i, j = nv.types.dim.index(0), nv.types.dim.index(1)

        def first(s, left, right):
            stays = s.less_equal(right[0], left[0])
            return s.where(stays, left[0], right[0]), s.where(stays, left[1], right[1])
        return Structure(x.shape, (Access((i, j)),), (Access((i,)),), lambda s, x: (x, s.index(j)), first,
                         finish=lambda s, found: found[1])


@pytest.mark.parametrize("length", [1, 2, 7, 12])
def test_a_combiner_of_a_user_is_applied_in_order(xla, length):
    x = nv.Parameter(nv.float32, (5, length))
    given = np.random.default_rng(length).integers(0, 4, (5, length)).astype(np.float32)
    assert xla.build(nv.Function([PlaceByUserOfXla(x)], [x]))(given)[0].tolist() == given.argmax(1).tolist()


@pytest.mark.parametrize("descending", [False, True])
def test_the_first_elements_in_an_order_are_those_of_the_interpreter(xla, interpreter, descending):
    x = nv.Parameter(nv.float32, (2, 6))
    given = np.float32([[3, 1, np.nan, 1, -0.0, 0.0], [2, 2, 1, np.inf, -np.inf, 2]])
    for count in (0, 1, 4):
        function = nv.Function([*nv.ops.TopK(x, k=count, descending=descending).outputs], [x])
        for mine, theirs in zip(xla.build(function)(given), interpreter.build(function)(given), strict=True):
            assert np.array_equal(mine, theirs, equal_nan=True)


def test_a_sum_over_many_slices_is_a_scatter(xla):
    """X11"""
    x = nv.placeholder((100, 80))
    spread = nv.Tensor(nv.ops.AccumulateView(
        x.value, nv.types.index_map.IndexMap((100, 80), (nv.types.dim.index(0) + nv.types.dim.index(1),)), (179,)))
    assert nv.computation(spread, x, transformer=xla)(np.ones((100, 80), np.float32)).max() == 80
    function = nv.computation(spread, x, transformer=xla).function
    assert "stablehlo.scatter" in text_of(xla, function, [np.ones((100, 80), np.float32)])


def attention_of(dtype="bfloat16", **attributes):
    parameters = [nv.Parameter(nv.types.dtype.as_dtype(dtype), (2, 3, rows, 8)) for rows in (5, 7, 7)]
    return nv.Function([nv.ops.Attention(*parameters, **attributes)], parameters)


@pytest.fixture
def attended(monkeypatch):
    """The calls of JAX's attention, on a transformer that takes its device for one that has it."""
    calls, own = [], jax.nn.dot_product_attention
    monkeypatch.setattr(jax.nn, "dot_product_attention", lambda *given, **named: (calls.append(named),
                                                                                  own(*given, **named))[1])
    monkeypatch.setattr("nervure.transformers.xla.transformer.XlaTransformer.has_fused_attention", True)
    return calls


@pytest.mark.parametrize("attributes", [{}, {"after": 0}, {"before": 2, "after": 1}, {"before": 1}])
def test_attention_is_jax_s_own_where_the_device_has_it(xla, interpreter, attended, attributes):
    """X11"""
    function = attention_of(**attributes)
    given = [np.random.default_rng(at).standard_normal(entry.type.shape).astype(nv.bfloat16.numpy)
             for at, entry in enumerate([op.output for op in function.parameters])]
    mine, theirs = [each.build(function)(*given)[0].astype(np.float32) for each in (xla, interpreter)]
    assert len(attended) == 1
    np.testing.assert_allclose(mine, theirs, rtol=0.05, atol=0.03)


def test_attention_is_its_parts_anywhere_else(xla, attended, monkeypatch):
    """X11: products of float32 are as exact as they are asked for, and a row that sees nothing is 0."""
    x = [np.ones((2, 3, rows, 8), np.float32) for rows in (5, 7, 7)]
    np.testing.assert_allclose(xla.build(attention_of("float32"))(*x)[0], 1, rtol=1e-6)
    assert not attended
    with nv.flags.overriding(xla_precision="default"):
        np.testing.assert_allclose(xla.build(attention_of("float32"))(*x)[0], 1, rtol=1e-6)
        assert len(attended) == 1
    low = [each.astype(nv.bfloat16.numpy) for each in x]
    parameters = [nv.Parameter(nv.bfloat16, each.shape) for each in low]
    mask = nv.Parameter(nv.bool_, (2, 3, 5, 7))
    masked = xla.build(nv.Function([nv.ops.Attention(*parameters, mask)], [*parameters, mask]))
    assert masked(*low, np.zeros((2, 3, 5, 7), np.bool_))[0].max() == 0 and len(attended) == 1
    monkeypatch.setattr("nervure.transformers.xla.transformer.XlaTransformer.has_fused_attention", False)
    assert xla.build(attention_of())(*low)[0].min() == 1 and len(attended) == 1


def test_attention_is_whole_on_a_gpu_alone(xla):
    """X11"""
    class Gpu:
        platform = "gpu"
    assert not xla.supports(nv.ops.Attention)
    xla.device = Gpu()
    assert xla.supports(nv.ops.Attention)


def test_a_scatter_of_nothing_leaves_what_was_there(xla):
    """X9: whole slices at no index."""
    x, index, y = nv.Parameter(nv.float32, (3,)), nv.Parameter(nv.int64, (0, 1)), nv.Parameter(nv.float32, (0,))
    scatter = nv.ops.ScatterNd(x, index, y)
    given = np.float32([1, 2, 3]), np.zeros((0, 1), np.int64), np.zeros(0, np.float32)
    assert xla.compile(nv.Function([scatter], [x, index, y]))(*given)[0].tolist() == [1, 2, 3]
    one, nowhere = nv.Parameter(nv.float32, ()), nv.Parameter(nv.int64, (0, 0))
    last = nv.Function([nv.ops.ScatterNd(one, nowhere, y)], [one, nowhere, y])
    assert xla.compile(last)(np.float32(5), np.zeros((0, 0), np.int64), given[2])[0].tolist() == 5


def test_a_matrix_that_serves_a_whole_batch_has_a_softmax(xla, interpreter):
    """X1: jaxlib 0.10.2 fuses the product with the exponential, and then gives equal weights."""
    keys, queries = nv.placeholder((65, 8)), nv.placeholder((3, 40, 8))
    scores = nv.softmax(queries @ keys.T, axis=-1)
    rng = np.random.default_rng(0)
    given = [rng.standard_normal(each.shape, dtype=np.float32) for each in (keys, queries)]
    mine, theirs = [nv.computation(scores, keys, queries, transformer=each)(*given) for each in (xla, interpreter)]
    np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-6)
    spread = nv.ops.Broadcast(keys.value, (3, 65, 8), (0,))
    product = nv.ops.Contract(queries.value, spread.output, (0, 1, 3), (0, 2, 3), (0, 1, 2))
    weights = nv.Tensor(nv.ops.Softmax(product.output, (2,)))
    np.testing.assert_allclose(nv.computation(weights, keys, queries, transformer=xla)(*given), theirs, rtol=1e-4,
                               atol=1e-6)


@pytest.mark.parametrize("length", [2, nv.dim("n")], ids=str)
def test_powers_of_two_are_scales(xla, cpu, interpreter, length):
    """O12, X1: float8_e8m0fnu, which has no sign, is converted as other floats are."""
    x, scale = nv.placeholder((length,), dtype=nv.int8), nv.placeholder((length,), dtype="float8_e8m0fnu")
    y = nv.convert(x, nv.float32) * nv.convert(scale, nv.float32)
    given = np.int8([1, 2]), np.float32([2, 4]).astype(scale.dtype.numpy)
    for transformer in (xla, cpu, interpreter):
        found = nv.computation([y, nv.convert(y, scale.dtype)], x, scale, transformer=transformer)(*given)
        assert [part.astype(np.float32).tolist() for part in found] == [[2, 8], [2, 8]]
