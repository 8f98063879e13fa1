"""Tensors while a call runs: storage on a device, and the place in it of each element.

They are instances of their device, so its hooks read ``self.storage``. Functions given to ``nv.implement`` receive
them.

>>> import nervure as nv
>>> x = filled(allocated(nv.CPUTensor, nv.float32, (2, 3)), np.float32([[1, 2, 3], [4, 5, 6]]))
>>> x.shape, x.strides, x.offset, x.vref(4), x.storage.tolist()
((2, 3), (3, 1), 0, 5.0, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
>>> y = seen(x, Layout((1, -3), 3), (3, 2))
>>> to_array(y).tolist(), isinstance(y, nv.CPUTensor)
([[4.0, 1.0], [5.0, 2.0], [6.0, 3.0]], True)
"""

from __future__ import annotations

import math
from types import new_class
from typing import cast

import numpy as np

from nervure.errors import WrongKind
from nervure.ir.device import Device, Facet
from nervure.ir.leaves import Constant
from nervure.ir.notation import Number
from nervure.ir.op import Value
from nervure.transformers.convert import widen
from nervure.types.description import BasicTensorDescription
from nervure.types.dtype import DType, as_dtype
from nervure.types.frozen import put
from nervure.types.layout import Layout, dense, row_major

Numbers = tuple[int, ...]
DeviceClass = type[Device]


class Elements(Device, is_device=False):
    """A tensor that exists: ``storage`` of ``count`` elements, and a type whose layout gives their places in it."""

    __slots__ = ()
    storage: object
    count: int
    _type: BasicTensorDescription

    @property
    def type(self) -> BasicTensorDescription:
        """Number type, shape (numbers) and layout."""
        return self._type

    @property
    def layout(self) -> Layout:
        """Strides and offset in elements of the storage, all numbers."""
        assert self._type.layout is not None
        return self._type.layout

    @property
    def strides(self) -> Numbers:
        """The distance to the next element along each dimension, in elements."""
        return cast("Numbers", self.layout.strides)

    @property
    def offset(self) -> int:
        """The place of the first element in the storage."""
        return cast("int", self.layout.offset)

    @property
    def shape(self) -> Numbers:
        """The length of each dimension."""
        return cast("Numbers", self._type.shape)

    @property
    def facet(self) -> Facet:
        """EXIST: only tensors that exist have storage."""
        return Facet.EXIST

    @property
    def state(self) -> str:
        """ "stored", as it exists."""
        return "stored"

    @property
    def device(self) -> DeviceClass:
        """The class that defines how its storage is made."""
        return device_of(self)

    @property
    def node(self) -> None:
        """None: nothing in the graph makes it."""

    @property
    def parents(self) -> tuple[()]:
        """The empty tuple."""
        return ()

    @property
    def requires_grad(self) -> bool:
        """False: gradients are of the graph."""
        return False

    @property
    def value(self) -> Value:
        """The elements as a constant, for an expression that mentions them."""
        return Constant(to_array(self)).value

    def numpy(self) -> np.ndarray:
        """Returns the elements, as an array that the caller owns."""
        return np.array(to_array(self), order="C", copy=True)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._type} stored>"


_classes: dict[type[Device], type[Elements]] = {}


def _class_of(device: type[Device]) -> type[Elements]:
    """Returns the class of existing tensors of a device, made once."""
    found = _classes.get(device)
    if found is None:
        parts = {"__slots__": ("storage", "count", "_type"), "__module__": device.__module__, "_axes": None}
        made = new_class(device.__name__, (Elements, device), {"is_device": False}, lambda space: space.update(parts))
        _classes[device] = found = cast("type[Elements]", made)
    return found


def device_of(tensor: Elements) -> type[Device]:
    """Returns the device of a tensor that exists."""
    return cast("type[Device]", type(tensor).__mro__[2])


def over(device: type[Device], storage: object, count: int, type: BasicTensorDescription) -> Elements:
    """Returns a tensor of a device over existing storage; the type has numbers for lengths, and a layout."""
    cls = _class_of(device)
    tensor = object.__new__(cls)
    put(tensor, "_type", type)
    put(tensor, "count", count)
    put(tensor, "storage", storage)
    return tensor


def row_major_type(dtype: DType, shape: Numbers) -> BasicTensorDescription:
    """Returns the type of a tensor that lies in storage of its own."""
    return BasicTensorDescription(dtype, shape, read_only=False, layout=row_major(shape))


