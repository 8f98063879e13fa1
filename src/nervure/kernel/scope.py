"""The names in the text of a kernel, and the parsers of dimensions, scalars and addresses over them.

>>> from nervure.types.dtype import int64
>>> scope, line = ParserScope(), Scanner("8*i + j - 3*v0 + 5]", 1)
>>> row = scope.define(line, "v0", int64)
>>> with scope.inside(line, [("i", 4), ("j", 8)]):
...     address = scope.address(line)
>>> address.base, address.steps, address.terms == ((-3, row),)
(5, ((%0, 8), (%1, 1)), True)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from nervure.errors import NervureError, did_you_mean
from nervure.ir.scanner import MAX_DIGITS, WORD, Scanner, token
from nervure.kernel.ir import Address, Buffer, Literal, Scalar, Variable
from nervure.kernel.loop_index import Indices, LoopIndex
from nervure.types.dim import Dim, DimLike, parse_declaration, parse_dim, symbols
from nervure.types.dtype import DType, as_dtype, bool_

_NUMBER = r"-?(?:nan|inf|[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)"
_LITERAL = rf"True\b|False\b|(?:{_NUMBER}|complex\({_NUMBER}, {_NUMBER}\))_[a-z]\w*"
_SCALAR = token(rf"{_LITERAL}|[A-Za-z_]\w*")
_COMPLEX = re.compile(rf"complex\(({_NUMBER}), ({_NUMBER})\)")
_DTYPE = token(r"[a-z]\w*")
_ROLE = token(r"[a-z]+\b")
_KEYWORD = r" +(?:parallel|vector|lanes|tile|order|as|by)\b"
_OUTSIDE = re.compile(rf"(?:(?!{_KEYWORD})[^(),:\]])*")  # outside of parentheses, up to the end of a dimension
_INSIDE = re.compile(r"[^()]*")
_TERM = re.compile(rf"(?:(?P<factor>.+)\*)?(?P<name>{_LITERAL}|[A-Za-z_]\w*)", re.ASCII)


class ParserScope:
    """The names that are known at a point of a text."""

    def __init__(self) -> None:
        self._symbols: dict[str, Dim] = {}
        self._buffers: dict[str, Buffer] = {}
        self._variables: dict[str, Variable] = {}
        self._indices: dict[str, LoopIndex] = {}  # names of the indices of the loops around, from the outside in

    # -- names -----------------------------------------------------------------------------------------------

    def declare(self, line: Scanner) -> None:
        """Reads the declaration of a symbol."""
        line.expect("symbol")
        text = line.text[line.position:]
        try:
            symbol = parse_declaration(text.strip())
        except NervureError as error:
            raise line.wrapped(error) from error
        self._new(line, str(symbol))
        self._symbols[str(symbol)] = symbol

    def read_buffers(self, line: Scanner) -> tuple[Buffer, ...]:
        """Reads buffers in parentheses."""
        line.expect("(")
        while not line.accept(")"):
            role = line.take(_ROLE, "a role such as in, out, inout, scratch, private")
            name = self._new(line, line.take(WORD, "the name of a buffer"))
            line.expect(":")
            dtype = self.dtype(line)
            line.expect("[")
            self._buffers[name] = Buffer(name, dtype, self.dim(line), role)
            line.expect("]")
            if not line.accept(","):
                line.expect(")")
                break
        return tuple(self._buffers.values())

    def define(self, line: Scanner, name: str, dtype: DType) -> Variable:
        """Defines a new variable ``name`` of type ``dtype``."""
        variable = self._variables[self._new(line, name)] = Variable(dtype)
        return variable

    @contextmanager
    def inside(self, line: Scanner, indices: Sequence[tuple[str, Any]]) -> Iterator[Indices]:
        """Opens loops; yields their indices, which are numbered by the depth of their loops."""
        outer, found = self._indices, list[tuple[LoopIndex, DimLike]]()
        self._indices = dict(outer)
        for name, extent in indices:
            self._indices[self._new(line, name)] = index = LoopIndex(len(self._indices))
            found.append((index, extent))
        yield tuple(found)
        self._indices = outer

    def _new(self, line: Scanner, name: str) -> str:
        if any([name in table for table in (self._symbols, self._buffers, self._variables, self._indices)]):
            raise line.error(f"{name} is there already", got=name, expected="a new name")
        return name

    def buffer(self, line: Scanner, name: str) -> Buffer:
        """Returns the buffer of a name that has been read."""
        return self._known(line, "buffer", name, self._buffers)

    def _known(self, line: Scanner, what: str, name: str, table: Mapping[str, Any]) -> Any:
        if name not in table:
            raise line.error(f"there is no {what} {name}", got=name, expected=f"a {what} that is known here",
                             help=did_you_mean(name, table))
        return table[name]

    def dtype(self, line: Scanner) -> DType:
        """Reads an element type."""
        name = line.take(_DTYPE, "an element type such as f32")
        try:
            return as_dtype(name)
        except NervureError as error:
            raise line.wrapped(error) from error

    # -- dimensions ------------------------------------------------------------------------------------------

    def ranges(self, line: Scanner) -> list[tuple[str, DimLike]]:
        """Reads loop indices with their extents: ``i < N, j < 4``."""
        found = []
        while True:
            name = line.take(WORD, "a loop index")
            line.expect("<")
            found.append((name, self.dim(line)))
            if not line.accept(","):
                return found

    def dim(self, line: Scanner) -> DimLike:
        """Reads a dimension up to a comma, colon or bracket that is not its own."""
        start, depth, text = line.position, 0, line.text
        while True:
            line.position = (_INSIDE if depth else _OUTSIDE).match(text, line.position).end()  # type: ignore[union-attr]
            found = text[line.position:line.position + 1]
            if found not in ("(", ")") or (found == ")" and not depth):
                return self._dim(line, text[start:line.position])
            depth += 1 if found == "(" else -1
            line.position += 1

    def _dim(self, line: Scanner, text: str) -> DimLike:
        indices = {name: index.dim for name, index in self._indices.items()}
        try:
            found = parse_dim(text.strip(), {**self._symbols, **indices})
        except NervureError as error:
            raise line.wrapped(error) from error
        known = {str(symbol) for symbol in (*self._symbols.values(), *indices.values())}
        for name in sorted(symbols(found) - known):
            raise line.error(f"there is no symbol or loop index {name}", got=name,
                             expected=f"a line 'symbol {name}' before the statements, or a loop over it",
                             help=did_you_mean(name, [*self._symbols, *self._indices]))
        return found

    # -- scalars ---------------------------------------------------------------------------------------------

    def scalar(self, line: Scanner) -> Scalar:
        """Reads a variable or literal."""
        return self._scalar(line, line.take(_SCALAR, "a variable or a literal such as 1.5_f32"))

    def scalars(self, line: Scanner) -> tuple[Scalar, ...]:
        """Reads one or more, with commas between them."""
        found = [self.scalar(line)]
        while line.accept(","):
            found.append(self.scalar(line))
        return tuple(found)

    def _scalar(self, line: Scanner, text: str) -> Scalar:
        if text in ("True", "False"):
            return Literal(text == "True", bool_)
        if re.fullmatch(_LITERAL, text) is None:
            return self._known(line, "variable", text, self._variables)
        number, _, short = text.rpartition("_")
        try:
            return Literal(_value(number), as_dtype(short))
        except (NervureError, ValueError) as error:
            raise line.wrapped(error) from error

    # -- addresses -------------------------------------------------------------------------------------------

    def address(self, line: Scanner) -> Address:
        """Reads an address, and the bracket behind it: steps, terms, and the rest as the base."""
        text, bracket, _ = line.text[line.position:].partition("]")
        if not bracket:
            raise line.error("an address has no end", expected="]")
        base: list[str] = []
        steps: list[tuple[LoopIndex, DimLike]] = []
        terms: list[tuple[DimLike, Scalar]] = []
        for sign, term in _signed(text):
            found = _TERM.fullmatch(term)
            name = "" if found is None else found["name"]
            if found is None or not self._is_moving(name):
                base += [sign, term]
                continue
            factor = self._dim(line, found["factor"] or "1") * (-1 if sign == "-" else 1)
            if name in self._indices:
                if self._indices[name] in dict(steps):
                    raise line.error(f"an address has two steps of {name}", got=text.strip(),
                                     expected="one of each index")
                steps.append((self._indices[name], factor))
            else:
                terms.append((factor, self._scalar(line, name)))
        line.position += len(text) + 1
        return Address(self._dim(line, " ".join(base).removeprefix("+") or "0"), tuple(steps), tuple(terms))

    def _is_moving(self, name: str) -> bool:
        """Whether a name is that of a loop index or a scalar."""
        return name in self._indices or name in self._variables or re.fullmatch(_LITERAL, name) is not None


def _value(text: str) -> int | float | complex:
    """Returns the number in a text, with each of its bits."""
    parts = _COMPLEX.fullmatch(text)
    if parts is not None:
        return complex(float(parts[1]), float(parts[2]))
    if len(text) > MAX_DIGITS:
        raise ValueError(f"a number of {len(text)} characters")
    return int(text) if text.removeprefix("-").isdigit() else float(text)


def _signed(text: str) -> Iterator[tuple[str, str]]:
    """Yields the terms of a sum with their signs: split at each sign between two operands, outside of parentheses."""
    start, depth, sign = 0, 0, "+"
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        before = text[start:position].strip()
        if character in "+-" and depth == 0 and (not before or before[-1].isalnum() or before[-1] in "_)"):
            if before:
                yield sign, before
            start, sign = position + 1, character
    yield sign, text[start:].strip()
