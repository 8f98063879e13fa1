"""A parser for the body of one function, a statement a line; :mod:`nervure.ir.parser` reads the text around it.

A statement is an op, ``assume N = M in Add because "a reason"``, ``update $w: f32[2] = %3``, ``effect %4`` or
``return %3, %5:1``. An op has its types, its name, its class with operands and attributes, and perhaps a comment that
says where it was built:

>>> from nervure import ops
>>> from nervure.ir.parser import parse_function
>>> f = parse_function('''nervure 1
... function turn(%x: f32[2, 3]) {
...   f32[3, 2] %1 = Permute(%x, order=(1, 0))  # model.py:7 in encoder
...   return %1
... }
... ''')
>>> turned = f.results[0].op
>>> turned.order, str(turned.location)
((1, 0), 'model.py:7')
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from nervure.errors import FormatError, Location, NervureError, did_you_mean
from nervure.ir.device import metadata_of_devices
from nervure.ir.function import Assumption, Function, is_effect
from nervure.ir.leaves import Parameter
from nervure.ir.notation import ReadingContext, parse_type
from nervure.ir.op import Op, Value, registry
from nervure.ir.provenance import Provenance, set_override
from nervure.ir.scanner import NAME, QUOTED_PATTERN, REFERENCE, Scanner, token
from nervure.ir.variable import Variable
from nervure.types.description import BasicTensorDescription, Labels
from nervure.types.dim import same_lengths

_TYPE = rf'[a-z]\w*\[(?:[^\]"]|{QUOTED_PATTERN})*+\]'
_TYPES = token(rf"\(\)|{_TYPE}(?: *, *{_TYPE})*+")
_RESULT = re.compile(NAME.pattern.replace(" *(", " *%(", 1) + " *=", re.ASCII)
_CLASS = re.compile(r" *([A-Za-z_]\w*) *\(", re.ASCII)
_OPERATION = re.compile(_TYPES.pattern + _RESULT.pattern + _CLASS.pattern, re.ASCII)
_OPERAND = re.compile(REFERENCE.pattern + r" *(,?)", re.ASCII)
_FIELD = re.compile(r" *([A-Za-z_]\w*) *=", re.ASCII)
_KEYWORD = token(r"(?:assume|update|effect|return)\b")
_COMMENT = re.compile(rf'# *(?:(?P<file>[\w./-]+|{QUOTED_PATTERN}):(?P<line>[0-9]{{1,9}}))? *'
                      rf'(?:in (?P<scope>[\w./-]+|{QUOTED_PATTERN}))? *', re.ASCII)
_CACHED = 200  # characters of attributes that are cached with their values
_SUGGESTED = 500  # number of names among which a misspelt one is looked for

Types = tuple[tuple[BasicTensorDescription, "Labels | None"], ...]


class Surroundings(ReadingContext, Protocol):
    """The information about the surrounding text that a body needs."""

    source: str
    functions: dict[str, Function]
    types: dict[str, Types]


class Body:
    """A function that is being read: its values by name, and the content of its statements."""

    def __init__(self, parser: Surroundings, line: Scanner) -> None:
        self.parser = parser
        self.values: dict[str, Value] = {}  # by reference: %3, or %3:0 and %3:1
        self.names: set[str] = set()
        self.operations: dict[str, Op] = {}  # by name, %3 without the sign
        self.parameters: list[Parameter] = []
        self.assumptions: list[Assumption] = []
        self.updates: list[tuple[Variable, Value]] = []
        self.effects: list[Op] = []
        self.results: list[Value] | None = None
        self.attributes: dict[tuple[str, str], dict[str, object]] = {}
        self.name = line.name("the name of a function")
        if self.name in parser.functions:
            raise line.error(f"the function @{self.name} is there already", got=self.name, expected="a new name")
        line.expect("(")
        while not line.accept(")"):
            self._parameter(line)
            if not line.accept(","):
                line.expect(")")
                break
        line.expect("{")
        line.end()

    def statement(self, line: Scanner, comment: str) -> None:
        """Reads one line of the body."""
        if self.results is not None:
            raise line.error("something stands after return", expected="}")
        keyword = line.match(_KEYWORD)
        if keyword is not None:
            _STATEMENTS[keyword](self, line, comment)
            line.end()
        else:
            self._operation(line, comment)

    def finished(self, line: Scanner) -> Function:
        """Returns the function, at its closing brace."""
        if self.results is None:
            raise line.error("a function has no results", expected="return before }")
        try:
            function = Function(self.results, self.parameters, self.updates, self.effects, self.assumptions,
                                line.unquoted(self.name))
        except NervureError as error:
            raise line.wrapped(error) from error
        if len(function.operations) != len(self.parameters) + len(self.operations):
            needed = set(function.operations)
            name = next(name for name, op in self.operations.items() if op not in needed)
            raise line.error(f"nothing needs %{name}", got=self.operations[name], expected="ops that are needed",
                             help="remove it, or list it as an effect")
        return function

    # -- statements --------------------------------------------------------------------------------------------

    def _assume(self, line: Scanner, comment: str) -> None:
        left, equals, right = line.text[line.position:].partition("=")
        right, within, _ = right.partition(" in ")
        line.position += len(left)
        line.expect("=")
        line.position += len(right)
        op = line.unquoted(line.name("the name of an op")) if within and line.accept("in") else "Function"
        reason = line.unquoted(line.name("a reason")) if within and line.accept("because") else ""
        dims = self.parser.dim(line, left), self.parser.dim(line, right)
        self.assumptions.append(Assumption(*dims, op, self._provenance(line, comment).location, reason))

    def _update(self, line: Scanner, comment: str) -> None:
        line.expect("$")
        variable = self.parser.variable(line, line.name("the name of a variable"))
        line.expect(":")
        declared = parse_type(line, self.parser)
        line.expect("=")
        value = self._value(line)
        self._check_types(line, "update", (declared,), (value,))
        self.updates.append((variable, value))

    def _effect(self, line: Scanner, comment: str) -> None:
        line.expect("%")
        name = line.name("the name of an op")
        if name not in self.operations:
            raise line.error(f"there is no op %{name}", got=f"%{name}", expected="an op of this function",
                             help=suggestion(name, self.operations))
        op = self.operations[name]
        if not is_effect(op):
            raise line.error(f"%{name} has no effect", got=type(op).__name__, expected="an op that touches the world")
        self.effects.append(op)

    def _return(self, line: Scanner, comment: str) -> None:
        self.results = []
        while line.position < len(line.text):
            self.results.append(self._value(line))
            if not line.accept(","):
                break

    # -- ops -----------------------------------------------------------------------------------------------------

    def _parameter(self, line: Scanner) -> None:
        line.expect("%")
        name = line.name("the name of a parameter")
        self._claim(line, name)
        line.expect(":")
        declared = parse_type(line, self.parser)
        op = self._build(line, "", Parameter, (), {"dtype": declared[0].dtype, "shape": declared[0].shape})
        self.parameters.append(op)  # type: ignore[arg-type]  # a Parameter
        self._name(line, name, op, (declared,))

    def _operation(self, line: Scanner, comment: str) -> None:
        found = _OPERATION.match(line.text)
        if found is None:
            raise self._malformed(line)
        line.position = found.end()
        types, name, op_name = found.groups()
        declared = self.parser.types.get(types)
        if declared is None:
            declared = self.parser.types[types] = self._types(types, line.number)
        self._claim(line, name)
        cls = registry.get(op_name)
        if cls is None:
            raise line.error(f"no op is named {op_name}", got=op_name, expected="the name of an op",
                             help=did_you_mean(op_name, registry) or "import the module that declares it before")
        operands = self._operands(line)
        if cls.arity is not None and cls.arity != len(operands):
            raise line.error("wrong number of operands", op=op_name, got=len(operands), expected=cls.arity)
        op = self._build(line, comment, cls, operands, self._attributes(line, cls))
        self._check_types(line, op_name, declared, op.outputs)
        self.operations[name] = op
        self._name(line, name, op, declared)

    def _malformed(self, line: Scanner) -> FormatError:
        """Returns an error that says what is missing in a line that is no statement."""
        for pattern, expected in ((_TYPES, "a type such as f32[2, 3], or assume, update, effect, return"),
                                  (_RESULT, "the name of the result such as %3 ="), (_CLASS, "an op such as Add(")):
            if line.match(pattern) is None:
                return line.error(f"{expected.partition(' such')[0]} is missing", expected=expected)
        return line.error("this is no statement")

    def _operands(self, line: Scanner) -> list[Value]:
        operands, values, text = [], self.values, line.text
        while (found := _OPERAND.match(text, line.position)) is not None:
            reference, comma = found.groups()
            if reference not in values:
                raise self._unknown(line, reference)
            operands.append(values[reference])
            line.position = found.end()
            if not comma:
                break
        return operands

    def _types(self, text: str, number: int) -> Types:
        line, types = Scanner(text, number), []
        if not line.accept("()"):
            types.append(parse_type(line, self.parser))
            while line.accept(","):
                types.append(parse_type(line, self.parser))
        return tuple(types)

    def _attributes(self, line: Scanner, cls: type[Op]) -> dict[str, object]:
        """Reads the attributes to the end of the line. Short ones are cached, since most lines repeat earlier ones."""
        key = cls.__name__, line.text[line.position:]
        known = self.attributes.get(key)
        if known is not None:
            return known
        attributes: dict[str, object] = {}
        while not line.accept(")"):
            name = line.take(_FIELD, "an operand, an attribute such as axes=, or )")
            field = cls.fields.get(name)
            if field is None or name in attributes:
                raise line.error(f"no attribute {name} is due here", op=cls.__name__, got=name,
                                 expected=", ".join(cls.fields) or "none", help=did_you_mean(name, cls.fields))
            attributes[name] = field.parse(line, self.parser)
            if not line.accept(","):
                line.expect(")")
                break
        line.end()
        if len(key[1]) <= _CACHED:
            self.attributes[key] = attributes
        return attributes

    def _build(self, line: Scanner, comment: str, cls: type[Op], operands: Iterable[Value],
               attributes: Mapping[str, object]) -> Op:
        before = set_override(self._provenance(line, comment))
        try:
            return cls(*operands, **attributes)
        except Exception as error:  # the text may come from anyone: any failure of a type rule is an error of the text
            raise line.wrapped(error, cls.__name__) from error
        finally:
            set_override(before)

    def _provenance(self, line: Scanner, comment: str) -> Provenance:
        location, scope = Location(self.parser.source, line.number), ""
        if comment and (found := _COMMENT.fullmatch(comment)):
            scope = line.unquoted(found["scope"] or "")
            if found["line"]:
                location = Location(line.unquoted(found["file"]), int(found["line"]))
        return Provenance(location, scope, metadata_of_devices())

    def _check_types(self, line: Scanner, op: str, declared: Types, values: Iterable[Value]) -> None:
        types = [value._type for value in values]
        if len(types) != len(declared) or not all(map(_same_type, types, [type for type, _ in declared])):
            raise line.error("the types differ from those that are written", op=op,
                             got=", ".join([str(type) for type, _ in declared]) or "()",
                             expected=", ".join(map(str, types)) or "()")

    def _claim(self, line: Scanner, name: str) -> None:
        if name in self.names:
            raise line.error(f"%{name} is there already", got=f"%{name}", expected="a new name")
        self.names.add(name)

    def _name(self, line: Scanner, name: str, op: Op, declared: Types) -> None:
        """Gives an op the label that its name is, its outputs their labels, and all of them their references."""
        if not name.isdigit():
            op.name = line.unquoted(name)
        several = len(op.outputs) > 1
        for value, (_, labels) in zip(op.outputs, declared, strict=True):
            value.labels = labels
            self.values[f"%{name}:{value.index}" if several else f"%{name}"] = value

    def _value(self, line: Scanner) -> Value:
        reference = line.take(REFERENCE, "a value such as %3")
        if reference not in self.values:
            raise self._unknown(line, reference)
        return self.values[reference]

    def _unknown(self, line: Scanner, reference: str) -> FormatError:
        return line.error(f"there is no value {reference}", got=reference, expected="a value that a line before gives",
                          help=suggestion(reference, self.values))


_STATEMENTS: dict[str, Callable[[Body, Scanner, str], None]] = {
    "assume": Body._assume, "update": Body._update, "effect": Body._effect, "return": Body._return}


def _same_type(left: BasicTensorDescription, right: BasicTensorDescription) -> bool:
    """Whether two types are equal, in form or provably: more may be known of a symbol by now."""
    return left == right or left.dtype is right.dtype and same_lengths(left.shape, right.shape)


def suggestion(name: str, known: Iterable[str]) -> str | None:
    """Returns the known name, among the last ones given, that is closest to ``name``."""
    return did_you_mean(name, list(known)[-_SUGGESTED:])
