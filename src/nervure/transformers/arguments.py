"""Conversion of arguments: arrays of the declared types, or an error that names the parameter.

>>> import numpy as np
>>> from nervure.types.dtype import float32, int8
>>> as_array([1, 2], float32, "f", "x")
array([1., 2.], dtype=float32)
>>> as_array(np.array([1, 300]), int8, "f", "x")
Traceback (most recent call last):
    ...
nervure.errors.InvalidArgument: f: a value does not fit int8
  operand:  x
  got:      300 at position (1,)
  expected: -128 to 127
  help:     pass values in range, or declare a wider element type
...
"""

from __future__ import annotations

import numpy as np

from nervure.errors import InvalidArgument, NervureError, WrongKind
from nervure.transformers.convert import convert, limits, widen
from nervure.types.dtype import DType, as_dtype, is_same_kind
from nervure.types.foreign import as_numpy, is_array
from nervure.types.shape import check_room, index_at


def as_array(value: object, dtype: DType, op: str, operand: str | int | None) -> np.ndarray:
    """Returns ``value`` as an array of ``dtype``: itself if it is one, else a new array.

    A conversion must be one that NumPy calls ``same_kind``, else WrongKind; an integer that does not fit is an
    InvalidArgument. Python numbers, and lists of them, have no type of their own: integers fit any type that holds
    their values.
    """
    if type(value) is np.ndarray and value.dtype == dtype.numpy:
        return value
    if type(value) is int and dtype.is_integer:
        _check_number(value, dtype, op, operand)
    array, source = _read(value, op, operand)
    if source is dtype and array.dtype == dtype.numpy:
        return array
    check_room(array.shape, dtype.itemsize, "the converted argument", op=op, operand=operand)
    if source is dtype:
        return array.astype(dtype.numpy)
    if not (is_same_kind(source, dtype) or _is_weak(value, array, source, dtype)):
        raise WrongKind(f"{source.name} elements are not converted to {dtype.name}", op=op, operand=operand,
                        got=f"{source.name}{list(array.shape)}", expected=dtype.name,
                        help=f"convert them first, for example with .astype({dtype.name!r})")
    if dtype.is_integer and source.is_integer:
        _check_range(array, dtype, op, operand)
    with np.errstate(all="ignore"):
        return np.asarray(convert(array, dtype))


def _read(value: object, op: str, operand: str | int | None) -> tuple[np.ndarray, DType]:
    """Returns the value as NumPy reads it, with its element type."""
    try:
        array = as_numpy(value) if is_array(value) else np.asarray(value)
        return array, as_dtype(array.dtype)
    except NervureError as error:
        found = f"{type(value).__name__} ({error.message})"
    except Exception as error:  # a foreign object may raise anything
        found = f"{type(value).__name__} ({error})"
    raise WrongKind("NumPy does not read this as an array of numbers", op=op, operand=operand, got=found,
                    expected="an array, or lists of numbers that are equally long",
                    help="pad shorter lists, and compute tensors first: x.numpy()")


def _is_weak(value: object, array: np.ndarray, source: DType, dtype: DType) -> bool:
    """Whether a value has no element type of its own: Python's integers and NumPy's integer scalars, and empty lists.
    """
    if is_array(value) and not isinstance(value, np.integer):
        return False
    return array.size == 0 or (source.is_integer and dtype.is_integer)


def _check_number(value: int, dtype: DType, op: str, operand: str | int | None) -> None:
    """Checks a ``value`` that is a Python number, which may have more bits than NumPy reads."""
    low, high = limits(dtype)
    if not low <= value <= high:
        raise _does_not_fit(dtype, op, operand, str(value))


def _check_range(array: np.ndarray, dtype: DType, op: str, operand: str | int | None) -> None:
    array, (low, high) = widen(array), limits(dtype)
    bad = (array < low) | (array > high)
    if bad.any():
        at = index_at(int(np.argmax(bad)), bad.shape)
        raise _does_not_fit(dtype, op, operand, f"{array[at]} at position {at}" if at else str(array[at]))


def _does_not_fit(dtype: DType, op: str, operand: str | int | None, got: str) -> InvalidArgument:
    low, high = limits(dtype)
    return InvalidArgument(f"a value does not fit {dtype.name}", op=op, operand=operand, got=got,
                           expected=f"{low} to {high}", help="pass values in range, or declare a wider element type")
