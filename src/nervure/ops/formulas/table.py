"""The table of special functions: a row has the formula of one, its slopes, and where it is smooth.

>>> from nervure.ops.formulas.table import FORMULAS
>>> FORMULAS["gammainc"].operands, FORMULAS["i0e"].sample
(('a', 'x'), ('normal',))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nervure.ir.op import Operand, Value, registry

Slopes = Callable[..., Sequence[Operand | None]]
"""``slopes(result, *operands)`` gives the derivative in each operand: a value, or None for zero."""


@dataclass(frozen=True, slots=True)
class FormulaRow:
    """The ``formula`` of a function gives its value from values of float64.

    ``slopes`` are its derivatives; without them those of the formula are taken. ``sample`` says for each operand where
    it is smooth, as that of scalar functions does.
    """

    formula: Callable[..., Operand]
    slopes: Slopes | None
    sample: tuple[str, ...]
    operands: tuple[str, ...]


FORMULAS: dict[str, FormulaRow] = {}
"""The special functions by name."""


def formula(slopes: Slopes | None = None, *sample: str) -> Callable[[Callable[..., Operand]], Callable[..., Operand]]:
    """Declares the function below as the formula of the special function of its name."""
    def declare(function: Callable[..., Operand]) -> Callable[..., Operand]:
        code = function.__code__
        operands = code.co_varnames[:code.co_argcount]
        FORMULAS[function.__name__] = FormulaRow(function, slopes, sample or ("normal",), operands)
        return function
    return declare


def special(name: str, *operands: Operand) -> Value:
    """Returns a special function of values, as an op of its own."""
    return registry["SpecialFunction"](*operands, function=name).outputs[0]
