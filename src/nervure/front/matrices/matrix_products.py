"""Products that NumPy names: inner, tensor, Kronecker and cross products.

>>> import numpy as np
>>> import nervure as nv
>>> x, y = np.array([1.0, 2.0, 0.0]), np.array([3.0, 4.0, 0.0])
>>> nv.inner(x, y).item(), nv.kron(x, y[:2]).tolist(), nv.cross(x, y).tolist()
(11.0, [3.0, 4.0, 6.0, 8.0, 0.0, 0.0], [0.0, 0.0, -2.0])
"""

from __future__ import annotations

from nervure.errors import AxisMismatch, InvalidArgument, ShapeMismatch
from nervure.front.alignment import broadcast_shape
from nervure.front.apply import promoted_pair
from nervure.front.argument_parsing import as_integer, position_of, positions_of
from nervure.front.arranging.rearranging import moveaxis, roll
from nervure.front.arranging.views import broadcast, flatten, reshape
from nervure.front.matrices.contraction import sum_over
from nervure.front.op_functions import multiply
from nervure.front.pointwise.complex_parts import conj
from nervure.front.tensor import Operand, Tensor
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import AxisLike
from nervure.types.dim import equal

__all__ = ["cross", "inner", "kron", "tensordot", "vdot"]


def inner(x: Operand, y: Operand) -> Tensor:
    """Sums the products of x and y over the last axis of each; a scalar multiplies.

    >>> nv.inner(np.array([[1, 2], [3, 4]]), np.array([1, 1])).tolist()
    [3, 7]
    """
    left, right = _pair(x, y, "inner")
    if left.ndim == 0 or right.ndim == 0:
        return multiply(left, right)
    return _contracted(left, right, ((left.ndim - 1,), (right.ndim - 1,)), "inner")


def vdot(x: Operand, y: Operand) -> Tensor:
    """Sums the products of all elements of x, conjugated if they are complex, and y.

    >>> x, z = np.array([[1, 2], [3, 4]]), np.array([1j, 2])
    >>> nv.vdot(x, np.array([[1, 1], [1, 1]])).item(), nv.vdot(z, z).item()
    (10, (5+0j))
    """
    left, right = [flatten(entry) for entry in _pair(x, y, "vdot")]
    return _contracted(conj(left), right, ((0,), (0,)), "vdot")


def tensordot(x: Operand, y: Operand, axes: object = 2) -> Tensor:
    """Sums the products of x and y over several axes. The result has the other axes of x, then those of y.

    ``axes`` is the number of the last axes of x and the first ones of y, or a pair (axes of x, axes of y).

    >>> nv.tensordot(nv.ones((2, 3, 4)), nv.ones((3, 4, 5))).shape
    (2, 5)
    >>> nv.tensordot(np.array([1, 2]), np.array([3, 4]), 0).tolist()
    [[3, 4], [6, 8]]
    """
    left, right = _pair(x, y, "tensordot")
    count = as_integer(axes)
    if count is not None:
        if not 0 <= count <= min(left.ndim, right.ndim):
            raise InvalidArgument("both tensors have the axes that are contracted", op="tensordot", operand="axes",
                                  got=count, expected=f"0 to {min(left.ndim, right.ndim)}",
                                  help="axes=([1], [0]) lists them for each tensor")
        return _contracted(left, right, (tuple(range(left.ndim - count, left.ndim)), tuple(range(count))), "tensordot")
    if not isinstance(axes, (list, tuple)) or len(axes) != 2:
        raise InvalidArgument("axes is a number, or a pair", op="tensordot", operand="axes", got=f"{axes!r:.60}",
                              expected="2, or ([1], [0])", help="the pair has the axes of x, then those of y")
    pair = positions_of(left, axes[0], "tensordot"), positions_of(right, axes[1], "tensordot")
    if len(pair[0]) != len(pair[1]):
        raise InvalidArgument("each axis of x is contracted with one of y", op="tensordot", operand="axes",
                              got=f"{len(pair[0])} and {len(pair[1])}", expected="as many of both",
                              help="axes=([1, 2], [0, 1]) contracts two")
    return _contracted(left, right, pair, "tensordot")


def kron(x: Operand, y: Operand) -> Tensor:
    """Returns the Kronecker product: x with that element times y in the place of each element.

    >>> nv.kron(np.array([[1, 2]]), np.array([[1], [1]])).tolist()
    [[1, 2], [1, 2]]
    """
    left, right = _pair(x, y, "kron")
    rank = max(left.ndim, right.ndim)
    shapes = [(*(1,) * (rank - entry.ndim), *entry.type.shape) for entry in (left, right)]
    pairs = list(zip(*shapes, strict=True))
    outer = reshape(left, [part for length in shapes[0] for part in (length, 1)])
    inside = reshape(right, [part for length in shapes[1] for part in (1, length)])
    return reshape(multiply(outer, inside), [first * second for first, second in pairs])


def cross(x: Operand, y: Operand, axis: AxisLike = -1) -> Tensor:
    """The cross product of vectors of three elements, which lie along an ``axis`` of x and of y.

    >>> nv.cross(np.array([[1, 0, 0], [0, 1, 0]]), np.array([0, 0, 1])).tolist()
    [[0, -1, 0], [1, 0, 0]]
    """
    left, right = [_vectors(entry, axis, place) for place, entry in enumerate(_pair(x, y, "cross"), 1)]
    shape = broadcast_shape([left.type.shape, right.type.shape], "cross")
    left, right = broadcast(left, shape), broadcast(right, shape)
    last = [len(shape) - 1]
    product = multiply(left, roll(right, -1, last)) - multiply(roll(left, -1, last), right)
    return moveaxis(roll(product, -1, last), -1, position_of(product, axis, "cross"))


def _vectors(x: Tensor, axis: AxisLike, operand: int) -> Tensor:
    """Returns x with its vectors along the last axis; ShapeMismatch unless they have three elements."""
    at = position_of(x, axis, "cross")
    if equal(x.type.shape[at], 3) is not True:
        raise ShapeMismatch("a cross product takes vectors of three elements", op="cross", operand=operand,
                            got=f"{x.type.shape[at]} along axis {at} of {x.type}", expected="3",
                            help="axis= says where they lie")
    return moveaxis(x, at, -1)


def _pair(x: Operand, y: Operand, name: str) -> tuple[Tensor, Tensor]:
    """Returns both in their common type; AxisMismatch for names, by which nv.dot goes."""
    pair = promoted_pair(x, y, name)
    if any([entry.is_named for entry in pair]):
        raise AxisMismatch(f"{name} goes by positions", op=name, got=" and ".join([str(entry.axes) for entry in pair]),
                           expected="anonymous axes", help="nv.dot(x, y) contracts the axes of one name")
    return pair


def _contracted(left: Tensor, right: Tensor, axes: tuple[tuple[int, ...], tuple[int, ...]], name: str) -> Tensor:
    """Returns the sums of products over pairs of axes; ShapeMismatch where their lengths differ."""
    pairs = tuple(zip(*axes, strict=True))
    for first, second in pairs:
        lengths = left.type.shape[first], right.type.shape[second]
        if equal(*lengths) is False:
            raise ShapeMismatch("the axes that are contracted have one length", op=name,
                                got=f"{lengths[0]} and {lengths[1]}", expected="equal lengths",
                                help=f"x is {left.type}, y is {right.type}")
    return sum_over(pairs, left, right, name)


explain_keywords(globals(), __all__)
