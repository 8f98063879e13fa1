"""Failures of checks in kernels: an index out of range, or a condition that does not hold. Kernels report a number;
this module has its meaning.

>>> import nervure as nv
>>> x, k = nv.Parameter(nv.float32, (5,)), nv.Parameter(nv.int64, (2,))
>>> failure = IndexFailure(nv.ops.Gather(x, k, 0), 1)
>>> failure.bound({})
5
>>> print(failure.error(7, (0,), {}).got)
7 at position (0,)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from nervure.errors import IndexOutOfRange, NervureError
from nervure.ir.kinds import Element
from nervure.ir.op import Op, Value
from nervure.ops.effects import Guard
from nervure.types.dim import evaluate


class Failure(Protocol):
    """A failure that a check of a kernel may find."""

    @property
    def checked(self) -> Value:
        """The value whose elements are checked."""

    def wrong(self, values: np.ndarray, bindings: Mapping[str, int]) -> np.ndarray:
        """Marks the elements of ``values`` that are reported."""

    def error(self, value: object, position: tuple[int, ...] | None, bindings: Mapping[str, int]) -> NervureError:
        """Returns the error of a call in which an element has this value, at a position if it is known."""


class IndexFailure(NamedTuple):
    """An operand of indices, by its number in the op that reads or writes at these indices."""

    op: Op
    operand: int

    @property
    def checked(self) -> Value:
        """The indices."""
        return self.op.operands[self.operand]

    def wrong(self, values: np.ndarray, bindings: Mapping[str, int]) -> np.ndarray:
        """Marks the indices that are out of range."""
        bound = self.bound(bindings)
        return np.logical_or(values < (-bound if self.element.from_end else 0), values >= bound)

    def bound(self, bindings: Mapping[str, int]) -> int:
        """Returns the length of the axis that the indices refer to."""
        return evaluate(self.element.bound, bindings)

    @property
    def element(self) -> Element:
        """The coordinate that the indices give."""
        op: Any = self.op
        structure = op.structure(*[entry.type for entry in op.operands])
        accesses = [*[access for access in structure.reads if access is not None], *structure.writes]
        elements = [entry for access in accesses for entry in access.coordinates
                    if isinstance(entry, Element) and entry.operand == self.operand]
        return elements[0]

    def error(self, value: object, position: tuple[int, ...] | None, bindings: Mapping[str, int]) -> NervureError:
        """Returns an error with the index ``value`` and the range."""
        bound, got = self.bound(bindings), str(value) if position is None else f"{value} at position {position}"
        return self.op.fail(IndexOutOfRange, f"index {got} is out of range",
                            operand=self.op.operand_label(self.operand), got=got, **self.element.refused(bound))


class ConditionFailure(NamedTuple):
    """The condition of a guard."""

    op: Guard

    @property
    def checked(self) -> Value:
        """The condition."""
        return self.op.operands[0]

    def wrong(self, values: np.ndarray, bindings: Mapping[str, int]) -> np.ndarray:
        """Marks the elements for which it does not hold."""
        return np.logical_not(values)

    def error(self, value: object, position: tuple[int, ...] | None, bindings: Mapping[str, int]) -> NervureError:
        """Returns the guard's own error, at a ``position`` if it is known."""
        return self.op.failure(position)
