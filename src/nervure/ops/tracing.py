"""Scalar expressions as ops: code over the namespace of scalars becomes a graph.

>>> import nervure as nv
>>> x, y = nv.Parameter(nv.float32, (3,)), nv.Parameter(nv.float32, (3,))
>>> traced(lambda s, a, b: s.where(s.greater(a, b), a, b), [x.output, y.output])
f32[3] Where(Greater, Parameter, Parameter)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nervure.errors import NervureError, NotSupported, WrongKind, did_you_mean, shown
from nervure.ir.leaves import Full
from nervure.ir.notation import Number
from nervure.ir.op import Op, Value, registry
from nervure.ops.comparison import Greater, GreaterEqual
from nervure.ops.conversion import Bitcast, Convert, converted
from nervure.ops.scalar import SCALAR_FUNCTIONS
from nervure.ops.scalar_op import ScalarOp
from nervure.ops.selection import Where
from nervure.types.dim import DimLike
from nervure.types.dtype import DType


class TracingNamespace:
    """A namespace of scalars that are values of a graph, of one shape: each function makes an op."""

    def __init__(self, shape: Sequence[DimLike]) -> None:
        self._shape = tuple(shape)

    def constant(self, value: Number, like: Value | DType) -> Value:
        """A number in the element type of a scalar, or in an element type."""
        return Full(value, like if isinstance(like, DType) else like.dtype, self._shape).output

    def convert(self, x: Value, dtype: DType) -> Value:
        """To another element type; integers saturate."""
        return converted(x, dtype)

    def wrap(self, x: Value, dtype: DType) -> Value:
        """To another element type; integers are taken modulo 2**bits."""
        return Convert(x, dtype, mode="wrap").output

    def bitcast(self, x: Value, dtype: DType) -> Value:
        """The same bits as another element type."""
        return Bitcast(x, dtype).output

    def where(self, condition: Value, x: Value, y: Value) -> Value:
        """x where the condition holds, else y."""
        return Where(condition, x, y).output

    def greater(self, x: Value, y: Value) -> Value:
        """x > y."""
        return Greater(x, y).output

    def greater_equal(self, x: Value, y: Value) -> Value:
        """x >= y."""
        return GreaterEqual(x, y).output

    def __getattr__(self, name: str) -> Callable[..., Value]:
        classes = _ops_of(name)
        if classes:
            return lambda *operands: _fitting(classes, operands)(*operands).outputs[0]
        if name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if name == "index":
            raise NotSupported("no op stands for this function of scalars", op=f"s.{name}", got=name,
                               expected="a function of single elements that an op has",
                               help="give the positions as a tensor: nv.iota")
        raise NotSupported("there is no such function of scalars", op=f"s.{name}", got=name,
                           expected="a function of the namespace of scalars",
                           help=did_you_mean(name, SCALAR_FUNCTIONS, "such as s.add, s.where, s.greater"))


def _ops_of(function: str) -> list[type[ScalarOp]]:
    """Returns the ops that compute one function of scalars, such as a bit function for integers and for truth values.
    """
    return [cls for cls in registry.values() if issubclass(cls, ScalarOp) and cls.function == function
            and cls.__module__.startswith("nervure.")]


def _fitting(classes: Sequence[type[ScalarOp]], operands: Sequence[Value]) -> type[ScalarOp]:
    """Returns the class that takes elements of the operands' type, else the last one, whose error says which it takes.
    """
    return next((cls for cls in classes if operands and operands[0].dtype in cls.admits), classes[-1])


def traced(expression: Callable[..., object], operands: Sequence[Value], op: str = "expression") -> Value:
    """Returns the value of ``expression(s, *elements)`` at every index of operands of one shape.

    As in an op's own meaning, elements of low precision are float32 inside, and numbers in the expression have the
    first operand's type. Raises WrongKind for an expression that gives no scalar.
    """
    shape = operands[0].shape if operands else ()
    inside = [converted(operand, operand.dtype.compute) for operand in operands]
    try:
        made = expression(TracingNamespace(shape), *inside)
    except NervureError as error:
        raise error.within(op) from None
    if isinstance(made, (bool, int, float, complex)) and operands:
        made = Full(made, operands[0].dtype, shape).output
    if not isinstance(made, (Value, Op)):
        raise WrongKind("the expression gives no scalar", op=op, got=shown(made),
                        expected="what a function of the namespace gives", help="return s.add(x, y), for example")
    return made.value
