"""Functions as text: one op a line, its type on the left, attributes by name. :mod:`nervure.ir.parser` is the inverse.

>>> import nervure as nv
>>> from nervure.ir.function import Function
>>> a, b = nv.ops.Parameter(nv.float32, (2, 3)), nv.ops.Parameter(nv.float32, (2, 3))
>>> a.name = "a"
>>> f = Function([nv.ops.Add(nv.ops.Multiply(a, b), nv.ops.Full(0.5, nv.float32, (2, 3)))], [a, b], name="f")
>>> print(print_function(f), end="")
nervure 1
function f(%a: f32[2, 3], %0: f32[2, 3]) {
  f32[2, 3] %1 = Multiply(%a, %0)
  f32[2, 3] %2 = Full(number=0x1.0p-1, dtype=f32, shape=(2, 3))
  f32[2, 3] %3 = Add(%1, %2)
  return %3
}

``%`` marks values, ``$`` variables, ``@`` objects defined elsewhere: functions that an op holds, which precede it, and
arrays that are stored beside the text. A name is the op's label, made unique; other ops are numbered. The memory of a
variable that is not row-major has an order, as in ``variable $w: f32[2, 3] order (1, 0) trainable``: its dimensions
from the slowest to the fastest.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from nervure.ir.leaves import Parameter
from nervure.ir.names import Names, operation_names
from nervure.ir.notation import array_text, dim_text, type_text
from nervure.ir.op import Op, Value
from nervure.ir.provenance import Provenance
from nervure.ir.scanner import name_text
from nervure.ir.variable import Variable
from nervure.types.description import Labels
from nervure.types.dim import Dim, DimLike, declaration, declared_symbols

if TYPE_CHECKING:
    from nervure.ir.function import Function

FORMAT = 1
INLINE = 16  # most elements of an array that is written inline even if a table takes arrays


def print_function(function: Function, *, arrays: dict[str, np.ndarray] | None = None,
                   variables: dict[str, Variable] | None = None, locations: bool = False, elide: bool = False) -> str:
    """Returns the text of a function and of all functions in it, the same for the same function each time.

    Arrays of more than 16 elements go to the table ``arrays``, if given, and leave their name in the text; with
    ``elide`` their elements are left out (for people: such text cannot be parsed). The table ``variables`` receives
    the variables by their names in the text. ``locations`` adds the line and name scope of each op as a comment, which
    is read back, too.
    """
    table = _ArrayTable(arrays) if arrays is not None else None
    long_array = table.reference if table is not None else _elided if elide else None
    return "".join([line + "\n" for line in Printer(function, long_array, variables, locations).lines()])


class Printer:
    """The state of printing a function: the names given so far, and the symbols and variables that the header
    declares.

    ``long_array`` writes arrays of more than ``INLINE`` elements; without it all are written out. ``anonymous`` leaves
    out everything without a meaning: names and labels.
    """

    def __init__(self, function: Function, long_array: Callable[[np.ndarray], str] | None = None,
                 variables: dict[str, Variable] | None = None, locations: bool = False,
                 anonymous: bool = False) -> None:
        self.functions = nested_functions(function)
        self.long_array, self.locations, self.anonymous = long_array, locations, anonymous
        self.variables = {} if variables is None else variables
        self.symbols: dict[str, Dim] = {}
        self._dims: dict[int, str] = {}  # by identity: equal dimensions may know different bounds
        self._types: dict[tuple[int, Labels | None], str] = {}
        self._variable_names: dict[Variable, str] = {}
        self._variable_table = Names()
        functions = Names()
        self._function_names = {entry: functions.choose(self._label(entry.name)) for entry in self.functions}

    def lines(self) -> list[str]:
        """Returns the text, line by line."""
        body = [line for function in self.functions for line in self._function(function)]
        symbols = [f"symbol {declaration(self.symbols[name])}" for name in sorted(self.symbols)]
        variables = [self._declared(variable, name) for variable, name in self._variable_names.items()]
        return [f"nervure {FORMAT}", *symbols, *variables, *body]

    # -- for attributes -----------------------------------------------------------------------------------------

    def dim(self, x: DimLike) -> str:
        """Returns the text of a dimension. The header declares its symbols, with the tightest bounds that occur."""
        text = self._dims.get(id(x))
        if text is None:
            self._dims[id(x)] = text = str(x)
            for symbol in declared_symbols(x):
                name = str(symbol)
                if not name.startswith("%"):
                    known = self.symbols.get(name, symbol)
                    self.symbols[name] = known + symbol - symbol  # type: ignore[assignment]  # a symbol again
        return text

    def array(self, array: np.ndarray) -> str:
        """Returns the text of an array, or the reference that takes its place."""
        return array_text(array) if self.long_array is None or array.size <= INLINE else self.long_array(array)

    def variable(self, variable: Variable) -> str:
        """Returns a reference to a variable, which the header declares."""
        name = self._variable_names.get(variable)
        if name is None:
            name = self._variable_names[variable] = self._variable_table.choose(self._label(variable.name))
            self.variables[name] = variable
        return f"${name}"

    def function(self, function: Function) -> str:
        """Returns a reference to a function that an op holds."""
        return f"@{self._function_names[function]}"

    def host_function(self, function: Callable[..., object]) -> str:
        """Returns the text of a function of the host program, for people."""
        return f"<host function {getattr(function, '__name__', type(function).__name__)}>"

    # -- the parts of the text -------------------------------------------------------------------------------

    def _label(self, label: str | None) -> str | None:
        return None if self.anonymous else label

    def _type(self, value: Value) -> str:
        labels = None if self.anonymous else value.labels
        key = id(value.type), labels
        text = self._types.get(key)
        if text is None:
            text = self._types[key] = type_text(value.type, labels, self)
        return text

    def _declared(self, variable: Variable, name: str) -> str:
        kind = (" trainable" if variable.trainable else "") + ("" if variable.persistent else " scratch")
        return f"variable ${name}: {type_text(variable.type, None, self)}{kind}"

    def _function(self, function: Function) -> Iterator[str]:
        names = operation_names(function, self.anonymous)
        references = {parameter.outputs[0]: f"%{names[parameter]}" for parameter in function.parameters}
        parameters = [f"{name}: {self._type(value)}" for value, name in references.items()]
        yield f"function {self._function_names[function]}({', '.join(parameters)}) {{"
        for assumption in function.assumptions:
            by = "" if self.anonymous else f" in {name_text(assumption.op)}"
            by += f" because {json.dumps(assumption.reason)}" if by and assumption.reason else ""
            yield f"  assume {dim_text(assumption.left, self)} = {dim_text(assumption.right, self)}{by}"
        for op in function.operations:
            if type(op) is not Parameter:
                yield self._operation(op, f"%{names[op]}", references)
        for variable, value in function.updates:
            yield f"  update {self.variable(variable)}: {self._type(value)} = {references[value]}"
        for op in function.effects:
            yield f"  effect %{names[op]}"
        yield f"  return {', '.join([references[value] for value in function.results])}".rstrip()
        yield "}"

    def _operation(self, op: Op, name: str, references: dict[Value, str]) -> str:
        """Returns ``f32[2] %3 = Sum(%1, axes=(0,))``, and names the outputs in ``references``."""
        outputs = op.outputs
        if len(outputs) == 1:
            references[outputs[0]] = name
        else:
            references.update({value: f"{name}:{value.index}" for value in outputs})
        types = ", ".join([self._type(value) for value in outputs]) or "()"
        arguments = [references[operand] for operand in op.operands]
        for attribute, field in type(op).fields.items():
            arguments.append(f"{attribute}={field.format(getattr(op, attribute), self)}")
        comment = _comment(op.provenance) if self.locations else ""
        return f"  {types} {name} = {type(op).__name__}({', '.join(arguments)}){comment}"



def nested_functions(function: Function) -> list[Function]:
    """Lists the functions that ops of a function hold, and theirs in turn, each once and before its users, and last
    itself.
    """
    order: dict[Function, None] = {}
    stack = [function]
    while stack:
        top = stack[-1]
        waiting = [] if top in order else [inner for inner in _held(top) if inner not in order]
        if waiting:
            stack.extend(reversed(waiting))
            continue
        order.setdefault(stack.pop())
    return list(order)


def _held(function: Function) -> list[Function]:
    held: dict[type[Op], list[str]] = {}
    found: list[Function | None] = []
    for op in function.operations:
        cls = type(op)
        if cls not in held:
            held[cls] = [name for name, field in cls.fields.items() if field.kind.name in _HOLDING]
        for name in held[cls]:
            entry = getattr(op, name)
            found.extend(entry if isinstance(entry, tuple) else (entry,))
    return [entry for entry in found if entry is not None]


_HOLDING = ("function", "functions")
"""The kinds of fields that hold functions, by name."""


def _comment(provenance: Provenance) -> str:
    """Returns `` # model.py:12 in encoder/dense``."""
    location, scope = provenance.location, provenance.scope
    place = f" {name_text(location.file)}:{location.line}" if location else ""
    within = f" in {name_text(scope)}" if scope else ""
    return f"  #{place}{within}" if place or within else ""


def _elided(array: np.ndarray) -> str:
    return array_text(array, f"<{array.nbytes} bytes>")


class _ArrayTable:
    """Arrays beside the text, by name. An array that several constants share is stored once."""

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self.arrays = arrays
        self._names: dict[tuple[object, ...], str] = {}

    def reference(self, array: np.ndarray) -> str:
        key = array.__array_interface__["data"][0], array.dtype, array.shape, array.strides
        if key not in self._names:
            self._names[key] = name = f"c{len(self.arrays)}"
            self.arrays[name] = array
        return f"@{self._names[key]}"
