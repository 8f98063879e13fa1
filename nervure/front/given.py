"""Numbers that a traced function is given: what it does with them among numbers, Python does again at each call.

>>> import nervure as nv
>>> @nv.jit
... def scaled(x, factor):
...     return x * (factor / 2), factor / 2      # int8 * 1.5 is float32; 3 / 2 is a float of Python's
>>> scaled(np.int8([1, 2]), 3)
(array([1.5, 3. ], dtype=float32), 1.5)

So a number keeps its kind and every digit, and fails as it does outside. Where it meets a tensor it takes the
tensor's type, like a number that is written out, and is one parameter of the compiled function for each such type.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from nervure.errors import WrongKind
from nervure.front.tensor import is_scalar


class GivenNumber:
    """A number whose value comes with each call; ``example`` is the one that came when the function was traced.

    ``ledger`` keeps what is computed of the numbers of one trace, each in a ``slot`` of its own.
    """

    __slots__ = ("example", "ledger", "slot")
    __hash__ = object.__hash__

    def __init__(self, example: Any, ledger: Any, slot: int) -> None:
        self.example, self.ledger, self.slot = example, ledger, slot

    def tensor(self, dtype: Any) -> Any:
        """The number as a tensor of an element type; InvalidArgument at each call where it does not fit."""
        return self.ledger.tensor(self, dtype)

    def noted(self, function: Callable[..., Any], *others: Any) -> Any:
        """What a function of Python makes of it, now and at each call."""
        return self.ledger.noted(function, self, *others)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        function = getattr(ufunc, method)
        inputs = tuple([entry[()] if isinstance(entry, np.ndarray) and not entry.ndim else entry for entry in inputs])
        if all([is_number(entry) for entry in inputs]) and not keywords:
            return self.ledger.noted(function, *inputs)
        return self.ledger.array_ufunc(ufunc, method, *inputs, **keywords)

    def __round__(self, digits: Any = None) -> Any:
        return self.noted(round, digits)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __getattr__(self, name: str) -> Any:
        if isinstance(self.example, np.generic):  # which has the methods of arrays
            return getattr(self.ledger.alone(self), name)
        raise AttributeError(f"{type(self.example).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"<{type(self.example).__name__} given to {self.ledger.name}>"


def is_number(value: object) -> bool:
    """A scalar, or one that a traced function is given."""
    return isinstance(value, GivenNumber) or is_scalar(value)


def _binary(function: Callable[[Any, Any], Any], is_reflected: bool = False) -> Callable[..., Any]:
    def method(self: GivenNumber, other: Any) -> Any:
        if not is_number(other):
            return NotImplemented
        return self.ledger.noted(function, *((other, self) if is_reflected else (self, other)))
    return method


def _unary(function: Callable[[Any], Any]) -> Callable[..., Any]:
    def method(self: GivenNumber) -> Any:
        return self.noted(function)
    return method


def _refusal(name: str) -> Callable[..., Any]:
    """What needs the number itself, which is another one at each call."""
    def method(self: GivenNumber, *arguments: Any, **keywords: Any) -> Any:
        raise WrongKind(f"a number that {self.ledger.name} is given has no value while it is traced", op=name,
                        got=repr(self), expected="what can be known without numbers",
                        help="static= names arguments for whose values the function is traced anew; nv.where chooses "
                             "between elements")
    return method


for _name in "add sub mul truediv floordiv mod pow and or xor lshift rshift".split():
    _function = getattr(operator, f"__{_name}__")
    setattr(GivenNumber, f"__{_name}__", _binary(_function))
    setattr(GivenNumber, f"__r{_name}__", _binary(_function, is_reflected=True))
for _name in "lt le gt ge eq ne".split():
    setattr(GivenNumber, f"__{_name}__", _binary(getattr(operator, _name)))
for _name in "neg pos abs invert".split():
    setattr(GivenNumber, f"__{_name}__", _unary(getattr(operator, _name)))
for _name in "trunc floor ceil".split():
    setattr(GivenNumber, f"__{_name}__", _unary(getattr(math, _name)))
for _name in "bool int float complex index len iter array".split():
    setattr(GivenNumber, f"__{_name}__", _refusal(_name))
