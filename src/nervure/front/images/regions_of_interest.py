"""Boxes in images: what lies in them, resized or pooled to one size, and which of those that overlap stay.

>>> import nervure as nv
>>> image = nv.constant(np.arange(16.0).reshape(1, 1, 4, 4))
>>> nv.roi_align(image, [[0., 0., 4., 4.]], [0], [2, 2], samples=1).tolist()
[[[[2.5, 4.5], [10.5, 12.5]]]]
>>> nv.nms([[0., 0., 2., 2.], [0., 0., 2., 1.9], [5., 5., 6., 6.]], [0.5, 0.9, 0.1]).tolist()
[1, 2]

Boxes are (x1, y1, x2, y2) in elements, as torchvision and ONNX have them, but for ``crop_and_resize``, whose boxes are
TensorFlow's: (y1, x1, y2, x2), in shares of the image.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.front.alignment import assume_shape
from nervure.front.argument_parsing import integer, members, one_of, real, truth
from nervure.front.arranging.filled import iota, ones
from nervure.front.arranging.found import is_constant, known_array, nonzero
from nervure.front.arranging.gathering import as_index, gather
from nervure.front.arranging.views import expand_dims, pad, permuted, reshape
from nervure.front.creation import as_tensor, constant
from nervure.front.evaluation_order import in_order
from nervure.front.images.interpolation import held, sampled
from nervure.front.loops.loop_functions import fori_loop, scan
from nervure.front.op_functions import (
    add,
    ceil,
    divide,
    equal,
    floor,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_or,
    maximum,
    minimum,
    multiply,
    subtract,
)
from nervure.front.pointwise.elementwise import as_floats, convert, where
from nervure.front.statistics.reductions import argmax
from nervure.front.statistics.reductions import max as largest
from nervure.front.statistics.reductions import sum as total
from nervure.front.statistics.sorts import argsort
from nervure.front.tensor import Tensor, TensorLike
from nervure.support.elsewhere import explain_keywords
from nervure.types.dim import DimLike
from nervure.types.dim import equal as equal_lengths
from nervure.types.dtype import bool_, int64

__all__ = ["crop_and_resize", "nms", "roi_align", "roi_pool"]


# -- what lies in boxes --------------------------------------------------------------------------------------------


@in_order
def crop_and_resize(x: TensorLike, boxes: TensorLike, rows: TensorLike, lengths: Sequence[int], mode: str = "linear",
                    fill: float = 0.0) -> Tensor:
    """Cuts boxes out of images x, (N, C, places), and resizes each to ``lengths``: (boxes, C, lengths).

    ``boxes`` are starts, then ends, in the order of the places: (y1, x1, y2, x2) for (H, W), from 0 at the centre of
    the first element to 1 at that of the last. ``rows`` has the number of the image of each box. ``mode`` is "linear"
    or "nearest"; outside of x is ``fill``. An end before its start flips. The numbers are those of TensorFlow's
    ``crop_and_resize``; derivatives go to x and to the boxes.

    >>> nv.crop_and_resize([[[1., 2., 3.]]], [[0.5, 1.0]], [0], [3]).tolist()
    [[[2.0, 2.5, 3.0]]]
    """
    one_of(mode, ("linear", "nearest"), "crop_and_resize", "mode", "'linear' is usual")
    plan = _planned("crop_and_resize", x, boxes, rows, lengths)
    outside, is_inside, coordinates = real(fill, "crop_and_resize", "fill"), None, []
    for k, count in enumerate(plan.lengths):
        last = convert(subtract(as_tensor(plan.places[k], dtype=int64), 1), plan.boxes.dtype)
        start, end = plan.boxes[:, k], plan.boxes[:, plan.rank + k]
        if count > 1:
            share = divide(convert(iota(count), start.dtype), float(count - 1))
            places = add(_column(start, 1), multiply(subtract(_column(end, 1), _column(start, 1)), share))
        else:
            places = multiply(_column(add(start, end), 1), 0.5)
        places = plan.along(multiply(places, last), k, 1)
        own = logical_and(greater_equal(places, 0.0), less_equal(places, last))
        is_inside = own if is_inside is None else logical_and(is_inside, own)
        coordinates.append(places)
    assert is_inside is not None
    found = plan.sampled(coordinates, mode)
    return plan.result(where(expand_dims(is_inside, is_inside.ndim), found, outside))


@in_order
def roi_align(x: TensorLike, boxes: TensorLike, rows: TensorLike, lengths: Sequence[int], scale: float = 1.0,
              samples: int = 2, aligned: bool = True) -> Tensor:
    """Averages images x, (N, C, H, W), over the parts of boxes, a grid of ``lengths`` for each: (boxes, C, lengths).

    Each part is the mean of ``samples`` by samples places, between which x is linear (He et al. 2017). ``boxes`` are
    (x1, y1, x2, y2) in elements, after they are multiplied by ``scale``; ``rows`` has the number of the image of each.
    ``aligned`` shifts them by half an element, so that element i is from i to i + 1; without it boxes are 1 long at
    least. The numbers are those of torchvision's ``roi_align``, and of ONNX's "half_pixel".

    ``samples`` of 0 takes as many as a part has elements, rounded up, for boxes that are finite constants; a part
    without extent gives 0 then. Images of one or three places have boxes (x1, x2), or (x1, y1, z1, x2, y2, z2).
    Derivatives go to x and to the boxes.

    >>> nv.roi_align([[[0., 1., 2., 3.]]], [[0., 4.]], [0], [2]).tolist()
    [[[0.5, 2.5]]]
    """
    plan = _planned("roi_align", x, boxes, rows, lengths)
    factor, is_shifted = real(scale, "roi_align", "scale"), truth(aligned, "roi_align", "aligned")
    most = integer(samples, "roi_align", "samples")
    if most < 0 or most == 0 and not is_constant(plan.boxes.value):
        raise InvalidArgument("the number of samples is not known", op="roi_align", operand="samples", got=samples,
                              expected="1 or more", help="0 is for boxes that are constants; 2 is usual")
    coordinates, inside, counts = [], [], []
    for k, count in enumerate(plan.lengths):
        ends = [subtract(multiply(plan.boxes[:, at], factor), 0.5 if is_shifted else 0.0)
                for at in (plan.rank - 1 - k, 2 * plan.rank - 1 - k)]
        extent = subtract(ends[1], ends[0])
        part = divide(extent if is_shifted else maximum(extent, 1.0), float(count))
        number = _samples(part, most)
        place = add(_column(ends[0], 2), multiply(_column(part, 2), add(
            reshape(convert(iota(count), part.dtype), (-1, 1)),
            divide(add(convert(iota(number.most), part.dtype), 0.5), maximum(_column(number.each, 2), 1.0)))))
        whole = convert(as_tensor(plan.places[k], dtype=int64), part.dtype)
        is_own = logical_and(greater_equal(place, -1.0), less_equal(place, whole))
        is_own = logical_and(is_own, less(convert(iota(number.most), part.dtype), _column(number.each, 2)))
        coordinates.append(plan.along(held(place, subtract(whole, 1.0)), k, 2))
        inside.append(plan.along(is_own, k, 2))
        counts.append(number.each)
    found = plan.sampled(coordinates, "linear")
    is_inside = inside[0]
    for own in inside[1:]:
        is_inside = logical_and(is_inside, own)
    found = where(expand_dims(is_inside, is_inside.ndim), found, 0.0)
    summed = total(convert(found, found.dtype.compute), reduction_axes=[2 + 2 * k for k in range(plan.rank)])
    size = counts[0]
    for own in counts[1:]:
        size = multiply(size, own)
    means = divide(summed, convert(maximum(_column(size, plan.rank + 1), 1.0), summed.dtype))
    return plan.result(convert(means, found.dtype))


@in_order
def roi_pool(x: TensorLike, boxes: TensorLike, rows: TensorLike, lengths: Sequence[int],
             scale: float = 1.0) -> Tensor:
    """Takes the largest elements of images x, (N, C, H, W), in the parts of boxes: (boxes, C, lengths).

    ``boxes``, ``rows``, ``lengths`` and ``scale`` are those of ``nv.roi_align``. Boxes are rounded to elements, both
    ends included, and parts to whole elements, which may overlap; a part without any gives 0 (Girshick 2015). The
    numbers are those of torchvision's ``roi_pool``; equal largest elements share a gradient. Each axis of x is read as
    often as there are parts along it.

    >>> nv.roi_pool([[[0., 1., 5., 3.]]], [[0., 3.]], [0], [2]).tolist()
    [[[1.0, 5.0]]]
    """
    plan = _planned("roi_pool", x, boxes, rows, lengths)
    factor = real(scale, "roi_pool", "scale")
    found, is_empty = gather(plan.x, plan.rows, 0), None
    for k in reversed(range(plan.rank)):
        first, last = [_rounded(multiply(plan.boxes[:, at], factor))
                       for at in (plan.rank - 1 - k, 2 * plan.rank - 1 - k)]
        count, length = plan.lengths[k], plan.places[k]
        part = _column(divide(maximum(add(subtract(last, first), 1.0), 1.0), float(count)), 1)
        number = convert(iota(count), part.dtype)
        limit = convert(as_tensor(length, dtype=int64), part.dtype)
        start = minimum(maximum(add(floor(multiply(part, number)), _column(first, 1)), 0.0), limit)
        stop = minimum(maximum(add(ceil(multiply(part, add(number, 1.0))), _column(first, 1)), 0.0), limit)
        place = convert(iota(length), part.dtype)
        chosen = logical_and(greater_equal(place, _column(start, 1)), less(place, _column(stop, 1)))
        nothing = plan.along(equal(less(start, stop), False), k, 1)  # so has a part whose ends are no numbers
        is_empty = nothing if is_empty is None else logical_or(is_empty, nothing)
        # Along axis k + 1 of (boxes, places, C): the parts are a new axis in front of it.
        own = expand_dims(found, k + 1)
        mask = reshape(chosen, (chosen.type.shape[0], *[1] * k, *chosen.type.shape[1:], *[1] * (own.ndim - k - 3)))
        found = largest(where(mask, own, plan.x.dtype.extremes[0]), axis=k + 2)
    assert is_empty is not None
    return plan.result(where(expand_dims(is_empty, is_empty.ndim), 0, found))


def _rounded(x: Tensor) -> Tensor:
    """Returns whole numbers, halves away from 0, as C's ``round`` has them."""
    return where(less(x, 0.0), ceil(subtract(x, 0.5)), floor(add(x, 0.5)))


