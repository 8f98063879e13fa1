"""Memory of a kernel's own that holds lanes of an element type, the parts of complex numbers apart from each other.

>>> from nervure.types.dtype import bool_, complex64
>>> lane_bytes(bool_, 100), lane_bytes(complex64, 100)
(100, 800)
"""

from __future__ import annotations

from nervure.transformers.cpu.compile.codegen.element import Element, memory_types
from nervure.transformers.cpu.compile.llvm.builder import Operand, Register
from nervure.transformers.cpu.compile.llvm.types import Type
from nervure.types.dtype import DType


def lane_bytes(dtype: DType, lanes: int) -> int:
    """What so many lanes take."""
    return lanes * sum([type.bits // 8 for type in memory_types(dtype)])


def read_lanes(dtype: DType, place: Register, lanes: int, start: Operand, width: int) -> Element:
    """``width`` of the ``lanes`` at a place, from ``start`` on."""
    parts = []
    for type, pointer in _parts(dtype, place, lanes, start):
        part = place.builder.opaque(place.builder.load(pointer, type.vector(width), type.bits // 8))
        parts.append(part.not_equal(0) if dtype.kind == "bool" else part)
    return Element(dtype, tuple(parts))


def write_lanes(x: Element, place: Register, lanes: int, start: Operand) -> None:
    """Replaces some of the ``lanes`` at a place, from ``start`` on."""
    for register, (type, pointer) in zip(x.registers, _parts(x.dtype, place, lanes, start), strict=True):
        part = register.cast("zext", type) if x.dtype.kind == "bool" else register
        place.builder.store(part, pointer, type.bits // 8)


def _parts(dtype: DType, place: Register, lanes: int, start: Operand) -> list[tuple[Type, Register]]:
    b = place.builder
    return [(type, b.offset(b.offset(place, number * lanes, type) if number else place, start, type))
            for number, type in enumerate(memory_types(dtype))]
