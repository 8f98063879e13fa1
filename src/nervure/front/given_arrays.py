"""Arrays from the values that users give, and their element types.

>>> import numpy as np
>>> read_array([1, 2], None, "constant").dtype, read_array(np.array([1, 2]), None, "constant").dtype
(dtype('float32'), dtype('int64'))
"""

from __future__ import annotations

import numpy as np

from nervure.errors import InvalidArgument, NervureError, ShapeMismatch, WrongKind, shown
from nervure.types.axes import Axes
from nervure.types.dtype import DType, DTypeLike, as_dtype, complex64, complex128, float32, float64
from nervure.types.foreign import as_numpy, is_array
from nervure.types.shape import check_room


def read_array(value: object, dtype: DTypeLike | None, op: str) -> np.ndarray:
    """Returns ``value`` as an array of ``dtype`` (absent: the type of a constant of it). The caller's own memory is
    never kept.
    """
    element: DType | None = None if dtype is None else as_dtype(dtype)
    array = numpy_array(value, op)
    own = as_dtype(array.dtype)
    if element is None:
        element = _default_type(value, own)
    if own.is_complex and not element.is_complex:
        raise WrongKind(f"complex elements are not converted to {element.name}", op=op, got=own.name,
                        expected="real numbers, or a complex type",
                        help="give dtype=nv.complex64, or take the real parts")
    if own.is_integer and element.is_integer and array.size:
        (low, high), (smallest, largest) = (int(array.min()), int(array.max())), element.limits
        if low < smallest or high > largest:
            raise InvalidArgument(f"an element does not fit {element.name}", op=op,
                                  got=low if low < smallest else high, expected=f"{smallest} to {largest}",
                                  help="give a wider dtype=")
    check_room(array.shape, element.itemsize, "this tensor", op=op)
    with np.errstate(all="ignore"):
        return array.astype(element.numpy, order="C")


def numpy_array(value: object, op: str) -> np.ndarray:
    """Returns the value as NumPy reads it, in memory of its own; WrongKind, which names ``op``, if its elements are
    not numbers.
    """
    try:
        if isinstance(value, np.ndarray):  # a broadcast array may repeat few elements many times
            check_room(value.shape, value.itemsize, "this array", op=op)
        array = np.array(as_numpy(value) if is_array(value) else value, copy=True)
    except NervureError:
        raise
    except Exception as error:  # a foreign object may raise anything
        raise _unreadable(value, op, error) from None
    check_numbers(array, op, value)
    return array


def check_numbers(array: np.ndarray, op: str, value: object = None) -> None:
    """Raises WrongKind for an array, made of a value, whose elements are words, dates, records or objects."""
    if array.dtype.kind in "OUSMm" or (array.dtype.kind == "V" and array.dtype.names):
        value = array if value is None else value
        raise WrongKind("the elements are not numbers", op=op, got=shown(value),
                        expected="numbers of at most 64 bits, or booleans",
                        help="number words, dates and objects first")


def _unreadable(value: object, op: str, error: Exception) -> InvalidArgument:
    if is_array(value):
        return InvalidArgument(f"the array cannot be read: {error}", op=op, got=type(value).__name__,
                               expected="numbers in this machine's memory",
                               help="make a NumPy array of it, as its library says")
    return InvalidArgument("NumPy makes no array of this", op=op, got=shown(value),
                           expected="a number, an array, or nested lists that are equally long",
                           help="pad shorter lists, or make a tensor of each")


def _default_type(value: object, own: DType) -> DType:
    """The default type of an array of type ``own``, read from ``value``: arrays, lists of arrays and NumPy's scalars
    keep it. Python's numbers, alone or in lists, become float32 or complex64; ``np.float64`` and ``np.complex128`` are
    subclasses of these and count as Python's.
    """
    if _holds_arrays(value):
        return own
    return float32 if own is float64 or own.is_integer else complex64 if own is complex128 else own


def _holds_arrays(value: object) -> bool:
    """Whether the elements come from an array, a NumPy scalar, or a list of them, which have types of their own."""
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return is_array(value) and not isinstance(value, (float, complex))


def check_shape(shape: tuple[int, ...], axes: Axes, op: str) -> None:
    """Raises ShapeMismatch unless an array has the lengths of the axes."""
    if tuple(shape) != tuple(axes.lengths):
        raise ShapeMismatch("the value has another shape than the axes", op=op, got=tuple(shape),
                            expected=f"{tuple(axes.lengths)} for {axes}",
                            help="give other axes=, or reshape the value; a single number fills any axes, and "
                                 'nv.constant(value, axes="C=3") says which an initial value has')
