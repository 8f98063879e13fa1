"""Lanes of a mask, moved to the front of a vector and counted.

AVX-512 has an instruction for it. With AVX2 the mask, as a number, is a place in a table of permutations.

>>> list(_permutation(0b1010, lanes=4, width=1))[:2], list(_permutation(0b10, lanes=2, width=2))[:2]
([1, 3], [2, 3])
"""

from __future__ import annotations

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import I8, I32, I64, make_type

_AVX512 = 512  # bits of a vector


def compress(b: Builder, x: Register, mask: Register) -> Register:
    """Returns the lanes of a ``mask``, in their order, from the first lane on; what the others hold is not said. The
    vector ``x`` has 32-bit or 64-bit lanes and is as wide as the vectors of the target.
    """
    if x.type.bits * x.type.lanes == _AVX512:
        name = f"llvm.experimental.vector.compress.{x.type.suffix}"
        return b.call(name, x.type, x, mask, b.undefined(x.type))
    lanes, words = x.type.lanes, I32.vector(8)
    content = bytes([lane for bits in range(1 << lanes) for lane in _permutation(bits, lanes, x.type.bits // 32)])
    table = b.table(f"permutations_of_{lanes}_lanes", content)
    lane_numbers = b.load(b.offset(table, _number(mask) * 8, I8), I8.vector(8), align=8).cast("zext", I32)
    return b.call("llvm.x86.avx2.permd", words, x.regrouped(words), lane_numbers).regrouped(x.type)


def lane_count(b: Builder, mask: Register) -> Register:
    """Returns the number of lanes of a ``mask``."""
    return b.intrinsic("ctpop", _number(mask))


def _number(mask: Register) -> Register:
    """Returns a mask as a number, whose lowest bit is its first lane."""
    return mask.regrouped(make_type(f"i{mask.type.lanes}", 1)).cast("zext", I64)


def _permutation(bits: int, lanes: int, width: int) -> bytes:
    """Returns the words of a vector in the order that moves the lanes of the mask ``bits``, of some words each, to the
    front.
    """
    order = sorted(range(lanes), key=lambda lane: not bits >> lane & 1)
    return bytes([lane * width + word for lane in order for word in range(width)])
