"""Every number that clustering, plans and schedules choose by experience, with its unit and the reason for it.

Facts of the machine itself are in :mod:`nervure.support.machine`, the numbers that steer products and convolutions in
:mod:`nervure.support.product_tuning`; what an op costs is said by :attr:`nervure.ir.op.Op.cost`, what a function of
scalars does by its declaration. A pass has the few numbers of its own beside its code.

>>> SMALL_TENSOR, MOST_OPS
(32768, 96)
"""

from __future__ import annotations

from nervure.kernel.ir import BLOCK, LANES

# -- fusion ----------------------------------------------------------------------------------------------------

MOST_OPS = 96
"""Ops of one step. More would not make it faster, and LLVM slower."""

MOST_WAITING = 16
"""Ops on leaves, one read by the other, that are placed with what reads the last: more are worth a kernel."""

EARLY_ELEMENTS = 4096
"""Elements of what follows from variables alone, up to which it is computed before all else: a page or a few."""

INLINED_DEPTH = 16
"""Ops that are computed inside their only reader, one inside the other: lowering is as deep a nest of calls."""

SIBLINGS = 4
"""Steps over one shape, the last ones, that an op may join by what it reads: with all, long functions take long."""

SHARING_OPS = 8
"""Ops of a step, the first ones, whose reads are compared with those of an op: most steps read all at once."""

NEIGHBOUR_DEPTH = 4
"""Ops of other steps, one on the other, through which two steps are seen to read the same memory."""

SMALL_TENSOR = 1 << 15
"""Elements that one thread computes about as fast as several: 3 to 8 microseconds of exp, where a step is shared from
10 on. They need not have rows enough."""

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

ONE_BY_ONE = 2
"""How many times the cost of an op counts in a scatter, whose iterations are no lanes of vectors."""

PACKING = STORE // 2
"""The cost of an element that is packed for a product, beside what it takes to compute it: its line is in a cache."""

# -- scatters --------------------------------------------------------------------------------------------------

STRIPE = 64
"""Elements of the last axis, where it alone can be shared, that a thread takes at least: some lines of memory."""

STRIPES = 4
"""Threads for which there are to be stripes: wider ones read longer pieces of memory."""

PRIVATE_COPIES = 8
"""Copies of the output of a scatter whose order does not matter, each for a share of at least as many iterations as it
has elements.
"""

# -- schedules -------------------------------------------------------------------------------------------------

JOINED_ROWS = 8
"""Elements of which short rows together make a multiple: as many float32 as the narrowest vectors have lanes."""

INTERLEAVED = range(2, 5)
"""Elements of a row that are stored together from as many vectors: the channels of images."""

MOST_COPIES = 4
"""Copies of any body that may take the place of a loop: its iterations then overlap, and its counter is gone."""

COPIED_STATEMENTS = 96
"""Statements that more copies of a short body may have together: longer code is compiled longer, and runs no faster."""

LONG_FUNCTION = 16
"""Statements that a function of many instructions counts for."""

TILE_COLUMNS = 32
"""Columns of a tile of a transpose: their lines, one for each, stay in the first cache, whatever the rows' distance."""

NARROW_COLUMNS, LEAST_NARROW_ROWS = 15, 256
"""Columns that fill no line of memory; and rows from which on it pays to combine the sums of all lanes of each."""

LEAST_TILED_COLUMNS = 256
"""Columns from which on there are tiles where the next row follows at once: fewer lines are still there for it."""

TRANSPOSED_ROWS = 8
"""Rows from which on a transpose goes through squares of registers, which have up to 16."""

BORDER_STATEMENTS = 640
"""Statements, all together, of copies of a row for the border and what lies inside: more would take LLVM long."""

# -- vectors ---------------------------------------------------------------------------------------------------

LANES_AROUND_REDUCTION = 64
"""Lanes of a loop around a reduction: whole cache lines of each row."""

LIVE_REGISTERS = 16
"""Variables, times the registers of each, that may be in use at once: the registers of AVX2."""

VECTOR_STATEMENTS = 600
"""Statements of a body, times the registers that it runs in at once: more would take LLVM long."""

NARROW_TAIL = 32
"""Statements up to which a body is built once more, in one register, for what the wide loop leaves."""

FEW_LONG_FUNCTIONS = 3
"""Long functions of a body that still runs in two registers at once: their instructions overlap."""

# -- reductions ------------------------------------------------------------------------------------------------

UNROLLED_POINTS, UNROLLED_SCALARS = 16, 4
"""Points of a reduction that are built one after the other, in lanes; and where they could run in lanes themselves."""

UNROLLED_ROWS, UNROLLED_STATEMENTS = 64, 192
"""As many points at most are built so in lanes, where all their statements are no more than this: their sums stay in
registers, where those of a loop go through memory.
"""

STAGED_ROWS, MOST_STAGED = 16, 256
"""Rows in memory of a reduction in stages: 4 KiB where 64 lanes are beside each other; and the most points, of which 16
are then read side by side, as many rows as processors follow. In the order of the tree they would follow none.
"""

