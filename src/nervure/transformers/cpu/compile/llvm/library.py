"""Bindings to LLVM: the functions of llvmlite's shared library that we call, without llvmlite's Python side.

The Python side of llvmlite takes four times as long to import as the library takes to load, and holds one lock around
everything, so that no two compilations overlap. LLVM needs no lock if each compilation has a context of its own. The
names and signatures are those of llvmlite 0.50, the release that the package requires.

>>> with using_llvm() as llvm, Message(llvm) as error:
...     context = llvm.ContextCreate()
...     module = llvm.ParseAssembly(context, b"define i64 @answer() { ret 42 }", error.place)
...     print(module, str(error).splitlines()[0])
...     llvm.ContextDispose(context)
None <string>:1:28: error: expected type

A fork waits until no other thread is inside ``using_llvm``: a child never inherits a lock that no thread will release.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import c_char_p, c_int, c_size_t, c_void_p
from functools import cache
from types import SimpleNamespace
from typing import Any

from nervure.errors import NotSupported
from nervure.support import forks
from nervure.transformers.cpu.settings import llvm_file

_TEXT = ctypes.POINTER(c_char_p)  # a place for a string of LLVM's
_OBJECT = c_void_p  # an object of LLVM's that we hold and give back

# The name without its prefix LLVMPY_; the result, then the arguments.
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "DisposeString": (None, c_char_p),
    # targets
    "InitializeNativeTarget": (c_int,),
    "InitializeNativeAsmPrinter": (c_int,),
    "GetHostCPUName": (None, _TEXT),
    "GetHostCPUFeatures": (c_int, _TEXT),
    "GetTargetFromTriple": (_OBJECT, c_char_p, _TEXT),
    "CreateTargetMachine": (_OBJECT, _OBJECT, c_char_p, c_char_p, c_char_p, c_int, c_char_p, c_char_p, c_int, c_int,
                            c_char_p),
    "CreateTargetMachineData": (_OBJECT, _OBJECT),
    "CopyStringRepOfTargetData": (None, _OBJECT, _TEXT),
    "DisposeTargetData": (None, _OBJECT),
    # modules
    "ContextCreate": (_OBJECT,),
    "ContextDispose": (None, _OBJECT),
    "ParseAssembly": (_OBJECT, _OBJECT, c_char_p, _TEXT),
    "VerifyModule": (c_int, _OBJECT, _TEXT),
    "SetTarget": (None, _OBJECT, c_char_p),
    "SetDataLayout": (None, _OBJECT, c_char_p),
    "DisposeModule": (None, _OBJECT),
    # machine code
    "TargetMachineEmitToMemory": (_OBJECT, _OBJECT, _OBJECT, c_int, _TEXT),
    "GetBufferStart": (c_void_p, _OBJECT),
    "GetBufferSize": (c_size_t, _OBJECT),
    "DisposeMemoryBuffer": (None, _OBJECT),
}

_LONG = ("InitializeNativeTarget", "CreateTargetMachine", "ParseAssembly", "TargetMachineEmitToMemory")
"""The functions that let other threads run Python meanwhile. Reacquiring Python's lock after each takes milliseconds
if another thread runs: a module compiled while the next one is written would mostly wait.
"""


class _Gate:
    """A gate that admits any number of threads, and a fork only while there are none."""

    def __init__(self) -> None:
        self._changed = threading.Condition()  # noqa: TID251 -- a fork takes it first and gives it back
        self._inside: Counter[int] = Counter()  # by thread: how often it entered
        self._forking: int | None = None        # the thread that forks, or waits for it
        self._closed: Counter[int] = Counter()  # by thread: how often it has closed the gate
        os.register_at_fork(before=self._close, after_in_parent=self._open, after_in_child=self._open)

    def enter(self) -> None:
        with self._changed:
            thread = threading.get_ident()
            while self._forking not in (None, thread) and not self._inside[thread]:
                self._changed.wait()
            self._inside[thread] += 1

    def leave(self) -> None:
        with self._changed:
            thread = threading.get_ident()
            self._inside[thread] -= 1
            if not self._inside[thread]:
                del self._inside[thread]
                self._changed.notify_all()

    def _close(self) -> None:
        thread = threading.get_ident()
        self._changed.acquire()
        self._closed[thread] += 1
        while self._forking not in (None, thread):
            self._changed.wait()
        self._forking = thread
        while self._inside.keys() - {thread}:
            self._changed.wait()
            self._forking = thread  # a signal handler may have forked meanwhile

    def _open(self) -> None:
        thread = threading.get_ident()
        if not self._closed[thread]:  # this module was imported during the wait for the fork
            return
        self._closed[thread] -= 1
        self._forking = None
        self._changed.notify_all()
        self._changed.release()


_gate = _Gate()
_loading = forks.lock()


@contextmanager
def using_llvm() -> Iterator[Any]:
    """Gives access to LLVM's functions, by name. All code that calls these must be inside."""
    _gate.enter()
    try:
        with _loading:
            functions = _load()
        yield functions
    finally:
        _gate.leave()


@cache
def _load() -> Any:
    """Loads the library, once per process, and initialises it for this kind of machine."""
    functions = SimpleNamespace()
    try:
        shared, quick = ctypes.CDLL(llvm_file()), ctypes.PyDLL(llvm_file())
        for name, (result, *arguments) in _SIGNATURES.items():
            function = (shared if name in _LONG else quick)[f"LLVMPY_{name}"]
            function.restype, function.argtypes = result, arguments
            setattr(functions, name, function)
    except (OSError, AttributeError) as error:
        raise NotSupported("llvmlite's library cannot be used", op="cpu transformer", got=str(error),
                           expected="llvmlite 0.50", help="pip install 'llvmlite==0.50.*'") from None
    functions.InitializeNativeTarget()
    functions.InitializeNativeAsmPrinter()
    return functions


class Message:
    """A string that LLVM makes; it is freed when the ``with`` block ends."""

    def __init__(self, llvm: Any) -> None:
        self._llvm, self._pointer = llvm, c_char_p()
        self.place = ctypes.byref(self._pointer)

    def __enter__(self) -> Message:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pointer:
            self._llvm.DisposeString(self._pointer)
            self._pointer.value = None

    def __str__(self) -> str:
        return (self._pointer.value or b"").decode("utf-8", "replace")
