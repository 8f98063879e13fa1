"""What users pass for integers, switches and lists, read once and in one way.

>>> integer(3, "split", "parts"), members((1, 2), "sequential", "members")
(3, [1, 2])
>>> as_integer(True), as_integer("3")
(None, None)
>>> real(3, "dropout", "rate")
3.0
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from nervure.errors import NervureError, WrongKind


def as_integer(value: Any) -> int | None:
    """The integer that a value stands for, or None: a truth value or a float stands for none."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except NervureError:  # a tensor that has no value yet says so itself
        raise
    except Exception:  # whatever a foreign object raises
        return None


def integer(value: object, op: str, operand: str, expected: str = "an integer", help: str | None = None) -> int:
    """The integer that a value stands for; WrongKind if it stands for none."""
    number = as_integer(value)
    if number is None:
        raise WrongKind(f"{operand} is an integer", op=op, operand=operand, got=shown(value), expected=expected,
                        help=help)
    return number


def real(value: Any, op: str, operand: str, expected: str = "a number") -> float:
    """The real number that a value stands for; WrongKind if it stands for none."""
    is_number = isinstance(value, (int, float, np.floating, np.integer, np.bool_)) or (
        isinstance(value, np.generic) and value.dtype.kind == "V" and hasattr(value, "__float__"))  # ml_dtypes' floats
    if not is_number or isinstance(value, np.timedelta64):
        raise WrongKind(f"{operand} is a real number", op=op, operand=operand, got=shown(value), expected=expected,
                        help="tensors are computed by x.item()")
    return float(value)


def truth(value: object, op: str, operand: str) -> bool:
    """A switch; WrongKind for anything but a truth value or an integer."""
    if not isinstance(value, (bool, int, np.bool_)):
        raise WrongKind(f"{operand} is a switch", op=op, operand=operand, got=shown(value), expected="True or False",
                        help=f"write {operand}=True")
    return bool(value)


def members(value: object, op: str, operand: str, expected: str = "a list") -> list[object]:
    """The entries of a list, tuple or other iterable, in its order; WrongKind for what has none."""
    try:
        if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
            return list(value)
    except NervureError:
        raise
    except Exception:  # whatever a foreign object raises; an array without dimensions, too
        pass
    raise WrongKind(f"{operand} is a list", op=op, operand=operand, got=shown(value), expected=expected,
                    help="write [x] for one alone")


def shown(value: object) -> str:
    """A value as errors show it: its type, and the beginning of its text."""
    return f"{type(value).__name__} {value!r:.60}"
