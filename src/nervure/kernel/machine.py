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
    operation: float = 0.4              # nanoseconds of an addition of two vectors, two of which run in a cycle
    multiply_add: float = 0.02          # nanoseconds of one of float32 among those of a register tile
    byte_from_memory: float = 0.04      # nanoseconds, in order
    byte_from_cache: float = 0.01
    element_apart: float = 5.0          # nanoseconds of an element whose line holds nothing else that is read
    own_cache: int = 1 << 20            # bytes of the caches that a core has for itself
    started: float = 230.0              # nanoseconds that any kernel takes; the next ones are those of the time model
    addition: float = 0.25              # of a vector
    vector_moved: float = 0.3           # a load or a store along memory
    element_moved: float = 0.45         # one of a single element
    byte_outside: float = 0.017         # of what does not fit in the core's own caches
    entry: float = 1.0                  # a loop that is entered
    sum_ended: float = 5.0              # what a reduction leaves in lanes becomes one number
    entry_of_transpose: float = 17.0
    element_transposed: float = 0.2

    @property
    def vector_bytes(self) -> int:
        """The bytes of a vector register."""
        return self.lanes * 4


GENERIC = Machine()
