"""Systems of equations and factorisations of matrices, which are the last two axes of tensors without names.

>>> import nervure as nv
>>> a = nv.constant([[2.0, 0.0], [1.0, 4.0]])
>>> nv.linalg.solve(a, [2.0, 9.0]).tolist()
[1.0, 2.0]
>>> nv.linalg.det(a).item()
8.0

float16 and bfloat16 are computed in float32. QR and the eigenvalues of matrices without symmetry are computed in
doubles. Results have the type of their operands.
"""

from __future__ import annotations

from typing import NamedTuple

import ml_dtypes

from nervure import ops
from nervure.errors import AxisMismatch, InvalidArgument, ShapeMismatch
from nervure.front.alignment import broadcast_shape
from nervure.front.apply import tensors_of_type
from nervure.front.argument_parsing import integer, one_of, truth
from nervure.front.arranging.filled import eye, tril, triu
from nervure.front.arranging.joining import concatenate
from nervure.front.arranging.rearranging import moveaxis
from nervure.front.arranging.views import broadcast, expand_dims, matrix_transposed, squeeze
from nervure.front.creation import as_tensor
from nervure.front.loops.loop_functions import scan
from nervure.front.matrices.contraction import matmul
from nervure.front.matrices.matrix_axes import matrices_of, sides_of
from nervure.front.op_functions import exp, greater, multiply
from nervure.front.pointwise.complex_parts import conj
from nervure.front.pointwise.elementwise import as_floats, convert, stop_gradient, where
from nervure.front.promotion import promote
from nervure.front.statistics import reductions
from nervure.front.tensor import Tensor, TensorLike
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import AxesLike
from nervure.types.dim import DimLike, dim_max, equal, less_equal
from nervure.types.dtype import DType, complex64, complex128, float32, float64

__all__ = ["cholesky", "cholesky_solve", "det", "eig", "eigh", "eigvals", "eigvalsh", "householder_product", "inv",
           "lstsq", "pinv", "qr",
           "slogdet", "solve", "solve_triangular", "svd", "svdvals"]


