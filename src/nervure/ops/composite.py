"""Composites in the compute type: a low-precision result is rounded once, at the end.

A composite of several ops on float16 would round after each of them. A subclass of ``InComputeType`` states its
formula and gets the conversions around it; an elementwise one needs no type rule either:

>>> import nervure as nv
>>> class Cube(ElementwiseComposite):
...     def formula(self, x):
...         return x * x * x
>>> Cube(nv.Parameter(nv.float16, (3,)))
f16[3] Cube(Parameter)
>>> Cube(nv.Parameter(nv.float16, (3,))).decompose(nv.Parameter(nv.float16, (3,)).value)
f16[3] Convert(Cube)
"""

from __future__ import annotations

from nervure.ir.kinds import Composite, Pointwise
from nervure.ir.op import Operand, Value
from nervure.ops.conversion import converted
from nervure.types.element_groups import FLOATS


class InComputeType(Composite, abstract=True):
    """A composite that states a ``formula``. On low-precision elements it decomposes into itself on wider ones. So
    ``formula``, and ``vjp`` if it has one, only ever see types in which they can compute directly.
    """

    def formula(self, *operands: Value) -> Operand:
        """Returns the result in terms of other ops."""
        raise NotImplementedError

    def decompose(self, *operands: Value) -> Operand:
        dtype = operands[0].dtype
        if not dtype.is_low_precision:
            return self.formula(*operands)
        wide = self.with_operands([converted(operand, dtype.compute) for operand in operands])
        return converted(wide.outputs[0], dtype)

    @property
    def has_own_derivative(self) -> bool:
        return super().has_own_derivative and not self.operands[0].dtype.is_low_precision


class ElementwiseComposite(Pointwise, InComputeType, abstract=True):
    """A composite with the type rule of elementwise ops: one shape, one element type; it has one operand unless it
    says otherwise.
    """

    operand_names = "x"
    admits = FLOATS
