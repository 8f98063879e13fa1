"""Functions of the scalar namespace called on arrays, through vectors of any number of lanes.

>>> import numpy as np
>>> from nervure.types.dtype import int8
>>> on_arrays("floordivide", (int8, int8), int8, lanes=4)(np.int8([7, -7, -128]), np.int8([2, 2, -1])).tolist()
[3, -4, -128]

A literal in place of a type is a constant operand:

>>> on_arrays("power", (int8, 3), int8, lanes=4)(np.int8([2, -3])).tolist()
[8, -27]
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache
from zlib import crc32

import numpy as np

from nervure.transformers.cpu.cache.loader import ObjectFile, load
from nervure.transformers.cpu.compile.codegen.element import Element, Number, literal, memory_types, register_types
from nervure.transformers.cpu.compile.codegen.scalars import apply
from nervure.transformers.cpu.compile.compiler import compile_object
from nervure.transformers.cpu.compile.llvm.builder import Builder, Register, assemble
from nervure.transformers.cpu.compile.llvm.types import I8, I64, PTR
from nervure.types.dtype import DType

Operand = DType | Number

LANES = (1, 4, 8, 16)


def some_lanes(*case: object) -> tuple[int, ...]:
    """One of the numbers of lanes, another for another case; DEEP_TESTS=1 tries all of them."""
    return LANES if os.environ.get("DEEP_TESTS") else (LANES[crc32(repr(case).encode()) % len(LANES)],)


def module_text(function: str, operands: tuple[Operand, ...], dtype: DType, lanes: int) -> str:
    """A function ``run(parts of the operands..., parts of the result..., count)``; the parts of complex numbers are
    arrays of their own.
    """
    types = [entry for entry in operands if isinstance(entry, DType)]
    parts, results = sum([len(memory_types(entry)) for entry in types]), len(memory_types(dtype))
    b = Builder("run", [*[(f"array{at}", PTR) for at in range(parts + results)], ("count", I64)])
    sources, targets, count = b.arguments[:parts], b.arguments[parts:-1], b.arguments[-1]
    with b.loop(0, count, lanes) as loop:
        left = iter(sources)
        elements = [_load(b, entry, left, loop.index, lanes) if isinstance(entry, DType)
                    else literal(b, entry, types[0]) for entry in operands]
        result = apply(function, elements, dtype)
        assert result.dtype is dtype
        assert [register.type for register in result.registers] == list(register_types(dtype, lanes))
        for register, target in zip(result.registers, targets, strict=True):
            _store(b, register, target, loop.index)
    b.ret()
    return assemble([b])


def _load(b: Builder, dtype: DType, arrays: object, index: Register, lanes: int) -> Element:
    loaded = [b.load(b.offset(next(arrays), index, part), part.vector(lanes), align=1) for part in memory_types(dtype)]
    return Element(dtype, tuple([part.not_equal(0) for part in loaded] if dtype.kind == "bool" else loaded))


def _store(b: Builder, register: Register, target: Register, index: Register) -> None:
    register = register.cast("zext", I8) if register.type.scalar == "i1" else register
    b.store(register, b.offset(target, index, register.type.element), align=1)


@cache
def on_arrays(function: str, operands: tuple[Operand, ...], dtype: DType, lanes: int) -> Callable[..., np.ndarray]:
    """The function over whole flat arrays."""
    code = compile_object(module_text(function, operands, dtype, lanes))
    assert not names_outside(code)  # what LLVM has no instructions for becomes a slow call for each lane
    library = load(code)
    types = [entry for entry in operands if isinstance(entry, DType)]

    def call(*arrays: np.ndarray) -> np.ndarray:
        assert [array.dtype for array in arrays] == [entry.numpy for entry in types] and library
        count = len(arrays[0])
        padding = -count % lanes
        parts = [np.concatenate([part, np.zeros(padding, part.dtype)]) for array in arrays for part in _split(array)]
        target = np.zeros(count + padding, dtype.numpy)
        results = _split(target)
        places = [part.ctypes.data for part in [*parts, *results]]
        run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(places), ctypes.c_int64)(library.address("run"))
        run(*places, count + padding)
        if dtype.is_complex:
            target.real, target.imag = results
        return target[:count]

    return call


def names_outside(code: bytes) -> list[str]:
    """The functions that machine code calls and does not have."""
    return [symbol.name for symbol in ObjectFile([code]).symbols if symbol.name and not symbol.section]


def _split(array: np.ndarray) -> list[np.ndarray]:
    parts = [array.real, array.imag] if array.dtype.kind == "c" else [array]
    return [np.ascontiguousarray(part) for part in parts]
