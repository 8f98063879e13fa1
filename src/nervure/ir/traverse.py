"""Walks over graphs, all iterative: a chain of 100,000 ops must not meet the recursion limit.

>>> import nervure as nv
>>> from nervure.ops import Add, Parameter
>>> x = Parameter(nv.float32, (2,))
>>> [type(op).__name__ for op in postorder([Add(Add(x, x), x)])]
['Parameter', 'Add', 'Add']
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter

from nervure.ir.op import Op, Operand, Value
from nervure.ir.provenance import set_override

Transform = Callable[[Op], Sequence[Value] | None]
"""The values in place of the outputs of an op; None keeps it."""


def postorder(roots: Iterable[Operand | Op], known: set[Op] | None = None,
              operands_of: Callable[[Op], Sequence[Value]] = attrgetter("operands")) -> list[Op]:
    """Lists every op that the roots need, operands before users, in the order of a depth-first walk from the left.

    ``known`` holds ops that count as visited already; it is extended. ``operands_of`` may hide operands from the walk.
    """
    done: set[Op] = set() if known is None else known
    order: list[Op] = []
    stack: list[Op] = []
    for root in roots:
        stack.append(root.op if type(root) is Value else root)  # type: ignore[arg-type]  # an Operand is Value or Op
        while stack:
            op = stack[-1]
            if op in done:
                stack.pop()
                continue
            depth = len(stack)
            stack.extend([operand.op for operand in reversed(operands_of(op)) if operand.op not in done])
            if len(stack) == depth:
                done.add(op)
                order.append(op)
                stack.pop()
    return order


def rebuild(order: Iterable[Op], replaced: dict[Value, Value],
            transform: Transform | None = None) -> dict[Value, Value]:
    """Copies a graph bottom-up as far as something below changed.

    ``order`` is a postorder; ``replaced`` maps old values to new ones and is extended by the rebuilt ones.
    ``transform(op)`` receives each op on its new operands, and may return values in place of its outputs. New nodes
    carry the old one's provenance.
    """
    for op in order:
        operands = [replaced.get(operand, operand) for operand in op.operands]
        before = set_override(op.provenance)
        try:
            fresh = op.with_operands(operands)
            found = transform(fresh) if transform is not None else None
        finally:
            set_override(before)
        outputs = fresh.outputs if found is None else found
        if outputs is not op.outputs:
            replaced.update(zip(op.outputs, outputs, strict=True))
    return replaced
