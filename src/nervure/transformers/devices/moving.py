"""Moves of elements from one device to another.

Storage is passed as it is if one device inherits from the other; a declared conversion (``nv.converts``) applies next;
then the buffer protocol, if both storages offer it; else elements move one by one, with a warning. A strict list of
devices takes only the first two ways.

>>> import nervure as nv
>>> class Lists(nv.AbstractTensor):
...     def allocate(self, shape, dtype, initial_element=None, vec=None):
...         return [initial_element] * math.prod(shape) if vec is None else vec
...     def vref(self, i):
...         return self.storage[i]
...     def set_vref(self, i, value):
...         self.storage[i] = value
>>> x = at_home(nv.CPUTensor, np.float32([1, 2]))
>>> how(x, Lists)
'one by one'
>>> filled(allocated(Lists, nv.float32, (2,)), to_array(x)).storage
[1.0, 2.0]
"""

from __future__ import annotations

import math
import warnings

from nervure.errors import NotSupported, WrongKind
from nervure.ir.device import ArrayStorage, Device, conversion_of
from nervure.ir.op import Op
from nervure.transformers.devices.elements import (
    Elements,
    allocated,
    at_home,
    device_of,
    filled,
    offered,
    over,
    to_array,
)
from nervure.transformers.devices.pool import Lease
from nervure.types.dtype import DType


def moved(tensor: Elements, target: type[Device], reader: Op | None, is_strict: bool, lease: Lease) -> Elements:
    """Returns the tensor on another device. ``reader`` is the op there that needs it; a strict list refuses a
    conversion that is not declared.

    A value from the caller, rather than from another part of the function, has no reader: it is moved in any way,
    without a warning.
    """
    way = how(tensor, target)
    if way == "as it is":
        return over(target, tensor.storage, tensor.count, tensor.type)
    if way == "declared":
        return _declared(tensor, target)
    if reader is not None:
        _check(tensor, target, reader, is_strict, way)
    if way == "buffer" and issubclass(target, ArrayStorage):
        return at_home(target, to_array(tensor))
    return filled(lease.take(target, tensor.type.dtype, tensor.shape), to_array(tensor))


def how(tensor: Elements, target: type[Device]) -> str:
    """Returns the way that a tensor takes to a device."""
    source = device_of(tensor)
    if issubclass(source, target) or issubclass(target, source):
        return "as it is"
    if conversion_of(source, target) is not None:
        return "declared"
    is_offered = offered(tensor) is not None and _offers(target, tensor.type.dtype)
    return "buffer" if is_offered else "one by one"


_known_offers: dict[tuple[type[Device], DType], bool] = {}


def _offers(device: type[Device], dtype: DType) -> bool:
    """Whether the storage of a device offers its elements as a buffer: found out once, by making some."""
    found = _known_offers.get((device, dtype))
    if found is None:
        probe = allocated(device, dtype, (1,))
        _known_offers[device, dtype] = found = offered(probe) is not None
        probe.finalizer()
    return found


def _declared(tensor: Elements, target: type[Device]) -> Elements:
    convert = conversion_of(device_of(tensor), target)
    assert convert is not None
    storage = convert(tensor)
    if storage is None:
        raise WrongKind(f"the conversion to {target.__name__} gives nothing", op="converts", operand=convert.__name__,
                        got="None", expected=f"storage of {target.__name__} with {math.prod(tensor.shape)} elements",
                        help="return the storage, in row-major order")
    return allocated(target, tensor.type.dtype, tensor.shape, vec=storage)


def _check(tensor: Elements, target: type[Device], reader: Op, is_strict: bool, way: str) -> None:
    """Raises NotSupported if a strict list forbids the ``way``; warns if elements move one by one."""
    source, place = device_of(tensor).__name__, reader.location
    declaration = f"@nv.converts({source}, {target.__name__})"
    if is_strict:
        raise reader.fail(NotSupported, f"no conversion from {source} to {target.__name__} is declared",
                          got=tensor.type, expected=f"{declaration}, or a device that inherits from the other",
                          help="nv.devices(..., strict=True) permits no other way; without it elements move "
                               f"{'through the buffer protocol' if way == 'buffer' else 'one by one'}")
    if way == "one by one":
        count = math.prod(tensor.shape) * tensor.type.dtype.itemsize
        warnings.warn_explicit(
            f"{count} bytes move from {source} to {target.__name__} one by one, for {type(reader).__name__}; "
            f"{declaration} declares a faster way", RuntimeWarning, place.file if place else "<unknown>",
            place.line if place else 1)
