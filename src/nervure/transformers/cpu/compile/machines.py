"""The machine that plans and kernels are made for, from the target of compilation.

>>> from nervure.transformers.cpu.target import Target
>>> avx2, avx512 = machine_of(Target.avx2()), machine_of(Target.avx512())
>>> avx2.lanes, avx2.strip, avx512.lanes, avx512.strip
(8, 64, 16, 256)
"""

from __future__ import annotations

from functools import cache
from typing import Protocol

from nervure.kernel.machine import GENERIC, Machine
from nervure.transformers.cpu.compile.llvm.types import F32
from nervure.transformers.cpu.compile.tiles.tile_library import main_tile


class HasVectors(Protocol):
    """What decides how many lanes run at once."""

    @property
    def vector_bytes(self) -> int:
        """The bytes of a vector register: 16, 32 or 64."""


def machine_of(target: HasVectors) -> Machine:
    """The machine of a target: as many multiply-adds take as long as its registers are wide."""
    return _machine(target.vector_bytes)


@cache
def _machine(vector_bytes: int) -> Machine:
    lanes = vector_bytes // (F32.bits // 8)
    strip = main_tile(F32, max(vector_bytes, 32)).columns * F32.bits // 8
    return GENERIC._replace(lanes=lanes, multiply_add=GENERIC.multiply_add * GENERIC.lanes / lanes, strip=strip)
