"""A Function: parameters in, results out, new values for variables, and effects in their order.

It is the unit that passes transform and transformers compile. Inside it is pure; all contact with the outside happens
at its border.

>>> import nervure as nv
>>> a, b, c = (nv.Parameter(nv.float32, (32, 32)) for _ in range(3))
>>> f = Function([nv.ops.Multiply(nv.ops.Add(a, b), c)], [a, b, c])
>>> len(f.operations), str(f.results[0].type)
(5, 'f32[32, 32]')
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from nervure.errors import InternalError, InvalidArgument, WrongKind, did_you_mean, shown
from nervure.ir import field
from nervure.ir.identity import Uncopyable
from nervure.ir.leaves import Parameter, ReadVariable
from nervure.ir.names import find_operation
from nervure.ir.notation import ReadingContext
from nervure.ir.op import Op, Operand, Value, as_value, dimensions_of
from nervure.ir.printer import print_function
from nervure.ir.provenance import INSIDE
from nervure.ir.scanner import Scanner
from nervure.ir.traverse import Transform, postorder, rebuild
from nervure.ir.variable import Variable
from nervure.ir.whole_op import FoundLength, WholeOp, fresh_lengths, numbered_lengths, rebuild_with
from nervure.types.dim import Dim, DimLike, substitute, symbols
from nervure.types.frozen import Frozen, put, refuse_setting

T = TypeVar("T")


class Assumption(NamedTuple):
    """Two dimensions that must be equal in every call, with the op that assumes it and the user's line. A ``reason``
    says what is wrong with a call in which they differ, where the equation alone does not.
    """

    left: DimLike
    right: DimLike
    op: str
    location: object
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.left} = {self.right}"

    def __setattr__(self, name: str, value: object) -> None:
        refuse_setting(self, name, value)


class Function(Uncopyable, Frozen):
    """Parameters, results, updates (variable, new value), effects (ops in the order in which they happen).

    Effectful ops that the results need and ``effects`` does not list follow in the order of the graph. Every parameter
    below the results must be listed, once.

    >>> x = nv.Parameter(nv.float32, (2,))
    >>> double = nv.Function([nv.ops.Add(x, x)], [x], name="double")
    >>> double.name, len(double.operations), double.results[0].type.shape
    ('double', 2, (2,))
    """

    __slots__ = ("parameters", "results", "updates", "effects", "assumptions", "name", "operations", "__weakref__")
    _plural = "functions"
    _instead = "build a new one: Function(results, parameters, updates, effects), or function.rebuilt(...)"
    parameters: tuple[Parameter, ...]
    results: tuple[Value, ...]
    updates: tuple[tuple[Variable, Value], ...]
    effects: tuple[Op, ...]
    assumptions: tuple[Assumption, ...]
    name: str
    operations: tuple[Op, ...]

    def __init__(self, results: Iterable[Operand], parameters: Iterable[Operand] = (),
                 updates: Mapping[Variable, Operand] | Iterable[tuple[Variable, Operand]] = (),
                 effects: Iterable[Op] = (), assumptions: Iterable[Assumption] = (), name: str = "function") -> None:
        put(self, "name", name)
        put(self, "results", tuple([as_value(result, "Function", at + 1)
                                    for at, result in enumerate(_several(results))]))
        put(self, "parameters", tuple([_parameter(entry) for entry in _several(parameters)]))
        pairs = updates.items() if isinstance(updates, Mapping) else _several(updates)
        put(self, "updates", tuple([_update(entry) for entry in pairs]))
        listed = tuple([_effect(entry) for entry in _several(effects)])
        operations = self._ordered(listed)
        known = set(listed)
        unlisted = tuple([op for op in operations if is_effect(op) and op not in known])
        if unlisted:  # they count as listed, since a function's text lists all effects
            operations = self._ordered(listed + unlisted)
        put(self, "effects", listed + unlisted)
        _check_found(self.effects)
        put(self, "operations", operations)
        put(self, "assumptions", _unique([*map(_assumption, _several(assumptions)), *_assumed(operations)]))
        _check_parameters(self)
        _check_updates(self)

    def _ordered(self, effects: Iterable[Op]) -> tuple[Op, ...]:
        return tuple(postorder([*self.parameters, *effects, *[value for _, value in self.updates], *self.results]))

    @property
    def symbols(self) -> frozenset[str]:
        """The names of all symbols in the shapes of parameters."""
        names = [symbols(entry) for op in self.parameters for entry in op.value.type.shape if isinstance(entry, Dim)]
        return frozenset().union(*names)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that are read or updated, in the order of the graph."""
        read = [op.variable for op in self.operations if type(op) is ReadVariable]
        return tuple(dict.fromkeys([*read, *[variable for variable, _ in self.updates]]))

    def dimensions(self) -> Iterator[DimLike]:
        """Yields the dimensions of all values, attributes and assumptions."""
        for op in self.operations:
            yield from dimensions_of(op)
        for assumption in self.assumptions:
            yield from (assumption.left, assumption.right)

    @property
    def roots(self) -> tuple[Value, ...]:
        """The values that a function gives: results, then new values of variables."""
        return (*self.results, *[value for _, value in self.updates])

    def rebuilt(self, transform: Transform | None = None,
                replaced: dict[Value, Value] | None = None) -> Function:
        """Returns this function with each op replaced by the result of ``transform`` (None: kept); itself if nothing
        changed.
        """
        table = rebuild(self.operations, {} if replaced is None else replaced, transform)
        return self.substituted(table)

    def substituted(self, table: Mapping[Value, Value], effects: Iterable[Op] | None = None) -> Function:
        """Returns this function with values replaced as in ``table``; itself if that changes nothing.

        Its effects follow from the table, too, unless others are given.
        """
        if not table and effects is None:
            return self
        get = table.get
        results = [get(value, value) for value in self.results]
        updates = [(variable, get(value, value)) for variable, value in self.updates]
        if effects is None:
            effects = dict.fromkeys([moved(op, table) for op in self.effects])
        return Function(results, self.parameters, updates, effects, self.assumptions, self.name)

    def __call__(self, *operands: Operand) -> tuple[Value, ...]:
        """Returns the results as an expression over values in place of the parameters (inlining, not running)."""
        if len(operands) != len(self.parameters):
            raise InvalidArgument("wrong number of operands", op=self.name, got=len(operands),
                                  expected=len(self.parameters), help="give a value for each parameter")
        table = {op.outputs[0]: as_value(new) for op, new in zip(self.parameters, operands, strict=True)}
        rebuild_with([op for op in self.operations if type(op) is not Parameter], table, fresh_lengths(self.effects))
        return tuple([table.get(value, value) for value in self.results])

    def numbered(self) -> Function:
        """Returns this function with the lengths that its ops find numbered from 0, so that equal graphs are equal."""
        return self.renamed(numbered_lengths(self.effects))

    def renamed(self, names: Mapping[str, DimLike]) -> Function:
        """Returns this function with other symbols in place of those of these ``names``; itself if it has none."""
        if not names or all([str(symbol) == name for name, symbol in names.items()]) or names.keys().isdisjoint(
                [name for length in self.dimensions() for name in symbols(length)]):
            return self
        table: dict[Value, Value] = {}
        rebuild_with(self.operations, table, names)
        parameters = [table.get(op.outputs[0], op.outputs[0]) for op in self.parameters]
        results = [table.get(value, value) for value in self.results]
        updates = [(variable, table.get(value, value)) for variable, value in self.updates]
        assumptions = [entry._replace(left=substitute(entry.left, names), right=substitute(entry.right, names))
                       for entry in self.assumptions]
        return Function(results, parameters, updates, [moved(op, table) for op in self.effects], assumptions,
                        self.name)

    def find_by_name(self, name: str) -> Op:
        """Returns the op that the function's text calls ``%name``: a label is made unique there (``logits``,
        ``logits_1``).
        """
        found = find_operation(self, name) if isinstance(name, str) else None
        if found is None:
            known = [op.name for op in self.operations if op.name is not None]
            raise InvalidArgument(f"no op is named {name!r:.60}", op=self.name, got=f"{name!r:.60}",
                                  expected=", ".join(known[:8]) or "a label, given by x.named(...)",
                                  help=did_you_mean(str(name), known) or "print(function) shows all names")
        return found

    def __str__(self) -> str:
        return print_function(self, elide=True)

    def __repr__(self) -> str:
        parameters = ", ".join(str(op.value.type) for op in self.parameters)
        results = ", ".join(str(value.type) for value in self.results)
        return f"Function {self.name}({parameters}) -> ({results}), {len(self.operations)} ops"


