"""The options of a program: what a call of it may need and what it gives, whichever transformer compiles it.

>>> read_options("computation", memory_limit="1MB", results="device")
ProgramOptions(memory_limit=1000000, results='device', sharding=None, pad_to=())
>>> read_options("jit") == ProgramOptions()
True
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from nervure import flags
from nervure.errors import InvalidArgument, did_you_mean
from nervure.types.dim.expression import integer
from nervure.types.mesh import Sharding, read_sharding

PadLengths = int | Mapping[Any, int]
"""How lengths are rounded up, as users give it: a multiple for all symbols, or one for each symbol."""

PadTo = int | tuple[tuple[str, int], ...]
"""A multiple for all symbols, or pairs of a symbol and its multiple."""

RESULTS = ("numpy", "device")
"""The forms of results: arrays of NumPy, or arrays that lie on the transformer's device."""


class ProgramOptions(NamedTuple):
    """The options of one program. A call needs at most ``memory_limit`` bytes (None: any number); its ``results`` are
    one of ``RESULTS``; ``sharding`` says how values are distributed over a mesh, if there is one; where a program is
    made for each length, symbols are rounded up as ``pad_to`` says.
    """

    memory_limit: int | None = None
    results: str = "numpy"
    sharding: Sharding | None = None
    pad_to: PadTo = ()


DEFAULT = ProgramOptions()


def read_options(op: str, memory_limit: object = None, results: object = "numpy", mesh: object = None,
                 shard: object = None, shard_parameters: object = None, pad_to: object = None) -> ProgramOptions:
    """Returns options as users write them; InvalidArgument, which names ``op``, for one that means nothing."""
    if not isinstance(results, str) or results not in RESULTS:
        raise InvalidArgument("results are arrays of NumPy, or of the device", op=op, operand="results",
                              got=f"{results!r:.60}", expected=" or ".join([repr(form) for form in RESULTS]),
                              help=did_you_mean(str(results), RESULTS, 'results="device" leaves them on the device'))
    return ProgramOptions(read_memory_limit(memory_limit, op), results,
                          read_sharding(mesh, shard, shard_parameters, op), read_pad_to(pad_to, op))


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


def read_pad_to(given: object, op: str) -> PadTo:
    """Returns the multiples to which symbols are rounded up; InvalidArgument, which names ``op``, if they are none.

    >>> read_pad_to({"n": 64}, "computation"), read_pad_to(8, "jit"), read_pad_to(None, "jit")
    ((('n', 64),), 8, ())
    """
    if given is None:
        return ()
    entries = list(given.items()) if isinstance(given, Mapping) else [("", given)]
    read = [(str(name), integer(multiple)) for name, multiple in entries]
    for (name, multiple), (_, value) in zip(read, entries, strict=True):
        if multiple is None or multiple < 1:
            raise InvalidArgument("lengths are rounded up to multiples of a number", op=op, operand="pad_to",
                                  got=f"{name + ': ' if name else ''}{value!r:.60}",
                                  expected="an integer of at least 1",
                                  help='as in pad_to={"n": 64}, or pad_to=64 for all symbols')
    pairs = [(name, multiple) for name, multiple in read if multiple is not None]
    return tuple(pairs) if isinstance(given, Mapping) else pairs[0][1]
