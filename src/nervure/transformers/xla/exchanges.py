"""The exchanges between the devices of a mesh: the collective operations in the text of a program that XLA compiled.

>>> text = "  %all-reduce.3 = f32[8,16]{1,0} all-reduce(%dot.1), channel_id=1, replica_groups=[1,8]<=[8]"
>>> exchanges_in(text)
(Exchange(kind='all-reduce', count=1, bytes=512),)

An operation in the body of a loop is counted once. Its bytes are those of its result on one device.
"""

from __future__ import annotations

import math
import re

from nervure.transformers.report import Exchange

_KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
_LINE = re.compile(rf"^\s*(?:ROOT )?%?\S+ = (?P<type>\(?.*?\)?) (?P<kind>{'|'.join(_KINDS)})(?P<start>-start)?\(",
                   re.MULTILINE)
_ARRAY = re.compile(r"\b(pred|[a-z]+?(\d+)[a-z0-9]*)\[([\d,]*)\]")


def exchanges_in(text: str) -> tuple[Exchange, ...]:
    """Returns the collective operations in the ``text`` of a compiled program, those of a kind together."""
    found: dict[str, list[int]] = {}
    for line in _LINE.finditer(text):
        sizes = [_bytes(*array.groups()) for array in _ARRAY.finditer(line["type"])]
        # What only starts an exchange has its operands in front of its results, but for all-reduce.
        is_half = line["start"] and line["kind"] != "all-reduce"
        found.setdefault(line["kind"], []).append(sum(sizes[len(sizes) // 2:] if is_half else sizes))
    return tuple([Exchange(kind, len(sizes), sum(sizes)) for kind, sizes in found.items()])


def _bytes(name: str, bits: str | None, lengths: str) -> int:
    """Returns the bytes of an array of XLA: ``f32[8,16]``."""
    count = math.prod([int(length) for length in lengths.split(",") if length])
    return count if name == "pred" else math.ceil(count * int(bits or 8) / 8)
