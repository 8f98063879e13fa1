"""Conversions of element types, bit casts, and values that derivatives take for something else.

>>> import nervure as nv
>>> Convert(nv.Parameter(nv.float32, (3,)), nv.int8)
i8[3] Convert(Parameter)
"""

from __future__ import annotations

from collections.abc import Mapping

from nervure.errors import DtypeMismatch
from nervure.ir import field
from nervure.ir.kinds import Elementwise
from nervure.ir.op import Gradients, Value
from nervure.ops.scalar import Scalar, ScalarNamespace
from nervure.types.description import BasicTensorDescription
from nervure.types.dtype import DType
from nervure.types.element_groups import ALL


class Convert(Elementwise):
    """x in another element type.

    Float to integer truncates and saturates, and NaN is 0. Integers that do not fit saturate, or in mode "wrap" are
    taken modulo 2**bits. Conversion to bool is x != 0; to a narrower float it rounds to nearest even; complex to real
    drops the imaginary part.
    """

    signature = "x[~] -> y:dtype[~]"
    admits = ALL
    cost = 1
    dtype = field.dtype()
    mode = field.choice("saturate", "wrap", default="saturate")

    def evaluate(self, s: ScalarNamespace[Scalar], x: Scalar) -> Scalar:
        return (s.convert if self.mode == "saturate" else s.wrap)(x, self.dtype)

    def vjp(self, gradient: Value, x: Value) -> Gradients:
        return (converted(gradient, x.dtype),)


class Bitcast(Elementwise):
    """The bits of x as another type of the same width. Its derivative is zero."""

    signature = "x[~] -> y:dtype[~]"
    admits = ALL
    cost = 0
    dtype = field.dtype()

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        if types[0].dtype.bits != self.dtype.bits:
            raise self.fail(DtypeMismatch, "the two types differ in width", operand=self.operand_label(0),
                            got=f"{types[0]}, {types[0].dtype.bits} bits",
                            expected=f"{self.dtype.bits} bits, as {self.dtype.name} has",
                            help="ops.Convert changes the width, and keeps the value rather than the bits")
        return {}

    def evaluate(self, s: ScalarNamespace[Scalar], x: Scalar) -> Scalar:
        return s.bitcast(x, self.dtype)

    def vjp(self, gradient: Value, x: Value) -> Gradients:
        return (None,)


class StopGradient(Elementwise):
    """x itself; for derivatives it is a constant."""

    operand_names = "x"
    admits = ALL
    cost = 0

    def evaluate(self, s: ScalarNamespace[Scalar], x: Scalar) -> Scalar:
        return x

    def vjp(self, gradient: Value, x: Value) -> Gradients:
        return (None,)


class StraightThrough(Elementwise):
    """x itself; for derivatives it is y.

    It is what a variable has after an assignment inside of a body: derivatives take it for the variable.
    """

    operand_names = "x y"
    admits = ALL
    cost = 0

    def evaluate(self, s: ScalarNamespace[Scalar], x: Scalar, y: Scalar) -> Scalar:
        return x

    def vjp(self, gradient: Value, x: Value, y: Value) -> Gradients:
        return None, gradient


def converted(x: Value, dtype: DType, mode: str = "saturate") -> Value:
    """Returns x in another element type, or x itself if it has that type."""
    return x if x.dtype is dtype else Convert(x, dtype, mode).output
