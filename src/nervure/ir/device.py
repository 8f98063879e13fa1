"""Devices: classes of tensors that define where elements lie and which transformer computes with them.

A device is a class; the front's class of tensors derives from ``Device``, and every class below that is one. A list of
devices is in force where an op is built, and is kept with its provenance: the op shall run on one of them. Without a
list in force, an op has none, and no cost.

>>> class Paper(Device):
...     "Elements that are written down."
>>> with listed(DeviceList((Paper,), strict=False)) as chosen:
...     devices_in_force() is chosen
True
>>> devices_in_force() is None, Paper.__name__ in known_devices()
(True, True)

``implementations`` is the one table of functions that implement an op class on a device, beside the op's own meaning,
and ``conversions`` that of functions that move elements between devices. Both are searched along the inheritance of
devices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from types import MappingProxyType
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from nervure.errors import NotSupported, WrongKind
from nervure.ir.kinds import Composite
from nervure.ir.notation import Number
from nervure.ir.op import Op
from nervure.ir.provenance import current_metadata, metadata
from nervure.types.dtype import DType
from nervure.types.frozen import refuse_setting
from nervure.types.ordered_arrays import flat

_LIST = "nervure.devices"
"""The entry of an op's metadata that holds its list."""
_NOTHING: Mapping[str, object] = MappingProxyType({})


class Facet(Enum):
    """Whether a tensor has numbers of its own, or is computed or given later.

    >>> nv.tensor([1.0]).facet is nv.Facet.EXIST
    True
    """

    EXIST = "exist"
    INPUT = "input"


class Device:
    """The memory of a class of tensors. A subclass is a device, unless it is declared with ``is_device=False``.

    ``transformer`` names the transformer that runs the ops placed on the device, or is None for a device that is
    written in Python: it runs views, and the functions that ``nv.implement`` gives it. The hooks define how storage is
    made and read, and leave shapes, strides and offsets to nervure; storage is allocated for tensors whose ``facet``
    is EXIST. ``rewrites`` are rules for ops that may run on the device: pairs of a pattern
    (``nervure.passes.pattern``) and a function of its captures, which returns the replacement.
    """

    __slots__ = ()
    transformer: ClassVar[str | None] = None
    rewrites: ClassVar[Sequence[tuple[object, Callable[..., object]]]] = ()
    is_device: ClassVar[bool] = False

    def __init_subclass__(cls, is_device: bool = True) -> None:
        super().__init_subclass__()
        cls.is_device = is_device
        if not is_device:
            return
        if vars(cls).get("__slots__"):
            raise WrongKind("a device has no slots of its own", op=cls.__name__, operand="__slots__",
                            got=vars(cls)["__slots__"], expected="none: what a tensor holds is its storage",
                            help="allocate may give any object")
        _devices[cls.__name__] = cls
        if isinstance(vars(cls).get("transformer"), str):
            _native.setdefault(vars(cls)["transformer"], cls)

    def allocate(self, shape: tuple[int, ...], dtype: DType, initial_element: Number | None = None,
                 vec: object = None) -> object:
        """Allocates storage of one dimension for the elements of ``shape``, filled with ``initial_element`` (None:
        undefined), or uses ``vec`` as it is.
        """
        raise _unwritten(self, "allocate", "shape, dtype, initial_element, vec")

    def vref(self, i: int) -> Number:
        """Returns element ``i`` of the storage, a Python number."""
        raise _unwritten(self, "vref", "i")

    def set_vref(self, i: int, value: Number) -> None:
        """Sets element ``i`` of the storage."""
        raise _unwritten(self, "set_vref", "i, value")

    def finalizer(self) -> None:
        """Called once for storage that nervure made and no longer uses."""

    @classmethod
    def backend_state(cls) -> str:
        """Returns the device's line in ``nv.show_backends()``."""
        return "no status"

    @classmethod
    def missing(cls) -> str | None:
        """Returns the reason why the device cannot be used on this machine; None if it can."""
        return None

    @classmethod
    def admits(cls, op: Op) -> bool:
        """Whether the device takes this op, of a class that it implements."""
        return True


class ArrayStorage(Device, is_device=False):
    """The hooks of devices whose storage is a flat NumPy array."""

    __slots__ = ()
    storage: np.ndarray

    def allocate(self, shape: tuple[int, ...], dtype: DType, initial_element: Number | None = None,
                 vec: object = None) -> object:
        if vec is not None:
            return vec
        count = math.prod(shape)
        return np.empty(count, dtype.numpy) if initial_element is None else np.full(count, initial_element, dtype.numpy)

    def vref(self, i: int) -> Number:
        found: Number = flat(self.storage)[i].item()
        return found

    def set_vref(self, i: int, value: Number) -> None:
        flat(self.storage)[i] = value


