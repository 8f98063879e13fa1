"""The options of a program: what a call of it may need and what it gives, whichever transformer compiles it.

>>> read_options("computation", memory_limit="1MB", results="device")
ProgramOptions(memory_limit=1000000, results='device', sharding=None)
>>> read_options("jit") == ProgramOptions()
True
"""

from __future__ import annotations

from typing import NamedTuple

from nervure import flags
from nervure.errors import InvalidArgument, did_you_mean
from nervure.types.mesh import Sharding, read_sharding

RESULTS = ("numpy", "device")
"""The forms of results: arrays of NumPy, or arrays that lie on the transformer's device."""


class ProgramOptions(NamedTuple):
    """The options of one program. A call needs at most ``memory_limit`` bytes (None: any number); its ``results`` are
    one of ``RESULTS``; ``sharding`` says how values are distributed over a mesh, if there is one.
    """

    memory_limit: int | None = None
    results: str = "numpy"
    sharding: Sharding | None = None


DEFAULT = ProgramOptions()


def read_options(op: str, memory_limit: object = None, results: object = "numpy", mesh: object = None,
                 shard: object = None, shard_parameters: object = None) -> ProgramOptions:
    """Returns options as users write them; InvalidArgument, which names ``op``, for one that means nothing."""
    if not isinstance(results, str) or results not in RESULTS:
        raise InvalidArgument("results are arrays of NumPy, or of the device", op=op, operand="results",
                              got=f"{results!r:.60}", expected=" or ".join([repr(form) for form in RESULTS]),
                              help=did_you_mean(str(results), RESULTS, 'results="device" leaves them on the device'))
    return ProgramOptions(read_memory_limit(memory_limit, op), results,
                          read_sharding(mesh, shard, shard_parameters, op))


def read_memory_limit(given: object, op: str) -> int | None:
    """Returns a limit as bytes: None for none. InvalidArgument, which names ``op``, if it is no number of bytes.

    >>> read_memory_limit("1MB", "computation"), read_memory_limit(None, "computation")
    (1000000, None)
    """
    found = None if given is None else flags.byte_count(given)
    if found is None and given is not None:
        raise InvalidArgument("this is no limit of memory", op=op, operand="memory_limit", got=f"{given!r:.60}",
                              expected="bytes: an integer of at least 0, or a text", help='as in memory_limit="512MB"')
    return found
