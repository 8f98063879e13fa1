"""The runtime's code, as two modules of LLVM IR: the hot part, which every call runs, and the cold one.

>>> [text.count("define ") for text, _ in modules()] == [len([each for each in functions() if each.is_hot is is_hot])
...                                                      for is_hot in (True, False)]
True
"""

from __future__ import annotations

import ctypes
from typing import NamedTuple

from nervure.transformers.cpu.compile.compiler import compile_object
from nervure.transformers.cpu.compile.llvm.builder import assemble
from nervure.transformers.cpu.runtime import (
    accumulating,
    array_headers,
    call,
    chunks,
    entry,
    library_calls,
    memory_pool,
    resizing,
    row_sorting,
    runners,
    tensor_entry,
    tensor_headers,
    thread_pool,
    whole_ops,
)
from nervure.transformers.cpu.runtime.native import Native, functions_of
from nervure.transformers.cpu.runtime.records import RECORDS
from nervure.transformers.cpu.settings import COLD_LEVEL, LEVEL


class RuntimeModule(NamedTuple):
    """A text, and the effort for its code: a level of the compiler."""

    text: str
    level: int


def compile_modules() -> list[bytes]:
    """Returns the object files of the modules."""
    return [compile_object(module.text, level=module.level) for module in modules()]


def functions() -> list[Native]:
    """Returns all functions of the runtime."""
    parts = (chunks, thread_pool, memory_pool, array_headers, resizing, call, runners, whole_ops,
             row_sorting, accumulating, library_calls, entry, tensor_headers, tensor_entry)
    listed = [functions_of(module) for module in parts]
    return [function for each in listed for function in each]


def modules() -> list[RuntimeModule]:
    """Returns the runtime as LLVM IR: the hot part, then the cold one."""
    return [_module(True, "global", " zeroinitializer", LEVEL), _module(False, "external global", "", COLD_LEVEL)]


def _module(is_hot: bool, kind: str, start: str, level: int) -> RuntimeModule:
    """Returns a module of some of the functions; ``kind`` says whether the records are ``global`` here or ``external
    global``.
    """
    records = [f"@{name} = {kind} [{ctypes.sizeof(record)} x i8]{start}, align 128" for name, record in RECORDS.items()]
    own = [function.build() for function in functions() if function.is_hot is is_hot]
    others = [function.build().declaration for function in functions() if function.is_hot is not is_hot]
    return RuntimeModule(assemble(own, records, others), level)
