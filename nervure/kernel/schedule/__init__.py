"""Kernels whose loops walk through memory as it lies: a list of rewrites that change no result and no bit of it.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> kernel = parse_kernel('''
... kernel transpose(in x: f32[1048576], out y: f32[1048576]):
...   for i < 1024 parallel:
...     for j < 1024 vector:
...       v0 = x[i + 1024*j]
...       y[1024*i + j] = v0
... ''')
>>> print(print_kernel(schedule_kernel(kernel)), end="")
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
