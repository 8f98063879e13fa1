"""The numbers that steer products and convolutions: those that experience chose, and that nothing else follows from.

Passes, plans, schedules and micro-kernels are given them with the machine, whose other facts are register tiles, caches
and times (:class:`nervure.support.machine.Machine`). No number changes a bit of a result of finite elements: they
choose between ways that add in the same order. Two of them decide where products with padding are left out (claim Q12).

>>> ProductTuning().packed_rows, ProductTuning(packed_rows=120).packed_rows
(240, 120)

``python -m bench tune`` measures them anew on the machine on which it runs.
"""

from __future__ import annotations

from typing import NamedTuple


class ProductTuning(NamedTuple):
    """The numbers, each with its unit and how it was found. A is the left operand of a product, B the right one."""

    # -- how operands are read -------------------------------------------------------------------------------------

    direct_rows: int = 64
    """Rows of A up to which B is read as it lies, unless its rows meet in the first cache: to pack it takes longer than
    it saves. Found in c325fe1; see "Where the right operand is packed" in bench/DIARY.md.
    """

    table_rows: int = 192
    """Rows of A up to which a B that lies in no regular way is read by offset tables rather than packed. Found in
    4c44d2f, with convolutions.
    """

    gap_packing: int = 4
    """Rows of A in whose time a column is packed where lines of columns have gaps between them. Found in 5538263, with
    images of short lines.
    """

    unknown_repetitions: int = 2
    """Times that an element of B is assumed to be packed where the number of rows is a symbol: for each time there are
    ``packed_rows`` of them. Chosen in fdad9e1.
    """

    # -- blocks of columns -----------------------------------------------------------------------------------------

    widest_block: int = 512
    """Columns of a task whose k are so few that more would stay in the cache: rows are stretches of memory long enough.
    Found in da68adc.
    """

    kept_share: int = 2
    """Times that a panel which is kept between calls is narrower than one of a task: of many k, it has the columns of
    one main tile. Found in 871d1bb.
    """

    streamed_columns: int = 2048
    """Columns of a task of few rows, which is as fast as memory: long stretches of each row of B are read. Found in
    c325fe1.
    """

    # -- blocks of rows --------------------------------------------------------------------------------------------

    task_products: int = 1 << 28
    """The most multiply-adds of a task: 5 milliseconds of a core with vectors of 32 bytes, for which others may wait at
    the end of a product. Chosen in c325fe1.
    """

    least_rows: int = 48
    """The least rows of a task whose panel is there already: 8 times those of the main tile. Found in c325fe1."""

    packed_rows: int = 240
    """The least rows of a task that packs a panel: 40 times those of the main tile, beside which packing takes some 2 %
    of the time. Found in a028ac8.
    """

    bytes_rows: int = 512
    """The least rows of a task of bytes, which are multiplied in a quarter of the time and packed in the same. Found in
    d2bb947.
    """

    # -- convolutions ----------------------------------------------------------------------------------------------

    least_channels: int = 48
    """Channels, or filters, of a group that are worth rows or columns of their own at each position of a window: three
    lines of memory. Found in be9c62d; see "Numbers that steer products" in bench/DIARY.md.
    """

    crossing: int = 500
    """Multiply-adds that have to become faster to make up for an element that is moved to channels last, or back, with
    vectors as long as a line of memory; with shorter ones fewer, as each takes longer. Found in be9c62d, with residual
    networks.
    """

    transposed_points: int = 128
    """k of a product from which on its result is worth to be transposed, if filters are columns then. Found in 362490f.
    """

    # -- windows ---------------------------------------------------------------------------------------------------

    window_phases: int = 16
    """Phases of strides up to which a gradient of windows has ops of its own for each of them. Chosen in 938184a."""

    window_step: int = 4
    """Elements from one window to the next up to which windows are read in lanes along their places. Found in 938184a.
    """

    inner_rows: int = 3
    """The least rows between borders that are worth a loop without conditions. Found in 720c92f."""

    shared_loads: float = 0.75
    """The share of the loads of two rows of windows up to which both are computed side by side: more would save little,
    for twice the code. Found in 4049d87.
    """

    # -- micro-kernels ---------------------------------------------------------------------------------------------

    prefetched_points: int = 8
    """Points by which a micro-kernel prefetches lines of B, and those of an A that lies across memory; twice as many if
    that is copied. Found in c325fe1.
    """

    turn_points: int = 4
    """Points of a turn of the inner loop with vectors shorter than a line. A point is twelve multiply-adds then, and
    counting it a quarter of all other instructions. Found in c81ab24: two and eight gained nothing.
    """

    copied_strips: int = 4
    """Strips of such vectors from which on rows of A that lie across memory are copied for a block. A point has few of
    these on its line; they have left the first cache when the next strip reads them. Found in 028b81f.
    """

    aligned_columns: int = 128
    """Columns, and k, of a block from which on a strip that is one line wide begins where a line does, behind a tile of
    fewer columns: data that two strips share have left the first cache. Found in 2f7c6d1.
    """

    taller_share: float = 15 / 16
    """A narrower, taller tile is used where it computes less than this share of the main tile's rows, padding rows
    included. Found in b61bf31.
    """

    long_row: int = 1024
    """Bytes of a row of B from which on a few rows of A are multiplied by the micro-kernels that read B in long
    stretches. Found in 706c989.
    """
