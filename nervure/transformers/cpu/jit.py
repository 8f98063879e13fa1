"""From LLVM's language to machine code in this process.

>>> import ctypes
>>> library = load(compile_object("define i64 @answer() { ret i64 42 }"))
>>> ctypes.CFUNCTYPE(ctypes.c_int64)(library.address("answer"))()
42
"""

from __future__ import annotations

from nervure.transformers.cpu.compiler import assembly, compile_object
from nervure.transformers.cpu.loader import Library, load

__all__ = ["Library", "assembly", "compile_object", "load"]
