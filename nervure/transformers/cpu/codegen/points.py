"""A loop's body at one point: its indices replaced by numbers or expressions, its variables by new ones.

>>> from nervure.kernel.ir import Buffer
>>> from nervure.types.dtype import float32
>>> x, y = Buffer("x", float32, 12, "in"), Variable(float32)
>>> body, values = at_point([Load(y, x, Address(1, (("%0", 4), ("%1", 1))))], [y], {"%1": 2})
>>> body[0].address, values[0] is body[0].result, values[0] is y
(Address(base=3, steps=(('%0', 4),), terms=()), True, False)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nervure.errors import InternalError
from nervure.kernel.ir import (
    Address,
    Apply,
    Check,
    Fold,
    For,
    Index,
    Load,
    Reduce,
    Scalar,
    Statement,
    Store,
    Variable,
)
from nervure.types.dim import DimLike, substitute


def at_point(body: Iterable[Statement], values: Iterable[Scalar],
             point: Mapping[str, DimLike]) -> tuple[list[Statement], list[Scalar]]:
    """The statements and values of a body where its indices have these numbers."""
    copy = _Copy(point)
    return copy.statements(body), copy.scalars(values)


class _Copy:
    def __init__(self, point: Mapping[str, DimLike]) -> None:
        self._point = point
        self._variables: dict[Any, Variable] = {}

    def statements(self, body: Iterable[Statement]) -> list[Statement]:
        return [self._statement(entry) for entry in body]

    def scalars(self, values: Iterable[Scalar]) -> list[Scalar]:
        return [self._variables.get(value, value) for value in values]

    def _scalar(self, x: Any) -> Any:
        return self._variables.get(x, x)

    def _new(self, variables: Sequence[Variable]) -> tuple[Variable, ...]:
        for variable in variables:
            self._variables[variable] = Variable(variable.dtype)
        return tuple([self._variables[variable] for variable in variables])

    def _dim(self, x: DimLike) -> DimLike:
        return substitute(x, self._point)

    def _address(self, address: Address) -> Address:
        base = self._dim(address.base)
        for index, step in address.steps:
            if index in self._point:
                base = base + step * self._point[index]
        steps = tuple([(index, step) for index, step in address.steps if index not in self._point])
        return Address(base, steps, tuple([(stride, self._scalar(x)) for stride, x in address.terms]))

    def _statement(self, entry: Statement) -> Statement:
        match entry:
            case Apply():
                operands = tuple(self.scalars(entry.operands))
                return replace(entry, operands=operands, result=self._new([entry.result])[0])
            case Index():
                return Index(self._new([entry.result])[0], self._dim(entry.expression))
            case Load():
                valid, fill = self._scalar(entry.valid), self._scalar(entry.fill)
                return Load(self._new([entry.result])[0], entry.buffer, self._address(entry.address), valid, fill)
            case Store():
                return replace(entry, address=self._address(entry.address), value=self._scalar(entry.value),
                               valid=self._scalar(entry.valid))
            case Check():
                return Check(self._scalar(entry.condition), entry.failure, self._scalar(entry.value))
            case For():
                return replace(entry, extent=self._dim(entry.extent), body=tuple(self.statements(entry.body)))
            case Reduce() | Fold():
                return self._loop(entry)
        raise InternalError(f"a loop has no statement {entry!r}")

    def _loop(self, entry: Reduce | Fold) -> Statement:
        indices = tuple([(index, self._dim(extent)) for index, extent in entry.indices])
        body = tuple(self.statements(entry.body))
        values = tuple(self.scalars(entry.values))
        if isinstance(entry, Reduce):
            return Reduce(self._new(entry.results), entry.combine, indices, body, values)
        left, right = self._new(entry.left), self._new(entry.right)
        combine = tuple(self.statements(entry.combine))
        return Fold(self._new(entry.results), indices, body, values, left, right, combine,
                    tuple(self.scalars(entry.combined)))