class EighResult(NamedTuple):
    """Eigenvalues, and eigenvectors as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QrResult(NamedTuple):
    """A matrix with orthonormal columns, and an upper triangle."""

    Q: Tensor
    R: Tensor


class SvdResult(NamedTuple):
    """Left singular vectors as columns, singular values in descending order, and right singular vectors as rows."""

    U: Tensor
    S: Tensor
    Vh: Tensor


class SignAndLogarithm(NamedTuple):
    """The sign of a determinant, and the logarithm of its magnitude."""

    sign: Tensor
    logabsdet: Tensor


class LeastSquares(NamedTuple):
    """The solution, the sums of squared residuals, the rank of the matrix, and its singular values."""

    x: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


# -- operands and results --------------------------------------------------------------------------------------------


def as_matrix(x: TensorLike, op: str, position: int = 1, rank: int = 2) -> Tensor:
    """Returns x, the operand of ``op`` at ``position``, as floats of at least single precision; it has no names and
    ``rank`` axes or more.
    """
    own = without_names(as_floats(x, op, position), op, position)
    if own.ndim < rank:
        raise ShapeMismatch("matrices have two axes", op=op, operand=position, got=str(own.type),
                            expected=f"{rank} axes or more", help="nv.expand_dims(x, 1) makes a column of a vector")
    return convert(own, own.dtype.compute)


def without_names(x: Tensor, op: str, position: int = 1) -> Tensor:
    """Returns x; AxisMismatch if its axes have names, which the result of ``op`` would lack."""
    if x.is_named and x.ndim:
        raise AxisMismatch(f"{op} goes by positions", op=op, operand=position, got=str(x.axes),
                           expected="anonymous axes",
                           help="its results have axes of their own; nv.cast_axes(x, shape) leaves the names out")
    return x


def as_square(x: TensorLike, op: str, position: int = 1) -> Tensor:
    """Returns x, the operand of ``op`` at ``position``, as square matrices; ShapeMismatch for others."""
    own = as_matrix(x, op, position)
    if equal(own.type.shape[-1], own.type.shape[-2]) is False:
        raise ShapeMismatch("the matrix is not square", op=op, operand=position, got=str(own.type),
                            expected="as many rows as columns", help="nv.linalg.lstsq and nv.linalg.pinv take others")
    return own


def in_type_of(x: Tensor, given: TensorLike, op: str) -> Tensor:
    """Returns a result in the precision of what was ``given``, as a complex or a real number."""
    dtype = as_floats(given, op).dtype
    if x.dtype.is_complex:
        return convert(x, complex128 if dtype in (float64, complex128) else complex64)
    return convert(x, dtype.part if dtype.is_complex else dtype)


def in_common_type(a: TensorLike, b: TensorLike, op: str) -> tuple[Tensor, Tensor]:
    """Returns a and b in the common type of those that are floats, or as float32. Each keeps its axes."""
    kinds = [as_tensor(entry, op, position).dtype for position, entry in enumerate((a, b), 1)]
    floats = [dtype for dtype in kinds if dtype.is_float or dtype.is_complex]
    left, right = tensors_of_type((a, b), op, promote(floats or [float32], op=op))
    return left, right


def in_doubles(x: Tensor) -> Tensor:
    """Returns x in float64 or complex128."""
    return convert(x, complex128 if x.dtype.is_complex else float64)


def adjoint(x: Tensor) -> Tensor:
    """Returns the conjugate of matrices, rows and columns exchanged."""
    return conj(matrix_transposed(x))


def broadcast_pair(a: Tensor, b: Tensor, op: str) -> tuple[Tensor, Tensor, bool]:
    """Returns matrices a, right sides b of their type as matrices of one batch with them, and whether b is one vector.
    """
    left, right = as_square(a, op), as_matrix(b, op, 2, 1)
    is_vector = right.ndim == 1
    right = expand_dims(right, 1) if is_vector else right
    if equal(left.type.shape[-1], right.type.shape[-2]) is False:
        raise ShapeMismatch("each row of the matrix has one right side", op=op, operand=2, got=str(right.type),
                            expected=f"{left.type.shape[-1]} rows", help="b is a vector, or has the rows of a")
    batch = broadcast_shape([left.type.shape[:-2], right.type.shape[:-2]], op)
    return (broadcast(left, (*batch, *left.type.shape[-2:])), broadcast(right, (*batch, *right.type.shape[-2:])),
            is_vector)


# -- systems of equations --------------------------------------------------------------------------------------------


def solve(a: TensorLike, b: TensorLike, axes: AxesLike | None = None) -> Tensor:
    """Solves a @ x = b for x, by LU with partial pivoting. b is a vector, or has the systems as columns.

    By names, ``axes`` are those of the rows and the columns of a, by default its last two. b has that of the rows, in
    whose place the result has that of the columns; other axes that both have number the systems, and those that b alone
    has are right sides. A singular matrix is a NumericError when the call runs, which names its place in the batch.

    >>> nv.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 4.0]).tolist()
    [1.0, 1.0]
    >>> print(nv.linalg.solve(nv.eye("H=2", "W=2"), nv.ones("N=3, H=2")).axes)
    (N: 3, W: 2)
    """
    if axes is not None or any([isinstance(entry, Tensor) and entry.is_named and entry.ndim for entry in (a, b)]):
        sides = sides_of(a, b, axes, "solve")
        return sides.back(solve(sides.left, sides.right))
    a, b = in_common_type(a, b, "solve")
    left, right, is_vector = broadcast_pair(a, b, "solve")
    found = Tensor(ops.Solve(left.value, right.value))
    return in_type_of(squeeze(found, -1) if is_vector else found, b, "solve")


def solve_triangular(a: TensorLike, b: TensorLike, lower: bool = False, trans: int = 0,
                     unit_diagonal: bool = False) -> Tensor:
    """Solves a @ x = b for x with the upper triangle of a, or the ``lower`` one, the rest of which is not read.

    ``trans`` 1 solves with the transposed triangle, 2 with its conjugate, too.

    >>> nv.linalg.solve_triangular([[2.0, 2.0], [9.0, 4.0]], [6.0, 4.0]).tolist()
    [2.0, 1.0]
    """
    a, b = in_common_type(a, b, "solve_triangular")
    own = as_square(a, "solve_triangular")
    triangle = tril(own) if truth(lower, "solve_triangular", "lower") else triu(own)
    if truth(unit_diagonal, "solve_triangular", "unit_diagonal"):
        identity = eye(own.shape[-1], dtype=own.dtype)
        triangle = where(greater(eye(own.shape[-1]), 0), identity, triangle)
    turned = [triangle, matrix_transposed(triangle), adjoint(triangle)][turn(trans, "solve_triangular")]
    return in_type_of(solve(turned, b), b, "solve_triangular")


def turn(trans: int, op: str) -> int:
    """Returns the argument ``trans`` of a system: as it is, transposed, or transposed and conjugated."""
    number = integer(trans, op, "trans", "0, 1 or 2", "0 takes the matrix as it is")
    if number not in (0, 1, 2):
        raise InvalidArgument("the matrix is taken as it is, transposed, or transposed and conjugated", op=op,
                              operand="trans", got=number, expected="0, 1 or 2", help="leave it out")
    return number


def inv(a: TensorLike, axes: AxesLike | None = None) -> Tensor:
    """Returns the inverse of square matrices a. A singular one is a NumericError when the call runs.

    Rows and columns of a are over ``axes``, by default the last two; those of the inverse have each other's.

    >>> nv.linalg.inv([[2.0, 0.0], [0.0, 4.0]]).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    given, axes_of = matrices_of(a, axes, "inv")
    own = as_square(given, "inv")
    return axes_of.transposed(in_type_of(solve(own, eye(own.shape[-1], dtype=own.dtype)), a, "inv"))


