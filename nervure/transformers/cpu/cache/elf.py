"""Reads a relocatable object file: its sections, its symbols, and the places that depend on where things will lie.

Bytes come from a file that may be cut short or foreign, so every offset is checked before it is followed: what cannot
be read is a FormatError, and nothing else can happen.

>>> read_object(b"not an object file")                                             # doctest: +ELLIPSIS
Traceback (most recent call last):
    ...
nervure.errors.FormatError: object file: it cannot be read...

The format is the System V ABI's ELF-64, with the relocations of its x86-64 supplement.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nervure.errors import FormatError

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QIIq")
_MAGIC = b"\x7fELF\x02\x01\x01"  # 64 bits, little-endian, version 1
_RELOCATABLE, _X86_64 = 1, 62
_PROGRAM, _SYMBOLS, _STRINGS, _RELOCATIONS, _ZEROS = 1, 2, 3, 4, 8
_WRITABLE, _IN_MEMORY, _THREAD_LOCAL = 1, 2, 0x400
UNDEFINED, ABSOLUTE, _RESERVED = 0, 0xFFF1, 0xFF00
_WEAK = 2
_NUMBERS = 16  # bits of a section's number


class Section(NamedTuple):
    """A piece of what will lie in memory. ``data`` is None where it is all zeros."""

    size: int
    alignment: int
    is_writable: bool
    data: memoryview | None


class Symbol(NamedTuple):
    """A name: an offset in a section by number, or without place of its own (UNDEFINED, ABSOLUTE)."""

    name: str
    section: int
    value: int
    is_local: bool
    is_weak: bool


class Relocation(NamedTuple):
    """A place in a section where an address is to be filled in; ``kind`` says in which form."""

    section: int
    offset: int
    kind: int
    symbol: int
    addend: int


class ObjectFile(NamedTuple):
    """Sections by number (those that take memory), symbols and relocations."""

    sections: dict[int, Section]
    symbols: list[Symbol]
    relocations: list[Relocation]


def read_object(code: bytes) -> ObjectFile:
    """The parts of an object file; FormatError if it is not whole."""
    try:
        return _Reader(memoryview(code)).read()
    except (struct.error, ValueError, IndexError, KeyError) as error:
        raise FormatError("it cannot be read", op="object file", got=f"{len(code)} bytes; {error}",
                          expected="ELF for x86-64, whole", location=None) from None


def join(files: Sequence[ObjectFile]) -> ObjectFile:
    """Several object files as one: names that one leaves open are found in the others."""
    sections: dict[int, Section] = {}
    symbols: list[Symbol] = []
    relocations: list[Relocation] = []
    for position, file in enumerate(files):
        first, start = position << _NUMBERS, len(symbols)
        sections.update({first + number: section for number, section in file.sections.items()})
        symbols.extend([symbol if symbol.section in (UNDEFINED, ABSOLUTE)
                        else symbol._replace(section=first + symbol.section) for symbol in file.symbols])
        relocations.extend([Relocation(first + section, offset, kind, start + symbol, addend)
                            for section, offset, kind, symbol, addend in file.relocations])
    places = {symbol.name: number for number, symbol in enumerate(symbols)
              if symbol.section != UNDEFINED and not symbol.is_local}
    final = [places.get(symbol.name, number) if symbol.section == UNDEFINED else number
             for number, symbol in enumerate(symbols)]
    known = [symbol if place == number else symbol._replace(name="")
             for number, (symbol, place) in enumerate(zip(symbols, final, strict=True))]
    return ObjectFile(sections, known, [Relocation(section, offset, kind, final[symbol], addend)
                                        for section, offset, kind, symbol, addend in relocations])


class _Reader:
    """One object file. What is wrong surfaces as one of the errors that ``read_object`` catches."""

    def __init__(self, data: memoryview) -> None:
        self._data = data

    def read(self) -> ObjectFile:
        identity, kind, machine, _, _, _, table, _, _, _, _, entry_size, count, _ = _HEADER.unpack_from(self._data)
        if identity[:7] != _MAGIC or (kind, machine, entry_size) != (_RELOCATABLE, _X86_64, _SECTION.size):
            raise ValueError("another format")
        self._headers = list(_SECTION.iter_unpack(self._slice(table, count * _SECTION.size)))
        sections = dict(self._sections())
        tables = [number for number, header in enumerate(self._headers) if header[1] == _SYMBOLS]
        if len(tables) > 1:
            raise ValueError("several tables of symbols")
        symbols = list(self._symbols(tables[0], sections)) if tables else []
        return ObjectFile(sections, symbols, list(self._relocations(sections, tables, len(symbols))))

    def _slice(self, start: int, size: int) -> memoryview:
        if start + size > len(self._data):
            raise ValueError(f"something of {size} bytes at {start}")
        return self._data[start:start + size]

    def _contents(self, number: int, kind: int) -> memoryview:
        header = self._headers[number]
        if header[1] != kind:
            raise ValueError(f"section {number} is of another kind")
        return self._slice(header[4], header[5])

    def _sections(self) -> Iterator[tuple[int, Section]]:
        for number, (_, kind, traits, _, offset, size, _, _, alignment, _) in enumerate(self._headers):
            if kind not in (_PROGRAM, _ZEROS) or not traits & _IN_MEMORY:
                continue
            if traits & _THREAD_LOCAL or alignment > 4096 or alignment & (alignment - 1) or size > 1 << 30:
                raise ValueError(f"section {number} cannot be placed")
            data = self._slice(offset, size) if kind == _PROGRAM else None
            yield number, Section(size, max(alignment, 1), bool(traits & _WRITABLE), data)

    def _symbols(self, table: int, sections: dict[int, Section]) -> Iterator[Symbol]:
        names = bytes(self._contents(self._headers[table][6], _STRINGS))
        for name, info, _, section, value, _ in _SYMBOL.iter_unpack(self._contents(table, _SYMBOLS)):
            text = names[name:names.index(0, name)].decode("ascii")
            if section >= _RESERVED and section != ABSOLUTE:
                raise ValueError(f"the symbol {text} has no place")
            if section in sections and value > sections[section].size:
                raise ValueError(f"the symbol {text} is outside its section")
            yield Symbol(text, section, value, info >> 4 == 0, info >> 4 == _WEAK)

    def _relocations(self, sections: dict[int, Section], tables: list[int], symbols: int) -> Iterator[Relocation]:
        for number, header in enumerate(self._headers):
            target = header[7]
            if header[1] != _RELOCATIONS or target not in sections:
                continue
            if [header[6]] != tables:
                raise ValueError(f"section {number} belongs to no table of symbols")
            for offset, kind, symbol, addend in _RELOCATION.iter_unpack(self._contents(number, _RELOCATIONS)):
                if symbol >= symbols or offset >= sections[target].size:
                    raise ValueError(f"a place outside section {target}")
                yield Relocation(target, offset, kind, symbol, addend)
