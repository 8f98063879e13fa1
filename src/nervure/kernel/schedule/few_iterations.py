"""Loops with too few iterations for all threads are joined with the next loop, which threads then share as well.

Rows that read the same memory, as those of a window do, stay with one thread: two of them are computed at once
(:mod:`nervure.kernel.schedule.shared_rows`).

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> from nervure.support.machine import GENERIC
>>> print(print_kernel(with_few_iterations_joined(parse_kernel('''
... kernel copy(in x: f32[60000], out z: f32[54000]):
...   for i < 3 parallel:
...     for j < 90:
...       for k < 200 vector:
...         v0 = x[20000*i + 200*j + k]
...         z[18000*i + 200*j + k] = v0
... '''), GENERIC)), end="")
kernel copy(in x: f32[60000], out z: f32[54000]):
  for i < 270 parallel:
    for j < 200 vector:
      v0 = x[j + (200*(i % 90) + 20000*(i//90))]
      z[j + (200*(i % 90) + 18000*(i//90))] = v0
"""

from __future__ import annotations

from nervure.kernel.ir import Body, For, Kernel, Load, substituted
from nervure.kernel.rewriting import unused_indices
from nervure.kernel.schedule.nests import Nest, accesses, nest_of, rewritten
from nervure.support.machine import Machine
from nervure.support.replacing import replace


def with_few_iterations_joined(kernel: Kernel, machine: Machine) -> Kernel:
    """Returns the kernel with outer loops joined until they have work for the threads of a ``machine``.

    The innermost loop stays as it is.
    """
    return rewritten(kernel, lambda nest: _joined(nest, machine.threads))


def _joined(nest: Nest, threads: int) -> For:
    outer, *inner = nest.loops
    is_short = isinstance(outer.extent, int) and 1 < outer.extent < threads
    if not is_short or len(inner) < 2 or inner[0].routine or _has_windows(nest.body):
        return outer
    if not Nest([outer, inner[0]], inner[0].body).is_free:
        return outer
    index, = unused_indices((outer,), 1)
    rows = inner[0].extent
    body = substituted(inner[0].body, {outer.index: index.dim // rows, inner[0].index: index.dim % rows})
    return _joined(nest_of(replace(outer, index=index, extent=outer.extent * rows, body=body)), threads)


def _has_windows(body: Body) -> bool:
    """Whether a body reads several elements of a buffer."""
    read = [entry.buffer for entry in accesses(body) if isinstance(entry, Load)]
    return len(set(read)) < len(read)
