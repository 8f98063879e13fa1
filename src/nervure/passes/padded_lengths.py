"""Longer arrays in place of those of a call: a function that a compiler makes for one length serves all shorter ones.

``padded_lengths`` makes a function that may run with a larger number for a symbol than it has in a call. The arguments
are longer then, and parameters behind the others say what the symbol really is. Where all indices are those of the
call, all values are, too; what lies behind them may be anything, and is cut off the results. Most ops keep that as they
are. Ops that combine elements along such a length get the unit of what they combine in place of the elements behind it.

>>> import nervure as nv
>>> n = nv.dim("n", min=1)
>>> x = nv.Parameter(nv.float32, (n,))
>>> longer = padded_lengths(nv.Function([nv.ops.Max(x, [0])], [x]), ["n"])
>>> import numpy as np
>>> with nv.transformers.make_transformer("interpreter") as interpreter:
...     interpreter.compile(longer)(np.float32([-3, -2, 7]), np.int64(2))[0].item()
-2.0

An op that reads other places, the more of them the longer the array, such as a reversal, is a NotSupported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Never

from nervure.errors import NotSupported
from nervure.ir.function import Function, moved
from nervure.ir.kinds import (
    Element,
    Elementwise,
    Structure,
    Structured,
    View,
    coordinate_symbols,
    identity_body,
    multiply_body,
)
from nervure.ir.leaves import Leaf, Parameter
from nervure.ir.notation import Number
from nervure.ir.op import Op, Value, as_value, dimensions_of
from nervure.ir.traverse import rebuild
from nervure.ops.arithmetic import FloorDivide, Mod
from nervure.ops.comparison import Less, LogicalAnd
from nervure.ops.conversion import converted
from nervure.ops.cumulative import Cumulative
from nervure.ops.effects import Guard
from nervure.ops.embedding import OneHot
from nervure.ops.iota import Iota
from nervure.ops.random import RandomBlocks
from nervure.ops.reductions import ArgMax, Position
from nervure.ops.selection import Maximum, Minimum, Where
from nervure.ops.statistics import Extent
from nervure.ops.views import AssumeShape, Broadcast
from nervure.types.dim import Dim, DimLike, dim, evaluate_with, index, less_equal, substitute, symbols
from nervure.types.dtype import int64
from nervure.types.view import SimpleView


def padded_lengths(function: Function, names: Iterable[str]) -> Function:
    """Returns a function that may run with larger numbers for the symbols ``names``, whose own numbers are the last
    parameters, int64 each. Raises NotSupported for an op whose result would be another one.
    """
    work = _Padding(frozenset(names))
    for assumption in function.assumptions:
        if not work.names.isdisjoint([*symbols(assumption.left), *symbols(assumption.right)]):
            raise NotSupported("pad_to= changes one of two lengths that belong together", op=function.name,
                               operand="pad_to", got=str(assumption), expected="a length that stands for itself",
                               help=_HELP)
    table = rebuild(function.operations, {}, work.replacement)
    effects = [work.guarded(moved(op, table)) for op in function.effects]
    return Function([table.get(value, value) for value in function.results],
                    [*function.parameters, *work.numbers.values()],
                    [(variable, table.get(value, value)) for variable, value in function.updates], effects,
                    function.assumptions, function.name)


_HELP = "leave this length out of pad_to=: there is a program for each length then"


class _Padding:
    """The work of one pass. ``numbers`` has the parameter for the number of each of the symbols ``names``."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        self.numbers = {name: Parameter(int64, ()) for name in sorted(names)}
        self._masks: dict[tuple[DimLike, ...], Value] = {}

    def replacement(self, op: Op) -> Sequence[Value] | None:
        """Returns what stands for an op that has the padded lengths; None for the op itself."""
        if isinstance(op, Extent) and self._has(op.length):
            return Broadcast(converted(self._number(op.length), op.dtype), op.shape, range(len(op.shape))).outputs
        if not any([self._has(length) for length in self._lengths(op)]):
            return None
        if isinstance(op, (Leaf, Elementwise, Guard)):
            return None
        if isinstance(op, Cumulative):
            return None if not (op.reverse and self._has(op.operands[0].shape[op.axis])) else self._refuse(op)
        if isinstance(op, View) and not isinstance(op, AssumeShape):
            return None if self._keeps_places(op) else self._refuse(op)
        if isinstance(op, Structured):
            return self._structured(op, op.structure(*[operand.type for operand in op.operands]))
        return self._refuse(op)

    def guarded(self, op: Op) -> Op:
        """Returns an effect whose conditions count where the call has elements."""
        return op.with_operands([self._masked(op.operands[0], True)]) if isinstance(op, Guard) else op

    def _has(self, length: DimLike) -> bool:
        return isinstance(length, Dim) and not self.names.isdisjoint(symbols(length))

    @staticmethod
    def _lengths(op: Op) -> list[DimLike]:
        types = [value.type for value in (*op.operands, *op.outputs)]
        return [*dimensions_of(op), *[length for type in types for length in type.shape]]

    def _refuse(self, op: Op) -> Never:
        raise op.fail(NotSupported, f"pad_to= would change what {type(op).__name__} reads", operand="pad_to",
                      got=f"padding of {', '.join(sorted(self.names))}", help=_HELP,
                      expected="ops in which an element, or a sum, does not depend on how long the array is")

    # -- ops that move elements ----------------------------------------------------------------------------------

    def _keeps_places(self, view: View) -> bool:
        """Whether each element of a view comes from one place, however long the arrays are."""
        if isinstance(view.view, SimpleView):
            return not any([self._has(entry) for entry in view.view.index_map.coordinates])
        places: list[DimLike] = []
        for piece in view.view.pieces:
            places += [*piece.starts, *(piece.index_map.coordinates if piece.index_map is not None else ())]
        return not any([self._has(place) for place in places])

    # -- ops that combine elements -------------------------------------------------------------------------------

    def _structured(self, op: Structured, structure: Structure) -> Sequence[Value] | None:
        accesses = [access for access in (*structure.reads, *structure.writes) if access is not None]
        if not self._is_known(op, structure) or any([self._moves(entry) for access in accesses
                                                     for entry in access.coordinates]):
            self._refuse(op)
        operands = list(op.operands)
        for entry in [entry for access in accesses for entry in access.coordinates if isinstance(entry, Element)]:
            operands[entry.operand] = self._masked(operands[entry.operand], 0)
        kept = {entry for access in structure.writes for entry in access.coordinates if isinstance(entry, Dim)}
        for number, access in enumerate(structure.reads):
            if access is not None and access.fill is not None:
                operands[number] = self._masked(operands[number], access.fill)
        combined = [d for d, length in enumerate(structure.domain) if self._has(length) and index(d) not in kept]
        if combined:
            self._check_elements(op, structure, combined)
            unit = self._unit(op, structure)
            for number, access in enumerate(structure.reads):
                if access is not None and any([index(d) in access.coordinates for d in combined]):
                    operands[number] = self._masked(operands[number], unit)
            read = [entry for access in structure.reads if access is not None for entry in access.coordinates]
            if not all([index(d) in read for d in combined]):
                self._refuse(op)
        return op.with_operands(operands).outputs if operands != list(op.operands) else None

    def _is_known(self, op: Structured, structure: Structure) -> bool:
        """Whether the body of an op knows nothing of the padded lengths."""
        if isinstance(op, Iota):
            return op.axis is not None or not any([self._has(length) for length in op.shape[1:]])
        if isinstance(op, Position):
            return not any([self._has(op.operands[0].shape[axis]) for axis in op.axes[1:]])
        return len(op.outputs) == 1 and structure.body in (identity_body, multiply_body) or isinstance(
            op, (OneHot, RandomBlocks))

    def _moves(self, coordinate: DimLike | Element) -> bool:
        """Whether a coordinate depends on a padded length, or is data that are checked against one."""
        if isinstance(coordinate, Element):
            return self._has(coordinate.bound) or not self.names.isdisjoint(coordinate_symbols(coordinate))
        return self._has(coordinate)

    def _check_elements(self, op: Structured, structure: Structure, combined: Sequence[int]) -> None:
        """Refuses an op that needs elements where a symbol that is not 0 may leave it none."""
        positive: dict[str, DimLike] = {name: dim(name, min=1) for name in self.names}
        if structure.needs_elements and not all([
                less_equal(1, substitute(structure.domain[d], positive)) is True for d in combined]):
            self._refuse(op)

    def _unit(self, op: Structured, structure: Structure) -> bool | int | float:
        """Returns the number that changes nothing where elements are combined."""
        dtype = op.operands[0].dtype
        if isinstance(op, Position):
            return dtype.extremes[0 if isinstance(op, ArgMax) else 1]
        if structure.body is multiply_body:
            return 0 if structure.combine == "add" else self._refuse(op)
        units = {"add": 0, "multiply": 1, "and": True, "or": False}
        if structure.combine in ("maximum", "minimum"):
            return dtype.extremes[0 if structure.combine == "maximum" else 1]
        return units[structure.combine] if structure.combine in units else self._refuse(op)

    # -- masks ---------------------------------------------------------------------------------------------------

    def _masked(self, value: Value, filling: Number) -> Value:
        """Returns a value with ``filling`` wherever the call has no element."""
        if not any([self._has(length) for length in value.shape]):
            return value
        if value.shape not in self._masks:
            self._masks[value.shape] = self._mask(value.shape)
        return Where(self._masks[value.shape], value, value.full(filling)).output

    def _mask(self, shape: tuple[DimLike, ...]) -> Value:
        inside: Value | None = None
        for d, length in enumerate(shape):
            if self._has(length):
                number = Broadcast(self._number(length), shape, tuple(range(len(shape)))).output
                condition = Less(Iota(shape, d, int64), number).output
                inside = condition if inside is None else LogicalAnd(inside, condition).output
        assert inside is not None
        return inside

    def _number(self, length: DimLike) -> Value:
        """Returns what a length is in the call, as an int64."""
        values = {name: self.numbers[name].output if name in self.numbers else Extent(dim(name), int64, ()).output
                  for name in symbols(length)}
        return as_value(evaluate_with(length, values, _by(FloorDivide), _by(Mod), _by(Minimum), _by(Maximum)))


def _by(op: type[Op]) -> Callable[[Any, Any], Value]:
    """Returns an op as an operation of lengths, of which one may be a number."""
    def operate(left: Value | int, right: Value | int) -> Value:
        known = left if isinstance(left, Value) else right
        assert isinstance(known, Value)
        return op(*[known.full(each) if isinstance(each, int) else each for each in (left, right)]).outputs[0]
    return operate
