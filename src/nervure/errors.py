"""Exceptions with fields: a ``NervureError`` is something that a user can fix, an ``InternalError`` is ours.

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
    """A place in the user's own source: the file and the line of the call that led to us."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


_new = tuple.__new__  # half the time of calling the class, which every node would
_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STANDARD = tuple([sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib")])
_INSTALLED = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)


class _Files(dict[str, bool]):
    """Whether a file is the user's own: neither of this package nor of Python itself, which may call us in between."""

    def __missing__(self, file: str) -> bool:
        is_standard = file.startswith(_STANDARD) and not any([part in file for part in _INSTALLED])
        self[file] = found = not (file.startswith((_PACKAGE, "<frozen ")) or is_standard)
        return found


_is_users = _Files()


def user_location() -> Location | None:
    """The innermost line of the user's own, or None when there is none (an embedded interpreter)."""
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


class Parts(TypedDict, total=False):
    """The parts of an error but for the operation: what ``op.fail(kind, message, **parts)`` takes."""

    operand: str | int | None
    got: object
    expected: object
    location: object
    help: str | None


class NervureError(Exception):
    """Something in the user's program that the user can fix.

    ``op`` names the operation, ``operand`` which of its inputs, ``got`` and ``expected`` what was found and
    what would do, ``location`` the user's file and line, ``help`` what to do about it, ``module`` the innermost
    module whose forward was under way, by its path in the outermost one. A part that makes no sense for an error is
    None.

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
        """This error with what a caller knows and its raiser did not: the operation, and other parts."""
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
    """A text without line breaks, as tensors and arrays have when they show their elements."""
    return " ".join(text.split()) if "\n" in text else text


class InvalidArgument(NervureError, ValueError):
    """An argument of the right kind with a value that cannot be used."""


class WrongKind(NervureError, TypeError):
    """An object of the wrong kind where another kind is needed."""


class ShapeMismatch(NervureError, ValueError):
    """Shapes that do not fit each other."""


class DtypeMismatch(NervureError, ValueError):
    """Element types that do not fit each other."""


class AxisMismatch(NervureError, ValueError):
    """Axes that do not match."""


class IndexOutOfRange(NervureError, IndexError):
    """An index outside its axis, found when built or while running; nothing has been changed."""


class Immutable(NervureError, AttributeError):
    """A part of something that never changes was set. It has not been changed."""


class UnknownName(NervureError, AttributeError):
    """A name that there is not; the help says what does the same here, if it is one that people know from elsewhere."""


class FormatError(NervureError, ValueError):
    """Text or a file that is not what it should be; nothing of it was used."""


class NotSupported(NervureError, NotImplementedError):
    """A valid request that the chosen transformer cannot fulfil."""


class NodeNotFound(NotSupported):
    """An op that no device of the list implements under which it was built."""


class NotShared(NervureError, BufferError):
    """Elements that cannot be handed to another library, or taken from it, in the way that was asked for."""


class InUse(NervureError, RuntimeError):
    """A variable that another call has not let go of, and would not: it was waited for, or changed, inside of it."""


class NumericError(NervureError, FloatingPointError):
    """A NaN that the user asked to be told about."""


class InternalError(Exception):
    """A mistake of ours. Please report it with the text."""


def notice(text: str) -> None:
    """Tells of something that needs no answer, as a warning; where warnings are errors it is printed instead.

    What it tells of is no mistake of the program's, so it ends none.
    """
    try:
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    except RuntimeWarning:
        print(f"nervure: {text}", file=sys.stderr)


def warn_user(text: str, location: Location | None = None) -> None:
    """Warns of something that the user's own line (absent: the one that runs) may not have meant."""
    location = location or user_location()
    warnings.warn_explicit(text, UserWarning, location.file if location else "<unknown>",
                           location.line if location else 1)


def did_you_mean(name: str, choices: Iterable[str], otherwise: str | None = None) -> str | None:
    """A help line with the known names that are near misses, the nearest first; ``otherwise`` where there are none.

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
"""In names of fewer letters than the first no letter stands for another one; from the second on two slips are few."""


def _miss(name: str, choice: str) -> int | None:
    """How far a name is from the one that may have been meant; None where it is no near miss of it.

    A near miss is the same but for the case of letters and for underscores; the first words of it; or the same after
    one slip (a letter too much, too few or another, or two neighbours exchanged), in long names two, in neither the
    first letter nor the digits: fmax is no slip for max, nor int1 for int8.
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
    """The slips of typing between two words (Damerau 1964), where they are ``most`` at most."""
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
