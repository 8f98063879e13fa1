"""The order in which a reduction combines its points, written down once more, over whole arrays.

64 lanes in blocks of 4,096 points, lane k % 64 its points in order, the lanes by halves; the totals of 64 blocks in
order, those of eight such groups, and so on until one is left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

LANES, BLOCK, GROUP, GROUPS = 64, 4096, 64, 8


def reduced(rows: np.ndarray, combine: np.ufunc = np.add) -> np.ndarray:
    """The last axis combined by the rule."""
    points = _cut(rows, BLOCK, combine).reshape(*rows.shape[:-1], -1, BLOCK // LANES, LANES)
    lanes = _chain(points.swapaxes(-1, -2), combine)
    while lanes.shape[-1] > 1:
        half = lanes.shape[-1] // 2
        lanes = combine(lanes[..., :half], lanes[..., half:])
    return in_groups(lanes[..., 0], combine)


def in_groups(totals: np.ndarray, combine: np.ufunc = np.add, group: int = GROUP) -> np.ndarray:
    """The totals of blocks, along the last axis, combined by the rule."""
    size = group
    while True:
        totals = _chain(_cut(totals, size, combine), combine)
        if totals.shape[-1] == 1:
            return totals[..., 0]
        size = GROUPS


def _cut(rows: np.ndarray, size: int, combine: np.ufunc) -> np.ndarray:
    """The last axis in pieces, the last of which units fill."""
    missing = -rows.shape[-1] % size
    widths = [(0, 0)] * (rows.ndim - 1) + [(0, missing)]
    filled = np.pad(rows, widths, constant_values=_unit(combine, rows.dtype)) if missing else rows
    return filled.reshape(*rows.shape[:-1], -1, size)


def _chain(rows: np.ndarray, combine: np.ufunc) -> np.ndarray:
    total = np.full(rows.shape[:-1], _unit(combine, rows.dtype), rows.dtype)
    for point in range(rows.shape[-1]):
        total = combine(total, rows[..., point])
    return total


def _unit(combine: np.ufunc, dtype: np.dtype[Any]) -> Any:
    return dtype.type(-np.inf if combine is np.maximum else combine.identity)
