"""Whatever mode other code has left a thread in: kernels keep denormals, and the mode is put back."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import pytest

from nervure import flags
from nervure.transformers.cpu.compile import jit
from nervure.transformers.cpu.compile.llvm.builder import Builder, assemble
from nervure.transformers.cpu.compile.llvm.types import PTR
from nervure.transformers.cpu.runtime import Program, Step, variable
from nervure.transformers.cpu.runtime.floats import HAS_MXCSR
from tests.transformers.cpu.kernels import address

pytestmark = pytest.mark.skipif(not HAS_MXCSR, reason="other processors have another register for the mode")

ZERO_DENORMALS = 0x1F80 | 0x8040


@cache
def library() -> Any:
    functions = []
    for name in ("stmxcsr", "ldmxcsr"):
        b = Builder(name, [("place", PTR)])
        b.call(f"llvm.x86.sse.{name}", None, b.arguments[0])
        b.ret()
        functions.append(b)
    return jit.load(jit.compile_object(assemble(functions)))


def call(name: str, word: ctypes.c_uint32) -> None:
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library().address(name))(ctypes.addressof(word))


def mode() -> int:
    word = ctypes.c_uint32()
    call("stmxcsr", word)
    return word.value & ~0x3F


@contextmanager
def denormals_are_zero() -> Iterator[None]:
    before = mode()
    call("ldmxcsr", ctypes.c_uint32(ZERO_DENORMALS))
    try:
        yield
    finally:
        call("ldmxcsr", ctypes.c_uint32(before))


@pytest.mark.parametrize("threads", [1, 3])
def test_denormals_are_kept_whatever_the_mode(threads):
    tiny = np.full(100_000, np.finfo(np.float32).tiny)
    program = Program([Step(address("halve"), [0], extent=tiny.size, nanoseconds=1_000_000)], [variable(0)])
    with flags.overriding(threads=threads), denormals_are_zero():
        program.run([], [], [tiny])
        assert mode() == ZERO_DENORMALS
    expected = np.float32(np.finfo(np.float32).tiny / 2).view(np.int32)
    assert set(tiny.view(np.int32).tolist()) == {int(expected)} != {0}
