"""Numbers of two parts, whose sum has twice the digits of float64, and loops over values.

The parts of sums and products are exact (Knuth's and Dekker's transformations, the latter by a fused multiply-add), so
that a series may lose sixteen digits to cancellation and still has those of float64.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float64, (3,)).value
>>> NumberPair.of(x) * x + 1.0
NumberPair(high=f64[3] Add(Add, Add), low=f64[3] Subtract(Add, Subtract))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nervure.ir.function import Function
from nervure.ir.leaves import Full, Parameter
from nervure.ir.op import Operand, Value, registry
from nervure.ops.arithmetic import Fma
from nervure.ops.looping import While
from nervure.ops.selection import where
from nervure.ops.views import Broadcast
from nervure.types.dtype import float64


@dataclass(frozen=True, slots=True)
class NumberPair:
    """The sum of ``high`` and ``low``, which is at most half a unit in the last place of ``high``."""

    high: Value
    low: Value

    @classmethod
    def of(cls, x: Value) -> NumberPair:
        """Returns a value of float64, exactly."""
        return cls(x, x.full(0.0))

    @classmethod
    def sum_of(cls, x: Value, y: Value | float) -> NumberPair:
        """Returns the exact sum of two values."""
        other = _like(x, y)
        whole = x + other
        part = whole - x
        return cls(whole, (x - (whole - part)) + (other - part))

    def like(self, x: NumberPair | Value | float) -> NumberPair:
        """Returns a number or a value as a pair."""
        return x if isinstance(x, NumberPair) else NumberPair.of(_like(self.high, x))

    def __add__(self, other: NumberPair | Value | float) -> NumberPair:
        more = self.like(other)
        large, small = NumberPair.sum_of(self.high, more.high), NumberPair.sum_of(self.low, more.low)
        large = _renormalised(large.high, large.low + small.high)
        return _renormalised(large.high, large.low + small.low)

    def __neg__(self) -> NumberPair:
        return NumberPair(-self.high, -self.low)

    def __sub__(self, other: NumberPair | Value | float) -> NumberPair:
        return self + -self.like(other)

    def __mul__(self, other: NumberPair | Value | float) -> NumberPair:
        more = self.like(other)
        whole = self.high * more.high
        rest = Fma(self.high, more.high, -whole)
        return _renormalised(whole, Fma(self.high, more.low, Fma(self.low, more.high, rest)).output)

    def __truediv__(self, other: NumberPair | Value | float) -> NumberPair:
        divisor = self.like(other)
        first = self.high / divisor.high
        second = (self - divisor * first).high / divisor.high
        return _renormalised(first, second)

    def where(self, condition: Operand, other: NumberPair | Value | float) -> NumberPair:
        """Returns this number where a condition holds, and the ``other`` one elsewhere."""
        more = self.like(other)
        return NumberPair(where(condition, self.high, more.high), where(condition, self.low, more.low))


def _renormalised(large: Value, small: Value) -> NumberPair:
    """Returns the exact sum of two values, of which the first is not the smaller one."""
    whole = large + small
    return NumberPair(whole, small - (whole - large))


def _like(x: Value, number: Value | float) -> Value:
    return number if isinstance(number, Operand) else x.full(number)


def parts_of(*pairs: NumberPair) -> list[Value]:
    """Returns the high and the low parts of pairs, one after the other."""
    return [part for pair in pairs for part in (pair.high, pair.low)]


def pairs_of(parts: Sequence[Value]) -> list[NumberPair]:
    """Returns pairs of their parts."""
    return [NumberPair(high, low) for high, low in zip(parts[::2], parts[1::2], strict=True)]


# -- loops -----------------------------------------------------------------------------------------------------------


def repeated(body: Callable[..., Sequence[Value]], goes_on: Callable[..., Value], carries: Sequence[Value],
             *fixed: Value) -> Sequence[Value]:
    """Returns what ``body`` makes of the ``carries``, again and again while ``goes_on`` holds at any index.

    Both are called with the number of iterations that have run, the carries, and the ``fixed`` values.
    """
    start = Full(0.0, float64, ()).output
    operands = [start, *carries, *fixed]

    def function(results: Callable[..., Sequence[Value]], name: str) -> Function:
        own = [Parameter.of(operand.type) for operand in operands]
        count, *others = [parameter.value for parameter in own]
        return Function(results(count, *others), own, name=name)

    def step(count: Value, *values: Value) -> Sequence[Value]:
        return [count + 1, *body(spread(count, carries[0]), *values)]

    def test(count: Value, *values: Value) -> Sequence[Value]:
        condition = goes_on(spread(count, carries[0]), *values)
        return [registry["Any"](condition, tuple(range(len(condition.shape)))).outputs[0]]

    return While(*operands, condition=function(test, "goes_on"), body=function(step, "body"),
                 carries=1 + len(carries)).outputs[1:]


def spread(number: Value, like: Value) -> Value:
    """Returns one number at every index of another value."""
    return Broadcast(number, like.shape, tuple(range(len(like.shape)))).output
