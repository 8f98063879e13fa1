"""Exceptions with fields: a ``NervureError`` is something that a user can fix, an ``InternalError`` is a bug of
nervure.

Every error carries its parts as fields, so that tools and tests need not read prose:

>>> error = ShapeMismatch("the operands differ in shape", op="Add", operand="2", got="(3,)", expected="(4,)",
...                       location=None, help="broadcast the operand first")
>>> print(error)
Add: the operands differ in shape
  operand:  2
  got:      (3,)
  expected: (4,)
  help:     broadcast the operand first
"""

from __future__ import annotations

import os
import sys
import sysconfig
import warnings
from collections.abc import Iterable
from types import FrameType
from typing import NamedTuple, TypedDict


class Location(NamedTuple):
    """A place in the user's own source: the file and the line of the call into nervure."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


_new = tuple.__new__  # half the time of calling the class, for every node
_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STANDARD = tuple([sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib")])
_INSTALLED = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)


class _Files(dict[str, bool]):
    """Whether a file is the user's own: neither of this package nor of Python itself, whose code may be in between."""

    def __missing__(self, file: str) -> bool:
        is_standard = file.startswith(_STANDARD) and not any([part in file for part in _INSTALLED])
        self[file] = found = not (file.startswith((_PACKAGE, "<frozen ")) or is_standard)
        return found


_is_users = _Files()


def user_location() -> Location | None:
    """Returns the innermost line of the user's own, or None if there is none (an embedded interpreter)."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if _is_users[file] and not (file == "<string>" and _is_ours(frame)):
            return _new(Location, (file, frame.f_lineno))
        frame = frame.f_back
    return None


def _is_ours(frame: FrameType) -> bool:
    """Whether code without a file, as ``dataclass`` makes it, belongs to a module of this package."""
    return str(frame.f_globals.get("__name__")).startswith("nervure.")


_UNKNOWN = object()


class ErrorParts(TypedDict, total=False):
    """The parts of an error except the operation: the keywords of ``op.fail(kind, message, **parts)``."""

    operand: str | int | None
    got: object
    expected: object
    location: object
    help: str | None


class NervureError(Exception):
    """A mistake in the user's program that the user can fix.

    ``op`` names the operation, ``operand`` the input, ``got`` and ``expected`` the value found and the values allowed,
    ``location`` the user's file and line, ``help`` the remedy, ``module`` the innermost module whose forward was
    running, by its path in the outermost one. A part that makes no sense for an error is None.

    >>> try:
    ...     nv.reshape([1, 2, 3], (2, 2))
    ... except nv.NervureError as error:
    ...     print(error.op, error.operand, error.expected)
    reshape shape 3 elements
    """

    def __init__(self, message: str, *, op: str | None = None, operand: str | int | None = None,
                 got: object = None, expected: object = None, location: object = _UNKNOWN,
                 help: str | None = None) -> None:
        self.message = message
        self.op = op
        self.operand = None if operand is None else str(operand)
        self.got = None if got is None else _on_one_line(str(got))
        self.expected = None if expected is None else _on_one_line(str(expected))
        self.location = user_location() if location is _UNKNOWN else location
        self.help = help
        self.module: str | None = None
        super().__init__(message)

    def within(self, op: str, **parts: object) -> NervureError:
        """Returns this error with parts that only a caller of its raiser knows: the operation, and others."""
        for name, value in {"op": op, **parts}.items():
            if getattr(self, name) is None and value is not None:
                setattr(self, name, value if name == "location" else str(value))
        return self

    def __str__(self) -> str:
        head = f"{self.op}: {self.message}" if self.op else self.message
        parts = [("operand", self.operand), ("got", self.got), ("expected", self.expected),
                 ("help", self.help), ("module", self.module), ("at", self.location)]
        shown = [f"  {name + ':':<10}{value}" for name, value in parts if value is not None]
        return "\n".join([head, *shown])


def _on_one_line(text: str) -> str:
    """Returns a text without line breaks, which tensors and arrays have when they show their elements."""
    return " ".join(text.split()) if "\n" in text else text


class InvalidArgument(NervureError, ValueError):
    """An argument of the right kind with a value that cannot be used."""


class WrongKind(NervureError, TypeError):
    """An object of the wrong kind where another kind is needed."""


class ShapeMismatch(NervureError, ValueError):
    """Shapes that do not fit together."""


class DtypeMismatch(NervureError, ValueError):
    """Element types that do not fit together."""


class AxisMismatch(NervureError, ValueError):
    """Axes that do not match."""


class IndexOutOfRange(NervureError, IndexError):
    """An index outside its axis, found when built or while running; nothing has been changed."""


class Immutable(NervureError, AttributeError):
    """A part of an immutable object was set. It has not been changed."""


class UnknownName(NervureError, AttributeError):
    """A name that does not exist; the help gives the equivalent here of a name known from other libraries."""


class FormatError(NervureError, ValueError):
    """Text or a file that is not in the right format; nothing of it was used."""


class NotSupported(NervureError, NotImplementedError):
    """A valid request that the chosen transformer cannot fulfil."""


class NodeNotFound(NotSupported):
    """An op that no device in its list implements."""


class NotShared(NervureError, BufferError):
    """Elements that cannot be handed to another library, or taken from it, in the requested way."""


class InUse(NervureError, RuntimeError):
    """A variable in use by a call that will not release it: the waiting, or changing, code runs inside that call."""


class ProcessLost(NervureError, ConnectionError):
    """Another process of the job that has ended, or is not reached any more, in the middle of common work."""


class NumericError(NervureError, FloatingPointError):
    """A NaN or a loss that is not finite, where the user asked for an error."""


class InternalError(Exception):
    """A bug of nervure. Please report it with the text."""


def notice(text: str) -> None:
    """Warns of something that needs no action; if warnings are errors, it is printed instead.

    The cause is no mistake of the program, so the notice must not end it.
    """
    try:
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    except RuntimeWarning:
        print(f"nervure: {text}", file=sys.stderr)


def warn_user(text: str, location: Location | None = None) -> None:
    """Warns that the user's own line (absent: the running one) may not do what was meant."""
    location = location or user_location()
    warnings.warn_explicit(text, UserWarning, location.file if location else "<unknown>",
                           location.line if location else 1)


