"""Functions that are defined as integrals: exponential, sine and cosine integrals, and those with names of people.

>>> import nervure as nv
>>> round(nv.special.exp1(1.0).item(), 4), round(nv.special.sici(1.0)[0].item(), 4)
(0.2194, 0.9461)
"""

from __future__ import annotations

from nervure.front.apply import special
from nervure.front.creation import as_tensor
from nervure.front.pointwise.elementwise import as_floats, convert
from nervure.front.tensor import Operand, Tensor
from nervure.support.elsewhere import explain_keywords

__all__ = ["dawsn", "exp1", "expi", "expn", "fresnel", "owens_t", "sici", "spence"]


def exp1(x: Operand) -> Tensor:
    """Returns the exponential integral of exp(-t) / t from a positive x on.

    >>> round(nv.special.exp1(2.0).item(), 4)
    0.0489
    """
    return special("exp1", x)


def expi(x: Operand) -> Tensor:
    """Returns the principal value of the integral of exp(t) / t up to x.

    >>> round(nv.special.expi(1.0).item(), 4)
    1.8951
    """
    return special("expi", x)


def expn(n: Operand, x: Operand) -> Tensor:
    """Returns the exponential integral of the order ``n``, of exp(-x t) / t**n from 1 on.

    The order is a whole number and has no derivative; NaN for others.

    >>> round(nv.special.expn(2, 1.0).item(), 4)
    0.1485
    """
    own = as_floats(x, "expn", 2)
    return special("expn", n if isinstance(n, (int, float)) else convert(as_tensor(n, "expn"), own.dtype), own)


def dawsn(x: Operand) -> Tensor:
    """Returns Dawson's function: exp(-x**2) times the integral of exp(t**2) from 0 to x.

    >>> round(nv.special.dawsn(1.0).item(), 4)
    0.5381
    """
    return special("dawsn", x)


def sici(x: Operand) -> tuple[Tensor, Tensor]:
    """Returns the sine integral and the cosine integral of x; the second one takes positive numbers.

    >>> [round(part.item(), 4) for part in nv.special.sici(2.0)]
    [1.6054, 0.423]
    """
    return special("sine_integral", x), special("cosine_integral", x)


def fresnel(x: Operand) -> tuple[Tensor, Tensor]:
    """Returns Fresnel's integrals of sin(pi t**2 / 2) and of cos(pi t**2 / 2) from 0 to x.

    >>> [round(part.item(), 4) for part in nv.special.fresnel(1.0)]
    [0.4383, 0.7799]
    """
    return special("fresnel_sine", x), special("fresnel_cosine", x)


def spence(x: Operand) -> Tensor:
    """Returns Spence's function, the integral of log(t) / (1 - t) from 1 to x: the dilogarithm of 1 - x.

    >>> round(nv.special.spence(0.0).item(), 4)
    1.6449
    """
    return special("spence", x)


def owens_t(h: Operand, a: Operand) -> Tensor:
    """Returns Owen's function: the chance that a normal number is above ``h`` and another between 0 and ``a`` times it.

    >>> round(nv.special.owens_t(0.0, 1.0).item(), 4)
    0.125
    """
    return special("owens_t", h, a)


explain_keywords(globals(), __all__)
