"""Functions around the error function and the normal distribution.

>>> import nervure as nv
>>> round(nv.special.erfcx(100.0).item(), 6), nv.special.ndtri([0.0, 0.5, 1.0]).tolist()
(0.005642, [-inf, 0.0, inf])
"""

from __future__ import annotations

from nervure.front.apply import special
from nervure.front.tensor import Operand, Tensor
from nervure.support.elsewhere import explain_keywords

__all__ = ["erfcx", "ndtri"]


def erfcx(x: Operand) -> Tensor:
    """Returns exp(x**2) erfc(x), which stays above 0 for large x.

    >>> round(nv.special.erfcx(1.0).item(), 4)
    0.4276
    """
    return special("erfcx", x)


def ndtri(p: Operand) -> Tensor:
    """Returns the number below which a normal number is with the chance ``p``: the inverse of ``nv.ndtr``.

    >>> round(nv.special.ndtri(0.975).item(), 4)
    1.96
    """
    return special("ndtri", p)


explain_keywords(globals(), __all__)
