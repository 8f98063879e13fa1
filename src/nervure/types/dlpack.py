"""DLPack: arrays lent from one library to another in place, in this machine's memory.

NumPy implements it for its own element types. Types of ml_dtypes travel as unsigned integers of their width, and the
type in the header of the loan is rewritten.

>>> import ml_dtypes
>>> x = np.array([1, 2], ml_dtypes.bfloat16)
>>> class Lent:
...     def __dlpack__(self, **keywords):
...         return lend(x, **keywords)
...     def __dlpack_device__(self):
...         return CPU
>>> borrow(Lent())
array([1, 2], dtype=bfloat16)
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np

from nervure.types import dtype as types
from nervure.types.dtype import DType, as_dtype

CPU = (1, 0)
"""The device of all loans: kDLCPU, and its number."""

_UNSIGNED = 1
_CODES: dict[DType, int] = {
    types.bfloat16: 4, types.float8_e3m4: 7, types.float8_e4m3: 8, types.float8_e4m3b11fnuz: 9,
    types.float8_e4m3fn: 10, types.float8_e4m3fnuz: 11, types.float8_e5m2: 12, types.float8_e5m2fnuz: 13,
    types.float8_e8m0fnu: 14}
"""DLDataTypeCode of the types that NumPy cannot lend."""

_KINDS = {"b": 6, "i": 0, "u": 1, "f": 2, "c": 5}
"""DLDataTypeCode of other types, by the kinds of NumPy."""

_TYPES = {(code, dtype.bits): dtype for dtype, code in _CODES.items()}


class _Type(ctypes.Structure):
    """DLDataType."""

    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    """DLTensor, which a DLManagedTensor begins with."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("type", _Type), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("byte_offset", ctypes.c_uint64)]


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor)]


class _Exchange(ctypes.Structure):
    """DLPackExchangeAPI."""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("earlier", ctypes.c_void_p),
                ("allocate", ctypes.c_void_p), ("lend", ctypes.c_void_p), ("make", ctypes.c_void_p),
                ("read", ctypes.c_void_p), ("stream", ctypes.c_void_p)]


_EXCHANGE_NAME = b"dlpack_exchange_api"
_NAMES = {b"dltensor": _Tensor, b"dltensor_versioned": _Versioned}

_name_of = ctypes.pythonapi.PyCapsule_GetName
_name_of.restype, _name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def type_word(dtype: DType) -> int:
    """Returns an element type as the four bytes of a DLDataType.

    >>> hex(type_word(types.float32)), hex(type_word(types.bfloat16))
    ('0x12002', '0x11004')
    """
    code = _CODES.get(dtype)
    return (_KINDS[dtype.numpy.kind] if code is None else code) | 8 * dtype.itemsize << 8 | 1 << 16


class ExchangeFunctions(NamedTuple):
    """The addresses of a library's C functions: one reads an object's DLTensor, one makes an object of a
    DLManagedTensorVersioned, which it takes over.
    """

    read: int
    make: int


def exchange_functions(kind: type) -> ExchangeFunctions | None:
    """Returns the C functions of the library that a class of arrays belongs to; None if it does not offer them (DLPack
    1.3's exchange API).

    >>> exchange_functions(int) is None
    True
    """
    capsule = getattr(kind, "__dlpack_c_exchange_api__", None)
    if capsule is None or _name_of(capsule) != _EXCHANGE_NAME:
        return None
    table = _Exchange.from_address(_pointer_of(capsule, _EXCHANGE_NAME))
    if table.major != 1 or not (table.read and table.make):
        return None
    return ExchangeFunctions(table.read, table.make)


def lend(array: np.ndarray, **keywords: Any) -> Any:
    """Returns a capsule with an array, as ``__dlpack__`` does. BufferError for types that DLPack packs."""
    dtype = as_dtype(array.dtype)
    if dtype.bits < 8:
        raise BufferError(f"{dtype.name} elements lie in bytes here, and are packed in DLPack")
    code = _CODES.get(dtype)
    if code is None:
        return array.__dlpack__(**keywords)
    capsule = array.view(f"u{dtype.itemsize}").__dlpack__(**keywords)
    _type_of(capsule).code = code
    return capsule


def borrow(source: Any) -> np.ndarray:
    """Returns the array that an object with ``__dlpack__`` lends; it may be read-only. Raises any error of the object.

    PyTorch lends elements that it stores as their negative as they lie, so such a tensor is a BufferError here.
    """
    if hasattr(source, "is_neg") and source.is_neg():
        raise BufferError("the elements are stored as their negative; x.resolve_neg() stores them as they are")
    loan = _Loan(source)
    array = np.from_dlpack(loan)
    return array if loan.dtype is None else array.view(loan.dtype.numpy)


class _Loan:
    """An object with ``__dlpack__`` as NumPy can read it, and the element type that was hidden from NumPy."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self.dtype: DType | None = None

    def __dlpack__(self, **keywords: Any) -> Any:
        capsule = self._source.__dlpack__(**keywords)
        found = _type_of(capsule)
        self.dtype = _TYPES.get((found.code, found.bits))
        if self.dtype is not None:
            found.code = _UNSIGNED
        return capsule

    def __dlpack_device__(self) -> Any:
        return self._source.__dlpack_device__()


def _type_of(capsule: object) -> Any:
    """Returns the element type in the header of a capsule's content, to be read and written."""
    name = _name_of(capsule)
    structure = _NAMES.get(name)
    if structure is None:
        raise BufferError(f"this capsule holds no tensor, or one that was taken already: {name!r}")
    held = structure.from_address(_pointer_of(capsule, name))
    return held.type if structure is _Tensor else held.tensor.type
