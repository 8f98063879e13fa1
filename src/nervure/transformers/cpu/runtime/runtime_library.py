"""The runtime's own machine code: made once for a process, and never unloaded, since its threads live in it.

>>> record(ThreadPool).limit >= 1
True
>>> library("add_int32").address("run_add_int32") > 0
True
"""

from __future__ import annotations

import ctypes
import os
import threading
from contextlib import suppress
from functools import cache, partial
from typing import TypeVar

from nervure import flags
from nervure.support import forks
from nervure.transformers.cpu.cache.code_cache import make_key
from nervure.transformers.cpu.cache.fingerprint import package_fingerprint
from nervure.transformers.cpu.cache.library_cache import load_or_make
from nervure.transformers.cpu.cache.loader import Library
from nervure.transformers.cpu.runtime import cores, forking
from nervure.transformers.cpu.runtime.records import FLOATS, RECORDS, RUNTIME, MemoryPool, ThreadPool
from nervure.transformers.cpu.settings import SETTINGS
from nervure.transformers.cpu.target import Target

_TEMPERATURES = ("hot", "cold")
_loading = forks.lock()
_begun: set[str] = set()
_Record = TypeVar("_Record", bound=ctypes.Structure)


@cache
def library(part: str = RUNTIME) -> Library:
    """Returns a ``part`` of the runtime, loaded."""
    with _loading:
        return _load(part)


def begin(part: str = RUNTIME) -> None:
    """Starts loading a ``part`` on another thread, so that it is ready, or nearly, when it is first needed."""
    if part not in _begun:
        _begun.add(part)
        # No daemon: a program that ends meanwhile waits, since LLVM's memory must not be freed while it works.
        threading.Thread(target=_prepare, args=(part,), name="nervure runtime").start()


def _prepare(part: str) -> None:
    with suppress(Exception):  # the first call that needs it raises the same error
        library(part)


@cache
def _load(part: str) -> Library:
    # The package's fingerprint stands for the text, which takes longer to make than the code takes to load.
    keys = [make_key(part, package_fingerprint(), SETTINGS, Target.host().key, each) for each in _TEMPERATURES]
    symbols = {} if part == RUNTIME else _load(RUNTIME).addresses
    loaded = load_or_make(keys, partial(_make, part), symbols)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(loaded))
    if part == RUNTIME:
        _start(_record(loaded, ThreadPool), _record(loaded, MemoryPool))
    return loaded


def _make(part: str) -> list[bytes]:
    """Returns the compiled object files of a ``part``. The modules that build the code are imported only if the cache
    lacks it.
    """
    with forks.importing():
        from nervure.transformers.cpu.runtime.code import compile_modules
    return compile_modules(part)


def record(kind: type[_Record]) -> _Record:
    """Returns the one record of its kind that the process has."""
    return _record(library(), kind)


def _record(loaded: Library, kind: type[_Record]) -> _Record:
    name, = [name for name, each in RECORDS.items() if each is kind]
    return kind.from_address(loaded.address(name))


def _start(pool: ThreadPool, memory: MemoryPool) -> None:
    pool.main = threading.main_thread().ident
    pool.limit = cores.threads(flags.threads)
    pool.floats = FLOATS[flags.denormals]
    flags.on_change("threads", lambda value: setattr(pool, "limit", cores.threads(value)))
    flags.on_change("denormals", lambda value: setattr(pool, "floats", FLOATS[value]))
    os.register_at_fork(after_in_child=lambda: forking.start_anew(pool, memory))
