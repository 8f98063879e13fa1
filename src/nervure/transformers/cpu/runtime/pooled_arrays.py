"""Arrays in the pool's memory, made from Python; the free memory of the pool, and its release.

>>> a = empty((1000, 1000), np.dtype(np.float32))
>>> a.flags.owndata, a.base, a.ctypes.data % 64
(True, None, 0)
>>> trim()
>>> del a
>>> held() >= 4_000_000
True
>>> trim(), held()
(None, 0)
"""

from __future__ import annotations

import ctypes
import importlib
import math
import sys
import sysconfig
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from types import ModuleType

import numpy as np

from nervure.transformers.cpu.runtime import records, runtime_library
from nervure.transformers.cpu.runtime.records import ARRAY_FIELDS, LIST_ITEMS, LIST_SIZE, TUPLE_ITEMS

_ARRAY_TYPE, _NEW_FROM_DESCR, _GET_HANDLER = 2, 94, 305     # places in NumPy's table of its C functions
_HANDLER_NAME = b"mem_handler"                              # NumPy's name for capsules of memory handlers


class _Handler(ctypes.Structure):
    """NumPy's PyDataMem_Handler, version 1."""

    _fields_ = [("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("context", ctypes.c_void_p),
                *[(name, ctypes.c_void_p) for name in ("malloc", "calloc", "realloc", "free")]]


def held() -> int:
    """Returns the bytes of free blocks that are kept."""
    return runtime_library.record(records.MemoryPool).held


def trim() -> None:
    """Returns all free blocks to the system."""
    ctypes.PYFUNCTYPE(None, ctypes.c_int64)(runtime_library.library().address("evict"))(0)


def empty(shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """Returns ``np.empty`` in the pool's memory. MemoryError if there is none."""
    if not is_known():
        return np.empty(shape, dtype)
    spec, dims = _spec(tuple(shape), dtype)
    made = new_array(ctypes.addressof(spec))
    del dims  # kept alive until here: the record has its address
    return made


@lru_cache(maxsize=1024)
def _spec(shape: tuple[int, ...], dtype: np.dtype) -> tuple[records.ArrayRecord, ctypes.Array[ctypes.c_int64]]:
    """Returns the record of a type and a shape, with its table of lengths."""
    dims = (ctypes.c_int64 * len(shape))(*shape)
    return records.ArrayRecord(descr=id(dtype), rank=len(shape), dims=ctypes.addressof(dims),
                               bytes=math.prod(shape) * dtype.itemsize), dims


def new_array(spec: int) -> np.ndarray:
    """Returns the array that a :class:`records.Array` at an address describes. It requires ``is_known()``."""
    return _new_array()(spec)


@cache
def is_known() -> bool:
    """Whether arrays have the headers that native code reads; if not, Python reads them."""
    if sysconfig.get_config_var("Py_GIL_DISABLED") or not _headers_fit():
        return False
    table = _numpy_table()
    host = runtime_library.record(records.Python)
    host.array_type, host.new_from_descr = table[_ARRAY_TYPE], table[_NEW_FROM_DESCR]
    host.memory_handler = _make_handler()
    host.list_type, host.tuple_type = id(list), id(tuple)
    host.no, host.yes, host.array_name = id(False), id(True), _forever(sys.intern("array"))
    spec, dims = _spec((2, 3), np.dtype(np.int16))
    made = new_array(ctypes.addressof(spec))
    del dims  # kept alive until here: the record has its address
    return bool(made.shape == (2, 3) and made.dtype == np.int16 and made.flags.owndata and made.flags.c_contiguous
                and _numpy().get_handler_name(made) == "nervure")


@cache
def _new_array() -> Callable[[int], np.ndarray]:
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(runtime_library.library().address("new_array"))


def _numpy() -> ModuleType:
    """Returns the module of NumPy that holds its C functions."""
    return importlib.import_module("numpy._core._multiarray_umath")


def _numpy_table() -> ctypes.Array[ctypes.c_size_t]:
    """Returns NumPy's table of addresses for C, which extension modules use."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return (ctypes.c_size_t * (_GET_HANDLER + 1)).from_address(get(_numpy()._ARRAY_API, None))


def _headers_fit() -> bool:
    """Whether real arrays, lists and tuples have their fields where native code reads them."""
    array, owner = np.empty((3, 5), np.float32)[:, 1:4], np.empty(4)
    before = _word(array, ARRAY_FIELDS["references"])
    listed, fixed = [array, owner, None], (array, owner)
    words = {name: _word(array, offset) for name, offset in ARRAY_FIELDS.items()}
    lengths, strides = [list((ctypes.c_int64 * 2).from_address(words[name])) for name in ("dims", "strides")]
    handler = ctypes.PYFUNCTYPE(ctypes.py_object)(_numpy_table()[_GET_HANDLER])()
    return (words["references"] - before == 2 and words["type"] == id(np.ndarray)
            and words["data"] == array.ctypes.data and words["rank"] & 0xFFFFFFFF == 2
            and (lengths, strides) == (list(array.shape), list(array.strides)) and words["base"] == id(array.base)
            and words["descr"] == id(array.dtype) and words["flags"] & 0xFFFFFFFF == array.flags.num
            and _word(owner, ARRAY_FIELDS["memory_handler"]) == id(handler)
            and (_word(listed, LIST_SIZE), _word(fixed, LIST_SIZE)) == (3, 2)
            and ctypes.c_int64.from_address(_word(listed, LIST_ITEMS) + 8).value == id(owner)
            and _word(fixed, TUPLE_ITEMS + 8) == id(owner))


def _word(thing: object, offset: int) -> int:
    """Returns eight bytes of an object's memory."""
    return ctypes.c_int64.from_address(id(thing) + offset).value


def _make_handler() -> int:
    """Returns the capsule of our memory handler; it lives as long as the process."""
    library = runtime_library.library()
    handler = _Handler(b"nervure", 1, None, *[library.address(f"handler_{name}")
                                              for name in ("malloc", "calloc", "realloc", "free")])
    name = ctypes.create_string_buffer(_HANDLER_NAME)
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    capsule = make(ctypes.addressof(handler), ctypes.addressof(name), None)
    return [_forever(kept) for kept in (handler, name, capsule)][-1]


def _forever(kept: object) -> int:
    """Returns the address of an object, which from now on lives as long as the process."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    return id(kept)
