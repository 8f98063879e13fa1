"""Traced numbers: Python's arithmetic on numbers inside a traced function, repeated at each call.

>>> import nervure as nv
>>> @nv.jit
... def scaled(x, factor):
...     return x * (factor / 2), factor / 2      # int8 * 1.5 is float32; 3 / 2 is a float of Python's
>>> scaled(np.int8([1, 2]), 3)
(array([1.5, 3. ], dtype=float32), 1.5)

So a number keeps its kind and every digit, and fails as it does outside. When it meets a tensor it takes the tensor's
type, like a literal, and is one parameter of the compiled function for each such type.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import NoReturn, Protocol, TypeGuard

import numpy as np

from nervure.errors import WrongKind
from nervure.front.tensor import Number, Tensor, is_scalar
from nervure.types.dtype import DType


class Trace(Protocol):
    """The interface of the trace that numbers belong to; it stands above the functions of tensors."""

    name: str

    def tensor(self, number: TracedNumber, dtype: DType) -> Tensor: ...
    def alone(self, number: TracedNumber) -> Tensor: ...
    def noted(self, function: Callable[..., object], *operands: object) -> TracedNumber: ...
    def array_ufunc(self, ufunc: np.ufunc, method: str, *inputs: object, **keywords: object) -> object: ...


class TracedNumber:
    """A number whose value comes with each call; ``example`` is its value when the function was traced.

    ``owner`` is the trace that records the computations on its numbers, each in a ``slot`` of its own.
    """

    __slots__ = ("example", "owner", "slot")

    def __init__(self, example: object, owner: Trace, slot: int) -> None:
        self.example, self.owner, self.slot = example, owner, slot

    def tensor(self, dtype: DType) -> Tensor:
        """Returns the number as a tensor of an element type; each call in which it does not fit raises
        InvalidArgument.
        """
        return self.owner.tensor(self, dtype)

    def noted(self, function: Callable[..., object], *others: object) -> TracedNumber:
        """Returns the result of a function of Python, computed now and at each call."""
        return self.owner.noted(function, self, *others)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **keywords: object) -> object:
        function = getattr(ufunc, method)
        inputs = tuple([entry[()] if isinstance(entry, np.ndarray) and not entry.ndim else entry for entry in inputs])
        if all([is_number(entry) for entry in inputs]) and not keywords:
            return self.owner.noted(function, *inputs)
        return self.owner.array_ufunc(ufunc, method, *inputs, **keywords)

    def __round__(self, digits: object = None) -> TracedNumber:
        return self.noted(round, digits)

    def __divmod__(self, other: object) -> tuple[object, object]:
        return operator.floordiv(self, other), operator.mod(self, other)

    def __rdivmod__(self, other: object) -> tuple[object, object]:
        return operator.floordiv(other, self), operator.mod(other, self)

    def __getattr__(self, name: str) -> object:
        if isinstance(self.example, np.generic):  # NumPy's scalars have the methods of arrays
            alone = self.owner.alone(self)
            if hasattr(type(alone), name) or not hasattr(self.example, name):
                return getattr(alone, name)
        if name.startswith("__") or not hasattr(self.example, name):
            raise AttributeError(f"{type(self.example).__name__!r} object has no attribute {name!r}")
        if callable(getattr(self.example, name)):
            return functools.partial(self._read, name)
        return self._noted_number(name, operator.attrgetter(name))

    def _read(self, name: str, *arguments: object, **keywords: object) -> TracedNumber:
        """Returns what a method of Python's numbers returns, computed now and at each call."""
        return self._noted_number(name, lambda number, *given: getattr(number, name)(*given, **keywords), *arguments)

    def _noted_number(self, name: str, function: Callable[..., object], *arguments: object) -> TracedNumber:
        found = self.noted(function, *arguments)
        if not is_scalar(found.example):
            raise value_needed(self, name)
        return found

    def __repr__(self) -> str:
        return f"<{type(self.example).__name__} given to {self.owner.name}>"


def is_number(value: object) -> TypeGuard[Number | TracedNumber]:
    """Whether a value is a scalar, or a number given to a traced function."""
    return isinstance(value, TracedNumber) or is_scalar(value)


def _binary(function: Callable[..., object], is_reflected: bool = False) -> Callable[[TracedNumber, object], object]:
    def method(self: TracedNumber, other: object) -> object:
        if not is_number(other):
            return NotImplemented
        return self.owner.noted(function, *((other, self) if is_reflected else (self, other)))
    return method


def _unary(function: Callable[..., object]) -> Callable[[TracedNumber], TracedNumber]:
    def method(self: TracedNumber) -> TracedNumber:
        return self.noted(function)
    return method


def _refusal(name: str) -> Callable[..., NoReturn]:
    """Makes a method that is refused, since it would need the number itself, which differs from call to call."""
    def method(self: TracedNumber, *arguments: object, **keywords: object) -> NoReturn:
        raise value_needed(self, name)
    return method


def value_needed(number: TracedNumber, op: str) -> WrongKind:
    """Returns the error of an ``op`` that needs the value of a traced number."""
    return WrongKind(f"a number that {number.owner.name} is given has no value while it is traced", op=op,
                     got=repr(number), expected="what can be known without numbers",
                     help="static= names arguments for whose values the function is traced anew; nv.where chooses "
                          "between elements")


for _name in "add sub mul truediv floordiv mod pow and or xor lshift rshift".split():
    _function = getattr(operator, f"__{_name}__")
    setattr(TracedNumber, f"__{_name}__", _binary(_function))
    setattr(TracedNumber, f"__r{_name}__", _binary(_function, is_reflected=True))
for _name in "lt le gt ge eq ne".split():
    setattr(TracedNumber, f"__{_name}__", _binary(getattr(operator, _name)))
for _name in "neg pos abs invert".split():
    setattr(TracedNumber, f"__{_name}__", _unary(getattr(operator, _name)))
for _name in "trunc floor ceil".split():
    setattr(TracedNumber, f"__{_name}__", _unary(getattr(math, _name)))
for _name in "bool int float complex index len iter array hash format str".split():
    setattr(TracedNumber, f"__{_name}__", _refusal(_name))
