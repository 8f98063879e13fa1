r"""The compiler: from LLVM IR to machine code in this process, by LLVM's code generation.

>>> compile_object("define i64 @answer() { ret i64 42 }")[:4]
b'\x7fELF'
>>> compile_object("define i64 @answer() { ret 42 }")
Traceback (most recent call last):
    ...
nervure.errors.InternalError: generated code does not compile: 1:28: error: expected type
   1 | define i64 @answer() { ret 42 }
>>> library = compile_kernel("define i64 @answer() { ret i64 42 }")
>>> ctypes.CFUNCTYPE(ctypes.c_int64)(library.address("answer"))(), \
...     compile_kernel("define i64 @answer() { ret i64 42 }") is library
(42, True)

Loops arrive vectorised, unrolled and hoisted, values in registers: the text goes to code generation as it is. LLVM's
default pipeline takes longer than that, and vectorises and unrolls once more; single passes (scalar replacement,
simplification of blocks, combination, value numbering, rotation of loops) leave as many instructions on the whole, and
running passes leaks memory. Position-independent code with near addresses is a fifth shorter than the kind that JITs
use by default, whose every constant is reached through a 64-bit address.

Code generation takes nearly all of the time (llvmlite's LLVM checks its own assertions), so compilations run side by
side, in as many threads as call. Each has its own context and its own machine description. Code that already exists,
in memory or on disk (:mod:`library_cache`), is not compiled.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import cache
from types import SimpleNamespace
from typing import NamedTuple

from nervure.errors import InternalError
from nervure.support import forks
from nervure.transformers.cpu.cache import library_cache
from nervure.transformers.cpu.cache.loader import Library
from nervure.transformers.cpu.compile.llvm.library import Message, using_llvm
from nervure.transformers.cpu.settings import ADDRESSES, REACH, TRIPLE, level_of
from nervure.transformers.cpu.target import Target

_ASSEMBLY, _OBJECT = 0, 1
_LOOK_EVERY = 0.5  # seconds between two checks whether this process still has the threads
_TOGETHER = 16  # modules that are written to disk at once while others are compiled


def compile_kernel(text: str, target: Target | None = None) -> Library:
    """Returns the machine code of a module, loaded once per process."""
    return compile_kernels([text], target)[0]


def compile_kernels(texts: Sequence[str], target: Target | None = None) -> list[Library]:
    """Returns the machine code of several modules. InternalError, and no library, if one of them is wrong."""
    target = target or Target.host()
    keys = [library_cache.kernel_key(text, target) for text in texts]
    with Compilations(target) as compilations:
        for key, text in zip(keys, texts, strict=True):
            compilations.begin(key, text)
        found = compilations.libraries()
    return [found[key] for key in keys]


class Compilations:
    """Modules by their keys, compiled while more are written, in twice as many threads as there are processors. Half
    of the threads wait for Python's lock, which the writing thread holds. They give way to that thread, and search the
    disk for it. Existing code is not compiled.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._threads = ThreadPoolExecutor(2 * len(os.sched_getaffinity(0)), "nervure-compiler", _give_way)
        self._found: dict[bytes, Library] = {}
        self._begun: dict[bytes, tuple[str, Future[Library | bytes]]] = {}
        self._unkept: dict[bytes, bytes] = {}
        self._lock = forks.lock()
        self._process = os.getpid()

    def __enter__(self) -> Compilations:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._is_left_alone():
            self._threads.shutdown(cancel_futures=True)
        self._found = {}  # a library lives as long as its users

    def begin(self, key: bytes, text: str) -> None:
        """Begins to find or compile a module, unless it is in memory. The modules that it links must have begun
        before.
        """
        if key in self._found or key in self._begun:
            return
        self._found |= library_cache.find([key], on_disk=False)
        if key not in self._found:
            self._begun[key] = text, self._threads.submit(self._made, key, text)

    def begin_unless_there(self, key: bytes, write: Callable[[], str]) -> None:
        """Begins a module, which is not even written if it is in memory or on disk. The modules that it links begin
        while it is written.
        """
        self._found |= library_cache.find([key])
        if key not in self._found:
            self.begin(key, write())

    def libraries(self) -> dict[bytes, Library]:
        """Returns the machine code of all modules that were begun, when it is ready. InternalError if one of them is
        wrong.
        """
        made = {key: self._result(key, text, future) for key, (text, future) in self._begun.items()}
        self._begun.clear()
        self._found |= {key: entry for key, entry in made.items() if isinstance(entry, Library)}
        self._found |= library_cache.load_all({key: entry for key, entry in made.items() if isinstance(entry, bytes)})
        self._keep({}, at_least=1)
        return self._found

    def _is_left_alone(self) -> bool:
        """Whether this is a child that a signal handler has forked meanwhile: it has none of the threads."""
        return os.getpid() != self._process

    def _result(self, key: bytes, text: str, future: Future[Library | bytes]) -> Library | bytes:
        """Returns the result of a thread for the module ``text``, or computes it here if the thread no longer exists.
        """
        while not future.done():
            if self._is_left_alone():
                return self._made(key, text)
            wait([future], _LOOK_EVERY)
        return future.result()

    def _made(self, key: bytes, text: str) -> Library | bytes:
        """Returns a module from disk, or compiled."""
        found = library_cache.find([key])
        if found:
            return found[key]
        code = compile_object(text, self._target)
        self._keep({key: code}, at_least=_TOGETHER)
        return code

    def _keep(self, more: Mapping[bytes, bytes], at_least: int) -> None:
        """Writes compiled modules that are not on disk yet, with ``more``, if there are ``at_least`` that many."""
        with self._lock:
            self._unkept.update(more)
            kept = self._unkept.copy() if len(self._unkept) >= at_least else {}
            if kept:
                self._unkept.clear()
        library_cache.keep(kept)


