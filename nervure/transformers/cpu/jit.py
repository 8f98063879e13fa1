"""From LLVM's language to machine code in this process: out of memory, else off the disk, else from the compiler.

>>> import ctypes
>>> library = compile_kernel("define i64 @answer() { ret i64 42 }")
>>> ctypes.CFUNCTYPE(ctypes.c_int64)(library.address("answer"))()
42
>>> compile_kernel("define i64 @answer() { ret i64 42 }") is library
True

A library lives as long as somebody holds it. Several are compiled side by side, as many as there are processors.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple
from weakref import WeakValueDictionary

from nervure.errors import FormatError
from nervure.transformers.cpu.code_cache import make_key, user_cache
from nervure.transformers.cpu.compiler import LEVEL, SETTINGS, assembly, compile_object
from nervure.transformers.cpu.loader import Library, load, load_together
from nervure.transformers.cpu.machine import Target

__all__ = ["Library", "Module", "assembly", "compile_kernel", "compile_kernels", "compile_object", "compile_once",
           "kept_kernels", "kernel_key", "load"]


class Module(NamedTuple):
    """A text, and how much is worth spending on its code: a level of the compiler."""

    text: str
    level: int = LEVEL


_loaded: WeakValueDictionary[bytes, Library] = WeakValueDictionary()


def compile_kernel(text: str, target: Target | None = None) -> Library:
    """The machine code of a module, loaded once per process."""
    return compile_kernels([text], target)[0]


def kernel_key(text: str, target: Target) -> bytes:
    """The key of a kernel's machine code in the cache."""
    return make_key("kernel", SETTINGS, target.key, text)


def kept_kernels(keys: Sequence[bytes]) -> list[Library] | None:
    """The machine code that has these keys; None if some of it is not there."""
    found = {key: library for key in dict.fromkeys(keys) if (library := _loaded.get(key) or _from_disk(key))}
    _loaded.update(found)
    return [found[key] for key in keys] if all([key in found for key in keys]) else None


def compile_kernels(texts: Sequence[str], target: Target | None = None) -> list[Library]:
    """The machine code of several modules. InternalError, and no library, if one of them is wrong."""
    target = target or Target.host()
    keys = [kernel_key(text, target) for text in texts]
    found = {key: library for key in keys if (library := _loaded.get(key) or _from_disk(key))}
    missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
    # The longest first: what is begun last should not be what everybody waits for.
    order = sorted(missing, key=lambda key: len(missing[key]), reverse=True)
    objects = _side_by_side(lambda key: compile_object(missing[key], target), order)
    for key, code in zip(order, objects, strict=True):
        found[key] = load(code)
        if cache := user_cache():
            cache.put(key, code)
    _loaded.update(found)
    return [found[key] for key in keys]


def compile_once(keys: Sequence[bytes], make: Callable[[], Sequence[Module]]) -> Library:
    """Modules that use each other as one library for this machine, made only if they are not found by their keys."""
    cache = user_cache()
    if cache and all(codes := [cache.get(key) for key in keys]):
        with suppress(FormatError):
            return load_together([code for code in codes if code])
    made = [compile_object(module.text, level=module.level) for module in make()]
    library = load_together(made)
    if cache:
        for key, code in zip(keys, made, strict=True):
            cache.put(key, code)
    return library


def _from_disk(key: bytes) -> Library | None:
    cache = user_cache()
    code = cache.get(key) if cache else None
    try:
        return load(code) if code else None
    except FormatError:  # whole, but nothing that can be loaded: it is compiled and put again
        return None


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
