"""Convolution by axes: the role of an axis follows from its class, whatever the order of axes.

>>> import nervure as nv
>>> x = nv.placeholder("N=8, C=3, H=32, W=32")
>>> f = nv.placeholder("C=3, H=3, W=3, K=64")
>>> print(nv.convolution(x, f, ["H", "W"], padding=1).axes)
(N: 8, K: 64, H: 32, W: 32)

An axis of f with the class of a spatial axis of x slides along it. Every other axis that f shares with x, in
class and length, is contracted, and the rest are output channels. Anonymous tensors go by position: x (N, C,
spatial), f (K, C, spatial).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nervure import ops
from nervure.errors import AxisMismatch, InvalidArgument, ShapeMismatch
from nervure.front import alignment
from nervure.front.alignment import reordered
from nervure.front.apply import promoted_pair
from nervure.front.argument_parsing import position_of, positions_of
from nervure.front.arranging.views import renamed
from nervure.front.images.windows import read_groups, setting, window_settings, with_length
from nervure.front.tensor import Operand, Tensor
from nervure.ir.op import Value
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes, AxesLike
from nervure.types.axis import Axis
from nervure.types.dim import equal, product


def convolution(x: Operand, f: Operand, spatial: AxesLike | None = None, strides: object = 1, dilations: object = 1,
                padding: object = 0, groups: int = 1, out_axes: AxesLike | None = None) -> Tensor:
    """Slides ``f`` along the spatial axes of ``x``: each result is the sum of products with the window at its place.

    ``spatial`` lists one to three axes of x, or maps each to its settings: ``{H: {"stride": 2, "padding": 1}}``.
    ``strides`` and ``dilations`` are an int for all axes, or a list or dict with one for each. ``padding`` is an int,
    a tuple (before, after), "same" (the result has ``length / stride`` places, rounded up) or "valid" (none) for all
    axes, or a list or dict of these. For two axes a tuple of two different ints is an InvalidArgument: a list has one
    for each axis.

    With ``groups`` the contracted axis of f is that many times shorter than x's. ``out_axes`` are the result's axes,
    in any order.

    >>> nv.convolution(np.ones((1, 1, 4)), np.ones((1, 1, 3)), padding=1).tolist()
    [[[2.0, 3.0, 3.0, 2.0]]]
    >>> x, f = nv.zeros("N=8, C=3, H=32, W=32"), nv.zeros("C=3, H=3, W=3, K=64")
    >>> print(nv.convolution(x, f, ["H", "W"], strides=2, padding="same").axes)
    (N: 8, K: 64, H: 16, W: 16)
    """
    roles = _roles("convolution", x, f, spatial, groups)
    windows = window_settings("convolution", roles.x, roles.places, roles.settings, stride=strides, dilation=dilations,
                              padding=padding)
    paddings = [entry.paddings(roles.x.type.shape[at], roles.f.type.shape[window]) for entry, (at, window)
                in zip(windows, roles.spatial, strict=True)]
    op = ops.Convolution(roles.x_value(), roles.f_value((roles.out, roles.contracted_f)),
                         [entry.stride for entry in windows], [entry.dilation for entry in windows], paddings,
                         groups)
    return renamed(roles.result(op.output, [roles.f.axes[at] for at in roles.out]), out_axes)


def deconvolution(x: Operand, f: Operand, spatial: AxesLike | None = None, strides: object = 1, dilations: object = 1,
                  padding: object = 0, groups: int = 1, out_axes: AxesLike | None = None,
                  output_padding: object = 0) -> Tensor:
    """The transpose of a convolution: each element of x adds a multiple of f to its window of the result.

    Roles and settings are those of ``convolution``. A length becomes ``stride*(length - 1) - padding +
    dilation*(window - 1) + 1 + output_padding``, with an output padding below the stride or the dilation; "same" gives
    ``length * stride``. With ``groups`` f's output channels are those of one group. Anonymous tensors: f (C,
    K // groups, spatial).

    >>> nv.deconvolution(np.ones((1, 1, 2)), np.ones((1, 1, 2)), strides=2).tolist()
    [[[1.0, 1.0, 1.0, 1.0]]]
    """
    roles = _roles("deconvolution", x, f, spatial, groups)
    windows = window_settings("deconvolution", roles.x, roles.places, roles.settings, stride=strides,
                              dilation=dilations, padding=padding, output_padding=output_padding)
    sizes = [entry.transposed_paddings(roles.f.type.shape[window])
             for entry, (_, window) in zip(windows, roles.spatial, strict=True)]
    op = ops.ConvolutionTranspose(
        roles.x_value(), roles.f_value((roles.contracted_f, roles.out)), [entry.stride for entry in windows],
        [entry.dilation for entry in windows], [entry[0] for entry in sizes], groups, [entry[1] for entry in sizes])
    channels = [roles.f.axes[at] for at in roles.out]
    if groups > 1 and channels:
        channels[0] = channels[0].resized(channels[0].length * groups)
    return renamed(roles.result(op.output, channels), out_axes)


class AxisRoles(NamedTuple):
    """The roles of the axes, as positions; ``spatial`` and ``contracted`` pair positions in x with positions in f."""

    x: Tensor
    f: Tensor
    spatial: tuple[tuple[int, int], ...]
    contracted: tuple[tuple[int, int], ...]
    out: tuple[int, ...]
    settings: Mapping[int, Mapping[str, object]]

    @property
    def places(self) -> list[int]:
        """x's spatial axes."""
        return [pair[0] for pair in self.spatial]

    @property
    def batch(self) -> list[int]:
        """x's axes that are neither slid along nor contracted."""
        used = {pair[0] for pair in (*self.spatial, *self.contracted)}
        return [at for at in range(self.x.ndim) if at not in used]

    @property
    def contracted_f(self) -> tuple[int, ...]:
        """f's contracted axes."""
        return tuple([pair[1] for pair in self.contracted])

    def x_value(self) -> Value:
        """x as (batch, channels, spatial)."""
        return _grouped(self.x.value, [self.batch, [pair[0] for pair in self.contracted]],
                        [pair[0] for pair in self.spatial])

    def f_value(self, channels: tuple[Sequence[int], Sequence[int]]) -> Value:
        """f with two groups of channels, each as one dimension, and its windows."""
        return _grouped(self.f.value, channels, [pair[1] for pair in self.spatial])

    def result(self, value: Value, channels: Sequence[Axis]) -> Tensor:
        """Returns the tensor over (batch, channels, places): ``channels`` take the place of x's contracted axes, and
        x's order stays.
        """
        x = self.x
        batch, lengths = self.batch, [axis.length for axis in channels]
        places = value.shape[2:]
        value = ops.Reshape(value, (*[x.type.shape[at] for at in batch], *lengths, *places)).output
        sources = {at: [k] for k, at in enumerate(batch)}
        sources |= {pair[0]: [len(batch) + len(channels) + k] for k, pair in enumerate(self.spatial)}
        middle = [len(batch) + k for k in range(len(channels))]
        where = min(pair[0] for pair in self.contracted) if self.contracted else min(pair[0] for pair in self.spatial)
        sources[where] = [*middle, *sources.get(where, [])]
        order = [source for at in range(x.ndim) for source in sources.get(at, [])]
        value = reordered(value, order)
        if not x.is_named:
            return Tensor(value)
        axes = [*[x.axes[at] for at in batch], *channels]
        axes += [with_length(x.axes[at], length) for (at, _), length in zip(self.spatial, places, strict=True)]
        return Tensor(value, Axes([axes[source] for source in order]))


