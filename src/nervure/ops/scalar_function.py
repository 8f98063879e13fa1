"""Declarations of scalar functions: type rule, cost, exactness and samples, stated once for ops, backends and tests.

A function is a method of :class:`nervure.ops.scalar.ScalarNamespace`: its name, its operands and its meaning are the
method's, and the facts stand above it.

>>> from nervure.types.element_groups import FLOATS
>>> class Namespace:
...     @function(FLOATS, ulps=4, sample="unit")
...     def haversine(self, angle):
...         "sin(angle / 2) ** 2"
>>> declared = SCALAR_FUNCTIONS.pop("haversine")
>>> declared.operands, declared.doc, declared.cost, declared.is_short
(('angle',), 'sin(angle / 2) ** 2', 16, False)
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from inspect import cleandoc
from typing import Literal, TypeVar

from nervure.types.dtype import DType, bool_

Range = Literal["normal", "positive", "unit", "above one", "low", "high"]
"""Where operands lie: anywhere, from 0.25 on, inside of [-0.9, 0.9], from 1.25 on, below -0.5, above 0.5."""

Result = Callable[[DType], DType]
"""The element type of a result, from that of the operands."""

Method = TypeVar("Method", bound=Callable[..., object])


def same(dtype: DType) -> DType:
    """The operands' own."""
    return dtype


def truth(dtype: DType) -> DType:
    """bool: of comparisons and predicates."""
    return bool_


def part(dtype: DType) -> DType:
    """That of the parts, where the operands are complex."""
    return dtype.part


def pair(dtype: DType) -> DType:
    """The complex type with such parts. The domain holds the types that have one."""
    return dtype.pair or dtype


def carried(dtype: DType) -> DType:
    """An argument of the function says it."""
    return dtype


@dataclass(frozen=True, slots=True)
class ScalarFunction:
    """The facts of one function.

    ``domain`` are the element types that it is defined for (low-precision floats arrive as float32), ``result`` gives
    that of its result. ``is_commutative`` says that the operands may be swapped without changing a bit.

    ``cost`` is the time that a vector takes, in additions; ``operations`` is how many operations it counts as (an
    addition is 1, a function such as exp 16); ``is_short`` says that it is a few instructions.

    ``ulps`` are the units in the last place that a float32 result may be off (0: exact, or correctly rounded);
    ``absolute`` may come on top where the function has zeros that no float meets. ``sample`` says for each operand
    where the function is smooth; the last entry counts for those that follow.
    """

    name: str
    operands: tuple[str, ...]
    doc: str
    domain: frozenset[DType]
    result: Result
    is_commutative: bool
    cost: int
    operations: int
    is_short: bool
    ulps: int
    absolute: float
    sample: tuple[Range, ...]

    @property
    def carries_type(self) -> bool:
        """Whether the type of the result is an argument."""
        return self.result is carried


SCALAR_FUNCTIONS: dict[str, ScalarFunction] = {}
"""The functions of scalars by name, in the order of their declaration."""


def function(domain: frozenset[DType], result: Result = same, *, commutative: bool = False, cost: int = 16,
             operations: int | None = None, short: bool | None = None, ulps: int = 0, absolute: float = 0.0,
             sample: Range | tuple[Range, ...] = "normal") -> Callable[[Method], Method]:
    """Declares the method below as a function of scalars, which every backend has to have."""
    counted = min(cost, 16) if operations is None else operations

    def declare(method: Method) -> Method:
        name, code = method.__name__, method.__code__
        operands = code.co_varnames[1:code.co_argcount - (result is carried)]
        SCALAR_FUNCTIONS[name] = ScalarFunction(
            name, operands, cleandoc(method.__doc__ or ""), domain, result, commutative, cost, counted,
            counted <= 2 if short is None else short, ulps, absolute, (sample,) if isinstance(sample, str) else sample)
        return abstractmethod(method)
    return declare
