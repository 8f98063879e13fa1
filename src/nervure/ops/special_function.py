"""Special functions that are composed of other ops: one class for all, whose rows are formulas over float64.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (3,))
>>> SpecialFunction(x, function="i0e")
f32[3] SpecialFunction(Parameter)
>>> ComplexFunction(nv.Parameter(nv.complex64, (3,)), function="exp")
c64[3] ComplexFunction(Parameter)

Every element type is computed in the widest one and rounded once, so that a function has one set of coefficients, and
all digits of the narrower types. The formulas stand in :mod:`nervure.ops.formulas`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from nervure.errors import InvalidArgument, did_you_mean
from nervure.ir import field
from nervure.ir.kinds import Composite, Pointwise
from nervure.ir.op import Gradients, Operand, Value
from nervure.ops.conversion import converted
from nervure.support import forks
from nervure.types.description import BasicTensorDescription
from nervure.types.dtype import DType, complex128, float64
from nervure.types.element_groups import COMPLEX, FLOATS

if TYPE_CHECKING:
    from nervure.ops.formulas.table import FormulaRow


class TabledFunction(Pointwise, Composite, abstract=True):
    """The function with a name in a table of formulas, which are over the element type ``wide``."""

    operand_names = "*operands"
    wide: ClassVar[DType]
    function = field.string()

    @classmethod
    def table(cls) -> Mapping[str, FormulaRow]:
        """Returns the formulas by name. They are loaded when an op asks for one: most programs have none."""
        raise NotImplementedError

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        table = self.table()
        known = table.get(self.function)
        if known is None:
            raise self.fail(InvalidArgument, "there is no such function", operand="function", got=repr(self.function),
                            expected="the name of a formula",
                            help=did_you_mean(self.function, table, ", ".join(table)))
        if len(types) != len(known.operands):
            raise self.fail(InvalidArgument, "the function has another number of operands", operand="function",
                            got=f"{len(types)} operands", expected=", ".join(known.operands),
                            help=f"give {len(known.operands)}")
        return {}

    @property
    def row(self) -> FormulaRow:
        """The formula and what is known of it."""
        return self.table()[self.function]

    @property
    def has_own_derivative(self) -> bool:
        return self.row.slopes is not None and self.operands[0].dtype is self.wide

    def decompose(self, *operands: Value) -> Operand:
        dtype = operands[0].dtype
        if dtype is self.wide:
            return self.row.formula(*operands)
        wide = self.with_operands([converted(operand, self.wide) for operand in operands])
        return converted(wide.outputs[0], dtype)

    def vjp(self, gradient: Value, *operands: Value) -> Gradients:
        assert self.row.slopes is not None
        slopes = self.row.slopes(self.outputs[0], *operands)
        return tuple([None if slope is None else gradient * slope for slope in slopes])


class SpecialFunction(TabledFunction):
    """The special function of the name ``function`` at every index, of real numbers."""

    admits = FLOATS
    wide = float64

    @classmethod
    def table(cls) -> Mapping[str, FormulaRow]:
        with forks.importing():
            from nervure.ops.formulas import FORMULAS
        return FORMULAS


class ComplexFunction(TabledFunction):
    """The elementary function of the name ``function`` at every index, of complex numbers.

    Its derivative is that of a function of complex numbers.
    """

    admits = COMPLEX
    wide = complex128

    @classmethod
    def table(cls) -> Mapping[str, FormulaRow]:
        with forks.importing():
            from nervure.ops.formulas import COMPLEX_FORMULAS
        return COMPLEX_FORMULAS
