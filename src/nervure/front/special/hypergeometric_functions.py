"""Hypergeometric functions of real parameters and arguments.

>>> import nervure as nv
>>> round(nv.special.hyp1f1(1.0, 2.0, 1.0).item(), 4), round(nv.special.hyp2f1(1.0, 1.0, 2.0, -1.0).item(), 4)
(1.7183, 0.6931)
"""

from __future__ import annotations

from nervure.front.apply import special
from nervure.front.tensor import Operand, Tensor
from nervure.support.elsewhere import explain_keywords

__all__ = ["hyp1f1", "hyp2f1"]


def hyp1f1(a: Operand, b: Operand, x: Operand) -> Tensor:
    """Returns Kummer's function 1F1, the sum of (``a``)_k / (``b``)_k x**k / k! over all k (DLMF 13.2.2).

    It has all digits of float64 where parameters are up to 20 and x up to 30 in size; larger ones whose terms cancel to
    less than seven digits give NaN. It is infinite where ``b`` is 0, -1, -2, ... and no series ends before. Derivatives
    in x have any order; those in ``a`` and ``b`` are first ones, for x up to 500 in size.

    >>> nv.special.hyp1f1(0.5, 1.5, np.array([-4.0, 0.0])).numpy().round(4).tolist()
    [0.441, 1.0]
    """
    return special("hyp1f1", a, b, x)


def hyp2f1(a: Operand, b: Operand, c: Operand, x: Operand) -> Tensor:
    """Returns Gauss's function 2F1, the sum of (``a``)_k (``b``)_k / (``c``)_k x**k / k! over all k (DLMF 15.2.1).

    It is continued to all x below 1; above 1 it is NaN, unless ``a`` or ``b`` is 0, -1, -2, ... and makes it a
    polynomial. It has all digits of float64 where parameters are up to 20 in size; larger ones whose terms cancel to
    less than seven digits give NaN. It is infinite where ``c`` is 0, -1, -2, ... and no series ends before. Derivatives
    in x have any order; those in ``a``, ``b`` and ``c`` are first ones.

    >>> nv.special.hyp2f1(0.5, 1.0, 1.5, np.array([-1.0, 0.25])).numpy().round(4).tolist()
    [0.7854, 1.0986]
    """
    return special("hyp2f1", a, b, c, x)


explain_keywords(globals(), __all__)
