"""Records of places beyond their values: device, gradient, optimiser, and the module that holds the place.

Few tensors have any of these, so they share one record, reached from the variable below the tensor and made when it is
first asked for.

>>> import nervure as nv
>>> w = nv.variable("F=3")
>>> record_of(w).slot = "weights"
>>> record_of(w).slot, record_of(w).gradient
('weights', None)
"""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakKeyDictionary

import numpy as np

from nervure.errors import WrongKind
from nervure.front.creation import AssignableTensorOp
from nervure.front.input_memory import DeviceBlock, InputMemory
from nervure.ir.op import Value
from nervure.types.layout import Layout


class PlaceRecord:
    """The record of one place. ``device`` is a device class (None: the first of the list in force), ``gradient`` a
    persistent tensor of the place's type, ``optimizer`` the optimiser hooked to it. ``updated_by`` is the optimiser
    that last made an update of it, ``owner`` the module that holds it, under the name ``slot``; ``holders`` are the
    modules that have held it since. ``expression`` is the expression that the place was computed from, ``memory`` that
    of an input.
    """

    __slots__ = ("device", "expression", "gradient", "holders", "memory", "optimizer", "owner", "slot", "updated_by")
    device: type | None
    expression: Value | None
    gradient: AssignableTensorOp | None
    holders: WeakKeyDictionary[object, None] | None
    memory: InputMemory | None
    optimizer: object
    owner: object
    slot: str | None
    updated_by: object

    def __init__(self) -> None:
        for name in self.__slots__:
            setattr(self, name, None)


def record_of(place: AssignableTensorOp) -> PlaceRecord:
    """Returns the record of a place; WrongKind for a constant, which is no place."""
    variable = place.variable
    if variable is None:
        raise WrongKind("a constant has no gradient, optimiser or owner", op="record", got=repr(place),
                        expected="a variable, a persistent tensor or an input", help="nv.variable makes one")
    if variable.record is None:
        variable.record = PlaceRecord()
    found: PlaceRecord = variable.record
    return found


def known_record(x: object) -> PlaceRecord | None:
    """Returns the record of a place that already has one; None for all other tensors."""
    variable = x.variable if isinstance(x, AssignableTensorOp) else None
    found: PlaceRecord | None = None if variable is None else variable.record
    return found


def memory_order(place: AssignableTensorOp) -> tuple[int, ...]:
    """Returns the axes of a place from the slowest to the fastest in its memory."""
    order = None if place.variable is None else place.variable.type.order
    if isinstance(order, Layout):
        return tuple(sorted(range(place.ndim), key=lambda d: -order.strides[d]))
    return tuple(range(place.ndim)) if order is None else order


def input_memory(place: AssignableTensorOp,
                 allocate: Callable[[tuple[int, ...], bool], DeviceBlock] | None = None) -> InputMemory:
    """Returns the memory of an input, made when it is first asked for; ``allocate`` makes that of a device."""
    record = record_of(place)
    if record.memory is None:
        record.memory = InputMemory(memory_order(place), allocate)
    return record.memory


def held_value(x: object) -> np.ndarray | None:
    """Returns the value that an input holds between runs; None if there is none, and for other tensors."""
    record = known_record(x)
    return None if record is None or record.memory is None else record.memory.array
