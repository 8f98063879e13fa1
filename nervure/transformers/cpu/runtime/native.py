"""The runtime's own machine code: made once for a process, and never unloaded, since its threads live in it.

>>> team().limit >= 1
True
"""

from __future__ import annotations

import ctypes
import os
import threading
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar

from nervure import flags
from nervure.transformers.cpu import jit
from nervure.transformers.cpu.code_cache import make_key
from nervure.transformers.cpu.compiler import LEVEL, ROUGH, SETTINGS
from nervure.transformers.cpu.fingerprint import package_fingerprint
from nervure.transformers.cpu.llvm.builder import Builder, assemble
from nervure.transformers.cpu.machine import Target
from nervure.transformers.cpu.runtime import arrays, call, cores, entry, forking, records, slices, transaction
from nervure.transformers.cpu.runtime import pool as pool_code
from nervure.transformers.cpu.runtime import team as team_code

_PARTS = ("usual", "else")
_GLOBALS = {"team": records.Team, "pool": records.Pool, "host": records.Host}
# What is worth a millisecond of LLVM and more for each: the way of every call, where its own instructions take longer
# than the functions of Python that it calls. All else (threads, failures, variables) is compiled in a hurry, which adds
# 5 ns to a call of 320.
_USUAL = {"entry", "fits", "call_program", "new_array", "run", "bind", "run_steps", "slice_count", "run_slice", "take",
          "put", "size_class", "class_bytes", "handler_free"}
_loading = threading.Lock()
_Record = TypeVar("_Record", bound=ctypes.Structure)


def functions() -> list[Builder]:
    """All of the runtime's code."""
    return [slices.slice_count(), slices.run_slice(), *team_code.functions(), *pool_code.functions(),
            *arrays.functions(), *call.functions(), *entry.functions(), *transaction.functions()]


def modules() -> list[jit.Module]:
    """The runtime in LLVM's language: what is usual, then all else."""
    every = functions()
    return [_module([function for function in every if function.name in _USUAL], every, "global", LEVEL),
            _module([function for function in every if function.name not in _USUAL], every, "external global", ROUGH)]


def _module(own: list[Builder], every: list[Builder], kind: str, level: int) -> jit.Module:
    """Some of the functions; ``kind`` says whether the records are ``global`` here or ``external global``."""
    start = "" if kind.startswith("external") else " zeroinitializer"
    records = [f"@{name} = {kind} [{ctypes.sizeof(record)} x i8]{start}, align 128"
               for name, record in _GLOBALS.items()]
    others = [function.declaration for function in every if function not in own]
    return jit.Module(assemble(own, records, others), level)


@cache
def library() -> Any:
    """The runtime, loaded."""
    with _loading:
        return _load()


def begin() -> None:
    """Starts loading in a thread of its own, so that it is ready, or nearly, when it is first needed."""
    if not library.cache_info().currsize and not _loading.locked():
        # No daemon: a program that ends meanwhile waits, since LLVM's memory must not go while it works.
        threading.Thread(target=_prepare, name="nervure runtime").start()


def _prepare() -> None:
    with suppress(Exception):  # who needs it meets the same error
        library()


@cache
def _load() -> Any:
    # The package stands for the text, which takes longer to make than the code takes to load.
    keys = [make_key("runtime", package_fingerprint(), SETTINGS, Target.host().key, part) for part in _PARTS]
    loaded = jit.compile_once(keys, modules)
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
