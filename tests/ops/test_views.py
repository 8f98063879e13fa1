"""Views and writes through index maps: types, errors, labels, values against NumPy, derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.autodiff.reverse import gradients
from nervure.errors import DtypeMismatch, IndexOutOfRange, InvalidArgument, NervureError, ShapeMismatch
from nervure.ir.function import Function
from nervure.ir.kinds import Access
from nervure.ops import (
    AccumulateView,
    AssumeShape,
    Broadcast,
    Concatenate,
    Contiguous,
    Diagonal,
    FoldedPad,
    IndexView,
    Pad,
    Parameter,
    Permute,
    Reshape,
    Reverse,
    Slice,
    UpdateView,
)
from nervure.types.dim import dim, index
from nervure.types.index_map import IndexMap
from tests.ops.evaluation import check_derivatives, evaluate, normal, tensor

N, M = dim("N", min=1), dim("M")


I, J = index(0), index(1)
SHEAR = IndexMap((3, 2), (I, I + J))  # each row a little further to the right
X = normal(3, 4)

CASES = [
    (lambda x: Broadcast(x, (3, 2, 4, 5), (1, 3)), lambda x: np.broadcast_to(x[:, None, :, None], (3, 2, 4, 5))),
    (lambda x: Broadcast(x, (3, 4), ()), lambda x: x),
    (lambda x: Broadcast(x, (0, 3, 4), (-3,)), lambda x: np.zeros((0, 3, 4))),
    (lambda x: Permute(x, (1, 0)), np.transpose),
    (lambda x: Permute(Broadcast(x, (2, 3, 4), (0,)), (2, 0, -2)), lambda x: np.stack([x, x]).transpose(2, 0, 1)),
    (lambda x: Reshape(x, (2, 6)), lambda x: x.reshape(2, 6)),
    (lambda x: Reshape(x, (12,)), np.ravel),
    (lambda x: Reshape(Permute(x, (1, 0)), (2, 3, 2)), lambda x: x.T.reshape(2, 3, 2)),
    (lambda x: Slice(x, [(1, 2, 1), (0, 4, 1)]), lambda x: x[1:]),
    (lambda x: Slice(x, [(2, 3, -1), (3, 2, -2)]), lambda x: x[::-1, ::-2]),
    (lambda x: Slice(x, [(0, 2, 2), (1, 2, 1)]), lambda x: x[::2, 1:3]),
    (lambda x: Slice(x, [(1, 2, -1), (0, 0, 1)]), lambda x: x[1::-1, :0]),
    (lambda x: Slice(x, [(1, 1, 5), (2, 2, -1)]), lambda x: x[1:2, 2:0:-1]),
    (lambda x: Slice(x, [2, (1, 2, 1)]), lambda x: x[:2, 1:3]),  # A321
    (lambda x: Reverse(x, (0, -1)), lambda x: x[::-1, ::-1]),
    (lambda x: Pad(x, [(1, 2), (0, 3)], 7), lambda x: np.pad(x, [(1, 2), (0, 3)], constant_values=7)),
    (lambda x: Pad(x, [(-1, 2), (1, -2)]), lambda x: np.pad(x[1:, :2], [(0, 2), (1, 0)])),
    (lambda x: Pad(x, [(2, -4), (0, 0)], 1), lambda x: np.ones((1, 4))),
    *[(lambda x, mode=mode: FoldedPad(x, [(2, 1), (5, 6)], mode),
       lambda x, mode=mode: np.pad(x, [(2, 1), (5, 6)], mode))
      for mode in ("edge", "reflect", "symmetric", "wrap")],
    (lambda x: Concatenate(x, x, axis=-1), lambda x: np.concatenate([x, x], 1)),
    (lambda x: Concatenate(x, Slice(x, [(0, 0, 1), (0, 4, 1)]), Slice(x, [(1, 1, 1), (0, 4, 1)]), axis=0),
     lambda x: np.concatenate([x, x[1:2]])),
    (lambda x: Contiguous(Permute(x, (1, 0))), np.transpose),
    (Diagonal, np.diagonal),
    (lambda x: Diagonal(x, -1), lambda x: np.diagonal(x, -1)),
    (lambda x: Diagonal(x, 2, 1, 0), lambda x: np.diagonal(x, 2, 1, 0)),
    (lambda x: Diagonal(x, 9), lambda x: np.diagonal(x, 9)),
    (lambda x: IndexView(x, SHEAR), lambda x: np.stack([x[i, i:i + 2] for i in range(3)])),
    (lambda x: IndexView(x, IndexMap((2, 5), (1, I))), lambda x: np.tile(x[1, :2, None], 5)),
    (lambda x: AssumeShape(x, (3, 4)), lambda x: x),
]


@pytest.mark.parametrize("build, expected", CASES)
def test_values_and_derivatives(build, expected) -> None:
    wanted = expected(X)
    assert build(tensor(3, 4)).shape == wanted.shape
    np.testing.assert_array_equal(evaluate(build, X), wanted)
    check_derivatives(lambda x: build(x * x), X)


def test_views_take_every_element_type() -> None:
    for dtype in nv.types.dtype.all_dtypes:
        x = np.arange(1, 7).reshape(2, 3).astype(dtype.numpy)
        got = evaluate(lambda x: Pad(Permute(Reverse(x, [0]), (1, 0)), [(0, 0), (1, 0)], 1), x)
        expected = np.concatenate([np.ones((3, 1), dtype.numpy), x[::-1].T], 1)
        assert got.dtype == expected.dtype and (got == expected).all()


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
def test_padding_of_one_element_has_derivatives(mode) -> None:
    # Whatever the expression of a folded index looks like, here it is 0 everywhere.
    check_derivatives(lambda x: FoldedPad(x, [(1, 1), (2, 1)], mode) ** 2.0, normal(1, 2) + 3.0)


def test_shapes_are_symbolic() -> None:
    x = tensor(N, 4)
    assert Reshape(x, (2 * N, 2)).shape == (2 * N, 2)
    assert Concatenate(x, tensor(M, 4), axis=0).shape == (N + M, 4)
    sliced = Slice(x, [(1, N - 1, 1), (0, 4, 1)])
    assert sliced.shape == (N - 1, 4)
    assert sliced.vjp(sliced.output, x.output)[0].shape == (N, 4)
    assert Pad(x, [(M, 0), (0, 0)]).shape == (N + M, 4)
    assert Diagonal(tensor(N, N)).shape == (N,)
    build = Concatenate(Reverse(x, [0]), x, axis=0)
    executable = nv.transformers.make_transformer("interpreter").compile(Function([build], [x]))
    for length in (1, 3):
        array = np.arange(4 * length, dtype=np.float32).reshape(length, 4)
        np.testing.assert_array_equal(executable([array])[0], np.concatenate([array[::-1], array]))


@pytest.mark.parametrize("build, kind, operand", [
    (lambda: Broadcast(tensor(3), (3, 4), (0,)), ShapeMismatch, "dimension 0"),
    (lambda: Broadcast(tensor(3), (2, 3, 4), (0,)), ShapeMismatch, "1 (x)"),
    (lambda: Broadcast(tensor(3), (2, 3), (2,)), InvalidArgument, "axes"),
    (lambda: Broadcast(tensor(N), (2, M), (0,)), ShapeMismatch, "dimension 0"),
    (lambda: Permute(tensor(3, 4), (0,)), InvalidArgument, "order"),
    (lambda: Permute(tensor(3, 4), (0, 0)), InvalidArgument, "order"),
    (lambda: Permute(tensor(3, 4), (0, 2)), InvalidArgument, "order"),
    (lambda: Reshape(tensor(3, 4), (5, 2)), ShapeMismatch, "1 (x)"),
    (lambda: Reshape(tensor(N, 4), (M, 4)), ShapeMismatch, "1 (x)"),
    (lambda: Reshape(tensor(3, 4), (-1, 4)), NervureError, "dimension 0"),
    (lambda: Slice(tensor(3), [(0, 4, 1)]), IndexOutOfRange, "dimension 0"),
    (lambda: Slice(tensor(3), [(1, 3, -1)]), IndexOutOfRange, "dimension 0"),
    (lambda: Slice(tensor(3), [(0, 2, 0)]), InvalidArgument, "dimension 0"),
    (lambda: Slice(tensor(3), [(0, -1, 1)]), IndexOutOfRange, "dimension 0"),
    (lambda: Slice(tensor(3), []), InvalidArgument, "ranges"),
    (lambda: Reverse(tensor(3), (1,)), InvalidArgument, "axes"),
    (lambda: Pad(tensor(3), [(-2, -2)]), NervureError, "dimension 0"),
    (lambda: Pad(tensor(3), [(1, 1), (0, 0)]), InvalidArgument, "padding"),
    (lambda: Pad(tensor(3, dtype=nv.int8), [(1, 1)], 300), InvalidArgument, "number"),
    (lambda: Pad(tensor(3, dtype=nv.int8), [(1, 1)], 0.5), InvalidArgument, "number"),
    (lambda: FoldedPad(tensor(3), [(1, 1)], "mirror"), InvalidArgument, "mode"),
    (lambda: FoldedPad(tensor(0), [(1, 1)], "edge"), InvalidArgument, "dimension 0"),
    (lambda: Concatenate(axis=0), InvalidArgument, "xs"),
    (lambda: Concatenate(tensor(), tensor(), axis=0), ShapeMismatch, "1"),
    (lambda: Concatenate(tensor(3, 4), tensor(3, 5), axis=0), ShapeMismatch, "2"),
    (lambda: Concatenate(tensor(3), tensor(3, dtype=nv.int8), axis=0), DtypeMismatch, "2 (xs)"),
    (lambda: Concatenate(tensor(3), tensor(3), axis=1), InvalidArgument, "axis"),
    (lambda: Diagonal(tensor(3, 4), 0, 1, 1), InvalidArgument, "first, second"),
    (lambda: Diagonal(tensor(3)), InvalidArgument, "first, second"),
    (lambda: IndexView(tensor(3), SHEAR), ShapeMismatch, "map"),
    (lambda: IndexView(tensor(3, 3), SHEAR), IndexOutOfRange, "map"),
    (lambda: IndexView(tensor(3, 3), (1, 2)), TypeError, "map"),
    (lambda: AccumulateView(tensor(3), SHEAR, (3, 4)), ShapeMismatch, "1 (x)"),
    (lambda: UpdateView(tensor(3, 4), tensor(2, 3), SHEAR), ShapeMismatch, "2 (y)"),
    (lambda: UpdateView(tensor(3, 4), tensor(3, 2, dtype=nv.int8), SHEAR), DtypeMismatch, "2 (y)"),
    (lambda: UpdateView(tensor(3), tensor(5), IndexMap((5,), (1,))), InvalidArgument, "map"),
    (lambda: AssumeShape(tensor(3, N), (4, N)), ShapeMismatch, "1 (x)"),
    (lambda: AssumeShape(tensor(3, N), (3,)), ShapeMismatch, "1 (x)"),
])
def test_what_does_not_fit_is_explained(build, kind, operand) -> None:
    with pytest.raises(kind) as caught:
        build()
    error = caught.value
    assert error.operand == operand and error.got is not None and error.location.file == __file__
    assert error.op in ("Broadcast Permute Reshape Slice Reverse Pad FoldedPad Concatenate Diagonal IndexView "
                        "AccumulateView UpdateView AssumeShape").split()


def test_labels_stay_with_their_dimensions() -> None:
    x = tensor(3, 4)
    x.output.labels = ("H", "W")
    expected = [
        (Permute(x, (1, 0)), ("W", "H")), (Broadcast(x, (2, 3, 4), (0,)), (None, "H", "W")),
        (Reverse(x, [0]), ("H", "W")), (Slice(x, [(0, 2, 1), (3, 4, -1)]), ("H", "W")), (Reshape(x, (12,)), None),
        (Reshape(x, (3, 2, 2)), ("H", None, None)),
        (Pad(x, [(1, 1), (0, 0)]), ("H", "W")), (FoldedPad(x, [(1, 1), (0, 0)], "wrap"), ("H", "W")),
        (Concatenate(x, x, axis=0), ("H", "W")), (Contiguous(x), ("H", "W")), (Diagonal(x), None),
        (AssumeShape(x, (3, 4)), ("H", "W")),
        (UpdateView(x, tensor(3, 2), SHEAR), ("H", "W")),
        (AccumulateView(x, IndexMap((3, 4), (J, 1, I)), (4, 2, 3)), ("W", None, "H")),
    ]
    for op, labels in expected:
        assert op.output.labels == labels, op


def test_writes_through_index_maps() -> None:
    y = normal(3, 2)
    expected = X.copy()
    for i in range(3):
        expected[i, i:i + 2] = y[i]
    np.testing.assert_array_equal(evaluate(lambda x, y: UpdateView(x, y, SHEAR), X, y), expected)
    check_derivatives(lambda x, y: UpdateView(x * x, y * y, SHEAR), X, y)
    overlapping = IndexMap((3, 2), (I + J,))
    expected = np.array([y[0, 0], y[0, 1] + y[1, 0], y[1, 1] + y[2, 0], y[2, 1], 0])
    np.testing.assert_allclose(evaluate(lambda y: AccumulateView(y, overlapping, (5,)), y), expected)
    check_derivatives(lambda y: AccumulateView(y * y, overlapping, (5,)), y)
    structure = UpdateView(tensor(3, 4), tensor(3, 2), SHEAR)
    structure = structure.structure(*[operand.type for operand in structure.operands])
    assert (structure.domain, structure.initial, structure.combine) == ((3, 2), 0, "set")
    assert structure.reads == (None, Access((I, J))) and structure.writes == (Access((I, I + J)),)


def test_the_gradient_of_a_slice_is_a_view() -> None:
    for slices, kinds in [([(1, 2, 1), (0, 4, 1)], {"Pad"}), ([(2, 2, -1), (0, 4, 1)], {"Pad", "Reverse"}),
                          ([(0, 2, 2), (0, 4, 1)], {"AccumulateView"})]:
        x = Parameter(nv.float64, (3, 4))
        found = gradients([Slice(x, slices)], [x], [None])[0]
        assert {type(op).__name__ for op in Function([found], []).operations} - {"Full"} == kinds


def test_assumptions_name_what_is_not_certain() -> None:
    x = tensor(N, 4, M)
    op = AssumeShape(x, (3, 4, M), needed_by="Dot")
    assert op.shape == (3, 4, M)
    assumption, = op.assumptions()
    assert (assumption.left, assumption.right, assumption.op) == (N, 3, "Dot")
    assert assumption.location.file == __file__
    function = Function([op], [x])
    assert function.assumptions == (assumption,)
    executable = nv.transformers.make_transformer("interpreter").compile(function)
    assert executable([np.ones((3, 4, 2), np.float32)])[0].shape == (3, 4, 2)
    with pytest.raises(NervureError, match="N"):
        executable([np.ones((2, 4, 2), np.float32)])
