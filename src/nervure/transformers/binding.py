"""Argument binding: the arrays of a call, and the values of symbols; all is checked before anything runs.

A length that an op finds is bound to the most that it can be: memory is planned for that.

Symbols that stand alone in a shape are read off; expressions in one unknown symbol are solved for it; then
every dimension, bound and assumption is checked.

>>> import numpy as np
>>> import nervure as nv
>>> n = nv.dim("N")
>>> x = nv.Parameter(nv.float32, (2 * n + 1,))
>>> binder = Binder(nv.Function([x], [x]))
>>> binder.bind([np.zeros(7, np.float32)])[1]
{'N': 3}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.ir.function import Assumption, Function
from nervure.ir.printer import nested_functions
from nervure.ir.whole_op import found_lengths
from nervure.transformers.arguments import as_array
from nervure.transformers.memory_estimate import most
from nervure.types.dim import (
    Dim,
    DimLike,
    affine,
    bounds,
    declared_symbols,
    evaluate,
    index_symbols,
    less_equal,
    symbols,
)

Bindings = dict[str, int]

_LONGER = "pass longer arrays; nv.dim(name, min=...) says how long they are at least"


class SymbolicDimension(NamedTuple):
    """A symbolic dimension of a parameter."""

    parameter: int
    axis: int
    length: Dim


class Equation(NamedTuple):
    """The relation of a symbol to a length: length = coefficient * symbol + rest."""

    symbol: str
    place: SymbolicDimension
    coefficient: DimLike
    rest: DimLike


class Binder:
    """The checks of one Function's arguments. ``bounds`` are those of its symbols, by name; ``found`` has the most that
    each length can be that an op finds; ``unknown`` are the symbols that no argument tells.
    """

    def __init__(self, function: Function) -> None:
        self._function = function
        self._parameters = [(op.value.type.dtype, op.value.type.dtype.numpy, op.value.type.shape)
                            for op in function.parameters]
        self._places = [SymbolicDimension(number, axis, length) for number, (_, _, shape) in enumerate(self._parameters)
                        for axis, length in enumerate(shape) if isinstance(length, Dim)]
        self._equations = _equations(self._places)
        found = {name: length for held in nested_functions(function)
                 for name, length in found_lengths(held.effects).items()}
        self.found = {name: length.bound for name, length in found.items()}
        self.bounds = {name: ends for name, ends in _declared(function).items() if name not in found}
        self.unknown = self.bounds.keys() - {equation.symbol for equation in self._equations}

    def bind(self, arguments: Sequence[object]) -> tuple[list[np.ndarray], Bindings]:
        """Returns the arguments as arrays of the declared types, and the values of the symbols."""
        if len(arguments) != len(self._parameters):
            raise InvalidArgument("wrong number of arguments", op=self._function.name, got=len(arguments),
                                  expected=f"{len(self._parameters)}: {self._signature()}",
                                  help="one list or tuple stands for all arguments; a list that is itself an "
                                       "argument goes inside another")
        arrays = [value if type(value) is np.ndarray and value.dtype == wanted and value.shape == shape
                  else self.read(number, value) for number, (value, (_, wanted, shape))
                  in enumerate(zip(arguments, self._parameters, strict=True))]
        bindings = self._solved(arrays) if self._places else {}
        if self.bounds:
            self._check_known(bindings)
        for assumption in self._function.assumptions:
            self._check_assumption(assumption, bindings)
        return arrays, self.with_found(bindings) if self.found else bindings

    def with_found(self, bindings: Bindings) -> Bindings:
        """Returns the values of the symbols with those of lengths that ops find: there it is the most that each can be.
        """
        bindings = dict(bindings)
        for name, bound in self.found.items():
            bindings[name] = most((bound,), bindings)[0]
        return bindings

    def sizes(self, given: Mapping[str, int]) -> Bindings:
        """Returns values of the symbols that are given without arrays, with those of lengths that ops find. Raises an
        error for values that no call can have.
        """
        for name, (low, high) in sorted(self.bounds.items()):
            size = given.get(name)
            if not isinstance(size, (int, np.integer)) or size < low or high is not None and size > high:
                raise InvalidArgument(f"each symbol needs a size: {', '.join(sorted(self.bounds))}",
                                      op=self._function.name, operand=name, expected=f"an integer, {_span(low, high)}",
                                      got=f"{name} = {size!r}" if name in given else f"no {name}",
                                      help="give a dict of sizes by the names of the symbols, such as "
                                           f"{{{name!r}: {max(low, 8) if high is None else high}}}")
        bindings = {name: int(size) for name, size in given.items()}
        for assumption in self._function.assumptions:
            self._check_assumption(assumption, bindings)
        return self.with_found(bindings)

    def name(self, number: int) -> str:
        """Returns the text for a parameter in errors: ``2 (weights)``."""
        name = self._function.parameters[number].name
        return f"{number + 1} ({name})" if name else str(number + 1)

    def _signature(self) -> str:
        return ", ".join([f"{self.name(number)}: {op.value.type}"
                          for number, op in enumerate(self._function.parameters)])

    def read(self, number: int, value: object) -> np.ndarray:
        """Converts one argument, and checks its rank and its fixed lengths."""
        dtype = self._parameters[number][0]
        return self.checked(number, as_array(value, dtype, self._function.name, self.name(number)))

    def checked(self, number: int, array: np.ndarray) -> np.ndarray:
        """Returns an argument of its parameter's element type, once its rank and fixed lengths are checked."""
        shape = self._parameters[number][2]
        order = "the axes of an argument come in the order of its parameter's"
        if len(array.shape) != len(shape):
            raise self._mismatch("the argument has another rank than its parameter", number, array, order)
        for axis, (length, got) in enumerate(zip(shape, array.shape, strict=True)):
            if not isinstance(length, Dim) and length != got:
                raise self._mismatch(f"axis {axis} of the argument has another length than its parameter's", number,
                                     array, order)
        return array

    def _mismatch(self, message: str, number: int, array: np.ndarray, help: str | None = None) -> ShapeMismatch:
        declared = self._function.parameters[number]
        return ShapeMismatch(message, op=self._function.name, operand=self.name(number), got=tuple(array.shape),
                             expected=declared.value.type.describe(declared.value.labels), help=help)

    def _solved(self, arrays: Sequence[np.ndarray]) -> Bindings:
        """Solves for the symbols, and checks each dimension with their values."""
        bindings: Bindings = {}
        for equation in self._equations:
            number, axis, length = equation.place
            coefficient, rest = evaluate(equation.coefficient, bindings), evaluate(equation.rest, bindings)
            difference = arrays[number].shape[axis] - rest
            if coefficient == difference == 0:
                continue  # any value would do; the error for symbols without a value follows below
            if coefficient == 0 or difference % coefficient or difference // coefficient < 0:
                raise self._mismatch(f"no value of {equation.symbol} makes {length} equal {arrays[number].shape[axis]}",
                                     number, arrays[number])
            bindings[equation.symbol] = difference // coefficient
        for number, axis, length in self._places:
            if symbols(length) <= bindings.keys() and evaluate(length, bindings) != arrays[number].shape[axis]:
                known = ", ".join([f"{name} is {bindings[name]}" for name in sorted(symbols(length))])
                raise self._mismatch(f"dimension {axis} is not {length}", number, arrays[number],
                                     f"{known} by the shapes of the arguments")
        for name, (low, high) in self.bounds.items():
            if name in bindings and (bindings[name] < low or (high is not None and bindings[name] > high)):
                raise self._out_of_bounds(name, bindings[name], _span(low, high))
        return bindings

    def _out_of_bounds(self, name: str, value: int, expected: str) -> InvalidArgument:
        place = next(equation.place for equation in self._equations if equation.symbol == name)
        return InvalidArgument(f"{name} is out of its bounds", op=self._function.name,
                               operand=self.name(place.parameter), got=f"{name} = {value}", expected=expected,
                               help="pass arrays of such a length, or declare other bounds: nv.dim(name, min=, max=)")

    def _check_known(self, bindings: Bindings) -> None:
        for name in sorted(self.bounds):
            if name not in bindings and name.startswith("?"):
                raise InvalidArgument("a length is used that no op of the computation finds", op=self._function.name,
                                      operand=name, got=self._signature() or "no parameters",
                                      expected=f"the op that finds {name}",
                                      help="use the length while the tensor that has it exists: y = x[x > 0]; "
                                           "nv.ones(y.shape)")
            if name not in bindings:
                raise InvalidArgument(f"the symbol {name} has no value", op=self._function.name, operand=name,
                                      expected=f"a parameter whose shape determines {name}",
                                      got=self._signature() or "no parameters",
                                      help=f"list a placeholder with a length of {name} among the parameters")

    def _check_assumption(self, assumption: Assumption, bindings: Bindings) -> None:
        left, right = evaluate(assumption.left, bindings), evaluate(assumption.right, bindings)
        if left != right and assumption.reason:
            raise ShapeMismatch(assumption.reason, op=assumption.op, location=assumption.location,
                                got=f"{assumption.left} is {left}, {assumption.right} is {right}",
                                expected=f"lengths for which {assumption} holds",
                                help="pass arrays of such lengths; what they are given to was made for these alone")
        if right < 0:
            raise ShapeMismatch(f"a length would be negative in this call: {assumption.right}", op=assumption.op,
                                got=f"{assumption.right} is {right}", location=assumption.location,
                                expected=f"at least {left}, as this op needs", help=_LONGER)
        is_a_bound = not isinstance(assumption.right, int) and less_equal(assumption.right, assumption.left) is True
        if left != right and is_a_bound:
            raise ShapeMismatch(f"{assumption.right} is too small in this call", op=assumption.op,
                                got=f"{assumption.right} is {right}", location=assumption.location,
                                expected=f"at least {left}, as this op needs",
                                help=_LONGER)
        if left != right:
            raise ShapeMismatch(f"{assumption} does not hold in this call", op=assumption.op,
                                got=f"{assumption.left} is {left}, {assumption.right} is {right}",
                                location=assumption.location,
                                expected="equal lengths, as this op needs",
                                help="pass arrays whose lengths agree; one symbol for both says so from the start")


