"""The derivative of a product of many factors, without a division: exact with any number of zeros.

Each factor's derivative is the product of all the others. Dividing the whole product by the factor fails at a zero,
and case distinctions by the number of zeros give wrong second derivatives. So the product is formed as a tree, the
first half of the axis times the second, again and again, and differentiated from the root to the leaves:

>>> import nervure as nv
>>> x, gradient = nv.Parameter(nv.float32, (2, 5)), nv.Parameter(nv.float32, (2,))
>>> product_gradient(gradient.value, x.value, 1)
f32[2, 5] Concatenate(Multiply, Slice)

The work is linear in the number of factors, the number of ops logarithmic.
"""

from __future__ import annotations

from nervure.ir.op import Value
from nervure.ops.views import Broadcast, Concatenate, Pad, Slice
from nervure.types.dim import DimLike, highest

_MOST_LEVELS = 62  # halvings of the longest axis that an int64 can count


def product_gradient(gradient: Value, x: Value, axis: int) -> Value:
    """Returns the gradient of x, from that of the product of x over one ``axis``, which must not be known to be empty.
    """
    pairs = []
    level = x
    for _ in range(_levels(x.shape[axis])):
        length = level.shape[axis]
        half = (length + 1) // 2
        first, second = _part(level, axis, 0, half), _part(level, axis, half, length - half)
        pairs.append((first, second))
        level = first * _padded(second, axis, half)
    gradient = Broadcast(gradient, level.shape, (axis,)).output
    for first, second in reversed(pairs):
        half, rest = first.shape[axis], second.shape[axis]
        towards_first = gradient * _padded(second, axis, half)
        towards_second = _part(gradient * first, axis, 0, rest)
        gradient = Concatenate(towards_first, towards_second, axis=axis).output
    return gradient


def _levels(length: DimLike) -> int:
    """Returns the number of halvings that leave a length of at most 1, for the largest value of its symbols."""
    most = length if isinstance(length, int) else highest(length)
    return _MOST_LEVELS if most is None else min(max(most - 1, 0).bit_length(), _MOST_LEVELS)


def _part(x: Value, axis: int, start: DimLike, extent: DimLike) -> Value:
    if extent is x.shape[axis] or extent == x.shape[axis]:
        return x
    slices: list[tuple[DimLike, DimLike, int]] = [(0, length, 1) for length in x.shape]
    slices[axis] = (start, extent, 1)
    return Slice(x, slices).output


def _padded(x: Value, axis: int, length: DimLike) -> Value:
    """Pads x with ones at the end of the axis, to ``length``."""
    missing = length - x.shape[axis]
    if isinstance(missing, int) and missing == 0:
        return x
    padding = [(0, missing if d == axis else 0) for d in range(x.rank)]
    return Pad(x, padding, 1.0).output
