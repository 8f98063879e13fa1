"""Index tensors for places in a matrix or a grid: triangles, diagonals, all coordinates, and numbers of places.

>>> import nervure as nv
>>> x = nv.constant([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
>>> x[nv.triu_indices(3, 1)].tolist(), x[nv.ix_([0, 2], [1])].tolist()
([2.0, 3.0, 6.0], [[2.0], [8.0]])
>>> [entry.tolist() for entry in nv.unravel_index(nv.argmax(x), (3, 3))]
[2, 2]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nervure import ops
from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.front.argument_parsing import integer, members, require_function, truth
from nervure.front.arranging.diagonals import tri
from nervure.front.arranging.filled import iota, ones
from nervure.front.arranging.found import nonzero
from nervure.front.arranging.gathering import as_index, inside, within
from nervure.front.arranging.views import along_axis
from nervure.front.creation import as_tensor, read_axes
from nervure.front.evaluation_order import in_order
from nervure.front.given_arrays import numpy_array
from nervure.front.op_functions import add, floordivide, mod, multiply
from nervure.front.tensor import Tensor, TensorLike
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import AxesLike
from nervure.types.dim import DimLike, equal, product
from nervure.types.dtype import DTypeLike, as_dtype, float32, int64

__all__ = ["diag_indices", "diag_indices_from", "fromfunction", "indices", "ix_", "mask_indices", "ravel_multi_index",
           "tril_indices", "tril_indices_from", "triu_indices", "triu_indices_from", "unravel_index"]

# -- triangles and diagonals -----------------------------------------------------------------------------------------


def tril_indices(rows: DimLike, offset: int = 0, columns: DimLike | None = None) -> tuple[Tensor, ...]:
    """Returns the rows and the columns of the places at and below a diagonal: ``offset`` > 0 is above the main one.

    A matrix of ``rows`` has as many ``columns`` unless they are given. A symbol makes a length that is found.

    >>> [entry.tolist() for entry in nv.tril_indices(2)]
    [[0, 1, 1], [0, 0, 1]]
    """
    return nonzero(tri(rows, columns, integer(offset, "tril_indices", "offset")))


def triu_indices(rows: DimLike, offset: int = 0, columns: DimLike | None = None) -> tuple[Tensor, ...]:
    """Returns the rows and the columns of the places at and above a diagonal: ``offset`` > 0 is above the main one.

    A matrix of ``rows`` has as many ``columns`` unless they are given. A symbol makes a length that is found.

    >>> [entry.tolist() for entry in nv.triu_indices(2)]
    [[0, 0, 1], [0, 1, 1]]
    """
    return nonzero(1 - tri(rows, columns, integer(offset, "triu_indices", "offset") - 1))


def tril_indices_from(x: TensorLike, offset: int = 0) -> tuple[Tensor, ...]:
    """Returns ``nv.tril_indices`` for the shape of the matrix x, with its ``offset``.

    >>> [entry.tolist() for entry in nv.tril_indices_from([[1, 2], [3, 4]], -1)]
    [[1], [0]]
    """
    rows, columns = _matrix(x, "tril_indices_from").type.shape
    return tril_indices(rows, offset, columns)


def triu_indices_from(x: TensorLike, offset: int = 0) -> tuple[Tensor, ...]:
    """Returns ``nv.triu_indices`` for the shape of the matrix x, with its ``offset``.

    >>> [entry.tolist() for entry in nv.triu_indices_from([[1, 2], [3, 4]], 1)]
    [[0], [1]]
    """
    rows, columns = _matrix(x, "triu_indices_from").type.shape
    return triu_indices(rows, offset, columns)


def diag_indices(n: DimLike, ndim: int = 2) -> tuple[Tensor, ...]:
    """Returns the places on the diagonal of a tensor of ``ndim`` axes of length ``n``: the same numbers for each axis.

    >>> [entry.tolist() for entry in nv.diag_indices(2)]
    [[0, 1], [0, 1]]
    """
    return (iota(n),) * integer(ndim, "diag_indices", "ndim")


def diag_indices_from(x: TensorLike) -> tuple[Tensor, ...]:
    """Returns ``nv.diag_indices`` for x, all axes of which have one length.

    >>> [entry.tolist() for entry in nv.diag_indices_from([[5, 6], [7, 8]])]
    [[0, 1], [0, 1]]
    """
    own = as_tensor(x, "diag_indices_from")
    lengths = own.type.shape
    if len(lengths) < 2 or not all([equal(length, lengths[0]) is True for length in lengths]):
        raise ShapeMismatch("this diagonal lies in axes of one length", op="diag_indices_from", operand=1,
                            got=str(own.type), expected="two axes or more, of one length",
                            help="nv.diagonal(x) reads that of any matrix")
    return diag_indices(lengths[0], own.ndim)


def mask_indices(n: DimLike, function: Callable[..., Any], offset: int = 0) -> tuple[Tensor, ...]:
    """Returns the places that are not 0 in ``function(ones, offset)``, where ones is a matrix of n rows and columns.

    >>> [entry.tolist() for entry in nv.mask_indices(2, nv.triu, 1)]
    [[0], [1]]
    """
    require_function(function, "mask_indices", "function", ("x", "offset"))
    return nonzero(function(ones((n, n)), offset))


# -- grids -----------------------------------------------------------------------------------------------------------


def indices(dimensions: AxesLike, dtype: DTypeLike = int64, sparse: bool = False) -> Any:
    """Returns the coordinates of all places of a grid, one tensor whose first axis numbers those of the grid.

    With ``sparse`` it is a tuple of tensors, each as long as its own axis alone.

    >>> nv.indices((2, 2)).tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    axes = read_axes(dimensions)
    if not axes.is_anonymous:
        raise InvalidArgument("a grid of coordinates goes by positions", op="indices", operand="dimensions",
                              got=str(axes), expected="lengths", help='nv.iota("H=3") counts along a named axis')
    shape, kind = axes.lengths, as_dtype(dtype)
    if truth(sparse, "indices", "sparse"):
        return tuple([along_axis(iota(length, kind), at, len(shape)) for at, length in enumerate(shape)])
    if not shape:
        return ones((0,), kind)
    counted = [ops.Broadcast(ops.Iota(shape, at, kind), (1, *shape), (0,))
               for at in range(len(shape))]
    return Tensor(ops.Concatenate(*counted, axis=0))