def keeps_arrays(device: type[Device]) -> bool:
    """Whether storage on a device is made like that of arrays, so that any array of the elements will do."""
    return device.allocate is ArrayStorage.allocate


def _unwritten(tensor: Device, hook: str, parameters: str) -> NotSupported:
    name = type(tensor).__name__
    return NotSupported(f"{name} does not say how storage is {'made' if hook == 'allocate' else 'used'}", op=name,
                        operand=hook, got=f"no {hook}", expected=f"a method {hook}(self, {parameters})",
                        help="class MyTensor(nv.CPUTensor) inherits the hooks of the device for native code")


_devices: dict[str, type[Device]] = {}
_native: dict[str, type[Device]] = {}


def known_devices() -> dict[str, type[Device]]:
    """Returns all devices by name, in the order of their declaration; among devices of one name the latest."""
    return dict(_devices)


def native_device(transformer: str) -> type[Device] | None:
    """Returns the first device that a transformer runs, from which its other devices derive."""
    return _native.get(transformer)


# -- the list in force -----------------------------------------------------------------------------------------------


class DeviceList(NamedTuple):
    """Devices by priority, and whether elements may move between them only as declared."""

    devices: tuple[type[Device], ...]
    strict: bool = False

    def __setattr__(self, name: str, value: object) -> None:
        refuse_setting(self, name, value)


_was_any_listed = False  # as long as no list was ever in force, none is looked up


@contextmanager
def listed(devices: DeviceList) -> Iterator[DeviceList]:
    """Gives the ops that are built inside, on this thread, that list."""
    global _was_any_listed
    _was_any_listed = True
    with metadata(**{_LIST: devices}):
        yield devices


def devices_in_force() -> DeviceList | None:
    """Returns the list that an op built now would get."""
    found = current_metadata().get(_LIST)
    assert found is None or isinstance(found, DeviceList)
    return found


def metadata_of_devices() -> Mapping[str, object]:
    """Returns the metadata of an op that is read now: the list in force alone."""
    found = devices_in_force() if _was_any_listed else None
    return _NOTHING if found is None else {_LIST: found}


def devices_of(op: Op) -> DeviceList | None:
    """Returns the list that an op was built under; None if there was none."""
    found = op.provenance.metadata.get(_LIST)
    assert found is None or isinstance(found, DeviceList)
    return found


# -- implementations of ops on devices ---------------------------------------------------------------------------------


class Implementation(NamedTuple):
    """A function that implements an op. A "runtime" one is called in each run with the op, its operands and its
    results. A "generate" one is called once, with the namespace of scalars and a scalar for each operand.
    """

    function: Callable[..., object]
    mode: Literal["runtime", "generate"]

    def __setattr__(self, name: str, value: object) -> None:
        refuse_setting(self, name, value)


implementations: dict[tuple[type[Op], type[Device]], Implementation] = {}
conversions: dict[tuple[type[Device], type[Device]], Callable[..., object]] = {}


def implementation_of(op_class: type[Op], device: type[Device]) -> Implementation | None:
    """Returns the implementation of an op class on a device, or on the nearest device that it inherits from."""
    if not implementations:
        return None
    for base in device.__mro__:
        found = implementations.get((op_class, base))
        if found is not None:
            return found
    return None


def conversion_of(source: type[Device], target: type[Device]) -> Callable[..., object] | None:
    """Returns the declared conversion of the nearest devices that the two inherit from, the source's first."""
    for left in source.__mro__:
        for right in target.__mro__:
            found = conversions.get((left, right))
            if found is not None:
                return found
    return None


def is_extended(device: type[Device], operations: Iterable[Op]) -> bool:
    """Whether a device has rewrites, or implements one of these ops or an op that one may decompose into."""
    if device.rewrites:
        return True
    given = {op_class for op_class, other in implementations if issubclass(device, other)}
    if not given:
        return False
    is_inside = any([_is_built_in(op_class) for op_class in given])
    return any([type(op) in given or (isinstance(op, Composite) and (is_inside or not _is_built_in(type(op))))
                for op in operations])


def _is_built_in(op_class: type[Op]) -> bool:
    return op_class.__module__.startswith("nervure.")


def are_listed(operations: Iterable[Op]) -> bool:
    """Whether an op was built under a list of devices."""
    return _was_any_listed and any([_LIST in op.provenance.metadata for op in operations])


def names_of(devices: Sequence[type[Device]]) -> str:
    """Returns the names of devices, for people."""
    return ", ".join([device.__name__ for device in devices])