def pinv(a: TensorLike, rcond: float | None = None, hermitian: bool = False,
         axes: AxesLike | None = None) -> Tensor:
    """Returns the Moore-Penrose inverse of a: singular values up to ``rcond`` times the largest one count as 0.

    By default ``rcond`` is the larger length times the precision of the type. ``axes`` are those of ``nv.linalg.inv``.

    >>> nv.linalg.pinv([[1.0], [1.0]]).numpy().round(4).tolist()
    [[0.5, 0.5]]
    """
    given, axes_of = matrices_of(a, axes, "pinv")
    found = pseudo_inverse(as_matrix(given, "pinv"), rcond).matrix
    return axes_of.transposed(in_type_of(found, a, "pinv"))


def tolerance(length: DimLike, dtype: DType) -> Tensor:
    """Returns a ``length``, which may be a symbol, times the precision of ``dtype``, in its real type."""
    precision = float(ml_dtypes.finfo(dtype.part.numpy).eps)
    return multiply(as_tensor(length, dtype=dtype.part), precision)


def largest(x: Tensor, axis: AxesLike, keepdims: bool = False) -> Tensor:
    """Returns the largest of magnitudes x along an ``axis``, and 0 where there are none."""
    return reductions.max(x, axis=axis, keepdims=keepdims, initial=0)


def largest_zero(s: Tensor, x: Tensor, rcond: float | Tensor | None) -> Tensor:
    """Returns the number up to which singular values s of matrices x count as 0, with one axis for each of theirs."""
    share = tolerance(dim_max(*x.type.shape[-2:]), x.dtype) if rcond is None else rcond
    return multiply(largest(s, -1, keepdims=True), share)


class Inverted(NamedTuple):
    """A Moore-Penrose inverse, with the rank of the matrix that it inverts, and its singular values."""

    matrix: Tensor
    rank: Tensor
    singular_values: Tensor


def pseudo_inverse(x: Tensor, rcond: float | Tensor | None) -> Inverted:
    """Returns the inverse of matrices x without names, where singular values up to a share of the largest count as 0.
    """
    s = svd(x).S
    zero = largest_zero(s, x, rcond)
    inverse = Tensor(ops.PseudoInverse(x.value, stop_gradient(squeeze(zero, -1)).value))
    return Inverted(inverse, reductions.count_nonzero(greater(s, zero), axis=-1), s)


def lstsq(a: TensorLike, b: TensorLike, rcond: float | None = None) -> LeastSquares:
    """Returns the x of least length that brings a @ x closest to b, with residuals, rank and singular values of a.

    ``rcond`` is as for ``nv.linalg.pinv``.

    >>> nv.linalg.lstsq([[1.0], [1.0]], [1.0, 3.0]).x.numpy().round(4).tolist()
    [2.0]
    """
    a, b = in_common_type(a, b, "lstsq")
    own, right = as_matrix(a, "lstsq"), as_matrix(b, "lstsq", 2, 1)
    is_vector = right.ndim == 1
    columns = expand_dims(right, 1) if is_vector else right
    inverse, rank, s = pseudo_inverse(own, rcond)
    found = matmul(inverse, columns)
    rest = reductions.sum(multiply(*[matmul(own, found) - columns] * 2), axis=-2) if not own.dtype.is_complex else \
        reductions.sum(_square_size(matmul(own, found) - columns), axis=-2)
    if is_vector:
        found, rest = squeeze(found, -1), squeeze(rest, -1)
    found, rest, s = [in_type_of(entry, b, "lstsq") for entry in (found, rest, s)]
    return LeastSquares(found, rest, rank, s)


def _square_size(x: Tensor) -> Tensor:
    return Tensor(ops.Real(multiply(x, conj(x)).value))


# -- determinants ----------------------------------------------------------------------------------------------------


