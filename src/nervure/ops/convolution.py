"""Convolution and its two gradients: one trilinear form, of which each op computes one member.

The form is the sum, for batch n, group g, its channels c and filters k, places o and window positions w, over ::

    data[n, g*C + c, o*stride + w*dilation - padding] * filter[g*K + k, c, w] * result[n, g*K + k, o]

where data is 0 outside its bounds. ``Convolution`` computes the result from the other two, ``ConvolutionDataGradient``
the data, ``ConvolutionFilterGradient`` the filter; so the derivatives of each are the other two, to any order.

>>> import nervure as nv
>>> images, filters = nv.Parameter(nv.float32, (8, 3, 32, 32)), nv.Parameter(nv.float32, (16, 3, 5, 5))
>>> Convolution(images, filters, strides=(2, 2), paddings=[(2, 2), (2, 2)])
f32[8, 16, 16, 16] Convolution(Parameter, Parameter)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.ir import field
from nervure.ir.function import Assumption
from nervure.ir.kinds import Access, Composite, Structure, Structured, multiply_body, require_admitted
from nervure.ir.op import Gradients, Op, Operand, Value
from nervure.ops.checking import (
    fitting_windows,
    lengths_of_results,
    require_equal,
    require_same_dtype,
    window_attributes,
    window_extent,
)
from nervure.ops.views import Pad, Permute, Reshape
from nervure.ops.window_products import WindowProduct, data_of_each, filters_of_each, result_of_each
from nervure.types.description import BasicTensorDescription, Labels
from nervure.types.dim import DimLike, less_equal
from nervure.types.dtype import DType
from nervure.types.element_groups import ANY
from nervure.types.index_map import indices

DATA, FILTER, RESULT = 0, 1, 2
LAYOUTS = ("data (N, C, spatial)", "filters (K, C // groups, spatial)", "result (N, K, spatial)")

CHAINED_FILTERS, CHAINED_POSITIONS = 4, 64
"""The most filters of a group of one channel, and positions of a window, whose gradient has the order of claim O69."""

Shape = Sequence[DimLike]
Paddings = Sequence[tuple[DimLike, DimLike]]


class Geometry(NamedTuple):
    """The motion of a filter: a stride, a dilation and a padding for each spatial dimension, and the groups."""

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    paddings: tuple[tuple[DimLike, DimLike], ...]
    groups: int

    def position(self, d: int, place: DimLike, offset: DimLike) -> DimLike:
        """Returns the position in the data, along spatial dimension ``d``, of the window position ``offset`` at
        ``place``.
        """
        return place * self.strides[d] + offset * self.dilations[d] - self.paddings[d][0]

    def reached(self, output_paddings: Sequence[int]) -> tuple[Geometry, list[tuple[DimLike, DimLike]]]:
        """Returns the geometry of data that end with the last window, and the padding that they need for
        ``output_paddings`` that go further.

        The padding is a pair for each spatial dimension. Less than a stride is a matter of the length alone.
        """
        goes_on = [extra >= stride for extra, stride in zip(output_paddings, self.strides, strict=True)]
        ends = list(zip(goes_on, self.paddings, output_paddings, strict=True))
        inside = tuple([(0, 0) if further else padding for further, padding, _ in ends])
        more = [(-before, extra - after) if further else (0, 0) for further, (before, after), extra in ends]
        return self._replace(paddings=inside), more

    def structure(self, filter_shape: Shape, result_shape: Shape, known: tuple[int, int],
                  accumulate: DType) -> Structure:
        """Returns the iteration that computes one member of the form from the two that are ``known``.

        The domain is (n, k, o..., c, w...); with groups (n, g, k, o..., c, w...): every coordinate is affine.
        """
        spatial, is_grouped = len(self.strides), self.groups != 1
        filters = result_shape[1] // self.groups
        groups = [self.groups] if is_grouped else []
        domain = (result_shape[0], *groups, filters, *result_shape[2:], *filter_shape[1:])
        n, *rest = indices(len(domain))
        g: DimLike = rest.pop(0) if is_grouped else 0
        k, places, c, offsets = rest[0], rest[1:spatial + 1], rest[spatial + 1], rest[spatial + 2:]
        positions = [self.position(d, places[d], offsets[d]) for d in range(spatial)]
        row = g * filters + k
        members = ((n, g * filter_shape[1] + c, *positions), (row, c, *offsets), (n, row, *places))
        unknown, = {DATA, FILTER, RESULT}.difference(known)
        reads = tuple([Access(members[at], fill=0 if at == DATA else None) for at in known])
        return Structure(domain=domain, reads=reads, writes=(Access(members[unknown], drop=unknown == DATA),),
                         body=multiply_body, combine="add", accumulate=accumulate)


class ConvolutionForm(Op, abstract=True):
    """The common part of the ops: the attributes, their checks, and the geometry.

    There are 1 to 3 spatial dimensions. ``strides`` and ``dilations`` have an int >= 1 for each (empty: ones),
    ``paddings`` a pair (before, after) of elements that count as 0 (empty: none; negative: elements are left out).
    ``groups`` divides K and C; C == groups is a depthwise convolution. Low-precision floats add up in float32.
    """

    known: ClassVar[tuple[int, int]]
    lengths: tuple[DimLike, ...]

    strides = field.ints(())
    dilations = field.ints(())
    paddings = field.dim_pairs(())
    groups = field.integer(1)

    @property
    def geometry(self) -> Geometry:
        """The attributes, as a Geometry."""
        return Geometry(self.strides, self.dilations, self.paddings, self.groups)

    @property
    def unknown(self) -> int:
        """The member of the form that the op computes."""
        return DATA + FILTER + RESULT - sum(self.known)

    def infer_labels(self, types: tuple[BasicTensorDescription, ...]) -> tuple[Labels | None, ...]:
        none = (None,) * len(types[0].shape)
        given = {member: operand.labels for member, operand in zip(self.known, self.operands, strict=True)}
        data, filters, result = [given.get(member) or none for member in (DATA, FILTER, RESULT)]
        is_whole = self.groups == 1  # else groups divide the channels
        labels = {DATA: (result[0], filters[1] if is_whole else None, *result[2:]),
                  FILTER: (result[1], data[1] if is_whole else None, *none[2:]),
                  RESULT: (data[0], filters[0], *data[2:])}[self.unknown]
        return (labels if any(labels) else None,)

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        return window_attributes(self, self._spatial(types), self.strides, self.dilations, self.paddings)

    def _spatial(self, types: Sequence[BasicTensorDescription]) -> int:
        """Returns the number of spatial dimensions, on which all operands agree."""
        spatial = len(types[0].shape) - 2
        for position, type in enumerate(types):
            if not 3 <= len(type.shape) <= 5 or len(type.shape) - 2 != spatial:
                raise self.fail(ShapeMismatch, "the operands must have 1 to 3 spatial dimensions, equally many",
                                operand=self.operand_label(position), got=type,
                                expected=LAYOUTS[self.known[position]],
                                help="insert ops.Reshape; an image without channels has C = 1")
        return spatial

    def _check(self, types: Sequence[BasicTensorDescription]) -> int:
        """Checks element types and groups; returns the number of spatial dimensions."""
        require_same_dtype(self, types, (0, 1))
        require_admitted(self, types[0], ANY)
        if self.groups < 1:
            raise self.fail(InvalidArgument, "groups must be positive", operand="groups", got=self.groups,
                            expected="1 or more", help="1 connects all channels; C makes a depthwise convolution")
        return len(self.strides)

    def _result_shape(self, data: BasicTensorDescription, kernel: BasicTensorDescription,
                      position: int, paddings: Paddings | None = None) -> tuple[DimLike, ...]:
        """Returns the result's shape, from data and filters; if there is none, the error names the operand at
        ``position``. The op's paddings count, or others.
        """
        channels, filters, own = data.shape[1], kernel.shape[0], f"filters for {kernel.shape[1]} channels"
        require_equal(self, kernel.shape[1] * self.groups, channels, "the channels of filter and data differ",
                      operand=self.operand_label(position), expected=f"as many as the data have: {channels}",
                      got=own if self.groups == 1 else f"{own} in each of {self.groups} groups",
                      help=f"the operands are {LAYOUTS[DATA]} and {LAYOUTS[FILTER]}")
        require_equal(self, filters // self.groups * self.groups, filters, "groups must divide the number of filters",
                      operand="groups", got=self.groups, expected=f"a divisor of {filters}",
                      help=f"the operands are {LAYOUTS[DATA]} and {LAYOUTS[FILTER]}")
        settings = zip(self.strides, self.dilations, self.paddings if paddings is None else paddings, strict=True)
        places = [window_extent(self, position, data, d, kernel.shape[d], *each) for d, each in enumerate(settings, 2)]
        return data.shape[0], filters, *places

    def _check_result(self, position: int, got: BasicTensorDescription, expected: Shape) -> None:
        for d, (mine, theirs) in enumerate(zip(got.shape, expected, strict=True)):
            require_equal(self, mine, theirs, f"dimension {d} is not that of the convolution's result", got=got,
                          operand=self.operand_label(position), expected=got.with_(shape=expected),
                          help=f"by the other operand and the attributes; {LAYOUTS[RESULT]}")

    def _check_lengths(self, member: str) -> None:
        """Raises InvalidArgument unless the unknown member has a length for each spatial dimension."""
        if len(self.lengths) != len(self.strides):
            raise self.fail(InvalidArgument, f"attribute lengths needs the {member}'s spatial lengths",
                            operand="lengths", got=self.lengths, expected=f"{len(self.strides)} lengths",
                            help=f"give the shape of the {member} from dimension 2")

    def assumptions(self) -> list[Assumption]:
        """Assumes that every window fits, which a call checks for symbols."""
        members = {**dict(zip(self.known, self.operands, strict=True)), self.unknown: self.outputs[0]}
        return fitting_windows(self, members[DATA].shape[2:], members[FILTER].shape[2:], self.dilations, self.paddings)


    def vmap(self, length: DimLike, mapped: Sequence[bool], *operands: Value) -> tuple[Value, ...]:
        """Folds the dimension in front into one that two members share.

        It is the batch of data and result, the filters of filter and result, or the channels of data and filter. If all
        three members have it, each of its elements is a group, or, where their number is a symbol or 0, a product
        over windows.
        """
        present = {self.unknown, *[member for member, is_mapped in zip(self.known, mapped, strict=True) if is_mapped]}
        shared, groups = _SHARED[frozenset(present)], self.groups
        if shared is _GROUPS:
            if not isinstance(length, int) or length == 0:
                return (self._by_windows(*operands),)
            groups, parts = groups * length, 1
        else:
            parts = groups
        folded = [_folded(x, shared[member], parts if shared[member] == _CHANNELS_OF[member] else 1) if is_mapped else x
                  for x, member, is_mapped in zip(operands, self.known, mapped, strict=True)]
        made = type(self)(*folded, **{**self.attributes, "groups": groups}).outputs[0]
        at = shared[self.unknown]
        parts = parts if at == _CHANNELS_OF[self.unknown] else 1
        return (_unfolded(made, length, self.outputs[0].shape, at, parts),)


    def _by_windows(self, *operands: Value) -> Value:
        """Returns the unknown member of each element of a batch of unknown length."""
        shapes = {member: operand.shape for member, operand in zip(self.known, self.operands, strict=True)}
        shapes[self.unknown] = self.outputs[0].shape
        form = WindowProduct((shapes[DATA], shapes[FILTER], shapes[RESULT]), *self.geometry)
        return {DATA: data_of_each, FILTER: filters_of_each, RESULT: result_of_each}[self.unknown](form, *operands)


_CHANNELS_OF = {DATA: 1, FILTER: 0, RESULT: 1}
"""The dimension of each member that groups divide."""

_GROUPS = _CHANNELS_OF
_SHARED = {frozenset([DATA, RESULT]): {DATA: 0, RESULT: 0},
           frozenset([FILTER, RESULT]): {FILTER: 0, RESULT: 1},
           frozenset([DATA, FILTER]): {DATA: 1, FILTER: 1},
           frozenset([DATA, FILTER, RESULT]): _GROUPS}
"""The dimension, for each set of members, that takes up another one which they have in front."""


def _folded(x: Value, at: int, parts: int) -> Value:
    """Moves the first dimension of x into the dimension that is then number ``at``, in front of what is in each of its
    ``parts``.
    """
    length, *shape = x.shape
    split = (length, *shape[:at], parts, shape[at] // parts, *shape[at + 1:])
    order = [*range(1, at + 2), 0, *range(at + 2, len(split))]
    shape[at] = shape[at] * length
    return Reshape(Permute(Reshape(x, split), order), shape).output


def _unfolded(x: Value, length: DimLike, shape: Shape, at: int, parts: int) -> Value:
    """Takes a dimension of this ``length`` out of dimension ``at`` again, and puts it in front of the ``shape``."""
    split = (*shape[:at], parts, length, shape[at] // parts, *shape[at + 1:])
    order = [at + 1, *range(at + 1), *range(at + 2, len(split))]
    return Reshape(Permute(Reshape(x, split), order), (length, *shape)).output


class Convolution(ConvolutionForm, Structured):
    """The cross-correlation of x (N, C, spatial) with filters f (K, C // groups, spatial): (N, K, places).

    There are ``(length + padding - dilation*(window - 1) - 1) // stride + 1`` places along a dimension.
    """

    operand_names = "x f"
    known = (DATA, FILTER)

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription:
        self._check(types)
        x, f = types
        return x.with_(shape=self._result_shape(x, f, 1), layout=None)

    def structure(self, *types: BasicTensorDescription) -> Structure:
        x, f = types
        return self.geometry.structure(f.shape, self._result_shape(x, f, 1), self.known, x.dtype.compute)

    def vjp(self, gradient: Value, x: Value, f: Value) -> Gradients:
        return (ConvolutionDataGradient(gradient, f, *self.geometry, x.shape[2:]),
                ConvolutionFilterGradient(x, gradient, *self.geometry, f.shape[2:]))


class ConvolutionDataGradient(ConvolutionForm, Structured):
    """The gradient for the data (N, C, ``lengths``) of a convolution, from the result's r (N, K, places) and filters
    f.

    Each place adds the filters, times its own element, to its window.
    """

    operand_names = "r f"
    known = (RESULT, FILTER)
    lengths = field.shape()

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription:
        result, kernel = types
        self._check(types)
        self._check_lengths("data")
        data = result.with_(shape=(result.shape[0], kernel.shape[1] * self.groups, *self.lengths), layout=None)
        self._check_result(0, result, self._result_shape(data, kernel, 1))
        return data

    def structure(self, *types: BasicTensorDescription) -> Structure:
        return self.geometry.structure(types[1].shape, types[0].shape, self.known, types[0].dtype.compute)

    def vjp(self, gradient: Value, r: Value, f: Value) -> Gradients:
        return (Convolution(gradient, f, *self.geometry),
                ConvolutionFilterGradient(gradient, r, *self.geometry, f.shape[2:]))


class ConvolutionFilterGradient(ConvolutionForm, Structured):
    """The gradient for the filters of a convolution, from its data x and the result's r (N, K, places).

    The result has shape (K, C // groups, ``lengths``): the sum over batch and places of the windows, times r's
    elements.
    """

    operand_names = "x r"
    known = (DATA, RESULT)
    lengths = field.shape()

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription:
        data, result = types
        self._check(types)
        self._check_lengths("filter")
        kernel = data.with_(shape=(result.shape[1], data.shape[1] // self.groups, *self.lengths), layout=None)
        self._check_result(1, result, self._result_shape(data, kernel, 0))
        return kernel

    def structure(self, *types: BasicTensorDescription) -> Structure:
        kernel = (types[1].shape[1], types[0].shape[1] // self.groups, *self.lengths)
        return self.geometry.structure(kernel, types[1].shape, self.known, types[0].dtype.compute)

    def vjp(self, gradient: Value, x: Value, r: Value) -> Gradients:
        return (ConvolutionDataGradient(r, gradient, *self.geometry, x.shape[2:]),
                Convolution(x, gradient, *self.geometry))


class ConvolutionTranspose(ConvolutionForm, Composite):
    """The transpose of the convolution with the same attributes, of x (N, K, places): (N, C, lengths).

    A length is ``stride*(places - 1) - padding + dilation*(window - 1) + 1 + output_padding``. The output padding
    chooses among the lengths that a convolution maps to the same number of places: stride of them. It may be larger,
    as long as it is less than the dilation; no window reaches what is at the end then, which is 0.
    """

    operand_names = "x f"
    known = (RESULT, FILTER)
    output_paddings = field.ints(())

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        extra = self.output_paddings or (0,) * self._spatial(types)
        return {**super().normalise(*types), "output_paddings": extra}

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription:
        x, kernel = types
        spatial = self._check(types)
        extra = self.output_paddings
        most = [max(pair) for pair in zip(self.strides, self.dilations, strict=True)]
        if len(extra) != spatial or any([not 0 <= entry < end for entry, end in zip(extra, most, strict=True)]):
            raise self.fail(InvalidArgument, "an output padding is at least 0 and less than stride or dilation",
                            got=extra, operand="output_paddings", help="nv.pad adds zeros at the end",
                            expected=f"{spatial} entries for strides {self.strides} and dilations {self.dilations}")
        lengths = self._lengths(x.shape, kernel.shape)
        if any([less_equal(length, -1) is True for length in lengths]):
            raise self.fail(ShapeMismatch, "the paddings leave out more than there is", operand="paddings",
                            got=self.paddings, expected="results of lengths of 0 or more, not of "
                            f"{', '.join(map(str, lengths))}", help="use smaller paddings, or larger windows")
        data = x.with_(shape=(x.shape[0], kernel.shape[1] * self.groups, *lengths), layout=None)
        geometry, more = self.geometry.reached(extra)
        reached = data.with_(shape=(*data.shape[:2], *_without(lengths, more)))
        self._check_result(0, x, self._result_shape(reached, kernel, 1, geometry.paddings))
        return data

    def _lengths(self, x: Shape, kernel: Shape) -> tuple[DimLike, ...]:
        settings = zip(self.strides, self.dilations, self.paddings, self.output_paddings, strict=True)
        return tuple([stride * (places - 1) - before - after + dilation * (window - 1) + 1 + extra
                      for places, window, (stride, dilation, (before, after), extra)
                      in zip(x[2:], kernel[2:], settings, strict=True)])

    def assumptions(self) -> list[Assumption]:
        """Assumes that windows fit if lengths are not negative, which a call checks for symbols."""
        return [*lengths_of_results(self), *super().assumptions()]

    def decompose(self, x: Value, f: Value) -> Operand:
        geometry, more = self.geometry.reached(self.output_paddings)
        found = ConvolutionDataGradient(x, f, *geometry, _without(self._lengths(x.shape, f.shape), more))
        return Pad(found, [(0, 0), (0, 0), *more]) if any([pair != (0, 0) for pair in more]) else found


def _without(lengths: Shape, paddings: Paddings) -> list[DimLike]:
    """Returns the lengths of what becomes ``lengths`` by paddings."""
    return [length - before - after for length, (before, after) in zip(lengths, paddings, strict=True)]
