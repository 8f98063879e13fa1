"""What is known of a register when code is made: whether it is a constant, and which.

>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.transformers.cpu.compile.llvm.types import F32, I8
>>> b = Builder("example", [("x", F32)])
>>> known_number(b.constant(F32.vector(8), 1.5)), known_number(b.constant(I8, 255)), known_number(b.arguments[0])
(1.5, -1, None)
"""

from __future__ import annotations

import struct

from nervure.transformers.cpu.compile.llvm.builder import Register


def known_number(x: Register) -> int | float | None:
    """The number that a constant has in all lanes, an integer as if signed; None if there is none."""
    text = x.text
    if text.startswith("splat ("):
        text = text[:-1].rpartition(" ")[2]
    if x.type.is_float and text.startswith("0x"):
        number: float = struct.unpack(">d", bytes.fromhex(text[2:]))[0]
        return number
    return int(text) if text.removeprefix("-").isdigit() else None


def known_integer(x: Register) -> int | None:
    """The integer that a constant has in all lanes, as if signed."""
    number = known_number(x)
    return number if isinstance(number, int) else None
