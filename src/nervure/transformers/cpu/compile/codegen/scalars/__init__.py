"""The scalar namespace over vectors: each of its functions in LLVM IR.

>>> from nervure.transformers.cpu.compile.codegen.element import literal
>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.types.dtype import float32, int8
>>> b = Builder("example")
>>> x, y = literal(b, 7, int8, lanes=8), literal(b, 2, int8)
>>> apply("add", [x, y], int8)
i8 <8 x i8> %v0

Functions defined by IEEE 754 and integer arithmetic are here, in a table for each kind of elements; library functions
(exp, sin, erf, ...), those of complex numbers and the formats of low-precision floats are in
:mod:`nervure.kernel.math`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from nervure.errors import InternalError
from nervure.transformers.cpu.compile.codegen.element import Element, aligned, select
from nervure.transformers.cpu.compile.codegen.scalars import conversions, floats, integers, mathematics
from nervure.transformers.cpu.compile.llvm.builder import Builder
from nervure.transformers.cpu.compile.llvm.register import Register
from nervure.types.dtype import DType

__all__ = ["apply", "called"]

_CONVERSIONS: dict[str, Callable[[Element, DType], Element]] = {
    "convert": conversions.convert, "wrap": conversions.wrap, "bitcast": conversions.bitcast,
}

_FLOATS: dict[str, Callable[..., Register]] = {**mathematics.FUNCTIONS, **floats.FUNCTIONS}


def apply(function: str, operands: Sequence[Element], dtype: DType) -> Element:
    """Applies a ``function`` of the scalar namespace to ``operands``; the result has the type ``dtype``. An operand of
    one lane stands for all.

    ``constant`` and ``index`` are no functions of elements, and low-precision floats and integers of 2 or 4 bits have
    only conversions and ``where``: anything else is an InternalError.
    """
    if function in _CONVERSIONS:
        return _CONVERSIONS[function](operands[0], dtype)
    if function == "where":
        condition, x, y = operands
        return select(condition.register, x, y)
    operands = aligned(operands)
    if function == "complex":
        return Element(dtype, tuple([part.register for part in operands]))
    source = operands[0].dtype
    table = _functions_of(source)
    if function not in table:
        raise InternalError(f"there is no {function} of {source} in kernels")
    arguments = [x.registers if source.is_complex else x.register for x in operands]
    result = table[function](*arguments)
    return Element(dtype, result if isinstance(result, tuple) else (result,))


def called(function: str, operands: Sequence[Element], dtype: DType) -> Element:
    """Applies a ``function`` to ``operands`` of one lane as ``apply`` does. A library function of real numbers is
    written once for the module, and called.

    >>> from nervure.transformers.cpu.compile.codegen.element import literal
    >>> from nervure.transformers.cpu.compile.llvm.builder import Builder
    >>> from nervure.types.dtype import float32
    >>> b = Builder("example")
    >>> called("exp", [called("exp", [literal(b, 0.5, float32)], float32)], float32)
    f32 float %v1
    """
    if function not in mathematics.FUNCTIONS or {x.dtype for x in operands} != {dtype} or not dtype.is_float:
        return apply(function, operands, dtype)
    registers = [x.register for x in operands]
    b, type = registers[0].builder, registers[0].type
    name = f"{function}.{type.suffix}"
    if name not in b.declarations:
        written = Builder(name, [(f"x{number}", type) for number in range(len(operands))], type, "nounwind", "internal")
        written.ret(apply(function, [Element(dtype, (x,)) for x in written.arguments], dtype).register)
        b.define(written)
    return Element(dtype, (b.call(name, type, *registers),))


def _functions_of(dtype: DType) -> Mapping[str, Callable[..., Register | tuple[Register, ...]]]:
    if dtype.storage_only or dtype.is_low_precision:
        return {}
    if dtype.kind == "bool":
        return integers.BOOLEANS
    if dtype.is_complex:
        return mathematics.COMPLEX
    if dtype.is_float:
        return _FLOATS
    return integers.SIGNED if dtype.is_signed else integers.UNSIGNED