class _Planned(NamedTuple):
    """Images as (N, places, C), with the boxes and their images."""

    x: Tensor
    boxes: Tensor
    rows: Tensor
    places: tuple[DimLike, ...]
    lengths: list[int]

    @property
    def rank(self) -> int:
        """The number of places of an image."""
        return len(self.lengths)

    def along(self, entries: Tensor, k: int, width: int) -> Tensor:
        """Returns what is along place k, (boxes, ``width`` axes), with axes of length 1 for the other places."""
        shape = entries.type.shape
        return reshape(entries, (shape[0], *[1] * (width * k), *shape[1:], *[1] * (width * (self.rank - 1 - k))))

    def sampled(self, coordinates: Sequence[Tensor], mode: str) -> Tensor:
        """Returns the elements at coordinates of each box, which lie inside of its image: (boxes, own, C)."""
        return sampled(self.x, 0, coordinates, mode, "border", rows=_column(self.rows, coordinates[0].ndim - 1))

    def result(self, found: Tensor) -> Tensor:
        """Returns (boxes, C, lengths) of (boxes, lengths, C)."""
        return permuted(found, [0, found.ndim - 1, *range(1, found.ndim - 1)])


def _planned(op: str, x: TensorLike, boxes: TensorLike, rows: TensorLike, lengths: Sequence[int]) -> _Planned:
    """Reads images, boxes and lengths; ShapeMismatch where they do not fit."""
    own = as_tensor(x, op) if op == "roi_pool" else as_floats(x, op)
    given, numbers = as_floats(boxes, op, 2), as_index(rows, op, 3)
    sizes = [integer(length, op, "lengths", least=1) for length in members(lengths, op, "lengths", "a list of lengths")]
    if own.is_named or given.is_named or numbers.is_named or own.ndim != len(sizes) + 2 or not 1 <= len(sizes) <= 3:
        raise ShapeMismatch("boxes are of images (N, C, places)", op=op, operand="x",
                            got=f"{own.type} for {len(sizes)} lengths",
                            expected="two axes and one for each length, without names",
                            help="[7, 7] are the lengths for (N, C, H, W); Tensor.reshape(x, shape) leaves names out")
    if given.ndim != 2 or given.type.shape[1] != 2 * len(sizes) or numbers.ndim != 1 or equal_lengths(
            given.type.shape[0], numbers.type.shape[0]) is False:
        raise ShapeMismatch("a box has two ends for each place, and one image", op=op, operand="boxes",
                            got=f"{given.type} and {numbers.type}", expected=f"(boxes, {2 * len(sizes)}) and (boxes,)",
                            help="rows has the number of the image of each box: zeros for one image")
    value = permuted(own, [0, *range(2, own.ndim), 1])
    return _Planned(value, convert(given, given.dtype.compute), numbers, value.type.shape[1:-1], sizes)


