"""The scalar namespace as statements: an op's expression, applied to variables, appends the statements that compute
it.

>>> from nervure.kernel.ir import Literal, Variable
>>> from nervure.types.dtype import bfloat16, float32
>>> statements = Statements()
>>> s = KernelScalars(statements)
>>> x = Variable(bfloat16)
>>> total = s.add(x, s.multiply(x, s.constant(2, x)))
>>> [statement.function for statement in statements.list], total.dtype
(['convert', 'multiply', 'add'], nervure.float32)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nervure.errors import InternalError
from nervure.kernel.ir import Apply, Index, Literal, Scalar, Statement, Variable, is_structural
from nervure.ops.scalar import SCALAR_FUNCTIONS, ScalarNamespace
from nervure.types.dim import DimLike
from nervure.types.dtype import DType, bool_, int64


class Statements:
    """A growing list of statements, in which nothing is computed twice."""

    def __init__(self) -> None:
        self.list: list[Statement] = []
        self._known: dict[Any, Variable] = {}

    def apply(self, function: str, operands: tuple[Scalar, ...], dtype: DType) -> Variable:
        """Applies a ``function`` of scalars to ``operands``."""
        key = (function, operands, dtype)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Variable(dtype)
            self.list.append(Apply(found, function, operands))
        return found

    def index(self, expression: DimLike) -> Scalar:
        """Returns an expression over loop indices, as int64. A length is no literal, so that kernels of other sizes
        are equal.
        """
        if is_structural(expression):
            return Literal(expression, int64)
        found = self._known.get(expression)
        if found is None:
            found = self._known[expression] = Variable(int64)
            self.list.append(Index(found, expression))
        return found

    def add(self, statement: Statement) -> None:
        """Appends a statement of any kind."""
        self.list.append(statement)


def converted(statements: Statements, x: Scalar, dtype: DType) -> Scalar:
    """Returns the scalar ``x`` in another type, with the meaning of ``convert``."""
    if x.dtype is dtype:
        return x
    if isinstance(x, Literal) and x.dtype.is_float and dtype is x.dtype.compute:
        return Literal(x.value, dtype)
    return statements.apply("convert", (x,), dtype)


class _Scalars(ScalarNamespace[Scalar]):
    """The functions that carry a type or a place, or that only move their operands."""

    def __init__(self, statements: Statements, at: Callable[[DimLike], Scalar] | None = None) -> None:
        self._statements, self._at = statements, at

    def constant(self, value: Any, like: Any) -> Scalar:
        dtype = (like if isinstance(like, DType) else like.dtype).compute
        return Literal(_number(value, dtype), dtype)

    def index(self, expression: DimLike) -> Scalar:
        if self._at is None:
            raise InternalError("an elementwise expression has no domain whose index it could read")
        return self._at(expression)

    def convert(self, x: Any, dtype: DType) -> Scalar:
        return converted(self._statements, x, dtype)

    def wrap(self, x: Any, dtype: DType) -> Scalar:
        return x if x.dtype is dtype else self._statements.apply("wrap", (x,), dtype)

    def bitcast(self, x: Any, dtype: DType) -> Scalar:
        return x if x.dtype is dtype else self._statements.apply("bitcast", (x,), dtype)

    def where(self, condition: Any, x: Any, y: Any) -> Scalar:
        if x.dtype is not y.dtype:
            x, y = self._wide(x), self._wide(y)
        return self._statements.apply("where", (condition, x, y), x.dtype)

    def is_nan(self, x: Any) -> Scalar:
        return self._asked("is_nan", x, otherwise=False)

    def is_inf(self, x: Any) -> Scalar:
        return self._asked("is_inf", x, otherwise=False)

    def is_finite(self, x: Any) -> Scalar:
        return self._asked("is_finite", x, otherwise=True)

    def _asked(self, function: str, x: Scalar, otherwise: bool) -> Scalar:
        """Applies a predicate of floats; for types without infinities the answer is known."""
        return self._apply(function, (x,)) if x.dtype.is_float or x.dtype.is_complex else Literal(otherwise, bool_)

    def _wide(self, x: Scalar) -> Scalar:
        return converted(self._statements, x, x.dtype.compute)

    def _apply(self, function: str, operands: tuple[Scalar, ...]) -> Scalar:
        operands = tuple([self._wide(entry) for entry in operands])
        return self._statements.apply(function, operands, SCALAR_FUNCTIONS[function].result(operands[0].dtype))


def _method(function: str) -> Any:
    def method(self: _Scalars, *operands: Scalar) -> Scalar:
        return self._apply(function, operands)
    return method


def _number(value: Any, dtype: DType) -> bool | int | float | complex:
    """Returns a number as the element type holds it."""
    if dtype.kind == "bool":
        return bool(value)
    if dtype.is_integer:
        return int(value)
    return complex(value) if dtype.is_complex else float(value)


_PLAIN = [name for name in SCALAR_FUNCTIONS if name not in vars(_Scalars)]

KernelScalars: Any = type("KernelScalars", (_Scalars,), {
    "__doc__": "The functions, each of which appends a statement.", **{name: _method(name) for name in _PLAIN}})