def _give_way() -> None:
    """Lowers this thread's priority; on Linux each thread has its own."""
    with suppress(OSError):
        os.nice(5)  # competing for the processor, it gets a third of the others' share


def compile_object(text: str, target: Target | None = None) -> bytes:
    """Returns the object file of a module, for this machine or another. InternalError if LLVM refuses the text."""
    return _compile(text, target or Target.host(), _OBJECT)


def assembly(text: str, target: Target | None = None) -> str:
    """Returns the assembly of a module, for people.

    >>> "vfmadd" in assembly(
    ...     "declare float @llvm.fma.f32(float, float, float)"
    ...     "define float @f(float %x) { %y = call float @llvm.fma.f32(float %x, float %x, float %x) ret float %y }")
    True
    """
    return _compile(text, target or Target.host(), _ASSEMBLY).decode()


def _compile(text: str, target: Target, form: int) -> bytes:
    level = level_of(text)
    with using_llvm() as llvm, _borrowed_machine(llvm, target, level) as machine, _module(llvm, text) as module:
        llvm.SetTarget(module, TRIPLE)
        llvm.SetDataLayout(module, machine.layout)
        with Message(llvm) as error:
            buffer = llvm.TargetMachineEmitToMemory(machine.pointer, module, form, error.place)
            if not buffer:
                raise InternalError(f"no machine code for {target.name}: {error}")
        try:
            return ctypes.string_at(llvm.GetBufferStart(buffer), llvm.GetBufferSize(buffer))
        finally:
            llvm.DisposeMemoryBuffer(buffer)


@contextmanager
def _module(llvm: SimpleNamespace, text: str) -> Iterator[int]:
    """Reads and verifies a module, in a context of its own; both are freed after the block."""
    context, module = llvm.ContextCreate(), None
    try:
        with Message(llvm) as error:
            module = llvm.ParseAssembly(context, text.encode(), error.place)
            if not module or llvm.VerifyModule(module, error.place):
                raise InternalError(_explain(text, str(error)))
        yield module
    finally:
        if module:
            llvm.DisposeModule(module)
        llvm.ContextDispose(context)


def _explain(text: str, message: str) -> str:
    """Adds to LLVM's complaint the lines that it is about, found by position or, for the verifier, by their text."""
    lines = text.splitlines()
    found = re.match(r"<string>:(\d+):(.*)", message)
    if found:
        last = int(found[1])
        message, wanted = f"{last}:{found[2]}", list(range(last - 2, last + 1))
    else:
        said = {line.strip() for line in message.splitlines()}
        wanted = [number for number, line in enumerate(lines, 1) if line.strip() and line.strip() in said]
    shown = [f"{number:4} | {lines[number - 1]}" for number in wanted if 0 < number <= len(lines)]
    return "\n".join([f"generated code does not compile: {message.strip()}", *shown])


class _Machine(NamedTuple):
    """LLVM's description of a target and a level, which one compilation at a time may use."""

    pointer: int
    layout: bytes


_idle: dict[tuple[Target, int], list[_Machine]] = {}


@contextmanager
def _borrowed_machine(llvm: SimpleNamespace, target: Target, level: int) -> Iterator[_Machine]:
    """Takes a description from the free ones, of which there are at most as many as were ever in use at once."""
    free = _idle.setdefault((target, level), [])
    try:
        machine = free.pop()
    except IndexError:
        machine = _make_machine(llvm, target, level)
    try:
        yield machine
    finally:
        free.append(machine)


def _make_machine(llvm: SimpleNamespace, target: Target, level: int) -> _Machine:
    processor, features = _describe(target)
    with Message(llvm) as error:
        kind = llvm.GetTargetFromTriple(TRIPLE, error.place)
        if not kind:
            raise InternalError(f"LLVM has no x86-64: {error}")
    pointer = llvm.CreateTargetMachine(kind, TRIPLE, processor.encode(), features.encode(), level, ADDRESSES,
                                       REACH, 0, 0, b"")
    data = llvm.CreateTargetMachineData(pointer)
    with Message(llvm) as layout:
        llvm.CopyStringRepOfTargetData(data, layout.place)
        text = str(layout).encode()
    llvm.DisposeTargetData(data)
    return _Machine(pointer, text)


@cache
def _describe(target: Target) -> tuple[str, str]:
    """Returns LLVM's name of the processor, and every instruction set it knows as wanted (+) or not (-).

    Only vectors of full width make AVX-512 worth while; LLVM by itself prefers half of it on most processors.
    """
    with using_llvm() as llvm, Message(llvm) as name, Message(llvm) as features:
        llvm.GetHostCPUName(name.place)
        llvm.GetHostCPUFeatures(features.place)
        known = [entry[1:] for entry in str(features).split(",")]
        processor = str(name) if target.is_host else target.processor
    wanted = set(target.features)
    listed = [("+" if entry in wanted else "-") + entry for entry in known]
    return processor, ",".join([*listed, "-prefer-256-bit"])
