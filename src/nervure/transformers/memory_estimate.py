"""Memory estimate: the most bytes that a call needs at one time, found before anything is allocated.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (1000,))
>>> needed(nv.Function([nv.ops.Add(x, x)], [x]), {})[0]
4000
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import cast

from nervure import flags
from nervure.errors import InvalidArgument, NervureError, NotSupported, ShapeMismatch
from nervure.ir.function import Function
from nervure.ir.kinds import View
from nervure.ir.leaves import Constant, Full, Leaf
from nervure.ir.op import Op, Value
from nervure.ops.choosing import chosen_from
from nervure.types.dim import DimLike, evaluate, highest, substitute, symbols


def numbers(shape: tuple[DimLike, ...], bindings: Mapping[str, int]) -> tuple[int, ...]:
    """Returns a shape with the values of its symbols; without bindings it must have none."""
    if not bindings:
        return cast("tuple[int, ...]", shape)
    return tuple([length if type(length) is int else evaluate(length, bindings) for length in shape])


def most(shape: tuple[DimLike, ...], bindings: Mapping[str, int]) -> tuple[int, ...]:
    """Returns the most that each length of a shape can be, given the values of symbols.

    A length that an op finds (``?0``) may be anything from 0 to its value there.
    """
    ends = {name: (0, value) for name, value in bindings.items() if name.startswith("?")}
    if not ends:
        return numbers(shape, bindings)
    return tuple([length if type(length) is int else _most(length, bindings, ends) for length in shape])


def _most(length: DimLike, bindings: Mapping[str, int], ends: Mapping[str, tuple[int, int]]) -> int:
    if ends.keys().isdisjoint(symbols(length)):
        return evaluate(length, bindings)
    known = substitute(length, {name: value for name, value in bindings.items() if name not in ends})
    high = highest(known, ends)
    if high is None:
        raise NotSupported("no bound of a length is known", got=length, expected="a length with a bound",
                           help="its parts are found while the call runs; write the expression in another way")
    return high


def is_step(op: Op, found: Collection[str]) -> bool:
    """Whether a call runs an op: leaves are there before it, but constants with a length that is ``found`` by it."""
    if not isinstance(op, Leaf):
        return True
    return bool(found) and isinstance(op, (Constant, Full)) and not op.value.type.symbols.isdisjoint(found)


def last_uses(function: Function) -> dict[Value, Op]:
    """Returns the op that reads each value last; a value without readers belongs to the op that makes it. The
    function's roots are left out.
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
    """Returns the values that are not read after an op, each once."""
    return [value for value in dict.fromkeys((*op.operands, *op.outputs)) if last.get(value) is op]


