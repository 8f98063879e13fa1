"""Folding: functions with results known before the kernel runs. The rewrites keep every bit of every result.

>>> from nervure.kernel.ir import Variable
>>> from nervure.types.dtype import float32
>>> x = Variable(float32)
>>> folded(Apply(Variable(float32), "where", (Literal(True, bool_), x, Literal(0.0, float32)))) is x
True
>>> folded(Apply(Variable(float32), "add", (x, Literal(0.0, float32)))) is None        # x may be -0.0
True
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from nervure.kernel.ir import Apply, Body, Check, Literal, Load, Scalar, Simple, Statement, Store
from nervure.kernel.rewriting import Rewrite
from nervure.ops.scalar import SCALAR_FUNCTIONS
from nervure.support.replacing import replace
from nervure.types.dtype import DType, bool_, float32, float64

_EXACT_FLOAT = 1 << 24
"""The largest integer up to which all are numbers of float32."""

_OF_NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "maximum": max, "minimum": min,
    "floordivide": lambda x, y: x // y if y else 0, "modulo": lambda x, y: x % y if y else 0,
    "equal": operator.eq, "not_equal": operator.ne, "less": operator.lt, "less_equal": operator.le}

_OF_EQUALS: dict[str, bool | None] = {
    "bitwise_and": None, "bitwise_or": None, "maximum": None, "minimum": None,
    "equal": True, "less_equal": True, "not_equal": False, "less": False}
"""The results of functions of one integer and itself: the integer (None), or a truth value."""

_NEUTRAL = {"add": 0, "subtract": 0, "multiply": 1, "floordivide": 1, "shift_left": 0, "shift_right": 0,
            "bitwise_or": 0, "bitwise_xor": 0}
"""The right operands with which a function of integers returns the left one."""


def with_folded_scalars(body: Body) -> Body:
    """Uses known scalars: as results, and as conditions of loads, stores and checks."""
    return _Folding().block(body)


class _Folding(Rewrite):
    def simple(self, statement: Simple, out: list[Statement]) -> None:
        if isinstance(statement, Apply):
            found = folded(statement)
            if found is not None:
                self.replaced[statement.result] = found
                return
        elif isinstance(statement, Check):
            if isinstance(statement.condition, Literal) and statement.condition.value:
                return
        elif isinstance(statement, Load | Store) and isinstance(statement.valid, Literal):
            self._settled(statement, bool(statement.valid.value), out)
            return
        out.append(statement)

    def _settled(self, statement: Load | Store, valid: bool, out: list[Statement]) -> None:
        """Rewrites a load or store whose condition is known."""
        if isinstance(statement, Store):
            if valid:
                out.append(replace(statement, valid=None))
        elif valid:
            out.append(replace(statement, valid=None, fill=None))
        else:
            assert statement.fill is not None
            self.replaced[statement.result] = statement.fill


def folded(statement: Apply) -> Scalar | None:
    """Returns the scalar that a function gives, None if that is not known."""
    function, operands, dtype = statement.function, statement.operands, statement.result.dtype
    if function == "where":
        return _chosen(*operands)
    if function in ("convert", "wrap", "bitcast"):
        return _converted(function, operands[0], dtype)
    if len(operands) == 1:
        x = operands[0]
        is_not = function == "bitwise_not" and isinstance(x, Literal) and x.dtype is bool_
        return Literal(not x.value, bool_) if is_not and isinstance(x, Literal) else None
    first, second, *_ = operands
    if len(operands) != 2 or not (first.dtype.is_integer or first.dtype is bool_):
        return None
    if first == second and function in _OF_EQUALS:
        given = _OF_EQUALS[function]
        return first if given is None else Literal(given, bool_)
    if first.dtype is bool_:
        return _of_truths(function, first, second)
    return _of_integers(function, first, second, dtype)


def _chosen(condition: Scalar, x: Scalar, y: Scalar) -> Scalar | None:
    if isinstance(condition, Literal):
        return x if condition.value else y
    return x if x == y else None


def _converted(function: str, x: Scalar, dtype: DType) -> Scalar | None:
    if x.dtype is dtype:
        return x
    if not isinstance(x, Literal) or not isinstance(x.value, int) or not x.dtype.is_integer:
        return None
    if dtype.is_integer and _fits(x.value, dtype):
        return Literal(x.value, dtype)
    if function != "bitcast" and dtype in (float32, float64) and abs(x.value) <= _EXACT_FLOAT:
        return Literal(float(x.value), dtype)
    return None


def _of_truths(function: str, x: Scalar, y: Scalar) -> Scalar | None:
    """Returns and and or of truth values ``x`` and ``y``, if one is known."""
    if function not in ("bitwise_and", "bitwise_or"):
        return None
    known, other = (x, y) if isinstance(x, Literal) else (y, x)
    if not isinstance(known, Literal):
        return None
    return other if bool(known.value) is (function == "bitwise_and") else known


def _of_integers(function: str, x: Scalar, y: Scalar, dtype: DType) -> Scalar | None:
    if isinstance(x, Literal) and isinstance(y, Literal):
        compute = _OF_NUMBERS.get(function)
        value = None if compute is None else compute(x.value, y.value)
        return Literal(value, dtype) if value is not None and (dtype is bool_ or _fits(value, dtype)) else None
    if SCALAR_FUNCTIONS[function].is_commutative and isinstance(x, Literal):
        x, y = y, x
    if not isinstance(y, Literal) or isinstance(x, Literal):
        return None
    if y.value == 0 and function in ("multiply", "bitwise_and"):
        return y
    return x if function in _NEUTRAL and y.value == _NEUTRAL[function] else None


def _fits(value: Any, dtype: DType) -> bool:
    return dtype.minimum is not None and dtype.maximum is not None and dtype.minimum <= value <= dtype.maximum
