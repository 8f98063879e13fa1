"""An op that stands for its operands but has a derivative written by a user.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2,))
>>> op = CustomDerivative(x * 2.0, x, count=1, rule=lambda gradients, operands: [gradients[0] * 5.0])
>>> op.output.type
f32[2]
"""

from __future__ import annotations

from nervure.errors import InvalidArgument
from nervure.ir import field
from nervure.ir.kinds import Composite
from nervure.ir.op import Gradient, Gradients, Value
from nervure.types.description import BasicTensorDescription


class CustomDerivative(Composite):
    """Returns its first ``count`` operands; gradients go to the other operands, by ``rule(gradients, operands)``."""

    operand_names = "*members"
    count = field.integer()
    rule = field.function_of_host()

    def infer(self, *types: BasicTensorDescription) -> tuple[BasicTensorDescription, ...]:
        if not 1 <= self.count <= len(types):
            raise self.fail(InvalidArgument, "count is the number of results among the operands", operand="count",
                            got=self.count, expected=f"1 to {len(types)}",
                            help="results come first, then what they depend on")
        return tuple(types[:self.count])

    def decompose(self, *members: Value) -> Value | tuple[Value, ...]:
        return tuple(members[:self.count]) if self.count > 1 else members[0]

    def vjp(self, gradient: Gradient, *members: Value) -> Gradients:
        gradients = gradient if isinstance(gradient, tuple) else (gradient,)
        return (None,) * self.count + tuple(self.rule(gradients, members[self.count:]))
