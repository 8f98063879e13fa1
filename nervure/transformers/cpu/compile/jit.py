"""From LLVM's language to machine code in this process: out of memory, else off the disk, else from the compiler.

>>> import ctypes
>>> library = compile_kernel("define i64 @answer() { ret i64 42 }")
>>> ctypes.CFUNCTYPE(ctypes.c_int64)(library.address("answer"))()
42
>>> compile_kernel("define i64 @answer() { ret i64 42 }") is library
True

What is there already (:mod:`library_cache`) is not compiled. Several are compiled side by side, as many as there are
processors.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence

from nervure.transformers.cpu.cache import library_cache
from nervure.transformers.cpu.cache.loader import Library, load
from nervure.transformers.cpu.compile.compiler import assembly, compile_object
from nervure.transformers.cpu.machine import Target

__all__ = ["Library", "assembly", "compile_kernel", "compile_kernels", "compile_object", "load"]


def compile_kernel(text: str, target: Target | None = None) -> Library:
    """The machine code of a module, loaded once per process."""
    return compile_kernels([text], target)[0]


def compile_kernels(texts: Sequence[str], target: Target | None = None) -> list[Library]:
    """The machine code of several modules. InternalError, and no library, if one of them is wrong."""
    target = target or Target.host()
    keys = [library_cache.kernel_key(text, target) for text in texts]
    found = library_cache.find(keys)
    missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
    # The longest first: what is begun last should not be what everybody waits for.
    order = sorted(missing, key=lambda key: len(missing[key]), reverse=True)
    objects = _side_by_side(lambda key: compile_object(missing[key], target), order)
    found |= library_cache.keep(dict(zip(order, objects, strict=True)))
    return [found[key] for key in keys]


def _side_by_side(function: Callable[[bytes], bytes], keys: Sequence[bytes]) -> list[bytes]:
    """A function of each key, computed in as many threads as there are processors for us."""
    results: dict[bytes, bytes] = {}
    errors: list[BaseException] = []
    remaining = iter(keys)
    taking = threading.Lock()

    def work() -> None:
        while not errors:
            with taking:
                key = next(remaining, None)
            if key is None:
                return
            try:
                results[key] = function(key)
            except BaseException as error:
                errors.append(error)

    helpers = [threading.Thread(target=work, daemon=True)
               for _ in range(min(len(keys), len(os.sched_getaffinity(0))) - 1)]
    for helper in helpers:
        helper.start()
    work()
    for helper in helpers:
        helper.join()
    if errors:
        raise errors[0]
    return [results[key] for key in keys]