@dataclass(frozen=True)
class MemoryEstimate:
    """The memory needs of a function: the types of values by their numbers, and their lifetimes.

    ``made`` are the numbers of the values that each op makes, ``dropped`` those that end with it; ``taking`` says of
    each value whether it takes memory of its own. ``choices`` are ops that choose among elements, of which there must
    be at least one: (number of the op, of the shape that it chooses from, of its result). The shapes that they choose
    from follow those of the values.
    """

    itemsizes: tuple[int, ...]
    shapes: tuple[tuple[DimLike, ...], ...]
    taking: tuple[bool, ...]
    made: tuple[tuple[int, ...], ...]
    dropped: tuple[tuple[int, ...], ...]
    choices: tuple[tuple[int, int, int], ...]

    def peak(self, bindings: Mapping[str, int]) -> tuple[int, int | None]:
        """Returns the most bytes that are needed at one time, and the number of the op that asks for most. It returns
        -1 and the op that makes it for a value with a negative dimension, and for a choice among no elements.
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
        for op, domain, result in self.choices:
            if 0 in numbers(self.shapes[domain], bindings) and 0 not in numbers(self.shapes[result], bindings):
                return -1, op
        return peak, greatest

    def is_possible(self, bindings: Mapping[str, int]) -> bool:
        """Whether the function has a result for these values of its symbols."""
        return not bindings or self.peak(bindings)[0] >= 0

    def is_sound(self) -> bool:
        """Whether every number names a value, a shape or an op: a description read from disk may contain anything."""
        values, shapes, ops = range(len(self.itemsizes)), range(len(self.shapes)), range(len(self.made))
        named = [number for row in (*self.made, *self.dropped) for number in row]
        return (len(self.taking) == len(values) == len(shapes) - len(self.choices) and len(self.dropped) == len(ops)
                and all([number in values for number in named]) and all([0 <= size < 64 for size in self.itemsizes])
                and all([op in ops and domain in shapes and result in shapes for op, domain, result in self.choices]))

    def _bytes(self, number: int, bindings: Mapping[str, int]) -> int:
        size = self.itemsizes[number]
        if not (self.taking[number] or bindings):
            return 0
        for length in most(self.shapes[number], bindings):
            if length < 0:
                return -1
            size *= length
        return size if self.taking[number] else 0


def memory_estimate(function: Function, stored: Collection[Value] | None = None) -> MemoryEstimate:
    """Returns the memory needs of a function, for the values that are ``stored``: by default all except views and
    leaves that are no results.
    """
    last, roots = last_uses(function), set(function.roots)
    values = {value: number for number, value in enumerate([each for op in function.operations for each in op.outputs])}
    choices = [(number, op, domain) for number, op in enumerate(function.operations)
               if (domain := chosen_from(op)) is not None]
    return MemoryEstimate(
        tuple([value._type.dtype.itemsize for value in values]),
        (*[value._type.shape for value in values], *[domain for _, _, domain in choices]),
        tuple([not isinstance(value.op, (View, Leaf)) or value in roots if stored is None else value in stored
               for value in values]),
        tuple([tuple([values[value] for value in op.outputs]) for op in function.operations]),
        tuple([tuple([values[value] for value in dropped_after(op, last)]) for op in function.operations]),
        tuple([(number, len(values) + at, values[op.outputs[0]]) for at, (number, op, _) in enumerate(choices)]))


def needed(function: Function, bindings: Mapping[str, int],
           stored: Collection[Value] | None = None) -> tuple[int, Op | None]:
    """Returns the most bytes that results and intermediate values take at one time, and the op that asks for most.
    ``stored`` is as for :func:`memory_estimate`.

    It raises the errors of :func:`check_possible`.
    """
    peak, number = memory_estimate(function, stored).peak(bindings)
    op = None if number is None else function.operations[number]
    if peak < 0 and op is not None:
        raise _impossible(op, bindings)
    return peak, op


def check_possible(function: Function, bindings: Mapping[str, int]) -> None:
    """Checks that a function has a result for these values of its symbols.

    It raises ShapeMismatch if a dimension is negative, InvalidArgument if an op has to choose among no elements.
    """
    if bindings:
        needed(function, bindings)


def _impossible(op: Op, bindings: Mapping[str, int]) -> NervureError:
    """Returns the error for an op that has no result for these sizes."""
    help = ", ".join([f"{name} is {number}" for name, number in bindings.items()])
    for value in op.outputs:
        lengths = numbers(value._type.shape, bindings)
        if min(lengths, default=0) < 0:
            return op.fail(ShapeMismatch, "a dimension of the result would be negative", got=min(lengths),
                           expected=f"{value._type}, each at least 0", help=help)
    try:  # with numbers in place of symbols, the type rule raises the error
        op.infer(*[operand._type.with_(shape=numbers(operand._type.shape, bindings)) for operand in op.operands])
    except NervureError as error:
        error.got = f"{error.got}, as {help}"
        return error.within(type(op).__name__, location=op.location)
    return op.fail(InvalidArgument, "there is no element to choose from", expected="at least one element",
                   got=f"an empty axis: {numbers(chosen_from(op) or (), bindings)}", help=help)


def check_fits(function: Function, bindings: Mapping[str, int], stored: Collection[Value] | None = None,
               borrowed: int = 0) -> None:
    """Raises InvalidArgument if a call of ``function`` needs more memory than this machine has, or more than
    ``flags.memory_limit``. Its ops take ``borrowed`` bytes beside their values while they run.
    """
    peak, op = needed(function, bindings, stored)
    limit = flags.allowed_bytes()
    if peak + borrowed > limit and op is not None:
        raise op.fail(InvalidArgument, "this call needs more memory than there is", got=f"{peak + borrowed:,} bytes",
                      expected=f"at most {limit:,} bytes",
                      help=f"the largest value is {', '.join([str(value.type) for value in op.outputs])}; "
                           f"flags.memory_limit sets another limit")
