"""NumPy's ways to join tensors and to cut them, by the direction that they go: rows, columns, depth.

>>> import nervure as nv
>>> nv.vstack([[1, 2], [3, 4]]).tolist(), nv.hstack([[1, 2], [3]]).tolist()
([[1.0, 2.0], [3.0, 4.0]], [1.0, 2.0, 3.0])
>>> [part.tolist() for part in nv.array_split([1, 2, 3], 2)]
[[1.0, 2.0], [3.0]]
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.front.apply import operand_tensors
from nervure.front.argument_parsing import as_integer, members, position_of
from nervure.front.arranging.indexing import slice_along_axis
from nervure.front.arranging.joining import MOST_PARTS, concatenate, split
from nervure.front.arranging.rearranging import of_rank, with_rank
from nervure.front.arranging.views import expand_dims, flatten
from nervure.front.creation import as_tensor
from nervure.front.tensor import Tensor, TensorLike
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import AxisLike

__all__ = ["append", "array_split", "column_stack", "dsplit", "dstack", "hsplit", "hstack", "unstack", "vsplit",
           "vstack"]

_CUTS = "nv.split(x, parts, axis) cuts along any axis"


# -- joined ------------------------------------------------------------------------------------------------------


def vstack(xs: Sequence[TensorLike]) -> Tensor:
    """Puts tensors end to end along the first axis; vectors are rows.

    >>> nv.vstack([[1, 2], [[3, 4], [5, 6]]]).tolist()
    [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    """
    return concatenate([with_rank(x, 2, "vstack") for x in _listed(xs, "vstack")], 0)


def hstack(xs: Sequence[TensorLike]) -> Tensor:
    """Puts tensors end to end along the second axis, vectors along their own.

    >>> nv.hstack([[[1], [2]], [[3], [4]]]).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    tensors = [with_rank(x, 1, "hstack") for x in _listed(xs, "hstack")]
    return concatenate(tensors, 0 if tensors[0].ndim == 1 else 1)


def dstack(xs: Sequence[TensorLike]) -> Tensor:
    """Puts tensors end to end along the third axis, as ``nv.atleast_3d`` makes them.

    >>> nv.dstack([[1, 2], [3, 4]]).tolist()
    [[[1.0, 3.0], [2.0, 4.0]]]
    """
    return concatenate([with_rank(x, 3, "dstack") for x in _listed(xs, "dstack")], 2)


def column_stack(xs: Sequence[TensorLike]) -> Tensor:
    """Puts vectors side by side as the columns of a matrix; matrices join them as they are.

    >>> nv.column_stack([[1, 2], [3, 4]]).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    tensors = [with_rank(x, 1, "column_stack") for x in _listed(xs, "column_stack")]
    return concatenate([expand_dims(x, 1) if x.ndim == 1 else x for x in tensors], 1)


def append(x: TensorLike, values: TensorLike, axis: AxisLike | None = None) -> Tensor:
    """Puts ``values`` behind x along an axis; without one, all elements of both along a single axis.

    >>> nv.append([[1, 2]], [[3, 4]]).tolist(), nv.append([[1, 2]], [[3, 4]], 0).tolist()
    ([1.0, 2.0, 3.0, 4.0], [[1.0, 2.0], [3.0, 4.0]])
    """
    pair = operand_tensors((x, values), "append")
    return concatenate([flatten(entry) for entry in pair] if axis is None else pair, 0 if axis is None else axis)


# -- apart -------------------------------------------------------------------------------------------------------


def array_split(x: TensorLike, parts: object, axis: AxisLike = 0) -> list[Tensor]:
    """Cuts x along an axis into ``parts`` pieces, or before each position of a list.

    The first pieces are longer by one where the length does not divide.

    >>> [part.tolist() for part in nv.array_split([1, 2, 3, 4, 5], 3)]
    [[1.0, 2.0], [3.0, 4.0], [5.0]]
    """
    own, count = as_tensor(x, "array_split"), as_integer(parts)
    if count is None:
        return split(own, parts, axis)
    length = own.type.shape[position_of(own, axis, "array_split")]
    if not 1 <= count <= MOST_PARTS:
        raise InvalidArgument("there is no such number of parts", op="array_split", operand="parts", got=count,
                              expected=f"1 to {MOST_PARTS}", help="nv.split(x, [3, 5]) cuts at positions")
    size, longer = length // count, length % count
    if not isinstance(longer, int):
        raise ShapeMismatch("how many parts are longer depends on the call", op="array_split", operand=1,
                            got=str(own.type), expected="a length that is a number, or that the parts divide",
                            help="nv.split(x, [n // 3]) cuts at positions")
    return split(own, [size * part + min(longer, part) for part in range(1, count)], axis)


def vsplit(x: TensorLike, parts: object) -> list[Tensor]:
    """Cuts x along its first axis, as ``nv.split`` does.

    >>> [part.tolist() for part in nv.vsplit([[1, 2], [3, 4]], 2)]
    [[[1.0, 2.0]], [[3.0, 4.0]]]
    """
    return split(of_rank(x, 2, "vsplit", _CUTS), parts, 0)


def hsplit(x: TensorLike, parts: object) -> list[Tensor]:
    """Cuts x along its second axis, a vector along its own, as ``nv.split`` does.

    >>> [part.tolist() for part in nv.hsplit([[1, 2], [3, 4]], 2)]
    [[[1.0], [3.0]], [[2.0], [4.0]]]
    """
    own = of_rank(x, 1, "hsplit", _CUTS)
    return split(own, parts, 0 if own.ndim == 1 else 1)


def dsplit(x: TensorLike, parts: object) -> list[Tensor]:
    """Cuts x along its third axis, as ``nv.split`` does.

    >>> [part.shape for part in nv.dsplit(nv.zeros((2, 3, 4)), 2)]
    [(2, 3, 2), (2, 3, 2)]
    """
    return split(of_rank(x, 3, "dsplit", _CUTS), parts, 2)


def unstack(x: TensorLike, axis: AxisLike = 0) -> tuple[Tensor, ...]:
    """Returns the slices of x along an axis, without that axis.

    >>> [part.tolist() for part in nv.unstack([[1, 2], [3, 4]], 1)]
    [[1.0, 3.0], [2.0, 4.0]]
    """
    own = as_tensor(x, "unstack")
    at = position_of(own, axis, "unstack")
    length = own.type.shape[at]
    if not isinstance(length, int) or length > MOST_PARTS:
        raise ShapeMismatch("the number of slices is no small number", op="unstack", operand=1, got=str(own.type),
                            expected=f"a length up to {MOST_PARTS}", help="nv.map(f, x) goes over all slices")
    return tuple([slice_along_axis(own, at, place) for place in range(length)])


def _listed(xs: Sequence[TensorLike], name: str) -> list[Tensor]:
    """Returns the tensors that are joined; InvalidArgument for none."""
    listed = operand_tensors(members(xs, name, "xs", "a list of tensors"), name)
    if not listed:
        raise InvalidArgument("there is nothing to join", op=name, operand="xs", got="no tensors",
                              expected="one or more", help="nv.zeros((0, 3)) is empty")
    return listed


explain_keywords(globals(), __all__)
