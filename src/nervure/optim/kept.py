"""Slots: the persistent tensors of each parameter, made at the first use, which live as long as the parameter.

>>> import nervure as nv
>>> kept = Kept(lambda parameter: {"m": nv.persistent_tensor(parameter.axes)})
>>> w = nv.variable("F=3")
>>> kept.of(w), kept.of(w) is kept.of(w), kept.parameters() == [w]
({'m': <persistent f32[F=3]>}, True, True)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeGuard, cast
from weakref import WeakKeyDictionary

from nervure.errors import InvalidArgument, WrongKind, shown
from nervure.front.argument_parsing import members
from nervure.front.creation import AssignableTensorOp, handle_of, persistent_tensor
from nervure.front.tensor import Tensor
from nervure.ir.variable import Variable
from nervure.types.dtype import DType

Slots = dict[str, AssignableTensorOp]
"""The slots of one parameter by name, always in one order."""


class Kept:
    """Slots by parameter; ``make`` creates those of a new one."""

    def __init__(self, make: Callable[[AssignableTensorOp], Slots]) -> None:
        self._make = make
        self._slots: WeakKeyDictionary[Variable, Slots] = WeakKeyDictionary()

    def of(self, parameter: AssignableTensorOp) -> Slots:
        """Returns the slots of a parameter."""
        variable = variable_of(parameter)
        if variable not in self._slots:
            self._slots[variable] = self._make(parameter)
        return self._slots[variable]

    def parameters(self) -> list[AssignableTensorOp]:
        """Lists the parameters that have slots, in the order of their first use."""
        return [handle_of(variable) for variable in self._slots]


def variable_of(parameter: object) -> Variable:
    """Returns the variable below a parameter that can be updated; WrongKind for all else."""
    variable = parameter.variable if isinstance(parameter, AssignableTensorOp) else None
    if variable is None or not variable.persistent:
        raise WrongKind("only a variable is updated", op="update", operand="parameter", got=shown(parameter),
                        expected="a variable", help="nv.variable makes one")
    if not variable.type.dtype.is_float:
        raise WrongKind("only a real variable is updated", op="update", operand="parameter", got=repr(parameter),
                        expected="a float element type", help="as in dtype=nv.float32")
    return variable


def variables_in(given: object, op: str, operand: str) -> list[AssignableTensorOp]:
    """Returns the variables of the list ``given``; WrongKind for all else, such as a module, or one variable alone.
    InvalidArgument for a variable that is in it twice.
    """
    is_one = isinstance(given, Tensor)
    if is_one or callable(getattr(given, "parameters", None)):
        raise WrongKind(f"{operand} is a list", op=op, operand=operand, got=shown(given),
                        expected="a list of variables",
                        help="write [w] for one alone" if is_one else "write m.parameters() for a module m")
    places = cast("list[AssignableTensorOp]", members(given, op, operand, "a list of variables"))
    seen = set[Variable]()
    for place in places:
        variable = variable_of(place)
        if variable in seen:
            raise InvalidArgument("a variable is in the list twice", op=op, operand=place.name or operand,
                                  got=repr(place), expected="each variable once",
                                  help="list(dict.fromkeys(variables)) leaves it out where two modules share it")
        seen.add(variable)
    return places


def is_kept(value: object) -> TypeGuard[AssignableTensorOp]:
    """Whether a value is a place that lasts between calls, so that it can be set and saved."""
    return isinstance(value, AssignableTensorOp) and value.variable is not None and value.variable.persistent


def kept_of(values: Mapping[str, Tensor | None]) -> Slots:
    """Returns those of the numbers of an optimiser that are slots."""
    return {name: value for name, value in values.items() if is_kept(value)}


def slot_like(parameter: AssignableTensorOp, name: str, dtype: DType | None = None) -> AssignableTensorOp:
    """Makes a persistent tensor of zeros with the axes of a parameter, and its element type unless ``dtype`` is given.
    """
    axes = parameter.axes if parameter.is_named else parameter.shape
    made = persistent_tensor(axes, dtype=parameter.dtype if dtype is None else dtype)
    return made.named(f"{parameter.name or 'variable'}_{name}")
