"""Numbers at regular steps: along a line, between powers, at the points of a grid, and the powers of a vector.

>>> import nervure as nv
>>> nv.linspace(0, 1, 3).tolist(), nv.geomspace(1, 100, 3).numpy().round(3).tolist()
([0.0, 0.5, 1.0], [1.0, 10.0, 100.0])
>>> [entry.tolist() for entry in nv.meshgrid([1, 2], [3, 4])]
[[[1.0, 2.0], [1.0, 2.0]], [[3.0, 3.0], [4.0, 4.0]]]
"""

from __future__ import annotations

import numpy as np

from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.front.argument_parsing import integer, one_of, real, truth
from nervure.front.arranging.filled import arange, eye
from nervure.front.arranging.views import along_axis, broadcast, expand_dims, reverse
from nervure.front.creation import as_tensor, constant
from nervure.front.pointwise.elementwise import power
from nervure.front.tensor import Tensor, TensorLike
from nervure.support.elsewhere import explain_keywords
from nervure.types.dim import DimLike
from nervure.types.dtype import DTypeLike, as_dtype, float32, int64

__all__ = ["geomspace", "identity", "linspace", "logspace", "meshgrid", "vander"]


def linspace(start: float, stop: float, num: int = 50, endpoint: bool = True, dtype: DTypeLike = float32) -> Tensor:
    """Returns ``num`` numbers from ``start`` to ``stop`` at equal steps; without ``endpoint`` the last one is a step
    before ``stop``. They are NumPy's, computed in float64 and rounded once.

    >>> nv.linspace(0, 1, 5).tolist(), nv.linspace(0, 1, 4, endpoint=False).tolist()
    ([0.0, 0.25, 0.5, 0.75, 1.0], [0.0, 0.25, 0.5, 0.75])
    """
    numbers = np.linspace(*_ends(start, stop, "linspace"), _count(num, "linspace"),
                          endpoint=truth(endpoint, "linspace", "endpoint"))
    return constant(numbers, dtype=as_dtype(dtype))


def logspace(start: float, stop: float, num: int = 50, endpoint: bool = True, base: float = 10.0,
             dtype: DTypeLike = float32) -> Tensor:
    """Returns ``num`` powers of ``base``, whose exponents go from ``start`` to ``stop`` at equal steps.

    >>> nv.logspace(0, 2, 3).tolist()
    [1.0, 10.0, 100.0]
    """
    numbers = np.logspace(*_ends(start, stop, "logspace"), _count(num, "logspace"),
                          endpoint=truth(endpoint, "logspace", "endpoint"), base=real(base, "logspace", "base"))
    return constant(numbers, dtype=as_dtype(dtype))


def geomspace(start: float, stop: float, num: int = 50, endpoint: bool = True, dtype: DTypeLike = float32) -> Tensor:
    """Returns ``num`` numbers from ``start`` to ``stop``, each the same factor times the one before.

    >>> nv.geomspace(1, 8, 4).numpy().round(4).tolist()
    [1.0, 2.0, 4.0, 8.0]
    """
    first, last = _ends(start, stop, "geomspace")
    if first * last <= 0:
        raise InvalidArgument("both ends have one sign, and neither is 0", op="geomspace", operand="start",
                              got=f"{first} and {last}", expected="two numbers above 0, or two below",
                              help="nv.linspace(start, stop, num) has equal steps")
    numbers = np.geomspace(first, last, _count(num, "geomspace"), endpoint=truth(endpoint, "geomspace", "endpoint"))
    return constant(numbers, dtype=as_dtype(dtype))


def identity(n: int, dtype: DTypeLike = float32) -> Tensor:
    """Returns the matrix of ``n`` rows and columns with ones on its diagonal, as ``nv.eye`` does.

    >>> nv.identity(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return eye(n, dtype=dtype)


def meshgrid(*xs: TensorLike, indexing: str = "xy") -> list[Tensor]:
    """Returns the coordinates of all points of a grid, a tensor for each vector of ``xs``, which has its elements
    along one axis.

    With ``indexing`` "ij" the axes are in the order of the vectors; with "xy" the first two are swapped.

    >>> [entry.shape for entry in nv.meshgrid([1, 2, 3], [4, 5], indexing="ij")]
    [(3, 2), (3, 2)]
    """
    vectors = [as_tensor(x, "meshgrid", at + 1) for at, x in enumerate(xs)]
    for at, vector in enumerate(vectors):
        if vector.ndim > 1 or vector.is_named:
            raise ShapeMismatch("a grid is made of vectors without names", op="meshgrid", operand=at + 1,
                                got=str(vector.type), expected="one axis",
                                help="named vectors need no grid: x + y aligns them")
    one_of(indexing, ("xy", "ij"), "meshgrid", "indexing", "'ij' is the order of the vectors")
    places = [*range(len(vectors))]
    if indexing == "xy" and len(vectors) > 1:
        places[:2] = [1, 0]
    lengths = [1 if vector.ndim == 0 else vector.type.shape[0] for vector in vectors]
    shape: list[DimLike] = [0] * len(vectors)
    for place, length in zip(places, lengths, strict=True):
        shape[place] = length
    return [broadcast(along_axis(vector, place, len(vectors)), tuple(shape))
            for vector, place in zip(vectors, places, strict=True)]


def vander(x: TensorLike, columns: int | None = None, increasing: bool = False) -> Tensor:
    """Returns the powers of the elements of a vector x, a row for each of them.

    Exponents go from ``columns`` - 1 down to 0, or from 0 up where they are ``increasing``. Without a number there are
    as many columns as elements.

    >>> nv.vander([2, 3], 3).tolist(), nv.vander([2, 3], 3, increasing=True).tolist()
    ([[4.0, 2.0, 1.0], [9.0, 3.0, 1.0]], [[1.0, 2.0, 4.0], [1.0, 3.0, 9.0]])
    """
    own = as_tensor(x, "vander")
    if own.ndim != 1 or own.is_named:
        raise ShapeMismatch("vander takes a vector without names", op="vander", operand=1, got=str(own.type),
                            expected="one axis", help="nv.flatten(x) makes one axis of all")
    count = own.shape[0] if columns is None else _count(columns, "vander", "columns")
    exponents = arange(count, dtype=own.dtype if own.dtype.is_float else int64)
    exponents = exponents if truth(increasing, "vander", "increasing") else reverse(exponents)
    return power(expand_dims(own, 1), exponents)


def _ends(start: float, stop: float, name: str) -> tuple[float, float]:
    return real(start, name, "start"), real(stop, name, "stop")


def _count(number: int, name: str, operand: str = "num") -> int:
    """Returns how many numbers there are."""
    return integer(number, name, operand, help="0 gives an empty tensor", least=0)


explain_keywords(globals(), __all__)
