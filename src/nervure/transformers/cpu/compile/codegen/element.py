"""Elements in registers: a scalar of the loop IR as its element type and one or two registers, in one lane or many.

A bool is an i1; float32 and float64 are floats; integers are integers. Low-precision floats and integers of 2 or 4 bits
are carried as the bits that lie in memory, and only conversions interpret them. A complex number is two registers.

>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.types.dtype import bfloat16, bool_, complex64, float32, uint8
>>> register_types(float32, 8), register_types(bool_, 8), register_types(bfloat16, 1), register_types(complex64, 4)
((<8 x float>,), (<8 x i1>,), (i16,), (<4 x float>, <4 x float>))
>>> b = Builder("example")
>>> literal(b, 1.5, bfloat16, 8)
bf16 <8 x i16> splat (i16 16320)
>>> literal(b, 1 - 2j, complex64)
c64 float 0x3FF0000000000000, float 0xC000000000000000

In memory a bool is a byte, and the two parts of a complex number follow each other:

>>> memory_types(bool_), memory_types(complex64), memory_types(uint8)
((i8,), (float, float), (i8,))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from nervure.errors import InternalError
from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import F32, F64, I1, I8, Type, make_type
from nervure.types.dtype import DType, float32

Number = bool | int | float | complex
Elements = Sequence["Element"]


class Element(NamedTuple):
    """A value of an element type, in the lanes of its registers."""

    dtype: DType
    registers: tuple[Register, ...]

    @property
    def lanes(self) -> int:
        """The number of elements."""
        return self.registers[0].type.lanes

    @property
    def register(self) -> Register:
        """The register of a type that has one."""
        register, = self.registers
        return register

    @property
    def builder(self) -> Builder:
        """The builder that computes it."""
        return self.registers[0].builder

    def map(self, change: Callable[[Register], Register]) -> Element:
        """Returns an element of the same type with each register changed: moved, shuffled, extracted."""
        return Element(self.dtype, tuple([change(register) for register in self.registers]))

    def __repr__(self) -> str:
        return f"{self.dtype.short} {', '.join([repr(register) for register in self.registers])}"


@cache
def register_types(dtype: DType, lanes: int = 1) -> tuple[Type, ...]:
    """Returns the types of the registers of an element type."""
    if dtype.kind == "bool":
        return (I1.vector(lanes),)
    return tuple([part.vector(lanes) for part in memory_types(dtype)])


@cache
def memory_types(dtype: DType) -> tuple[Type, ...]:
    """Returns the scalar types of the parts of an element as they lie in memory, one after the other."""
    if dtype.is_complex:
        return memory_types(dtype.part) * 2
    if dtype.kind == "bool":
        return (I8,)
    if dtype.is_float and not dtype.is_low_precision:
        return (F32 if dtype is float32 else F64,)
    return (make_type(f"i{8 * dtype.itemsize}", 1),)


def literal(b: Builder, value: Number, dtype: DType, lanes: int = 1) -> Element:
    """Returns a number in all lanes, rounded to the type."""
    types = register_types(dtype, lanes)
    if dtype.is_complex:
        number = complex(value)
        return Element(dtype, (b.constant(types[0], number.real), b.constant(types[1], number.imag)))
    if isinstance(value, complex):
        raise InternalError(f"the literal {value} has no imaginary part as {dtype}")
    if dtype.is_low_precision or dtype.bits < 8:
        value = int(np.asarray(value).astype(dtype.numpy).reshape(1).view(f"u{dtype.itemsize}")[0])
    return Element(dtype, (b.constant(types[0], value),))


def broadcast(x: Element, lanes: int) -> Element:
    """Broadcasts a value of one lane to all lanes; a value with all lanes is returned as it is."""
    if x.lanes == lanes:
        return x
    if x.lanes != 1:
        raise InternalError(f"{x.lanes} lanes cannot become {lanes}")
    return x.map(lambda register: _splat(register, lanes))


def _splat(x: Register, lanes: int) -> Register:
    if x.text.startswith("%"):
        return x.builder.splat(x, lanes)
    return Register(x.builder, x.type.vector(lanes), f"splat ({x.type} {x.text})")  # a constant stays one


def aligned(operands: Elements) -> list[Element]:
    """Broadcasts values to the number of lanes of the widest."""
    lanes = max([x.lanes for x in operands])
    return [broadcast(x, lanes) for x in operands]


def select(condition: Register, x: Element, y: Element) -> Element:
    """Returns x where a ``condition`` holds, else y, bit for bit; it may have one lane for all."""
    if x.dtype is not y.dtype:
        raise InternalError(f"a choice between {x.dtype} and {y.dtype}")
    lanes = max(condition.type.lanes, x.lanes, y.lanes)
    x, y = broadcast(x, lanes), broadcast(y, lanes)
    return Element(x.dtype, tuple([condition.builder.where(condition, left, right)
                                   for left, right in zip(x.registers, y.registers, strict=True)]))


def choose(condition: Register, otherwise: Elements, build: Callable[[], Elements],
           unlikely: bool = False) -> list[Element]:
    """Returns what ``build`` makes if a condition (one lane) holds, else ``otherwise``; only then does its code run."""
    chosen = condition.builder.choose_each(condition, flat(otherwise), lambda: flat(build()), unlikely)
    return shaped(otherwise, chosen)


def flat(elements: Elements) -> list[Register]:
    """Returns the registers of ``elements``."""
    return [register for element in elements for register in element.registers]


def shaped(like: Elements, registers: Sequence[Register]) -> list[Element]:
    """Returns ``registers`` as elements of the same types as those of ``like``."""
    remaining = iter(registers)
    return [Element(x.dtype, tuple([next(remaining) for _ in x.registers])) for x in like]
