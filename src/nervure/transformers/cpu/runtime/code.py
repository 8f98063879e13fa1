"""The runtime's code in parts: that of every call, and that of ops that few programs have, which is made if asked for.

Each part is two modules of LLVM IR: hot functions, which every call runs or which have loops over elements, and others.

>>> [text.count("define ") for text in modules(RUNTIME)] == [
...     len([each for each in functions(RUNTIME) if each.is_hot is is_hot]) for is_hot in (True, False)]
True
>>> [function.name for function in functions("add_float32")]
['run_add_float32', 'accumulate_add_float32']
"""

from __future__ import annotations

import ctypes
from types import ModuleType

from nervure.support import forks
from nervure.transformers.cpu.compile.compiler import compile_object
from nervure.transformers.cpu.compile.llvm.builder import assemble
from nervure.transformers.cpu.runtime.native import Native, functions_of
from nervure.transformers.cpu.runtime.records import RECORDS, RUNNERS, RUNNING, RUNTIME, TENSORS

PARTS = (RUNTIME, TENSORS, RUNNERS, "library_calls", "whole_ops", "key_sorting", "row_sorting")
"""The parts beside those of ``RUNNING``. All use the functions and the records of the first."""


def compile_modules(part: str) -> list[bytes]:
    """Returns the object files of the modules of a ``part``."""
    return [compile_object(text) for text in modules(part)]


def functions(part: str) -> list[Native]:
    """Returns all functions of a ``part`` of the runtime."""
    with forks.importing():
        if part in RUNNING:
            from nervure.transformers.cpu.runtime.accumulating import functions_of_form
            return functions_of_form(part)
        return [function for module in _written_in(part) for function in functions_of(module)]


def _written_in(part: str) -> tuple[ModuleType, ...]:
    """Returns the modules of a ``part``, of which a program imports those that it has."""
    if part == RUNTIME:
        from nervure.transformers.cpu.runtime import (
            array_headers,
            call,
            chunks,
            entry,
            memory_pool,
            resizing,
            thread_pool,
        )
        return chunks, thread_pool, memory_pool, array_headers, resizing, call, entry
    if part == TENSORS:
        from nervure.transformers.cpu.runtime import tensor_entry, tensor_headers
        return tensor_headers, tensor_entry
    if part == RUNNERS:
        from nervure.transformers.cpu.runtime import runners
        return (runners,)
    if part == "library_calls":
        from nervure.transformers.cpu.runtime import library_calls
        return (library_calls,)
    if part == "whole_ops":
        from nervure.transformers.cpu.runtime import whole_ops
        return (whole_ops,)
    if part == "key_sorting":
        from nervure.transformers.cpu.runtime import key_merging, key_sorting
        return key_sorting, key_merging
    from nervure.transformers.cpu.runtime import row_sorting
    return (row_sorting,)


def modules(part: str) -> list[str]:
    """Returns a ``part`` as LLVM IR: the hot functions, then the others. The hot module of the first has the records.
    """
    own, made = functions(part), []
    outside = [function.declaration for function in functions(RUNTIME) if part != RUNTIME]
    for is_hot in (True, False):
        has_records = is_hot and part == RUNTIME
        kind, start = ("global", " zeroinitializer") if has_records else ("external global", "")
        records = [f"@{name} = {kind} [{ctypes.sizeof(record)} x i8]{start}, align 128"
                   for name, record in RECORDS.items()]
        here = [function.build() for function in own if function.is_hot is is_hot]
        others = [function.declaration for function in own if function.is_hot is not is_hot]
        made.append(assemble(here, records, [*others, *outside], is_cold=not is_hot))
    return made
