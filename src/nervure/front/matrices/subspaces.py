"""Orthonormal bases of what a matrix reaches, and of what it takes to 0.

>>> import nervure as nv
>>> a = nv.constant([[1.0, 1.0], [1.0, 1.0]])
>>> nv.absolute(nv.linalg.orth(a)).numpy().round(4).tolist()
[[0.707099974155426], [0.707099974155426]]
>>> nv.linalg.null_space(a).shape, bool(nv.max(nv.absolute(a @ nv.linalg.null_space(a))).item() < 1e-6)
((2, 1), True)

A basis is arbitrary up to a rotation. Derivatives are those of functions that do not depend on it, for changes of the
matrix that keep its rank: a basis at the matrix, which does not change, is projected onto the subspace of the matrix
that does, and made orthonormal again.
"""

from __future__ import annotations

from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.front.argument_parsing import integer
from nervure.front.arranging.found import compress
from nervure.front.arranging.views import expand_dims, pad
from nervure.front.matrices.contraction import matmul
from nervure.front.matrices.factorisations import adjoint, as_matrix, cholesky, in_type_of, largest_zero, solve, svd
from nervure.front.op_functions import divide, greater, multiply
from nervure.front.pointwise.elementwise import logical_not, stop_gradient, where
from nervure.front.tensor import Tensor, TensorLike
from nervure.support.elsewhere import explain_keywords
from nervure.types.dim import less_equal

__all__ = ["null_space", "orth"]


def orth(a: TensorLike, rcond: float | None = None, rank: int | None = None) -> Tensor:
    """Returns an orthonormal basis, as columns, of the range of a: as many as singular values above ``rcond``.

    That is a share of the largest one, by default the larger length times the precision of the type. Their number is
    found when the graph runs, for one matrix; a ``rank`` that is given serves a batch, too.

    >>> nv.linalg.orth([[3.0, 0.0], [0.0, 0.0]], rank=1).numpy().round(4).__abs__().tolist()
    [[1.0], [0.0]]
    """
    own = as_matrix(a, "orth")
    _, s, vh = [stop_gradient(entry) for entry in svd(own)]
    counts = _counts(own, s, rcond)
    v = _chosen(multiply(vh, expand_dims(divide(1.0, where(counts, s, 1.0)), -1)), counts, rank, "orth")
    return in_type_of(_orthonormal(matmul(own, adjoint(v))), a, "orth")


def null_space(a: TensorLike, rcond: float | None = None, rank: int | None = None) -> Tensor:
    """Returns an orthonormal basis, as columns, of the vectors x with a @ x = 0.

    Singular values up to ``rcond`` times the largest one count as 0, by default the larger length times the precision
    of the type. The number of columns is found when the graph runs, for one matrix; with a ``rank`` of a that is given
    it is known, and a may be a batch.

    >>> nv.linalg.null_space([[1.0, 0.0]]).numpy().__abs__().tolist()
    [[0.0], [1.0]]
    """
    own = as_matrix(a, "null_space")
    rows, columns = own.type.shape[-2:]
    tall = own
    if less_equal(columns, rows) is not True:
        if not isinstance(rows, int) or not isinstance(columns, int):
            raise ShapeMismatch("it is not known whether the matrix has more columns than rows", op="null_space",
                                operand=1, got=str(own.type), expected="known lengths",
                                help="give rows and columns as numbers")
        tall = pad(own, [*[0] * (own.ndim - 2), (0, columns - rows), 0])
    u, s, vh = [stop_gradient(entry) for entry in svd(tall)]
    counts = _counts(own, s, rcond)
    shares = multiply(adjoint(u), expand_dims(divide(1.0, where(counts, s, 1.0)), -1))
    reached = matmul(_chosen(shares, counts, rank, "null_space"), tall)  # orthonormal rows, which span those of a
    basis = adjoint(_chosen(vh, counts, rank, "null_space", is_rest=True))
    along = solve(matmul(reached, adjoint(reached)), matmul(reached, basis))
    return in_type_of(_orthonormal(basis - matmul(adjoint(reached), along)), a, "null_space")


def _counts(x: Tensor, s: Tensor, rcond: float | None) -> Tensor:
    """Returns which singular values are not 0."""
    return greater(s, largest_zero(s, x, rcond))


def _chosen(x: Tensor, counts: Tensor, rank: int | None, name: str, is_rest: bool = False) -> Tensor:
    """Returns the rows whose singular value counts, or the others."""
    if rank is not None:
        number = integer(rank, name, "rank")
        length = x.type.shape[-2]
        if number < 0 or isinstance(length, int) and number > length:
            raise InvalidArgument("there is no such rank", op=name, operand="rank", got=number,
                                  expected=f"0 to {length}", help="nv.linalg.matrix_rank(a) counts it")
        return x[..., number:, :] if is_rest else x[..., :number, :]
    if x.ndim != 2:
        raise ShapeMismatch("matrices of a batch may differ in rank", op=name, operand=1, got=str(x.type),
                            expected="one matrix, or a rank that is given", help=f"nv.linalg.{name}(a, rank=2)")
    return compress(logical_not(counts) if is_rest else counts, x, 0)


def _orthonormal(x: Tensor) -> Tensor:
    """Returns columns that are orthonormal, of columns that are so but for their derivative."""
    lower = cholesky(matmul(adjoint(x), x))
    return adjoint(solve(lower, adjoint(x)))


explain_keywords(globals(), __all__)
