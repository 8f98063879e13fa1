"""From LLVM's language to machine code in this process.

>>> import ctypes
>>> library = load(compile_object("define i64 @answer() { ret i64 42 }"))
>>> ctypes.CFUNCTYPE(ctypes.c_int64)(library.address("answer"))()
42
"""

from __future__ import annotations

from functools import cache
from typing import Any

import llvmlite.binding as llvm


@cache
def _machine() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(),
                                        opt=3, jit=True)


def compile_object(text: str) -> bytes:
    """The object file of a module."""
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = _machine().triple, str(_machine().target_data)
    return bytes(_machine().emit_object(module))


class Library:
    """Loaded machine code; it is freed when the last reference is dropped."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def address(self, name: str) -> int:
        """Where a function is."""
        return int(self._engine.get_function_address(name))


def load(code: bytes) -> Library:
    """Puts an object file in memory, ready to run."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), llvm.Target.from_default_triple().create_target_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return Library(engine)
