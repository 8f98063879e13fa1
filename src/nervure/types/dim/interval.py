"""Arithmetic of intervals of integers, which may be unbounded: the result contains every value that can arise.

>>> multiply((-1, None), (2, 3)), floor_divide((-7, 9), (2, None)), remainder((0, 5), (8, 8))
((-3, None), (-4, 4), (0, 5))
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

Interval = tuple[int | None, int | None]  # inclusive; None is no bound

EVERYTHING: Interval = (None, None)
_LARGEST = 1 << 256  # bounds beyond it are dropped


def intersect(left: Interval, right: Interval) -> Interval:
    """The values in both."""
    low = right[0] if left[0] is None else left[0] if right[0] is None else max(left[0], right[0])
    high = right[1] if left[1] is None else left[1] if right[1] is None else min(left[1], right[1])
    return low, high


def is_empty(values: Interval) -> bool:
    """Whether no integer is in the interval."""
    return values[0] is not None and values[1] is not None and values[0] > values[1]


def _union(left: Interval, right: Interval) -> Interval:
    low = None if left[0] is None or right[0] is None else min(left[0], right[0])
    high = None if left[1] is None or right[1] is None else max(left[1], right[1])
    return low, high


def widen(values: Interval) -> Interval:
    """Drops bounds of hundreds of digits, which repeated squaring would double at each step."""
    low, high = values
    if low is not None and abs(low) > _LARGEST:
        low = _LARGEST if low > 0 else None
    if high is not None and abs(high) > _LARGEST:
        high = -_LARGEST if high < 0 else None
    return low, high


def add(left: Interval, right: Interval) -> Interval:
    """The sums of a value of each."""
    low = None if left[0] is None or right[0] is None else left[0] + right[0]
    return low, None if left[1] is None or right[1] is None else left[1] + right[1]


def negate(values: Interval) -> Interval:
    """The values with the other sign."""
    low, high = values
    return None if high is None else -high, None if low is None else -low


def scale(values: Interval, factor: int) -> Interval:
    """The multiples of the values."""
    low, high = values if factor >= 0 else (values[1], values[0])
    return None if low is None else low * factor, None if high is None else high * factor


_Extended = tuple[int, int]  # (-1, 0) below all, (0, value), (1, 0) above all: tuples compare correctly


def _extended_product(left: _Extended, right: _Extended) -> _Extended:
    if left[0] == right[0] == 0:
        return 0, left[1] * right[1]
    sign = (left[0] or left[1]) * (right[0] or right[1])
    return (sign > 0) - (sign < 0), 0


def multiply(left: Interval, right: Interval) -> Interval:
    """The products of a value of each."""
    def ends(values: Interval) -> tuple[_Extended, _Extended]:
        low, high = values
        return (-1, 0) if low is None else (0, low), (1, 0) if high is None else (0, high)

    corners = [_extended_product(a, b) for a in ends(left) for b in ends(right)]
    low, high = min(corners), max(corners)
    return None if low[0] else low[1], None if high[0] else high[1]


def power(values: Interval, exponent: int) -> Interval:
    """The powers of the values: even ones are not negative."""
    result: Interval = (1, 1)
    for _ in range(exponent):
        result = multiply(result, values)
    return intersect(result, (0, None)) if exponent % 2 == 0 else result


def _by_sign(divisor: Interval) -> Iterator[tuple[int, Interval]]:
    """The parts of a divisor's values: (1, positive part), (-1, negated negative part), (0, zero)."""
    positive = intersect(divisor, (1, None))
    if not is_empty(positive):
        yield 1, positive
    negative = negate(intersect(divisor, (None, -1)))
    if not is_empty(negative):
        yield -1, negative
    if not is_empty(intersect(divisor, (0, 0))):
        yield 0, (0, 0)


def floor_divide(dividend: Interval, divisor: Interval) -> Interval:
    """The floors of the quotients, 0 for the divisor 0."""
    parts: list[Interval] = []
    for sign, size in _by_sign(divisor):
        if sign == 0:
            parts.append((0, 0))
            continue
        low, high = dividend if sign > 0 else negate(dividend)
        smallest, largest = size[0] or 1, size[1]
        if low is not None:
            low = low // smallest if low < 0 else 0 if largest is None else low // largest
        if high is not None:
            high = high // smallest if high >= 0 else -1 if largest is None else high // largest
        parts.append((low, high))
    return unite(parts)


def remainder(dividend: Interval, divisor: Interval) -> Interval:
    """The remainders, with the sign of the divisor; 0 for the divisor 0."""
    parts: list[Interval] = []
    for sign, size in _by_sign(divisor):
        if sign == 0:
            parts.append((0, 0))
            continue
        part = _positive_remainder(dividend if sign > 0 else negate(dividend), size)
        parts.append(part if sign > 0 else negate(part))
    return unite(parts)


def _positive_remainder(dividend: Interval, divisor: Interval) -> Interval:
    low, high = dividend
    smallest, largest = divisor
    if smallest == largest is not None and low is not None and high is not None:
        if low // largest == high // largest:
            return low % largest, high % largest
    top = None if largest is None else largest - 1
    if low is not None and low >= 0:  # then the remainder is not above the dividend
        top = intersect((None, top), (None, high))[1]
        if high is not None and smallest is not None and high < smallest:
            return low, high
    return 0, top


def unite(parts: Sequence[Interval]) -> Interval:
    """Returns the values in any part; a divisor without values has no parts, and any result is sound."""
    return functools.reduce(_union, parts) if parts else EVERYTHING


def minimum(operands: Sequence[Interval]) -> Interval:
    """The values of the least of several."""
    lows = [low for low, _ in operands if low is not None]
    highs = [high for _, high in operands if high is not None]
    return min(lows) if len(lows) == len(operands) else None, min(highs, default=None)


def maximum(operands: Sequence[Interval]) -> Interval:
    """The values of the greatest of several."""
    return negate(minimum([negate(operand) for operand in operands]))