REGISTER_STATEMENTS = 24
"""Statements of a body that runs for 64 points at once, with the accumulators in registers."""

CHAINED_REGISTERS = 8
"""Registers of accumulators that chains have at once: half of those of AVX2, since what is added takes some, too."""

ROW_IN_PLACE = 8 * LANES
"""Points of a row from which on they are added where they are read. The ends of shorter rows, which are not whole
vectors, take longer than to store the values one behind the other.
"""

REDUCED_GROUPS = 4
"""Copies of a longer body that take the place of the loop of a reduction."""

ACCUMULATOR_BYTES = 1 << 20
"""Bytes that the accumulators of a tile of columns may take: they stay in the second cache."""

TILE_REGISTERS = 4
"""Registers that a short body in a tile runs in at once."""

TILE_STATEMENTS = 48
"""Statements of a short body in a tile."""

# -- streaming stores ------------------------------------------------------------------------------------------

STREAMED_RESULT = 8 << 20
"""Bytes from which on what the caller gets is stored past the caches: it leaves them before it is read."""

STREAMED_ROW = 4096
"""Bytes of a row whose first and last line, shared with other rows, do not matter."""

# -- prefetch --------------------------------------------------------------------------------------------------

PREFETCH_DISTANCE = 2_048
"""Bytes that a loop of long functions looks ahead: the best of ten distances from 0.5 to 32 KiB."""

PREFETCHED_ROW = 65_536
"""Bytes of a row that is asked for while the one before it is in use; a longer one would not stay in the caches."""

ROWS_AHEAD_BY_NUMBER = 4
"""Rows, found by numbers, between the one that is read and the one that is asked for."""

PREFETCHED_ADDRESS = 24
"""Statements that compute where such a row lies, and are run once more for it."""

ROWS_AHEAD = 8
"""Rows of a tile between the one that is read and the one that is asked for."""

SHORT_ROW = 1_024
"""Bytes of a row, apart from the next one, at whose end a processor has not yet begun to read ahead."""

ROWS_APART_DISTANCE = 4_096
"""Bytes that a reduction over rows that lie apart looks ahead: the best of five distances from 0 to 16 KiB."""

# -- kernels that share an outer loop --------------------------------------------------------------------------

LEAST_SHARED_ROWS = 8
"""The fewest rows of a block that are worth a loop around them: those of a tall register tile."""

LENGTH_OF_ROWS = 1024
"""The number and the length of rows that are symbols, as the choice of shared loops assumes them."""

FROM_MEMORY = 4
"""Times that a byte takes longer from memory than from the largest cache."""

# -- memory of a kernel's own ----------------------------------------------------------------------------------

BYTES_ON_STACK = 65_536
"""Bytes of the sums of a product of bytes that lie on the stack, of which a thread has little."""

ACCUMULATORS_IN_USE = 65_536
"""Bytes of the accumulators of a tile that are in use at the same time: those of a few rows."""

# -- proofs ----------------------------------------------------------------------------------------------------

DEPENDENCE_EFFORT = 2_000
"""Sums that are looked at to tell whether two accesses meet, before the question is left open."""

DEPENDENCE_ITERATIONS = 16
"""Iterations of a loop that are tried one by one where its step differs between two accesses."""

TRIED_POINTS = 1 << 20
"""Points whose places are tried where nobody can say in closed form how far these reach: some milliseconds."""

# -- loops of single numbers ------------------------------------------------------------------------------------

MOST_SCALAR_STATEMENTS = 512
"""The statements of the longest loop over single numbers that is one kernel; longer ones gain little by it."""

# -- integers between known numbers -----------------------------------------------------------------------------

LONG_CONSTANT = 1 << 16
"""Elements of a constant that take longer to read, when a function is compiled, than their range is worth."""

# -- limits of memory -------------------------------------------------------------------------------------------

CUTS = 3
"""The most places of a plan across which values are dropped, one after the other, to come below a limit of memory."""

PLANS_OF_A_CUT = 5
"""The most plans that are made for one of them; each knows how far the last one was from what was expected."""

# -- code ------------------------------------------------------------------------------------------------------

LONG_PRODUCT = 1 << 17
"""Multiply-adds of a product, the largest of a kernel's, that take a microsecond or two: the loops around it take a
twentieth of one, even if little is done for their code."""

CALLED_FROM = 4
"""The uses of a function from which on it is written once for a module, where it runs once for a call: an optimiser may
raise the same numbers to a power for each of its parameters."""

# -- reports ---------------------------------------------------------------------------------------------------

SAMPLED_ITERATIONS = 8
"""Iterations of a loop, spread evenly, by which the work inside is counted where lengths there depend on it; half as
many in a loop inside of such a one."""

FEW_ITERATIONS = 3
"""Iterations that all count, at any depth: the border of an image, what lies inside, and the border behind it."""

LENGTHS_OF_SYMBOLS = 1, 16, 256
"""Lengths of symbols for which the time of a kernel is estimated when it is compiled: a single row, and batches."""
