"""Polynomials from their roots and back, quotients of polynomials, and the polynomial closest to points.

>>> import nervure as nv
>>> nv.poly([1.0, 2.0]).tolist(), nv.real(nv.roots([1.0, -3.0, 2.0])).numpy().round(4).tolist()
([1.0, -3.0, 2.0], [2.0, 1.0])
>>> nv.polyfit([0, 1, 2, 3], [1, 3, 5, 7], 1).numpy().round(4).tolist()
[2.0, 1.0]
"""

from __future__ import annotations

from nervure.errors import ShapeMismatch
from nervure.front.argument_parsing import integer, real
from nervure.front.arranging.filled import iota, zeros
from nervure.front.arranging.gathering import gather
from nervure.front.arranging.grids import vander
from nervure.front.arranging.joining import concatenate
from nervure.front.arranging.views import expand_dims
from nervure.front.loops.loop_functions import scan
from nervure.front.matrices.contraction import matmul
from nervure.front.matrices.factorisations import eigvals, pseudo_inverse, tolerance
from nervure.front.op_functions import (
    absolute,
    divide,
    equal,
    greater_equal,
    maximum,
    minimum,
    multiply,
    not_equal,
    sqrt,
    square,
    subtract,
)
from nervure.front.pointwise.complex_parts import real as real_part
from nervure.front.pointwise.elementwise import as_floats, convert, where
from nervure.front.signals.polynomials import _vector, _vectors
from nervure.front.statistics.prefixes import cumsum
from nervure.front.statistics.reductions import sum as total
from nervure.front.statistics.sorts import argsort
from nervure.front.tensor import Tensor, TensorLike
from nervure.support.elsewhere import explain_keywords
from nervure.types.dim import equal as same_length
from nervure.types.dim import less_equal
from nervure.types.dtype import int64

__all__ = ["poly", "polydiv", "polyfit", "roots"]


def poly(x: TensorLike) -> Tensor:
    """Returns the coefficients of the polynomial whose roots are the elements of x, or the eigenvalues of a matrix x.

    The first one is 1. Complex roots give complex coefficients; those of a matrix have the type of its elements.

    >>> nv.poly([0.0, 2.0]).tolist(), nv.poly([[1.0, 0.0], [0.0, 3.0]]).numpy().round(4).tolist()
    ([1.0, -2.0, 0.0], [1.0, -4.0, 3.0])
    """
    own = as_floats(x, "poly")
    if own.ndim == 2 and not own.is_named:
        found = poly(eigvals(own))
        return found if own.dtype.is_complex else convert(real_part(found), own.dtype)
    row = _vector(own, "poly", 1)
    length = row.type.shape[0]
    start = convert(equal(iota(length + 1), 0), row.dtype)

    def multiplied(coefficients: Tensor, root: Tensor) -> tuple[Tensor, None]:
        moved = concatenate([zeros((1,), row.dtype), coefficients[:-1]], 0)
        return coefficients - multiply(root, moved), None
    return scan(multiplied, start, row)[0]


def roots(p: TensorLike) -> Tensor:
    """Returns the roots of the polynomial with the coefficients ``p``, complex, those of larger magnitude first.

    There are as many as coefficients less one. Each 0 in front of the first other coefficient makes the last root NaN:
    there is none. They are the eigenvalues of the companion matrix; the derivative needs distinct ones.

    >>> nv.roots([1.0, -3.0, 2.0]).numpy().round(4).tolist(), nv.roots([0.0, 1.0, -2.0]).tolist()[0]
    ([(2+0j), (1+0j)], (2+0j))
    """
    own = _vector(as_floats(p, "roots"), "roots", 1)
    own = convert(own, own.dtype.compute)
    degree = own.type.shape[0] - 1
    if less_equal(0, degree) is not True:
        raise ShapeMismatch("a polynomial has a coefficient", op="roots", operand=1, got=str(own.type),
                            expected="one coefficient or more", help='nv.dim("n", min=1) is at least 1')
    missing = total(convert(equal(cumsum(convert(not_equal(own, 0), int64), 0), 0), int64))
    place = iota(degree + 1) + missing  # zeros in front go to the end, where each has a root 0
    ordered = where(place <= degree, gather(own, minimum(place, degree), 0), 0.0)
    first = ordered[0]
    row = divide(ordered[1:], where(not_equal(first, 0), first, 1.0)) * -1.0
    rows, columns = expand_dims(iota(degree), 1), iota(degree)
    below = convert(equal(rows, columns + 1), own.dtype)
    found = eigvals(where(equal(rows, 0), row, below))
    found = gather(found, argsort(absolute(found), descending=True), 0)
    return where(greater_equal(iota(degree), maximum(subtract(degree, missing), 0)), float("nan"), found)


