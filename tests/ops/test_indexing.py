"""Gathers, scatters and what is made of indices: types, errors, values against NumPy, derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.autodiff.reverse import gradients
from nervure.errors import DtypeMismatch, IndexOutOfRange, InvalidArgument, NotSupported, ShapeMismatch
from nervure.ir.kinds import Access, Element
from nervure.ops import (
    Eye,
    Gather,
    GatherElements,
    GatherNd,
    Iota,
    LookupTable,
    OneHot,
    Parameter,
    Scatter,
    ScatterElements,
    ScatterNd,
    Tril,
    Triu,
)
from nervure.types.dim import dim, index
from tests.ops.evaluation import check_derivatives, compute, evaluate, normal, tensor

RNG = np.random.default_rng(5)
COMBINERS = {"add": np.add, "multiply": np.multiply, "minimum": np.minimum, "maximum": np.maximum}


def indices(*shape: object) -> Parameter:
    return Parameter(nv.int64, shape)


def test_the_type_of_a_gather_has_the_index_in_the_place_of_the_axis() -> None:
    n, k = dim("N"), dim("K")
    assert Gather(tensor(2, n, 4), indices(k, 5), 1).shape == (2, k, 5, 4)
    assert Gather(tensor(2, n, 4), indices(), -2).shape == (2, 4)
    assert Gather(tensor(2, n, 4), indices(), -2).axis == 1
    assert GatherElements(tensor(2, n), indices(7, n), 0).shape == (7, n)
    assert GatherNd(tensor(2, n, 4), indices(k, 2)).shape == (k, 4)
    assert GatherNd(tensor(2, n, 4), indices(2, 9, 1), batch=1).shape == (2, 9, 4)


def test_the_iteration_of_a_gather_reads_x_through_the_index() -> None:
    op = Gather(tensor(2, 5), indices(7), 1)
    structure = op.structure(*[operand.type for operand in op.operands])
    assert structure.domain == (2, 7)
    assert structure.reads == (Access((index(0), Element(1, (index(1),), 5))), None)


def test_the_iteration_of_a_scatter_starts_from_x() -> None:
    op = Scatter(tensor(5, 2), indices(7), tensor(7, 2), 0, "add")
    structure = op.structure(*[operand.type for operand in op.operands])
    assert structure.domain == (7, 2) and structure.initial == 0 and structure.combine == "add"
    assert structure.reads[:2] == (None, None)
    assert structure.writes == (Access((Element(1, (index(0),), 5), index(1))),)


@pytest.mark.parametrize("build, operand, kind", [
    (lambda: Gather(tensor(3), tensor(2), 0), "2 (index)", DtypeMismatch),
    (lambda: Gather(tensor(3), Parameter(nv.bool_, (2,)), 0), "2 (index)", DtypeMismatch),
    (lambda: Gather(tensor(3), indices(2), 1), "axis", InvalidArgument),
    (lambda: Gather(tensor(), indices(2), 0), "1 (x)", ShapeMismatch),
    (lambda: GatherElements(tensor(3, 4), indices(3, 5), 0), "2 (index)", ShapeMismatch),
    (lambda: GatherElements(tensor(3, 4), indices(3), 0), "2 (index)", ShapeMismatch),
    (lambda: GatherNd(tensor(3, 4), indices(2, 3)), "2 (index)", ShapeMismatch),
    (lambda: GatherNd(tensor(3, 4), indices()), "2 (index)", ShapeMismatch),
    (lambda: GatherNd(tensor(3, 4), indices(2, dim("N"))), "2 (index)", ShapeMismatch),
    (lambda: GatherNd(tensor(3, 4), indices(2, 1), batch=1), "2 (index)", ShapeMismatch),
    (lambda: Scatter(tensor(3), indices(2), tensor(3), 0), "3 (updates)", ShapeMismatch),
    (lambda: Scatter(tensor(3), indices(2), tensor(2, dtype=nv.float64), 0), "3 (updates)", DtypeMismatch),
    (lambda: Scatter(tensor(3), indices(2), tensor(2), 0, "divide"), "mode", InvalidArgument),
    (lambda: Scatter(tensor(3, dtype=nv.complex64), indices(2), tensor(2, dtype=nv.complex64), 0, "maximum"), "1 (x)",
     DtypeMismatch),
    (lambda: OneHot(tensor(3), 4, nv.float32), "1 (index)", DtypeMismatch),
    (lambda: OneHot(indices(3), 4, nv.float32, axis=2), "axis", InvalidArgument),
    (lambda: LookupTable(tensor(3, 4), indices(2), pad_idx=3), "pad_idx", InvalidArgument),
    (lambda: Iota((2, 3), 2, nv.int32), "axis", InvalidArgument),
    (lambda: Eye((2, 3, 4), dtype=nv.int32), "shape", InvalidArgument),
    (lambda: Tril(tensor(3)), "1 (x)", ShapeMismatch),
])
def test_what_does_not_fit_is_explained(build, operand, kind) -> None:
    with pytest.raises(kind) as caught:
        build()
    assert caught.value.operand == operand and caught.value.got is not None
    assert caught.value.location.file == __file__


def test_labels_of_gathers_come_from_x_and_the_index() -> None:
    x, at = tensor(2, 3, 4), indices(5, 6)
    x.output.labels, at.output.labels = ("N", "C", "W"), ("H", None)
    assert Gather(x, at, 1).output.labels == ("N", "H", None, "W")
    assert Scatter(x, at, tensor(2, 5, 6, 4), 1).output.labels == ("N", "C", "W")


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (0,)])
def test_gather_is_numpys_take(axis: int, shape: tuple[int, ...]) -> None:
    x = normal(3, 4, 5)
    at = RNG.integers(-3, 3, shape)
    np.testing.assert_array_equal(evaluate(lambda x, i: Gather(x, i, axis), x, at), np.take(x, at, axis))


def test_gather_elements_and_positions() -> None:
    x = normal(3, 4)
    at = RNG.integers(-3, 3, (7, 4))
    np.testing.assert_array_equal(evaluate(lambda x, i: GatherElements(x, i, 0), x, at), np.take_along_axis(x, at, 0))
    pairs = np.array([[0, 1], [-1, -1], [2, 0]])
    np.testing.assert_array_equal(evaluate(GatherNd, x, pairs), x[pairs[:, 0], pairs[:, 1]])
    rows = RNG.integers(0, 4, (3, 2, 1))
    np.testing.assert_array_equal(evaluate(lambda x, i: GatherNd(x, i, batch=1), x, rows),
                                  np.take_along_axis(x, rows[..., 0], 1))


@pytest.mark.parametrize("bad", [3, -4, 2**40])
def test_an_index_out_of_range_is_an_index_error(bad: int) -> None:
    for build in (lambda x, i: Gather(x, i, 0), lambda x, i: OneHot(i, 3, nv.float32),
                  lambda x, i: Scatter(x, i, Gather(x, i, 0), 0)):
        with pytest.raises(IndexOutOfRange) as caught:
            evaluate(build, normal(3, 2), np.array([0, 2, bad]))
        assert str(bad) in caught.value.got
        assert caught.value.op in ("Gather", "OneHot", "Scatter")


@pytest.mark.parametrize("mode", ["set", *COMBINERS])
def test_scatter_combines_updates_in_order(mode: str) -> None:
    x, updates, at = normal(4, 3), normal(6, 3), np.array([0, 2, -1, 2, 0, 2])
    expected = x.copy()
    if mode == "set":
        for row, update in zip(at, updates, strict=True):
            expected[row] = update
    else:
        COMBINERS[mode].at(expected, at, updates)
    np.testing.assert_allclose(evaluate(lambda x, i, u: Scatter(x, i, u, 0, mode), x, at, updates), expected)
    again = evaluate(lambda x, i, u: ScatterElements(x, i, u, 0, mode), x, np.repeat(at[:, None], 3, 1), updates)
    np.testing.assert_allclose(again, expected)
    again = evaluate(lambda x, i, u: ScatterNd(x, i, u, mode), x, at[:, None], updates)
    np.testing.assert_allclose(again, expected)


def test_scatter_along_a_middle_axis() -> None:
    x, at = normal(2, 4, 3), np.array([[1, 1], [3, -4]])
    updates = normal(2, 2, 2, 3)
    expected = x.copy()
    np.add.at(expected, (slice(None), at), updates)
    np.testing.assert_allclose(evaluate(lambda x, i, u: Scatter(x, i, u, 1, "add"), x, at, updates), expected)


def test_scatter_adds_low_precision_in_float32() -> None:
    x, at = np.zeros(1, np.float16), np.zeros(4096, np.int64)
    assert evaluate(lambda x, i, u: Scatter(x, i, u, 0, "add"), x, at, np.ones(4096, np.float16))[0] == 4096


@pytest.mark.parametrize("dtype", [nv.float32, nv.int8, nv.bool_, nv.float64])
def test_one_hot(dtype: object) -> None:
    at = np.array([[0, 3], [-1, 1]])
    expected = np.eye(4)[at]
    got = evaluate(lambda i: OneHot(i, 4, dtype, axis=-1), at)
    assert got.dtype == dtype.numpy and (got == expected.astype(got.dtype)).all()
    assert (evaluate(lambda i: OneHot(i, 4, dtype), at) == np.moveaxis(expected, -1, 0).astype(got.dtype)).all()


def test_iota_counts_along_an_axis_or_in_all() -> None:
    assert (evaluate(lambda: Iota((2, 3), 1, nv.int32)) == [[0, 1, 2], [0, 1, 2]]).all()
    assert (evaluate(lambda: Iota((2, 3), None, nv.float32)) == np.arange(6).reshape(2, 3)).all()
    assert evaluate(lambda: Iota((), None, nv.int64)) == 0
    assert (evaluate(lambda: Iota((300,), 0, nv.uint8)) == np.arange(300).astype(np.uint8)).all()


@pytest.mark.parametrize("offset", [-2, 0, 1, 5])
def test_triangles_and_identity(offset: int) -> None:
    x = normal(2, 3, 4)
    np.testing.assert_array_equal(evaluate(lambda x: Tril(x, offset), x), np.tril(x, offset))
    np.testing.assert_array_equal(evaluate(lambda x: Triu(x, offset), x), np.triu(x, offset))
    np.testing.assert_array_equal(evaluate(lambda: Eye((3, 4), offset, nv.float32)), np.eye(3, 4, offset))


def test_derivatives_of_gathers_add_up() -> None:
    at = np.array([0, 2, 2, -1])
    check_derivatives(lambda x, i: Gather(x, i, 0) * Gather(x, i, 0), normal(3, 2), at)
    check_derivatives(lambda x, i: GatherElements(x, i, 1), normal(3, 2), RNG.integers(0, 2, (3, 5)))
    check_derivatives(GatherNd, normal(3, 2), np.array([[0, 1], [0, 1], [2, 0]]))


@pytest.mark.parametrize("mode", ["set", "add", "minimum", "maximum"])
def test_derivatives_of_scatters(mode: str) -> None:
    at = np.array([0, 2, -1, 2, 0])
    check_derivatives(lambda x, i, u: Scatter(x * x, i, u * u, 0, mode), normal(4, 2), at, normal(5, 2))
    nested = np.repeat(at[:, None], 2, 1)
    check_derivatives(lambda x, i, u: ScatterElements(x, i, u, 0, mode), normal(4, 2), nested, normal(5, 2))
    check_derivatives(lambda x, i, u: ScatterNd(x, i, u, mode), normal(4, 2), at[:, None], normal(5, 2))


def test_the_gradient_of_ties_is_shared_and_that_of_multiply_refused() -> None:
    x, at, updates = Parameter(nv.float64, (1,)), indices(2), Parameter(nv.float64, (2,))
    op = Scatter(x, at, updates, 0, "maximum")
    found = compute(gradients([op], [x, updates], [None]), [x, at, updates],
                    [np.array([1.0]), np.array([0, 0]), np.array([1.0, 0.5])])
    assert found[0].tolist() == [0.5] and found[1].tolist() == [0.5, 0.0]
    with pytest.raises(NotSupported):
        gradients([Scatter(x, at, updates, 0, "multiply")], [x], [None])


def test_lookup_table_leaves_the_padding_row_alone() -> None:
    table, at = normal(4, 3), np.array([[1, 2], [1, -3]])
    np.testing.assert_array_equal(evaluate(LookupTable, table, at), table[at])
    check_derivatives(LookupTable, table, at)
    for pad in (1, -3):
        found = evaluate(lambda t, i, pad=pad: gradients([LookupTable(t, i, pad)], [t], [None])[0], table, at)
        assert (found == [[0] * 3, [0] * 3, [1] * 3, [0] * 3]).all()


def test_gradients_of_a_lookup_table_by_frequency() -> None:
    """A row that is looked up often has the mean of its gradients, a negative index being the same row."""
    table, at = normal(4, 3), np.array([[1, 2], [1, -3]])
    np.testing.assert_array_equal(evaluate(lambda t, i: LookupTable(t, i, by_frequency=True), table, at), table[at])
    weights = np.arange(12.0).reshape(2, 2, 3)
    for pad, second in ((None, [(0 + 6 + 9) / 3, (1 + 7 + 10) / 3, (2 + 8 + 11) / 3]), (1, [0, 0, 0])):
        found = evaluate(lambda t, i, w, pad=pad: gradients([LookupTable(t, i, pad, True)], [t], [w])[0],
                         table, at, weights)
        np.testing.assert_allclose(found, [[0] * 3, second, [3, 4, 5], [0] * 3])
