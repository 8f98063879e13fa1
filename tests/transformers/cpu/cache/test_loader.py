"""Code in memory: what it can reach, what can be written, and that it goes away."""

from __future__ import annotations

import ctypes
import gc
import math
import random
import struct

import pytest

from nervure.errors import FormatError, InternalError
from nervure.transformers.cpu.cache.loader import Library, ObjectFile, load, process_symbol
from nervure.transformers.cpu.compile.compiler import compile_object
from nervure.transformers.cpu.settings import COLD

GIVEN = {"cos": 4096}
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


def made(text: str, **symbols: int) -> Library:
    return load(compile_object(text), symbols=symbols)


def call(library: Library, name: str, result: type = ctypes.c_int64, *arguments: object) -> object:
    return ctypes.CFUNCTYPE(result)(library.address(name))(*arguments)


def permissions(address: int) -> str | None:
    """What may be done with the memory at an address."""
    with open("/proc/self/maps", encoding="ascii") as file:
        for line in file:
            start, end = [int(part, 16) for part in line.split()[0].split("-")]
            if start <= address < end:
                return line.split()[1]
    return None


def test_functions_constants_and_data():
    library = made("""
        @count = global i64 40
        @zeros = global [1000 x i64] zeroinitializer
        @table = internal constant [2 x ptr] [ptr @one, ptr @two]
        define internal i64 @one() { ret i64 1 }
        define internal i64 @two() { ret i64 2 }
        define i64 @call(i64 %which) {
          %place = getelementptr ptr, ptr @table, i64 %which
          %function = load ptr, ptr %place
          %x = call i64 %function()
          ret i64 %x
        }
        define i64 @next() {
          %x = load i64, ptr @count
          %y = add i64 %x, 1
          store i64 %y, ptr @count
          %place = getelementptr i64, ptr @zeros, i64 999
          %z = load i64, ptr %place
          %sum = add i64 %y, %z
          ret i64 %sum
        }""")
    assert [call(library, "call", ctypes.c_int64, ctypes.c_int64(which)) for which in (0, 1)] == [1, 2]
    assert [call(library, "next") for _ in range(2)] == [41, 42]
    assert ctypes.c_int64.from_address(library.address("count")).value == 42
    with pytest.raises(InternalError, match="no one in a library of call, next, count, zeros"):
        library.address("one")


def test_names_of_the_process():
    library = made("""
        declare double @cos(double)
        declare i64 @PyLong_AsLong(ptr)
        declare ptr @PyLong_FromLong(i64)
        declare i32 @pthread_mutex_lock(ptr)
        @PyExc_ValueError = external global ptr
        define double @cosine() { %x = call double @cos(double 1.0) ret double %x }
        define ptr @lock() { ret ptr @pthread_mutex_lock }
        define ptr @error() { %x = load ptr, ptr @PyExc_ValueError ret ptr %x }
        define i64 @there_and_back() {
          %x = call ptr @PyLong_FromLong(i64 7)
          %y = call i64 @PyLong_AsLong(ptr %x)
          ret i64 %y
        }""")
    assert call(library, "cosine", ctypes.c_double) == pytest.approx(math.cos(1.0), rel=1e-14)
    assert call(library, "error") == id(ValueError)
    assert call(library, "lock") == process_symbol("pthread_mutex_lock")
    function = ctypes.PYFUNCTYPE(ctypes.c_int64)(library.address("there_and_back"))
    assert function() == 7


def test_names_that_are_given_come_first():
    given = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x + 100)
    text = "declare double @cos(double) define double @f() { %x = call double @cos(double 1.0) ret double %x }"
    library = made(text, cos=ctypes.cast(given, ctypes.c_void_p).value)
    assert call(library, "f", ctypes.c_double) == 101.0


def test_names_found_nowhere_are_all_told():
    with pytest.raises(InternalError, match="needs nothing_like_it, nor_this, which"):
        made("declare i64 @nothing_like_it() declare i64 @nor_this()\n"
             "define i64 @f() { %x = call i64 @nothing_like_it() %y = call i64 @nor_this() ret i64 %y }")


def test_a_weak_name_may_be_missing():
    library = made("declare extern_weak i64 @perhaps()\n"
                   "define i64 @f() { %x = ptrtoint ptr @perhaps to i64 ret i64 %x }")
    assert call(library, "f") == 0


def test_nothing_is_both_written_and_run():
    library = made("@x = global i64 5 define ptr @f() { ret ptr @x }")
    assert permissions(library.address("f")) == "r-xp" and permissions(library.address("x")) == "rw-p"