_exact = field.exact(Function)
function_attribute = field.FieldKind(
    "function", "a Function", "nv.Function([result], [parameter])", _exact,
    lambda value, writer: writer.function(value), lambda line, reader: _parse_function(line, reader), key=id,
    dimensions=lambda value: value.dimensions(), substitute=lambda value, names: value.renamed(names))
"""The kind of attribute that is a function; called, it declares a field, as the kinds of ``nervure.ir.field`` do."""

function_attributes: field.FieldKind[tuple[Function, ...]] = field.several(
    function_attribute, "functions", "Functions", "(nv.Function([result], [parameter]),)")
"""The kind of attribute that is several functions."""


def _parse_function(line: Scanner, reader: ReadingContext) -> Function:
    line.expect("@")
    return _exact(reader.function(line, line.name("the name of a function")))


def is_effect(op: Op) -> bool:
    """Whether an op has an effect, so that it is neither dropped nor merged nor reordered."""
    return bool(getattr(op, "effectful", False))


def _several(entries: Iterable[T]) -> Sequence[T]:
    if isinstance(entries, Operand):
        raise WrongKind("results and parameters are lists", op="Function", got=type(entries).__name__,
                        expected="a list of values", help="write Function([result], [parameter])")
    try:
        return list(entries)
    except TypeError:
        raise WrongKind("results, parameters and effects are lists", op="Function",
                        got=shown(entries),
                        expected="a list", help="write Function([result], [parameter])") from None