def allocated(device: type[Device], dtype: DType, shape: Numbers, vec: object = None,
              initial_element: Number | None = None, order: Numbers | None = None) -> Elements:
    """Allocates a tensor, filled with ``initial_element`` (None: undefined), with its dimensions in an ``order``
    (absent: row-major). ``vec`` is used as its storage.
    """
    kept = row_major(shape) if order is None else dense(shape, order)
    tensor = over(device, None, math.prod(shape), BasicTensorDescription(dtype, shape, read_only=False, layout=kept))
    storage = tensor.allocate(shape, dtype, initial_element, vec)
    if storage is None:
        raise WrongKind(f"allocate of {device.__name__} gives nothing", op=device.__name__, operand="allocate",
                        got="None", expected=f"storage for {tensor.count} elements of {dtype.name}",
                        help="return the storage; vec, where it is not None, as it is")
    put(tensor, "storage", storage)
    return tensor


def seen(tensor: Elements, layout: Layout, shape: Numbers) -> Elements:
    """Returns the same storage, seen through another layout."""
    return over(device_of(tensor), tensor.storage, tensor.count,
                BasicTensorDescription(tensor.type.dtype, shape, layout=layout))


def places(tensor: Elements) -> np.ndarray:
    """Returns the place in the storage of each element, as an array of the tensor's shape."""
    found = np.full(tensor.shape, tensor.offset, np.int64)
    for position, stride in zip(np.ogrid[tuple([slice(length) for length in tensor.shape])], tensor.strides,
                                strict=True):
        found += position * stride
    return found


# -- elements as arrays ----------------------------------------------------------------------------------------------


def offered(tensor: Elements) -> np.ndarray | None:
    """Returns the storage as a flat array over the same memory, if it offers the buffer protocol in the tensor's type.
    """
    dtype, storage = tensor.type.dtype.numpy, tensor.storage
    if isinstance(storage, np.ndarray):
        return storage.reshape(-1) if storage.dtype == dtype and storage.flags.c_contiguous else None
    if tensor.count == 0:
        return np.empty(0, dtype)
    try:
        view = memoryview(cast("bytes", storage))  # or any object with a buffer
    except TypeError:
        return None
    if not view.c_contiguous or view.nbytes != tensor.count * dtype.itemsize or not _is_of(view.format, dtype):
        return None
    return np.frombuffer(view.cast("B"), dtype)


def _is_of(format: str, dtype: np.dtype) -> bool:
    """Whether a buffer holds elements of a type: by its format, or as plain bytes."""
    try:
        return format == "B" or np.dtype(format) == dtype
    except TypeError:
        return False


def to_array(tensor: Elements) -> np.ndarray:
    """Returns the elements as an array: over their own memory if possible, else read one by one."""
    flat = offered(tensor)
    if flat is not None:
        return _strided(flat, tensor)
    dtype = tensor.type.dtype.numpy
    numbers = [tensor.vref(place) for place in places(tensor).ravel().tolist()]
    return np.array(numbers, _readable(dtype)).astype(dtype).reshape(tensor.shape)


def _readable(dtype: np.dtype) -> np.dtype:
    """Returns NumPy's own type that holds the numbers of a type."""
    return widen(np.empty(0, dtype)).dtype


def _strided(flat: np.ndarray, tensor: Elements) -> np.ndarray:
    if 0 in tensor.shape:
        return np.empty(tensor.shape, flat.dtype)
    return np.lib.stride_tricks.as_strided(flat[tensor.offset:], tensor.shape,
                                           [stride * flat.itemsize for stride in tensor.strides], writeable=False)


def filled(tensor: Elements, array: np.ndarray) -> Elements:
    """Returns a tensor in row-major order, after it received the elements of an array."""
    flat = offered(tensor)
    if flat is not None and flat.flags.writeable:
        flat[...] = array.reshape(-1)
        return tensor
    for place, number in enumerate(widen(array).ravel().tolist()):
        tensor.set_vref(place, number)
    return tensor


def at_home(device: type[Device], array: np.ndarray) -> Elements:
    """Returns an array as the tensor of a device whose storage is arrays, over the same memory."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return over(device, flat, flat.size, row_major_type(as_dtype(array.dtype), array.shape))
