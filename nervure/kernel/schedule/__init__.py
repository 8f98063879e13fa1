"""Kernels whose loops walk through memory as it lies: a list of rewrites that change no result and no bit of it.

>>> from nervure.kernel.ir import Address, Buffer, For, Load, Store, Variable
>>> from nervure.kernel.printer import print_kernel
>>> from nervure.types.dtype import float32
>>> x, y, element = Buffer("x", float32, 1 << 20, "in"), Buffer("y", float32, 1 << 20, "out"), Variable(float32)
>>> transpose = (Load(element, x, Address(0, (("%0", 1), ("%1", 1024)))),
...              Store(y, Address(0, (("%0", 1024), ("%1", 1))), element))
>>> loops = For("%0", 1024, (For("%1", 1024, transpose, vector=True),), parallel=True)
>>> print(print_kernel(schedule_kernel(Kernel("transpose", (x, y), (loops,)))), end="")
kernel transpose(in x: f32[1048576], out y: f32[1048576]):
  for i < 32 parallel:
    for j < 1024:
      for k < 32 vector:
        v0 = x[32768*i + j + 1024*k]
        y[32*i + 1024*j + k] = v0
"""

from __future__ import annotations

from dataclasses import replace

from nervure.kernel.ir import Kernel
from nervure.kernel.schedule.lanes import with_lanes_along_memory
from nervure.kernel.schedule.short_rows import with_short_rows_joined
from nervure.kernel.schedule.tiles import with_tiled_transposes

__all__ = ["REWRITES", "schedule_kernel"]

REWRITES = (
    with_lanes_along_memory,
    with_short_rows_joined,
    with_tiled_transposes,
)


def schedule_kernel(kernel: Kernel) -> Kernel:
    """The kernel after all rewrites."""
    body = kernel.body
    for rewrite in REWRITES:
        body = rewrite(body)
    return replace(kernel, body=body)