def _span(low: int, high: int | None) -> str:
    return f"at least {low}" if high is None else f"{low} to {high}"


def _equations(places: Sequence[SymbolicDimension]) -> list[Equation]:
    """Returns an equation for each symbol that can be determined: symbols alone first, then lengths with one unknown
    left.
    """
    known: dict[str, Equation] = {}
    for place in places:
        if str(place.length) in symbols(place.length):
            known.setdefault(str(place.length), Equation(str(place.length), place, 1, 0))
    progress = True
    while progress:
        progress = False
        for place in places:
            unknown = symbols(place.length) - known.keys()
            if len(unknown) != 1:
                continue
            symbol, = unknown
            parts = affine(place.length, [symbol])
            if parts is not None:
                known[symbol] = Equation(symbol, place, parts[0][symbol], parts[1])
                progress = True
    return list(known.values())


def _declared(function: Function) -> dict[str, tuple[int, int | None]]:
    """Returns the symbols of a function, each with the tightest bounds that any of its dimensions knows."""
    known: dict[str, DimLike] = {}
    for x in {id(x): x for x in function.dimensions() if isinstance(x, Dim)}.values():
        for symbol in declared_symbols(x):
            name = str(symbol)
            if name not in index_symbols(symbol):
                known[name] = known.get(name, symbol) + symbol - symbol
    found = {name: bounds(symbol) for name, symbol in known.items()}
    return {name: (max(low or 0, 0), high) for name, (low, high) in found.items()}
