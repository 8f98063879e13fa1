"""LU factorisation with partial pivoting, and systems that its factors solve.

>>> import nervure as nv
>>> p, l, u = nv.linalg.lu([[0.0, 2.0], [1.0, 3.0]])
>>> p.tolist(), l.tolist(), u.tolist()
([[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], [[1.0, 3.0], [0.0, 2.0]])

The factors are made column by column, by the same operations on all transformers. ``nv.linalg.solve`` is LAPACK's, and
faster for one system.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from nervure import ops
from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.front.argument_parsing import members
from nervure.front.arranging.filled import eye, iota, tril, triu
from nervure.front.arranging.gathering import as_index, gather_elements
from nervure.front.arranging.joining import concatenate
from nervure.front.arranging.rearranging import moveaxis
from nervure.front.arranging.views import broadcast, expand_dims, squeeze
from nervure.front.loops.loop_functions import scan
from nervure.front.matrices.factorisations import (
    as_matrix,
    as_square,
    broadcast_pair,
    in_common_type,
    in_type_of,
    solve,
    solve_triangular,
    turn,
)
from nervure.front.op_functions import equal
from nervure.front.pointwise.complex_parts import conj
from nervure.front.pointwise.elementwise import convert, where
from nervure.front.statistics.reductions import sum as total
from nervure.front.statistics.sorts import argsort
from nervure.front.tensor import Tensor, TensorLike
from nervure.support.elsewhere import explain_keywords
from nervure.types.dim import DimLike, less_equal
from nervure.types.dim import equal as same_length

__all__ = ["lu", "lu_factor", "lu_solve"]


class LuResult(NamedTuple):
    """A permutation, a lower triangle with ones on its diagonal, and an upper triangle."""

    P: Tensor
    L: Tensor
    U: Tensor


class LuFactors(NamedTuple):
    """L below the diagonal and U above it, in one matrix, and for each column the row that was exchanged with it."""

    LU: Tensor
    pivots: Tensor


def lu(a: TensorLike) -> LuResult:
    """Returns a permutation P, a lower triangle L with ones on its diagonal and an upper triangle U: P @ L @ U = a.

    L and U have the smaller length of a. In each column the element of largest magnitude comes to the diagonal.

    >>> [entry.tolist() for entry in nv.linalg.lu([[1.0, 2.0], [2.0, 8.0]])]
    [[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.5, 1.0]], [[2.0, 8.0], [0.0, -2.0]]]
    """
    packed, _, order = _factored(a, "lu")
    return LuResult(*[in_type_of(entry, a, "lu") for entry in (permutation(order, packed), *triangles(packed))])


def permutation(order: Tensor, packed: Tensor) -> Tensor:
    """Returns the matrix of an ``order`` of rows, in the element type of the factors ``packed`` in one matrix."""
    return convert(equal(expand_dims(order, -2), expand_dims(iota(packed.type.shape[-2]), -1)), packed.dtype)


def triangles(packed: Tensor) -> tuple[Tensor, Tensor]:
    """Returns L and U of the factors ``packed`` in one matrix."""
    rows, columns = packed.type.shape[-2:]
    count = columns if less_equal(columns, rows) is True else rows
    return tril(packed[..., :count], -1) + eye(rows, count, dtype=packed.dtype), triu(packed[..., :count, :])


def lu_factor(a: TensorLike) -> LuFactors:
    """Returns the factors of a in one matrix, U above and L below the diagonal, and the pivots, as SciPy does.

    Column k was made with row k and row ``pivots[k]`` exchanged; they count from 0.

    >>> factors = nv.linalg.lu_factor([[1.0, 2.0], [2.0, 8.0]])
    >>> factors.LU.tolist(), factors.pivots.tolist()
    ([[2.0, 8.0], [0.5, -2.0]], [1, 1])
    """
    packed, pivots, _ = _factored(a, "lu_factor")
    return LuFactors(in_type_of(packed, a, "lu_factor"), pivots)


def lu_solve(factors: Any, b: TensorLike, trans: int = 0) -> Tensor:
    """Solves a @ x = b for x, from the ``factors`` of a that ``nv.linalg.lu_factor`` gives.

    ``trans`` 1 solves with the transpose of a, 2 with its conjugate, too.

    >>> nv.linalg.lu_solve(nv.linalg.lu_factor([[1.0, 2.0], [2.0, 8.0]]), [3.0, 10.0]).tolist()
    [1.0, 1.0]
    """
    listed: list[Any] = members(factors, "lu_solve", "factors", "what nv.linalg.lu_factor gives")
    if len(listed) != 2:
        raise InvalidArgument("this is no factored matrix to solve with", op="lu_solve", operand="factors",
                              got=f"{len(listed)} entries", expected="(LU, pivots)",
                              help="nv.linalg.lu_factor(a) gives the factors")
    trans = turn(trans, "lu_solve")
    first, b = in_common_type(listed[0], b, "lu_solve")
    packed, pivots = as_square(first, "lu_solve"), as_index(listed[1], "lu_solve")
    if pivots.ndim != packed.ndim - 1 or same_length(pivots.type.shape[-1], packed.type.shape[-1]) is False:
        raise ShapeMismatch("each column has a pivot", op="lu_solve", operand="factors", got=str(pivots.type),
                            expected=f"{packed.type.shape[-1]} pivots, for each matrix of {packed.type}",
                            help="nv.linalg.lu_factor(a) gives them")
    left, right, is_vector = broadcast_pair(packed, b, "lu_solve")
    order = broadcast(order_of_rows(pivots, packed.type.shape[-1]), left.type.shape[:-1])
    if trans == 0:
        middle = solve_triangular(left, _rows(right, order), lower=True, unit_diagonal=True)
        found = solve_triangular(left, middle)
    else:
        other = conj(left) if trans == 2 and left.dtype.is_complex else left
        middle = solve_triangular(other, right, trans=1)
        found = _rows(solve_triangular(other, middle, lower=True, trans=1, unit_diagonal=True), argsort(order))
    return in_type_of(squeeze(found, -1) if is_vector else found, b, "lu_solve")


def _factored(a: TensorLike, name: str) -> tuple[Tensor, Tensor, Tensor]:
    """Returns both factors in one matrix, the pivots, and the order of rows, of a matrix of any shape."""
    own = as_matrix(a, name)
    rows, columns = own.type.shape[-2:]
    if less_equal(columns, rows) is True:
        packed, pivots, order = [Tensor(value) for value in ops.Lu(own.value).outputs]
        return packed, pivots, order
    if not isinstance(rows, int):
        raise ShapeMismatch("it is not known whether the matrix has more columns than rows", op=name, operand=1,
                            got=str(own.type), expected="known lengths", help="give the rows as a number")
    packed, pivots, order = [Tensor(value) for value in ops.Lu(own[..., :rows].value).outputs]
    lower = tril(packed, -1) + eye(rows, dtype=own.dtype)
    return concatenate([packed, solve(lower, _rows(own[..., rows:], order))], -1), pivots, order


def _rows(x: Tensor, order: Tensor) -> Tensor:
    """Returns matrices with their rows in another order."""
    return gather_elements(x, broadcast(expand_dims(order, -1), (*order.type.shape, x.type.shape[-1])), -2)


def order_of_rows(pivots: Tensor, rows: DimLike) -> Tensor:
    """Returns the order in which exchanges with the ``pivots``, which count from 0, bring some ``rows``."""
    places = iota(rows)
    count = pivots.type.shape[-1]

    def exchanged(order: Tensor, step: tuple[Tensor, Tensor]) -> tuple[Tensor, None]:
        is_own, is_other = equal(places, step[0]), equal(places, expand_dims(step[1], -1))
        own, other = [total(where(mask, order, 0), axis=-1, keepdims=True) for mask in (is_own, is_other)]
        return where(is_own, other, where(is_other, own, order)), None
    start = broadcast(places, (*pivots.type.shape[:-1], rows))
    return scan(exchanged, start, (iota(count), moveaxis(pivots, -1, 0)))[0]


explain_keywords(globals(), __all__)
