"""Choosing between values: by a condition, or by size.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (3,))
>>> Where(Less(x, x.full(0)), -x, x)
f32[3] Where(Less, Negative, Parameter)

The gradient goes to the chosen value; equal candidates of Maximum and Minimum share it.
"""

from __future__ import annotations

from nervure.ir.kinds import Elementwise
from nervure.ir.op import Gradients, Operand, Value, ValueLike
from nervure.ops.comparison import Greater, Less, LogicalOr
from nervure.ops.composite import ElementwiseComposite
from nervure.ops.scalar import Scalar, ScalarNamespace
from nervure.ops.scalar_op import elementwise
from nervure.types.element_groups import ALL, ORDERED


class Where(Elementwise):
    """x where the condition holds, else y, bit for bit.

    The side that is not taken gets the gradient 0. If its own derivative is infinite there, 0 times that is NaN, so a
    derivative that must be safe also replaces the values that the untaken side reads.
    """

    signature = "condition:bool[~] x[~] y[~] -> z[~]"
    admits = ALL
    cost = 1

    def evaluate(self, s: ScalarNamespace[Scalar], condition: Scalar, x: Scalar, y: Scalar) -> Scalar:
        return s.where(condition, x, y)

    def vjp(self, gradient: Value, condition: Value, x: Value, y: Value) -> Gradients:
        zero = gradient.full(0)
        return None, where(condition, gradient, zero), where(condition, zero, gradient)


Maximum = elementwise("maximum", surface="maximum(np.array([1, 5]), 3) -> [3, 5]",
                      note="Equal operands share the gradient.",
                      vjp=lambda self, gradient, x, y: _share(gradient, Greater(x, y), Less(x, y)))

Minimum = elementwise("minimum", surface="minimum(np.array([1, 5]), 3) -> [1, 3]",
                      note="Equal operands share the gradient.",
                      vjp=lambda self, gradient, x, y: _share(gradient, Less(x, y), Greater(x, y)))


class Clip(ElementwiseComposite):
    """x limited to [low, high], tensors like x: ``minimum(maximum(x, low), high)``.

    The gradient goes to x wherever low <= x <= high, the bounds included, and else to the bound that was taken.
    """

    operand_names = "x low high"
    admits = ORDERED
    sample = ("normal", "low", "high")

    def formula(self, x: Value, low: Value, high: Value) -> Operand:
        return Minimum(Maximum(x, low), high)

    def vjp(self, gradient: Value, x: Value, low: Value, high: Value) -> Gradients:
        below, above = Less(x, low), Greater(Maximum(x, low), high)
        taken_low = where(above, 0, where(below, gradient, 0))
        return where(LogicalOr(below, above), 0, gradient), taken_low, where(above, gradient, 0)


def where(condition: Operand, x: ValueLike, y: ValueLike) -> Value:
    """Returns ``Where`` as a value; x or y may be a number."""
    like = x if isinstance(x, Operand) else y
    assert isinstance(like, Operand)
    sides = [side if isinstance(side, Operand) else like.full(side) for side in (x, y)]
    return Where(condition, *sides).outputs[0]


def _share(gradient: Value, first: Operand, second: Operand) -> tuple[Value, Value]:
    """Gives all of the gradient to the side that won, half to each at a tie."""
    half = gradient * 0.5
    return where(first, gradient, where(second, 0, half)), where(second, gradient, where(first, 0, half))
