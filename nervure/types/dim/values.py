"""Evaluation of polynomials, on Python's integers and on NumPy's arrays alike.

A polynomial is compiled to nested closures over four operations, in which dividing by 0 gives 0.

>>> from nervure.types.dim.polynomial import symbol
>>> n = symbol("N")
>>> compiled(n * n - 1, NUMBERS)({"N": 3}), compiled(n * 2, ARRAYS)({"N": np.arange(3)}).tolist()
(8, [0, 2, 4])
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from nervure.types.dim.polynomial import Atom, Kind, Polynomial

Number = Any  # int or ndarray of int64, as the arithmetic has it
Evaluator = Callable[[Mapping[str, Number]], Number]
Operation = Callable[[Number, Number], Number]


class Arithmetic(NamedTuple):
    """The operations that polynomials are not made of."""

    floor_divide: Operation
    remainder: Operation
    minimum: Operation
    maximum: Operation

    def operation(self, kind: Kind) -> Operation:
        return {Kind.FLOOR_DIVIDE: self.floor_divide, Kind.REMAINDER: self.remainder,
                Kind.MINIMUM: self.minimum, Kind.MAXIMUM: self.maximum, Kind.PRODUCT: operator.mul}[kind]


def _by_array(of_arrays: Operation) -> Operation:
    def divide(dividend: Number, divisor: Number) -> Number:
        is_zero = np.equal(divisor, 0)
        return np.where(is_zero, 0, of_arrays(dividend, np.where(is_zero, 1, divisor)))

    return divide


def _either(of_numbers: Operation, of_arrays: Operation) -> Operation:
    """Python's operation where both operands are its integers: exact at any size."""
    def operate(left: Number, right: Number) -> Number:
        if isinstance(left, int) and isinstance(right, int):
            return of_numbers(left, right)
        return of_arrays(left, right)

    return operate


def _floor_divide(dividend: int, divisor: int) -> int:
    return dividend // divisor if divisor else 0


def _remainder(dividend: int, divisor: int) -> int:
    return dividend % divisor if divisor else 0


NUMBERS = Arithmetic(_floor_divide, _remainder, min, max)
ARRAYS = Arithmetic(_either(_floor_divide, _by_array(np.floor_divide)),
                    _either(_remainder, _by_array(np.remainder)),
                    _either(min, np.minimum), _either(max, np.maximum))


def compiled(polynomial: Polynomial, arithmetic: Arithmetic) -> Evaluator:
    """A function from the values of the symbols to the value of the polynomial."""
    offset = polynomial.terms.get((), 0)
    if polynomial.atom is not None:
        return _compiled_atom(polynomial.atom, arithmetic)
    terms = [(coefficient, [(_compiled_atom(atom, arithmetic), len(list(repeats)))
                            for atom, repeats in groupby(monomial)])
             for monomial, coefficient in polynomial.terms.items() if monomial]

    def value(bindings: Mapping[str, Number]) -> Number:
        total: Number = offset
        for coefficient, factors in terms:
            term: Number = coefficient
            for factor, exponent in factors:
                term = term * (factor(bindings) if exponent == 1 else factor(bindings)**exponent)
            total = total + term
        return total

    return value


def _compiled_atom(atom: Atom, arithmetic: Arithmetic) -> Evaluator:
    if atom.kind is Kind.SYMBOL:
        return operator.itemgetter(str(atom))
    operation = arithmetic.operation(atom.kind)
    operands = [compiled(operand, arithmetic) for operand in atom.operands]
    if len(operands) == 2:
        left, right = operands
        return lambda bindings: operation(left(bindings), right(bindings))
    return lambda bindings: functools.reduce(operation, (operand(bindings) for operand in operands))
