"""Reading, adding and writing through an index map: the view that all views compose to, and its inverses.

>>> import nervure as nv
>>> from nervure.types.dim import index
>>> x, row = nv.Parameter(nv.float32, (4, 3)), nv.Parameter(nv.float32, (3,))
>>> second = IndexMap((3,), (1, index(0)))
>>> IndexView(x, second)
f32[3] IndexView(Parameter)
>>> AccumulateView(row, second, (4, 3))
f32[4, 3] AccumulateView(Parameter)
>>> UpdateView(x, row, second)
f32[4, 3] UpdateView(Parameter, Parameter)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from nervure.errors import IndexOutOfRange, InvalidArgument, ShapeMismatch
from nervure.ir import field
from nervure.ir.kinds import (
    Access,
    Structure,
    Structured,
    View,
    identity_access,
    identity_body,
    labels_through,
    require_admitted,
)
from nervure.ir.leaves import fit_number
from nervure.ir.op import Gradients, Op, Value
from nervure.types import view as views
from nervure.types.description import BasicTensorDescription, Labels
from nervure.types.dim import DimLike, bounds
from nervure.types.element_groups import ANY
from nervure.types.index_map import IndexMap, affine_form, indices


class MappedView(View, abstract=True):
    """A view of one tensor whose gradient adds up through its index map."""

    def vjp(self, gradient: Value, x: Value) -> Gradients:
        return (accumulated(gradient, self.simple_view.index_map, x.shape),)


def accumulated(x: Value, map: IndexMap, shape: tuple[DimLike, ...]) -> Value:
    """Returns ``AccumulateView`` as a value: x added to zeros of ``shape`` through ``map``."""
    return AccumulateView(x, map, shape).output


class IndexView(MappedView):
    """x seen through an index map: result[i] = x[map(i)]. The result has the map's shape."""

    operand_names = "x"
    map = field.index_map()

    def describe(self, *types: BasicTensorDescription) -> views.IndexMapView:
        _require_inside(self, self.map, types[0].shape)
        return views.IndexMapView(types[0].shape, self.map)

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return {"map": self.map.raised(length)}


class FilledView(Structured):
    """x seen through an index map that may lead outside of it, where the element is ``number``: a border without
    memory.

    Passes make it, after differentiation; it has no derivative.
    """

    signature = "x[~] -> y[~map]"
    map = field.index_map()
    number = field.number(0)

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        _require_coordinates(self, self.map, types[0].shape)
        return {"number": fit_number(self.number, types[0].dtype)}

    def infer_labels(self, types: tuple[BasicTensorDescription, ...]) -> tuple[Labels | None, ...]:
        source = self.operands[0].labels or (None,) * self.operands[0].rank
        return (labels_through(self.map.coordinates, source, self.map.rank),)

    def structure(self, *types: BasicTensorDescription) -> Structure:
        return Structure(domain=self.map.shape, reads=(Access(self.map.coordinates, fill=self.number),),
                         writes=(identity_access(self.map.rank),), body=identity_body)

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return {"map": self.map.raised(length), "number": self.number}


class AccumulateView(Structured):
    """Zeros of ``shape`` to which x is added: result[map(i)] += x[i]; the transpose of ``IndexView``."""

    signature = "x[~map] -> y[~shape]"
    map = field.index_map()
    shape = field.shape()

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        require_admitted(self, types[0], ANY)
        _require_inside(self, self.map, self.shape)
        return {}

    def infer_labels(self, types: tuple[BasicTensorDescription, ...]) -> tuple[Labels | None, ...]:
        coordinates = self.map.coordinates
        labels: list[str | None] = [None] * len(coordinates)
        for symbol, label in zip(indices(self.map.rank), self.operands[0].labels or (), strict=False):
            if coordinates.count(symbol) == 1:
                labels[coordinates.index(symbol)] = label
        return (tuple(labels) if any(labels) else None,)

    def structure(self, *types: BasicTensorDescription) -> Structure:
        x = types[0]
        return Structure(domain=x.shape, reads=(identity_access(len(x.shape)),), body=identity_body, combine="add",
                         writes=(Access(self.map.coordinates),), accumulate=x.dtype.compute)

    def vjp(self, gradient: Value, x: Value) -> Gradients:
        return (IndexView(gradient, self.map),)

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return {"map": self.map.raised(length), "shape": (length, *self.shape)}