def test_a_dropped_library_is_unmapped_by_reference_count():
    gc.disable()
    try:
        library = made("define i64 @f() { ret i64 1 }")
        address, size = library.address("f"), library.size
        assert permissions(address) == "r-xp" and size == 4096
        del library
        assert permissions(address) != "r-xp"
    finally:
        gc.enable()


def test_large_alignments_are_kept():
    library = made("@x = global i64 5, align 4096\n@y = global i8 1\n@z = global i64 3, align 1024\n"
                   "define i64 @f() { %x = load i64, ptr @x %z = load i64, ptr @z %s = add i64 %x, %z ret i64 %s }")
    assert call(library, "f") == 8
    assert library.address("x") % 4096 == library.address("z") % 1024 == 0


@pytest.mark.parametrize("change", [{"kind": 10}, {"kind": 999}, {"offset": 10**9}, {"offset": 12}, {"symbol": 99},
                                    {"addend": 2**40}],
                         ids=["32-bit address", "unknown kind", "outside", "half outside", "no symbol", "out of reach"])
def test_places_that_cannot_be_filled_in(change):
    whole = compile_object("@x = internal global i64 5 define i64 @f() { %x = load i64, ptr @x ret i64 %x }")
    for entry in ObjectFile([whole]).relocations:
        before, after = [struct.pack("<QIIq", each.offset, each.kind, each.symbol, each.addend)
                         for each in (entry, entry._replace(**change))]
        assert whole.count(before) == 1
        with pytest.raises(FormatError, match="object file"):
            load(whole.replace(before, after))
        if "symbol" in change:  # nor is it one of another file
            others = compile_object("\n".join([f"define i64 @f{number}() {{ ret i64 0 }}" for number in range(100)]))
            with pytest.raises(FormatError, match="object file"):
                load(whole.replace(before, after), others)


def test_objects_that_call_each_other_are_one_library():
    first = """
        @number = global i64 40
        declare i64 @second(i64)
        define i64 @first(i64 %x) { %y = call i64 @second(i64 %x) ret i64 %y }
        define internal i64 @hidden() { ret i64 5 }
        define i64 @one() { %x = call i64 @hidden() ret i64 %x }"""
    second = """
        @number = external global i64
        declare i64 @one()
        define internal i64 @hidden() { ret i64 7 }
        define i64 @second(i64 %x) {
          %a = call i64 @one() %b = call i64 @hidden() %n = load i64, ptr @number
          %s = add i64 %a, %b %t = add i64 %s, %n %u = add i64 %t, %x ret i64 %u }"""
    library = load(compile_object(first), compile_object(f"{COLD}\n{second}"))
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.address("first"))(1) == 53
    with pytest.raises(InternalError, match="second"):
        load(compile_object(first))


# -- what is not whole, or foreign ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def code() -> bytes:
    return compile_object(TEXT)


def test_the_parts_of_an_object(code):
    file = ObjectFile([code])
    places = {symbol.name: symbol for symbol in file.symbols}
    assert file.sections[places["state"].section].is_writable and not file.sections[places["f"].section].is_writable
    zeros = file.sections[places["zeros"].section]
    assert (zeros.size, zeros.data) == (800, None)
    assert places["cos"].section == 0 and places["f"].binding == 1
    assert {file.symbols[entry.symbol].name for entry in file.relocations} >= {"cos", "zeros"}


def test_every_truncation_is_refused(code):
    for length in range(len(code)):
        with pytest.raises(FormatError, match="object file"):
            load(code[:length], symbols=GIVEN)


@pytest.mark.parametrize("change", [(0, b"MZ"), (4, b"\x01"), (5, b"\x02"), (16, b"\x03"), (18, b"\xb7")],
                         ids=["magic", "32 bits", "big-endian", "shared library", "another processor"])
def test_other_formats_are_refused(code, change):
    place, wrong = change
    with pytest.raises(FormatError, match="object file"):
        load(code[:place] + wrong + code[place + len(wrong):])


def test_damage_is_refused_or_harmless(code):
    """Any byte changed, alone and with others: an error of ours, or something that could be loaded."""
    generator = random.Random(1)
    refused = 0
    for attempt in range(3_000):
        damaged = bytearray(code)
        for _ in range(1 + attempt % 3):
            damaged[generator.randrange(len(code))] = generator.choice([0, 1, 0x7F, 0xFF, generator.randrange(256)])
        try:
            load(bytes(damaged), symbols=GIVEN)
        except FormatError:
            refused += 1
        except Exception as error:
            assert type(error).__name__ == "InternalError" and "which this process does not have" in str(error)
    assert refused > 100


def test_variables_of_threads_are_refused():
    with pytest.raises(FormatError, match="cannot be placed"):
        load(compile_object("@x = thread_local global i64 5\ndefine ptr @f() { ret ptr @x }"))
