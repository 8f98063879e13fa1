"""All of the runtime's code, as two modules of LLVM's language: the hot part, which every call runs, and the cold one.

>>> [text.count("define ") for text, _ in modules()] == [len(HOT), len(functions()) - len(HOT)]
True
"""

from __future__ import annotations

import ctypes
from typing import NamedTuple

from nervure.transformers.cpu.compile.compiler import compile_object
from nervure.transformers.cpu.compile.llvm.builder import Builder, assemble
from nervure.transformers.cpu.runtime import arrays, call, entry, pool, records, slices, team, transaction
from nervure.transformers.cpu.settings import COLD_LEVEL, LEVEL

_GLOBALS = {"team": records.Team, "pool": records.Pool, "host": records.Host}
# What is worth a millisecond of LLVM and more for each: the way of every call, where its own instructions take longer
# than the functions of Python that it calls. All else (threads, failures, variables) is compiled in a hurry, which adds
# 5 ns to a call of 320.
HOT = {"entry", "fits", "call_program", "new_array", "run", "bind", "run_steps", "slice_count", "run_slice", "take",
       "put", "size_class", "class_bytes", "handler_free"}


class Module(NamedTuple):
    """A text, and how much is worth spending on its code: a level of the compiler."""

    text: str
    level: int


def compile_modules() -> list[bytes]:
    """The object files of the modules."""
    return [compile_object(module.text, level=module.level) for module in modules()]


def functions() -> list[Builder]:
    """All of the runtime's code."""
    return [slices.slice_count(), slices.run_slice(), *team.functions(), *pool.functions(),
            *arrays.functions(), *call.functions(), *entry.functions(), *transaction.functions()]


def modules() -> list[Module]:
    """The runtime in LLVM's language: the hot part, then the cold one."""
    every = functions()
    return [_module([function for function in every if function.name in HOT], every, "global", LEVEL),
            _module([function for function in every if function.name not in HOT], every, "external global", COLD_LEVEL)]


def _module(own: list[Builder], every: list[Builder], kind: str, level: int) -> Module:
    """Some of the functions; ``kind`` says whether the records are ``global`` here or ``external global``."""
    start = "" if kind.startswith("external") else " zeroinitializer"
    records = [f"@{name} = {kind} [{ctypes.sizeof(record)} x i8]{start}, align 128"
               for name, record in _GLOBALS.items()]
    others = [function.declaration for function in every if function not in own]
    return Module(assemble(own, records, others), level)
