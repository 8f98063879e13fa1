"""Argument parsing: integers, switches, lists and axes as users pass them, read once and in one way.

>>> import nervure as nv
>>> integer(3, "split", "parts"), members((1, 2), "sequential", "members"), real(3, "dropout", "rate")
(3, [1, 2], 3.0)
>>> as_integer(True), as_integer("3")
(None, None)

An axis is given as an Axis, by name, by position, or in the notation of ``make_axes``:

>>> x = nv.placeholder("N=2, H=3, W=4")
>>> positions_of(x, "H", "sum"), positions_of(x, [-1, 0], "sum"), positions_of(x, x.axes[1:], "sum")
((1,), (2, 0), (1, 2))
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from nervure.errors import AxisMismatch, IndexOutOfRange, InvalidArgument, NervureError, WrongKind, did_you_mean, shown
from nervure.front.tensor import Number, Tensor, is_scalar
from nervure.front.traced_numbers import TracedNumber, value_needed
from nervure.support.plurals import plural
from nervure.types.axes import Axes, AxesLike, make_axes
from nervure.types.axis import Axis, same_role


def as_integer(value: Any) -> int | None:
    """Returns the integer that a value stands for, or None; truth values, floats and what has axes stand for none."""
    if isinstance(value, bool):
        return None
    try:
        return None if getattr(value, "ndim", 0) else operator.index(value)
    except NervureError:  # a tensor without a value raises an error of its own
        raise
    except Exception:  # a foreign object may raise anything
        return None


def integer(value: object, op: str, operand: str, expected: str = "an integer", help: str | None = None,
            least: int | None = None) -> int:
    """Returns the integer that a value stands for; WrongKind for other values, which names ``op``, ``operand`` and
    ``expected``, and InvalidArgument for integers below ``least``.
    """
    number = as_integer(value)
    if number is None:
        raise WrongKind(f"{operand} is an integer", op=op, operand=operand, got=shown(value), expected=expected,
                        help=help)
    if least is not None and number < least:
        raise InvalidArgument(f"{operand} is {least} or more", op=op, operand=operand, got=number,
                              expected=f"{least} or more", help=help or f"{least} is the smallest that there is")
    return number


def real(value: Any, op: str, operand: str, expected: str = "a number",
         help: str = "tensors are computed by x.item()") -> float:
    """Returns the real number that a value stands for, or raises WrongKind, which names ``op``, ``operand`` and
    ``expected``.
    """
    is_number = isinstance(value, (int, float, np.floating, np.integer, np.bool_)) or (
        isinstance(value, np.generic) and value.dtype.kind == "V" and hasattr(value, "__float__"))  # ml_dtypes' floats
    if not is_number or isinstance(value, np.timedelta64):
        _require_value(value)
        raise WrongKind(f"{operand} is a real number", op=op, operand=operand, got=shown(value), expected=expected,
                        help=help)
    return float(value)


def number(value: object, op: str, operand: str, help: str) -> Number:
    """Returns a number of any kind as it is, or raises WrongKind with a ``help``, which names ``op`` and ``operand``.
    """
    if not is_scalar(value):
        _require_value(value)
        raise WrongKind(f"{operand} is a number", op=op, operand=operand, got=shown(value), expected="a number",
                        help=help)
    return value


def _require_value(value: object) -> None:
    """Raises WrongKind, which names ``static=``, for a number that a traced function is given."""
    if isinstance(value, TracedNumber):
        raise value_needed(value, "float")


def fraction(value: Any, op: str, operand: str, help: str) -> float:
    """Returns a number from 0 to 1, such as a probability; WrongKind or InvalidArgument with a ``help`` for any other
    ``value``.
    """
    number = real(value, op, operand, "0 to 1", help)
    if not 0 <= number <= 1:
        raise InvalidArgument(f"{operand} is from 0 to 1", op=op, operand=operand, got=value, expected="0 to 1",
                              help=help)
    return number


def truth(value: object, op: str, operand: str) -> bool:
    """Reads a switch; WrongKind for anything but a truth value or an integer."""
    if not isinstance(value, (bool, int, np.bool_)):
        _require_value(value)
        raise WrongKind(f"{operand} is a switch", op=op, operand=operand, got=shown(value), expected="True or False",
                        help=f"write {operand}=True")
    return bool(value)


def one_of(value: object, words: Iterable[str], op: str, operand: str, help: str | None = None) -> str:
    """Returns a value that is one of some ``words``; InvalidArgument for any other, whose help is a word that is near,
    or else ``help``.

    >>> one_of("max", ("max", "avg"), "pooling", "kind")
    'max'
    """
    known = [*words]
    if not isinstance(value, str) or value not in known:
        *others, last = map(repr, known)
        got = f"{value!r:.60}" if isinstance(value, str) else shown(value)
        raise InvalidArgument(f"unknown {operand}", op=op, operand=operand, got=got,
                              expected=f"{', '.join(others)} or {last}", help=did_you_mean(str(value), known, help))
    return value


def members(value: object, op: str, operand: str, expected: str = "a list") -> list[object]:
    """Returns the entries of a list, tuple or other iterable in order; WrongKind, which names ``operand``, for any
    other value.
    """
    try:
        if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
            return list(value)
    except NervureError:
        raise
    except Exception:  # a foreign object may raise anything; an array without dimensions raises, too
        pass
    raise WrongKind(f"{operand} is a list", op=op, operand=operand, got=shown(value), expected=expected,
                    help="write [x] for one alone")


# -- axes ----------------------------------------------------------------------------------------------------


def require_function(function: object, op: str, operand: str = "fun", takes: Sequence[str] | None = None) -> None:
    """Raises WrongKind for an ``operand`` of ``op`` that cannot be called, or not with arguments as ``takes`` names
    them.
    """
    if not callable(function):
        raise WrongKind(f"{op} takes a function", op=op, operand=operand, got=shown(function), expected="a callable",
                        help="give the function itself, rather than a tensor that is built already")
    if takes is None:
        return
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # what is written in C may not say what it takes
        return
    try:
        signature.bind(*takes)
    except TypeError:
        name = getattr(function, "__name__", type(function).__name__)
        raise WrongKind(f"{operand} takes other arguments than it is given", op=op, operand=operand,
                        got=f"{name}{signature}", expected=f"{operand}({', '.join(takes)})",
                        help=f"it is called with {len(takes) or 'no'} {plural(len(takes), 'argument')}; a default "
                             "or *rest takes others") from None


def position_of(x: Tensor, axis: object, op: str) -> int:
    """Returns the position of one axis, given as an Axis, a name or a position (negative: from the end)."""
    if isinstance(axis, Axis):
        return _find(x, axis, op)
    if isinstance(axis, str):
        try:
            return x.axes.index(x.axes.find_by_name(axis))
        except NervureError as error:
            raise AxisMismatch(error.message, op=op, got=axis, expected=f"one of {x.axes}",
                               help=error.help or "print(x.axes) shows the axes of a tensor") from None
    position = as_integer(axis)
    if position is None:
        raise WrongKind("an axis is given as an Axis, a name or a position", op=op, got=f"{axis!r:.60}",
                        expected=f"one of {x.axes}", help='an axis of x, "H", or -1 for the last')
    if not -x.ndim <= position < x.ndim:
        raise IndexOutOfRange(f"there is no axis {position}", op=op, got=position,
                              expected=f"{-x.ndim} to {x.ndim - 1}" if x.ndim else "none: the tensor has no axes",
                              help="axes count from 0; negative positions count from the end")
    return position % x.ndim


def positions_of(x: Tensor, axes: object, op: str) -> tuple[int, ...]:
    """Returns the positions of one axis or several, in the order given; InvalidArgument if one is named twice.

    A string is a name, or axes with their lengths: ``"H"``, ``"H=3, W=4"``.
    """
    if isinstance(axes, str) and "=" in axes and axes not in x.axes.names:
        axes = make_axes(axes)
    entries = members(axes, op, "axes") if _is_list(axes) else [axes]
    positions = tuple([position_of(x, entry, op) for entry in entries])
    if len(set(positions)) != len(positions):
        raise InvalidArgument("an axis is given twice", op=op, got=", ".join(map(str, entries)),
                              expected="each axis once", help="leave out the second")
    return positions


def either(axes: AxesLike | None, axis: AxesLike | None, op: str, name: str) -> AxesLike | None:
    """Returns the axes given as ``name=`` or by NumPy's ``axis=``; InvalidArgument if both are given."""
    if axes is not None and axis is not None:
        raise InvalidArgument(f"axis= and {name}= say the same", op=op, help="give one of them", got="both",
                              expected="one of them")
    return axes if axis is None else axis


def _is_list(axes: object) -> bool:
    return isinstance(axes, Axes) or (isinstance(axes, Iterable) and not isinstance(axes, (str, bytes, Axis, Tensor))
                                         and getattr(axes, "shape", None) != ())


def _find(x: Tensor, axis: Axis, op: str) -> int:
    """Finds the axis itself, or the one of its class, offset and length; AxisMismatch if there is none."""
    for position, own in enumerate(x.axes):
        if own is axis:
            return position
    try:
        return x.axes.index(axis)
    except AxisMismatch as error:
        hint = next((f"the lengths differ: {own}" for own in x.axes if same_role(own, axis)), error.help)
        raise AxisMismatch(f"the tensor has no axis {axis.label}", op=op, got=str(axis), expected=f"one of {x.axes}",
                           help=hint) from None


def not_into(out: object, op: str) -> WrongKind:
    """Returns the error for an array to write into."""
    return WrongKind("a tensor is not computed into an array", op=op, operand="out", got=type(out).__name__,
                     expected="no out=", help="the result is a new tensor; nv.assign writes variables")
