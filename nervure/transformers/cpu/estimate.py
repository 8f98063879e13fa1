"""How long a kernel takes, about: what threads are worth and when a call lets other Python threads run.

>>> from nervure.transformers.cpu.plan import make_plan
>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (1000,))
>>> step, = make_plan(nv.Function([nv.ops.Exp(x)], [x])).steps
>>> nanoseconds_per_point(step.lowered.kernel)
0.8
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nervure.ir.op import Op
from nervure.kernel.cost import cost_of
from nervure.kernel.ir import Address, Fold, For, Kernel, Load, Reduce, Statement, Store

_PER_COST = 0.05
"""Nanoseconds of one core: eight lanes of float32 at two operations a cycle."""

_FIRST, _AGAIN, _FAR = 0.04, 0.01, 5.0
"""Nanoseconds for a byte from memory, for one that has been read already, and for an element apart from the others."""


def nanoseconds_per_point(kernel: Kernel) -> float:
    """The larger of what memory and what arithmetic take for one point of the loops."""
    moved, known = 0.0, set[tuple[object, type]]()
    for access, is_far in _accesses(kernel.body, None):
        size, key = access.buffer.dtype.itemsize, (access.buffer, type(access))
        moved += _FAR if is_far else size * (_AGAIN if key in known else _FIRST)
        known.add(key)
    work = sum([cost_of(op) * _vectors(op) for op in kernel.origins if isinstance(op, Op)])
    return round(max(moved, work * _PER_COST, 0.1), 3)


def _accesses(statements: Sequence[Statement], lane: str | None) -> Iterator[tuple[Load | Store, bool]]:
    """The loads and stores of memory, and whether they touch one element here and one there."""
    for statement in statements:
        if isinstance(statement, Load | Store) and statement.buffer.role != "scratch":
            yield statement, _is_far(statement.address, lane)
        elif isinstance(statement, For):
            yield from _accesses(statement.body, statement.index if statement.vector else lane)
        elif isinstance(statement, Reduce | Fold):
            yield from _accesses(statement.body, lane or statement.indices[-1][0])


def _is_far(address: Address, lane: str | None) -> bool:
    step = dict(address.steps).get(lane or "", 0)
    if address.terms:
        return step == 0
    return not isinstance(step, int) or abs(step) > 2


def _vectors(op: Op) -> float:
    """How many vectors an op's eight elements take."""
    return max([1.0, *[value.dtype.itemsize / 4 for value in (*op.operands, *op.outputs)]])