def _assumption(entry: object) -> Assumption:
    if not isinstance(entry, Assumption):
        raise WrongKind("an assumption says which dimensions are equal", op="Function", operand="assumptions",
                        got=f"{entry!r:.60}", expected="Assumption(left, right, op, location)",
                        help="ops.AssumeShape makes the assumptions of a graph")
    return entry


def _effect(entry: object) -> Op:
    if not isinstance(entry, Op):
        raise WrongKind("an effect is an op", op="Function", operand="effects", got=type(entry).__name__,
                        expected="Op",
                        help="ops.PrintOp, ops.Guard and ops.HostCall are effects")
    if not is_effect(entry):
        raise InvalidArgument("an op is listed among the effects but has none", op="Function", operand="effects",
                              got=entry, expected="ops.PrintOp, ops.Guard or an effectful ops.HostCall",
                              location=entry.location, help="list its value among the results")
    return entry


def _update(entry: Iterable[object]) -> tuple[Variable, Value]:
    try:
        variable, value = entry
    except (TypeError, ValueError):
        variable = value = None
    if not isinstance(variable, Variable):
        raise WrongKind("an update is a pair (variable, new value)", op="Function", operand="updates",
                        got=f"{entry!r:.60}",
                        expected="(Variable, Value)", help="write Function(results, parameters, [(variable, value)])")
    return variable, as_value(value, "Function")


def _parameter(entry: object) -> Parameter:
    op = entry.op if isinstance(entry, Value) else entry
    if not isinstance(op, Parameter):
        raise WrongKind("a parameter must be a Parameter op", op="Function", got=type(entry).__name__,
                        expected="Parameter",
                        help="nv.Parameter(dtype, shape) makes one; nv.computation takes placeholders")
    return op


