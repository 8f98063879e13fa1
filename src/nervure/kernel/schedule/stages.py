"""Stages: in a vector loop a reduction of a few hundred points combines those that are far apart as it reads them.

The tree over the lanes of a reduction meets points that are ``STAGED_ROWS`` apart before their neighbours. So these are
read side by side and combined, without a loop, and the values of these groups wait in private memory for the rest of
the tree.

>>> from nervure.support.machine import GENERIC
>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> kernel = parse_kernel('''
... kernel sums(in x: f32[12800], out y: f32[400]):
...   for i < 400 vector:
...     v0 = reduce add over j < 32 as stages:
...       v1 = x[i + 400*j]
...       give v1
...     y[i] = v0
... ''')
>>> print("\\n".join(print_kernel(with_stages(kernel, GENERIC)).splitlines()[:11]))
kernel sums(in x: f32[12800], out y: f32[400], private stages0: f32[16]):
  for i < 400 vector:
    for j < 16:
      v0 = x[i + 400*j]
      v1 = x[i + 400*j + 6400]
      v2 = add(v0, v1)
      stages0[j] = v2
    v3 = stages0[0]
    v4 = stages0[8]
    v5 = add(v3, v4)
    v6 = stages0[4]
"""

from __future__ import annotations

from nervure.kernel.ir import (
    BLOCK,
    LANES,
    Address,
    For,
    Kernel,
    Load,
    Order,
    Reduce,
    Statement,
    Store,
    Strategy,
    Variable,
)
from nervure.kernel.rewriting import MemoryRewrite
from nervure.kernel.schedule.expansion import folded, with_expanded_reductions
from nervure.kernel.tuning import STAGED_ROWS
from nervure.support.machine import Machine
from nervure.support.replacing import replace

GROUP_ORDER, TREE_ORDER = Order(LANES // STAGED_ROWS, BLOCK), Order(STAGED_ROWS, BLOCK)
"""The orders of the points of a group, and of what the groups make."""


def with_stages(kernel: Kernel, machine: Machine) -> Kernel:
    """Returns the kernel with reductions in stages as loops over groups of points, and the trees over these."""
    staged = _Stages(kernel).rewritten()
    return kernel if staged is kernel else with_expanded_reductions(staged, machine)


class _Stages(MemoryRewrite):
    def reduce(self, loop: Reduce, out: list[Statement]) -> None:
        loop = self.rebuilt(loop)
        if loop.strategy is None or loop.strategy.name != "stages":
            out.append(loop)
            return
        (index, points), = loop.indices
        assert isinstance(points, int)
        waiting = self.shared("stages", loop.results, STAGED_ROWS, "private")
        here = Address(0, ((index, 1),))
        full, longer = divmod(points, STAGED_ROWS)
        for first, end, count in ((0, longer, full + 1), (longer, STAGED_ROWS, full)):
            body: list[Statement] = []
            group = [(index.dim + first + number * STAGED_ROWS,) for number in range(count)]
            values = folded(replace(loop, order=GROUP_ORDER), group, 0, 1, body)
            body += [Store(buffer, replace(here, base=first), value)
                     for buffer, value in zip(waiting, values, strict=True)]
            out += [For(index, end - first, tuple(body))] if first < end else []
        loads = [Load(Variable(buffer.dtype), buffer, here) for buffer in waiting]
        out.append(replace(loop, indices=((index, STAGED_ROWS),), body=tuple(loads), order=TREE_ORDER,
                           values=tuple([load.result for load in loads]), strategy=Strategy("unrolled")))
