"""Polynomials by their coefficients, the one of the highest power first, and the products that they share with signals.

>>> import nervure as nv
>>> nv.polyval([1, 0, 2], 3).item(), nv.polymul([1, 2], [1, 3]).tolist(), nv.convolve([1, 2, 3], [1, 1]).tolist()
(11.0, [1.0, 5.0, 6.0], [1.0, 3.0, 5.0, 3.0])
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.front.apply import operand_tensors
from nervure.front.argument_parsing import integer, one_of
from nervure.front.arranging.filled import arange, zeros, zeros_like
from nervure.front.arranging.joining import MOST_PARTS, concatenate
from nervure.front.arranging.views import reshape, reverse
from nervure.front.creation import as_tensor, expression
from nervure.front.evaluation_order import in_order
from nervure.front.images.convolution import convolution
from nervure.front.op_functions import add, divide, multiply, subtract
from nervure.front.pointwise.complex_parts import conj
from nervure.front.pointwise.elementwise import convert
from nervure.front.tensor import Number, Operand, Tensor, TensorLike
from nervure.support.elsewhere import explain_keywords
from nervure.types.dim import DimLike, equal, less_equal
from nervure.types.dtype import int64

__all__ = ["convolve", "correlate", "polyadd", "polyder", "polyint", "polymul", "polysub", "polyval"]

MODES = ("full", "same", "valid")


# -- sliding sums ------------------------------------------------------------------------------------------------


def convolve(x: TensorLike, v: TensorLike, mode: str = "full") -> Tensor:
    """Returns the sums of products of the vectors x and ``v`` whose positions add up to the same number.

    With ``mode`` "full" there is a sum for each number, with "same" the middle ones, as many as the longer vector has
    elements, and with "valid" those for which the vectors overlap wholly.

    >>> nv.convolve([1, 2, 3], [0, 1, 0.5]).tolist(), nv.convolve([1, 2, 3], [1, 1], "valid").tolist()
    ([0.0, 1.0, 2.5, 4.0, 1.5], [3.0, 5.0])
    """
    own, other = _vectors(x, v, "convolve")
    longer, shorter = _ordered(own, other, mode, "convolve")
    return _slide(longer, reverse(shorter), mode)


def correlate(x: TensorLike, v: TensorLike, mode: str = "valid") -> Tensor:
    """Returns the sums of products of the vector x with ``v``, whose conjugate slides along it.

    ``mode`` is that of ``nv.convolve``.

    >>> nv.correlate([1, 2, 3], [0, 1, 0.5]).tolist(), nv.correlate([1, 2, 3], [0, 1, 0.5], "same").tolist()
    ([3.5], [2.0, 3.5, 3.0])
    """
    own, other = _vectors(x, v, "correlate")
    other = conj(other)
    longer, shorter = _ordered(own, other, mode, "correlate")
    found = _slide(longer, shorter, mode)
    return found if longer is own else reverse(found)


def _slide(x: Tensor, window: Tensor, mode: str) -> Tensor:
    """Returns the sums of products of a vector with a window at its places."""
    width = window.type.shape[0]
    if not isinstance(width, int):
        raise InvalidArgument("a vector slides along one whose length is a symbol", op="convolve", operand="v",
                              got=str(window.type), expected="a length that is a number", help="x may have a symbol")
    before = {"full": width - 1, "same": width // 2, "valid": 0}[mode]
    after = width - 1 - before if mode == "same" else before
    found = convolution(reshape(x, (1, 1, -1)), reshape(window, (1, 1, width)), padding=(before, after))
    return reshape(found, (-1,))


def _ordered(x: Tensor, v: Tensor, mode: str, name: str) -> tuple[Tensor, Tensor]:
    """Returns the longer of two vectors, and the shorter one; they are as given where that changes nothing."""
    one_of(mode, MODES, name, "mode", "it says for which places there are sums")
    lengths = x.type.shape[0], v.type.shape[0]
    for operand, length in enumerate(lengths, 1):
        if less_equal(1, length) is not True:
            raise ShapeMismatch("there is no element", op=name, operand=operand, got=str((x, v)[operand - 1].type),
                                expected="one element or more", help='nv.dim("n", min=1) is a symbol')
    if less_equal(lengths[1], lengths[0]) is True:
        return x, v
    if less_equal(*lengths) is True:
        return v, x
    if mode != "full":
        raise ShapeMismatch("which vector is longer depends on the call", op=name, operand=1, got=str(x.type),
                            expected=f"a length of {lengths[1]} or more",
                            help='nv.dim("n", min=3) is at least 3; mode="full" takes any')
    return x, v


# -- coefficients ------------------------------------------------------------------------------------------------


@in_order
def polyval(p: TensorLike, x: TensorLike) -> Tensor:
    """Returns the values at x of the polynomial with the coefficients ``p``, by Horner's scheme.

    >>> nv.polyval([3, 0, 1], [0, 1, 2]).tolist()
    [1.0, 4.0, 13.0]
    """
    given, own = operand_tensors((p, x), "polyval")
    coefficients = _vector(given, "polyval", 1)
    count = coefficients.type.shape[0]
    if not isinstance(count, int) or count > MOST_PARTS:
        raise ShapeMismatch("the number of coefficients is no small number", op="polyval", operand=1,
                            got=str(coefficients.type), expected=f"a length up to {MOST_PARTS}",
                            help="nv.fori_loop goes over any number")
    found = zeros_like(own)
    for at in range(count):
        found = add(multiply(found, own), coefficients[at])
    return found


def polyadd(p: TensorLike, q: TensorLike) -> Tensor:
    """Returns the coefficients of the sum of the polynomials ``p`` and ``q``.

    >>> nv.polyadd([1, 2], [9, 5, 4]).tolist()
    [9.0, 6.0, 6.0]
    """
    return add(*_aligned(p, q, "polyadd"))


def polysub(p: TensorLike, q: TensorLike) -> Tensor:
    """Returns the coefficients of the difference of the polynomials ``p`` and ``q``.

    >>> nv.polysub([2, 10, -2], [3, 10, -4]).tolist()
    [-1.0, 0.0, 2.0]
    """
    return subtract(*_aligned(p, q, "polysub"))


@in_order
def polymul(p: TensorLike, q: TensorLike) -> Tensor:
    """Returns the coefficients of the product of the polynomials ``p`` and ``q``: zeros in front stay.

    >>> nv.polymul([1, 2], [9, 5, 4]).tolist()
    [9.0, 23.0, 14.0, 8.0]
    """
    return convolve(*_vectors(p, q, "polymul"))


def polyder(p: TensorLike, m: int = 1) -> Tensor:
    """Returns the coefficients of the derivative of order ``m`` of the polynomial ``p``.

    >>> nv.polyder([1, 1, 1, 1]).tolist(), nv.polyder([1, 1, 1, 1], 2).tolist()
    ([3.0, 2.0, 1.0], [6.0, 2.0])
    """
    own = _vector(p, "polyder", 1)
    for _ in range(_order(m, "polyder")):
        if equal(own.type.shape[0], 0) is True:
            break
        kept = own[:-1]
        own = multiply(kept, _exponents(own, kept.type.shape[0]))
    return expression(own)


def polyint(p: TensorLike, m: int = 1, k: Operand | Sequence[Number] | None = None) -> Tensor:
    """Returns the coefficients of the polynomial ``p`` integrated ``m`` times.

    ``k`` has a constant for each time, the first one first; they are 0 by default.

    >>> nv.polyint([6, 2]).tolist(), nv.polyint([6, 2], 2, [5, 7]).tolist()
    ([3.0, 2.0, 0.0], [1.0, 1.0, 5.0, 7.0])
    """
    own, times = _vector(p, "polyint", 1), _order(m, "polyint")
    given = zeros((times,)) if k is None else reshape(operand_tensors((own, k), "polyint", 2)[1], (-1,))
    if equal(given.type.shape[0], times) is not True:
        raise InvalidArgument("there is a constant for each time", op="polyint", operand="k", got=str(given.type),
                              expected=f"{times} numbers", help="0 leaves one out")
    for at in range(times):
        quotients = divide(own, _exponents(own, own.type.shape[0]))
        own = concatenate([quotients, convert(given[at:at + 1], quotients.dtype)], 0)
    return expression(own)


def _exponents(p: Tensor, count: DimLike) -> Tensor:
    """Returns the numbers from a count down to 1, in the type of coefficients."""
    dtype = p.dtype if p.dtype.is_float or p.dtype.is_complex else int64
    return reverse(convert(arange(count), dtype) + 1)


def _order(m: int, name: str) -> int:
    return integer(m, name, "m", help="nv.polyint is the inverse of nv.polyder", least=0)


def _aligned(p: TensorLike, q: TensorLike, name: str) -> list[Tensor]:
    """Returns coefficients of two polynomials, as many of both, with zeros in front of the shorter ones."""
    pair = _vectors(p, q, name)
    lengths = [entry.type.shape[0] for entry in pair]
    for at in (0, 1):
        if less_equal(lengths[at], lengths[1 - at]) is True:
            front = zeros((lengths[1 - at] - lengths[at],), pair[at].dtype)
            return [concatenate([front, entry], 0) if d == at else entry for d, entry in enumerate(pair)]
    raise ShapeMismatch("which polynomial is longer depends on the call", op=name, operand=1, got=str(pair[0].type),
                        expected="lengths of which one is known to be longer", help="nv.pad(p, (1, 0)) adds a zero")


def _vectors(x: TensorLike, y: TensorLike, name: str) -> tuple[Tensor, Tensor]:
    """Returns two operands as vectors without names."""
    left, right = operand_tensors((x, y), name)
    return _vector(left, name, 1), _vector(right, name, 2)


def _vector(x: TensorLike, name: str, operand: int) -> Tensor:
    """Returns a vector without names; a number is one element."""
    own = as_tensor(x, name, operand)
    if own.ndim > 1 or own.is_named:
        raise ShapeMismatch("it takes vectors without names", op=name, operand=operand, got=str(own.type),
                            expected="one axis", help="nv.flatten(x) makes one axis of all")
    return own if own.ndim else reshape(own, (1,))


explain_keywords(globals(), __all__)
