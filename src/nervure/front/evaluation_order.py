"""The order of operands: those of a function take place from the left, in whatever order the function reads them.

>>> import nervure as nv
>>> v = nv.variable((), 1.0)
>>> @in_order
... def less_half_of(x, y):
...     return y / 2 - x
>>> moved = nv.sequential([nv.assign(v, 10.0), v])
>>> nv.evaluate(less_half_of(v, moved)).item(), v.item()
(4.0, 10.0)

Without the decorator v would be read behind ``moved``, which is 10 by then. An op needs none: it takes place behind its
operands, from the left. Functions made of several ops have it if they read an operand late or twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from nervure.errors import InvalidArgument
from nervure.front import pytrees
from nervure.front.creation import AssignableTensorOp, expression
from nervure.front.tensor import Tensor
from nervure.ir.traverse import postorder
from nervure.ops.order import Assign, Sequential, placed_operands

Given = ParamSpec("Given")
Result = TypeVar("Result")


def in_order(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Makes a function whose operands take place before its own ops, from the left, if one of them has effects.

    A variable among them is read once, in its place, so the function must not assign it.
    """
    @wraps(function)
    def ordered(*given: Given.args, **named: Given.kwargs) -> Result:
        if not have_effects([*given, *named.values()]):
            return function(*given, **named)
        leaves, pattern = pytrees.flatten((given, named))
        leaves = [expression(leaf) if isinstance(leaf, AssignableTensorOp) and not leaf.is_constant else leaf
                  for leaf in leaves]
        own: Any = pytrees.unflatten(pattern, leaves)
        return behind_effects(leaves, function(*own[0], **own[1]))
    return ordered


def behind_effects(given: Iterable[object], result: Result) -> Result:
    """Makes a result, a tensor or a nest of them, take place behind the tensors ``given``, if one of these has effects.
    """
    tensors = list(tensors_in(given))
    if not have_effects(tensors):
        return result
    before = [tensor.value for tensor in tensors]

    def later(leaf: object) -> object:
        if not isinstance(leaf, Tensor) or isinstance(leaf, AssignableTensorOp):
            return leaf  # a place itself is no value
        return Tensor(Sequential(*before, leaf.value), leaf._axes)
    leaves, pattern = pytrees.flatten(result)
    later_result: Any = pytrees.unflatten(pattern, map(later, leaves))
    return later_result


def have_effects(given: Iterable[object]) -> bool:
    """Whether a tensor among arguments, or in lists of them, assigns a variable, prints or calls Python.

    >>> import nervure as nv
    >>> v = nv.variable(())
    >>> have_effects([v, 1]), have_effects([[nv.sequential([nv.assign(v, 1), v])]])
    (False, True)
    """
    return any([tensor._value.op.holds_effects for tensor in tensors_in(given) if tensor._value is not None])


def tensors_in(given: Iterable[object], depth: int = 0) -> Iterator[Tensor]:
    """Yields the tensors among arguments, and those in lists, tuples and dicts among them, down to a ``depth``."""
    for entry in given:
        if isinstance(entry, Tensor):
            yield entry
        elif isinstance(entry, (list, tuple, dict)) and depth < pytrees.DEEPEST:
            yield from tensors_in(entry.values() if isinstance(entry, dict) else entry, depth + 1)


def check_sides(op: str, place: object, other: object) -> None:
    """Checks that the comparison ``op`` of a place with another operand does not depend on which of them comes first.

    Python asks the place, whose class is a subclass, for both ``place < x`` and ``x > place``.
    """
    if not (isinstance(place, AssignableTensorOp) and place.variable is not None and isinstance(other, Tensor)
            and not isinstance(other, AssignableTensorOp) and other._value.op.holds_effects):
        return
    for below in postorder([other._value], None, placed_operands):
        if isinstance(below, Assign) and below.variable is place.variable:
            raise InvalidArgument("Python does not say which side comes first, and the other one assigns this variable",
                                  op=op, got=f"{place!r:.80}, beside an assignment to it", location=below.location,
                                  expected="a function, whose operands take place from the left",
                                  help=f"nv.{op}(x, y); or nv.value_of(x), to read the variable before")
