"""Powers, exponentials and norms of matrices, and what follows from their singular values.

>>> import nervure as nv
>>> nv.linalg.matrix_power([[1.0, 1.0], [0.0, 1.0]], 5).tolist()
[[1.0, 5.0], [0.0, 1.0]]
>>> nv.linalg.norm([3.0, 4.0]).item(), nv.linalg.cond([[2.0, 0.0], [0.0, 1.0]]).item()
(5.0, 2.0)
"""

from __future__ import annotations

import numpy as np

from nervure.errors import InvalidArgument
from nervure.front.argument_parsing import integer, members, positions_of
from nervure.front.arranging.filled import eye
from nervure.front.arranging.views import expand_dims
from nervure.front.creation import as_tensor
from nervure.front.loops.loop_functions import fori_loop
from nervure.front.matrices.contraction import matmul
from nervure.front.matrices.factorisations import (
    as_matrix,
    as_square,
    in_doubles,
    in_type_of,
    inv,
    largest,
    largest_zero,
    slogdet,
    solve,
    svdvals,
)
from nervure.front.matrices.matrix_axes import matrices_of
from nervure.front.op_functions import (
    absolute,
    ceil,
    divide,
    exp,
    exp2,
    greater,
    less,
    less_equal,
    log2,
    multiply,
    sqrt,
)
from nervure.front.pointwise.elementwise import as_floats, clip, convert, power, stop_gradient, where
from nervure.front.statistics import reductions
from nervure.front.tensor import Tensor, TensorLike
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import AxesLike

__all__ = ["cond", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "sqrtm",
           "vector_norm"]


def matrix_power(a: TensorLike, n: int, axes: AxesLike | None = None) -> Tensor:
    """Multiplies a square matrix a with itself, ``n`` factors; those of a negative n are the inverse.

    Rows and columns are over two ``axes``, which the result has too, by default the last two.

    >>> nv.linalg.matrix_power([[2.0, 0.0], [0.0, 4.0]], -1).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    count = integer(n, "matrix_power", "n")
    given, axes_of = matrices_of(a, axes, "matrix_power")
    factor = as_square(given, "matrix_power")
    if count < 0:
        factor, count = inv(factor), -count
    found: Tensor | None = None
    while count:
        if count % 2:
            found = factor if found is None else matmul(found, factor)
        count //= 2
        factor = matmul(factor, factor) if count else factor
    if found is None:
        identity = eye(factor.shape[-1], dtype=factor.dtype)
        found = multiply(identity, where(factor == factor, 1.0, 1.0))
    return axes_of.matrices(in_type_of(found, a, "matrix_power"))


_PADE = (64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
         10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0)
_LARGEST = 5.371920351148152
_SQUARINGS = 16


def matrix_exp(a: TensorLike, axes: AxesLike | None = None) -> Tensor:
    """Returns the exponential of square matrices a, by a rational function of a part of a that is then squared.

    See N. Higham, "The scaling and squaring method for the matrix exponential revisited", 2005. It is squared 16 times
    at most; a matrix whose columns sum to more than 350,000 gives NaN. ``axes`` are those of
    ``nv.linalg.matrix_power``.

    >>> nv.linalg.matrix_exp([[0.0, 1.0], [0.0, 0.0]]).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    given, axes_of = matrices_of(a, axes, "matrix_exp")
    own = as_square(given, "matrix_exp")
    size = stop_gradient(largest(reductions.sum(absolute(own), axis=-2), axis=-1))
    wanted = clip(ceil(log2(divide(where(greater(size, 0), size, 1.0), _LARGEST))), 0, None)
    count = expand_dims(expand_dims(wanted, -1), -1)
    x = multiply(own, exp2(multiply(clip(count, None, _SQUARINGS), -1.0)))
    identity = eye(own.shape[-1], dtype=own.dtype)
    x2 = matmul(x, x)
    x4 = matmul(x2, x2)
    x6 = matmul(x4, x2)
    b = _PADE
    odd = matmul(x6, x6 * b[13] + x4 * b[11] + x2 * b[9]) + x6 * b[7] + x4 * b[5] + x2 * b[3] + identity * b[1]
    even = matmul(x6, x6 * b[12] + x4 * b[10] + x2 * b[8]) + x6 * b[6] + x4 * b[4] + x2 * b[2] + identity * b[0]
    odd = matmul(x, odd)
    found = solve(even - odd, even + odd)
    for done in range(_SQUARINGS):
        found = where(less(done, count), matmul(found, found), found)
    found = where(greater(count, _SQUARINGS), float("nan"), found)
    return axes_of.matrices(in_type_of(found, a, "matrix_exp"))


_STEPS = 20