class UpdateView(Structured):
    """x with y written over the elements that an index map visits, each once: result[map(i)] = y[i], the rest is x.

    A map that certainly visits an element twice is refused; if that depends on symbols, the caller must ensure that it
    does not.
    """

    signature = "x[~] y[~map] -> z[~]"
    map = field.index_map()

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        _require_inside(self, self.map, types[0].shape)
        if self.map.is_injective(types[0].shape) is False:
            raise self.fail(InvalidArgument, "the index map visits an element twice", operand="map", got=self.map,
                            expected="a map that visits each element at most once",
                            help="ops.AccumulateView adds up what reaches one element")
        return {}

    def structure(self, *types: BasicTensorDescription) -> Structure:
        y = types[1]
        return Structure(domain=y.shape, reads=(None, identity_access(len(y.shape))), body=identity_body, combine="set",
                         writes=(Access(self.map.coordinates),), initial=0)

    def vjp(self, gradient: Value, x: Value, y: Value) -> Gradients:
        return (UpdateView(gradient, y.full(0), self.map), IndexView(gradient, self.map))

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return {"map": self.map.raised(length)}


def _require_coordinates(op: Op, map: IndexMap, shape: tuple[DimLike, ...]) -> None:
    """Raises ShapeMismatch unless a map has a coordinate for each dimension of a shape."""
    if len(map.coordinates) != len(shape):
        raise op.fail(ShapeMismatch, "the index map needs a coordinate for each dimension", operand="map", got=map,
                      expected=f"{len(shape)} coordinates, for the shape {shape}",
                      help="IndexMap(shape, coordinates)")


def _require_inside(op: Op, map: IndexMap, shape: tuple[DimLike, ...]) -> None:
    """Raises ShapeMismatch unless ``map`` has a coordinate for each dimension of ``shape``; IndexOutOfRange if one
    certainly leaves it.

    Only maps without symbols and with affine coordinates are certain: they reach their bounds.
    """
    _require_coordinates(op, map, shape)
    left = _left_dimension(map, shape)
    if left is not None:
        d, low, high = left
        raise op.fail(IndexOutOfRange, f"the index map leaves dimension {d}", operand="map", got=map,
                      expected=f"coordinates from 0 to {shape[d] - 1}, not {low} to {high}",
                      help="map to fewer indices, or clip the coordinates")


@lru_cache(maxsize=1 << 10)
def _left_dimension(map: IndexMap, shape: tuple[DimLike, ...]) -> tuple[int, int, int] | None:
    """Returns a dimension that a map certainly leaves, and the ends of its coordinate. Answers are cached, since each
    op that replaces another asks again; they depend on no symbol.
    """
    extents = [length for length in map.shape if isinstance(length, int)]
    if 0 in extents or len(extents) < map.rank:
        return None
    for d, (coordinate, length) in enumerate(zip(map.coordinates, shape, strict=True)):
        low, high = bounds(coordinate, map.ranges)
        if not isinstance(length, int) or (low is not None and high is not None and low >= 0 and high < length):
            continue
        ends = _ends(coordinate, extents)
        if ends is not None and not (ends[0] >= 0 and ends[1] < length):
            return d, *ends
    return None


def _ends(coordinate: DimLike, extents: Sequence[int]) -> tuple[int, int] | None:
    """Returns the least and the greatest value of an affine coordinate over a domain; None if they are not known.

    The bounds of the expression as it is written may be wider.
    """
    form = affine_form(coordinate, extents)
    if form is None or not isinstance(form.offset, int):
        return None
    low = high = form.offset
    for slope, extent in zip(form.coefficients, extents, strict=True):
        if not isinstance(slope, int):
            return None
        low, high = low + min(slope * (extent - 1), 0), high + max(slope * (extent - 1), 0)
    return low, high
