"""Index expressions over coordinates that are data: integer arithmetic as statements.

>>> from nervure.kernel.ir import Variable
>>> from nervure.kernel.lower.scalars import Statements
>>> from nervure.types.dim import index
>>> statements = Statements()
>>> _ = evaluated(index(1000) // 4 + index(0), {"%1000": Variable(int64)}, statements)
>>> [getattr(entry, "function", "index") for entry in statements.list]
['index', 'floordivide', 'add']
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nervure.kernel.ir import Literal, Scalar
from nervure.kernel.lower.scalars import KernelScalars, Statements
from nervure.types.dim import Dim, DimLike, declared_symbols, evaluate_with
from nervure.types.dtype import int64


class Integer:
    """An int64 scalar with the operators that polynomials are evaluated with."""

    def __init__(self, scalar: Scalar, s: Any) -> None:
        self.scalar, self._s = scalar, s

    def __add__(self, other: Integer | int) -> Integer:
        return self if isinstance(other, int) and other == 0 else self.operated("add", other)

    def __mul__(self, other: Integer | int) -> Integer:
        return self if isinstance(other, int) and other == 1 else self.operated("multiply", other)

    __radd__, __rmul__ = __add__, __mul__

    def __pow__(self, exponent: int) -> Integer:
        power = self
        for _ in range(exponent - 1):
            power = power * self
        return power

    def operated(self, function: str, other: Integer | int) -> Integer:
        """A function of two integers."""
        right = other.scalar if isinstance(other, Integer) else Literal(other, int64)
        return Integer(getattr(self._s, function)(self.scalar, right), self._s)


def evaluated(expression: DimLike, data: Mapping[str, Scalar], statements: Statements) -> Scalar:
    """An expression in which some indices are scalars, as statements. Dividing by 0 gives 0."""
    if not isinstance(expression, Dim):
        return Literal(expression, int64)
    s = KernelScalars(statements)
    known = {str(symbol): symbol for symbol in declared_symbols(expression)}
    values = {name: Integer(data[name] if name in data else statements.index(known[name]), s) for name in sorted(known)}

    def operation(function: str) -> Any:
        def operate(left: Integer | int, right: Integer | int) -> Integer:
            first = left if isinstance(left, Integer) else Integer(Literal(left, int64), s)
            return first.operated(function, right)
        return operate

    total = evaluate_with(expression, values, *map(operation, ("floordivide", "modulo", "minimum", "maximum")))
    return total.scalar if isinstance(total, Integer) else Literal(total, int64)
