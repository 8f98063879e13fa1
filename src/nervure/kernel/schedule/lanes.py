"""Lanes along memory: the lanes of vectors follow memory, whether along the row that is reduced or across it.

A row that lies across memory, as in the sum over the last axis of a transposed matrix, would take a cache line for
each element. So the loop over its neighbours runs in lanes, each of which has a row of its own. A row that lies along
memory, as in the sum over the first axis of a transposed matrix, runs in lanes itself; but a few elements fill no
vector, while a vector of each of them serves many rows. The loops around it go through memory in order. Rows with
scratch memory stay as they are: neighbours in lanes would share it.

>>> from nervure.support.machine import GENERIC
>>> from nervure.kernel.parser import parse_kernel
>>> kernel = parse_kernel('''
... kernel sums(in x: f32[96], out y: f32[8]):
...   for i < 8 parallel:
...     v0 = reduce add over j < 12:
...       v1 = x[i + 8*j]
...       give v1
...     y[i] = v0
... ''')
>>> loop, = with_lanes_along_memory(kernel, GENERIC).body
>>> loop.parallel, loop.vector
(True, True)
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.kernel.ir import Access, Body, Fold, For, Kernel, Reduce
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.schedule.nests import Nest, accesses, has_unit_stride, nested, rewritten
from nervure.kernel.schedule.reduction_strategy import is_unrolled
from nervure.kernel.tuning import UNROLLED_SCALARS
from nervure.support.machine import Machine
from nervure.support.replacing import replace


def with_lanes_along_memory(kernel: Kernel, machine: Machine) -> Kernel:
    """Returns the kernel with lanes along more of the reduced memory than other lanes would have."""
    return rewritten(kernel, lambda nest: _with_lanes(nest, machine))


def _with_lanes(nest: Nest, machine: Machine) -> For | None:
    loops, body = nest
    reductions = [entry for entry in body if isinstance(entry, Reduce)]
    if not reductions or any([isinstance(entry, For | Fold) for entry in body]):
        return None
    loads = [(load, reduce.indices[-1][0]) for reduce in reductions for load in accesses(reduce.body)]
    along = {loop.index: sum([has_unit_stride(load, loop.index) for load, _ in loads]) for loop in loops}
    along_row = sum([has_unit_stride(load, index) for load, index in loads])
    if all([is_unrolled(entry, in_lanes=False) for entry in reductions]):
        along_row = -1 if _are_near(loads, loops[-1].index) else along_row
    best = max(reversed(loops), key=lambda loop: along[loop.index])
    if any([loop.vector for loop in loops]):
        in_rows = along_row > along[loops[-1].index]
        return nested([replace(loop, vector=False) for loop in loops], body) if in_rows else None
    if along[best.index] <= along_row:
        return _in_order(nest, loads, machine)
    if not nest.is_free or _has_scratch(body):
        return None
    return nested([*[loop for loop in loops if loop is not best], replace(best, vector=True)], body)


def _in_order(nest: Nest, loads: Sequence[tuple[Access, LoopIndex]], machine: Machine) -> For | None:
    """Returns loops in which rows that are consecutive in memory are read one after the other."""
    strides: dict[LoopIndex, int] = {}
    for loop in nest.loops:
        steps = [load.address.step(loop.index) for load, _ in loads]
        known = [abs(step) for step in steps if isinstance(step, int)]
        if len(known) < len(steps):
            return None
        strides[loop.index] = max(known, default=0)
    ordered = sorted(nest.loops, key=lambda loop: -strides[loop.index])
    most = ordered[0].extent
    if ordered == nest.loops or (isinstance(most, int) and most < machine.threads) or not nest.is_free:
        return None
    return nested(ordered, nest.body)


def _has_scratch(body: Body) -> bool:
    """Whether values wait in scratch memory, of which there is one for all lanes of a vector."""
    return any([access.buffer.role == "scratch" for access in accesses(body)])


def _are_near(loads: Sequence[tuple[Access, LoopIndex]], index: LoopIndex) -> bool:
    """Whether the loads of an iteration are next to those of the one before it."""
    steps = [load.address.step(index) for load, _ in loads]
    return all([isinstance(step, int) and 0 < step <= UNROLLED_SCALARS for step in steps])