def sqrtm(a: TensorLike, axes: AxesLike | None = None) -> Tensor:
    """Returns the principal square root of square matrices a, by a scaled iteration of Denman and Beavers, in doubles.

    See N. Higham, "Functions of Matrices", 2008, (6.29). The root of real matrices is real. A matrix with an eigenvalue
    that is 0 or a negative number has none that it finds: NaN, or a NumericError. The relative error is some eps times
    the condition of the root. ``axes`` are those of ``nv.linalg.matrix_power``.

    >>> nv.linalg.sqrtm([[4.0, 5.0], [0.0, 9.0]]).numpy().round(4).tolist()
    [[2.0, 1.0], [0.0, 3.0]]
    """
    given, axes_of = matrices_of(a, axes, "sqrtm")
    own = in_doubles(as_square(given, "sqrtm"))
    length = own.type.shape[-1]
    identity = eye(length, dtype=own.dtype)

    def step(_: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        m, x = state
        inverse = inv(m)
        log_size = divide(stop_gradient(slogdet(m).logabsdet), length)
        square = expand_dims(expand_dims(exp(multiply(log_size, -1.0)), -1), -1)
        root, back = sqrt(square), divide(inverse, square)
        return ((identity + (multiply(square, m) + back) * 0.5) * 0.5,
                multiply(matmul(x, identity + back), root * 0.5))
    _, found = fori_loop(0, _STEPS, step, (own, own))
    rest, size = [matrix_norm(entry) for entry in (matmul(found, found) - own, found)]
    is_root = less_equal(rest, 1e-7 * (matrix_norm(own) + size * size * 1e-3))
    found = where(expand_dims(expand_dims(is_root, -1), -1), found, float("nan"))
    return axes_of.matrices(in_type_of(found, a, "sqrtm"))


# -- norms -----------------------------------------------------------------------------------------------------------


def vector_norm(x: TensorLike, ord: float = 2, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """Returns the norm of x as a vector along an ``axis``, several, or all: the root of the sum of powers ``ord``.

    Orders inf and -inf are the largest and the smallest magnitude, 0 counts the elements that are not 0.

    >>> nv.linalg.vector_norm([3.0, -4.0]).item(), nv.linalg.vector_norm([3.0, -4.0], float("inf")).item()
    (5.0, 4.0)
    """
    own = as_floats(x, "vector_norm")
    along = list(range(own.ndim)) if axis is None else positions_of(own, axis, "vector_norm")
    size = absolute(own)
    if isinstance(ord, bool) or not isinstance(ord, (int, float, np.integer, np.floating)):
        raise InvalidArgument("the order of a norm is a number", op="vector_norm", operand="ord", got=f"{ord!r:.40}",
                              expected="a number, inf or -inf", help="nv.linalg.matrix_norm has 'fro' and 'nuc'")
    if ord == 2:
        return reductions.L2_norm(size, axis=along, keepdims=keepdims)
    if ord == 1:
        return reductions.sum(size, axis=along, keepdims=keepdims)
    if ord == 0:
        return convert(reductions.count_nonzero(size, axis=along, keepdims=keepdims), size.dtype)
    if ord in (float("inf"), float("-inf")):
        return (largest if ord > 0 else reductions.min)(size, axis=along, keepdims=keepdims)
    powers = power(convert(size, size.dtype.compute), float(ord))
    return convert(power(reductions.sum(powers, axis=along, keepdims=keepdims), 1 / float(ord)), size.dtype)


_MATRIX_NORMS = ("fro", "nuc", 1, -1, 2, -2, float("inf"), float("-inf"))


def matrix_norm(x: TensorLike, ord: float | str = "fro", keepdims: bool = False,
                axes: AxesLike | None = None) -> Tensor:
    """Returns the norm of matrices x that ``ord`` names.

    "fro" is the root of the sum of squares, "nuc" the sum of the singular values, 2 and -2 are the largest and the
    smallest of them, 1 and -1 those sums of magnitudes along columns, inf and -inf along rows. The rows and the columns
    are over two ``axes`` of x, by default the last two.

    >>> nv.linalg.matrix_norm([[1.0, -2.0], [3.0, 4.0]], 1).item()
    6.0
    """
    given, axes_of = matrices_of(x, axes, "matrix_norm")
    own = as_matrix(given, "matrix_norm")
    if isinstance(ord, bool) or not np.isscalar(ord) or ord not in _MATRIX_NORMS:
        raise InvalidArgument("there is no such norm of matrices", op="matrix_norm", operand="ord", got=f"{ord!r:.40}",
                              expected=", ".join(map(str, _MATRIX_NORMS)), help="leave it out: the root of the squares")
    if ord == "fro":
        found = reductions.L2_norm(absolute(own), axis=[own.ndim - 2, own.ndim - 1])
    elif ord in ("nuc", 2, -2):
        values = svdvals(own)
        pick = {"nuc": reductions.sum, 2: largest, -2: reductions.min}[ord]
        found = pick(values, axis=-1)
    else:
        sums = reductions.sum(absolute(own), axis=-2 if abs(float(ord)) == 1 else -1)
        found = (largest if float(ord) > 0 else reductions.min)(sums, axis=-1)
    found = in_type_of(found, x, "matrix_norm")
    return axes_of.matrices(expand_dims(expand_dims(found, -1), -1)) if keepdims else axes_of.numbers(found)


def norm(x: TensorLike, ord: float | str | None = None, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """Returns the norm of x along an ``axis`` as a vector, or along two as a matrix, as NumPy does.

    Without an ``ord`` it is the root of the sum of squares, of all elements without an axis.

    >>> nv.linalg.norm([[3.0, 0.0], [0.0, 4.0]]).item(), nv.linalg.norm([[3.0, 0.0], [0.0, 4.0]], 2).item()
    (5.0, 4.0)
    """
    own = as_tensor(x, "norm")
    along = list(range(own.ndim)) if axis is None else positions_of(own, axis, "norm")
    if ord is None:
        return vector_norm(own, 2, along, keepdims)
    if len(along) == 1 and not isinstance(ord, str):
        return vector_norm(own, ord, along, keepdims)
    if len(along) != 2:
        raise InvalidArgument("a norm is one of vectors or of matrices", op="norm", operand="ord", got=f"{ord!r:.40}",
                              expected="one axis, or two; without an order any", help="axis= chooses axes")
    return matrix_norm(own, ord, keepdims, along)


# -- singular values -------------------------------------------------------------------------------------------------


def cond(x: TensorLike, p: float | str | None = None, axes: AxesLike | None = None) -> Tensor:
    """Returns the condition of matrices x: the norm ``p`` of x times that of its inverse, by default of order 2.

    The matrices are over two ``axes`` of x, by default the last two.

    >>> nv.linalg.cond([[4.0, 0.0], [0.0, 1.0]]).item()
    4.0
    """
    given, axes_of = matrices_of(x, axes, "cond")
    own = as_matrix(given, "cond")
    if p is None or p in (2, -2):
        values = svdvals(own)
        ends = reductions.max(values, axis=-1), reductions.min(values, axis=-1)
        found = divide(*ends[::-1 if p == -2 else 1])
    else:
        found = multiply(matrix_norm(own, p), matrix_norm(inv(own), p))
    return axes_of.numbers(in_type_of(found, x, "cond"))


def matrix_rank(a: TensorLike, rcond: float | None = None, axes: AxesLike | None = None) -> Tensor:
    """Counts the singular values of a that are larger than ``rcond`` times the largest one; int64.

    By default ``rcond`` is the larger length times the precision of the type. The matrices are over two ``axes`` of a,
    by default the last two.

    >>> nv.linalg.matrix_rank([[1.0, 1.0], [1.0, 1.0]]).item()
    1
    """
    given, axes_of = matrices_of(a, axes, "matrix_rank")
    own = as_matrix(given, "matrix_rank")
    values = svdvals(own)
    return axes_of.numbers(reductions.count_nonzero(greater(values, largest_zero(values, own, rcond)), axis=-1))


def multi_dot(arrays: object) -> Tensor:
    """Multiplies several matrices in ``arrays``, in the order that takes the fewest multiplications.

    >>> nv.linalg.multi_dot([nv.ones((2, 3)), nv.ones((3, 4)), nv.ones((4, 1))]).tolist()
    [[12.0], [12.0]]
    """
    listed = members(arrays, "multi_dot", "arrays", "a list of matrices")
    given = [as_tensor(entry, "multi_dot", at + 1) for at, entry in enumerate(listed)]
    if len(given) < 2:
        raise InvalidArgument("a product has two factors or more", op="multi_dot", operand="arrays",
                              got=f"{len(given)}", expected="2 or more", help="nv.matmul(x, y) multiplies two")
    sizes = [entry.type.shape[0] if entry.ndim == 2 else 1 for entry in given]
    last = given[-1].type.shape[-1] if given[-1].ndim == 2 else 1
    lengths = [length if isinstance(length, int) else 1 for length in (*sizes, last)]
    if given[0].ndim == 1:
        lengths[0], lengths[1] = 1, lengths[1]
    best = {(at, at): (0, at) for at in range(len(given))}
    for span in range(1, len(given)):
        for start in range(len(given) - span):
            end = start + span
            best[start, end] = min([(best[start, cut][0] + best[cut + 1, end][0]
                                     + lengths[start] * lengths[cut + 1] * lengths[end + 1], cut)
                                    for cut in range(start, end)])

    def multiplied(start: int, end: int) -> Tensor:
        if start == end:
            return given[start]
        cut = best[start, end][1]
        return matmul(multiplied(start, cut), multiplied(cut + 1, end))
    return multiplied(0, len(given) - 1)


explain_keywords(globals(), __all__)