class _Samples(NamedTuple):
    """The most samples along a part, and how many there are of each box."""

    most: int
    each: Tensor


def _samples(part: Tensor, most: int) -> _Samples:
    if most:
        return _Samples(most, add(multiply(part, 0.0), float(most)))
    extents = known_array(part.value)
    if not np.isfinite(extents).all():
        raise InvalidArgument("the number of samples is not known", op="roi_align", operand="boxes",
                              got="ends that are infinite or no numbers", expected="finite boxes for samples=0",
                              help="np.isfinite(boxes) shows which they are")
    counts = np.maximum(np.ceil(extents), 0)
    return _Samples(int(counts.max(initial=1)), constant(counts, dtype=part.dtype))


def _column(x: Tensor, count: int) -> Tensor:
    """Returns a vector x with ``count`` axes of length 1 behind its own."""
    return reshape(x, (*x.type.shape, *[1] * count))


# -- boxes that overlap --------------------------------------------------------------------------------------------


@in_order
def nms(boxes: TensorLike, scores: TensorLike, overlap: float = 0.5, most: int | None = None,
        least: float | None = None, classes: TensorLike | None = None) -> Tensor:
    """Returns the positions of the ``boxes`` that stay, by descending ``scores``: of two that overlap, the better one.

    A box goes if its intersection with a better box that stays, over their union, is more than ``overlap``, as in
    torchvision's ``nms`` and ONNX's ``NonMaxSuppression``. Of equal scores, the first is better. Boxes are (boxes, 4),
    with any two opposite corners as ends. Only scores above ``least`` count, and boxes of different ``classes``, an
    integer for each, do not meet.

    The number of positions is found when the graph runs (``docs/found_sizes.md``), or it is ``most``, of which the last
    ones are -1 if fewer boxes stay. The time is that of all pairs, or of ``most`` times all boxes.

    >>> boxes = [[0., 0., 2., 2.], [0., 0., 2., 1.9], [5., 5., 6., 6.]]
    >>> nv.nms(boxes, [0.5, 0.9, 0.1], most=4).tolist(), nv.nms(boxes, [0.5, 0.9, 0.1], classes=[0, 1, 0]).tolist()
    ([1, 2, -1, -1], [1, 0, 2])
    """
    places, values = as_floats(boxes, "nms"), as_floats(scores, "nms", 2)
    limit = real(overlap, "nms", "overlap")
    if places.is_named or values.is_named or places.ndim != 2 or places.type.shape[1] != 4 or values.ndim != 1:
        raise ShapeMismatch("boxes have four ends, and a score each", op="nms", operand="boxes",
                            got=f"{places.type} and {values.type}", expected="(boxes, 4) and (boxes,), without names",
                            help="nv.vmap(nms) with most= takes batches of them")
    given = [places, values] if classes is None else [places, values, as_index(classes, "nms", 3)]
    places, values, *kinds = _of_boxes(given)
    order = argsort(values, descending=True)
    ranked = gather(convert(places, places.dtype.compute), order, 0)
    alive = ones(order.type.shape, bool_)
    if least is not None:
        alive = greater(gather(values, order, 0), real(least, "nms", "least"))
    pairs = _Pairs(ranked, gather(kinds[0], order, 0) if kinds else None, limit)
    if most is not None:
        return _best(order, alive, pairs, integer(most, "nms", "most", least=1))
    number = iota(order.type.shape[0])

    def compare(i: Tensor, alive: Tensor) -> Tensor:
        goes = logical_and(logical_and(pairs.meet(i), greater(number, i)), gather(alive, i, 0))
        return logical_and(alive, equal(goes, False))
    kept = fori_loop(0, order.type.shape[0], compare, alive)
    return gather(order, nonzero(kept)[0], 0)