def shown(value: object) -> str:
    """Returns a value as errors show it: its type, and the beginning of its text."""
    return f"{type(value).__name__} {value!r:.60}"


def did_you_mean(name: str, choices: Iterable[str], otherwise: str | None = None) -> str | None:
    """Returns a help line with the known names that are near misses, the nearest first; ``otherwise`` if there are
    none.

    >>> did_you_mean("hight", ["height", "width"])
    'did you mean height?'
    >>> did_you_mean("cov", ["cos", "convert"], "no name is near")
    'no name is near'
    """
    known = dict.fromkeys([str(choice) for choice in choices])
    missed = [(found, choice) for choice in known if (found := _miss(str(name), choice)) is not None]
    close = [choice for _, choice in sorted(missed, key=lambda entry: entry[0])][:3]
    return f"did you mean {' or '.join(close)}?" if close else otherwise


_SHORT, _LONG = 4, 8
"""Names with fewer letters than the first number admit no substituted letter; from the second number on, two slips
count as few.
"""


def _miss(name: str, choice: str) -> int | None:
    """Returns the distance of a name from the one that may have been meant; None if it is no near miss of it.

    A near miss is equal up to the case of letters and underscores; or has the same first words; or is equal after one
    slip (a letter too many, missing or wrong, or two neighbours exchanged), in long names two, but not in the first
    letter or the digits: fmax is no slip for max, nor int1 for int8.
    """
    own, other = [text.replace("_", "").lower() for text in (name, choice)]
    if own == other:
        return 0
    if own[:1] == other[:1] and sorted(filter(str.isdigit, own)) == sorted(filter(str.isdigit, other)):
        length = max(len(own), len(other))
        is_allowed = length >= _SHORT or len(own) != len(other) or sorted(own) == sorted(other)
        slips = _slips(own, other, 2 if length >= _LONG else 1) if is_allowed else None
        if slips is not None:
            return slips
    rest = choice[len(name):]
    begins = len(name) > _SHORT and choice.startswith(name) and (rest[0] == "_" or rest.isdigit() and name.isalpha())
    return _LONG if begins else None


def _slips(own: str, other: str, most: int) -> int | None:
    """Counts the slips of typing between two words (Damerau 1964), if they are ``most`` at most."""
    if abs(len(own) - len(other)) > most:
        return None
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(own, 1):
        oldest, before, row = before, row, [at]
        for there, wanted in enumerate(other, 1):
            slips = min(before[there] + 1, row[-1] + 1, before[there - 1] + (letter != wanted))
            if at > 1 < there and letter == other[there - 2] and wanted == own[at - 2]:
                slips = min(slips, oldest[there - 2] + 1)
            row.append(slips)
    return row[-1] if row[-1] <= most else None