def _roles(op: str, x: Operand, f: Operand, spatial: AxesLike | None, groups: object) -> AxisRoles:
    data, kernel = promoted_pair(x, f, op)
    divisor = read_groups(groups, op) if op == "convolution" else 1  # of the contracted axis
    settings: dict[int, Mapping[str, object]] = {}
    if isinstance(spatial, Mapping):
        settings = {position_of(data, axis, op): setting(op, entry) for axis, entry in spatial.items()}
        spatial = list(spatial)
    if data.is_named != kernel.is_named:
        raise AxisMismatch("the tensor and the filter must both be named, or neither", op=op, operand=2,
                           got=f"{data.axes} and {kernel.axes}", help="give both axes=(...)",
                           expected="names on both, or on none")
    if not data.is_named:
        return _assumed(op, _roles_by_position(op, data, kernel, spatial, settings), divisor)
    if spatial is None:
        raise InvalidArgument("the spatial axes are missing", op=op, operand="spatial", expected=f"some of {data.axes}",
                              help="spatial=[H, W]")
    places = _spatial_places(op, data, spatial)
    windows = [_window_axis(op, data.axes[at], kernel) for at in places]
    contracted = _contracted(op, data, kernel, places, windows, divisor)
    used = {*windows, *[pair[1] for pair in contracted]}
    out = tuple([at for at in range(kernel.ndim) if at not in used])
    roles = AxisRoles(data, kernel, tuple(zip(places, windows, strict=True)), tuple(contracted), out, settings)
    return _assumed(op, roles, divisor)


def _roles_by_position(op: str, x: Tensor, f: Tensor, spatial: AxesLike | None,
                       settings: Mapping[int, Mapping[str, object]]) -> AxisRoles:
    """x (N, C, spatial) and f (K, C, spatial), or f (C, K, spatial) for the transpose."""
    if not 3 <= x.ndim <= 5 or f.ndim != x.ndim:
        lacks = "one sample is a batch with N = 1, an image without channels has C = 1: nv.reshape"
        wide = "a window has a length for each spatial dimension, as in (3, 3); or give both names: axes=(...)"
        raise ShapeMismatch("anonymous tensors go by position, with 1 to 3 spatial dimensions", op=op,
                            got=f"{x.type} and {f.type}",
                            expected="x (N, C, spatial) and a filter of its rank",
                            help=lacks if x.ndim < f.ndim else wide)
    places = tuple(range(2, x.ndim))
    if spatial is not None and sorted(positions_of(x, spatial, op)) != list(places):
        raise InvalidArgument("the spatial axes of anonymous tensors are the third to the last", op=op,
                              operand="spatial", got=str(spatial), expected=str(list(places)),
                              help="leave out spatial=, or give both tensors names")
    channel, out = (1, 0) if op == "convolution" else (0, 1)
    return AxisRoles(x, f, tuple([(at, at) for at in places]), ((1, channel),), (out,), settings)


