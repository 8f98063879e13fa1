"""Places of images: resized, pooled to a number of places, moved between channels and places, cut into windows.

>>> import nervure as nv
>>> x = nv.constant([[1., 2., 3., 4.]], axes="N=1, W=4")
>>> nv.resize(x, {"W": 2}).tolist(), nv.resize(x, {"W": 8}, "linear").tolist()
([[1.0, 3.0]], [[1.0, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 4.0]])
>>> nv.adaptive_pooling(x, "avg", {"W": 2}).tolist()
[[1.5, 3.5]]
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from nervure.errors import InvalidArgument, ShapeMismatch, WrongKind, shown
from nervure.front.argument_parsing import integer, members, one_of, position_of, positions_of, real, truth
from nervure.front.arranging.filled import iota, zeros
from nervure.front.arranging.gathering import gather, scatter
from nervure.front.arranging.views import pad, permuted, reshape
from nervure.front.creation import as_tensor, constant
from nervure.front.images.pooling import pooling
from nervure.front.images.windows import Padding, read_groups, window_settings, with_length
from nervure.front.op_functions import absolute, add, divide, equal, floordivide, mod, multiply, subtract
from nervure.front.pointwise.elementwise import as_floats, clip, convert, power, where
from nervure.front.statistics.reductions import max as largest
from nervure.front.statistics.reductions import sum as total
from nervure.front.tensor import Tensor, TensorLike
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes, AxesLike, AxisLike
from nervure.types.dim import Dim, DimLike, dim_max
from nervure.types.dim import equal as equal_lengths
from nervure.types.dtype import int64

__all__ = ["adaptive_pooling", "channel_shuffle", "fold", "lp_pooling", "pixel_shuffle", "pixel_unshuffle", "resize",
           "unfold"]

_MODES = ("nearest", "linear", "cubic")
_CUBIC = -0.75
"""The coefficient of the cubic convolution (Keys 1981) that PyTorch and ONNX take."""


# -- other numbers of places -------------------------------------------------------------------------------------


def resize(x: TensorLike, lengths: object, mode: str = "nearest", align_corners: bool = False) -> Tensor:
    """Gives axes of x other ``lengths``, by the "nearest" element before a place, or by "linear" or "cubic"
    interpolation.

    ``lengths`` maps axes to lengths, ``{"H": 64, "W": 64}``; for anonymous tensors an int or a list goes by position
    from the third axis on. Places are centres of cells of the same extent; with ``align_corners`` the first and last
    elements stay the first and last. Behind the edge the last element is repeated. The numbers are those of PyTorch's
    ``interpolate``, which rounds places in float32, so that at few lengths it takes a neighbour of the nearest element.
    An unknown mode is an InvalidArgument.

    >>> nv.resize([[[1.0, 2.0]]], 4, "linear").tolist()
    [[[1.0, 1.25, 1.75, 2.0]]]
    """
    one_of(mode, _MODES, "resize", "mode", "'linear' interpolates along each axis")
    has_ends = truth(align_corners, "resize", "align_corners")
    own = as_tensor(x, "resize") if mode == "nearest" else as_floats(x, "resize")
    for at, length in new_lengths(own, lengths, "resize"):
        own = resized(own, at, length, mode, has_ends)
    return own


def resized(x: Tensor, at: int, length: DimLike, mode: str, has_ends: bool,
            step: tuple[DimLike, DimLike] | None = None) -> Tensor:
    """Returns x with another length of one axis.

    ``step`` is the distance of places in elements of x, numerator and denominator; without it, it follows from both
    lengths. Beside the modes of ``nv.resize`` there is "centre", the element whose cell has the centre of a place.
    """
    before, place = x.type.shape[at], iota(length)
    above, below = step or (before, length)
    if mode in ("nearest", "centre"):
        if mode == "centre":
            place, below = add(multiply(place, 2), 1), 2 * below
        return chosen(x, at, clip(floordivide(multiply(place, above), below), 0, before - 1))
    # The position is numerator / denominator, in integers, so that no place is rounded to its neighbour.
    if has_ends:
        numerator, denominator = multiply(place, before - 1), dim_max(length - 1, 1)
    else:
        numerator, denominator = subtract(multiply(add(multiply(place, 2), 1), above), below), 2 * below
    if mode == "linear":
        numerator = clip(numerator, 0, None)
    first = floordivide(numerator, denominator)
    part = divide(convert(mod(numerator, denominator), x.dtype.compute),
                  convert(as_tensor(denominator, dtype=int64), x.dtype.compute))
    weights = [subtract(1.0, part), part] if mode == "linear" else cubic_weights(part)
    taps = range(2) if mode == "linear" else range(-1, 3)
    result = None
    for tap, weight in zip(taps, weights, strict=True):
        element = chosen(x, at, clip(add(first, tap), 0, before - 1))
        spread = reshape(weight, (*[1] * at, -1, *[1] * (x.ndim - 1 - at)))
        term = multiply(Tensor(convert(element, x.dtype.compute).value), spread)
        result = term if result is None else add(result, term)
        axes = element._axes
    assert result is not None
    return Tensor(convert(result, x.dtype).value, axes)


def cubic_weights(part: Tensor) -> list[Tensor]:
    """Returns the weights of the four neighbours of a place, ``part`` behind the second one."""
    def near(d: Tensor) -> Tensor:
        return ((_CUBIC + 2) * d - (_CUBIC + 3)) * d * d + 1.0

    def far(d: Tensor) -> Tensor:
        return ((_CUBIC * d - 5 * _CUBIC) * d + 8 * _CUBIC) * d - 4 * _CUBIC
    return [far(part + 1.0), near(part), near(1.0 - part), far(2.0 - part)]


def chosen(x: Tensor, at: int, index: Tensor) -> Tensor:
    """Returns elements of x along the axis ``at``, which keeps its class: those at each ``index``."""
    return _on(x, at, gather(Tensor(x.value), Tensor(index.value), at))


def new_lengths(x: Tensor, lengths: object, op: str) -> list[tuple[int, DimLike]]:
    """Returns the positions of axes, with the lengths that they get."""
    if isinstance(lengths, Mapping):
        places, found = list(positions_of(x, list(lengths), op)), list(lengths.values())
    elif x.is_named:
        raise WrongKind("the lengths of a named tensor are a dict", op=op, operand="lengths", got=shown(lengths),
                        expected="{axis: length}", help=f"write {{{x.axes[-1].name!r}: 64}}" if x.ndim else None)
    else:
        places = list(range(2, x.ndim))
        found = list(lengths) if isinstance(lengths, (list, tuple)) else [lengths] * len(places)
    if len(found) != len(places) or not places:
        raise InvalidArgument("a length is needed for each spatial axis", op=op, operand="lengths", got=shown(lengths),
                              expected=f"{len(places)} lengths" if places else "at least one axis",
                              help="anonymous axes are spatial from the third on; a dict {axis: length} names some")
    return [(at, length if isinstance(length, Dim) else integer(length, op, "lengths", least=1))
            for at, length in zip(places, found, strict=True)]


def adaptive_pooling(x: TensorLike, kind: str, lengths: object) -> Tensor:
    """Gives axes of x other ``lengths``: place i is the largest element ("max") or the mean ("avg") of its share.

    The share of place i of m, along an axis of n elements, goes from ``i * n // m`` to before ``(i + 1) * n / m``,
    rounded up. ``lengths`` are as for ``nv.resize``. An axis of symbolic length becomes of length 1 only; an unknown
    ``kind`` is an InvalidArgument.

    >>> nv.adaptive_pooling([[[1.0, 2.0, 3.0, 4.0, 5.0]]], "max", 2).tolist()
    [[[3.0, 5.0]]]
    """
    one_of(kind, ("max", "avg"), "adaptive_pooling", "kind", "'avg' takes the mean of each share")
    own = as_tensor(x, "adaptive_pooling") if kind == "max" else as_floats(x, "adaptive_pooling")
    found = own if kind == "max" else convert(own, own.dtype.compute)
    for at, length in new_lengths(own, lengths, "adaptive_pooling"):
        found = _shared(found, at, integer(length, "adaptive_pooling", "lengths"), kind)
    return convert(found, own.dtype)


def _shared(x: Tensor, at: int, places: int, kind: str) -> Tensor:
    """Reduces the shares of one axis, of which neighbours may have an element in common."""
    length = x.type.shape[at]
    if isinstance(length, Dim) and places != 1:
        raise InvalidArgument("shares need a length that is a number", op="adaptive_pooling", operand="x",
                              got=str(x.axes), expected="a number, or one place",
                              help="nv.pooling takes windows of any number")
    if isinstance(length, Dim) or length % places == 0:
        parts = reshape(Tensor(x.value), (*x.type.shape[:at], places, length // places, *x.type.shape[at + 1:]))
        counts = length // places
        found = largest(parts, axis=at + 1) if kind == "max" else total(parts, axis=at + 1) / counts
    else:
        first = np.arange(places) * length // places
        sizes = -(-(np.arange(places) + 1) * length // places) - first
        index = np.minimum(first[:, None] + np.arange(sizes.max()), (first + sizes - 1)[:, None])  # repeats the last
        parts = gather(Tensor(x.value), index, at)
        column = (-1, *[1] * (x.ndim - 1 - at))
        if kind == "max":
            found = largest(parts, axis=at + 1)
        else:
            is_own = (np.arange(sizes.max()) < sizes[:, None]).reshape(*index.shape, *[1] * (x.ndim - 1 - at))
            found = total(where(is_own, parts, 0.0), axis=at + 1) / sizes.reshape(column).astype(x.dtype.compute.numpy)
    return convert(_on(x, at, found), x.dtype)


def _on(x: Tensor, at: int, found: Tensor) -> Tensor:
    """Returns a result with the axes of x, one of which has another length."""
    if not x.is_named:
        return found
    axes = list(x.axes)
    axes[at] = with_length(axes[at], found.type.shape[at])
    return Tensor(found.value, Axes(axes))


def lp_pooling(x: TensorLike, window: Mapping[object, int] | int | Sequence[int], p: float = 2.0,
               strides: object = None, padding: object = 0) -> Tensor:
    """The p-norm of each ``window``: the root of the sum of ``abs(x) ** p``.

    ``window``, ``strides`` and ``padding`` are those of ``nv.pooling``. An exponent ``p`` that is not positive is an
    InvalidArgument.

    >>> nv.lp_pooling([[[3.0, 4.0, 0.0, 2.0]]], 2).tolist()
    [[[5.0, 2.0]]]
    """
    exponent = real(p, "lp_pooling", "p")
    if not 0 < exponent < math.inf:
        raise InvalidArgument("the exponent of a norm is positive", op="lp_pooling", operand="p", got=p,
                              expected="more than 0", help="nv.pooling(x, 'max', window) is the limit of large ones")
    own = as_floats(x, "lp_pooling")
    powers = power(absolute(convert(own, own.dtype.compute)), exponent)
    means = pooling(powers, "avg", window, strides, padding, count_padding=True)
    lengths = list(window.values()) if isinstance(window, Mapping) else list(window) if isinstance(
        window, (list, tuple)) else [window] * (own.ndim - 2)
    sums = multiply(means, float(math.prod([integer(length, "lp_pooling", "window") for length in lengths])))
    is_nothing = equal(sums, 0.0)
    found = where(is_nothing, 0.0, power(where(is_nothing, 1.0, sums), 1 / exponent))  # its derivative there is 0
    return convert(found, own.dtype)


# -- channels and places -----------------------------------------------------------------------------------------


def pixel_shuffle(x: TensorLike, factor: int, channels: AxisLike = -3, places: AxesLike = (-2, -1)) -> Tensor:
    """Moves ``factor ** 2`` channels to each place (Shi et al. 2016): a length of C becomes shorter, those of H and W
    longer.

    ``channels`` is the axis of the channels, ``places`` are two others, or any number. The length of the channels has
    to be a number that factor, to the number of places, divides.

    >>> nv.pixel_shuffle(np.arange(4.0).reshape(1, 4, 1, 1), 2).tolist()
    [[[[0.0, 1.0], [2.0, 3.0]]]]
    """
    own, scale = as_tensor(x, "pixel_shuffle"), integer(factor, "pixel_shuffle", "factor", least=1)
    at, along = position_of(own, channels, "pixel_shuffle"), positions_of(own, places, "pixel_shuffle")
    parts = scale ** len(along)
    length = own.type.shape[at]
    if isinstance(length, Dim) or length % parts:
        raise ShapeMismatch("the channels do not divide among the places", op="pixel_shuffle", operand="x",
                            got=str(own.axes), expected=f"a multiple of {parts} channels",
                            help="the layer before has factor ** 2 as many channels")
    lengths = list(own.type.shape)
    split = [*lengths[:at], length // parts, *[scale] * len(along), *lengths[at + 1:]]
    moved = [k if k <= at else k + len(along) for k in range(own.ndim)]
    order = [position for k in range(own.ndim)
             for position in ([moved[k], at + 1 + along.index(k)] if k in along else [moved[k]])]
    result = [length // parts if k == at else lengths[k] * (scale if k in along else 1) for k in range(own.ndim)]
    found = reshape(permuted(reshape(Tensor(own.value), split), order), result)
    return with_lengths(own, found)


def pixel_unshuffle(x: TensorLike, factor: int, channels: AxisLike = -3, places: AxesLike = (-2, -1)) -> Tensor:
    """Moves the elements of squares of ``factor`` by factor places to channels, as the inverse of ``pixel_shuffle``.

    ``channels`` and ``places`` are as there. The lengths of the places have to be numbers that factor divides.

    >>> nv.pixel_unshuffle([[[[0.0, 1.0], [2.0, 3.0]]]], 2).tolist()
    [[[[0.0]], [[1.0]], [[2.0]], [[3.0]]]]
    """
    own, scale = as_tensor(x, "pixel_unshuffle"), integer(factor, "pixel_unshuffle", "factor", least=1)
    at, along = position_of(own, channels, "pixel_unshuffle"), positions_of(own, places, "pixel_unshuffle")
    lengths = list(own.type.shape)
    if any([isinstance(lengths[k], Dim) or lengths[k] % scale for k in along]):
        raise ShapeMismatch("the places do not divide into squares", op="pixel_unshuffle", operand="x",
                            got=str(own.axes), expected=f"lengths that {scale} divides",
                            help="nv.pad(x, paddings) makes them longer")
    split = [length for k in range(own.ndim) for length in ([lengths[k] // scale, scale] if k in along
                                                             else [lengths[k]])]
    starts = [k + len([place for place in along if place < k]) for k in range(own.ndim)]
    order = [position for k in range(own.ndim)
             for position in ([starts[k], *[starts[place] + 1 for place in along]] if k == at else [starts[k]])]
    result = [lengths[k] * scale ** len(along) if k == at else lengths[k] // scale if k in along else lengths[k]
              for k in range(own.ndim)]
    return with_lengths(own, reshape(permuted(reshape(Tensor(own.value), split), order), result))


def channel_shuffle(x: TensorLike, groups: int, channels: AxisLike = 1) -> Tensor:
    """Mixes the channels of ``groups``, so that the first ones of each group come first, then the second ones (Zhang et
    al. 2018).

    The number of groups divides the length of the axis ``channels``.

    >>> nv.channel_shuffle([[1.0, 2.0, 3.0, 4.0]], 2).tolist()
    [[1.0, 3.0, 2.0, 4.0]]
    """
    own, parts = as_tensor(x, "channel_shuffle"), read_groups(groups, "channel_shuffle")
    at = position_of(own, channels, "channel_shuffle")
    shape = own.type.shape
    if isinstance(shape[at], Dim) or shape[at] % parts:
        raise ShapeMismatch("the channels do not divide into groups", op="channel_shuffle", operand="x",
                            got=str(own.axes), expected=f"a multiple of {parts} channels",
                            help="as many groups as the convolution before it")
    split = reshape(Tensor(own.value), (*shape[:at], parts, shape[at] // parts, *shape[at + 1:]))
    order = [*range(at), at + 1, at, *range(at + 2, split.ndim)]
    return Tensor(reshape(permuted(split, order), shape).value, own._axes)


def with_lengths(x: Tensor, found: Tensor) -> Tensor:
    """Returns a result with the classes of the axes of x."""
    if not x.is_named:
        return found
    return Tensor(found.value, Axes([with_length(axis, length)
                                     for axis, length in zip(x.axes, found.type.shape, strict=True)]))


# -- windows as columns ------------------------------------------------------------------------------------------


def unfold(x: TensorLike, window: int | Sequence[int], strides: object = 1, dilations: object = 1,
           padding: object = 0) -> Tensor:
    """Returns the windows of x, (N, C, places), as columns: (N, C * elements of a ``window``, number of windows).

    ``strides``, ``dilations`` and ``padding`` are those of ``nv.convolution``; padding is of zeros. x has no names,
    and its places have lengths that are numbers.

    >>> nv.unfold([[[1.0, 2.0, 3.0]]], 2).tolist()
    [[[1.0, 2.0], [2.0, 3.0]]]
    """
    own = _plain(x, "unfold")
    plan = _Windows("unfold", own, own.type.shape[2:], window, strides, dilations, padding)
    flat = reshape(pad(own, [0, 0, *plan.paddings]), (*own.type.shape[:2], math.prod(plan.padded)))
    found = gather(flat, plan.index, 2)
    return reshape(found, (own.type.shape[0], own.type.shape[1] * plan.index.shape[0], plan.index.shape[1]))


def fold(x: TensorLike, lengths: Sequence[int], window: int | Sequence[int], strides: object = 1,
         dilations: object = 1, padding: object = 0) -> Tensor:
    """Adds the columns of x, as ``nv.unfold`` makes them, at their places: the transpose of unfold.

    The result has shape (N, C, *lengths); where windows overlap, elements are summed.

    >>> nv.fold([[[1.0, 2.0], [2.0, 3.0]]], [3], 2).tolist()
    [[[1.0, 4.0, 3.0]]]
    """
    own = as_tensor(x, "fold")
    places = [integer(length, "fold", "lengths", least=1)
              for length in members(lengths, "fold", "lengths", "a list of lengths")]
    if own.is_named or own.ndim != 3:
        raise ShapeMismatch("columns are (N, C * elements, windows)", op="fold", operand="x", got=str(own.axes),
                            expected="three axes without names", help="nv.unfold makes them")
    batch, rows, columns = own.type.shape
    plan = _Windows("fold", zeros((1, 1, *places)), places, window, strides, dilations, padding)
    taps, windows = plan.index.shape
    if isinstance(rows, Dim) or rows % taps or equal_lengths(columns, windows) is False:
        raise ShapeMismatch("the columns are not those of these windows", op="fold", operand="x", got=str(own.axes),
                            expected=f"(N, C * {taps}, {windows})",
                            help="lengths are those of the image; window, strides and padding those of unfold")
    updates = reshape(own, (batch, rows // taps, taps * windows))
    start = zeros((batch, rows // taps, math.prod(plan.padded)), own.dtype)
    summed = scatter(start, constant(plan.index.reshape(-1)), updates, 2, mode="add")
    return pad(reshape(summed, (batch, rows // taps, *plan.padded)),
               [0, 0, *[(-before, -after) for before, after in plan.paddings]])


def _plain(x: TensorLike, op: str) -> Tensor:
    own = as_tensor(x, op)
    if own.is_named or own.ndim < 3:
        raise ShapeMismatch("windows are cut from (N, C, places)", op=op, operand="x", got=str(own.axes),
                            expected="three axes or more, without names",
                            help="nv.convolution slides along named axes; Tensor.reshape(x, shape) leaves names out")
    return own


class _Windows:
    """The windows of an image: ``index`` has the position, in the padded image, of each element (row) of each window
    (column).
    """

    def __init__(self, op: str, x: Tensor, lengths: Sequence[DimLike], window: object, strides: object,
                 dilations: object, padding: object) -> None:
        taps = list(window) if isinstance(window, (list, tuple)) else [window] * len(lengths)
        if len(taps) != len(lengths):
            raise InvalidArgument("a window needs a length for each spatial axis", op=op, operand="window",
                                  got=shown(window), expected=f"{len(lengths)} lengths",
                                  help="a window of 1 leaves an axis as it is")
        sizes = [integer(tap, op, "window", least=1) for tap in taps]
        places = [integer(length, op, "x", "lengths that are numbers") for length in lengths]
        settings = window_settings(op, x, range(2, 2 + len(places)), stride=strides, dilation=dilations,
                                   padding=padding)
        self.paddings = [_numbers(entry.paddings(length, size), op)
                         for entry, length, size in zip(settings, places, sizes, strict=True)]
        self.padded = [length + sum(pair) for length, pair in zip(places, self.paddings, strict=True)]
        grids = []
        for entry, length, size in zip(settings, self.padded, sizes, strict=True):
            count = (length - entry.dilation * (size - 1) - 1) // entry.stride + 1
            if count < 1:
                raise ShapeMismatch("the window is longer than the axis", op=op, operand="window", got=size,
                                    expected=f"at most {length}", help="padding= makes the axis longer")
            grids.append(np.arange(size)[:, None] * entry.dilation + np.arange(count) * entry.stride)
        index = np.zeros((1, 1), np.int64)
        for grid, length in zip(grids, self.padded, strict=True):
            wider = index[:, None, :, None] * length + grid[None, :, None, :]
            index = wider.reshape(index.shape[0] * grid.shape[0], index.shape[1] * grid.shape[1])
        self.index = index


def _numbers(pair: Padding, op: str) -> tuple[int, int]:
    before, after = [integer(entry, op, "padding") for entry in pair]
    return before, after


explain_keywords(globals(), __all__)
