"""Layouts: each value lies in memory with its dimensions in the order in which most of its elements are wanted.

A walk over a function makes each op in the order in which its operands lie, as far as it can
(:mod:`nervure.passes.orders`). What reads and makes values in an order of its own is lowered on the way: a convolution
with channels last leaves its result with channels last, and a product that only a permutation reads is made in the
order of that, as is what is computed of products element by element if whole rows of them move. Elements move where
two orders meet, and nowhere else.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (8, 14, 14, 64))
>>> images = nv.ops.Relu(nv.ops.Permute(x, (0, 3, 1, 2)))
>>> for op in with_layouts(nv.Function([nv.ops.Sum(images, [2, 3])], [x])).operations:
...     print(type(op).__name__, op.outputs[0].shape)
Parameter (8, 14, 14, 64)
Relu (8, 14, 14, 64)
Sum (8, 64)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from nervure.ir.function import Function
from nervure.ir.kinds import Elementwise
from nervure.ir.op import Op, Value
from nervure.ir.provenance import set_override
from nervure.ops.contraction import Contract
from nervure.ops.views import Permute
from nervure.passes.orders import Operands, Order, Ordered, channels_last, in_order, repetition
from nervure.passes.rewrite import Inheritance
from nervure.types.shape import inverse_permutation

Lowering = Callable[[Any, Operands], Ordered | Value | None]
"""What an op becomes, whose operands lie so: a value, or what stands for it; None for an op that stays."""


def with_layouts(function: Function, lowerings: Mapping[type[Op], Lowering] | None = None) -> Function:
    """The function with ops made in the orders in which their operands lie, and ops of the listed classes lowered."""
    return _Walk(function, lowerings or {}).run()


class _Walk:
    """One walk from operands to users. ``_plain`` has the values that take the place of others, ``_laid`` those that
    stand for others in an order of their own.
    """

    def __init__(self, function: Function, lowerings: Mapping[type[Op], Lowering]) -> None:
        self._function, self._lowerings = function, lowerings
        self._plain: dict[Value, Value] = {}
        self._laid: dict[Value, Ordered] = {}
        self._inherited = Inheritance(function)
        self._readers = Counter([*function.roots, *[operand for op in function.operations for operand in op.operands]])

    def run(self) -> Function:
        before = set_override(None)
        try:
            for op in self._function.operations:
                self._visit(op)
        finally:
            set_override(before)
        return self._inherited.given_to(self._function.substituted(self._plain))

    def _visit(self, op: Op) -> None:
        fresh = op.with_operands([self._plain.get(operand, operand) for operand in op.operands])
        laid = [self._laid.get(operand) for operand in op.operands]
        set_override(op.provenance)
        found = self._made(op, fresh, laid)
        if found is None:
            if fresh is not op:
                self._plain.update(zip(op.outputs, fresh.outputs, strict=True))
            self._note_view(op, fresh)
        elif isinstance(found, Ordered):
            is_made = all([entry is None or entry.value is not found.value for entry in laid])
            self._stand(op.outputs[0], found, is_made)
        else:
            self._replace(op.outputs[0], found)

    def _made(self, op: Op, fresh: Op, laid: Operands) -> Ordered | Value | None:
        if type(op) is Permute and (product := self._permuted(op.operands[0], op.order)) is not None:
            return product
        lower = self._lowerings.get(type(op))
        return in_order(fresh, laid) if lower is None else lower(fresh, laid)

    def _permuted(self, x: Value, order: Order, is_below: bool = False) -> Value | None:
        """The value x in another ``order``, if it is a product or computed of products element by element; else None.

        It has a single reader. Operands that repeat their elements take part. Products that are ``is_below`` other ops
        keep their columns: only whole rows move.
        """
        if self._readers[x] != 1 or x in self._laid:
            return None
        if type(x.op) is Contract:
            now = self._plain.get(x, x).op
            if type(now) is not Contract or is_below and not _keeps_columns(now, order):
                return None
            return _permuted_product(now, order)
        if not isinstance(x.op, Elementwise):
            return None
        products = [self._permuted(operand, order, is_below=True) for operand in x.op.operands]
        if all([product is None for product in products]):
            return None
        operands = [repetition(self._plain.get(operand, operand), order) if product is None else product
                    for product, operand in zip(products, x.op.operands, strict=True)]
        known = [operand for operand in operands if operand is not None]
        return x.op.with_operands(known).outputs[0] if len(known) == len(operands) else None

    def _note_view(self, op: Op, fresh: Op) -> None:
        """A view that shows something with its channels in front, which lies in memory with channels last."""
        if type(fresh) is Permute and len(fresh.order) > 2:
            order = inverse_permutation(fresh.order)
            if order == channels_last(len(order)):
                self._laid[op.outputs[0]] = Ordered(fresh.operands[0], order)

    def _stand(self, old: Value, found: Ordered, is_made: bool) -> None:
        """Lets something stand for a value. Where it is made here, its dimensions have the value's labels."""
        if not found.is_plain:
            self._laid[old] = found
        if is_made and old.labels is not None:
            found.value.labels = tuple([old.labels[own] for own in found.order])
        self._replace(old, found.plain)

    def _replace(self, old: Value, new: Value) -> None:
        self._plain[old] = new
        self._inherited.add(old, new)


def _permuted_product(product: Contract, order: Order) -> Value:
    """The ``product`` with its dimensions in another order. Its indices keep their numbers, and its sums their order.
    """
    indices = [product.indices[d] for d in order]
    return Contract(*product.operands, x_indices=product.x_indices, y_indices=product.y_indices,
                    indices=indices).output


def _keeps_columns(product: Contract, order: Order) -> bool:
    """Whether an ``order`` moves nothing but indices of the left operand of a product."""
    return all([own == d or product.indices[d] in product.x_indices for d, own in enumerate(order)])
