"""A cursor over one line of text, with errors that say where, what was found and what was expected.

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

MAX_DIGITS = 40  # of an integer: twice what 64 bits need, so that no text makes arithmetic slow

_PLAIN = r"[A-Za-z_][A-Za-z0-9_./-]*"
_QUOTED = r'"(?:[^"\\]|\\.)*+"'


def token(pattern: str) -> re.Pattern[str]:
    """A pattern, in a group, after any spaces."""
    return re.compile(f" *({pattern})", re.ASCII)


WORD = token(r"[A-Za-z_]\w*")
INTEGER = token(r"-?[0-9]+")
QUOTED = token(_QUOTED)
NAME = token(f"{_PLAIN}|[0-9]+|{_QUOTED}")
REFERENCE = token(f"%(?:{_PLAIN}|[0-9]+|{_QUOTED})(?::[0-9]+)?")
_IS_PLAIN = re.compile(_PLAIN, re.ASCII)


def name_text(name: str) -> str:
    """A name as it stands in text: as it is where that is unambiguous, else quoted. Numbers are no names."""
    return name if _IS_PLAIN.fullmatch(name) else json.dumps(name)


class Scanner:
    """A line, and how far it has been read. Spaces between tokens mean nothing."""

    __slots__ = ("text", "position", "number")

    def __init__(self, text: str, number: int, position: int = 0) -> None:
        self.text, self.number, self.position = text, number, position

    def match(self, pattern: re.Pattern[str]) -> str | None:
        """The first group of a pattern if it comes next, else None."""
        found = pattern.match(self.text, self.position)
        if found is None:
            return None
        self.position = found.end()
        return found[1]

    def take(self, pattern: re.Pattern[str], expected: str) -> str:
        """The first group of a pattern, which must come next."""
        found = self.match(pattern)
        if found is None:
            raise self.error(f"{expected} is missing", expected=expected)
        return found

    def accept(self, literal: str) -> bool:
        """Whether these characters come next; then they are read."""
        self.skip()
        if not self.text.startswith(literal, self.position):
            return False
        self.position += len(literal)
        return True

    def expect(self, literal: str) -> None:
        """These characters must come next."""
        if not self.accept(literal):
            raise self.error(f"{literal} is missing", expected=literal)

    def skip(self) -> None:
        """Reads spaces."""
        while self.text.startswith(" ", self.position):
            self.position += 1

    def end(self) -> None:
        """Nothing may follow."""
        self.skip()
        if self.position < len(self.text):
            raise self.error("something stands after the end", expected="the end of the line")

    def integer(self, expected: str = "a whole number") -> int:
        """An integer of at most 40 digits."""
        digits = self.take(INTEGER, expected)
        if len(digits) > MAX_DIGITS:
            raise self.error("a number is too long", got=f"{len(digits)} digits", expected=f"at most {MAX_DIGITS}")
        return int(digits)

    def name(self, expected: str) -> str:
        """A name as it is written."""
        return self.take(NAME, expected)

    def unquoted(self, name: str) -> str:
        """What a name or quoted string says."""
        if not name.startswith('"'):
            return name
        try:
            return str(json.loads(name))
        except ValueError:
            raise self.error("a quoted string is malformed", got=name, expected="a string as in JSON") from None

    def error(self, problem: str, **parts: Any) -> FormatError:
        """An error at this place of the text."""
        near = self.text[self.position:self.position + 40].strip()
        parts.setdefault("got", near or "the end of the line")
        parts.setdefault("op", "text")
        parts["help"] = parts.get("help") or f"the line is {self.text.strip():.100}"
        return FormatError(f"line {self.number}: {problem}", **parts)

    def wrapped(self, error: Exception, op: str = "text") -> FormatError:
        """An error that someone else found in what this line says, as an error at this line."""
        if isinstance(error, NervureError):
            return FormatError(f"line {self.number}: {error.message}", op=error.op or op, operand=error.operand,
                               got=error.got, expected=error.expected, help=error.help)
        return FormatError(f"line {self.number}: {op} cannot be made of this", op=op,
                           got=f"{type(error).__name__}: {error}"[:200])
