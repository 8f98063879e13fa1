"""Transposes through registers: squares of as many rows as a vector has lanes, whose halves are interleaved.

``target[k, j] = source[j, k]``; the columns of both are contiguous. Nothing outside of the block is read or written.

>>> from nervure.transformers.cpu.compile.llvm.types import F32
>>> transpose_function(F32, 32).text().count("shufflevector <8 x float>") // 2     # of whole squares, and at the edges
24
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import I64, PTR, Type

ARGUMENTS = (("source", PTR), ("source_row", I64), ("target", PTR), ("target_row", I64), ("rows", I64),
             ("columns", I64))
"""Steps are in elements; rows and columns are those of the source."""


def transpose_function(type: Type, vector_bytes: int) -> Builder:
    """Returns the function ``transpose_f32`` or that of another type."""
    lanes = vector_bytes * 8 // type.bits
    b = Builder(f"transpose_{type.suffix}", ARGUMENTS, attributes="nounwind")
    source, source_row, target, target_row, rows, columns = b.arguments
    with b.loop(0, rows, lanes) as down, b.loop(0, columns, lanes) as across:
        start = b.offset(source, down.index * source_row + across.index, type)
        end = b.offset(target, across.index * target_row + down.index, type)
        high, wide = rows - down.index, columns - across.index
        whole, edge, done = b.label("whole"), b.label("edge"), b.label("next")
        b.branch((high >= lanes) & (wide >= lanes), whole, edge)
        b.block(whole)
        vector, numbers = type.vector(lanes), range(lanes)
        places = [b.offset(start, source_row * number, type) for number in numbers]
        for number, row in enumerate(transposed([b.load(place, vector) for place in places])):
            b.store(row, b.offset(end, target_row * number, type))
        b.jump(done)
        b.block(edge)
        edges = _bytes if type.bits == 8 else _edge
        edges(b, (start, source_row, wide), (end, target_row, high), vector)
        b.block(done)
    b.ret()
    return b


def transposed(rows: Sequence[Register]) -> list[Register]:
    """Returns the columns of a square, or of a few rows, one behind the other: in each step two rows are interleaved.

    The bits of (row, lane) rotate by one place in each step, so that after all steps the two have changed places.
    """
    lanes, half = rows[0].type.lanes, len(rows) // 2
    low = [number // 2 + lanes * (number % 2) for number in range(lanes)]
    for _ in range(half.bit_length()):
        rows = [row for x, y in zip(rows[:half], rows[half:], strict=True)
                for row in (x.builder.shuffle(x, y, low), x.builder.shuffle(x, y, [lane + lanes // 2 for lane in low]))]
    return list(rows)


def _edge(b: Builder, source: tuple[Register, Register, Register], target: tuple[Register, Register, Register],
          vector: Type) -> None:
    """Transposes a square with missing rows or columns of ``source`` to ``target``: the last row stands for the
    missing ones.
    """
    start, source_row, wide = source
    end, target_row, high = target
    numbers = [b.intrinsic("smin", high - 1, number) for number in range(vector.lanes)]
    mask = first_lanes(b, wide, vector.lanes)
    rows = [b.load_masked(b.offset(start, source_row * number, vector.element), vector, mask) for number in numbers]
    mask = first_lanes(b, high, vector.lanes)
    for number, row in enumerate(transposed(rows)):
        with b.if_(wide > number):
            b.store_masked(row, b.offset(end, target_row * number, vector.element), mask)


def _bytes(b: Builder, source: tuple[Register, Register, Register], target: tuple[Register, Register, Register],
           vector: Type) -> None:
    """Transposes bytes from ``source`` to ``target`` one by one, since masks for bytes do not exist everywhere."""
    start, source_row, wide = source
    end, target_row, high = target
    with (b.loop(0, b.intrinsic("smin", wide, vector.lanes)) as across,
          b.loop(0, b.intrinsic("smin", high, vector.lanes)) as down):
        byte = b.load(b.offset(start, source_row * down.index + across.index, vector.element), vector.element)
        b.store(byte, b.offset(end, target_row * across.index + down.index, vector.element))


def first_lanes(b: Builder, count: Register, lanes: int) -> Register:
    """Returns the mask of the lanes below a count, which may be more than these."""
    return b.first_lanes(b.intrinsic("smin", count, lanes), lanes)
