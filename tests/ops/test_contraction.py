"""Contract and its names: types, errors, the iteration, values against NumPy, derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.errors import DtypeMismatch, InvalidArgument, ShapeMismatch
from nervure.ir.kinds import multiply_body
from nervure.ops import Contract, Dot, Einsum, MatMul, Parameter
from nervure.types.dim import dim
from tests.conformance.running import transformer
from tests.ops.evaluation import check_derivatives, evaluate, normal, tensor

RNG = np.random.default_rng(3)


def test_the_type_of_a_contraction_lists_the_lengths_of_its_indices() -> None:
    batch, inner = dim("B"), dim("K", min=1)
    x, y = tensor(batch, 5, inner), tensor(inner, batch, 7)
    assert Contract(x, y, (0, 1, 9), (9, 0, 4), (4, 0, 1)).shape == (7, batch, 5)


def test_the_iteration_runs_over_the_results_dimensions_and_then_the_contracted_ones() -> None:
    op = Contract(tensor(2, 3), tensor(3, 4), (0, 2), (2, 1), (1, 0))
    structure = op.structure(*[operand.type for operand in op.operands])
    assert structure.domain == (4, 2, 3) and structure.reduced == (2,)
    assert structure.body is multiply_body and structure.combine == "add"
    assert structure.accumulate is nv.float32


def test_low_precision_adds_up_in_float32_and_integers_in_their_own_type() -> None:
    for dtype, accumulate in [(nv.bfloat16, nv.float32), (nv.int8, nv.int8), (nv.float64, nv.float64)]:
        op = MatMul(tensor(2, 3, dtype=dtype), tensor(3, 4, dtype=dtype)).decompose(
            tensor(2, 3, dtype=dtype).output, tensor(3, 4, dtype=dtype).output).op
        assert op.structure(*[operand.type for operand in op.operands]).accumulate is accumulate


@pytest.mark.parametrize("x_indices, y_indices, indices, operand", [
    ((0, 0), (0, 1), (0, 1), "x_indices"),
    ((0, 1), (1, 2), (0, 2, 2), "indices"),
    ((0, 1), (1, 2), (0,), "y_indices"),
    ((0, 1), (1, 2), (0, 2, 3), "indices"),
])
def test_an_index_is_in_two_of_the_three_and_once_in_each(x_indices, y_indices, indices, operand) -> None:
    with pytest.raises(InvalidArgument) as caught:
        Contract(tensor(3, 3), tensor(3, 3), x_indices, y_indices, indices)
    assert (caught.value.op, caught.value.operand) == ("Contract", operand)
    assert caught.value.location.file == __file__


def test_lengths_must_be_provably_equal() -> None:
    n, m = dim("N"), dim("M")
    with pytest.raises(ShapeMismatch) as caught:
        MatMul(tensor(2, 3), tensor(4, 5))
    assert caught.value.op == "MatMul" and caught.value.operand == "2 (y), dimension 0"
    assert caught.value.got == "4 in f32[4, 5]" and caught.value.expected == "3"
    with pytest.raises(ShapeMismatch, match="two lengths") as caught:
        MatMul(tensor(2, n), tensor(m, 5))
    assert "AssumeShape" in caught.value.help


def test_element_types_must_agree() -> None:
    with pytest.raises(DtypeMismatch) as caught:
        MatMul(tensor(2, 3), tensor(3, 4, dtype=nv.float64))
    assert (caught.value.operand, caught.value.got) == ("2 (y)", "f64[3, 4]") and "Convert" in caught.value.help
    with pytest.raises(DtypeMismatch, match="int4"):
        Einsum(tensor(2, dtype=nv.types.dtype.int4), subscripts="i")


@pytest.mark.parametrize("x, y", [((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)),
                                  ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4)), ((5, 1, 2, 3), (6, 3, 4)),
                                  ((1, 2, 3), (5, 3, 4)), ((1, 1, 2, 3), (1, 1, 3, 4)), ((3,), (5, 3, 4)),
                                  ((5, 2, 3), (3,)), ((0, 3), (3, 4)), ((2, 0), (0, 4)), ((7, 0, 2, 3), (1, 3, 4))])
def test_matmul_is_numpys(x: tuple[int, ...], y: tuple[int, ...]) -> None:
    a, b = normal(*x), normal(*y)
    expected = np.matmul(a, b)
    assert MatMul(tensor(*x), tensor(*y)).shape == expected.shape
    np.testing.assert_allclose(evaluate(MatMul, a, b), expected, atol=1e-12)


def test_matmul_repeats_a_literal_one_and_never_a_symbol() -> None:
    n, m = dim("N"), dim("M")
    assert MatMul(tensor(n, 2, 3), tensor(1, 3, 4)).shape == (n, 2, 4)
    with pytest.raises(ShapeMismatch):
        MatMul(tensor(n, 2, 3), tensor(m, 3, 4))
    with pytest.raises(ShapeMismatch):
        MatMul(tensor(5, 2, 3), tensor(6, 3, 4))
    with pytest.raises(ShapeMismatch, match="rank"):
        MatMul(tensor(), tensor(3))


def test_matmul_of_two_matrices_is_one_contraction() -> None:
    x, y = tensor(7, 2, 3), tensor(7, 3, 4)
    op = MatMul(x, y).decompose(x.output, y.output).op
    assert type(op) is Contract and op.operands == (x.output, y.output)


@pytest.mark.parametrize("build", [MatMul, lambda x, y: Einsum(x, y, subscripts="zyx, xk -> zyk"),
                                   lambda x, y: Dot(x, y, [(2, 0)])])
def test_indices_are_numbered_as_dimensions_follow_each_other_so_that_gradients_sum_in_order_of_memory(build) -> None:
    x, y = tensor(7, 2, 3), tensor(3, 4)
    op = build(x, y).decompose(x.output, y.output).op
    assert (op.x_indices, op.y_indices, op.indices) == ((0, 1, 2), (2, 3), (0, 1, 3))


@pytest.mark.parametrize("subscripts, shapes", [
    ("ij,jk->ik", [(2, 3), (3, 4)]), ("ij, jk", [(2, 3), (3, 4)]), ("ij,kj->", [(2, 3), (4, 3)]), ("ii", [(3, 3)]),
    ("ii->i", [(3, 3)]), ("iij->ji", [(3, 3, 2)]), ("ij->ji", [(2, 3)]), ("ij->", [(2, 3)]),
    ("i,j,k->kji", [(2,), (3,), (4,)]),
    ("ab,bc,cd,de->ae", [(2, 30), (30, 3), (3, 20), (20, 4)]), ("...ij,...jk->...ik", [(5, 2, 3), (1, 3, 4)]),
    ("...i,i...->...", [(2, 3), (3, 2)]), ("...,...", [(2, 1), (3,)]), ("i...->...i", [(2, 3, 4)]),
    ("bij,bjk->bik", [(5, 2, 3), (5, 3, 4)]), ("i,i->i", [(3,), (3,)]), ("i,i,i->", [(3,), (3,), (3,)]),
    ("ij,ij->j", [(2, 3), (2, 3)]), ("iji,j->i", [(2, 3, 2), (3,)]),
    ("ij,k->k", [(2, 3), (4,)]), ("...ij->...ji", [(2, 3)]), ("bA,Ac", [(2, 3), (3, 4)]), ("ij,j->ij", [(2, 3), (3,)]),
])
def test_einsum_is_numpys(subscripts: str, shapes: list[tuple[int, ...]]) -> None:
    arrays = [normal(*shape) for shape in shapes]
    expected = np.einsum(subscripts, *arrays)
    result = Einsum(*[tensor(*shape) for shape in shapes], subscripts=subscripts)
    assert result.shape == expected.shape
    np.testing.assert_allclose(evaluate(lambda *xs: Einsum(*xs, subscripts=subscripts), *arrays), expected, atol=1e-12)
    masks = [array > 0.5 for array in arrays]
    for name in ("interpreter", "cpu"):
        own = [nv.Parameter(nv.bool_, mask.shape) for mask in masks]
        run = transformer(name).compile(nv.Function([Einsum(*own, subscripts=subscripts)], own))
        np.testing.assert_array_equal(run(masks)[0], np.einsum(subscripts, *masks))


def test_einsum_multiplies_the_cheapest_pair_first() -> None:
    a, b, c = tensor(100, 2), tensor(2, 100), tensor(100, 2)
    first = Einsum(a, b, c, subscripts="ij,jk,kl->il").decompose(a.output, b.output, c.output).op.operands
    assert {type(value.op) for value in first} == {Parameter, Contract}
    assert a.output in first


@pytest.mark.parametrize("subscripts, shapes, kind", [
    ("ij,jk->ik", [(2, 3)], InvalidArgument), ("ij->ik", [(2, 3)], InvalidArgument),
    ("ij->ii", [(2, 3)], InvalidArgument), ("i1->i", [(2, 3)], InvalidArgument), ("i->i", [(2, 3)], ShapeMismatch),
    ("ijk->i", [(2, 3)], ShapeMismatch), ("ii->i", [(2, 3)], ShapeMismatch), ("i,i->i", [(1,), (3,)], ShapeMismatch),
    ("......->", [(2, 3)], InvalidArgument), ("ij->i->j", [(2, 3)], InvalidArgument),
    ("...i,...i", [(2, 3), (4, 3)], ShapeMismatch), ("", [], InvalidArgument),
])
def test_einsum_explains_what_is_wrong(subscripts: str, shapes: list[tuple[int, ...]], kind: type) -> None:
    with pytest.raises(kind) as caught:
        Einsum(*[tensor(*shape) for shape in shapes], subscripts=subscripts)
    assert caught.value.op == "Einsum" and caught.value.got is not None and caught.value.expected is not None


def test_dot_contracts_pairs_and_keeps_the_rest_in_order() -> None:
    a, b = normal(2, 3, 4), normal(4, 5, 3)
    expected = np.tensordot(a, b, ([1, 2], [2, 0]))
    np.testing.assert_allclose(evaluate(lambda x, y: Dot(x, y, [(1, 2), (-1, 0)]), a, b), expected, atol=1e-12)
    np.testing.assert_allclose(evaluate(Dot, normal(2), b[:, 0, 0]).shape, (2, 4))
    for pairs in ([(0, 0), (0, 1)], [(1, 2), (2, 2)], [(3, 0)], [(0, 0, 0)]):
        with pytest.raises(InvalidArgument) as caught:
            Dot(tensor(2, 2, 2), tensor(2, 2, 2), pairs)
        assert caught.value.operand == "pairs"


def test_labels_follow_the_indices() -> None:
    x, y = tensor(7, 2, 3), tensor(7, 3, 4)
    x.output.labels, y.output.labels = ("N", "H", None), (None, "K", "W")
    assert MatMul(x, y).output.labels == ("N", "H", "W")
    assert Einsum(x, y, subscripts="nhk,nkw->wn").output.labels == ("W", "N")
    assert Dot(x, y, [(2, 1)]).output.labels == ("N", "H", None, "W")


def test_integers_wrap_and_bool_is_or_of_ands() -> None:
    a = np.full((1, 3), 100, np.int8)
    assert evaluate(MatMul, a, a.T) == np.array(30000).astype(np.int8)
    p, q = RNG.random((3, 4)) < 0.5, RNG.random((4, 2)) < 0.5
    assert (evaluate(MatMul, p, q) == p @ q).all()


def test_float16_is_rounded_once() -> None:
    a = np.full((1, 4096), 0.1, np.float16)
    expected = np.float16((a.astype(np.float32) @ a.T.astype(np.float32))[0, 0])
    assert evaluate(MatMul, a, a.T) == expected
    big = np.array([60000.0, 2.0, 0.25], np.float16)
    assert evaluate(lambda x: Einsum(x, x, x, subscripts="i,i,i->i"), np.array([300.0, 1.0], np.float16))[1] == 1
    value = evaluate(lambda x, y, z: Einsum(x, y, z, subscripts=",,->"), *big)
    assert value == np.float16(30000.0)


def test_derivatives_of_contractions() -> None:
    check_derivatives(MatMul, normal(2, 3), normal(3, 4))
    check_derivatives(MatMul, normal(5, 1, 2, 3), normal(6, 3, 4))
    check_derivatives(lambda x, y: Dot(x, y, [(0, 1)]), normal(2, 3), normal(4, 2))
    arrays = normal(2, 2, 3), normal(3, 4), normal(4)
    check_derivatives(lambda x, y, z: Einsum(x, y, z, subscripts="iij,jk,k->i"), *arrays)
    check_derivatives(lambda x: Einsum(x, x, subscripts="...i,...i"), normal(2, 3))
