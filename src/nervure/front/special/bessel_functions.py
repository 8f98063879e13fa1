"""Bessel functions of the orders 0 and 1, and Airy's function.

>>> import nervure as nv
>>> nv.special.i0(0.0).item(), round(nv.special.j0(2.404825557695773).item(), 6)
(1.0, 0.0)
"""

from __future__ import annotations

from nervure.front.apply import special
from nervure.front.op_functions import equal, sin, subtract
from nervure.front.pointwise.elementwise import as_floats, where
from nervure.front.tensor import Operand, Tensor
from nervure.support.elsewhere import explain_keywords

__all__ = ["airy_ai", "i0", "i0e", "i1", "i1e", "j0", "j1", "k0", "k0e", "k1", "k1e", "spherical_bessel_j0", "y0", "y1"]


def i0(x: Operand) -> Tensor:
    """Returns the modified Bessel function of the first kind and the order 0 at x.

    >>> round(nv.special.i0(1.0).item(), 4)
    1.2661
    """
    return special("i0", x)


def i0e(x: Operand) -> Tensor:
    """Returns exp(-abs(x)) times ``i0`` of x, which stays finite.

    >>> round(nv.special.i0e(1000.0).item(), 4)
    0.0126
    """
    return special("i0e", x)


def i1(x: Operand) -> Tensor:
    """Returns the modified Bessel function of the first kind and the order 1 at x.

    >>> round(nv.special.i1(1.0).item(), 4)
    0.5652
    """
    return special("i1", x)


def i1e(x: Operand) -> Tensor:
    """Returns exp(-abs(x)) times ``i1`` of x, which stays finite.

    >>> round(nv.special.i1e(1000.0).item(), 4)
    0.0126
    """
    return special("i1e", x)


def k0(x: Operand) -> Tensor:
    """Returns the modified Bessel function of the second kind and the order 0 at a positive x.

    >>> round(nv.special.k0(1.0).item(), 4)
    0.421
    """
    return special("k0", x)


def k0e(x: Operand) -> Tensor:
    """Returns exp(x) times ``k0`` of x, which does not vanish.

    >>> round(nv.special.k0e(1000.0).item(), 4)
    0.0396
    """
    return special("k0e", x)


def k1(x: Operand) -> Tensor:
    """Returns the modified Bessel function of the second kind and the order 1 at a positive x.

    >>> round(nv.special.k1(1.0).item(), 4)
    0.6019
    """
    return special("k1", x)


def k1e(x: Operand) -> Tensor:
    """Returns exp(x) times ``k1`` of x, which does not vanish.

    >>> round(nv.special.k1e(1000.0).item(), 4)
    0.0396
    """
    return special("k1e", x)


def j0(x: Operand) -> Tensor:
    """Returns the Bessel function of the first kind and the order 0 at x.

    >>> round(nv.special.j0(1.0).item(), 4)
    0.7652
    """
    return special("j0", x)


def j1(x: Operand) -> Tensor:
    """Returns the Bessel function of the first kind and the order 1 at x.

    >>> round(nv.special.j1(1.0).item(), 4)
    0.4401
    """
    return special("j1", x)


def y0(x: Operand) -> Tensor:
    """Returns the Bessel function of the second kind and the order 0 at a positive x.

    >>> round(nv.special.y0(1.0).item(), 4)
    0.0883
    """
    return special("y0", x)


def y1(x: Operand) -> Tensor:
    """Returns the Bessel function of the second kind and the order 1 at a positive x.

    >>> round(nv.special.y1(1.0).item(), 4)
    -0.7812
    """
    return special("y1", x)


def spherical_bessel_j0(x: Operand) -> Tensor:
    """Returns sin(x) / x, the spherical Bessel function of the order 0, and 1 at x = 0.

    >>> nv.special.spherical_bessel_j0(np.array([0.0, 1.0])).numpy().round(4).tolist()
    [1.0, 0.8415]
    """
    own = as_floats(x, "spherical_bessel_j0")
    at_zero = equal(own, 0.0)
    safe = where(at_zero, 1.0, own)
    return where(at_zero, subtract(1.0, own * own / 6), sin(safe) / safe)


def airy_ai(x: Operand) -> Tensor:
    """Returns Airy's function of the first kind at x, which solves y'' = x y and vanishes for large x.

    >>> nv.special.airy_ai(np.array([-2.0, 0.0, 1.0])).numpy().round(4).tolist()
    [0.2274, 0.355, 0.1353]
    """
    return special("airy_ai", x)


explain_keywords(globals(), __all__)
