"""Deformable convolution: each tap of a filter looks at a place of its own, which the network chooses.

>>> import nervure as nv
>>> x, f = nv.constant([[[1., 2., 4., 8.]]]), nv.ones((1, 1, 1))
>>> nv.deformable_convolution(x, f, nv.constant([[[0.5, 0.0, -1.0, 2.0]]])).tolist()
[[[1.5, 2.0, 2.0, 0.0]]]
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from nervure.errors import ShapeMismatch
from nervure.front.apply import promoted_pair
from nervure.front.argument_parsing import integer
from nervure.front.arranging.filled import iota
from nervure.front.arranging.views import along_axis, permuted, reshape
from nervure.front.creation import as_tensor, constant
from nervure.front.evaluation_order import in_order
from nervure.front.images.interpolation import sampled
from nervure.front.images.windows import Window, read_groups, window_settings
from nervure.front.matrices.contraction import matmul
from nervure.front.op_functions import add, multiply, subtract
from nervure.front.pointwise.elementwise import as_floats, convert
from nervure.front.tensor import Tensor, TensorLike
from nervure.support.elsewhere import explain_keywords
from nervure.types.dim import Dim, DimLike, product
from nervure.types.dim import equal as equal_lengths
from nervure.types.dtype import int64

__all__ = ["deformable_convolution"]


@in_order
def deformable_convolution(x: TensorLike, f: TensorLike, offsets: TensorLike, mask: TensorLike | None = None,
                           strides: object = 1, dilations: object = 1, padding: object = 0,
                           groups: int = 1) -> Tensor:
    """Slides ``f`` along x, (N, C, places), where each tap is moved by ``offsets``, between elements (Dai et al. 2017).

    f is (K, C / groups, window). ``offsets`` is (N, parts * taps * d, lengths of the result), for d places: for each
    tap its shifts in the order of the places, (y, x) for (H, W). C is divided among the parts, each of which has its
    own. ``mask``, (N, parts * taps, lengths), weighs the taps (Zhu et al. 2019). Outside of x are zeros. ``strides``,
    ``dilations``, ``padding`` and ``groups`` are those of ``nv.convolution``. The numbers are those of torchvision's
    ``deform_conv2d``; derivatives go to all. Raises ShapeMismatch where lengths do not fit.

    >>> nv.deformable_convolution([[[1., 2., 4.]]], [[[1., 10.]]], nv.zeros((1, 2, 2))).tolist()
    [[[21.0, 42.0]]]
    """
    own, filter = promoted_pair(as_floats(x, "deformable_convolution"), as_floats(f, "deformable_convolution", 2),
                                "deformable_convolution")
    moves = as_floats(offsets, "deformable_convolution", 3)
    count, parts = own.ndim - 2, read_groups(groups, "deformable_convolution")
    if own.is_named or filter.is_named or moves.is_named or not 1 <= count <= 3 or filter.ndim != own.ndim:
        raise ShapeMismatch("the images are (N, C, places)", op="deformable_convolution",
                            got=f"{own.type} and {filter.type}", expected="x (N, C, places) and a filter of its rank",
                            help="Tensor.reshape(x, shape) leaves names out")
    batch, channels, *places = own.type.shape
    outer, inner, *window = [integer(length, "deformable_convolution", "f") for length in filter.type.shape]
    taps, lengths = math.prod(window), moves.type.shape[2:]
    shares = _shares(moves, own, taps * count, "offsets")
    if _count(channels) != inner * parts or outer % parts or inner * parts % shares:
        raise ShapeMismatch("the channels do not divide among groups and parts", op="deformable_convolution",
                            got=f"{own.type} and {filter.type}, {parts} groups, {shares} parts",
                            expected=f"{inner * parts} channels of x",
                            help="f is (K, C / groups, window); offsets have a part for each share of C")
    settings = window_settings("deformable_convolution", own, range(2, own.ndim), stride=strides, dilation=dilations,
                               padding=padding)
    shifts = reshape(convert(moves, moves.dtype.compute), (batch, shares, taps, count, *lengths))
    coordinates = [add(shifts[:, :, :, k], convert(_undeformed(own, entry, window, lengths, k), shifts.dtype))
                   for k, entry in enumerate(settings)]
    grouped = reshape(own, (batch, shares, inner * parts // shares, *places))
    columns = sampled(permuted(grouped, [0, 1, *range(3, grouped.ndim), 2]), 2, coordinates)
    if mask is not None:
        weights = as_floats(mask, "deformable_convolution", 4)
        if weights.is_named or _shares(weights, moves, taps, "mask") != shares:
            raise ShapeMismatch("each tap has a weight", op="deformable_convolution", operand="mask",
                                got=str(weights.type), expected=f"{shares * taps} as its second length",
                                help="the mask has a number for each d of the offsets")
        spread = reshape(convert(weights, columns.dtype), (batch, shares, taps, *lengths, 1))
        columns = multiply(columns, spread)
    # (N, shares, taps, lengths, channels of a share) becomes (N, groups, channels of a group * taps, lengths).
    columns = permuted(columns, [0, 1, columns.ndim - 1, *range(2, columns.ndim - 1)])
    columns = reshape(columns, (batch, parts, inner * taps, product(lengths)))
    found = matmul(reshape(filter, (parts, outer // parts, inner * taps)), columns)
    return reshape(found, (batch, outer, *lengths))


def _shares(x: Tensor, like: Tensor, entries: int, operand: str) -> int:
    """Returns the number of parts of the channels, each of which has ``entries`` of the second axis of x."""
    length = x.type.shape[1] if x.ndim == like.ndim else 0
    if isinstance(length, Dim) or length == 0 or length % entries:
        raise ShapeMismatch("the taps do not have a number each", op="deformable_convolution", operand=operand,
                            got=str(x.type), expected=f"a multiple of {entries} as the second of {like.ndim} lengths",
                            help="(N, parts * taps * d, lengths): d shifts for each tap of the filter")
    return length // entries


def _undeformed(x: Tensor, entry: Window, window: list[int], lengths: Sequence[DimLike], k: int) -> Tensor:
    """Returns the places along axis k at which a plain convolution looks: (taps, lengths), int64."""
    before, after = entry.paddings(x.type.shape[2 + k], window[k])
    reach = x.type.shape[2 + k] + before + after - entry.dilation * (window[k] - 1) - 1
    if equal_lengths(reach // entry.stride + 1, lengths[k]) is False:
        raise ShapeMismatch("the offsets are not of the places of the result", op="deformable_convolution",
                            operand="offsets", got=f"length {lengths[k]}", expected=str(reach // entry.stride + 1),
                            help="they have the lengths that nv.convolution would give")
    tap = np.indices(window)[k].reshape(-1, *[1] * len(window)) * entry.dilation
    places = subtract(multiply(iota(lengths[k]), entry.stride), as_tensor(before, dtype=int64))
    return add(constant(tap), along_axis(places, k, len(window)))


def _count(length: DimLike) -> int:
    return 0 if isinstance(length, Dim) else length


explain_keywords(globals(), __all__)
