"""Value lowering: the element of a value at a point of the loops, as statements.

``ValueLowering`` appends the computation of an element to the loop body that is being built. Values in memory are
loaded, views move the point, everything else is computed from the elements of its operands.

>>> import nervure as nv
>>> from nervure.kernel.analysis import OpAnalysis
>>> from nervure.kernel.ir import Buffer
>>> from nervure.types.dim import index
>>> x = nv.Parameter(nv.float32, (4, 3))
>>> doubled = nv.ops.Permute(x + x, (1, 0))
>>> memory = {x.output: Buffer("x", nv.float32, 12, "in")}
>>> elements = ValueLowering(OpAnalysis(), memory.get, {LoopIndex(0): 3, LoopIndex(1): 4})
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
from nervure.ir.kinds import Access, Element, as_results
from nervure.ir.op import Op, Value
from nervure.kernel.analysis import OpAnalysis, OpKind
from nervure.kernel.combiners import unit
from nervure.kernel.coordinates import (
    Coordinates,
    Point,
    address,
    at_coordinates,
    compose,
    position,
    reshaped,
    through,
)
from nervure.kernel.failures import Failure, IndexFailure
from nervure.kernel.ir import Address, Buffer, Check, Literal, Load, Scalar, Variable
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.lower.scalars import KernelScalars, Statements, converted
from nervure.types.dim import (
    Dim,
    DimLike,
    affine,
    declared_symbols,
    evaluate_with,
    index,
    index_symbols,
    less_equal,
    simplify,
)
from nervure.types.dtype import bool_, int64, uint64
from nervure.types.index_map import Ranges


class DataIndices:
    """Coordinates that are data: each is an index that no loop has, so that views move it like any other.

    >>> data = DataIndices()
    >>> place = data.new(Literal(3, int64))
    >>> place, data.in_expression(place // 4 + index(0)), data.scalars[str(place)]
    (%1000, ['%1000'], Literal(value=3, dtype=nervure.int64))
    """

    FIRST = 1000

    def __init__(self) -> None:
        self.scalars: dict[str, Scalar] = {}
        self.lengths: dict[str, DimLike] = {}

    def new(self, scalar: Scalar, length: DimLike = 1) -> Dim:
        """Returns the index that stands for a scalar, a place along an axis of some ``length``."""
        symbol = index(self.FIRST + len(self.scalars))
        self.scalars[str(symbol)], self.lengths[str(symbol)] = scalar, length
        return symbol

    def in_expression(self, expression: DimLike) -> list[str]:
        """Returns the data indices that an expression depends on."""
        return [name for name in self.scalars if name in index_symbols(expression)]


class ValueLowering:
    """The lowering of values inside the loops of one kernel.

    ``memory`` gives the buffer of a value to be loaded, ``extents`` the loops by their indices. ``rows`` holds scalars
    that have been computed outside the innermost loops and stand for their value at every point, ``held`` buffers and
    offsets from which values are loaded, whatever the point.
    """

    def __init__(self, ops: OpAnalysis, memory: Callable[[Value], Buffer | None],
                 extents: Mapping[LoopIndex, DimLike],
                 locate: Callable[[Value, Point], DimLike] = lambda value, point: position(point, value.shape)) -> None:
        self._ops, self._memory, self._locate = ops, memory, locate
        self._extents = dict(extents)
        self._ranges: Ranges = {index.name: (0, extent - 1) for index, extent in extents.items()}
        self._data = DataIndices()
        self.rows: dict[Value, Scalar] = {}
        self.held: dict[Value, tuple[Buffer, DimLike]] = {}
        self.failures: list[Failure] = []
        self.statements = Statements()
        self._known: dict[tuple[Value, Point], Scalar] = {}

    # -- scopes ------------------------------------------------------------------------------------------

    @contextmanager
    def body(self) -> Iterator[Statements]:
        """Opens the body of a loop: values computed inside are known only inside."""
        outer = self.statements, self._known
        self.statements, self._known = Statements(), {}
        yield self.statements
        self.statements, self._known = outer

    def scalars(self, at: Callable[[DimLike], DimLike] | None = None) -> Any:
        """Returns the scalar namespace, which appends to the current body."""
        return KernelScalars(self.statements, None if at is None else lambda entry: self._value(at(entry)))

    # -- elements ----------------------------------------------------------------------------------------

    def of(self, value: Value, point: Point) -> Scalar:
        """Returns the element of a value at a point."""
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
        """Returns the element of a buffer at an ``offset``; of an empty one, where a check fails, the ``fill`` or 0."""
        result, valid = Variable(buffer.dtype), self.if_any(offset, valid)
        if valid is not None and fill is None:
            fill = unit("add", buffer.dtype)
        self.statements.add(Load(result, buffer, self.address(offset), valid, fill))
        return result

    def if_any(self, offset: DimLike, valid: Scalar | None = None) -> Scalar | None:
        """Returns the condition ``valid``, and that axes have any element along which data say the place in an
        ``offset``. None if all that certainly holds.
        """
        for name in self._data.in_expression(offset):
            if less_equal(1, self._data.lengths[name], self._ranges) is not True:
                valid = self._both(valid, self._value(1), self._value(self._data.lengths[name]))
        return valid

    def _both(self, valid: Scalar | None, low: Scalar, high: Scalar) -> Scalar:
        """Returns whether a condition holds, if there is one, and ``low`` is at most ``high``."""
        holds = self.statements.apply("less_equal", (low, high), bool_)
        return holds if valid is None else self.statements.apply("bitwise_and", (valid, holds), bool_)

    def address(self, offset: DimLike) -> Address:
        """Returns an offset in elements, in which indices may stand for data, as an address."""
        used = self._data.in_expression(offset)
        if not used:
            return address(offset, list(self._extents), self._ranges)
        parts = affine(offset, used)
        if parts is None:
            offset = simplify(offset, self._ranges)
            parts = affine(offset, used)
        if parts is None:
            return Address(0, (), ((1, self._value(offset)),))
        terms = tuple([(parts[0][name], self._data.scalars[name]) for name in used])
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
        elif kind is OpKind.INDEXED:
            results = self.body_at(op, point)
        else:
            raise InternalError(f"{op!r} of {op.location} is no index function, and has no memory here")
        return self._settled(op, value, point, results)

    def _settled(self, op: Op, value: Value, point: Point, results: Any) -> Scalar:
        """Returns the results of an op in their element types, and notes all of them."""
        for output, result in zip(op.outputs, as_results(results), strict=True):
            self._known[output, point] = converted(self.statements, result, output.dtype)
        return self._known[value, point]

    def _below(self, op: Op, point: Point) -> Point:
        """Returns the point of a view's operand for a point of the view."""
        shape = op.outputs[0].shape
        if self._ops.traits(op).keeps_order:
            return reshaped(point, shape, op.operands[0].shape)
        return compose(self._ops.index_map(op), through(point, shape, self._ranges))

    # -- structures ----------------------------------------------------------------------------------------

    def body_at(self, op: Op, point: Point) -> tuple[Scalar, ...]:
        """Returns the values of a structured op's body at a point of its domain."""
        structure = self._ops.structure(op)
        if self._ops.reads_in_place(op):
            place = self.scalars(lambda entry: self.at(through(point, structure.domain, self._ranges))(entry))
            return as_results(structure.body(place, *[self.of(operand, point) for operand in op.operands]))
        at = self.at(through(point, structure.domain, self._ranges))
        return as_results(structure.body(self.scalars(at), *self.reads_at(op, point)))

    def reads_at(self, op: Op, point: Point) -> list[Scalar]:
        """Returns the elements that a structured op reads at a point of its domain."""
        structure = self._ops.structure(op)
        at = self.at(through(point, structure.domain, self._ranges))
        return [self._read(op, operand, access, at)
                for operand, access in zip(op.operands, structure.reads, strict=True) if access is not None]

    def at(self, coordinates: Coordinates) -> Callable[[DimLike], DimLike]:
        """Returns a function that evaluates an expression over a domain's indices at these coordinates."""
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
        """Returns the coordinates of an ``access``."""
        return tuple([self._datum(op, entry, at) if isinstance(entry, Element) else at(entry)
                      for entry in access.coordinates])

    def inside(self, coordinates: Coordinates, shape: tuple[DimLike, ...]) -> Scalar | None:
        """Returns whether coordinates are inside a shape; None if they certainly are."""
        valid: Scalar | None = None
        for entry, length in zip(coordinates, shape, strict=True):
            for low, high in ((0, entry), (entry, length - 1)):
                if less_equal(low, high, self._ranges) is True:
                    continue
                valid = self._both(valid, self._value(low), self._value(high))
        return valid

    # -- coordinates that are data -----------------------------------------------------------------------

    def _datum(self, op: Op, element: Element, at: Callable[[DimLike], DimLike]) -> DimLike:
        """Returns the coordinate that an element of an operand gives, checked, counted from the start."""
        operand = op.operands[element.operand]
        given = self.of(operand, tuple([at(entry) for entry in element.coordinates]))
        s = self.scalars()
        bound, length = self._value(at(element.bound)), element.bound
        low, high = self._ops.integers.of(operand)
        if isinstance(length, int) and low is not None and high is not None and 0 <= low <= high < length:
            return self._ranged(s.convert(given, int64), low, high)
        place = s.wrap(given, int64)
        if element.from_end and given.dtype is not uint64:
            place = s.where(s.less(place, Literal(0, int64)), s.add(place, bound), place)
        fits = s.less(s.wrap(place, uint64), s.wrap(bound, uint64))  # negative ones are larger than any bound
        self.require(fits, s.wrap(given, int64), IndexFailure(op, element.operand))
        safe = s.where(fits, place, Literal(0, int64))
        if isinstance(length, int) and length > 0:
            return self._ranged(safe, 0, length - 1)
        return self._data.new(safe, at(length))

    def _ranged(self, place: Scalar, low: int, high: int) -> Dim:
        """Returns the index that stands for a scalar between two numbers."""
        found = self._data.new(place)
        self._ranges[str(found)] = low, high
        return found

    def require(self, condition: Scalar, value: Scalar, failure: Failure) -> None:
        """Appends a check that reports a ``failure``, and a ``value``, if a ``condition`` does not hold."""
        self.failures.append(failure)
        self.statements.add(Check(condition, len(self.failures), value))

    def _value(self, expression: DimLike) -> Scalar:
        """Returns an expression over loop indices and data as an int64 scalar."""
        if not self._data.in_expression(expression):
            return self.statements.index(expression)
        return evaluated(expression, self._data.scalars, self.statements)


# -- coordinates that are data -------------------------------------------------------------------------------------


class Integer:
    """An int64 scalar with the operators that evaluate polynomials."""

    def __init__(self, scalar: Scalar, s: Any) -> None:
        self.scalar, self._s = scalar, s

    def __add__(self, other: Integer | int) -> Integer:
        return self if isinstance(other, int) and other == 0 else self.operated("add", other)

    def __mul__(self, other: Integer | int) -> Integer:
        return self if isinstance(other, int) and other == 1 else self.operated("multiply", other)

    __radd__, __rmul__ = __add__, __mul__

    def __pow__(self, exponent: int) -> Integer:
        power = self
        for _ in range(exponent - 1):
            power = power * self
        return power

    def operated(self, function: str, other: Integer | int) -> Integer:
        """Applies a function of two integers."""
        right = other.scalar if isinstance(other, Integer) else Literal(other, int64)
        return Integer(getattr(self._s, function)(self.scalar, right), self._s)


def evaluated(expression: DimLike, data: Mapping[str, Scalar], statements: Statements) -> Scalar:
    """Evaluates an ``expression``, in which some indices are scalars, as statements. Dividing by 0 gives 0.

    >>> statements = Statements()
    >>> _ = evaluated(index(1000) // 4 + index(0), {"%1000": Variable(int64)}, statements)
    >>> [getattr(entry, "function", "index") for entry in statements.list]
    ['index', 'floordivide', 'add']
    """
    if not isinstance(expression, Dim):
        return Literal(expression, int64)
    s = KernelScalars(statements)
    known = {str(symbol): symbol for symbol in declared_symbols(expression)}
    values = {name: Integer(data[name] if name in data else statements.index(known[name]), s) for name in sorted(known)}

    def operation(function: str) -> Any:
        def operate(left: Integer | int, right: Integer | int) -> Integer:
            first = left if isinstance(left, Integer) else Integer(Literal(left, int64), s)
            return first.operated(function, right)
        return operate

    total = evaluate_with(expression, values, *map(operation, ("floordivide", "modulo", "minimum", "maximum")))
    return total.scalar if isinstance(total, Integer) else Literal(total, int64)
