"""Reach: the lowest and the highest place of an address in loops, found by trying indices if there is no closed form.

An index that enters only in affine expressions is at its ends where the address is; the others are tried one by one,
all at once in arrays. So blocks with lines that begin in the middle of others cost as many points as there are blocks
and lines.

>>> from nervure.kernel.loop_index import LoopIndex
>>> i, j = LoopIndex(0), LoopIndex(1)
>>> reach(Address(i.dim // 3, ((j, 10),)), ((i, 7), (j, 5 - i.dim)))
(0, 40)
"""

from __future__ import annotations

import numpy as np

from nervure.kernel.loop_index import Indices
from nervure.kernel.operands import Address
from nervure.kernel.tuning import TRIED_POINTS
from nervure.types.dim import DimLike, evaluate_arrays, index_symbols

NOWHERE = (0, -1)
"""The reach without any iteration."""


def reach(address: Address, loops: Indices) -> tuple[int, int] | None:
    """Returns the lowest and the highest place of an address inside of some ``loops``, from the outside in. All must
    be numbers and indices; the scalars of the address are ignored. NOWHERE if there is no iteration, None if there are
    too many to try.
    """
    bent = {name for x in (address.base, *[extent for _, extent in loops]) for name in index_symbols(x)}
    values: dict[str, np.ndarray] = {}  # values of the bent indices, at each point that is tried
    low = high = np.zeros(1, np.int64)
    for index, extent in loops:
        turns = np.maximum(_at(extent, values, low.size), 0)
        if index.name not in bent:
            last, runs = address.step(index) * (turns - 1), turns > 0
            low, high = (low + np.minimum(last, 0))[runs], (high + np.maximum(last, 0))[runs]
            values = {name: entry[runs] for name, entry in values.items()}
            continue
        if turns.sum() > TRIED_POINTS:
            return None
        low, high = np.repeat(low, turns), np.repeat(high, turns)
        values = {name: np.repeat(entry, turns) for name, entry in values.items()}
        values[index.name] = np.arange(low.size) - np.repeat(np.cumsum(turns) - turns, turns)
    if low.size == 0:
        return NOWHERE
    steps = [address.step(index) * values[index.name] for index, _ in loops if index.name in values]
    start = _at(address.base, values, low.size) + sum(steps)
    return int((start + low).min()), int((start + high).max())


def _at(x: DimLike, values: dict[str, np.ndarray], points: int) -> np.ndarray:
    """Returns a dimension at each of some points."""
    return np.broadcast_to(evaluate_arrays(x, values), points).astype(np.int64)
