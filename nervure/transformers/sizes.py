"""How much memory a call needs, found before anything is allocated.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (1000,))
>>> needed(nv.Function([nv.ops.Add(x, x)], [x]), {})[0]
4000
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from nervure import flags
from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.ir.function import Function
from nervure.ir.kinds import View
from nervure.ir.leaves import Leaf
from nervure.ir.op import Op, Value
from nervure.types.dim import DimLike, evaluate


def numbers(shape: tuple[Any, ...], bindings: Mapping[str, int]) -> tuple[int, ...]:
    """A shape with the values of its symbols; without bindings there are none."""
    if not bindings:
        return shape
    return tuple([length if type(length) is int else evaluate(length, bindings) for length in shape])


def last_uses(function: Function) -> dict[Value, Op]:
    """The op that reads each value last; what nobody reads belongs to the op that makes it. The function's
    roots are left out.
    """
    last: dict[Value, Op] = {}
    for op in function.operations:
        for value in op.outputs:
            last[value] = op
        for value in op.operands:
            last[value] = op
    for value in function.roots:
        last.pop(value, None)
    return last


def dropped_after(op: Op, last: Mapping[Value, Op]) -> list[Value]:
    """The values that nobody reads after an op, each once."""
    return [value for value in dict.fromkeys((*op.operands, *op.outputs)) if last.get(value) is op]


class Demand(NamedTuple):
    """What a function needs memory for: the types of values by their numbers, and when they begin and end.

    ``made`` are the numbers of the values that each op makes, ``dropped`` those that end with it; ``taking`` says of
    each value whether it takes memory of its own.
    """

    itemsizes: tuple[int, ...]
    shapes: tuple[tuple[DimLike, ...], ...]
    taking: tuple[bool, ...]
    made: tuple[tuple[int, ...], ...]
    dropped: tuple[tuple[int, ...], ...]

    def peak(self, bindings: Mapping[str, int]) -> tuple[int, int | None]:
        """The most bytes that are needed at one time, and the number of the op that asks for most; or, of a value
        with a negative dimension, -1 and the op that makes it.
        """
        sizes = [self._bytes(number, bindings) for number in range(len(self.itemsizes))]
        live = peak = largest = 0
        greatest: int | None = None
        for op, (made, dropped) in enumerate(zip(self.made, self.dropped, strict=True)):
            for number in made:
                if sizes[number] < 0:
                    return -1, op
                live += sizes[number]
                if sizes[number] > largest:
                    largest, greatest = sizes[number], op
            peak = max(peak, live)
            live -= sum([sizes[number] for number in dropped])
        return peak, greatest

    def _bytes(self, number: int, bindings: Mapping[str, int]) -> int:
        size = self.itemsizes[number]
        if not (self.taking[number] or bindings):
            return 0
        for length in numbers(self.shapes[number], bindings):
            if length < 0:
                return -1
            size *= length
        return size if self.taking[number] else 0


def demand(function: Function) -> Demand:
    """What a function needs memory for. Views and leaves take none, unless they are results."""
    last, roots = last_uses(function), set(function.roots)
    values = {value: number for number, value in enumerate([each for op in function.operations for each in op.outputs])}
    return Demand(
        tuple([value._type.dtype.itemsize for value in values]), tuple([value._type.shape for value in values]),
        tuple([not isinstance(value.op, (View, Leaf)) or value in roots for value in values]),
        tuple([tuple([values[value] for value in op.outputs]) for op in function.operations]),
        tuple([tuple([values[value] for value in dropped_after(op, last)]) for op in function.operations]))


def needed(function: Function, bindings: Mapping[str, int]) -> tuple[int, Op | None]:
    """The most bytes that results and intermediate values take at one time, and the op that asks for most.

    ShapeMismatch if a dimension is negative for these values of the symbols.
    """
    peak, number = demand(function).peak(bindings)
    op = None if number is None else function.operations[number]
    if peak < 0 and op is not None:
        value = next(value for value in op.outputs if min(numbers(value._type.shape, bindings), default=0) < 0)
        raise op.fail(ShapeMismatch, "a dimension of the result would be negative",
                      got=next(length for length in numbers(value._type.shape, bindings) if length < 0),
                      expected=f"{value._type}, each at least 0",
                      help=", ".join([f"{name} is {number}" for name, number in bindings.items()]))
    return peak, op


def check_fits(function: Function, bindings: Mapping[str, int]) -> None:
    """InvalidArgument if a call needs more memory than this machine has, or more than
    ``flags.memory_limit``.
    """
    peak, op = needed(function, bindings)
    limit = flags.allowed_bytes()
    if peak > limit and op is not None:
        raise op.fail(InvalidArgument, "this call needs more memory than there is", got=f"{peak:,} bytes",
                      expected=f"at most {limit:,} bytes",
                      help=f"the largest value is {', '.join([str(value.type) for value in op.outputs])}; "
                           f"flags.memory_limit sets another limit")
