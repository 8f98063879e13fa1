"""Small functions that went wrong once; each is checked as it failed. ``python -m tests.fuzz`` prints new ones.

>>> len(KEPT) == len({kept.name for kept in KEPT})
True
"""

from __future__ import annotations

from typing import NamedTuple


class Kept(NamedTuple):
    """What the case shows, the check that failed, values for the symbols, the seed of the arguments, the function."""

    name: str
    check: str
    bindings: list[dict[str, int]]
    seed: int
    text: str


KEPT: list[Kept] = []
