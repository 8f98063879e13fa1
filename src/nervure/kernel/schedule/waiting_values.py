"""Waiting values: the values of a long body for the points of a block wait in memory, and are reduced afterwards.

A body of many statements runs in fewer lanes than a reduction has accumulators, and needs the registers that these
would take. So it becomes a vector loop of its own, and its values in the first cache are then reduced without anything
in between.

>>> from nervure.support.machine import GENERIC
>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> kernel = parse_kernel('''
... kernel sum(in x: f32[1000], out y: f32[1]):
...   v0 = reduce add over i < 1000 as parts 16:
...     v1 = x[i]
...     v2 = sin(v1)
...     give v2
...   y[0] = v0
... ''')
>>> print(print_kernel(with_waiting_values(kernel, GENERIC)), end="")
kernel sum(in x: f32[1000], out y: f32[1], scratch waiting0: f32[1000]):
  for i < 1000 vector lanes 16 masked 8:
    v0 = x[i]
    v1 = sin(v0)
    waiting0[i] = v1
  v2 = reduce add over i < 1000 as registers 64:
    v3 = waiting0[i]
    give v3
  y[0] = v2
"""

from __future__ import annotations

from dataclasses import replace

from nervure.kernel.ir import (
    BLOCK,
    LANES,
    Address,
    Buffer,
    For,
    Kernel,
    Load,
    Reduce,
    Statement,
    Store,
    Strategy,
    Variable,
    Widths,
)
from nervure.kernel.rewriting import Rewrite
from nervure.kernel.schedule.vector_width import register_lanes
from nervure.support.machine import Machine
from nervure.types.dim import bounds


def with_waiting_values(kernel: Kernel, machine: Machine) -> Kernel:
    """Returns the kernel with reductions of long bodies, of a block at most, that read the bodies' values from memory.
    """
    rewrite = _Waiting(register_lanes(kernel, machine))
    body = rewrite.block(kernel.body)
    return replace(kernel, body=body, buffers=(*kernel.buffers, *rewrite.waiting)) if rewrite.waiting else kernel


class _Waiting(Rewrite):
    def __init__(self, lanes: int) -> None:
        super().__init__()
        self._lanes = lanes
        self.waiting: list[Buffer] = []

    def reduce(self, loop: Reduce, out: list[Statement]) -> None:
        loop = loop.map_bodies(self.block).replace_operands(self.replaced)
        if loop.strategy is None or loop.strategy.name != "parts":
            out.append(loop)
            return
        (index, extent), = loop.indices
        most = min(bounds(extent)[1] or BLOCK, BLOCK)
        here = Address(0, ((index, 1),))
        waiting = [Buffer(f"waiting{len(self.waiting) + number}", result.dtype, most, "scratch")
                   for number, result in enumerate(loop.results)]
        self.waiting += waiting
        stores = [Store(buffer, here, value) for buffer, value in zip(waiting, loop.values, strict=True)]
        loads = [Load(Variable(buffer.dtype), buffer, here) for buffer in waiting]
        widths = Widths((loop.strategy.lanes,), self._lanes)
        out.append(For(index, extent, (*loop.body, *stores), vector=True, widths=widths))
        out.append(replace(loop, body=tuple(loads), values=tuple([load.result for load in loads]),
                           strategy=Strategy("registers", LANES)))