def polydiv(u: TensorLike, v: TensorLike) -> tuple[Tensor, Tensor]:
    """Returns the coefficients of the quotient and of the remainder of the polynomials ``u`` and ``v``.

    The remainder has one coefficient less than v, or one, and the first may be 0. The first of v is not 0.

    >>> [entry.tolist() for entry in nv.polydiv([3.0, 5.0, 2.0], [2.0, 1.0])]
    [[1.5, 1.75], [0.25]]
    """
    own, other = [as_floats(entry, "polydiv", at) for at, entry in enumerate(_vectors(u, v, "polydiv"), 1)]
    (length,), (width,) = own.type.shape, other.type.shape
    dtype = (own[:1] * other[:1]).dtype
    own, other = convert(own, dtype), convert(other, dtype)
    if less_equal(1, width) is not True or less_equal(width, length) is None:
        raise ShapeMismatch("which polynomial is longer depends on the call", op="polydiv", operand=2,
                            got=f"{own.type} and {other.type}", expected="lengths of which one is known to be longer",
                            help="nv.pad(u, (1, 0)) adds a zero in front")
    if less_equal(width, length) is False:
        return zeros((1,), dtype), own
    divisor = concatenate([other, zeros((length - width,), dtype)], 0)

    def divided(rest: Tensor, _: Tensor) -> tuple[Tensor, Tensor]:
        share = divide(rest[0], divisor[0])
        left = rest - multiply(share, divisor)
        return concatenate([left[1:], zeros((1,), dtype)], 0), share
    rest, quotient = scan(divided, own, iota(length - width + 1))
    return quotient, zeros((1,), dtype) if same_length(width, 1) is True else rest[:width - 1]


def polyfit(x: TensorLike, y: TensorLike, deg: int, rcond: float | None = None, w: TensorLike | None = None) -> Tensor:
    """Returns the coefficients of the polynomial of degree ``deg`` whose values at x have the least squares from y.

    ``y`` is a vector, or has a column for each of several polynomials. ``w`` weighs the distances. Singular values of
    the powers of x up to ``rcond`` times the largest count as 0, by default their number times the precision.

    >>> nv.polyfit([-1.0, 0.0, 1.0], [2.0, 1.0, 2.0], 2).numpy().round(4).tolist()
    [1.0, -0.0, 1.0]
    """
    own, values = _vector(as_floats(x, "polyfit"), "polyfit", 1), as_floats(y, "polyfit", 2)
    number = integer(deg, "polyfit", "deg", help="0 fits a constant", least=0)
    if values.ndim not in (1, 2) or values.is_named or same_length(values.type.shape[0], own.type.shape[0]) is False:
        raise ShapeMismatch("each place has a value", op="polyfit", operand=2, got=str(values.type),
                            expected=f"{own.type.shape[0]} rows, one axis or two, without names",
                            help="y is a vector, or has a column for each polynomial")
    powers = vander(convert(own, own.dtype.compute), number + 1)
    values = convert(values, values.dtype.compute)
    if w is not None:
        weights = _vector(as_floats(w, "polyfit", 5), "polyfit", 5)
        powers = powers * expand_dims(weights, 1)
        values = values * (weights if values.ndim == 1 else expand_dims(weights, 1))
    scale = sqrt(total(square(absolute(powers)), axis=0))
    limit = tolerance(own.type.shape[0], powers.dtype) if rcond is None else real(rcond, "polyfit", "rcond")
    found = matmul(pseudo_inverse(powers / scale, limit).matrix, values)
    return divide(found, scale if values.ndim == 1 else expand_dims(scale, 1))


explain_keywords(globals(), __all__)
