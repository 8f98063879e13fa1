"""From text to object files: what LLVM refuses is explained, threads do not disturb each other, memory comes back.

Kernels are found by their text: once per process, off the disk when they are there, several at a time.
"""

from __future__ import annotations

import ctypes
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nervure import flags
from nervure.errors import InternalError
from nervure.transformers.cpu.cache import library_cache
from nervure.transformers.cpu.cache.code_cache import user_cache
from nervure.transformers.cpu.cache.loader import Library, load
from nervure.transformers.cpu.compile import compiler
from nervure.transformers.cpu.compile.compiler import assembly, compile_kernel, compile_kernels, compile_object
from nervure.transformers.cpu.target import Target
from tests.processes import run_text

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


# -- kernels by their text -----------------------------------------------------------------------------------


@pytest.fixture
def empty_cache(tmp_path):
    with flags.overriding(cache_directory=str(tmp_path / "kept")):
        yield tmp_path / "kept"


def answer(number: int) -> str:
    return f"define i64 @answer() {{ ret i64 {number} }}"


def ask(library: Library) -> int:
    return ctypes.CFUNCTYPE(ctypes.c_int64)(library.address("answer"))()


def disk_key(text: str) -> bytes:
    return library_cache.kernel_key(text, Target.host())


@pytest.mark.usefixtures("empty_cache")
def test_the_same_text_is_loaded_once_while_somebody_holds_it():
    first = compile_kernel(answer(1))
    assert compile_kernel(answer(1)) is first and ask(first) == 1
    address = id(first)
    del first
    assert not [library for library in library_cache._loaded.values() if id(library) == address]


@pytest.mark.usefixtures("empty_cache")
def test_order_and_repetition_are_kept():
    numbers = [5, 3, 5, 8, 3]
    libraries = compile_kernels([answer(number) for number in numbers])
    assert [ask(library) for library in libraries] == numbers
    assert libraries[0] is libraries[2] and len(set(libraries)) == 3
    assert compile_kernels([]) == []


@pytest.mark.usefixtures("empty_cache")
def test_the_disk_saves_the_compiler(monkeypatch):
    compile_kernel(answer(2))
    monkeypatch.setattr(compiler, "compile_object", lambda *_: pytest.fail("compiled again"))
    assert ask(compile_kernel(answer(2))) == 2


def test_damaged_code_is_compiled_again(empty_cache):
    compile_kernel(answer(3))
    file, = Path(empty_cache).glob("*.code")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    assert ask(compile_kernel(answer(3))) == 3
    assert file.read_bytes() != data


@pytest.mark.usefixtures("empty_cache")
@pytest.mark.parametrize("content", [b"", b"no code", b"\x7fELF"])
def test_content_that_is_no_code_is_compiled_again(content):
    user_cache().put(disk_key(answer(4)), content)
    assert ask(compile_kernel(answer(4))) == 4
    assert len(user_cache().get(disk_key(answer(4)))) > 100


@pytest.mark.usefixtures("empty_cache")
def test_targets_have_entries_of_their_own():
    other = Target.host()._replace(features=tuple([name for name in Target.host().features if name != "movbe"]))
    assert compile_kernel(answer(5)) is not compile_kernel(answer(5), other)
    held = compile_kernel(answer(5)), compile_kernel(answer(5), other)
    assert held[0] is not held[1] and user_cache().entries() == 2


def test_without_a_cache_nothing_is_kept(empty_cache):
    with flags.overriding(cache=False):
        assert ask(compile_kernel(answer(6))) == 6
    assert not Path(empty_cache).exists()


def test_without_a_cache_code_finds_what_it_links():
    text = answer(11)
    symbol = library_cache.linked("answer", library_cache.kernel_key(text, Target.host()))
    caller = f"declare i64 @{symbol}()\ndefine i64 @answer() {{ %a = call i64 @{symbol}() ret i64 %a }}"
    with flags.overriding(cache=False):
        assert [ask(library) for library in compile_kernels([text, caller])] == [11, 11]


@pytest.mark.usefixtures("empty_cache")
def test_one_wrong_text_among_others():
    with pytest.raises(InternalError, match="expected type"):
        compile_kernels([answer(number) for number in range(10)] + ["define i64 @answer() { ret 1 }"])
    assert [ask(library) for library in compile_kernels([answer(7), answer(8)])] == [7, 8]


@pytest.mark.usefixtures("empty_cache")
def test_all_of_many_modules_are_kept_whichever_thread_is_done_first():
    keys = {library_cache.kernel_key(answer(number), Target.host()) for number in range(50)}
    held = compile_kernels([answer(number) for number in range(50)])
    cache = user_cache()
    assert cache.entries() == len(held) == 50 and all(map(cache.get, keys))


PROGRAM = """
from nervure.transformers.cpu.compile.compiler import compile_kernel
library = compile_kernel("define i64 @answer() { ret i64 9 }")
print("libllvmlite" in open("/proc/self/maps").read())
"""


def test_a_full_cache_never_loads_llvm(empty_cache):
    loaded = [run_text(PROGRAM, NERVURE_CACHE_DIRECTORY=str(empty_cache)) for _ in range(2)]
    assert loaded == ["True\n", "False\n"]


FORKED = """
import os, signal, time
from nervure import flags
from nervure.transformers.cpu.compile import compiler
flags.cache = False
me, children, original = os.getpid(), [], compiler.compile_object

def slowly(text, target=None):
    if os.getpid() == me:
        time.sleep(0.5)  # until the main thread waits for this one
        os.kill(me, signal.SIGUSR1)
        time.sleep(0.2)
    return original(text, target)

compiler.compile_object = slowly
signal.signal(signal.SIGUSR1, lambda *_: children.append(os.fork()) or children[-1] or signal.alarm(50))
library = compiler.compile_kernel("define i64 @answer() { ret i64 42 }")
answer = compiler.ctypes.CFUNCTYPE(compiler.ctypes.c_int64)(library.address("answer"))()
if os.getpid() != me:
    os._exit(answer)
assert answer == 42 and [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [42]
"""


def test_a_child_that_a_handler_forks_meanwhile_compiles_by_itself():
    """It has none of the threads that compile."""
    run_text(FORKED, seconds=100)
