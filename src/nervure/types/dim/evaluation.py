"""Evaluation of dimensions, on Python's integers, NumPy's arrays and the values of generated code.

A polynomial is compiled to nested closures over four operations, in which dividing by 0 gives 0.

>>> from nervure.types.dim import dim
>>> n = dim("N")
>>> evaluate(n * n - 1, {"N": 3}), evaluate(n // (n - 1), {"N": 1}), evaluate_arrays(n, {"N": np.arange(3)}).tolist()
(8, 0, [0, 1, 2])
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from nervure.errors import InvalidArgument, WrongKind, did_you_mean
from nervure.types.dim.expression import Dim, DimLike, integer, parts
from nervure.types.dim.polynomial import Atom, Kind, Polynomial

Number = TypeVar("Number")
Value = TypeVar("Value")
Evaluator = Callable[[Mapping[str, Number]], Number]
Operation = Callable[[Number, Number], Number]


class Arithmetic(NamedTuple, Generic[Number]):
    """The operations that polynomials do not have themselves."""

    floor_divide: Operation[Number]
    remainder: Operation[Number]
    minimum: Operation[Number]
    maximum: Operation[Number]

    def operation(self, kind: Kind) -> Operation[Number]:
        return {Kind.FLOOR_DIVIDE: self.floor_divide, Kind.REMAINDER: self.remainder,
                Kind.MINIMUM: self.minimum, Kind.MAXIMUM: self.maximum, Kind.PRODUCT: operator.mul}[kind]


Integers = int | np.ndarray


def _by_array(of_arrays: Callable[..., np.ndarray]) -> Operation[Integers]:
    def divide(dividend: Integers, divisor: Integers) -> Integers:
        is_zero = np.equal(divisor, 0)
        return np.where(is_zero, 0, of_arrays(dividend, np.where(is_zero, 1, divisor)))

    return divide


def _either(of_numbers: Operation[int], of_arrays: Callable[..., Integers]) -> Operation[Integers]:
    """Returns an operation that is Python's, exact at any size, for two of its integers, and ``of_arrays`` otherwise.
    """
    def operate(left: Integers, right: Integers) -> Integers:
        if isinstance(left, int) and isinstance(right, int):
            return of_numbers(left, right)
        return of_arrays(left, right)

    return operate


def _floor_divide(dividend: int, divisor: int) -> int:
    return dividend // divisor if divisor else 0


def _remainder(dividend: int, divisor: int) -> int:
    return dividend % divisor if divisor else 0


_NUMBERS: Arithmetic[int] = Arithmetic(_floor_divide, _remainder, min, max)
_ARRAYS: Arithmetic[Integers] = Arithmetic(_either(_floor_divide, _by_array(np.floor_divide)),
                    _either(_remainder, _by_array(np.remainder)),
                    _either(min, np.minimum), _either(max, np.maximum))


def compiled(polynomial: Polynomial, arithmetic: Arithmetic[Number]) -> Evaluator[Number]:
    """Returns a function from the values of the symbols to the value of the polynomial."""
    offset = polynomial.terms.get((), 0)
    if polynomial.atom is not None:
        return _compiled_atom(polynomial.atom, arithmetic)
    terms = [(coefficient, [(_compiled_atom(atom, arithmetic), len(list(repeats)))
                            for atom, repeats in groupby(monomial)])
             for monomial, coefficient in polynomial.terms.items() if monomial]

    def value(bindings: Mapping[str, Number]) -> Number:
        total: Any = offset
        for coefficient, factors in terms:
            term: Any = coefficient
            for factor, exponent in factors:
                base: Any = factor(bindings)
                term = term * (base if exponent == 1 else base**exponent)
            total = total + term
        return total

    return value


def _compiled_atom(atom: Atom, arithmetic: Arithmetic[Number]) -> Evaluator[Number]:
    if atom.kind is Kind.SYMBOL:
        return operator.itemgetter(str(atom))
    operation = arithmetic.operation(atom.kind)
    operands = [compiled(operand, arithmetic) for operand in atom.operands]
    if len(operands) == 2:
        left, right = operands
        return lambda bindings: operation(left(bindings), right(bindings))
    return lambda bindings: functools.reduce(operation, (operand(bindings) for operand in operands))


def evaluate(x: DimLike, bindings: Mapping[str, int]) -> int:
    """Returns the value of x for the given values of symbols; dividing by 0 gives 0.

    Raises InvalidArgument, which names a symbol without a value.
    """
    if not isinstance(x, Dim):
        return parts(x, "evaluate")[0].constant or 0
    numbers = {}
    for name in x._polynomial.names:
        number = integer(_binding(bindings, name))
        if number is None:
            raise WrongKind(f"the value of {name} is not an integer", op="evaluate", operand=name,
                            got=repr(bindings[name]), expected="int")
        numbers[name] = number
    return compiled(x._polynomial, _NUMBERS)(numbers)


def evaluate_arrays(x: DimLike, bindings: Mapping[str, int | np.ndarray]) -> int | np.ndarray:
    """Returns the values of x for integer arrays as values of symbols, element by element, broadcast; in int64.

    Raises InvalidArgument for a symbol without a value and for a coefficient past 64 bits.
    """
    if not isinstance(x, Dim):
        return x
    values: dict[str, Integers] = {}
    for name in x._polynomial.names:
        value = _binding(bindings, name)
        values[name] = value.astype(np.int64, copy=False) if isinstance(value, np.ndarray) else value
    try:
        return compiled(x._polynomial, _ARRAYS)(values)
    except OverflowError:
        raise InvalidArgument("a number in this dimension does not fit 64 bits", op="evaluate_arrays",
                              got=str(x), expected="numbers below 2**63") from None


def evaluate_with(x: DimLike, values: Mapping[str, Number], floor_divide: Operation[Number],
                  remainder: Operation[Number], minimum: Operation[Number], maximum: Operation[Number]) -> Number | int:
    """Evaluates x over other numbers: the ``values`` of the symbols have ``+ * **`` of their own, and the other
    operations are given.
    """
    if not isinstance(x, Dim):
        return x
    return compiled(x._polynomial, Arithmetic(floor_divide, remainder, minimum, maximum))(values)


def compile_dim(x: DimLike) -> Callable[[Mapping[str, int]], int]:
    """Returns a function from bindings to the value of x: ``evaluate`` without checks, for repeated use."""
    if not isinstance(x, Dim):
        return lambda bindings: x
    return compiled(x._polynomial, _NUMBERS)


def _binding(bindings: Mapping[str, Value], name: str) -> Value:
    try:
        return bindings[name]
    except KeyError:
        raise InvalidArgument(f"the symbol {name} has no value", op="evaluate", operand=name,
                              got=f"values of {', '.join(sorted(bindings)) or 'no symbol'}",
                              expected=f"a value of {name}", help=did_you_mean(name, bindings)) from None
