"""Thresholds of a running call, in nanoseconds by the estimate of the time model, for one core.

The estimate of a kernel (:class:`nervure.types.duration.Duration`) is within a factor of two of what is measured for
nearly all that take 20 to 200 us, so that a threshold means what it says.

>>> SHARED_FROM < WORTHWHILE < SHARED_CALL_FROM < LONGEST
True
"""

from nervure.support.machine import LEAST_TASK

SHARED_FROM = LEAST_TASK
"""From which on a step is shared with threads that are awake."""

SHARED_PART = SHARED_FROM // 2
"""Of a step for each thread that shares it."""

WORTHWHILE = 4_000
"""Of a chunk, where there are more of them than threads. A shorter one costs more to hand out than it balances, and
than a cache gives back of a share that is read back and forth.
"""

FREQUENT_CALL_FROM = 12_000
"""From which on a call takes the pool as one of many: one wakes workers, the next use them."""

SHARED_CALL_FROM = 50_000
"""From which on any call takes the pool: waking it takes up to 75 us, in which the caller works on."""

RELEASE_FROM = 10_000
"""From which on a call gives the GIL away."""

LOOK_EVERY = 100_000
"""Of short steps between two looks at the clock."""

LONGEST = 2_000_000
"""Of a chunk: short enough that a call is interrupted soon, even where the estimate is wrong."""
