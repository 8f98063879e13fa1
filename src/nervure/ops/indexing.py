"""Gather and scatter: elements addressed by data, in three ways, each with an op that reads and one that writes.

======== ================================================== =====================================
class    element ``[a..., i..., b...]`` of what is gathered  index
======== ================================================== =====================================
Gather   ``x[a..., index[i...], b...]``                      any shape, put in the place of an axis
Elements ``x[..., index[i...], ...]``                        as x, but for the axis's length
Nd       ``x[a..., *index[a..., i..., :], b...]``            the last dimension is a position
======== ================================================== =====================================

A negative index counts from the end, once; one that is out of range is an IndexError when the graph runs, and nothing
has been changed.

>>> import nervure as nv
>>> table, rows = nv.Parameter(nv.float32, (10, 4)), nv.Parameter(nv.int64, (2, 3))
>>> Gather(table, rows, axis=0)
f32[2, 3, 4] Gather(Parameter, Parameter)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from nervure.errors import NotSupported, ShapeMismatch
from nervure.ir import field
from nervure.ir.kinds import Access, Element, Structure, Structured, identity_access, identity_body, require_admitted
from nervure.ir.leaves import Full
from nervure.ir.op import Gradients, Op, Value, in_front
from nervure.ops.checking import (
    checked_axis,
    require_equal,
    require_index,
    require_rank,
    require_same_dtype,
    require_shape,
)
from nervure.ops.comparison import Equal
from nervure.ops.conversion import Convert
from nervure.ops.iota import Iota
from nervure.ops.selection import Maximum, Where
from nervure.ops.views import Reshape, moved_axes
from nervure.types.description import BasicTensorDescription, Labels
from nervure.types.dim import DimLike, index
from nervure.types.dtype import int64
from nervure.types.element_groups import ANY, REALS


class Places(NamedTuple):
    """The element of x that is addressed at each point of a domain: the domain, and a coordinate for each dimension of
    x.
    """

    domain: tuple[DimLike, ...]
    coordinates: tuple[DimLike | Element, ...]


def _along_axis(op: AlongAxis, x: BasicTensorDescription, indices: BasicTensorDescription) -> Places:
    axis, rank = op.axis, len(indices.shape)
    element = Element(1, tuple([index(axis + d) for d in range(rank)]), x.shape[axis])
    before = [index(d) for d in range(axis)]
    after = [index(d - 1 + rank) for d in range(axis + 1, len(x.shape))]
    return Places(x.shape[:axis] + indices.shape + x.shape[axis + 1:], (*before, element, *after))


def _of_elements(op: AlongAxis, x: BasicTensorDescription, indices: BasicTensorDescription) -> Places:
    axis, here = op.axis, tuple([index(d) for d in range(len(x.shape))])
    return Places(indices.shape, (*here[:axis], Element(1, here, x.shape[axis]), *here[axis + 1:]))


def _at_positions(op: GatherNd | ScatterNd, x: BasicTensorDescription, indices: BasicTensorDescription) -> Places:
    batch, rank = op.batch, len(indices.shape)
    count = indices.shape[-1] if rank else None
    if not isinstance(count, int):
        raise op.fail(ShapeMismatch, "the index needs a last dimension of known length", got=indices,
                      operand=op.operand_label(1), expected="the number of coordinates as last length",
                      help="an index of positions has shape (..., coordinates)")
    if not 0 <= batch < rank or batch + count > len(x.shape):
        raise op.fail(ShapeMismatch, f"positions of {count} coordinates after {batch} batch dimensions do not fit x",
                      operand=op.operand_label(1), got=f"x {x}, index {indices}",
                      expected="batch < rank of the index, batch + coordinates <= rank of x",
                      help="the last dimension of the index counts coordinates")
    for d in range(batch):
        require_equal(op, indices.shape[d], x.shape[d], f"batch dimension {d} differs", got=indices, expected=x,
                      operand=op.operand_label(1), help="batch dimensions of x and index are equal")
    here = tuple([index(d) for d in range(rank - 1)])
    elements = [Element(1, (*here, k), x.shape[batch + k]) for k in range(count)]
    rest = x.shape[batch + count:]
    after = [index(rank - 1 + d) for d in range(len(rest))]
    return Places(indices.shape[:-1] + rest, (*here[:batch], *elements, *after))


class AlongAxis(Op, abstract=True):
    """An op that addresses elements by an index along one ``axis``."""

    axis = field.integer()

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        require_rank(self, 0, types[0], 1)
        return {"axis": checked_axis(self, self.axis, len(types[0].shape))}


class Gathering(Structured, abstract=True):
    """Reads elements at places that data names. The gradient adds up at the places that were read."""

    counterpart: ClassVar[type[Op]]

    def places(self, x: BasicTensorDescription, indices: BasicTensorDescription) -> Places:
        """Returns the place from which each element of the result is read."""
        raise NotImplementedError

    def structure(self, *types: BasicTensorDescription) -> Structure:
        places = self.places(*types)
        return Structure(domain=places.domain, reads=(Access(places.coordinates), None),
                         writes=(identity_access(len(places.domain)),), body=identity_body)

    def vjp(self, gradient: Value, x: Value, index: Value) -> Gradients:
        return self.counterpart(x.full(0), index, gradient, mode="add", **self.attributes), None


class Gather(AlongAxis, Gathering):
    """Chooses positions of x along an axis by index; the shape is x.shape[:axis] + index.shape + x.shape[axis + 1:]."""

    signature = "x[~axis n ~] index:integers[~at] -> y[~axis ~at ~]"
    places = _along_axis

    def vmap(self, length: DimLike, mapped: Sequence[bool], *operands: Value) -> tuple[Value, ...]:
        x, index = operands
        if not mapped[1]:
            return Gather(x, index, self.axis + 1).outputs
        count = index.rank - 1
        if not mapped[0]:
            return (moved_axes(Gather(x, index, self.axis).output, self.axis, 0),)
        rows = GatherNd(moved_axes(x, self.axis + 1, 1), _positions(index), batch=1).output
        return (moved_axes(rows, 1, self.axis + 1, count),)


class GatherElements(AlongAxis, Gathering):
    """For each element of index, the element of x at that position along the axis and at the same place otherwise."""

    signature = "x[~axis n ~] index:integers[~axis m ~] -> y[~axis m ~]"
    places = _of_elements

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return {"axis": self.axis + 1}


class GatherNd(Gathering):
    """Takes slices of x at positions: index shares its first ``batch`` dimensions with x, and its last has the
    coordinates.
    """

    operand_names = "x index"
    batch = field.integer(0)
    places = _at_positions

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return {"batch": self.batch + 1}

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription:
        require_index(self, 1, types[1])
        return types[0].with_(shape=self.places(*types).domain, layout=None)

    def infer_labels(self, types: tuple[BasicTensorDescription, ...]) -> tuple[Labels | None, ...]:
        x, indices = [operand.labels or (None,) * operand.rank for operand in self.operands]
        batch, rest = self.batch, len(x) + len(indices) - 1 - len(types[0].shape)
        shared = [mine or theirs for mine, theirs in zip(x[:batch], indices[:batch], strict=True)]
        labels = (*shared, *indices[batch:-1], *x[rest:])
        return (labels if any(labels) else None,)


class Scattering(Structured, abstract=True):
    """Writes updates to x at places that data names; ``mode`` says how they combine with the elements there.

    "set": the last update in row-major order stays, and the gradient of the others is zero; "add", "multiply",
    "minimum", "maximum": all updates of a place and its old value are combined. Gradients of minimum and maximum
    are shared equally among ties; multiply has none.
    """

    counterpart: ClassVar[type[Op]]
    mode: str

    def places(self, x: BasicTensorDescription, indices: BasicTensorDescription) -> Places:
        """Returns the place to which each update is written."""
        raise NotImplementedError

    def gathered(self, x: Value, indices: Value) -> Value:
        """Returns the elements of x that this op overwrites."""
        return self.counterpart(x, indices, **self._address).outputs[0]

    def scattered(self, x: Value, indices: Value, updates: Value, mode: str) -> Value:
        """Returns this op on another ``x``, with other ``indices`` and ``updates``, in another ``mode``."""
        return type(self)(x, indices, updates, mode=mode, **self._address).outputs[0]

    @property
    def _address(self) -> dict[str, object]:
        """The attributes that say how an index addresses x, which the counterpart shares."""
        return {name: value for name, value in self.attributes.items() if name != "mode"}

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        if self.mode != "set":
            require_admitted(self, types[0], ANY if self.mode in ("add", "multiply") else REALS)
        return super().normalise(*types)

    def structure(self, *types: BasicTensorDescription) -> Structure:
        places = self.places(*types[:2])
        return Structure(domain=places.domain, reads=(None, None, identity_access(len(places.domain))),
                         writes=(Access(places.coordinates),), body=identity_body, combine=self.mode, initial=0,
                         accumulate=types[0].dtype.compute)

    def vjp(self, gradient: Value, x: Value, index: Value, updates: Value) -> Gradients:
        if self.mode == "add":
            return gradient, None, self.gathered(gradient, index)
        if self.mode == "set":
            return self._gradients_of_set(gradient, index, updates)
        if self.mode == "multiply":
            raise self.fail(NotSupported, "a scatter that multiplies has no derivative",
                            operand="mode", got=repr(self.mode), expected="'set', 'add', 'minimum' or 'maximum'",
                            help="take logarithms and add, or gather and multiply")
        return self._gradients_of_extremum(gradient, x, index, updates)

    def _gradients_of_set(self, gradient: Value, indices: Value, updates: Value) -> Gradients:
        """An update has a gradient if it is the last of its place; scattering the updates' numbers finds these."""
        number = Iota(updates.shape, None, int64).output
        last = self.scattered(Full(-1, int64, gradient.shape).output, indices, number, "set")
        stays = Equal(self.gathered(last, indices), number)
        zeros = updates.full(0)
        return (self.scattered(gradient, indices, zeros, "set"), None,
                Where(stays, self.gathered(gradient, indices), zeros).output)

    def _gradients_of_extremum(self, gradient: Value, x: Value, indices: Value, updates: Value) -> Gradients:
        """Divides the gradient equally among the elements that equal the result."""
        kept, hits = Equal(x, self.output), Equal(updates, self.gathered(self.output, indices))
        exact = x.dtype.compute
        ties = self.scattered(Convert(kept, exact).output, indices, Convert(hits, exact).output, "add")
        share = gradient / Convert(Maximum(ties, ties.full(1)), x.dtype).output
        return (Where(kept, share, x.full(0)).output, None,
                Where(hits, self.gathered(share, indices), updates.full(0)).output)


