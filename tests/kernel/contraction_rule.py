"""The order in which a contraction adds up, written down once more, with arithmetic of its own.

Points are numbered in row-major order. In blocks of 512 an element has a sum, from +0, by fused multiply-adds in order;
the first block's sum is the total of the first group of 512 blocks, to which the others are added in order, and so are
all blocks of a later group to +0; the first group's total is the result, to which the others are added in order.
"""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

BLOCK = GROUP = 512


def contraction(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """left [M, K] times right [K, N], both of the type that is computed in, by the rule."""
    points, count = left.shape[1], max(-(-left.shape[1] // BLOCK), 1)
    sums = np.zeros((count, left.shape[0], right.shape[1]), left.dtype)
    for k in range(min(points, BLOCK)):  # of all blocks that have such a point
        x, y = left[:, k::BLOCK].T, right[k::BLOCK]
        sums[:len(y)] = fused(x[:, :, None], y[:, None, :], sums[:len(y)])
    return in_groups(list(sums))


def in_groups(blocks: list[np.ndarray]) -> np.ndarray:
    """The sums of blocks, added up by the rule."""
    first, *others = [blocks[start:start + GROUP] for start in range(0, len(blocks), GROUP)]
    totals = [reduce(plain_sum, group, np.zeros_like(group[0])) for group in others]
    return reduce(plain_sum, [reduce(plain_sum, first), *totals])


def plain_sum(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return x + y


def fused(x: Any, y: Any, z: np.ndarray) -> np.ndarray:
    """x * y + z, rounded once."""
    x, y = np.broadcast_arrays(x, y)
    if z.dtype == np.float32:
        return _fused_single(x, y, z)
    if z.dtype == np.float64:
        return _fused_double(x, y, z)
    return x * y + z  # integers wrap


def _fused_single(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """By float64, where the product is exact and the sum is rounded to odd, so that rounding again does no harm."""
    with np.errstate(all="ignore"):
        return _odd_sum(x.astype(np.float64) * y, z.astype(np.float64)).astype(np.float32)


def _fused_double(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """By numbers of two parts, of which the small ones are added up to odd (Boldo and Melquiond); by fractions where a
    part might overflow or underflow.
    """
    with np.errstate(all="ignore"):
        product = x * y
        sizes = np.stack([abs(product), abs(z), abs(x), abs(y)])
        is_plain = (((sizes > 2.0**-400) | (sizes == 0)) & (sizes < 2.0**400)).all(0)
        is_plain &= (product != 0) | (x == 0) | (y == 0)
        small, rest = _sum(z, _product_error(x, y, product))
        total, lost = _sum(product, small)
        result = np.where(product == 0, product + z, total + _odd_sum(rest, lost))
    for at in zip(*np.nonzero(~is_plain), strict=True):
        result[at] = exactly_fused(x[at], y[at], z[at])
    return result


def _sum(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rounded sum, and what it has lost, exactly."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def _odd_sum(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The sum, of which the last bit is set where it is not exact."""
    total, error = _sum(x, y)
    odd = (total.view(np.int64) & 1).astype(bool)
    away = np.where((error > 0) == (total > 0), 1, -1)    # of the magnitude's bits
    towards = (total.view(np.int64) + away).view(np.float64)
    return np.where(np.isfinite(total) & (error != 0) & ~odd, towards, total)


def _product_error(x: np.ndarray, y: np.ndarray, product: np.ndarray) -> np.ndarray:
    """What a rounded product has lost, exactly, by halves of the factors."""
    (a, b), (c, d) = [(high, factor - high) for factor in (x, y)
                      for high in [factor * 134217729.0 - (factor * 134217729.0 - factor)]]
    return ((a * c - product) + a * d + b * c) + b * d


def exactly_fused(x: float, y: float, z: float) -> float:
    """x * y + z of float64 numbers, rounded once, by fractions."""
    if not np.isfinite([x, y, z]).all():
        with np.errstate(all="ignore"):
            return float(np.float64(x) * np.float64(y) + np.float64(z))
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if exact == 0:
        return float(np.float64(x) * np.float64(y) + np.float64(z))  # the sign of zero; a product may have vanished
    try:
        return float(exact)
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")
