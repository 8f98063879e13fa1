"""A loader of object files: ELF-64 for x86-64 in memory, ready to run, without LLVM, which a warm start never loads.

A library is one mapping: code and constants, then, on separate pages, writable data. It is filled in while nothing in
it can run; then the first part becomes executable and read-only.

>>> import ctypes
>>> from nervure.transformers.cpu.compile.compiler import compile_object
>>> text = "declare double @cos(double) define double @f(double %x) { %y = call double @cos(double %x) ret double %y }"
>>> library = load(compile_object(text))
>>> ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(library.address("f"))(0.0)
1.0

Names that an object does not define are looked up in the given ``symbols``, then in this process: the C library,
threads, mathematics, the C-API of Python. A name found nowhere is an error before anything is placed.

The bytes come from a file that may be cut short or foreign, so every offset is checked before it is followed: an
object that cannot be loaded is a FormatError, and has no other effect. The format is the System V ABI's, with the
relocations of its x86-64 supplement.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections import namedtuple
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import NamedTuple

from nervure.errors import FormatError, InternalError, NotSupported

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION, _SYMBOL, _RELOCATION = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ"), struct.Struct("<QIIq")
_MAGIC = b"\x7fELF\x02\x01\x01"  # 64 bits, little-endian, version 1
_RELOCATABLE, _X86_64 = 1, 62
_PROGRAM, _SYMBOLS, _STRINGS, _RELOCATIONS, _ZEROS = 1, 2, 3, 4, 8
_WRITABLE, _IN_MEMORY, _THREAD_LOCAL = 1, 2, 0x400
_UNDEFINED, _ABSOLUTE, _RESERVED = 0, 0xFFF1, 0xFF00
_LOCAL, _WEAK = 0, 2
_SECTIONS = 1 << 16     # sections per file: the offset between the numbers of two files

# The kinds of relocations: R_X86_64_64, _PC32, _PLT32, _GOTPCREL, _PC64, _GOTPCRELX and _REX_GOTPCRELX.
_WORD, _RELATIVE, _CALL, _SLOT, _RELATIVE_WIDE, _SLOT_CALL, _SLOT_LOAD = 1, 2, 4, 9, 24, 41, 42
_SLOTS = (_SLOT, _SLOT_CALL, _SLOT_LOAD)
_FORMATS = {kind: struct.Struct("<i") for kind in (_RELATIVE, _CALL, *_SLOTS)}
_FORMATS |= {_WORD: struct.Struct("<Q"), _RELATIVE_WIDE: struct.Struct("<q")}
_REACH, _JUMP = struct.Struct("<QBBixx"), (0xFF, 0x25, -14)  # a symbol's address, and "jmp *address(%rip)" for calls
_MASK = 2**64 - 1


class Library:
    """Loaded machine code; it is freed when the last reference is dropped."""

    __slots__ = ("__weakref__", "_memory", "addresses", "needed")

    def __init__(self, memory: mmap.mmap, addresses: Mapping[str, int]) -> None:
        self._memory, self.addresses = memory, addresses  # those of functions and global data, by name
        self.needed: tuple[Library, ...] = ()  # the libraries that its code calls

    def address(self, name: str) -> int:
        """Returns the address of a function, or of global data."""
        try:
            return self.addresses[name]
        except KeyError:
            raise InternalError(f"no {name} in a library of {', '.join(self.addresses)}") from None

    @property
    def size(self) -> int:
        """The bytes of memory that it takes."""
        return len(self._memory)


def load(*codes: bytes, symbols: Mapping[str, int] | None = None) -> Library:
    """Loads object files that use each other as one library. FormatError if one is not complete, InternalError if a
    name is found nowhere.
    """
    try:
        return _place(ObjectFile(codes), {} if symbols is None else symbols)
    except (struct.error, ValueError, IndexError, KeyError, OSError) as error:
        raise FormatError("it cannot be loaded", op="object file", got=f"{sum(map(len, codes))} bytes; {error}",
                          expected="ELF for x86-64, whole", location=None) from None


@cache
def process_symbol(name: str) -> int:
    """Returns the address of a function or of data in this process; 0 if there is none.

    >>> process_symbol("PyLong_FromLong") > 0, process_symbol("no such name")
    (True, 0)
    """
    for library in _libraries():
        with suppress(AttributeError):
            return ctypes.cast(library[name], ctypes.c_void_p).value or 0
    return 0


@cache
def _libraries() -> list[ctypes.CDLL]:
    """Returns the libraries that are globally visible, then those that may be local to others and do not exist on
    every system.
    """
    found: list[ctypes.CDLL] = [ctypes.CDLL(None), ctypes.pythonapi]
    for name in ("libm.so.6", "libgcc_s.so.1"):
        with suppress(OSError):
            found.append(ctypes.CDLL(name))
    return found


# -- reading -------------------------------------------------------------------------------------------------


class Section(NamedTuple):
    """A piece of the future memory. ``data`` is None for zeros."""

    size: int
    alignment: int
    is_writable: bool
    data: memoryview | None


class Symbol(NamedTuple):
    """A name: an offset in a section by number, or without a place of its own (undefined, absolute)."""

    name: str
    section: int
    value: int
    binding: int


class Relocation(NamedTuple):
    """A place in a section that receives an address; ``kind`` says in which form."""

    section: int
    offset: int
    kind: int
    symbol: int
    addend: int


_Header = namedtuple("_Header", "name kind traits address offset size link info alignment entry_size")


class ObjectFile:
    """Sections by number (those that take memory), symbols and relocations, of one file or of several together.

    Any defect surfaces as one of the errors that ``load`` catches.
    """

    def __init__(self, codes: Sequence[bytes]) -> None:
        self.sections: dict[int, Section] = {}
        self.symbols: list[Symbol] = []
        self.relocations: list[Relocation] = []
        for position, code in enumerate(codes):
            self._read(memoryview(code), position * _SECTIONS)

    def _read(self, data: memoryview, first: int) -> None:
        """Adds a file, whose sections are numbered from ``first``."""
        identity, kind, machine, _, _, _, table, _, _, _, _, entry_size, count, _ = _HEADER.unpack_from(data)
        if identity[:7] != _MAGIC or (kind, machine, entry_size) != (_RELOCATABLE, _X86_64, _SECTION.size):
            raise ValueError("another format")
        headers = [_Header(*fields) for fields in _SECTION.iter_unpack(_part(data, table, count * _SECTION.size))]
        self.sections |= {number: _section(data, header) for number, header in enumerate(headers, first)
                          if header.kind in (_PROGRAM, _ZEROS) and header.traits & _IN_MEMORY}
        tables, start = [header for header in headers if header.kind == _SYMBOLS], len(self.symbols)
        if len(tables) > 1:
            raise ValueError("several tables of symbols")
        for header in tables:
            names = bytes(_contents(data, headers[header.link], _STRINGS))
            self.symbols.extend(self._symbols(names, _contents(data, header, _SYMBOLS), first))
        for header in headers:
            if header.kind == _RELOCATIONS and first + header.info in self.sections:
                if headers[header.link].kind != _SYMBOLS:
                    raise ValueError("relocations of no table of symbols")
                self.relocations.extend(self._places(_contents(data, header, _RELOCATIONS), first + header.info, start))

    def _symbols(self, names: bytes, table: memoryview, first: int) -> Iterator[Symbol]:
        for name, info, _, number, value, _ in _SYMBOL.iter_unpack(table):
            text = names[name:names.index(0, name)].decode("ascii")
            if number >= _RESERVED and number != _ABSOLUTE:
                raise ValueError(f"the symbol {text} has no place")
            section = number if number in (_UNDEFINED, _ABSOLUTE) else first + number
            if section in self.sections and value > self.sections[section].size:
                raise ValueError(f"the symbol {text} is outside its section")
            yield Symbol(text, section, value, info >> 4)

    def _places(self, table: memoryview, section: int, start: int) -> Iterator[Relocation]:
        for offset, kind, symbol, addend in _RELOCATION.iter_unpack(table):
            if start + symbol >= len(self.symbols):
                raise ValueError(f"a place in section {section} for symbol {symbol}, which the file does not have")
            yield Relocation(section, offset, kind, start + symbol, addend)


def _part(data: memoryview, start: int, size: int) -> memoryview:
    if start + size > len(data):
        raise ValueError(f"something of {size} bytes at {start}")
    return data[start:start + size]


def _contents(data: memoryview, header: _Header, kind: int) -> memoryview:
    if header.kind != kind:
        raise ValueError(f"a section of kind {header.kind}, not {kind}")
    return _part(data, header.offset, header.size)


def _section(data: memoryview, header: _Header) -> Section:
    alignment, size = header.alignment, header.size
    if header.traits & _THREAD_LOCAL or alignment > 4096 or alignment & (alignment - 1) or size > 1 << 30:
        raise ValueError("a section cannot be placed")
    content = _part(data, header.offset, size) if header.kind == _PROGRAM else None
    return Section(size, max(alignment, 1), bool(header.traits & _WRITABLE), content)


# -- placing -------------------------------------------------------------------------------------------------


def _place(file: ObjectFile, given: Mapping[str, int]) -> Library:
    """Places a file in memory: the fixed part with a table of all symbols, and from the next page on the writable
    part.
    """
    starts: dict[int, int] = {}
    table = _arrange(file, starts, 0, is_writable=False, alignment=8)
    fixed = _aligned(table + _REACH.size * len(file.symbols), mmap.PAGESIZE)
    size = _arrange(file, starts, fixed, is_writable=True, alignment=mmap.PAGESIZE)
    memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    addresses = _addresses(file, {number: base + start for number, start in starts.items()}, given)
    for number, start in starts.items():
        section = file.sections[number]
        if section.data is not None:
            memory[start:start + section.size] = bytes(section.data)
    for number, address in addresses.items():
        _REACH.pack_into(memory, table + _REACH.size * number, address & _MASK, *_JUMP)
    _relocate(file, memory, base, starts, table, addresses)
    _protect(base, fixed)
    return Library(memory, {symbol.name: addresses[number] for number, symbol in enumerate(file.symbols)
                            if symbol.section in starts and symbol.binding != _LOCAL})


def _arrange(file: ObjectFile, starts: dict[int, int], end: int, is_writable: bool, alignment: int) -> int:
    """Places the sections of one kind one after another; returns the next offset with this alignment."""
    for number, section in file.sections.items():
        if section.is_writable == is_writable:
            starts[number] = _aligned(end, section.alignment)
            end = starts[number] + section.size
    return _aligned(end, alignment)


def _aligned(place: int, alignment: int) -> int:
    return -(-place // alignment) * alignment


def _addresses(file: ObjectFile, starts: Mapping[int, int], given: Mapping[str, int]) -> dict[int, int]:
    """Returns the addresses of symbols, by number: in a section, absolute, in another of the files, or in this
    process.
    """
    found = {number: starts.get(symbol.section, 0) + symbol.value for number, symbol in enumerate(file.symbols)
             if symbol.section == _ABSOLUTE or symbol.section in starts}
    shared = {file.symbols[number].name: address for number, address in found.items()
              if file.symbols[number].binding != _LOCAL}
    missing = []
    for number, (name, section, _, binding) in enumerate(file.symbols):
        if section == _UNDEFINED:
            found[number] = shared.get(name) or given.get(name) or (process_symbol(name) if name else 0)
            if name and not found[number] and binding != _WEAK:
                missing.append(name)
    if missing:
        raise InternalError(f"generated code needs {', '.join(missing)}, which this process does not have")
    return found


def _relocate(file: ObjectFile, memory: mmap.mmap, base: int, starts: Mapping[int, int], table: int,
              addresses: Mapping[int, int]) -> None:
    """Fills in the places in ``memory`` that depend on addresses."""
    for section, offset, kind, symbol, addend in file.relocations:
        form, place, target = _FORMATS[kind], starts[section] + offset, addresses[symbol]
        if offset + form.size > file.sections[section].size:
            raise ValueError("a place ends outside its section")
        if kind in _SLOTS:
            target = base + table + _REACH.size * symbol
        elif kind == _CALL and not base <= target < base + len(memory):
            target = base + table + _REACH.size * symbol + 8
        value = target + addend - (0 if kind == _WORD else base + place)
        form.pack_into(memory, place, value & _MASK if kind == _WORD else value)


def _protect(address: int, size: int) -> None:
    """Makes memory executable and no longer writable."""
    if size and _mprotect()(address, size, mmap.PROT_READ | mmap.PROT_EXEC):
        raise NotSupported("this system does not let a program run code that it has made", op="cpu transformer",
                           got=f"errno {ctypes.get_errno()} of mprotect", location=None,
                           help="nv.transformers.make_transformer('interpreter') runs everywhere")


@cache
def _mprotect() -> ctypes._NamedFuncPointer:
    function = ctypes.CDLL(None, use_errno=True).mprotect
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return function
