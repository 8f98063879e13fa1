"""Kernels by their text: once per process, off the disk when they are there, several at a time."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nervure import flags
from nervure.errors import InternalError
from nervure.transformers.cpu.cache import library_cache
from nervure.transformers.cpu.cache.code_cache import user_cache
from nervure.transformers.cpu.compile import jit
from nervure.transformers.cpu.compile.jit import compile_kernel, compile_kernels
from nervure.transformers.cpu.machine import Target


@pytest.fixture(autouse=True)
def empty_cache(tmp_path):
    with flags.overriding(cache_directory=str(tmp_path / "kept")):
        yield tmp_path / "kept"


def answer(number: int) -> str:
    return f"define i64 @answer() {{ ret i64 {number} }}"


def ask(library: jit.Library) -> int:
    return ctypes.CFUNCTYPE(ctypes.c_int64)(library.address("answer"))()


def disk_key(text: str) -> bytes:
    return library_cache.kernel_key(text, Target.host())


def test_the_same_text_is_loaded_once_while_somebody_holds_it():
    first = compile_kernel(answer(1))
    assert compile_kernel(answer(1)) is first and ask(first) == 1
    address = id(first)
    del first
    assert not [library for library in library_cache._loaded.values() if id(library) == address]


def test_order_and_repetition_are_kept():
    numbers = [5, 3, 5, 8, 3]
    libraries = compile_kernels([answer(number) for number in numbers])
    assert [ask(library) for library in libraries] == numbers
    assert libraries[0] is libraries[2] and len(set(libraries)) == 3
    assert compile_kernels([]) == []


def test_the_disk_saves_the_compiler(monkeypatch):
    compile_kernel(answer(2))
    monkeypatch.setattr(jit, "compile_object", lambda *_: pytest.fail("compiled again"))
    assert ask(compile_kernel(answer(2))) == 2


def test_damaged_code_is_compiled_again(empty_cache):
    compile_kernel(answer(3))
    file, = Path(empty_cache).glob("*.code")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    assert ask(compile_kernel(answer(3))) == 3
    assert file.read_bytes() != data


@pytest.mark.parametrize("content", [b"", b"no code", b"\x7fELF"])
def test_content_that_is_no_code_is_compiled_again(content):
    user_cache().put(disk_key(answer(4)), content)
    assert ask(compile_kernel(answer(4))) == 4
    assert len(user_cache().get(disk_key(answer(4)))) > 100


def test_targets_have_entries_of_their_own():
    other = Target.host()._replace(features=tuple([name for name in Target.host().features if name != "movbe"]))
    assert compile_kernel(answer(5)) is not compile_kernel(answer(5), other)
    held = compile_kernel(answer(5)), compile_kernel(answer(5), other)
    assert held[0] is not held[1] and user_cache().entries() == 2


def test_without_a_cache_nothing_is_kept(empty_cache):
    with flags.overriding(cache=False):
        assert ask(compile_kernel(answer(6))) == 6
    assert not Path(empty_cache).exists()


def test_one_wrong_text_among_others():
    with pytest.raises(InternalError, match="expected type"):
        compile_kernels([answer(number) for number in range(10)] + ["define i64 @answer() { ret 1 }"])
    assert [ask(library) for library in compile_kernels([answer(7), answer(8)])] == [7, 8]


PROGRAM = """
from nervure.transformers.cpu.compile.jit import compile_kernel
library = compile_kernel("define i64 @answer() { ret i64 9 }")
print("libllvmlite" in open("/proc/self/maps").read())
"""


def test_a_full_cache_never_loads_llvm(empty_cache):
    loaded = [subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True,
                             env={**os.environ, "NERVURE_CACHE_DIRECTORY": str(empty_cache)}).stdout.strip()
              for _ in range(2)]
    assert loaded == ["True", "False"]
