"""A trace of Python numbers: those that a call gives, the computations on them in order, and the tensors they meet.

>>> from nervure.types.dtype import float16
>>> trace = NumberTrace("f", [3, 0.5])
>>> steps, rate = trace.given
>>> _ = (rate / steps).tensor(float16)
>>> trace.values, trace.replayed([4, 0.5])
([3, 0.5, 0.16666666666666666], [4, 0.5, 0.125])
>>> trace.arrays(trace.replayed([4, 0.5])), trace.replayed([4.0, 0.5])
([array(0.125, dtype=float16)], None)
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from nervure.errors import WrongKind
from nervure.front.creation import AssignableTensorOp, as_tensor, placeholder
from nervure.front.effects import Effect
from nervure.front.methods import array_ufunc
from nervure.front.tensor import Tensor
from nervure.front.traced_numbers import TracedNumber
from nervure.ir.leaves import fit_number
from nervure.types.dtype import DType
from nervure.types.foreign import is_array


class _Static(NamedTuple):
    """The place of a value among the static ones."""

    place: int


class NumberTrace:
    """The numbers ``given`` to the function ``name``, and a record of the computations on them. ``static`` has a copy
    of each static value that is a result, None in place of others.
    """

    def __init__(self, name: str, given: Sequence[object]) -> None:
        self.name, self.values, self.static = name, list(given), list[object]()
        self.given = [TracedNumber(value, self, slot) for slot, value in enumerate(given)]
        self._steps: list[tuple[Callable[..., object], tuple[object, ...]]] = []
        self._parameters: dict[tuple[int, DType], AssignableTensorOp] = {}

    @property
    def parameters(self) -> list[AssignableTensorOp]:
        """The placeholders without axes that stand for the numbers where they meet tensors."""
        return list(self._parameters.values())

    def noted(self, function: Callable[..., object], *operands: object) -> TracedNumber:
        """Returns the result of a function of Python, computed now and at each call."""
        self.values.append(self._applied(function, operands, self.values))
        self._steps.append((function, operands))
        return TracedNumber(self.values[-1], self, len(self.values) - 1)

    def tensor(self, number: TracedNumber, dtype: DType) -> Tensor:
        """Returns a number as a tensor of element type ``dtype``, which it must fit."""
        key = number.slot, dtype
        if key not in self._parameters:
            fit_number(number.example, dtype)
            self._parameters[key] = placeholder((), dtype)
        return self._parameters[key]

    def alone(self, number: TracedNumber) -> Tensor:
        """Returns a number that meets no tensor as a tensor of its own type."""
        return as_tensor(number)

    def array_ufunc(self, ufunc: np.ufunc, method: str, *inputs: object, **keywords: object) -> object:
        """Applies a function of NumPy's that has arrays among the numbers: the function of nv does."""
        read = [as_tensor(entry) if isinstance(entry, np.ndarray) else entry for entry in inputs]
        return array_ufunc(as_tensor(read[0]), ufunc, method, *read, **keywords)

    def replayed(self, given: Sequence[object]) -> list[object] | None:
        """Recomputes all values for other numbers; None if one has another type than when the function was traced."""
        values = list(given)
        for function, operands in self._steps:
            values.append(self._applied(function, operands, values))
        alike = all([type(mine) is type(theirs) for mine, theirs in zip(values, self.values, strict=True)])
        return values if alike else None

    def arrays(self, values: Sequence[object]) -> list[np.ndarray]:
        """Returns the arguments of the parameters for ``values``; InvalidArgument if one does not fit."""
        return [np.array(fit_number(values[slot], dtype), dtype.numpy) for slot, dtype in self._parameters]

    def kept(self, entries: Sequence[object], static: Sequence[object]) -> list[object]:
        """Returns entries of a result for later calls: static values by their places, all else in memory of its own."""
        found = {id(entry) for entry in entries}
        self.static = [_own(leaf) if id(leaf) in found else None for leaf in static]
        places = {id(leaf): _Static(at) for at, leaf in enumerate(static)}
        return [places.get(id(entry)) or _own(entry) for entry in entries]

    def value(self, entry: object, values: Sequence[object], static: Sequence[object]) -> object:
        """Returns a kept entry that is no tensor: a number by its value, a static one as the call has it, an effect as
        None. All else is in memory of the caller's own.
        """
        if isinstance(entry, TracedNumber):
            return values[self._slot(entry)]
        if isinstance(entry, _Static):
            return static[entry.place]
        return None if isinstance(entry, Effect) else _own(entry)

    def _applied(self, function: Callable[..., object], operands: Sequence[object], values: Sequence[object]) -> object:
        return function(*[values[self._slot(entry)] if isinstance(entry, TracedNumber) else entry
                          for entry in operands])

    def _slot(self, number: TracedNumber) -> int:
        if number.owner is not self:
            raise WrongKind(f"this number was given to another call, of {number.owner.name}", op=self.name,
                            got=repr(number), expected=f"a number that {self.name} is given",
                            help="pass it as an argument; a traced function keeps nothing for later calls")
        return number.slot


def _own(entry: object) -> object:
    """Returns an entry of a result in memory of its own, if it is of those that change."""
    if isinstance(entry, np.ndarray):
        return entry.copy(order="K")
    if isinstance(entry, (set, deque, bytearray)):
        return copy.copy(entry)
    is_foreign = is_array(entry) and not isinstance(entry, (np.generic, Tensor, TracedNumber))
    return copy.deepcopy(entry) if is_foreign else entry