def slogdet(a: TensorLike, axes: AxesLike | None = None) -> SignAndLogarithm:
    """Returns the sign of the determinant of a, and the logarithm of its magnitude: 0 and -inf for a singular matrix.

    The matrices are over two ``axes`` of a, by default the last two.

    >>> [entry.item() for entry in nv.linalg.slogdet([[1.0, 0.0], [0.0, -1.0]])]
    [-1.0, 0.0]
    """
    given, axes_of = matrices_of(a, axes, "slogdet")
    made = ops.LogDeterminant(as_square(given, "slogdet").value).outputs
    return SignAndLogarithm(*[axes_of.numbers(in_type_of(Tensor(value), a, "slogdet")) for value in made])


def det(a: TensorLike, axes: AxesLike | None = None) -> Tensor:
    """Returns the determinant of square matrices a. The derivative at a singular matrix is a NumericError.

    The matrices are over two ``axes`` of a, by default the last two.

    >>> nv.linalg.det([[2.0, 0.0], [0.0, 4.0]]).numpy().round(4).tolist()
    8.0
    """
    given, axes_of = matrices_of(a, axes, "det")
    sign, logarithm = slogdet(as_square(given, "det"))
    return axes_of.numbers(in_type_of(multiply(sign, exp(logarithm)), a, "det"))


# -- factorisations --------------------------------------------------------------------------------------------------


