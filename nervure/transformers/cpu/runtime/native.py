"""The runtime's own machine code: made once for a process, and never unloaded, since its threads live in it.

>>> team().limit >= 1
True
"""

from __future__ import annotations

import ctypes
import os
import threading
from functools import cache
from typing import Any, TypeVar

from nervure import flags
from nervure.transformers.cpu import jit
from nervure.transformers.cpu.llvm.builder import assemble
from nervure.transformers.cpu.runtime import arrays, call, cores, entry, forking, records, slices, transaction
from nervure.transformers.cpu.runtime import pool as pool_code
from nervure.transformers.cpu.runtime import team as team_code

_GLOBALS = {"team": records.Team, "pool": records.Pool, "host": records.Host}
_loading = threading.Lock()
_Record = TypeVar("_Record", bound=ctypes.Structure)


def text() -> str:
    """The runtime in LLVM's language."""
    functions = [slices.slice_count(), slices.run_slice(), *team_code.functions(), *pool_code.functions(),
                 *arrays.functions(), *call.functions(), *entry.functions(), *transaction.functions()]
    return assemble(functions, [f"@{name} = global [{ctypes.sizeof(record)} x i8] zeroinitializer, align 128"
                                for name, record in _GLOBALS.items()])


@cache
def library() -> Any:
    """The runtime, loaded."""
    with _loading:
        return _load()


def begin() -> None:
    """Starts loading in a thread of its own, so that it is ready, or nearly, when it is first needed."""
    threading.Thread(target=library, name="nervure runtime", daemon=True).start()


@cache
def _load() -> Any:
    loaded = jit.compile_kernel(text())
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(loaded))
    _start(records.Team.from_address(loaded.address("team")), records.Pool.from_address(loaded.address("pool")))
    return loaded


def record(name: str, kind: type[_Record]) -> _Record:
    """One of the process's records: ``team``, ``pool`` or ``host``."""
    return kind.from_address(library().address(name))


def team() -> records.Team:
    """The record of the process's team of threads."""
    return record("team", records.Team)


def _start(team: records.Team, pool: records.Pool) -> None:
    team.main = threading.main_thread().ident
    team.limit = cores.threads(flags.threads)
    flags.on_change("threads", lambda value: setattr(team, "limit", cores.threads(value)))
    os.register_at_fork(after_in_child=lambda: forking.start_anew(team, pool))


def _renew_lock() -> None:
    """In a child of a fork, the thread that was loading does not exist."""
    global _loading
    _loading = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)
