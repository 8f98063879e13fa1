"""Poolings and their positions: largest elements put back where they were, and windows of random places.

>>> import nervure as nv
>>> x = nv.constant([[[1., 3., 2., 5.]]])
>>> values, index = nv.pooling(x, "max", 2, return_index=True)
>>> nv.max_unpool(values, index, 4).tolist()
[[[0.0, 3.0, 0.0, 5.0]]]
"""

from __future__ import annotations

import math
from typing import Literal, overload

from nervure import ops
from nervure.errors import InvalidArgument, ShapeMismatch, shown
from nervure.front import alignment
from nervure.front.argument_parsing import as_integer, real, truth
from nervure.front.arranging.filled import iota, zeros
from nervure.front.arranging.gathering import as_index, gather_elements
from nervure.front.arranging.views import broadcast, permuted, reshape
from nervure.front.creation import as_tensor
from nervure.front.evaluation_order import in_order
from nervure.front.images.pooling import pooling_window
from nervure.front.images.sampling import new_lengths, with_lengths
from nervure.front.op_functions import add, divide, equal, floordivide, mod, multiply, subtract, trunc
from nervure.front.pointwise.elementwise import convert, where
from nervure.front.random import uniform
from nervure.front.statistics.reductions import argmax
from nervure.front.statistics.reductions import max as largest
from nervure.front.tensor import Tensor, TensorLike
from nervure.support.elsewhere import explain_keywords
from nervure.types.dim import DimLike, dim_max, less_equal, product
from nervure.types.dim import equal as equal_lengths
from nervure.types.dtype import int64
from nervure.types.shape import inverse_permutation

__all__ = ["fractional_max_pooling", "max_unpool"]


@in_order
def max_unpool(x: TensorLike, index: TensorLike, lengths: object) -> Tensor:
    """Puts the elements of x at the positions ``index``, among zeros: what ``nv.pooling(..., return_index=True)`` took.

    ``lengths`` are those of the result: they map axes to lengths, ``{"H": 8, "W": 8}``; for anonymous tensors an int or
    a list goes by position from the third axis on. ``index`` has the axes of x, and counts the places of the result in
    row-major order. Where several elements have one position, the last one stays. It is PyTorch's ``max_unpool``.

    >>> nv.max_unpool([[[7.0]]], [[[2]]], 3).tolist()
    [[[0.0, 0.0, 7.0]]]
    """
    own, positions = as_tensor(x, "max_unpool"), as_index(index, "max_unpool", 2)
    sizes = new_lengths(own, lengths, "max_unpool")
    if positions.is_named != own.is_named or positions.ndim != own.ndim or any([
            equal_lengths(mine, other) is False for mine, other in
            zip(own.type.shape, alignment.arranged(positions, own.axes, "max_unpool", "index").type.shape,
                strict=True)]):
        raise ShapeMismatch("each element has a position", op="max_unpool", operand="index", got=str(positions.axes),
                            expected=str(own.axes), help="both are the results of nv.pooling")
    places = [at for at, _ in sizes]
    others = [at for at in range(own.ndim) if at not in places]
    outer = [own.type.shape[at] for at in others]

    def flat(entry: Tensor) -> Tensor:
        count = product([own.type.shape[at] for at in places])
        return reshape(permuted(Tensor(entry.value), [*others, *places]), (*outer, count))
    chosen = alignment.arranged(positions, own.axes, "max_unpool", "index")
    chosen = Tensor(alignment.assume_shape(chosen.value, own.type.shape, "max_unpool"))
    empty = zeros((*outer, product([length for _, length in sizes])), own.dtype)
    written = Tensor(ops.ScatterElements(empty.value, flat(chosen).value, flat(own).value, axis=len(outer),
                                         mode="set"))
    order = [*others, *places]
    found = permuted(reshape(written, (*outer, *[length for _, length in sizes])),
                     inverse_permutation(order))
    return with_lengths(own, found)


@overload
def fractional_max_pooling(x: TensorLike, window: object, lengths: object = None, ratio: object = None,
                           samples: TensorLike | None = None, return_index: Literal[False] = False) -> Tensor: ...
@overload
def fractional_max_pooling(x: TensorLike, window: object, lengths: object = None, ratio: object = None,
                           samples: TensorLike | None = None, *,
                           return_index: Literal[True]) -> tuple[Tensor, Tensor]: ...