_MODES = ("set", "add", "multiply", "minimum", "maximum")


class Scatter(Scattering, AlongAxis):
    """x with updates written at positions along an axis: the counterpart of ``Gather``, in shapes too."""

    signature = "x[~axis n ~] index:integers[~at] updates[~axis ~at ~] -> y[~axis n ~]"
    mode = field.choice(*_MODES, default="set")
    places = _along_axis

    def vmap(self, length: DimLike, mapped: Sequence[bool], *operands: Value) -> tuple[Value, ...]:
        x, updates = [operand if is_mapped else in_front(operand, length)
                      for operand, is_mapped in ((operands[0], mapped[0]), (operands[2], mapped[2]))]
        index, axis = operands[1], self.axis + 1
        if not mapped[1]:
            return Scatter(x, index, updates, axis, self.mode).outputs
        rows = ScatterNd(moved_axes(x, axis, 1), _positions(index), moved_axes(updates, axis, 1, index.rank - 1),
                         mode=self.mode, batch=1).output
        return (moved_axes(rows, 1, axis),)


class ScatterElements(Scattering, AlongAxis):
    """x with each update written at its own position along the axis: the counterpart of ``GatherElements``."""

    signature = "x[~axis n ~] index:integers[~axis m ~] updates[~axis m ~] -> y[~axis n ~]"
    mode = field.choice(*_MODES, default="set")
    places = _of_elements

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return {"axis": self.axis + 1, "mode": self.mode}


class ScatterNd(Scattering):
    """x with slices written at positions: the counterpart of ``GatherNd``."""

    operand_names = "x index updates"
    mode = field.choice(*_MODES, default="set")
    batch = field.integer(0)
    places = _at_positions

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return {"batch": self.batch + 1, "mode": self.mode}

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription:
        x, indices, updates = types
        require_index(self, 1, indices)
        require_same_dtype(self, types, (0, 2))
        places = self.places(x, indices)
        require_shape(self, 2, updates, places.domain, "the updates must have the shape that a gather at the index has")
        return x.with_(layout=None)

    def infer_labels(self, types: tuple[BasicTensorDescription, ...]) -> tuple[Labels | None, ...]:
        return (self.operands[0].labels,)


def _positions(index: Value) -> Value:
    """Returns positions of one coordinate each."""
    return Reshape(index, (*index.shape, 1)).output


for _gather, _scatter in ((Gather, Scatter), (GatherElements, ScatterElements), (GatherNd, ScatterNd)):
    _gather.counterpart, _scatter.counterpart = _scatter, _gather
