"""The transform of Box and Cox, whose limit at the power 0 is the logarithm.

>>> import nervure as nv
>>> boxcox(nv.Parameter(nv.float64, (3,)).value, nv.Parameter(nv.float64, (3,)).value)
f64[3] Where(Equal, Add, Divide)
"""

from __future__ import annotations

import math

from nervure.ir.op import Operand, Value
from nervure.ops.arithmetic import Absolute
from nervure.ops.exponential import Expm1, Log, Log1p
from nervure.ops.formulas.formula_parts import exactly, less, where
from nervure.ops.formulas.table import formula


@formula(None, "positive", "normal")
def boxcox(x: Value, power: Value) -> Operand:
    """(x**power - 1) / power, and log(x) where the power is 0."""
    return _transform(Log(x).output, power)


@formula(None, "positive", "normal")
def boxcox1p(x: Value, power: Value) -> Operand:
    """``boxcox`` of 1 + x, without the rounding of the sum."""
    return _transform(Log1p(x).output, power)


def _transform(logarithm: Value, power: Value) -> Operand:
    is_zero = exactly(power, 0.0)
    safe = where(is_zero, 1.0, power)
    finite = where(less(Absolute(logarithm), math.inf), logarithm, 0.0)  # the second term is 0 at 0, and has a slope
    return where(is_zero, logarithm + power * finite * finite * 0.5, Expm1(safe * logarithm) / safe)