def _of_boxes(given: Sequence[Tensor]) -> list[Tensor]:
    """Returns boxes, their scores and their classes as tensors of one length, which is assumed if not known."""
    lengths = [entry.type.shape[0] if entry.ndim else 1 for entry in given]
    count = next((length for length in lengths if isinstance(length, int)), lengths[0])
    for at, (entry, length) in enumerate(zip(given[1:], lengths[1:], strict=True), 2):
        if entry.ndim != 1 or entry.is_named or equal_lengths(length, count) is False:
            raise ShapeMismatch(f"boxes have four ends, and a {('score', 'class')[at - 2]} each", op="nms", operand=at,
                                got=f"{entry.type} for {given[0].type}", expected=f"({lengths[0]},), without names",
                                help="a vector has a number for each row of the boxes")
    return [Tensor(assume_shape(entry.value, (count, *entry.type.shape[1:]), "nms")) for entry in given]


class _Pairs(NamedTuple):
    """Boxes by descending score, with the overlap from which on two are one."""

    boxes: Tensor
    classes: Tensor | None
    overlap: float

    def meet(self, i: Tensor) -> Tensor:
        """Returns whether each box overlaps box i."""
        own = gather(self.boxes, i, 0)
        shared = multiply(*[self._shared(own, at) for at in (0, 1)])
        union = subtract(add(_area(self.boxes), _area(own)), shared)
        meets = greater(divide(shared, union), self.overlap)
        return meets if self.classes is None else logical_and(meets, equal(self.classes, gather(self.classes, i, 0)))

    def _shared(self, own: Tensor, at: int) -> Tensor:
        """Returns the length that each box shares with one of them along an axis."""
        ends = [(minimum(box[..., at], box[..., at + 2]), maximum(box[..., at], box[..., at + 2]))
                for box in (self.boxes, own)]
        return maximum(subtract(minimum(ends[0][1], ends[1][1]), maximum(ends[0][0], ends[1][0])), 0.0)


