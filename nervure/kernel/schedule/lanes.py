"""Reductions across memory: the lanes of vectors go along memory, not along the row that is reduced.

A row that lies across memory, as in the sum over the last axis of a transposed matrix, would take a line of memory for
each element. So the loop over its neighbours runs in lanes, each of which has a row of its own.

>>> from nervure.kernel.machine import GENERIC
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

from dataclasses import replace

from nervure.kernel.ir import Fold, For, Kernel, Reduce
from nervure.kernel.machine import Machine
from nervure.kernel.schedule.nests import Nest, accesses, is_row, nested, rewritten


def with_lanes_along_memory(kernel: Kernel, machine: Machine) -> Kernel:
    """The kernel with the loop in lanes that goes along more of what is reduced than the reduction itself does."""
    return rewritten(kernel, _with_lanes)


def _with_lanes(nest: Nest) -> For | None:
    loops, body = nest
    reductions = [entry for entry in body if isinstance(entry, Reduce)]
    if not reductions or any([isinstance(entry, For | Fold) for entry in body]) or any([loop.vector for loop in loops]):
        return None
    loads = [(load, reduce.indices[-1][0]) for reduce in reductions for load in accesses(reduce.body)]
    along = {loop.index: sum([is_row(load, loop.index) for load, _ in loads]) for loop in loops}
    best = max(loops, key=lambda loop: along[loop.index])
    if along[best.index] <= sum([is_row(load, index) for load, index in loads]) or not nest.is_free:
        return None
    return nested([*[loop for loop in loops if loop is not best], replace(best, vector=True)], body)
