"""From text to object files: what LLVM refuses is explained, threads do not disturb each other, memory comes back."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from nervure.errors import InternalError
from nervure.transformers.cpu.cache.loader import load
from nervure.transformers.cpu.compile.compiler import assembly, compile_object

DEEP = bool(os.environ.get("DEEP_TESTS"))


def polynomial(terms: int, start: int = 0) -> str:
    """A function of some instructions, another for each start."""
    lines = [f"  %v{term + 1} = fmul <8 x float> %v{term}, splat (float {start + term}.0)" for term in range(terms)]
    return "\n".join(["define <8 x float> @f(<8 x float> %v0) {", *lines, f"  ret <8 x float> %v{terms}", "}"])


def resident_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_what_cannot_be_read_is_shown_with_its_lines():
    with pytest.raises(InternalError) as caught:
        compile_object("define i64 @f() {\n  %x = add i64 1, 2\n  %y = add i32 %x, 3\n  ret i64 %x\n}")
    lines = str(caught.value).splitlines()
    assert "'%x' defined with type 'i64' but expected 'i32'" in lines[0]
    assert "   3 |   %y = add i32 %x, 3" in lines and "   4 |   ret i64 %x" not in lines


def test_what_makes_no_sense_is_shown_with_its_lines():
    text = ("define i64 @f(i1 %c) {\nentry:\n  br i1 %c, label %yes, label %no\n"
            "yes:\n  %x = add i64 1, 2\n  br label %no\nno:\n  %y = add i64 %x, 3\n  ret i64 %y\n}")
    with pytest.raises(InternalError) as caught:
        compile_object(text)
    assert "Instruction does not dominate all uses!" in str(caught.value)
    assert str(caught.value).splitlines()[-2:] == ["   5 |   %x = add i64 1, 2", "   8 |   %y = add i64 %x, 3"]


def test_a_refused_text_leaves_nothing_behind():
    for _ in range(3):
        with pytest.raises(InternalError):
            compile_object("define i64 @f() { ret i64 %missing }")
    assert compile_object("define i64 @f() { ret i64 1 }")


def test_the_same_text_gives_the_same_bytes():
    assert compile_object(polynomial(20)) == compile_object(polynomial(20)) != compile_object(polynomial(21))


def test_threads_compile_side_by_side():
    texts = [polynomial(50 + number, number) for number in range(24)]
    alone = [compile_object(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(compile_object, texts)) == alone


def test_assembly_is_for_people():
    text = assembly(polynomial(1))
    assert "vmulps" in text and text.splitlines()[-1].startswith("\t.section")


def test_compiling_loading_and_dropping_keeps_memory_flat():
    """2,000 cycles within 5 MB in the deep run, a tenth of both otherwise."""
    cycles = 2_000 if DEEP else 200
    for number in range(50):
        load(compile_object(polynomial(10, number)))
    before = resident_bytes()
    for number in range(cycles):
        load(compile_object(polynomial(10, 1_000 + number)))
    assert resident_bytes() - before < cycles * 2_500
