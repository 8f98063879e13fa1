"""The mode in which a core computes with floats: rounding to nearest, denormals kept, no traps, as IEEE 754 has it.

Other code of the process may have changed it for its thread (libraries made with fast-math make denormals zero when
they are loaded). A call sets the mode and puts back what it found, so its bits depend on nothing of the kind.

>>> b = Builder("standard", [])
>>> with standard_floats(b):
...     b.line("; the kernels run here")
>>> b.ret()
>>> b.text().count("ldmxcsr") == (2 if HAS_MXCSR else 0)
True
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import I32

HAS_MXCSR = platform.machine() in ("x86_64", "AMD64")

_STANDARD = 0x1F80      # the control bits as a process starts with them; the lower six are flags of what has happened


@contextmanager
def standard_floats(b: Builder) -> Iterator[None]:
    """What is built inside runs in the standard mode; afterwards the mode is as it was before."""
    if not HAS_MXCSR:
        yield
        return
    before = b.allocate(I32)
    b.call("llvm.x86.sse.stmxcsr", None, before)
    is_other = (b.load(before, I32) & ~0x3F).not_equal(_STANDARD)
    with b.if_(is_other):
        set_standard_floats(b)
    yield
    with b.if_(is_other):
        _load(b, before)


def set_standard_floats(b: Builder) -> None:
    """The thread computes in the standard mode from here on."""
    if HAS_MXCSR:
        standard = b.allocate(I32)
        b.store(b.constant(I32, _STANDARD), standard)
        _load(b, standard)


def _load(b: Builder, mode: Register) -> None:
    b.call("llvm.x86.sse.ldmxcsr", None, mode)