def fractional_max_pooling(x: TensorLike, window: object, lengths: object = None, ratio: object = None,
                           samples: TensorLike | None = None,
                           return_index: bool = False) -> Tensor | tuple[Tensor, Tensor]:
    """The largest element of each of ``lengths`` windows, whose distances are drawn so that they fill x (Graham 2015).

    ``window`` is that of ``nv.pooling``; the new ``lengths`` are as for ``nv.resize``, or x's times a ``ratio`` below
    1, a number for all. ``samples`` are numbers from 0 to 1 that say where windows begin: the axes of x but for the
    pooled ones, then one with a number for each of these. Without them they are drawn, for each row anew. With
    ``return_index`` there are positions too, as in ``nv.pooling``. The numbers are those of PyTorch's
    ``fractional_max_pool2d``, whose samples for two places are in the other order.

    >>> x, samples = nv.constant([[[1., 5., 2., 4., 3.]]]), nv.constant([[[0.5]]])
    >>> nv.fractional_max_pooling(x, 2, 3, samples=samples).tolist()
    [[[5.0, 4.0, 4.0]]]
    """
    own, with_index = as_tensor(x, "fractional_max_pooling"), truth(return_index, "fractional_max_pooling",
                                                                    "return_index")
    places, windows = pooling_window(own, window, "fractional_max_pooling")
    sizes = _new_sizes(own, places, lengths, ratio)
    others = [at for at in range(own.ndim) if at not in places]
    outer = [own.type.shape[at] for at in others]
    found = permuted(_with_room(own, places, windows, sizes), [*others, *places])
    numbers = _samples(own, outer, others, len(places), samples)
    starts = [_starts(numbers[..., k], own.type.shape[at], size, length)
              for k, (at, size, length) in enumerate(zip(places, windows, sizes, strict=True))]
    for k, (start, size, length) in enumerate(zip(starts, windows, sizes, strict=True)):
        at = len(outer) + k
        index = reshape(add(reshape(start, (*start.type.shape, 1)), iota(size)), (*outer, length * size))
        shape = (*found.type.shape[:at], length * size, *found.type.shape[at + 1:])
        spread = reshape(index, (*outer, *[1] * k, length * size, *[1] * (len(places) - k - 1)))
        found = gather_elements(found, broadcast(spread, shape), at)
    parts = reshape(found, (*outer, *[entry for pair in zip(sizes, windows, strict=True) for entry in pair]))
    inner = [len(outer) + 2 * k + 1 for k in range(len(places))]
    order = [*others, *places]
    back = inverse_permutation(order)
    values = with_lengths(own, permuted(largest(parts, reduction_axes=inner), back))
    if not with_index:
        return values
    chosen, index = argmax(parts, reduction_axes=inner), zeros((), int64)
    for k, (at, start, size) in enumerate(zip(places, starts, windows, strict=True)):
        shape = (*outer, *[1] * k, sizes[k], *[1] * (len(places) - k - 1))
        offset = mod(floordivide(chosen, math.prod(windows[k + 1:])), size)
        index = add(multiply(index, own.type.shape[at]), add(reshape(start, shape), offset))
    return values, with_lengths(own, permuted(index, back))


def check_one_is_given(lengths: object, ratio: object, op: str) -> None:
    """Raises InvalidArgument unless the new ``lengths`` are given, or their ``ratio`` to the old ones."""
    if (lengths is None) == (ratio is None):
        raise InvalidArgument("the new lengths, or their share of the old ones, are given", op=op,
                              got="both" if lengths is not None else "neither", expected="lengths= or ratio=",
                              help="ratio=0.7 makes each length 0.7 times as long")


def _new_sizes(x: Tensor, places: list[int], lengths: object, ratio: object) -> list[DimLike]:
    """Returns the new length of each place."""
    check_one_is_given(lengths, ratio, "fractional_max_pooling")
    if lengths is not None:
        given = dict(new_lengths(x, lengths, "fractional_max_pooling"))
        if sorted(given) != sorted(places):
            raise InvalidArgument("windows and lengths have other axes", op="fractional_max_pooling",
                                  operand="lengths", got=shown(lengths), expected=f"{len(places)} lengths",
                                  help="each axis along which windows move gets another length")
        return [given[at] for at in places]
    share, old = real(ratio, "fractional_max_pooling", "ratio"), [as_integer(x.type.shape[at]) for at in places]
    if not 0 < share < 1 or None in old:
        raise InvalidArgument("a ratio is of lengths that are numbers", op="fractional_max_pooling", operand="ratio",
                              got=f"{shown(ratio)} of {x.axes}", expected="a number from 0 to 1",
                              help="lengths= gives the new lengths themselves")
    return [int((length or 0) * share) for length in old]


def _samples(x: Tensor, outer: list[DimLike], others: list[int], count: int, given: TensorLike | None) -> Tensor:
    """Returns the numbers that say where windows begin, (other axes of x, pooled axes)."""
    dtype = x.dtype.compute if x.dtype.is_float else uniform(()).dtype
    if given is None:
        return uniform((*outer, count), dtype=dtype)
    own = as_tensor(given, "fractional_max_pooling", "samples")
    if own.ndim != len(outer) + 1 or any([equal_lengths(length, other) is False for length, other in
                                          zip(own.type.shape, [*outer, count], strict=True)]):
        raise ShapeMismatch("there is a sample for each row and each pooled axis", op="fractional_max_pooling",
                            operand="samples", got=str(own.type), expected=f"({', '.join(map(str, [*outer, count]))})",
                            help="leave them out: they are drawn")
    return convert(Tensor(alignment.assume_shape(own.value, (*outer, count), "fractional_max_pooling")), dtype)


def _with_room(x: Tensor, places: list[int], windows: list[int], sizes: list[DimLike]) -> Tensor:
    """Returns x by positions; ShapeMismatch, if need be in a call, where fewer windows than ``sizes`` have room."""
    shape = list(x.type.shape)
    for at, size, count in zip(places, windows, sizes, strict=True):
        has_room = less_equal(count + size - 1, shape[at])
        if has_room is False:
            raise InvalidArgument("there are more windows than places", op="fractional_max_pooling", operand="lengths",
                                  got=count, expected=f"at most {shape[at] - size + 1}",
                                  help="a smaller window, or fewer of them")
        if has_room is None:
            shape[at] = dim_max(shape[at], count + size - 1)
    return Tensor(alignment.assume_shape(x.value, tuple(shape), "fractional_max_pooling"))


def _starts(sample: Tensor, length: DimLike, size: int, count: DimLike) -> Tensor:
    """Returns where windows begin along an axis: (rows, ``count``), int64."""
    free, steps = [convert(as_tensor(entry, dtype=int64), sample.dtype) for entry in (length - size, count - 1)]
    step = divide(free, where(equal(steps, 0.0), 1.0, steps))
    first = reshape(sample, (*sample.type.shape, 1))
    place = iota(count)
    start = subtract(trunc(multiply(add(convert(place, sample.dtype), first), step)), trunc(multiply(first, step)))
    return where(equal(place, count - 1), length - size, convert(start, int64))


explain_keywords(globals(), __all__)