def fromfunction(function: Callable[..., Any], shape: AxesLike, dtype: DTypeLike = float32) -> Any:
    """Returns ``function`` of the coordinates of all places of a grid: it gets a tensor for each axis of ``shape``.

    >>> nv.fromfunction(lambda i, j: i + j, (2, 3)).tolist()
    [[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]]
    """
    require_function(function, "fromfunction", "function")
    grid = indices(shape, dtype)
    return function(*[grid[at] for at in range(grid.type.shape[0])])


@in_order
def ix_(*xs: TensorLike) -> tuple[Tensor, ...]:
    """Returns the vectors ``xs`` as an index of all combinations of their entries; a vector of truths stands for
    where it is true.

    >>> nv.constant([[1, 2, 3], [4, 5, 6]])[nv.ix_([1], [True, False, True])].tolist()
    [[4.0, 6.0]]
    """
    found = []
    for at, x in enumerate(xs):
        own = as_tensor(x, "ix_", at + 1) if isinstance(x, Tensor) else as_tensor(numpy_array(x, "ix_"), "ix_", at + 1)
        if own.ndim != 1 or own.is_named:
            raise ShapeMismatch("an index of combinations is made of vectors", op="ix_", operand=at + 1,
                                got=str(own.type), expected="one axis without names", help="nv.flatten makes one axis")
        row = nonzero(own)[0] if own.dtype.name == "bool" else as_index(own, "ix_", at + 1)
        found.append(along_axis(row, at, len(xs)))
    return tuple(found)


# -- numbers of places -----------------------------------------------------------------------------------------------


def ravel_multi_index(multi_index: Sequence[TensorLike], dims: AxesLike, mode: str = "raise") -> Tensor:
    """Returns the numbers of places in row-major order, from their coordinates: a tensor for each length of ``dims``.

    Coordinates outside are an IndexOutOfRange when the graph runs, or with ``mode`` "wrap" taken modulo the length, or
    with "clip" the nearest ones.

    >>> nv.ravel_multi_index(([1, 0], [2, 1]), (3, 4)).tolist()
    [6, 1]
    """
    lengths = read_axes(dims).lengths
    listed: list[Any] = members(multi_index, "ravel_multi_index", "multi_index", "a tensor for each axis")
    given = [as_index(entry, "ravel_multi_index", at + 1) for at, entry in enumerate(listed)]
    if len(given) != len(lengths) or not given:
        raise InvalidArgument("each axis has a coordinate", op="ravel_multi_index", operand="multi_index",
                              got=f"{len(given)} tensors", expected=f"{max(len(lengths), 1)}",
                              help="dims are the lengths of all axes")
    found: Tensor | None = None
    for index, length in zip(given, lengths, strict=True):
        place = inside(index, length, mode, "ravel_multi_index")
        found = place if found is None else add(multiply(found, length), place)
    assert found is not None
    return found


def unravel_index(index: TensorLike, shape: AxesLike) -> tuple[Tensor, ...]:
    """Returns the coordinates of places from their numbers in row-major order, a tensor for each length of ``shape``.

    A number that the shape does not have is an IndexOutOfRange when the graph runs.

    >>> [entry.tolist() for entry in nv.unravel_index([6, 1], (3, 4))]
    [[1, 0], [2, 1]]
    """
    lengths = read_axes(shape).lengths
    place, found = within(as_index(index, "unravel_index"), product(lengths)), []
    for length in reversed(lengths[1:]):
        found.append(mod(place, length))
        place = floordivide(place, length)
    return (place, *reversed(found)) if lengths else ()


def _matrix(x: TensorLike, name: str) -> Tensor:
    own = as_tensor(x, name)
    if own.ndim != 2:
        raise ShapeMismatch("triangles lie in a matrix", op=name, operand=1, got=str(own.type), expected="two axes",
                            help="x[0] is one matrix of many")
    return own


explain_keywords(globals(), __all__)
