"""Small kernels for tests of the runtime, written by hand."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from nervure.transformers.cpu.cache.loader import load
from nervure.transformers.cpu.compile.compiler import compile_object
from nervure.transformers.cpu.compile.llvm.builder import Builder, Register, assemble
from nervure.transformers.cpu.compile.llvm.types import F32, I64, PTR
from nervure.transformers.cpu.runtime.chunks import report


def kernel(name: str, body: Callable[[Builder, Any], None]) -> Builder:
    """A kernel whose body is given the arguments by name."""
    names = [("buffers", PTR), ("sizes", PTR), ("begin", I64), ("end", I64), ("scratch", PTR), ("status", PTR)]
    b = Builder(name, names)
    body(b, dict(zip([label for label, _ in names], b.arguments, strict=True)))
    b.ret()
    return b


def buffer(b: Builder, given: Any, number: int) -> Register:
    return b.load(b.offset(given["buffers"], number, PTR), PTR)


def _multiply_add(b: Builder, given: Any) -> None:
    """out[k] = (x[k] + y[k]) * z[k]"""
    x, y, z, out = [buffer(b, given, number) for number in range(4)]
    with b.loop(given["begin"], given["end"]) as loop:
        a, c, d = [b.load(b.offset(pointer, loop.index, F32), F32) for pointer in (x, y, z)]
        b.store((a + c) * d, b.offset(out, loop.index, F32))


def _increase(b: Builder, given: Any) -> None:
    """x[k] += 1, as int64, in place"""
    x = buffer(b, given, 0)
    with b.loop(given["begin"], given["end"]) as loop:
        place = b.offset(x, loop.index, I64)
        b.store(b.load(place, I64) + 1, place)


def _copy(b: Builder, given: Any) -> None:
    """out[k] = x[k] + sizes[0], as int64"""
    x, out = [buffer(b, given, number) for number in range(2)]
    added = b.load(given["sizes"], I64)
    with b.loop(given["begin"], given["end"]) as loop:
        b.store(b.load(b.offset(x, loop.index, I64), I64) + added, b.offset(out, loop.index, I64))


def _check_positive(b: Builder, given: Any) -> None:
    """Fails with code 5 of op 77 at the first x[k] < 0"""
    x = buffer(b, given, 0)
    with b.loop(given["begin"], given["end"]) as loop:
        found = b.load(b.offset(x, loop.index, I64), I64)
        with b.if_(found < 0):
            report(b, given["status"], 5, 77, loop.index, found)


def _halve(b: Builder, given: Any) -> None:
    """x[k] /= 2, as float32, in place"""
    x = buffer(b, given, 0)
    with b.loop(given["begin"], given["end"]) as loop:
        place = b.offset(x, loop.index, F32)
        b.store(b.load(place, F32) * 0.5, place)


def _spin(b: Builder, given: Any) -> None:
    """Takes sizes[0] turns for each k, of a nanosecond or so, then out[k] += 1; uses its scratch meanwhile"""
    out = buffer(b, given, 0)
    turns = b.load(given["sizes"], I64)
    with b.loop(given["begin"], given["end"]) as loop:
        b.store(b.constant(I64, 0), given["scratch"])
        with b.loop(0, turns):
            b.line(f"store volatile i64 {(b.load(given['scratch'], I64) + 1).text}, ptr {given['scratch'].text}")
        place = b.offset(out, loop.index, I64)
        done = b.load(given["scratch"], I64).equal(turns).cast("zext", I64)
        b.store(b.load(place, I64) + done, place)


@cache
def _library() -> Any:
    bodies = (_multiply_add, _increase, _copy, _check_positive, _halve, _spin)
    return load(compile_object(assemble([kernel(body.__name__[1:], body) for body in bodies])))


def address(name: str) -> int:
    """Where a kernel is."""
    return int(_library().address(name))
