"""The description of a machine: vectors, register tiles, caches, how long things take, and the numbers that steer
products. A backend describes its own.

>>> GENERIC.lanes, GENERIC.tile_vectors, GENERIC._replace(first_cache=1 << 16).first_cache
(8, 4, 65536)

Passes, plans and kernels are given one. They depend on nothing else of a machine, and least of all on how many threads
there are today: the same function has the same kernels on all machines of one description. Bits are the same on all
machines.
"""

from __future__ import annotations

from typing import NamedTuple

from nervure.support.product_tuning import ProductTuning

HANDED_OUT = 130
"""The nanoseconds that it takes to hand a part of a step to a thread that is awake, and to wait for its end."""

LEAST_TASK = 16 * HANDED_OUT
"""The nanoseconds of a task that is worth a thread, and of a step that is worth sharing."""


class Machine(NamedTuple):
    """The numbers of a core of the last ten years, where a backend says nothing else."""

    lanes: int = 8                      # float32 elements of a vector
    registers: int = 32                 # that hold a vector each
    line: int = 64                      # bytes that memory is moved in
    tile_rows: int = 6                  # of the main register tile of products
    narrow_rows: int = 8                # of tiles of fewer columns
    first_cache: int = 1 << 15          # bytes of the cache next to a core
    first_cache_ways: int = 8           # lines that it holds of those at one distance
    own_cache: int = 1 << 20            # bytes of the caches that a core has for itself
    shared_cache: int = 1 << 25         # bytes of the largest cache
    streams: int = 8                    # stretches of memory that a core reads ahead in at once
    threads: int = 16                   # that a kernel should have work for
    started: float = 30.0               # nanoseconds that any kernel takes; the next ones are those of the time model
    addition: float = 0.08              # of a vector
    wait: float = 0.45                  # of one vector that is added to what the last one gave
    multiply_add: float = 0.017         # one of float32 among those of a register tile
    vector_moved: float = 0.2           # a load or a store along memory
    element_moved: float = 0.25         # one of a single element
    line_moved: float = 0.2             # more, where its line holds nothing else and the first cache not all lines
    byte_from_cache: float = 0.004      # of what does not fit in the first cache
    byte_outside: float = 0.011         # of what does not fit in the core's own caches
    entry: float = 2.0                  # a loop that is entered
    sum_ended: float = 7.0              # what a reduction leaves in lanes becomes one number
    entry_of_transpose: float = 13.0
    element_transposed: float = 0.1
    products: ProductTuning = ProductTuning()
    shares_loops: bool = True           # whether kernels may share an outer loop

    @property
    def vector_bytes(self) -> int:
        """The bytes of a vector register."""
        return self.lanes * 4

    @property
    def line_elements(self) -> int:
        """The float32 elements of a line of memory."""
        return self.line // 4

    @property
    def tile_vectors(self) -> int:
        """The vectors of a row of the main tile.

        Registers hold all sums of the tile, a point of the right side, and an element of the left one.
        """
        return (self.registers - 1) // (self.tile_rows + 1)

    @property
    def narrow_vectors(self) -> int:
        """The most vectors of a row of a tile that has more rows."""
        return (self.registers - 1) // (self.narrow_rows + 1)

    @property
    def tile_is_a_line_wide(self) -> bool:
        """Whether a row of the main tile takes no more than a line of memory.

        Then the lines of all points of a strip lie apart, where they do not follow each other.
        """
        return self.tile_vectors * self.vector_bytes <= self.line

    @property
    def conflict_distance(self) -> int:
        """The bytes from one line of memory to the next that has the same place in the first cache."""
        return self.first_cache // self.first_cache_ways

    @property
    def strip_columns(self) -> int:
        """The float32 columns of the widest main tile: four lines of memory, whatever vectors are."""
        return 4 * self.line_elements

    @property
    def least_products(self) -> int:
        """The multiply-adds of a task that is worth a thread."""
        return int(LEAST_TASK / self.multiply_add)

    @property
    def panel_bytes(self) -> int:
        """The bytes of a block that waits in the core's own caches: half of a small one, a quarter of this one.

        The block is a panel, or results that something is computed of. With all k of a block, 128 float32 columns.
        """
        return self.own_cache // 4

    @property
    def panel_rows(self) -> int:
        """The rows of the left operand that are packed together: 192 KiB of float32 with all k of a block."""
        return 16 * self.tile_rows

    @property
    def streamed_rows(self) -> int:
        """The most rows of a product that is as fast as memory: those of two main tiles."""
        return 2 * self.tile_rows

    @property
    def crossing(self) -> int:
        """The multiply-adds that have to become faster to make up for an element moved to channels last, or back."""
        return self.products.crossing * self.vector_bytes // self.line

    @property
    def chains(self) -> int:
        """The most sums that run side by side: a row of two main tiles each, which fill registers with two more."""
        return 2 * self.tile_rows


GENERIC = Machine()


def with_vectors(vector_bytes: int) -> Machine:
    """Returns an x86-64 processor with vectors of 16, 32 or 64 bytes.

    A multiply-add of a whole vector takes the same time on each of them.

    >>> avx2, avx512 = with_vectors(32), with_vectors(64)
    >>> [(each.tile_rows, each.tile_vectors * each.lanes, each.narrow_rows) for each in (avx2, avx512)]
    [(6, 16, 8), (6, 64, 8)]
    """
    lanes = vector_bytes // 4
    registers = 32 if vector_bytes == 64 else 16
    return Machine(lanes, registers, multiply_add=GENERIC.multiply_add * GENERIC.lanes / lanes)
