"""How long a kernel takes, about: what threads are worth and when a call lets other Python threads run.

>>> from nervure.transformers.cpu.plan import make_plan
>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (1000,))
>>> step, = make_plan(nv.Function([nv.ops.Exp(x)], [x])).steps
>>> nanoseconds_per_point(step.lowered.kernel)
0.8
"""

from __future__ import annotations

from nervure.ir.op import Op
from nervure.kernel.cost import cost_of
from nervure.kernel.ir import Kernel, Load, Store, walk

_PER_BYTE, _PER_COST = 0.1, 0.05
"""Nanoseconds, of one core: 10 GB/s, and eight lanes of float32 at two operations a cycle."""


def nanoseconds_per_point(kernel: Kernel) -> float:
    """The larger of what memory and what arithmetic take for one point of the loops."""
    moved = sum([statement.buffer.dtype.itemsize for statement in walk(kernel.body)
                 if isinstance(statement, (Load, Store)) and statement.buffer.role != "scratch"])
    work = sum([cost_of(op) * _vectors(op) for op in kernel.origins if isinstance(op, Op)])
    return round(max(moved * _PER_BYTE, work * _PER_COST, 0.1), 3)


def _vectors(op: Op) -> float:
    """How many vectors an op's eight elements take."""
    return max([1.0, *[value.dtype.itemsize / 4 for value in (*op.operands, *op.outputs)]])
