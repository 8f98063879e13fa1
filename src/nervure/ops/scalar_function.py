"""Declarations of scalar functions: type rule, cost, exactness and samples, stated once for ops, backends and tests.

A function is a method of :class:`nervure.ops.scalar.ScalarNamespace`: its name, its operands and its meaning are those
of the method, and the other facts are declared above it.

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
"""The range of operands: anywhere, from 0.25 on, inside [-0.9, 0.9], from 1.25 on, below -0.5, above 0.5."""

Result = Callable[[DType], DType]
"""The element type of a result, from that of the operands."""

Method = TypeVar("Method", bound=Callable[..., object])


def same(dtype: DType) -> DType:
    """Returns the operands' own type."""
    return dtype


def truth(dtype: DType) -> DType:
    """Returns bool, the type of comparisons and predicates."""
    return bool_


def part(dtype: DType) -> DType:
    """Returns the type of the parts if the operands are complex, else their own."""
    return dtype.part


def pair(dtype: DType) -> DType:
    """Returns the complex type with parts of this type. The domain holds only types that have one."""
    return dtype.pair or dtype


def carried(dtype: DType) -> DType:
    """Stands for a type that is an argument of the function."""
    return dtype


@dataclass(frozen=True, slots=True)
class ScalarFunction:
    """The facts of one function.

    ``domain`` are the element types that it is defined for (low-precision floats arrive as float32), ``result`` maps
    them to the type of its result. ``is_commutative`` says that the operands may be swapped without changing a bit.

    ``cost`` is the time that a vector takes, in additions; ``operations`` is the number of operations it counts as (an
    addition is 1, a function such as exp 16); ``is_short`` says that it is a few instructions.

    ``ulps`` is the greatest error of a float32 result in units in the last place (0: exact, or correctly rounded).
    ``absolute`` is a further absolute error, for functions with zeros that are no floats. ``sample`` says for each
    operand where the function is smooth; the last entry counts for all further ones.
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
    """Declares the method below as a function of scalars, which every backend must implement.

    ``domain``, ``result``, ``cost`` and the other facts are those of ``ScalarFunction``. ``operations`` default to the
    cost, at most 16; a function is ``short`` by default if it counts as at most 2 operations.
    """
    counted = min(cost, 16) if operations is None else operations

    def declare(method: Method) -> Method:
        name, code = method.__name__, method.__code__
        operands = code.co_varnames[1:code.co_argcount - (result is carried)]
        SCALAR_FUNCTIONS[name] = ScalarFunction(
            name, operands, cleandoc(method.__doc__ or ""), domain, result, commutative, cost, counted,
            counted <= 2 if short is None else short, ulps, absolute, (sample,) if isinstance(sample, str) else sample)
        return abstractmethod(method)
    return declare