def cholesky(a: TensorLike, upper: bool = False, axes: AxesLike | None = None) -> Tensor:
    """Returns the lower triangle l with l @ l^H = a, or with ``upper`` its adjoint.

    The lower triangle of a is read, and has the derivative. A matrix that is not positive definite is a NumericError.
    The matrices are over two ``axes`` of a, which the result has too, by default the last two.

    >>> nv.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]]).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    given, axes_of = matrices_of(a, axes, "cholesky")
    own = as_square(given, "cholesky")
    if truth(upper, "cholesky", "upper"):
        found = adjoint(Tensor(ops.Cholesky(adjoint(own).value)))
    else:
        found = Tensor(ops.Cholesky(own.value))
    return axes_of.matrices(in_type_of(found, a, "cholesky"))


def cholesky_solve(factor: TensorLike, b: TensorLike) -> Tensor:
    """Solves l @ l^H @ x = b for x, from the lower ``factor`` l that ``nv.linalg.cholesky`` gives.

    >>> nv.linalg.cholesky_solve([[2.0, 0.0], [0.0, 1.0]], [8.0, 3.0]).tolist()
    [2.0, 3.0]
    """
    factor, b = in_common_type(factor, b, "cholesky_solve")
    own, right = as_square(factor, "cholesky_solve"), as_matrix(b, "cholesky_solve", 2, 1)
    found = solve_triangular(own, solve_triangular(own, right, lower=True), lower=True, trans=2)
    return in_type_of(found, b, "cholesky_solve")


def qr(a: TensorLike) -> QrResult:
    """Returns Q with orthonormal columns and an upper triangle R, with Q @ R = a, of the smaller length of a.

    >>> [entry.numpy().round(4).tolist() for entry in nv.linalg.qr(np.array([[3.0], [4.0]]))]
    [[[-0.6], [-0.8]], [[-5.0]]]
    """
    own = in_doubles(as_matrix(a, "qr"))
    rows, columns = own.type.shape[-2:]
    if less_equal(columns, rows) is True:
        q, r = [Tensor(value) for value in ops.Qr(own.value).outputs]
    else:
        if not isinstance(rows, int):
            raise ShapeMismatch("it is not known whether the matrix has more columns than rows", op="qr", operand=1,
                                got=str(own.type), expected="known lengths", help="give the rows as a number")
        q, first = [Tensor(value) for value in ops.Qr(own[..., :rows].value).outputs]
        r = concatenate([first, matmul(adjoint(q), own[..., rows:])], -1)
    return QrResult(in_type_of(q, a, "qr"), in_type_of(r, a, "qr"))


def householder_product(a: TensorLike, tau: TensorLike) -> Tensor:
    """Returns the first columns of the product of reflections I - tau v v^H, as many as a has, as LAPACK's orgqr does.

    Each v is a column of a below its diagonal, with a 1 on it and zeros above; ``tau`` has a factor for each of the
    first ones.

    >>> nv.linalg.householder_product([[9.0], [1.0]], [1.0]).tolist()
    [[0.0], [-1.0]]
    """
    a, tau = in_common_type(a, tau, "householder_product")
    own, factors = as_matrix(a, "householder_product"), as_matrix(tau, "householder_product", 2, 1)
    rows, columns = own.type.shape[-2:]
    count = factors.type.shape[-1]
    fits = less_equal(columns, rows) is not False and less_equal(count, columns) is not False
    if not fits or factors.ndim != own.ndim - 1:
        raise ShapeMismatch("each reflection has a column and a factor", op="householder_product", operand=2,
                            got=f"{own.type} and {factors.type}", expected="no more columns than rows, and factors "
                            "for the first of them", help="the axes in front are the same for both")
    below = tril(own, -1) + eye(rows, columns, dtype=own.dtype)
    start = broadcast(eye(rows, columns, dtype=own.dtype), own.type.shape)

    def reflected(q: Tensor, step: tuple[Tensor, Tensor]) -> tuple[Tensor, None]:
        v, factor = expand_dims(step[0], -1), expand_dims(expand_dims(step[1], -1), -1)
        return q - multiply(factor, matmul(v, matmul(adjoint(v), q))), None
    vectors = moveaxis(below[..., :count], -1, 0)
    found = scan(reflected, start, (vectors, moveaxis(factors, -1, 0)), reverse=True)[0]
    return in_type_of(found, a, "householder_product")


def svd(a: TensorLike, full_matrices: bool = False, hermitian: bool = False) -> SvdResult:
    """Returns the singular value decomposition: U, the singular values in descending order, and the adjoint of V.

    The factors have the smaller length of a; ``full_matrices=True`` is refused. The derivative of vectors needs
    distinct values.

    >>> nv.linalg.svd([[0.0, 2.0], [1.0, 0.0]]).S.tolist()
    [2.0, 1.0]
    """
    if truth(full_matrices, "svd", "full_matrices"):
        raise InvalidArgument("the factors have the smaller length of the matrix", op="svd", operand="full_matrices",
                              got="True", expected="False", help="the other columns are an arbitrary basis")
    own = as_matrix(a, "svd")
    u, s, vh = [in_type_of(Tensor(value), a, "svd") for value in ops.Svd(own.value).outputs]
    return SvdResult(u, s, vh)


def svdvals(a: TensorLike) -> Tensor:
    """Returns the singular values of a in descending order.

    >>> nv.linalg.svdvals([[0.0, 2.0], [1.0, 0.0]]).tolist()
    [2.0, 1.0]
    """
    return in_type_of(Tensor(ops.SingularValues(as_matrix(a, "svdvals").value)), a, "svdvals")


def eigh(a: TensorLike, UPLO: str = "L") -> EighResult:
    """Returns the eigenvalues of a symmetric or Hermitian a in ascending order, and its eigenvectors as columns.

    The lower triangle is read, or the upper one with ``UPLO="U"``. The derivative of vectors needs
    distinct values.

    >>> nv.linalg.eigh([[2.0, 0.0], [0.0, 1.0]]).eigenvalues.tolist()
    [1.0, 2.0]
    """
    own = as_square(a, "eigh")
    one_of(UPLO, ("L", "U"), "eigh", "UPLO", "leave it out: the triangles of a symmetric matrix agree")
    given = adjoint(own) if UPLO == "U" else own
    values, vectors = [in_type_of(Tensor(value), a, "eigh") for value in ops.EigenHermitian(given.value).outputs]
    return EighResult(values, vectors)


def eigvalsh(a: TensorLike, UPLO: str = "L") -> Tensor:
    """Returns the eigenvalues of a symmetric or Hermitian a in ascending order, by the triangle that ``UPLO`` names.

    >>> nv.linalg.eigvalsh([[2.0, 0.0], [0.0, 1.0]]).tolist()
    [1.0, 2.0]
    """
    return eigh(a, UPLO).eigenvalues


def eig(a: TensorLike) -> EighResult:
    """Returns the eigenvalues of a square a, complex and in no promised order, and eigenvectors of length 1 as columns.

    >>> nv.linalg.eig([[0.0, -1.0], [1.0, 0.0]]).eigenvalues.tolist()
    [1j, -1j]
    """
    own = in_doubles(as_square(a, "eig"))
    values, vectors = [in_type_of(Tensor(value), a, "eig") for value in ops.Eigen(own.value).outputs]
    return EighResult(values, vectors)


def eigvals(a: TensorLike) -> Tensor:
    """Returns the eigenvalues of a square a, complex and in no promised order.

    >>> nv.linalg.eigvals([[0.0, -1.0], [1.0, 0.0]]).tolist()
    [1j, -1j]
    """
    return eig(a).eigenvalues


explain_keywords(globals(), __all__)
