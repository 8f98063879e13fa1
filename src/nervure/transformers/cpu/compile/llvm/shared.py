"""Memory shared by several threads: atomic reads, writes and changes of one word.

>>> from nervure.transformers.cpu.compile.llvm.types import PTR
>>> b = Builder("next", [("counter", PTR)], result=I64)
>>> b.ret(fetch_add(b, b.arguments[0], 1))
>>> print(b.text())
define i64 @next(ptr %counter) {
entry:
  %v0 = atomicrmw add ptr %counter, i64 1 seq_cst, align 8
  ret i64 %v0
}
<BLANKLINE>

A thread that has read a word by an ``acquire`` load sees all writes that preceded the ``release`` store of that word;
all ``seq_cst`` operations have one order on which all threads agree.
"""

from __future__ import annotations

import platform

from nervure.transformers.cpu.compile.llvm.builder import Builder, Operand, Register
from nervure.transformers.cpu.compile.llvm.types import I1, I64, Type

_PAUSES = {"x86_64": "call void @llvm.x86.sse2.pause()", "AMD64": "call void @llvm.x86.sse2.pause()",
           "aarch64": 'call void asm sideeffect "yield", ""()', "arm64": 'call void asm sideeffect "yield", ""()'}


def atomic_load(b: Builder, pointer: Register, type: Type = I64, order: str = "acquire") -> Register:
    """Loads the word at the address ``pointer``."""
    return b.emit(type, f"load atomic {type}, ptr {pointer.text} {order}, align {type.bits // 8}")


def atomic_store(b: Builder, x: Operand, pointer: Register, order: str = "release") -> None:
    """Stores the word ``x`` at the address ``pointer``; a Python number is an i64."""
    x = b.word(x)
    b.line(f"store atomic {x.type} {x.text}, ptr {pointer.text} {order}, align {x.type.bits // 8}")


def fetch_add(b: Builder, pointer: Register, x: Operand) -> Register:
    """Adds ``x`` to the word at ``pointer`` and returns its old value."""
    return _change(b, "add", pointer, x)


def exchange(b: Builder, pointer: Register, x: Operand) -> Register:
    """Writes ``x`` to the word at ``pointer`` and returns its old value."""
    return _change(b, "xchg", pointer, x)


def compare_exchange(b: Builder, pointer: Register, expected: Operand, new: Operand) -> Register:
    """Writes ``new`` to the word at ``pointer`` if it is ``expected``; returns whether it was."""
    old, value = b.word(expected), b.word(new)
    pair = b.emit(I64, f"cmpxchg ptr {pointer.text}, {old.type} {old.text}, {value.type} {value.text} seq_cst seq_cst")
    return b.emit(I1, f"extractvalue {{ {old.type}, i1 }} {pair.text}, 1")


def lock(b: Builder, word: Register) -> None:
    """Waits for a lock (a word, 0 when free) that is held for a few instructions at a time."""
    with b.while_(lambda: exchange(b, word, 1).not_equal(0)), b.while_(
            lambda: atomic_load(b, word, order="monotonic").not_equal(0)):
        pause(b)


def unlock(b: Builder, word: Register) -> None:
    """Releases a lock."""
    atomic_store(b, 0, word)


def pause(b: Builder) -> None:
    """Tells the core that its loop waits for another core."""
    text = _PAUSES.get(platform.machine())
    if text is None:
        return
    if "@" in text:
        b.declarations["llvm.x86.sse2.pause"] = "declare void @llvm.x86.sse2.pause()"
    b.line(text)


def _change(b: Builder, operation: str, pointer: Register, x: Operand) -> Register:
    x = b.word(x)
    return b.emit(x.type, f"atomicrmw {operation} ptr {pointer.text}, {x.type} {x.text} seq_cst, "
                          f"align {x.type.bits // 8}")
