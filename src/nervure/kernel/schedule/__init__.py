"""Scheduling: rewrites that fit the loops of kernels to a machine, and change no bit of a result.

>>> from nervure.support.machine import GENERIC
>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> kernel = parse_kernel('''
... kernel opposite(in x: f32[1048576], out y: f32[1048576]):
...   for i < 1024 parallel:
...     for j < 1024 vector:
...       v0 = x[i + 1024*j]
...       v1 = negative(v0)
...       y[1024*i + j] = v1
... ''')
>>> print(print_kernel(schedule_kernel(kernel, GENERIC)), end="")
kernel opposite(in x: f32[1048576], out y: f32[1048576]):
  for i < 32 parallel:
    for j < 1024:
      for k < 32 vector:
        v0 = x[32768*i + j + 1024*k]
        v1 = negative(v0)
        y[32*i + 1024*j + k] = v1

The use of lanes is settled for one processor, when code is generated for it:

>>> print(print_kernel(vectorise_kernel(schedule_kernel(kernel, GENERIC), GENERIC)).splitlines()[3])
      for k < 32 vector lanes 8 masked 8 unrolled:
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from nervure.kernel.ir import Buffer, Kernel, Reduce, walk
from nervure.kernel.schedule.accumulators import with_accumulators
from nervure.kernel.schedule.block_totals import with_block_totals
from nervure.kernel.schedule.borders import with_borders_apart
from nervure.kernel.schedule.column_tiles import with_column_tiles
from nervure.kernel.schedule.expansion import with_expanded_reductions
from nervure.kernel.schedule.few_iterations import with_few_iterations_joined
from nervure.kernel.schedule.interleaving import with_interleaved_stores
from nervure.kernel.schedule.lanes import with_lanes_along_memory
from nervure.kernel.schedule.narrow_columns import with_narrow_columns
from nervure.kernel.schedule.prefetch import with_prefetches
from nervure.kernel.schedule.products import packed_apart, with_matrix_products
from nervure.kernel.schedule.shared_rows import with_paired_rows
from nervure.kernel.schedule.short_rows import with_short_rows_joined
from nervure.kernel.schedule.stages import with_stages
from nervure.kernel.schedule.streaming import with_streaming_stores
from nervure.kernel.schedule.tiles import with_tiled_transposes
from nervure.kernel.schedule.vectors import with_vectors
from nervure.kernel.schedule.waiting_values import with_waiting_values
from nervure.support.machine import Machine

__all__ = ["REWRITES", "lower_reductions", "schedule_apart", "schedule_kernel", "vectorise_kernel"]

LOOP_ORDER = (
    with_matrix_products,     # blocks of a product stay in caches, tiles of it in registers
    with_lanes_along_memory,  # a reduction across memory loads a line for each element, which neighbours share
    with_narrow_columns,      # columns of a few elements fill no vector; several of their rows do
    with_short_rows_joined,   # rows of a few elements fill no vector, but together they do
    with_few_iterations_joined,  # few iterations of the outermost loop leave threads without work
    with_tiled_transposes,    # cache lines that lie across the result stay in the cache until the next row needs them
)
"""The rewrites of the order in which loops walk through memory: part of the plan."""

VECTORISATION = (
    with_interleaved_stores,  # two stores to alternate places are one store to a row
    with_borders_apart,       # conditions that hold in all rows but the first and the last need no test in each
    with_paired_rows,         # memory that two rows read is read once
    with_vectors,             # several iterations at once hide latencies, and short loops need no counter
    with_prefetches,          # memory is slow unless it is asked for in time; processors see what follows at once
    with_expanded_reductions,  # a few points are computed faster than a loop starts
)
"""The rewrites that depend on the width of a register; they follow streaming stores, which need to know the other uses
of the buffer.
"""

REDUCTIONS = (
    with_column_tiles,        # rows of many columns are read in tiles of these, so that accumulators stay in caches
    with_accumulators,        # the rows of accumulators of a lane are memory of its own
    with_stages,              # a few hundred points are combined side by side, as many as processors follow
    with_waiting_values,      # a long body and the accumulators of a block do not fit in registers together
    with_block_totals,        # many points are several blocks, whose totals are chains
)
"""The rewrites that take reductions apart, once it is settled how they run: up to those of a run in registers."""

REWRITES = (*LOOP_ORDER, *VECTORISATION, *REDUCTIONS)


def schedule_kernel(kernel: Kernel, machine: Machine) -> Kernel:
    """Returns the kernel with loops that walk through memory as it lies."""
    for rewrite in LOOP_ORDER:
        kernel = rewrite(kernel, machine)
    return kernel


def schedule_apart(kernel: Kernel, machine: Machine, lasting: Collection[Buffer]) -> tuple[Kernel, Kernel] | None:
    """Splits a kernel in two if a part of it depends only on one of the ``lasting`` buffers. The first kernel computes
    that part from its first buffer into its second; the other kernel, which has a buffer of that name, does the rest.
    None if there is no such part.
    """
    apart = packed_apart(kernel, machine, lasting)
    if apart is None:
        return None
    first, rest = apart
    for rewrite in LOOP_ORDER[1:]:
        rest = rewrite(rest, machine)
    return first, rest


def vectorise_kernel(kernel: Kernel, machine: Machine, least_bytes: Mapping[Buffer, int] | None = None) -> Kernel:
    """Returns the kernel with the form of its loops on a machine. The buffers in ``least_bytes`` are stored past the
    caches from that size on.
    """
    kernel = with_streaming_stores(kernel, machine, least_bytes or {})
    for rewrite in VECTORISATION:
        kernel = rewrite(kernel, machine)
    return kernel


def lower_reductions(kernel: Kernel, machine: Machine) -> Kernel:
    """Returns a vectorised kernel with accumulators in memory of its own, and reductions of one block at most."""
    has_any = any([isinstance(entry, Reduce) for entry in walk(kernel.body)])
    for rewrite in REDUCTIONS if has_any else ():
        kernel = rewrite(kernel, machine)
    return kernel
