"""Matrix products in blocks: tasks that threads share, packed panels, epilogues while results are cached.

A contraction of two elements that runs over the columns of its result becomes tasks, each of some rows and columns. A
task goes over the points in blocks, as contractions add them up. Where the right side lies across memory, or too far
apart, its block is packed into a panel first. What is computed of the results follows when a task has all of them.

A file each: the matrices of a kernel (``matrices``; ``boxes``, ``split_indices``, ``conditions``, ``lines``), how their
operands are read (``sides``; ``offsets``), the blocks that tasks have (``blocking``), what packs them (``packing``,
``apart``) or says where they lie (``tables``), what is done with results (``epilogue``), and the loops of all that
(``tasks``).

>>> from nervure.support.machine import GENERIC
>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> kernel = parse_kernel('''
... kernel product(in x: f32[6000], in y: f32[3000], in b: f32[50], out z: f32[5000]):
...   for i < 100 parallel:
...     for j < 50 vector:
...       v0 = contract over k < 60:
...         v1 = x[60*i + k]
...         v2 = y[j + 50*k]
...         give v1, v2
...       v3 = b[j]
...       v4 = add(v0, v3)
...       z[50*i + j] = v4
... ''')
>>> print(print_kernel(with_matrix_products(kernel, GENERIC._replace(threads=1))), end="")
kernel product(in x: f32[6000], in y: f32[3000], in b: f32[50], out z: f32[5000], scratch tile: f32[5000]):
  for i < 1 parallel:
    for j < 100 as product:
      for k < 50 vector:
        v0 = contract over l < 60:
          v1 = x[60*j + l]
          v2 = y[k + 50*l]
          give v1, v2
        tile[50*j + k] = v0
    for j < 100:
      for k < 50 vector:
        v3 = tile[50*j + k]
        v4 = b[k]
        v5 = add(v3, v4)
        z[50*j + k] = v5
"""

from __future__ import annotations

from collections.abc import Collection

from nervure.kernel.ir import Buffer, Kernel
from nervure.kernel.schedule.products.blocking import blocking_of
from nervure.kernel.schedule.products.matrices import matrices_of
from nervure.kernel.schedule.products.sides import reading_of
from nervure.kernel.schedule.products.tasks import Tasks, tasks_of
from nervure.kernel.simplify.dead_code import without_unused_buffers
from nervure.support.machine import Machine

__all__ = ["packed_apart", "with_matrix_products"]


def with_matrix_products(kernel: Kernel, machine: Machine) -> Kernel:
    """Returns the kernel in blocks, if it is the product of two matrices, or of many pairs of them."""
    tasks = _tasks(kernel, machine, ())
    return kernel if tasks is None else tasks.blocked(kernel)


def packed_apart(kernel: Kernel, machine: Machine, lasting: Collection[Buffer]) -> tuple[Kernel, Kernel] | None:
    """Returns a product as two kernels in blocks, of which the first packs the whole right operand for the second.

    It packs its first buffer into its second, a panel that has the same name in the kernel that reads it. None where
    the right operand is not packed, or follows from more than one of the ``lasting`` buffers.
    """
    tasks = _tasks(kernel, machine, lasting) if lasting else None
    first = None if tasks is None else tasks.packed_apart()
    return None if tasks is None or first is None else (first, without_unused_buffers(tasks.blocked(kernel)))


def _tasks(kernel: Kernel, machine: Machine, lasting: Collection[Buffer]) -> Tasks | None:
    """Returns the tasks of a kernel that is a product; None if it is none."""
    matrices = matrices_of(kernel, machine)
    if matrices is None:
        return None
    reading = reading_of(matrices, lasting)
    return tasks_of(blocking_of(matrices, reading), reading)
