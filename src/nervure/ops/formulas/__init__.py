"""The formulas of special functions: each is written once, over values of float64 in the graph.

:mod:`.table` has the rows that the op ``SpecialFunction`` reads; the other modules fill it.

>>> from nervure.ops import formulas
>>> formulas.bessel.i0e.__name__
'i0e'
"""

from __future__ import annotations

from nervure.ops.formulas import (
    bessel,
    complex_numbers,
    incomplete_beta,
    incomplete_gamma,
    integrals,
    normal_distribution,
    zeta,
)
from nervure.ops.formulas import gamma_function as gamma

__all__ = ["bessel", "complex_numbers", "gamma", "incomplete_beta", "incomplete_gamma", "integrals",
           "normal_distribution", "zeta"]