def _spatial_places(op: str, x: Tensor, spatial: AxesLike) -> list[int]:
    places = list(positions_of(x, spatial, op))
    if not 1 <= len(places) <= 3:
        raise InvalidArgument("there are 1 to 3 spatial axes", op=op, operand="spatial", got=f"{len(places)}",
                              expected=f"some of {x.axes}", help="flatten two of them, or slide along fewer")
    return places


def _window_axis(op: str, axis: Axis, f: Tensor) -> int:
    """Returns the axis of the filter that slides along ``axis`` of x: the one of its class, and among several of its
    level.
    """
    found = [at for at, own in enumerate(f.axes) if own.axis_class == axis.axis_class]
    if len(found) > 1:
        found = [at for at in found if f.axes[at].level == axis.level]
    if len(found) != 1:
        subject = "two axes of the filter slide" if found else "no axis of the filter slides"
        raise AxisMismatch(f"{subject} along {axis.label}", op=op, operand=2, got=str(f.axes),
                           expected=f"one axis of the class of {axis.label}",
                           help="a filter has one axis of the class of each spatial axis")
    return found[0]


def _contracted(op: str, x: Tensor, f: Tensor, places: Sequence[int], windows: Sequence[int],
                groups: int) -> list[tuple[int, int]]:
    """Returns the pairs of axes that are contracted; with groups, the pair that they divide comes first."""
    pairs: list[tuple[int, int]] = []
    alone: list[tuple[Axis, Axis]] = []
    is_divided = groups == 1
    for at, axis in enumerate(x.axes):
        taken = [*windows, *[pair[1] for pair in pairs]]
        same = [k for k, own in enumerate(f.axes) if k not in taken and own.axis_class == axis.axis_class]
        if at in places or not same:
            continue
        divided = None if is_divided else _of_length(op, f, same, axis, groups)
        found = _of_length(op, f, same, axis, 1) if divided is None else divided
        if found is None:
            alone.append((axis, f.axes[same[0]]))
        else:
            pairs.insert(len(pairs) if divided is None else 0, (at, found))
            is_divided = is_divided or divided is not None
    if not is_divided:
        raise InvalidArgument("no axis of the filter has the channels of one group", op=op, operand="groups",
                              got=groups, expected=f"an axis of {f.axes} that is {groups} times shorter than x's",
                              help="a depthwise filter has C: 1 and groups = the length of x's C")
    if alone and not pairs:
        axis, other = alone[0]
        raise AxisMismatch(f"axis {axis.label} has two lengths", op=op, operand=2, got=str(other), expected=str(axis),
                           help="channels of x and filter are equal; an output channel needs another class")
    return pairs


def _of_length(op: str, f: Tensor, same: Sequence[int], axis: Axis, groups: int) -> int | None:
    """Returns the axis of f in the class of an axis of x, with x's length over ``groups``; level -1 decides between
    two.
    """
    for wanted in (True, None) if groups == 1 else (True,):
        found = [k for k in same if equal(f.type.shape[k] * groups, axis.length) is wanted]
        if len(found) > 1:
            found = [k for k in found if f.axes[k].level == -1]
            if len(found) != 1:
                raise AxisMismatch(f"several axes of the filter could be contracted with {axis.label}", op=op,
                                   operand=2, got=str(f.axes), expected="one of them of level -1",
                                   help="axis.offset(-1) marks the one that is contracted")
        if found:
            return found[0]
    return None


def _assumed(op: str, roles: AxisRoles, groups: int) -> AxisRoles:
    """Returns the roles with contracted lengths assumed equal if that is not known. A length of x becomes a number if
    the filter has one; ``groups`` divide the first contracted axis.
    """
    shapes = {0: list(roles.x.type.shape), 1: list(roles.f.type.shape)}
    for k, (at, other) in enumerate(roles.contracted):
        times = 1 if k else groups
        mine, theirs = shapes[0][at], shapes[1][other] * times
        if equal(mine, theirs) is None and (isinstance(theirs, int) or times > 1):
            shapes[0][at] = theirs
        elif equal(mine, theirs) is None:
            shapes[1][other] = mine
    x, f = [Tensor(alignment.assume_shape(each.value, tuple(shapes[k]), op), each._axes)
            for k, each in enumerate((roles.x, roles.f))]
    return roles._replace(x=x, f=f)


def _grouped(value: Value, groups: Sequence[Sequence[int]], spatial: Sequence[int]) -> Value:
    """Returns a value with its dimensions ordered by groups, each of which becomes one dimension, before the spatial
    ones.
    """
    shape = value.shape
    value = reordered(value, [*[at for group in groups for at in group], *spatial])
    lengths = [product([shape[at] for at in group]) for group in groups]
    return ops.Reshape(value, (*lengths, *[shape[at] for at in spatial])).output


__all__ = ["convolution", "deconvolution"]

explain_keywords(globals(), __all__)