def moved(op: Op, table: Mapping[Value, Value]) -> Op:
    """Returns the op that stands for an effect after a rewrite: found through its outputs, or by rebuilding it.

    A rewrite may have put other ops in the place of some outputs, but not of all.
    """
    replaced = [table[output].op for output in op.outputs if output in table]
    if not replaced:
        return op.with_operands([table.get(value, value) for value in op.operands])
    found = next(filter(is_effect, replaced), None)
    if found is None:
        raise InternalError(f"an effect has been replaced by {replaced[0]!r}, which has none: {op!r} at {op.location}")
    return found


def _assumed(operations: Iterable[Op]) -> list[Assumption]:
    found: list[Assumption] = []
    for op in operations:
        if hasattr(op, "assumptions"):
            found.extend(op.assumptions())
    return found


def _unique(assumptions: Iterable[Assumption]) -> tuple[Assumption, ...]:
    """Returns the first assumption of each pair of dimensions."""
    table: dict[tuple[DimLike, DimLike], Assumption] = {}
    for entry in assumptions:
        table.setdefault((entry.left, entry.right), entry)
    return tuple(table.values())


def _check_parameters(function: Function) -> None:
    listed: set[Op] = set()
    for position, parameter in enumerate(function.parameters):
        if parameter in listed:
            raise InvalidArgument("a parameter is listed twice", op="Function", operand=position + 1, got=parameter,
                                  location=parameter.location, help="list each Parameter once",
                                  expected="each parameter once")
        listed.add(parameter)
    for op in function.operations:
        if type(op) is Parameter and op not in listed and (inside := op.provenance.metadata.get(INSIDE)):
            raise InvalidArgument(f"a tensor from inside of {inside} is used outside", op="Function", got=op,
                                  operand=op.name, location=op.location,
                                  help="return it from that function, and use what comes out of the loop or branch",
                                  expected="tensors that have a value here")
        if type(op) is Parameter and op not in listed:
            raise InvalidArgument("a parameter is needed by the results but not listed", op="Function", got=op,
                                  operand=op.name, location=op.location, help="add it to the list of parameters",
                                  expected="every parameter below the results")


def _check_found(effects: Iterable[Op]) -> None:
    """Raises InvalidArgument if two ops find one length, unless they do the same."""
    known: dict[str, FoundLength] = {}
    for op in effects:
        for length in op.found if isinstance(op, WholeOp) else ():
            first = known.setdefault(length.name, length)
            if not _are_alike(first.value.op, op):
                raise op.fail(InvalidArgument, "two ops of a function find one length", operand="length",
                              got=length.name, expected="a symbol of its own for each",
                              help="a mask that is assigned between two uses of it is another mask: take its value "
                                   "once, m = nv.value_of(mask)")


def _are_alike(left: Op, right: Op) -> bool:
    """Whether two ops do the same with one value, or with what one op each, or a chain of them, makes of one value."""
    while left is not right:
        if type(left) is not type(right) or not len(left.operands) == len(right.operands) == 1 or not all([
                declared.kind.same(getattr(left, name), getattr(right, name))
                for name, declared in type(left).fields.items()]):
            return False
        (mine,), (theirs,) = left.operands, right.operands
        left, right = mine.op, theirs.op
    return True


def _check_updates(function: Function) -> None:
    seen: set[Variable] = set()
    for variable, value in function.updates:
        if variable in seen:
            raise InvalidArgument("a variable is updated twice", op="Function", operand=variable.name,
                                  got="two updates", expected="one new value",
                                  help="combine them into one value")
        seen.add(variable)
        if value.type.mismatch(variable.type):
            raise InvalidArgument("an update must have the variable's type", op="Function", operand=variable.name,
                                  got=value.type, expected=variable.type,
                                  help="insert ops.Convert, or a reshape")
