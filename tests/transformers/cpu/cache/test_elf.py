"""Object files: whole ones are read, others are refused, whatever is wrong with them."""

from __future__ import annotations

import random

import pytest

from nervure.errors import FormatError
from nervure.transformers.cpu.cache.elf import read_object
from nervure.transformers.cpu.cache.loader import load
from nervure.transformers.cpu.compile.compiler import compile_object

TEXT = """
@state = global i64 5
@zeros = global [100 x i64] zeroinitializer
declare double @cos(double)
define double @f(double %x) {
  %y = call double @cos(double %x)
  %z = fmul double %y, 3.25
  store i64 1, ptr @zeros
  ret double %z
}
"""


@pytest.fixture(scope="module")
def code() -> bytes:
    return compile_object(TEXT)


def test_the_parts_of_an_object(code):
    file = read_object(code)
    places = {symbol.name: symbol for symbol in file.symbols}
    assert file.sections[places["state"].section].is_writable and not file.sections[places["f"].section].is_writable
    zeros = file.sections[places["zeros"].section]
    assert (zeros.size, zeros.data) == (800, None)
    assert places["cos"].section == 0 and not places["f"].is_local
    assert {file.symbols[entry.symbol].name for entry in file.relocations} >= {"cos", "zeros"}


def test_every_truncation_is_refused(code):
    for length in range(len(code)):
        with pytest.raises(FormatError, match="object file"):
            read_object(code[:length])


@pytest.mark.parametrize("change", [(0, b"MZ"), (4, b"\x01"), (5, b"\x02"), (16, b"\x03"), (18, b"\xb7")],
                         ids=["magic", "32 bits", "big-endian", "shared library", "another processor"])
def test_other_formats_are_refused(code, change):
    place, wrong = change
    with pytest.raises(FormatError, match="object file"):
        read_object(code[:place] + wrong + code[place + len(wrong):])


def test_damage_is_refused_or_harmless(code):
    """Any byte changed, alone and with others: an error of ours, or something that could be loaded."""
    generator = random.Random(1)
    refused = 0
    for attempt in range(3_000):
        damaged = bytearray(code)
        for _ in range(1 + attempt % 3):
            damaged[generator.randrange(len(code))] = generator.choice([0, 1, 0x7F, 0xFF, generator.randrange(256)])
        try:
            load(bytes(damaged), {"cos": 4096})
        except FormatError:
            refused += 1
        except Exception as error:
            assert type(error).__name__ == "InternalError" and "which this process does not have" in str(error)
    assert refused > 100


def test_variables_of_threads_are_refused():
    with pytest.raises(FormatError, match="cannot be placed"):
        read_object(compile_object("@x = thread_local global i64 5\ndefine ptr @f() { ret ptr @x }"))
