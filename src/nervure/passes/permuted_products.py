"""Products whose dimensions come in the order in which they are read.

A product that only one permutation reads is made in that order at once, so that nothing has to cross memory. Its
indices keep their numbers, and its sums their order.

>>> import nervure as nv
>>> x, y = nv.Parameter(nv.float32, (5, 2, 3)), nv.Parameter(nv.float32, (5, 3, 4))
>>> product = nv.ops.Contract(x, y, x_indices=(0, 1, 2), y_indices=(0, 2, 3), indices=(0, 1, 3))
>>> made, = permuted_products(nv.Function([nv.ops.Permute(product, (1, 0, 2))], [x, y])).results
>>> type(made.op).__name__, made.op.indices
('Contract', (1, 0, 3))
"""

from __future__ import annotations

from collections import Counter

from nervure.ir.function import Function
from nervure.ir.op import Op, Value
from nervure.ir.provenance import set_override
from nervure.ops.contraction import Contract
from nervure.ops.views import Permute


def permuted_products(function: Function) -> Function:
    """The function whose products are made in the order of their only reader."""
    readers = Counter([*function.roots, *[operand for op in function.operations for operand in op.operands]])
    table: dict[Value, Value] = {}
    for op in function.operations:
        if type(op) is Permute and type(op.operands[0].op) is Contract and readers[op.operands[0]] == 1:
            fresh: Op = _permuted(op, table)
        else:
            fresh = op.with_operands([table.get(operand, operand) for operand in op.operands])
        if fresh is not op:
            table.update(zip(op.outputs, fresh.outputs, strict=True))
    return function.substituted(table)


def _permuted(op: Permute, table: dict[Value, Value]) -> Op:
    """A permutation of a product as a product."""
    inner = op.operands[0].op
    assert isinstance(inner, Contract)
    before = set_override(op.provenance)
    fresh = Contract(*[table.get(operand, operand) for operand in inner.operands], x_indices=inner.x_indices,
                     y_indices=inner.y_indices, indices=[inner.indices[d] for d in op.order])
    set_override(before)
    fresh.name, fresh.outputs[0].labels = op.name, op.outputs[0].labels
    return fresh
