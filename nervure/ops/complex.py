"""Complex numbers and their parts.

>>> import nervure as nv
>>> re, im = nv.Parameter(nv.float32, (3,)), nv.Parameter(nv.float32, (3,))
>>> Imaginary(Complex(re, im))
f32[3] Imaginary(Complex)
"""

from __future__ import annotations

from typing import Any

from nervure.ir.kinds import COMPLEX, FLOATS, Elementwise
from nervure.types.description import BasicTensorDescription
from nervure.types.dtype import DType, complex64, complex128, float32, float64

_COMPLEX_OF = {float32: complex64, float64: complex128}
_REAL_OF = {pair: part for part, pair in _COMPLEX_OF.items()}


class Part(Elementwise, abstract=True):
    """A real number made of a complex one."""

    operand_names = "x"
    admits = COMPLEX

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription:
        result = super().infer(*types)
        return result.with_(dtype=real_part_type(result.dtype))


class Real(Part):
    """The real part."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.real(*elements)


class Imaginary(Part):
    """The imaginary part."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.imaginary(*elements)


class Complex(Elementwise):
    """re + i im, from two floats of 32 or 64 bits."""

    operand_names = "re im"
    admits = FLOATS & frozenset(_COMPLEX_OF)

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription:
        result = super().infer(*types)
        return result.with_(dtype=_COMPLEX_OF[result.dtype])

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.complex(*elements)


class Conjugate(Elementwise):
    """The complex conjugate."""

    operand_names = "x"
    admits = COMPLEX

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.conjugate(*elements)


def real_part_type(dtype: DType) -> DType:
    """The type of the parts of a complex type."""
    return _REAL_OF[dtype]
