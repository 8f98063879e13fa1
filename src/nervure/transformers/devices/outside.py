"""Memory of a tensor outside of arrays: an allocation of a device, or storage given in its place.

If it offers a writable buffer, an array over that is the memory itself. Else elements are copied one by one, through
``vref`` and ``set_vref``.

>>> import nervure as nv
>>> class Words(nv.AbstractTensor):
...     def allocate(self, shape, dtype, initial_element=None, vec=None):
...         return [initial_element] * math.prod(shape) if vec is None else vec
...     def vref(self, i):
...         return self.storage[i]
...     def set_vref(self, i, value):
...         self.storage[i] = value
>>> memory = Outside(allocated(Words, nv.float32, (2, 3), initial_element=1.0, order=(1, 0)), order=(1, 0))
>>> memory.put((0, 1), np.float32(5))
>>> memory.storage, memory.load((2, 3)).tolist()
([1.0, 1.0, 5.0, 1.0, 1.0, 1.0], [[1.0, 5.0, 1.0], [1.0, 1.0, 1.0]])
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from nervure.errors import InvalidArgument, NervureError, ShapeMismatch, WrongKind, shown
from nervure.ir.device import Device
from nervure.ir.notation import Number
from nervure.transformers.convert import widen
from nervure.transformers.devices.elements import Elements, allocated, offered, seen, to_array
from nervure.types.dtype import DType
from nervure.types.layout import row_major


class Outside:
    """The storage of a tensor that exists, as the memory of a place with its dimensions in an order. The place has
    equally many elements, or fewer: those at the start.
    """

    __slots__ = ("_elements", "flat", "order")

    def __init__(self, elements: Elements, order: tuple[int, ...]) -> None:
        self._elements, self.order = elements, order
        flat = offered(elements)
        self.flat = flat if flat is not None and flat.flags.writeable else None

    @property
    def storage(self) -> object:
        """The device's allocation."""
        return self._elements.storage

    @property
    def count(self) -> int:
        """The number of elements that it has room for."""
        return self._elements.count

    def load(self, shape: Sequence[int]) -> np.ndarray:
        """Returns the elements of a place of this shape: an array over the memory itself if possible, else a copy."""
        packed = [shape[d] for d in self.order]
        if self.flat is not None:
            array = self.flat[:math.prod(packed)].reshape(packed)
        else:
            array = np.array(to_array(seen(self._elements, row_major(packed), tuple(packed))))
        return array.transpose([self.order.index(d) for d in range(len(packed))])

    def fill(self, array: np.ndarray) -> None:
        """Writes the elements of a place."""
        flat = array.transpose(self.order).reshape(-1)
        if self.flat is not None:
            self.flat[:flat.size] = flat
        else:
            self._set(widen(flat).tolist())

    def save(self, array: np.ndarray) -> None:
        """Writes the elements of a place, all or, if that fails halfway, none."""
        if self.flat is not None:
            return self.fill(array)
        before = [self._elements.vref(number) for number in range(array.size)]
        try:
            self.fill(array)
        except BaseException:
            self._set(before)
            raise

    def _set(self, numbers: Sequence[Number]) -> None:
        for place, number in enumerate(numbers):
            self._elements.set_vref(place, number)

    def put(self, index: Sequence[int], number: np.ndarray, shape: Sequence[int] | None = None) -> None:
        """Writes one element of a place of a shape (absent: that of the storage)."""
        own = self._elements.shape if shape is None else shape
        lengths = [own[d] for d in self.order]
        place = int(np.ravel_multi_index([index[d] for d in self.order], lengths)) if len(lengths) else 0
        if self.flat is not None:
            self.flat[place] = number
        else:
            self._elements.set_vref(place, widen(np.asarray(number)).item())

    def let_go(self) -> None:
        """Calls the device's finalizer, when other memory replaces this."""
        self._elements.finalizer()


def made_on(device: type[Device], dtype: DType, array: np.ndarray, order: tuple[int, ...],
            initial_element: Number | None) -> Outside:
    """Allocates memory of a device for a place with these elements, all of which are ``initial_element`` unless that
    is None. They are written only if the allocation differs.
    """
    memory = Outside(allocated(device, dtype, array.shape, None, initial_element, order), order)
    if initial_element is None or memory.load(array.shape).tobytes() != array.tobytes():
        memory.fill(array)
    return memory


def given_as(device: type[Device], dtype: DType, shape: tuple[int, ...], order: tuple[int, ...],
             storage: object) -> Outside:
    """Uses storage that a user gives for a place on a device; an error says what it lacks."""
    count, about = math.prod(shape), f"storage of {device.__name__} with {math.prod(shape)} elements of {dtype.name}"
    if isinstance(storage, np.ndarray) and storage.dtype != dtype.numpy:
        raise WrongKind("storage is of the tensor's element type", op="storage", got=f"an array of {storage.dtype}",
                        expected=about, help="x.set_mref(..., value) and nv.assign(x, value) convert what they write")
    if isinstance(storage, np.ndarray) and storage.ndim != 1:
        raise InvalidArgument("storage has one dimension", op="storage", got=f"an array of shape {storage.shape}",
                              expected=about, help="array.reshape(-1) is such an array over the same memory")
    memory = Outside(allocated(device, dtype, shape, storage, order=order), order)
    flat = memory.flat
    if flat is not None and flat.size != count:
        raise ShapeMismatch("storage of another length", op="storage", got=f"{flat.size} elements", expected=about,
                            help="it has an element for each index of the tensor")
    try:
        memory.load(shape)
    except NervureError:
        raise
    except Exception as error:
        raise InvalidArgument(f"the elements of this storage cannot be read: {error}", op="storage",
                              got=shown(storage), expected=about,
                              help=f"vref of {device.__name__} reads each element from it") from None
    return memory
