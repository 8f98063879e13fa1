"""The element of a value at a point of the loops: how index functions become statements.

``Elements`` appends what computes an element to the loop body that is being built. What is in memory is loaded, views
move the point, everything else is computed from the elements of its operands.

>>> import nervure as nv
>>> from nervure.kernel.analysis import OpAnalysis
>>> from nervure.kernel.ir import Buffer
>>> from nervure.types.dim import index
>>> x = nv.Parameter(nv.float32, (4, 3))
>>> doubled = nv.ops.Permute(x + x, (1, 0))
>>> memory = {x.output: Buffer("x", nv.float32, 12, "in")}
>>> elements = Elements(OpAnalysis(), memory.get, {LoopIndex(0): 3, LoopIndex(1): 4})
>>> _ = elements.of(doubled.output, (index(0), index(1)))
>>> load, add = elements.statements.list
>>> load.address.steps, add.function
(((%0, 1), (%1, 3)), 'add')
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from nervure.errors import InternalError
from nervure.ir.kinds import Access, Element
from nervure.ir.op import Op, Value
from nervure.kernel.analysis import OpAnalysis, OpKind
from nervure.kernel.ir import Address, Buffer, Check, Literal, Load, Scalar, Variable
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.lower.integers import evaluated
from nervure.kernel.lower.scalars import KernelScalars, Statements, converted
from nervure.kernel.points import (
    Coordinates,
    Flat,
    Point,
    address,
    at_coordinates,
    compose,
    position,
    through,
    without_ones,
)
from nervure.types.dim import DimLike, affine, index, index_symbols, less_equal
from nervure.types.dtype import bool_, int64, uint64
from nervure.types.index_map import Ranges

_FIRST_DATA_INDEX = 1000
"""Coordinates that are data are indices from this number on, so that views move them like any other."""


class Elements:
    """What is needed of values inside the loops of one kernel.

    ``memory`` gives the buffer of a value that is to be loaded, ``extents`` the loops by their indices. ``rows`` holds
    scalars that have been computed outside the innermost loops and stand for their value at every point, ``held``
    buffers and offsets from which values are loaded, whatever the point.
    """

    def __init__(self, ops: OpAnalysis, memory: Callable[[Value], Buffer | None],
                 extents: Mapping[LoopIndex, DimLike],
                 locate: Callable[[Value, Point], DimLike] = lambda value, point: position(point, value.shape)) -> None:
        self._ops, self._memory, self._locate = ops, memory, locate
        self._extents = dict(extents)
        self._ranges: Ranges = {index.name: (0, extent - 1) for index, extent in extents.items()}
        self._data: dict[str, Scalar] = {}
        self.rows: dict[Value, Scalar] = {}
        self.held: dict[Value, tuple[Buffer, DimLike]] = {}
        self.failures: list[tuple[Op, int]] = []
        self.statements = Statements()
        self._known: dict[tuple[Value, Point], Scalar] = {}

    # -- scopes ------------------------------------------------------------------------------------------

    @contextmanager
    def body(self) -> Iterator[Statements]:
        """The body of a loop: what is computed inside is known inside."""
        outer = self.statements, self._known
        self.statements, self._known = Statements(), {}
        yield self.statements
        self.statements, self._known = outer

    def scalars(self, at: Callable[[DimLike], DimLike] | None = None) -> Any:
        """The scalar namespace, which appends to the current body."""
        return KernelScalars(self.statements, None if at is None else lambda entry: self._value(at(entry)))

    # -- elements ----------------------------------------------------------------------------------------

    def of(self, value: Value, point: Point) -> Scalar:
        """The element of a value at a point."""
        if value in self.rows:
            return self.rows[value]
        known = self._known.get((value, point))
        if known is not None:
            return known
        buffer = self._memory(value)
        if value in self.held:
            found = self.load(*self.held[value])
        elif buffer is not None:
            found = self.load(buffer, self._locate(value, point))
        else:
            found = self._computed(value, point)
        self._known[value, point] = found
        return found

    def load(self, buffer: Buffer, offset: DimLike, valid: Scalar | None = None, fill: Scalar | None = None) -> Scalar:
        """The element of a buffer at an offset."""
        result = Variable(buffer.dtype)
        self.statements.add(Load(result, buffer, self.address(offset), valid, fill))
        return result

    def address(self, offset: DimLike) -> Address:
        """An offset in elements, in which indices may stand for data, as an address."""
        used = [name for name in self._data if name in index_symbols(offset)]
        if not used:
            return address(offset, list(self._extents), self._ranges)
        parts = affine(offset, used)
        if parts is None:
            return Address(0, (), ((1, self._value(offset)),))
        terms = tuple([(parts[0][name], self._data[name]) for name in used])
        return address(parts[1], list(self._extents), self._ranges, terms)

    def _computed(self, value: Value, point: Point) -> Scalar:
        op = value.op
        kind = self._ops.kind(op)
        if kind is OpKind.NUMBER:
            return Literal(op.number, value.dtype)  # type: ignore[attr-defined]  # kinds: a Full
        if kind is OpKind.VIEW:
            return self.of(op.operands[0], self._below(op, point))
        if kind is OpKind.POINTWISE:
            elements = [self.of(operand, point) for operand in op.operands]
            results = op.evaluate(self.scalars(), *elements)  # type: ignore[attr-defined]
        elif kind is OpKind.MAPPED:
            results = self.body_at(op, point)
        else:
            raise InternalError(f"{op!r} of {op.location} is no index function, and has no memory here")
        return self._settled(op, value, point, results)

    def _settled(self, op: Op, value: Value, point: Point, results: Any) -> Scalar:
        """The results of an op in their element types, all of them noted."""
        results = results if isinstance(results, tuple) else (results,)
        for output, result in zip(op.outputs, results, strict=True):
            self._known[output, point] = converted(self.statements, result, output.dtype)
        return self._known[value, point]

    def _below(self, op: Op, point: Point) -> Point:
        """Where a view at a point shows its operand."""
        shape = op.outputs[0].shape
        if self._ops.traits(op).keeps_order:
            below = op.operands[0].shape
            same = None if isinstance(point, Flat) else without_ones(point, shape, below)
            return point if shape == below else same if same is not None else Flat(position(point, shape))
        return compose(self._ops.index_map(op), through(point, shape, self._ranges))

    # -- structures ----------------------------------------------------------------------------------------

    def body_at(self, op: Op, point: Point) -> Any:
        """What the body of a structured op gives at a point of its domain."""
        structure = self._ops.structure(op)
        if self._ops.reads_in_place(op):
            place = self.scalars(lambda entry: self.at(through(point, structure.domain, self._ranges))(entry))
            return structure.body(place, self.of(op.operands[0], point))
        at = self.at(through(point, structure.domain, self._ranges))
        elements = [self._read(op, operand, access, at)
                    for operand, access in zip(op.operands, structure.reads, strict=True) if access is not None]
        return structure.body(self.scalars(at), *elements)

    def at(self, coordinates: Coordinates) -> Callable[[DimLike], DimLike]:
        """What an expression over a domain's indices is, where the indices have these values."""
        return lambda expression: at_coordinates(expression, coordinates)

    def _read(self, op: Op, operand: Value, access: Access, at: Callable[[DimLike], DimLike]) -> Scalar:
        valid: Scalar | None = None
        coordinates = self.place(op, access, at)
        if access.fill is not None:
            valid = self.inside(coordinates, operand.shape)
        if valid is None or access.fill is None:
            return self.of(operand, coordinates)
        value, point = operand, coordinates
        while (buffer := self._memory(value)) is None:
            if self._ops.kind(value.op) is not OpKind.VIEW:
                inner = self.of(value, point)
                fill = Literal(access.fill, inner.dtype)
                return self.statements.apply("where", (valid, inner, fill), inner.dtype)
            value, point = value.op.operands[0], self._below(value.op, point)
        return self.load(buffer, self._locate(value, point), valid, Literal(access.fill, buffer.dtype))

    def place(self, op: Op, access: Access, at: Callable[[DimLike], DimLike]) -> Coordinates:
        """The coordinates of an access."""
        return tuple([self._datum(op, entry, at) if isinstance(entry, Element) else at(entry)
                      for entry in access.coordinates])

    def inside(self, coordinates: Coordinates, shape: tuple[DimLike, ...]) -> Scalar | None:
        """Whether coordinates are inside a shape; None if they certainly are."""
        valid: Scalar | None = None
        for entry, length in zip(coordinates, shape, strict=True):
            for low, high in ((0, entry), (entry, length - 1)):
                if less_equal(low, high, self._ranges) is True:
                    continue
                holds = self.statements.apply("less_equal", (self._value(low), self._value(high)), bool_)
                valid = holds if valid is None else self.statements.apply("bitwise_and", (valid, holds), bool_)
        return valid

    # -- coordinates that are data -----------------------------------------------------------------------

    def _datum(self, op: Op, element: Element, at: Callable[[DimLike], DimLike]) -> DimLike:
        """The coordinate that an element of an operand gives, checked, counted from the start."""
        operand = op.operands[element.operand]
        given = self.of(operand, tuple([at(entry) for entry in element.coordinates]))
        s = self.scalars()
        bound = self._value(at(element.bound))
        if given.dtype is uint64:
            fits = s.less(given, s.wrap(bound, uint64))
            place = s.wrap(given, int64)
        else:
            wide = s.convert(given, int64)
            place = s.where(s.less(wide, Literal(0, int64)), s.add(wide, bound), wide)
            fits = s.bitwise_and(s.less_equal(Literal(0, int64), place), s.less(place, bound))
        self.failures.append((op, element.operand))
        self.statements.add(Check(fits, len(self.failures), s.wrap(given, int64)))
        safe = s.where(fits, place, Literal(0, int64))
        symbol = index(_FIRST_DATA_INDEX + len(self._data))
        self._data[str(symbol)] = safe
        return symbol

    def _value(self, expression: DimLike) -> Scalar:
        """An expression over loop indices and data as an int64 scalar."""
        used = [name for name in self._data if name in index_symbols(expression)]
        if not used:
            return self.statements.index(expression)
        return evaluated(expression, self._data, self.statements)
