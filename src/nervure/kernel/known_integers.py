"""Known integers: between which numbers the elements of an integer value lie, whatever the arguments are.

An index that is known to be in range needs no check, and addresses that are made of it become shorter.

>>> import nervure as nv
>>> x = nv.Parameter(nv.int64, (4,)).output
>>> held = nv.ops.Minimum(nv.ops.Maximum(x, x.full(0)), x.full(6)).output
>>> known = KnownIntegers()
>>> known.of(held * 8 + held), known.of(nv.ops.Iota((3, 5), 1).output), known.of(x)[1] == 2**63 - 1
((0, 54), (0, 4), True)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from nervure.ir.kinds import View
from nervure.ir.leaves import Constant, Full
from nervure.ir.op import Op, Value
from nervure.kernel.tuning import LONG_CONSTANT
from nervure.ops.arithmetic import Add, Multiply, Subtract
from nervure.ops.conversion import Convert
from nervure.ops.indexing import Gathering
from nervure.ops.iota import Iota
from nervure.ops.selection import Maximum, Minimum, Where
from nervure.ops.views import Concatenate
from nervure.types.dim import product
from nervure.types.dim.interval import EVERYTHING, Interval, add, maximum, minimum, multiply, negate, unite
from nervure.types.dtype import bool_
from nervure.types.view import SimpleView


class KnownIntegers:
    """The intervals of the values of one function; each is found once, behind those that it follows from."""

    def __init__(self) -> None:
        self._known: dict[Value, Interval] = {}

    def of(self, value: Value) -> Interval:
        """Returns the smallest and the largest number that an element may be; those of its type if nothing is known."""
        if not _is_counted(value):
            return EVERYTHING
        pending = [value]
        while value not in self._known:
            last = pending[-1]
            unknown = [operand for operand in _followed(last.op) if _is_counted(operand) and operand not in self._known]
            pending += unknown
            if not unknown:
                self._known[pending.pop()] = self._held(last)
        return self._known[value]

    def _held(self, value: Value) -> Interval:
        """Returns the interval of a value, those of its operands being known, within that of its type."""
        low, high = (0, 1) if value.dtype is bool_ else value.dtype.limits
        own = self._found(value)
        # What does not fit wraps around, or is held at the ends.
        is_inside = own[0] is not None and own[1] is not None and low <= own[0] and own[1] <= high
        return own if is_inside else (int(low), int(high))

    def _found(self, value: Value) -> Interval:
        op = value.op
        if isinstance(op, Full):
            number = int(op.number.real)
            return number, number
        if isinstance(op, Constant):
            is_read = 0 < op.array.size <= LONG_CONSTANT
            return (int(op.array.min()), int(op.array.max())) if is_read else (None, None)
        if isinstance(op, Iota):
            count = product(op.shape) if op.axis is None else op.shape[op.axis]
            return (0, max(count - 1, 0)) if isinstance(count, int) else (0, None)
        of_operands = [self._known.get(operand, EVERYTHING) for operand in _followed(op)]
        if type(op) in _RULES:
            return _RULES[type(op)](*of_operands)
        return unite(of_operands) if of_operands else EVERYTHING


def _is_counted(value: Value) -> bool:
    """Whether the elements of a value are integers or truth values."""
    return value.dtype.is_integer or value.dtype is bool_


def _followed(op: Op) -> Sequence[Value]:
    """Returns the operands from whose intervals that of an op's result follows."""
    return op.operands if type(op) in _RULES else _shown(op)


def _shown(op: Op) -> list[Value]:
    """Returns the operands of which an op shows elements, and nothing else; none for another op."""
    if isinstance(op, (Where, Concatenate)):
        return list(op.operands[isinstance(op, Where):])
    is_moved = isinstance(op, Gathering) or isinstance(op, View) and isinstance(op.view, SimpleView)
    return list(op.operands[:1]) if is_moved else []


_RULES: Mapping[type[Op], Callable[..., Interval]] = {
    Add: add, Subtract: lambda x, y: add(x, negate(y)), Multiply: multiply, Convert: lambda x: x,
    Minimum: lambda x, y: minimum([x, y]), Maximum: lambda x, y: maximum([x, y])}
