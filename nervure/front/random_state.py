"""The state of random numbers: a seed, and a counter of calls. Both are variables like any other.

A random op reads them; a computation with random ops raises the counter by one update at its end. So a run is a
pure function of (seed, step), and what a transformer draws next is in its cells, where it is saved with the
rest.

>>> seed_words(1 << 40)
(0, 256)
>>> import nervure as nv
>>> draw, none = nv.computation(nv.uniform("N=2")), nv.computation(nv.zeros("N=2"))
>>> sorted(variable.name for variable in draw.function.variables), none.function.variables
(['random_seed', 'random_step'], ())
"""

from __future__ import annotations

import zlib

from nervure.errors import InvalidArgument
from nervure.front.reading import integer
from nervure.ir.provenance import current_scope
from nervure.ir.variable import Variable
from nervure.types.description import BasicTensorDescription
from nervure.types.dtype import uint32, uint64

SEED = Variable(BasicTensorDescription(uint32, (2,)), initial=0, name="random_seed", is_local=True)
"""The seed, as two words (low, high)."""

STEP = Variable(BasicTensorDescription(uint64, ()), initial=0, name="random_step", is_local=True)
"""How many calls with random ops there have been since the seed was set."""


def next_stream() -> int:
    """The stream of the next random op: its name scope, and how many the scope has made before it."""
    scope = current_scope()
    return zlib.crc32(scope.path.encode()) << 32 | scope.count("stream")


def seed_words(seed: object) -> tuple[int, int]:
    """A seed from 0 to 2**64 - 1 as two words."""
    number = integer(seed, "seed", "seed", help="int(seed) makes one of another number")
    if not 0 <= number < 1 << 64:
        raise InvalidArgument("the seed does not fit", op="seed", got=number, expected="0 to 2**64 - 1",
                              help="take it modulo 2**64: seed % 2**64")
    return number & 0xFFFFFFFF, number >> 32
