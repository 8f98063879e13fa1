"""Rounding, magnitude and sign.

>>> import nervure as nv
>>> Round(nv.Parameter(nv.float32, (3,)))
f32[3] Round(Parameter)

Floor, Ceil, Round and Truncate leave integers as they are; their derivatives, and that of Sign, are zero.
"""

from __future__ import annotations

from typing import Any

from nervure.ir.kinds import NUMBERS, REALS, Elementwise
from nervure.ir.op import Value
from nervure.ops.complex import real_part_type
from nervure.types.description import BasicTensorDescription


class Step(Elementwise, abstract=True):
    """A function that is constant between its steps: the derivative is zero."""

    operand_names = "x"
    admits = REALS

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return (None,)


class Floor(Step):
    """The largest integer <= x."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.floor(*elements)


class Ceil(Step):
    """The smallest integer >= x; (-1, 0) gives -0.0."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.ceil(*elements)


class Round(Step):
    """The nearest integer, half to even."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.round(*elements)


class Truncate(Step):
    """x without its fraction: toward zero."""

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.truncate(*elements)


class Sign(Step):
    """-1, 0 or 1; zeros keep their sign, NaN is NaN; of complex numbers x / |x|, and 0 at 0."""

    admits = NUMBERS

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.sign(*elements)


class Absolute(Elementwise):
    """|x|; the smallest integer stays itself; of complex numbers the real magnitude. The derivative at 0 is 0."""

    operand_names = "x"
    admits = NUMBERS

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription:
        result = super().infer(*types)
        return result.with_(dtype=real_part_type(result.dtype)) if result.dtype.is_complex else result

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.absolute(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return (gradient * Sign(operands[0]).output,)
