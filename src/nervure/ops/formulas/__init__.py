"""The formulas of special functions: each is written once, over values of float64 in the graph.

:mod:`.table` has the rows that the op ``SpecialFunction`` reads; the other modules fill it.

>>> from nervure.ops import formulas
>>> formulas.bessel.i0e.__name__, formulas.FORMULAS["i0e"].operands
('i0e', ('x',))
"""

from __future__ import annotations

from nervure.ops.formulas import (
    airy,
    bessel,
    box_cox,
    complex_numbers,
    entropies,
    gamma_function,
    hypergeometric,
    incomplete_beta,
    incomplete_gamma,
    integrals,
    normal_distribution,
    zeta,
)
from nervure.ops.formulas.complex_numbers import COMPLEX_FORMULAS
from nervure.ops.formulas.table import FORMULAS

__all__ = ["COMPLEX_FORMULAS", "FORMULAS", "airy", "bessel", "box_cox", "complex_numbers", "entropies",
           "gamma_function", "hypergeometric", "incomplete_beta", "incomplete_gamma", "integrals",
           "normal_distribution", "zeta"]
