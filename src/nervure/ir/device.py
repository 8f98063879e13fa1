"""Devices: classes of tensors that say where elements lie and which transformer computes with them.

A device is a class; the front's class of tensors derives from ``Device``, and every class below that is one. What an op
shall run on is a list of them, in force where the op is built and kept with its provenance. Where none was in force the
op has no list, and costs nothing.

>>> class Paper(Device):
...     "Elements that are written down."
>>> with listed(DeviceList((Paper,), strict=False)) as chosen:
...     devices_in_force() is chosen
True
>>> devices_in_force() is None, Paper.__name__ in known_devices()
(True, True)

``implementations`` is the one table of what is given for an op class on a device beside the op's own meaning, and
``conversions`` that of how elements move between devices. Both are found by inheritance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from nervure.errors import NotSupported, WrongKind
from nervure.ir.kinds import Composite
from nervure.ir.op import Op
from nervure.ir.provenance import current_metadata, metadata
from nervure.types.dtype import DType
from nervure.types.frozen import refuse_setting
from nervure.types.ordered_arrays import flat

Element = bool | int | float | complex

_LIST = "nervure.devices"
"""The entry of an op's metadata that holds its list."""


class Facet(Enum):
    """Whether a tensor has numbers of its own, or is computed or given later.

    >>> nv.tensor([1.0]).facet is nv.Facet.EXIST
    True
    """

    EXIST = "exist"
    INPUT = "input"


class Device:
    """What a class of tensors says of the memory of its tensors. A subclass is a device, unless it says
    ``is_device=False``.

    ``transformer`` names the transformer that runs what is placed on the device; None, where the device is written in
    Python: then it runs what ``nv.implement`` gives it, and views. The hooks say how storage is made and read, and
    leave shapes, strides and offsets to nervure; storage is allocated for tensors whose ``facet`` is EXIST.
    ``rewrites`` are rules for ops that may run on the device: pairs of a pattern (``nervure.passes.pattern``) and a
    function of what it captures, which gives what replaces it.
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

    def allocate(self, shape: tuple[int, ...], dtype: DType, initial_element: Element | None = None,
                 vec: object = None) -> object:
        """Storage of one dimension for the elements of ``shape``, all ``initial_element`` (None: anything), or
        ``vec`` as it is.
        """
        raise _unwritten(self, "allocate", "shape, dtype, initial_element, vec")

    def vref(self, i: int) -> Element:
        """Element ``i`` of the storage, a Python number."""
        raise _unwritten(self, "vref", "i")

    def set_vref(self, i: int, value: Element) -> None:
        """Sets element ``i`` of the storage."""
        raise _unwritten(self, "set_vref", "i, value")

    def finalizer(self) -> None:
        """Called once for storage that nervure made and lets go of."""

    @classmethod
    def backend_state(cls) -> str:
        """The device's line in ``nv.show_backends()``."""
        return "no status"

    @classmethod
    def missing(cls) -> str | None:
        """Why the device cannot be used on this machine; None where it can."""
        return None

    @classmethod
    def admits(cls, op: Op) -> bool:
        """Whether it takes an op at all, of a class that it implements."""
        return True


class ArrayStorage(Device, is_device=False):
    """The hooks of devices whose storage is a flat NumPy array."""

    __slots__ = ()
    storage: np.ndarray

    def allocate(self, shape: tuple[int, ...], dtype: DType, initial_element: Element | None = None,
                 vec: object = None) -> object:
        if vec is not None:
            return vec
        count = math.prod(shape)
        return np.empty(count, dtype.numpy) if initial_element is None else np.full(count, initial_element, dtype.numpy)

    def vref(self, i: int) -> Element:
        found: Element = flat(self.storage)[i].item()
        return found

    def set_vref(self, i: int, value: Element) -> None:
        flat(self.storage)[i] = value


def keeps_arrays(device: type[Device]) -> bool:
    """Whether storage on a device is made as that of arrays is, so that any array of the elements will do."""
    return device.allocate is ArrayStorage.allocate


def _unwritten(tensor: Device, hook: str, parameters: str) -> NotSupported:
    name = type(tensor).__name__
    return NotSupported(f"{name} does not say how storage is {'made' if hook == 'allocate' else 'used'}", op=name,
                        operand=hook, got=f"no {hook}", expected=f"a method {hook}(self, {parameters})",
                        help="class MyTensor(nv.CPUTensor) inherits the hooks of the device for native code")


_devices: dict[str, type[Device]] = {}
_native: dict[str, type[Device]] = {}


def known_devices() -> dict[str, type[Device]]:
    """All devices by name, in the order in which they were declared; of one name the latest."""
    return dict(_devices)


def native_device(transformer: str) -> type[Device] | None:
    """The first device that a transformer runs, which others of that transformer derive from."""
    return _native.get(transformer)


# -- the list in force -----------------------------------------------------------------------------------------------


class DeviceList(NamedTuple):
    """Devices by priority, and whether elements may move between them only as declared."""

    devices: tuple[type[Device], ...]
    strict: bool = False

    def __setattr__(self, name: str, value: object) -> None:
        refuse_setting(self, name, value)


_was_any_listed = False  # as long as no list was ever in force, nobody looks for one


@contextmanager
def listed(devices: DeviceList) -> Iterator[DeviceList]:
    """The ops that are built inside, on this thread, carry that list."""
    global _was_any_listed
    _was_any_listed = True
    with metadata(**{_LIST: devices}):
        yield devices


def devices_in_force() -> DeviceList | None:
    """The list that an op would carry that is built now."""
    found = current_metadata().get(_LIST)
    assert found is None or isinstance(found, DeviceList)
    return found


def devices_of(op: Op) -> DeviceList | None:
    """The list that an op was built under; None where there was none."""
    found = op.provenance.metadata.get(_LIST)
    assert found is None or isinstance(found, DeviceList)
    return found


# -- what is given for an op on a device -----------------------------------------------------------------------------


class Implementation(NamedTuple):
    """A function for an op: called in each run with the op, its operands and its results ("runtime"), or once,
    with the namespace of scalars and a scalar for each operand ("generate").
    """

    function: Callable[..., object]
    mode: Literal["runtime", "generate"]

    def __setattr__(self, name: str, value: object) -> None:
        refuse_setting(self, name, value)


implementations: dict[tuple[type[Op], type[Device]], Implementation] = {}
conversions: dict[tuple[type[Device], type[Device]], Callable[..., object]] = {}


def implementation_of(op_class: type[Op], device: type[Device]) -> Implementation | None:
    """What is given for an op class on a device or the nearest one that it inherits from."""
    if not implementations:
        return None
    for base in device.__mro__:
        found = implementations.get((op_class, base))
        if found is not None:
            return found
    return None


def conversion_of(source: type[Device], target: type[Device]) -> Callable[..., object] | None:
    """The declared conversion: of the nearest devices that the two inherit from, the source's first."""
    for left in source.__mro__:
        for right in target.__mro__:
            found = conversions.get((left, right))
            if found is not None:
                return found
    return None


def is_extended(device: type[Device], operations: Iterable[Op]) -> bool:
    """Whether something is given on a device for one of these ops, or for what one may decompose into; or rules."""
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
    """Whether some op was built under a list of devices."""
    return _was_any_listed and any([_LIST in op.provenance.metadata for op in operations])


def names_of(devices: Sequence[type[Device]]) -> str:
    """The names of devices, for people."""
    return ", ".join([device.__name__ for device in devices])
