"""Cost model of kernels, the time on one core: what threads are worth, when a call lets other Python threads run.

>>> from nervure.kernel.plan import make_plan
>>> import nervure as nv
>>> from nervure.kernel.machine import GENERIC
>>> x = nv.Parameter(nv.float32, (1000,))
>>> step, = make_plan(nv.Function([nv.ops.Exp(x)], [x])).steps
>>> nanoseconds_per_point(step.lowered.kernel, GENERIC)
0.8
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nervure.ir.op import Op
from nervure.kernel.ir import Address, Fold, For, Kernel, Load, Reduce, Statement, Store
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.machine import Machine


def nanoseconds_per_point(kernel: Kernel, machine: Machine) -> float:
    """The larger of what memory and what arithmetic take for one point of the loops."""
    moved, known = 0.0, set[tuple[object, type]]()
    for access, is_far in _accesses(kernel.body, None):
        size, key = access.buffer.dtype.itemsize, (access.buffer, type(access))
        moved += machine.element_apart if is_far else size * (
            machine.byte_from_cache if key in known else machine.byte_from_memory)
        known.add(key)
    work = sum([op.cost * _vectors(op) for op in kernel.origins if isinstance(op, Op)])
    return round(max(moved, work * machine.operation / machine.lanes, 0.1), 3)


def _accesses(statements: Sequence[Statement], lane: LoopIndex | None) -> Iterator[tuple[Load | Store, bool]]:
    """The loads and stores of memory, and whether they touch one element here and one there."""
    for statement in statements:
        if isinstance(statement, Load | Store) and statement.buffer.role != "scratch":
            yield statement, _is_far(statement.address, lane)
        elif isinstance(statement, For):
            yield from _accesses(statement.body, statement.index if statement.vector else lane)
        elif isinstance(statement, Reduce | Fold):
            yield from _accesses(statement.body, lane or statement.indices[-1][0])


def _is_far(address: Address, lane: LoopIndex | None) -> bool:
    step = 0 if lane is None else address.step(lane)
    if address.terms:
        return step == 0
    return not isinstance(step, int) or abs(step) > 2


def _vectors(op: Op) -> float:
    """How many vectors an op's eight elements take."""
    return max([1.0, *[value.dtype.itemsize / 4 for value in (*op.operands, *op.outputs)]])
