"""A cursor over one line of text, with errors that give the position, the text found and the text expected.

>>> line = Scanner("axes = 0", number=7)
>>> line.take(WORD, "a name"), line.accept("="), line.take(INTEGER, "a number")
('axes', True, '0')
>>> line.take(WORD, "a name")                                                # doctest: +ELLIPSIS
Traceback (most recent call last):
    ...
nervure.errors.FormatError: text: line 7: a name is missing
  got:      the end of the line
  expected: a name
...
"""

from __future__ import annotations

import json
import re
from typing import Any

from nervure.errors import FormatError, NervureError

MAX_DIGITS = 40  # digits of an integer: twice those of 64 bits, so that no text makes arithmetic slow

_PLAIN = r"[A-Za-z_][A-Za-z0-9_./-]*"
QUOTED_PATTERN = r'"(?:[^"\\]|\\.)*+"'


def token(pattern: str) -> re.Pattern[str]:
    """Returns a regular expression for a pattern, in a group, after any spaces."""
    return re.compile(f" *({pattern})", re.ASCII)


WORD = token(r"[A-Za-z_]\w*")
INTEGER = token(r"-?[0-9]+")
QUOTED = token(QUOTED_PATTERN)
NAME = token(f"{_PLAIN}|[0-9]+|{QUOTED_PATTERN}")
REFERENCE = token(f"%(?:{_PLAIN}|[0-9]+|{QUOTED_PATTERN})(?::[0-9]+)?")
_IS_PLAIN = re.compile(_PLAIN, re.ASCII)


def name_text(name: str) -> str:
    """Returns a name as the text has it: plain if that is unambiguous, else quoted. Numbers are no names."""
    return name if _IS_PLAIN.fullmatch(name) else json.dumps(name)


class Scanner:
    """A line, and the position up to which it has been read. Spaces between tokens mean nothing."""

    __slots__ = ("text", "position", "number")

    def __init__(self, text: str, number: int, position: int = 0) -> None:
        self.text, self.number, self.position = text, number, position

    def match(self, pattern: re.Pattern[str]) -> str | None:
        """Reads the first group of a pattern if it comes next, else returns None."""
        found = pattern.match(self.text, self.position)
        if found is None:
            return None
        self.position = found.end()
        return found[1]

    def take(self, pattern: re.Pattern[str], expected: str) -> str:
        """Reads the first group of a pattern, which must come next."""
        found = self.match(pattern)
        if found is None:
            raise self.error(f"{expected} is missing", expected=expected)
        return found

    def accept(self, literal: str) -> bool:
        """Reads these characters if they come next; returns whether they did."""
        self.skip()
        if not self.text.startswith(literal, self.position):
            return False
        self.position += len(literal)
        return True

    def expect(self, literal: str) -> None:
        """Reads these characters, which must come next."""
        if not self.accept(literal):
            raise self.error(f"{literal} is missing", expected=literal)

    def skip(self) -> None:
        """Reads spaces."""
        while self.text.startswith(" ", self.position):
            self.position += 1

    def end(self) -> None:
        """Checks that nothing follows."""
        self.skip()
        if self.position < len(self.text):
            raise self.error("something stands after the end", expected="the end of the line")

    def integer(self, expected: str = "a whole number") -> int:
        """Reads an integer of at most 40 digits."""
        digits = self.take(INTEGER, expected)
        if len(digits) > MAX_DIGITS:
            raise self.error("a number is too long", got=f"{len(digits)} digits", expected=f"at most {MAX_DIGITS}")
        return int(digits)

    def name(self, expected: str) -> str:
        """Reads a name as it is written."""
        return self.take(NAME, expected)

    def unquoted(self, name: str) -> str:
        """Returns the name that a plain or quoted string stands for."""
        if not name.startswith('"'):
            return name
        try:
            return str(json.loads(name))
        except ValueError:
            raise self.error("a quoted string is malformed", got=name, expected="a string as in JSON") from None

    def error(self, problem: str, **parts: Any) -> FormatError:
        """Returns an error at this position of the text."""
        near = self.text[self.position:self.position + 40].strip()
        parts.setdefault("got", near or "the end of the line")
        parts.setdefault("op", "text")
        parts["help"] = parts.get("help") or f"the line is {self.text.strip():.100}"
        return FormatError(f"line {self.number}: {problem}", **parts)

    def wrapped(self, error: Exception, op: str = "text") -> FormatError:
        """Returns another error, raised for the content of this line, as an error at this line."""
        if isinstance(error, NervureError):
            return FormatError(f"line {self.number}: {error.message}", op=error.op or op, operand=error.operand,
                               got=error.got, expected=error.expected, help=error.help)
        return FormatError(f"line {self.number}: {op} cannot be made of this", op=op,
                           got=f"{type(error).__name__}: {error}"[:200])