def _area(boxes: Tensor) -> Tensor:
    sides = [subtract(boxes[..., at + 2], boxes[..., at]) for at in (0, 1)]
    return maximum(multiply(*sides), multiply(multiply(*sides), -1.0))


def _best(order: Tensor, alive: Tensor, pairs: _Pairs, most: int) -> Tensor:
    """Returns the positions of ``most`` boxes that stay, by ``order``; -1 where there are no more."""
    # A box at the end, which is chosen when no other is left, has position -1.
    positions, is_there = pad(order, [(0, 1)], value=-1), pad(alive, [(0, 1)], value=False)
    others = None if pairs.classes is None else pad(pairs.classes, [(0, 1)])
    longer = _Pairs(pad(pairs.boxes, [(0, 1), (0, 0)]), others, pairs.overlap)
    number, last = iota(positions.type.shape[0]), order.type.shape[0]

    def choose(alive: Tensor, _: object) -> tuple[Tensor, Tensor]:
        first = argmax(where(alive, 2, where(equal(number, last), 1, 0)), axis=0)
        goes = logical_or(longer.meet(first), equal(number, first))
        return logical_and(alive, equal(goes, False)), gather(positions, first, 0)
    found: Tensor = scan(choose, is_there, None, length=most)[1]
    return found


explain_keywords(globals(), __all__)
