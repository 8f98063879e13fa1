"""Text to dimensions: ``parse_dim`` is the inverse of ``str``, ``parse_declaration`` of ``declaration``.

The grammar is Python's for integers, names, ``+ - * // % **``, parentheses, and calls of ``min``, ``max`` and
``product``; ``%3`` where an operand is due is the domain index 3, ``?3`` a length that an op finds. Parsing keeps its
own stack, so no text can exhaust Python's.

>>> parse_dim("(N+1)//2*M - 1"), parse_dim("min(N, 9) % 8"), parse_declaration("N:1..4096")
(M*((N + 1)//2) - 1, min(N, 9) % 8, N)
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from nervure.errors import FormatError, NervureError
from nervure.types.dim.expression import Dim, DimLike, dim, dim_max, dim_min, found, index, made, merged, parts, product
from nervure.types.dim.polynomial import MAX_DEGREE, MAX_DIGITS, product_of

MAX_LENGTH = 20_000  # characters of text
MAX_NESTING = 200  # nested operations and parentheses

_TOKEN = re.compile(r"\s*(?:(?P<number>[0-9]+)|(?P<name>[^\W\d]\w*)|(?P<sign>//|\*\*|.)|$)", re.DOTALL)
_DECLARATION = re.compile(r"(?P<name>\w+|[%?][0-9]+)(?::(?P<low>-?[0-9]+)?\.\.(?P<high>-?[0-9]+)?)?")


class _Waiting(NamedTuple):
    """An operator whose right operand is being read, or an open parenthesis (precedence 0)."""

    precedence: int
    apply: Callable[..., DimLike] | None
    below: int  # number of values below the first operand


def _power(base: DimLike, exponent: DimLike) -> DimLike:
    if not isinstance(base, Dim) or not isinstance(exponent, int) or not 0 <= exponent <= MAX_DEGREE:
        raise FormatError("a power has a symbolic base and a small number as exponent", op="parse_dim",
                          got=f"{base}**{exponent}", expected=f"an exponent from 0 to {MAX_DEGREE}")
    return product([base] * exponent)


def _product(*factors: DimLike) -> DimLike:
    polynomials, declared = zip(*map(parts, factors), strict=True) if factors else ((), ())
    return made(product_of(polynomials), functools.reduce(merged, declared, {}))


def _division(operation: Callable[[DimLike, DimLike], DimLike]) -> Callable[[DimLike, DimLike], DimLike]:
    def divide(dividend: DimLike, divisor: DimLike) -> DimLike:
        if isinstance(divisor, int) and divisor == 0:
            raise FormatError("a dimension is divided by 0", op="parse_dim", got=f"{dividend} divided by 0")
        return operation(dividend, divisor)

    return divide


_NEGATE = (3, operator.neg)
_BINARY: dict[str, tuple[int, Callable[..., DimLike]]] = {
    "+": (1, operator.add), "-": (1, operator.sub), "*": (2, operator.mul),
    "//": (2, _division(operator.floordiv)), "%": (2, _division(operator.mod)), "**": (4, _power)}
_FUNCTIONS: dict[str, Callable[..., DimLike]] = {
    "min": dim_min, "max": dim_max, "product": _product}


class _Parser:
    """Operator precedence with two explicit stacks: values, and operators that wait for their last operand."""

    def __init__(self, text: str, symbols: Mapping[str, Dim]) -> None:
        self.text = text
        self.symbols = symbols
        self.position = 0
        self.values: list[DimLike] = []
        self.waiting: list[_Waiting] = []

    def error(self, problem: str, expected: str | None = None) -> FormatError:
        near = self.text[max(0, self.position - 20):self.position + 20]
        return FormatError(problem, op="parse_dim", operand=f"character {self.position}", got=repr(near),
                           expected=expected)

    def parse(self) -> DimLike:
        is_operand_due = True
        while True:
            match = _TOKEN.match(self.text, self.position)
            assert match is not None  # the pattern takes any character
            start, self.position = match.start(match.lastgroup or 0), match.end()
            if match.lastgroup is None:
                return self.finished(is_operand_due)
            if len(self.waiting) > MAX_NESTING:
                raise self.error("this dimension is nested too deeply", f"at most {MAX_NESTING} levels")
            if is_operand_due:
                is_operand_due = self.operand(match, start)
            else:
                is_operand_due = self.operator(match[match.lastgroup])

    def finished(self, is_operand_due: bool) -> DimLike:
        if is_operand_due:
            raise self.error("this dimension ends too early", "an operand")
        self.reduce(1)
        if self.waiting:
            raise self.error("a parenthesis is not closed", ")")
        return self.values[0]

    def operand(self, match: re.Match[str], start: int) -> bool:
        """Takes a token at the position of an operand; returns whether one is still needed after it."""
        token = match[match.lastgroup or 0]
        if match.lastgroup == "number":
            self.values.append(self.number(token))
            return False
        if match.lastgroup == "name":
            if token in _FUNCTIONS and self.text.startswith("(", self.position):
                self.position += 1
                self.waiting.append(_Waiting(0, _FUNCTIONS[token], len(self.values)))
                return True
            self.values.append(self.symbols[token] if token in self.symbols else dim(token))
            return False
        if token == "(":
            self.waiting.append(_Waiting(0, None, len(self.values)))
            return True
        if token == "-":
            self.waiting.append(_Waiting(*_NEGATE, len(self.values)))
            return True
        digits = re.compile("[0-9]+").match(self.text, self.position) if token in ("%", "?") else None
        if digits is None:
            self.position = start
            raise self.error("this is not an operand", "a number, a name, %k, min(...), max(...) or (")
        self.position = digits.end()
        number = self.number(digits[0])
        self.values.append(index(number) if token == "%" else self.symbols.get(f"?{number}", found(number)))
        return False

    def number(self, digits: str) -> int:
        if len(digits) > MAX_DIGITS:
            raise self.error(f"a number has {len(digits)} digits", f"at most {MAX_DIGITS}")
        return int(digits)

    def operator(self, token: str) -> bool:
        """Takes a token at the position of an operator; returns whether an operand is needed after it."""
        if token in _BINARY:
            precedence, apply = _BINARY[token]
            self.reduce(precedence + (token == "**"))  # a power groups to the right
            self.waiting.append(_Waiting(precedence, apply, len(self.values) - 1))
            return True
        if token not in (")", ","):
            raise self.error("this is not an operator", "one of + - * // % ** , )")
        self.reduce(1)
        if not self.waiting or (token == "," and self.waiting[-1].apply is None):
            raise self.error("this , is in no call" if token == "," else "there is no ( for this )")
        if token == ",":
            return True
        _, function, below = self.waiting.pop()
        if function is not None:
            self.apply(function, below)
        return False

    def reduce(self, precedence: int) -> None:
        """Applies the operators on top of the stack that bind at least as strongly."""
        while self.waiting and self.waiting[-1].precedence >= precedence:
            _, apply, below = self.waiting.pop()
            assert apply is not None  # only parentheses lack a function, and they bind least
            self.apply(apply, below)

    def apply(self, function: Callable[..., DimLike], below: int) -> None:
        try:
            value = function(*self.values[below:])
        except FormatError:
            raise
        except NervureError as problem:
            raise self.error(problem.message, problem.expected) from problem
        if isinstance(value, int) and abs(value) >= 10**MAX_DIGITS:
            raise self.error("a number is too large", f"at most {MAX_DIGITS} digits")
        self.values[below:] = [value]


def parse_dim(text: str, symbols: Mapping[str, Dim] | None = None) -> DimLike:
    """Returns the dimension that prints as ``text``; names that ``symbols`` lacks are symbols of at least 0.

    Raises FormatError for anything else, for more than 20,000 characters and numbers of more than 40 digits.
    """
    if not isinstance(text, str):
        raise FormatError("the text of a dimension is a str", op="parse_dim", got=type(text).__name__,
                          expected="str")
    if len(text) > MAX_LENGTH:
        raise FormatError("the text of a dimension is too long", op="parse_dim",
                          got=f"{len(text)} characters", expected=f"at most {MAX_LENGTH}")
    return _Parser(text, symbols or {}).parse()


def parse_declaration(text: str) -> Dim:
    """Returns the symbol with the bounds that ``text`` gives: ``N`` (at least 0), ``N:1..4096``, ``N:1..``, ``N:..``.

    Raises FormatError for anything else.
    """
    match = _DECLARATION.fullmatch(text) if isinstance(text, str) and len(text) <= MAX_LENGTH else None
    if match is None or any(len(match[end] or "") > MAX_DIGITS for end in ("low", "high")):
        shown = repr(text if len(str(text)) < 80 else str(text)[:80] + "...")
        raise FormatError("this does not declare a symbol", op="parse_declaration", got=shown,
                          expected="N, N:1..4096, N:1.. or N:..")
    if match["name"].startswith("%") and text == match["name"]:
        return index(int(text[1:]))
    low, high = match["low"], match["high"]
    least = 0 if ":" not in text else None if low is None else int(low)
    try:
        if match["name"].startswith("?"):
            return found(int(match["name"][1:]), None if high is None else int(high))
        return dim(match["name"], min=least, max=None if high is None else int(high))
    except NervureError as problem:
        raise FormatError(problem.message, op="parse_declaration", got=repr(text),
                          expected=problem.expected) from None
