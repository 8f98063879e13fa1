"""The runtime's own machine code: made once for a process, and never unloaded, since its threads live in it.

>>> library().address("run") != 0
True
"""

from __future__ import annotations

from functools import cache
from typing import Any

from nervure.transformers.cpu import jit
from nervure.transformers.cpu.llvm.builder import assemble
from nervure.transformers.cpu.runtime import call, slices


def text() -> str:
    """The runtime in LLVM's language."""
    return assemble([slices.run_slice(), call.bind(), call.run()])


@cache
def library() -> Any:
    """The runtime, loaded."""
    return jit.load(jit.compile_object(text()))
