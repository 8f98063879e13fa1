"""How much memory a call needs, found before anything is allocated.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (1000,))
>>> needed(nv.Function([nv.ops.Add(x, x)], [x]), {})[0]
4000
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nervure import flags
from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.ir.function import Function
from nervure.ir.kinds import View
from nervure.ir.leaves import Leaf
from nervure.ir.op import Op, Value
from nervure.types.dim import evaluate


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


def needed(function: Function, bindings: Mapping[str, int]) -> tuple[int, Op | None]:
    """The most bytes that results and intermediate values take at one time, and the op that asks for most.

    Views and leaves take none, unless they are results. ShapeMismatch if a dimension is negative for these
    values of the symbols.
    """
    last, roots = last_uses(function), set(function.roots)
    sizes: dict[Value, int] = {}
    live = peak = largest = 0
    greatest: Op | None = None
    for op in function.operations:
        makes_new = not isinstance(op, (View, Leaf))
        for value in op.outputs:
            takes_memory = makes_new or value in roots
            size = _bytes(value, bindings) if takes_memory or bindings else 0
            sizes[value] = size if takes_memory else 0
            live += sizes[value]
            if sizes[value] > largest:
                largest, greatest = size, op
        peak = max(peak, live)
        live -= sum([sizes[value] for value in dropped_after(op, last)])
    return peak, greatest


def _bytes(value: Value, bindings: Mapping[str, int]) -> int:
    size = value._type.dtype.itemsize
    for length in numbers(value._type.shape, bindings):
        if length < 0:
            raise value.op.fail(ShapeMismatch, "a dimension of the result would be negative", got=length,
                                expected=f"{value._type}, each at least 0",
                                help=", ".join([f"{name} is {number}" for name, number in bindings.items()]))
        size *= length
    return size


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
