"""Tensors as matrices: some axes are the rows, the others the columns; and sums of Kronecker products.

>>> import nervure as nv
>>> nv.linalg.tensorinv(nv.reshape(2 * nv.eye(4), (2, 2, 2, 2))).shape
(2, 2, 2, 2)
>>> nv.linalg.kron_sum([[1.0]], [[2.0, 0.0], [0.0, 3.0]]).tolist()
[[3.0, 0.0], [0.0, 4.0]]
"""

from __future__ import annotations

from nervure.errors import ShapeMismatch
from nervure.front.alignment import broadcast_shape
from nervure.front.argument_parsing import integer, positions_of
from nervure.front.arranging.filled import eye
from nervure.front.arranging.rearranging import moveaxis
from nervure.front.arranging.views import expand_dims, flatten, reshape
from nervure.front.matrices.factorisations import as_square, in_common_type, in_type_of, inv, solve, without_names
from nervure.front.pointwise.elementwise import as_floats
from nervure.front.tensor import Tensor, TensorLike
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import AxesLike
from nervure.types.dim import equal, product

__all__ = ["kron_sum", "tensorinv", "tensorsolve"]


def tensorinv(a: TensorLike, ind: int = 2) -> Tensor:
    """Returns the inverse of a as a matrix whose rows are the first ``ind`` axes, and whose columns are the others.

    The columns' axes come first. ``nv.tensordot(nv.linalg.tensorinv(a, ind), b, ind)`` solves
    ``nv.tensordot(a, x, x.ndim) = b``.

    >>> nv.linalg.tensorinv(nv.reshape(nv.eye(6), (6, 2, 3)), ind=1).shape
    (2, 3, 6)
    """
    own = without_names(as_floats(a, "tensorinv"), "tensorinv")
    count = integer(ind, "tensorinv", "ind")
    shape = own.type.shape
    rows, columns = shape[:max(count, 0)], shape[max(count, 0):]
    if count <= 0 or equal(product(rows), product(columns)) is False:
        raise ShapeMismatch("the axes make no square matrix", op="tensorinv", operand=1, got=str(own.type),
                            expected="as many elements in the first axes as in the others",
                            help="ind says how many axes are the rows")
    return reshape(in_type_of(inv(reshape(own, (product(rows), product(columns)))), a, "tensorinv"), (*columns, *rows))


def tensorsolve(a: TensorLike, b: TensorLike, axes: AxesLike | None = None) -> Tensor:
    """Solves ``nv.tensordot(a, x, x.ndim) = b`` for x: the axes of a behind those of ``b`` are those of x.

    ``axes`` of a are moved to its end before.

    >>> nv.linalg.tensorsolve(nv.reshape(2 * nv.eye(4), (2, 2, 4)), nv.ones((2, 2))).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    own, right = [without_names(entry, "tensorsolve", position)
                  for position, entry in enumerate(in_common_type(a, b, "tensorsolve"), 1)]
    if axes is not None:
        places = positions_of(own, axes, "tensorsolve")
        own = moveaxis(own, places, tuple(range(own.ndim - len(places), own.ndim)))
    rows, columns = own.type.shape[:right.ndim], own.type.shape[right.ndim:]
    fits = len(rows) == right.ndim and all([equal(x, y) is not False for x, y in zip(rows, right.type.shape,
                                                                                     strict=False)])
    if not fits or equal(product(rows), product(columns)) is False:
        raise ShapeMismatch("the axes make no square system", op="tensorsolve", operand=1, got=str(own.type),
                            expected=f"the axes of {right.type}, and others with as many elements",
                            help="axes= moves axes of a to its end")
    return reshape(solve(reshape(own, (product(rows), product(columns))), flatten(right)), columns)


def kron_sum(a: TensorLike, b: TensorLike) -> Tensor:
    """Returns kron(a, I) + kron(I, ``b``) of square matrices, whose eigenvalues are all sums of one of each.

    Its exponential is the Kronecker product of theirs. Axes in front broadcast.

    >>> nv.linalg.kron_sum([[1.0, 2.0], [3.0, 4.0]], [[10.0]]).tolist()
    [[11.0, 2.0], [3.0, 14.0]]
    """
    a, b = in_common_type(a, b, "kron_sum")
    left, right = as_square(a, "kron_sum"), as_square(b, "kron_sum", 2)
    m, n = left.type.shape[-1], right.type.shape[-1]
    batch = broadcast_shape([left.type.shape[:-2], right.type.shape[:-2]], "kron_sum")
    outer = expand_dims(expand_dims(left, -1), -3) * reshape(eye(n, dtype=left.dtype), (1, n, 1, n))
    inner = expand_dims(expand_dims(right, -2), -4) * reshape(eye(m, dtype=left.dtype), (m, 1, m, 1))
    return in_type_of(reshape(outer + inner, (*batch, m * n, m * n)), b, "kron_sum")


explain_keywords(globals(), __all__)
