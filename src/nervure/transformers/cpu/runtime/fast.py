"""The fast path: native functions for Python, for calls with arguments of the usual kind.

>>> import numpy as np
>>> from nervure.transformers.cpu.runtime.program import Array, Program
>>> class Owner:
...     def slow(self, *arguments): return "slow", len(arguments)
...     def fail(self, status, arguments): raise ValueError(status.code)
>>> owner = Owner()
>>> fast = FastEntry(owner.fail)
>>> fast.add(Program([], [], arguments=[Array(np.dtype(np.int64), (2,))]))
>>> call = fast.function(owner.slow)
>>> call(np.array([1, 2])), call(np.array([1, 2, 3])), call(1, 2)
((), ('slow', 1), ('slow', 2))

The function holds the entry, and the entry its programs; neither holds the object whose methods it calls.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar
from weakref import WeakMethod

import numpy as np

from nervure.errors import InternalError
from nervure.transformers.cells import Cell
from nervure.transformers.cpu.runtime import forking, pooled_arrays, records, runtime_library
from nervure.transformers.cpu.runtime.program import Program

_FASTCALL_WITH_KEYWORDS = 0x80 | 0x02
_Answer = TypeVar("_Answer")


class _MethodDef(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = [("name", ctypes.c_char_p), ("code", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


class Gate:
    """A switch that many entries look at: while it is closed, every call takes the slow path."""

    def __init__(self) -> None:
        self._word = ctypes.c_int64(1)
        self.address = ctypes.addressof(self._word)

    def set(self, is_open: bool) -> None:
        """Opens or closes the gate."""
        self._word.value = is_open


class FastEntry:
    """The programs of an executable, and functions that run them.

    ``fail``, a bound method whose object is not kept alive, receives a :class:`records.Status` and the tuple of
    arguments after a failure, and raises. ``cells`` are those of the variables, in the order of the programs'; each
    has ``array``, ``stamp``, ``lent`` and ``lock``.
    """

    def __init__(self, fail: Callable[[records.Status, tuple[np.ndarray, ...]], object], cells: Sequence[Cell] = (),
                 gate: Gate | None = None) -> None:
        self._fail, self._gate = _Failing(fail), gate or Gate()
        self._locks = [(cell, cell.lock.rlock.acquire, cell.lock.rlock.release) for cell in cells]
        self._cells = (records.CellRecord * len(cells))(*[
            records.CellRecord(cell=id(cell), stamp=ctypes.addressof(cell.stamp), acquire=id(acquire),
                               release=id(release), holder=ctypes.addressof(cell.lock.holder),
                               lent=ctypes.addressof(cell.lent))
            for cell, acquire, release in self._locks])
        self._programs: list[Program] = []
        self._table = (ctypes.c_void_p * records.KEPT_PROGRAMS)()

    def add(self, program: Program) -> None:
        """Makes calls with such arguments run this program from now on."""
        self._programs = [program, *[other for other in self._programs if other is not program]][:records.KEPT_PROGRAMS]
        for place, entry in enumerate(self._programs):
            self._table[place] = entry.address

    def function(self, slow: Callable[..., _Answer], is_single: bool = False) -> Callable[..., _Answer]:
        """Returns a new function that returns the tuple of results, or the single one itself.

        ``slow``, a bound method whose object is not kept alive, handles every call that does not fit. If the layout of
        this Python's objects is not known to native code, it handles all calls.
        """
        otherwise = SlowWay(slow)
        if not pooled_arrays.is_known():
            return otherwise
        return native_function(records.RUNTIME, "entry", self.record(otherwise, is_single), self, otherwise)

    def record(self, slow: object, is_single: bool = False) -> records.EntryRecord:
        """Returns the record of an entry that passes on to ``slow`` what does not fit. It holds nothing."""
        return records.EntryRecord(
            gate=self._gate.address, programs=ctypes.addressof(self._table), cells=ctypes.addressof(self._cells),
            cell_count=len(self._cells), slow=id(slow), failed=id(self._fail), single=is_single)


def native_function(part: str, name: str, record: ctypes.Structure, *kept: object) -> Callable[..., Any]:
    """Returns a native entry, which a ``part`` of the runtime has under a ``name``, as a function of Python. It holds
    its record and what is ``kept``.
    """
    method = _MethodDef(b"run", runtime_library.library(part).address(name), _FASTCALL_WITH_KEYWORDS, None)
    itself = (ctypes.addressof(record), record, method, *kept)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    made: Callable[..., Any] = make(ctypes.addressof(method), itself, None)
    return made


class SlowWay(Generic[_Answer]):
    """A bound method that does not keep its object alive; a fork while it runs is noticed."""

    def __init__(self, method: Callable[..., _Answer]) -> None:
        self._method = WeakMethod(method)

    def __call__(self, *arguments: object, **keywords: object) -> _Answer:
        if runtime_library.record(records.ThreadPool).lost:
            raise forking.lost_call()
        method = self._method()
        if method is None:
            raise InternalError("an executable was dropped, but is still called")
        with forking.CALL_UNDER_WAY:
            return method(*arguments, **keywords)


class _Failing:
    """A bound method that raises an error for the status at an address."""

    def __init__(self, method: Callable[[records.Status, tuple[np.ndarray, ...]], object]) -> None:
        self._method = WeakMethod(method)

    def __call__(self, address: int, arguments: tuple[np.ndarray, ...]) -> None:
        status = records.Status.from_buffer_copy(records.Status.from_address(address))
        method = self._method()
        if status.code == records.StatusCode.FORKED:
            raise forking.lost_call()
        if method is not None:
            method(status, arguments)
        raise InternalError(f"a call failed with code {status.code}, and nobody knows what that means")
