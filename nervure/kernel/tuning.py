"""Every number that planning chooses by experience, with its unit and the reason for it.

What is known of the machine itself is in :mod:`nervure.kernel.machine`, what an op costs is said by
:attr:`nervure.ir.op.Op.cost`, what a function of scalars does by its declaration.

>>> SMALL_TENSOR, MOST_OPS
(32768, 96)
"""

from __future__ import annotations

from nervure.kernel.ir import BLOCK

# -- fusion ----------------------------------------------------------------------------------------------------

MOST_OPS = 96
"""Ops of one step. More would not make it faster: values no longer stay in registers; LLVM takes longer."""

INLINED_DEPTH = 16
"""Ops that are computed inside their only reader, one inside the other: lowering is as deep a nest of calls."""

SIBLINGS = 4
"""Steps over one shape, the last ones, that an op may join by what it reads: with all, long functions take long."""

SHARING_OPS = 8
"""Ops of a step, the first ones, whose reads are compared with those of an op: most steps read all at once."""

NEIGHBOUR_DEPTH = 4
"""Ops of other steps, one on the other, through which two steps are seen to read the same memory."""

SMALL_TENSOR = 1 << 15
"""Elements that one thread computes about as fast as several (some 20 microseconds): they need not have rows enough."""

LONG_ROW = 4 * BLOCK
"""Elements of a row in which there are blocks enough for threads, and which lies across too many lines of memory."""

# -- cross-row reductions --------------------------------------------------------------------------------------

LEAST_ROWS_CROSSED = 512
"""Rows; with fewer, the totals of the 64 lanes are no less memory than the rows are."""

MOST_CROSS_ROW_REDUCTIONS = 4
"""Reductions over rows in one step: each has totals of a row's length, and together they leave the first cache."""

# -- materialisation -------------------------------------------------------------------------------------------

CHEAP = 6
"""The cost (:attr:`nervure.ir.op.Op.cost`) up to which a value is computed again: about that of a store and a load."""

RECOMPUTED_DEPTH = 8
"""Ops that are computed again, one inside the other: chains of cheap ones are no longer cheap."""

STORE = 2
"""Loads that storing a value is worth, beside the one of each reader: its lines are read before they are written."""

# -- scatters --------------------------------------------------------------------------------------------------

STRIPE = 64
"""Elements of the last axis, where it alone can be shared, that a thread takes at least: some lines of memory."""

STRIPES = 4
"""Threads for which there are to be stripes: wider ones read longer pieces of memory."""

# -- streaming stores ------------------------------------------------------------------------------------------

STREAMED_RESULT = 8 << 20
"""Bytes from which on what the caller gets is stored past the caches: it leaves them before it is read."""
