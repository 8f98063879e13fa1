"""Puts object files in memory, ready to run, without LLVM: a program whose code is in the cache never loads it.

A library is one mapping: code and constants, then, on pages of their own, what may be written. It is filled in while
nothing of it can run; then the first part becomes executable and can no longer be written.

>>> import ctypes
>>> from nervure.transformers.cpu.compile.compiler import compile_object
>>> text = "declare double @cos(double) define double @f(double %x) { %y = call double @cos(double %x) ret double %y }"
>>> library = load(compile_object(text))
>>> ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(library.address("f"))(0.0)
1.0

Names that an object does not define are looked up in the ``symbols`` given, then in this process: the C library,
threads, mathematics, the C-API of Python. A name found nowhere is an error before anything is placed.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from nervure.errors import FormatError, InternalError, NotSupported
from nervure.transformers.cpu.cache.elf import ABSOLUTE, UNDEFINED, ObjectFile, Relocation, join, read_object

# How a place is filled in: R_X86_64_64, _PC32, _PLT32, _GOTPCREL, _PC64, _GOTPCRELX and _REX_GOTPCRELX.
_WORD, _RELATIVE, _CALL, _SLOT, _RELATIVE_WIDE, _SLOT_CALL, _SLOT_LOAD = 1, 2, 4, 9, 24, 41, 42
_SLOTS = (_SLOT, _SLOT_CALL, _SLOT_LOAD)
_FORMATS = {kind: struct.Struct("<i") for kind in (_RELATIVE, _CALL, *_SLOTS)}
_FORMATS |= {_WORD: struct.Struct("<Q"), _RELATIVE_WIDE: struct.Struct("<q")}
_STUB = struct.Struct("<BBixx")   # jmp *slot(%rip), for functions further away than a call reaches
_ADDRESS = struct.Struct("<Q")
_LIBRARIES = (None, "python", "libm.so.6", "libgcc_s.so.1")  # what all can see, then what may be local to others
_MASK = 2**64 - 1


class Library:
    """Loaded machine code; it is freed when the last reference is dropped."""

    __slots__ = ("__weakref__", "_addresses", "_memory")

    def __init__(self, memory: mmap.mmap, addresses: dict[str, int]) -> None:
        self._memory, self._addresses = memory, addresses

    def address(self, name: str) -> int:
        """Where a function, or global data, is."""
        try:
            return self._addresses[name]
        except KeyError:
            raise InternalError(f"no {name} in a library of {', '.join(self._addresses)}") from None

    @property
    def size(self) -> int:
        """The bytes of memory that it takes."""
        return len(self._memory)


def load(code: bytes, symbols: Mapping[str, int] | None = None) -> Library:
    """Puts an object file in memory. FormatError if it is not whole, InternalError if a name is found nowhere."""
    return load_together([code], symbols)


def load_together(codes: Sequence[bytes], symbols: Mapping[str, int] | None = None) -> Library:
    """Puts object files that use each other in memory, as one library."""
    files = [read_object(code) for code in codes]
    file = files[0] if len(files) == 1 else join(files)
    return _Image(file, _resolve(file, symbols or {})).finish()


def _resolve(file: ObjectFile, given: Mapping[str, int]) -> dict[str, int]:
    """The addresses of all names that the object does not define."""
    found: dict[str, int] = {}
    missing: list[str] = []
    for symbol in file.symbols[1:]:
        if symbol.section == UNDEFINED and symbol.name:
            address = given.get(symbol.name) or process_symbol(symbol.name)
            if not address and not symbol.is_weak:
                missing.append(symbol.name)
            found[symbol.name] = address
    if missing:
        raise InternalError(f"generated code needs {', '.join(missing)}, which this process does not have")
    return found


@cache
def process_symbol(name: str) -> int:
    """The address of a function or of data in this process; 0 if there is none.

    >>> process_symbol("PyLong_FromLong") > 0, process_symbol("no such name")
    (True, 0)
    """
    for library in _LIBRARIES:
        with suppress(AttributeError, OSError):  # not there, or no such library on this system
            return ctypes.cast(_open(library)[name], ctypes.c_void_p).value or 0
    return 0


@cache
def _open(library: str | None) -> ctypes.CDLL:
    return ctypes.pythonapi if library == "python" else ctypes.CDLL(library)


class _Image:
    """An object file on its way into memory."""

    def __init__(self, file: ObjectFile, outside: dict[str, int]) -> None:
        self._file, self._outside = file, outside
        self._starts: dict[int, int] = {}
        self._slots: dict[int, int] = {}   # by symbol: where its address lies, for code that reads it from memory
        self._stubs: dict[int, int] = {}   # by symbol: a jump to where it is
        self._fixed = self._arrange()
        end = self._place(self._fixed, is_writable=True)
        self._memory = mmap.mmap(-1, max(end, mmap.PAGESIZE), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
                                 mmap.PROT_READ | mmap.PROT_WRITE)
        self._base = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))

    def finish(self) -> Library:
        """Fills everything in and makes it runnable."""
        for number, start in self._starts.items():
            section = self._file.sections[number]
            if section.data is not None:
                self._memory[start:start + section.size] = bytes(section.data)
        for symbol, slot in self._slots.items():
            _ADDRESS.pack_into(self._memory, slot, self._address(symbol) & _MASK)
        for symbol, stub in self._stubs.items():
            _STUB.pack_into(self._memory, stub, 0xFF, 0x25, self._slots[symbol] - (stub + 6))
        for relocation in self._file.relocations:
            self._fill_in(relocation)
        _protect(self._base, self._fixed)
        addresses = {symbol.name: self._address(number) for number, symbol in enumerate(self._file.symbols)
                     if symbol.section in self._starts and not symbol.is_local}
        return Library(self._memory, addresses)

    def _arrange(self) -> int:
        """Places code, constants, stubs and slots; returns where the next page begins."""
        end = -(-self._place(0, is_writable=False) // 8) * 8
        for relocation in self._file.relocations:
            symbol, kind = relocation.symbol, relocation.kind
            if kind == _CALL and self._file.symbols[symbol].section not in self._file.sections:
                self._stubs.setdefault(symbol, 0)
            elif kind not in _SLOTS:
                continue
            self._slots.setdefault(symbol, 0)
        for table, size in ((self._stubs, _STUB.size), (self._slots, _ADDRESS.size)):
            for symbol in table:
                table[symbol], end = end, end + size
        return -(-end // mmap.PAGESIZE) * mmap.PAGESIZE

    def _place(self, end: int, is_writable: bool) -> int:
        """Places the sections of one kind one after another; returns where they end."""
        for number, section in self._file.sections.items():
            if section.is_writable == is_writable:
                self._starts[number] = -(-end // section.alignment) * section.alignment
                end = self._starts[number] + section.size
        return end

    def _address(self, number: int) -> int:
        symbol = self._file.symbols[number]
        if symbol.section == UNDEFINED:
            return self._outside.get(symbol.name, 0)
        if symbol.section == ABSOLUTE:
            return symbol.value
        if symbol.section not in self._starts:
            raise FormatError(f"{symbol.name} lies in a section that takes no memory", op="object file", location=None)
        return self._base + self._starts[symbol.section] + symbol.value

    def _fill_in(self, relocation: Relocation) -> None:
        kind, place = relocation.kind, self._starts[relocation.section] + relocation.offset
        form = _FORMATS.get(kind)
        if form is None or relocation.offset + form.size > self._file.sections[relocation.section].size:
            raise FormatError("a place cannot be filled in", op="object file", got=f"kind {kind}", location=None,
                              expected=f"one of the kinds {', '.join([str(known) for known in sorted(_FORMATS)])}")
        if kind in _SLOTS:
            target = self._base + self._slots[relocation.symbol]
        elif kind == _CALL and relocation.symbol in self._stubs:
            target = self._base + self._stubs[relocation.symbol]
        else:
            target = self._address(relocation.symbol)
        value = target + relocation.addend - (0 if kind == _WORD else self._base + place)
        try:
            form.pack_into(self._memory, place, value & _MASK if kind == _WORD else value)
        except struct.error:
            raise FormatError("an address is out of reach", op="object file", location=None,
                              got=self._file.symbols[relocation.symbol].name) from None


@cache
def _mprotect() -> Any:
    function = ctypes.CDLL(None, use_errno=True).mprotect
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return function


def _protect(address: int, size: int) -> None:
    """Makes memory executable and no longer writable."""
    if size and _mprotect()(address, size, mmap.PROT_READ | mmap.PROT_EXEC):
        raise NotSupported("this system does not let a program run code that it has made", op="cpu transformer",
                           got=f"errno {ctypes.get_errno()} of mprotect", location=None,
                           help="nv.transformers.make_transformer('interpreter') runs everywhere")
