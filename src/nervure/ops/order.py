"""Sequencing: assignments and their order, as ops that say when something happens.

They exist while a graph is being built and are gone from a finished Function: placement
(:mod:`nervure.front.placement`) turns them into single assignment. Each has an output, so that it can be a member of
another; an op that is used for its effect alone has an empty *token*.

>>> import nervure as nv
>>> x = nv.variable((), 1.0)
>>> nv.sequential([nv.assign(x, 2.0), x + x])
<Tensor f32[] Sequential>
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nervure.errors import DtypeMismatch, InvalidArgument, NotSupported, ShapeMismatch
from nervure.ir import field
from nervure.ir.op import Gradients, Op, Value, same_types
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import DimLike
from nervure.types.dtype import bool_

TOKEN = BasicTensorDescription(bool_, (0,))


class OrderOp(Op, abstract=True):
    """An op that a Function cannot hold: it says when its operands are evaluated."""


class Assign(OrderOp):
    """Writes a value to a variable; with ``map``, to the elements of it that the index map visits."""

    operand_names = "x"
    effectful = True
    variable = field.variable()
    map = field.optional_index_map()

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription:
        target = self.variable.type
        shape = target.shape if self.map is None else self.map.shape
        if types[0].dtype is not target.dtype or types[0].shape != shape:
            kind = ShapeMismatch if types[0].shape != shape else DtypeMismatch
            raise self.fail(kind, "the value does not fit its place",
                            operand=self.operand_label(0), got=types[0], expected=target.with_(shape=shape),
                            help="nv.assign converts and broadcasts")
        return TOKEN

    def vmap(self, length: DimLike, mapped: Sequence[bool], *operands: Value) -> tuple[Value, ...]:
        raise self.fail(NotSupported, "each element of what is mapped over would assign another value",
                        operand=self.variable.name, got=operands[0].type,
                        expected=f"a value for all: {self.variable.type}",
                        help="return the value from the function, and assign what it gives for all elements")


class Sequential(OrderOp):
    """Places its operands one after the other; its value is the last one's."""

    operand_names = "*members"

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription:
        return _members(self, types)[-1]

    def vjp(self, gradient: Value, *members: Value) -> Gradients:
        return (None,) * (len(members) - 1) + (gradient,)


class DoAll(OrderOp):
    """Places its operands side by side: each sees the state at entry, and all writes land together at the end."""

    operand_names = "*members"

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription:
        return TOKEN


class Computed(OrderOp):
    """The computed value of an expression: its first operand, a read of the place that keeps the value.

    The second operand is the expression. It is not evaluated again; derivatives go to both.
    """

    operand_names = "kept expression"

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription:
        return same_types(self, types)

    def vjp(self, gradient: Value, *operands: Value) -> Gradients:
        return gradient, gradient

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return {}


class Together(OrderOp):
    """Returns its first operand; placing it evaluates the other operands before."""

    operand_names = "*members"

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription:
        return _members(self, types)[0]

    def vjp(self, gradient: Value, *members: Value) -> Gradients:
        return (gradient, *(None,) * (len(members) - 1))


def value_operands(op: Op) -> Sequence[Value]:
    """Returns the operands that determine the value of an op; for ops that order, only the one whose value it has."""
    if type(op) is Sequential:
        return op.operands[-1:]
    return op.operands[:1] if type(op) is Together else op.operands


def placed_operands(op: Op) -> Sequence[Value]:
    """Returns the operands that are placed with an op; for a computed value, the place that keeps it."""
    return op.operands[:1] if type(op) is Computed else op.operands


def kept(base: Value) -> Op:
    """Returns the op that owns the memory of a base; for a computed value, the read of the place that keeps it."""
    return base.op.operands[0].op if isinstance(base.op, Computed) else base.op


def _members(op: Op, types: tuple[BasicTensorDescription, ...]) -> tuple[BasicTensorDescription, ...]:
    """Returns the types of members; there must be at least one."""
    if not types:
        raise op.fail(InvalidArgument, "there is no member", operand="members", got="no operands",
                      expected="one or more",
                      help="nothing to do is nv.doall([])")
    return types
