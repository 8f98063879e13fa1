"""The description of a machine: widths, sizes of caches, latencies. A backend describes its own.

>>> GENERIC.lanes, GENERIC._replace(first_cache=1 << 16).first_cache
(8, 65536)

Plans depend on nothing else of it, and least of all on how many threads there are today: the same function has the same
kernels on all machines of one description. Bits are the same on all machines.
"""

from __future__ import annotations

from typing import NamedTuple


class Machine(NamedTuple):
    """The numbers of an x86-64 core of the last ten years, where a backend says nothing else."""

    lanes: int = 8                      # float32 elements of a vector
    line: int = 64                      # bytes that memory is moved in
    strip: int = 256                    # bytes of the columns that a register tile of products has
    first_cache: int = 1 << 15          # bytes of the cache next to a core
    shared_cache: int = 1 << 25         # bytes of the largest cache
    threads: int = 16                   # that a kernel should have work for
    own_cache: int = 1 << 20            # bytes of the caches that a core has for itself
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

    @property
    def vector_bytes(self) -> int:
        """The bytes of a vector register."""
        return self.lanes * 4


GENERIC = Machine()
