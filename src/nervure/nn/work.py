"""Operation counts: the scalar operations of a part of the graph, for all sizes.

An addition is one operation, a multiplication another, a function such as exp 16. Composites count as the ops they
consist of, before anything is fused or shared; views and copies count nothing.

>>> import nervure as nv
>>> x, w = nv.placeholder("N=n, F=784"), nv.variable("F=784, K=10")
>>> str(operations([nv.dot(x, w) + 1.0], [x]))
'15690*n'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from nervure.front.tensor import Tensor
from nervure.ir.kinds import Composite, Elementwise, Structured
from nervure.ir.op import Op
from nervure.ops.scalar import SCALAR_FUNCTIONS
from nervure.types.dim import DimLike, product


def operations(results: Iterable[Tensor], inputs: Iterable[Tensor]) -> DimLike:
    """Counts the operations of everything between ``inputs`` and ``results``."""
    seen = {tensor.value.op for tensor in inputs}
    waiting = [tensor.value.op for tensor in results]
    total: DimLike = 0
    while waiting:
        op = waiting.pop()
        if op in seen:
            continue
        seen.add(op)
        parts = op.decomposed() if isinstance(op, Composite) else op.operands
        waiting.extend([value.op for value in parts])
        total = total + _of_op(op)
    return total


def _of_op(op: Op) -> DimLike:
    """Counts the operations of one op of the core."""
    if isinstance(op, Elementwise):
        return product(op.outputs[0].shape) * _of_expression(op.evaluate, len(op.operands))
    if not isinstance(op, Structured):
        return 0
    structure = op.structure(*[operand.type for operand in op.operands])
    each = _of_expression(structure.body, len([entry for entry in structure.reads if entry is not None]))
    return product(structure.domain) * (each + (structure.combine is not None) * len(structure.writes))


def _of_expression(expression: Callable[..., object], arity: int) -> int:
    """Counts the operations of an expression over scalars."""
    counter = _Counter()
    expression(counter, *[None] * arity)
    return counter.operations


class _Counter:
    """A scalar namespace that only counts: its scalars are None."""

    def __init__(self) -> None:
        self.operations = 0

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("__"):
            raise AttributeError(name)

        def function(*operands: object) -> None:
            declared = SCALAR_FUNCTIONS.get(name)
            self.operations += 0 if declared is None else declared.operations
        return function
