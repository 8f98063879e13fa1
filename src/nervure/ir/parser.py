"""Text to functions: the inverse of :mod:`nervure.ir.printer`, for text of any origin.

Ops are built through their classes alone, so the result is well typed, and the types in the text must be those that
the ops infer. Any other text is a FormatError with the number of the line, the text found and the text expected. An op
is known by the name of its class once the module that declares it has been imported.

>>> from nervure import ops
>>> f = parse_function('''nervure 1
... symbol N:1..64
... function double(%x: f32[N, 2]) {
...   f32[N, 2] %0 = Add(%x, %x)
...   return %0
... }
... ''')
>>> f, f.parameters[0].name
(Function double(f32[N, 2]) -> (f32[N, 2]), 2 ops, 'x')
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeVar

import numpy as np

from nervure.errors import Location, NervureError, WrongKind, did_you_mean
from nervure.ir.body_parser import Body, Types, suggestion
from nervure.ir.function import Function
from nervure.ir.gc_paused import gc_paused
from nervure.ir.notation import parse_type
from nervure.ir.printer import FORMAT
from nervure.ir.scanner import QUOTED_PATTERN, WORD, Scanner, token
from nervure.ir.variable import Variable
from nervure.types.dim import Dim, DimLike, parse_declaration, parse_dim, symbols

_DECLARATION = token(r"\S+")
_CODE = re.compile(rf'(?:[^"#]|{QUOTED_PATTERN})*+')
T = TypeVar("T")


def parse_function(text: str, *, arrays: Mapping[str, np.ndarray] | None = None,
                   variables: dict[str, Variable] | None = None, initial: Mapping[str, np.ndarray] | None = None,
                   source: str = "<text>") -> Function:
    """Reads the last function of a text; earlier functions are those that its ops hold.

    ``arrays`` are the arrays stored beside the text. Variables in the table ``variables`` are used; others are made,
    from the value that ``initial`` has for their name or from zeros, and added to it. The location of an op is its
    line of ``source``, unless a comment names another.
    """
    if not isinstance(text, str):
        raise WrongKind("the text of a function is a string", op="parse_function", got=type(text).__name__,
                        expected="str")
    with gc_paused():
        return Parser(arrays or {}, {} if variables is None else variables, initial or {}, source).parse(text)


class Parser:
    """The state of reading a text: its declarations so far, and the function that is open."""

    def __init__(self, arrays: Mapping[str, np.ndarray], variables: dict[str, Variable],
                 initial: Mapping[str, np.ndarray], source: str) -> None:
        self.arrays, self.variables, self.initial, self.source = arrays, variables, initial, source
        self.symbols: dict[str, Dim] = {}
        self.declared: dict[str, Variable] = {}
        self.functions: dict[str, Function] = {}
        self.used: set[str] = set()  # variables with $ and functions with @ that are referred to
        self.types: dict[str, Types] = {}
        self._dims: dict[str, DimLike] = {}

    def parse(self, text: str) -> Function:
        """Returns the last function of the text."""
        body: Body | None = None
        last: Function | None = None
        is_headed = False
        line = Scanner("", 0)
        for number, written in enumerate(text.split("\n"), 1):
            code, comment = _without_comment(written.strip())
            if not code:
                continue
            line = Scanner(code, number)
            if not is_headed:
                self._header(line)
                is_headed = True
            elif body is None:
                body = self._declaration(line)
            elif code == "}":
                last = self.functions[body.name] = body.finished(line)
                body = None
            else:
                body.statement(line, comment)
        if body is not None or last is None:
            raise line.error("the text ends too early", got="the end", expected="a function, closed with }")
        self._check_used(line, [f"@{name}" for name in list(self.functions)[:-1]])
        self._check_used(line, [f"${name}" for name in self.declared])
        return last

    # -- for attributes -----------------------------------------------------------------------------------------

    def dim(self, line: Scanner, text: str, may_index: bool = False) -> DimLike:
        """Reads the ``text`` of a dimension over declared symbols; ``may_index`` admits domain indices, too."""
        known = self._dims.get(text)
        if known is None:
            try:
                known = self._dims[text] = parse_dim(text, self.symbols)
            except NervureError as error:
                raise line.wrapped(error) from error
        for name in symbols(known):
            if name not in self.symbols and not (may_index and name.startswith("%")):
                raise line.error(f"the symbol {name} is not declared", got=text.strip(),
                                 expected=f"a line 'symbol {name}' before the functions",
                                 help=did_you_mean(name, self.symbols))
        return known

    def array(self, line: Scanner, name: str) -> np.ndarray:
        """Returns an array stored beside the text."""
        return self._known(line, "array", "@", name, self.arrays)

    def variable(self, line: Scanner, name: str) -> Variable:
        """Returns a declared variable."""
        self.used.add(f"${name}")
        return self._known(line, "variable", "$", name, self.declared)

    def function(self, line: Scanner, name: str) -> Function:
        """Returns a function that precedes this one."""
        self.used.add(f"@{name}")
        return self._known(line, "function", "@", name, self.functions)

    def _known(self, line: Scanner, what: str, sigil: str, name: str, table: Mapping[str, T]) -> T:
        if name not in table:
            raise line.error(f"there is no {what} {sigil}{name}", got=f"{sigil}{name}", help=suggestion(name, table),
                             expected=f"a {what} that is declared before")
        return table[name]

    # -- the parts of the text -------------------------------------------------------------------------------

    def _header(self, line: Scanner) -> None:
        if not line.accept("nervure "):
            raise line.error("this is no text of a function", expected=f"nervure {FORMAT}")
        version = line.integer("the version of the format")
        line.end()
        if version != FORMAT:
            raise line.error(f"the format {version} is not known", got=version, expected=FORMAT,
                             help="a newer nervure may have written it" if version > FORMAT else None)

    def _declaration(self, line: Scanner) -> Body | None:
        keyword = line.take(WORD, "symbol, variable or function")
        if keyword == "function":
            return Body(self, line)
        if keyword == "variable":
            self._variable(line)
        elif keyword == "symbol":
            self._symbol(line)
        else:
            raise line.error(f"{keyword} declares nothing", got=keyword, expected="symbol, variable or function")
        line.end()
        return None

    def _symbol(self, line: Scanner) -> None:
        try:
            symbol = parse_declaration(line.take(_DECLARATION, "a symbol such as N:1..64"))
        except NervureError as error:
            raise line.wrapped(error) from error
        name = str(symbol)
        if name in self.symbols or name.startswith("%"):
            raise line.error(f"the symbol {name} cannot be declared here", got=name, expected="a new name")
        self.symbols[name] = symbol

    def _variable(self, line: Scanner) -> None:
        line.expect("$")
        name = line.name("the name of a variable")
        line.expect(":")
        type, _ = parse_type(line, self)
        trainable, persistent = line.accept("trainable"), not line.accept("scratch")
        if name in self.declared:
            raise line.error(f"the variable ${name} is declared twice", got=name, expected="a new name")
        if name not in self.variables:
            label = None if name.isdigit() else line.unquoted(name)
            location = Location(self.source, line.number)
            self.variables[name] = Variable(type, self.initial.get(name), label, trainable, persistent, location)
        elif self.variables[name].type != type:
            raise line.error(f"the variable ${name} has another type", got=type, expected=self.variables[name].type)
        self.declared[name] = self.variables[name]

    def _check_used(self, line: Scanner, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.used:
                raise line.error(f"nothing uses {name}", got=name, expected="declarations that are needed")


def _without_comment(line: str) -> tuple[str, str]:
    """Splits a line into its code and its comment, if it has one."""
    if "#" not in line:
        return line, ""
    end = _CODE.match(line).end()  # type: ignore[union-attr]  # it matches the empty string
    return line[:end].rstrip(), line[end:]
