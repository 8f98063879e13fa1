"""The gamma function and its relatives: incomplete and beta functions, zeta functions, factorials.

>>> import nervure as nv
>>> nv.special.gamma([1, 2, 3, 4, 5]).tolist(), round(nv.special.gammainc(2.0, 1.0).item(), 4)
([1.0, 1.0, 2.0, 6.0, 24.0], 0.2642)
"""

from __future__ import annotations

import math

from nervure.errors import WrongKind
from nervure.front.apply import is_weak, special
from nervure.front.argument_parsing import integer, truth
from nervure.front.creation import as_tensor
from nervure.front.op_functions import add, equal, floor, is_nan, less, multiply
from nervure.front.pointwise.elementwise import as_floats, both_as_floats, convert, where
from nervure.front.tensor import Operand, Tensor
from nervure.support.elsewhere import explain_keywords

__all__ = ["beta", "betainc", "boxcox", "boxcox1p", "comb", "factorial", "gamma", "gammainc", "gammaincc", "gammasgn",
           "kl_div", "poch", "polygamma", "zeta"]


def gamma(x: Operand) -> Tensor:
    """Returns the gamma function at x, (x - 1)! of whole numbers; NaN at -1, -2 and so on.

    >>> nv.special.gamma(np.array([0.5, 5.0])).numpy().round(4).tolist()
    [1.7725, 24.0]
    """
    return special("gamma", x)


def gammasgn(x: Operand) -> Tensor:
    """Returns the sign of the gamma function at x: 1 or -1, NaN at the poles -1, -2 and so on.

    >>> nv.special.gammasgn(np.array([-1.5, -0.5, 3.0])).tolist()
    [1.0, -1.0, 1.0]
    """
    own = as_floats(x, "gammasgn")
    whole = floor(own)
    is_odd = ~equal(multiply(floor(multiply(whole, 0.5)), 2.0), whole)
    sign = where(less(own, 0.0) & is_odd, -1.0, convert(equal(own, own), own.dtype))
    is_pole = less(own, 0.0) & equal(whole, own)
    return where(is_pole | is_nan(own), math.nan, where(equal(own, 0.0) & less(1 / own, 0.0), -1.0, sign))


def gammainc(a: Operand, x: Operand) -> Tensor:
    """Returns the regularised lower incomplete gamma function with the parameter ``a`` from 0 to x.

    Both are 0 or more; derivatives go to both. float64 keeps 12 digits up to parameters of 1e6, in the tails too.

    >>> round(nv.special.gammainc(0.5, 2.0).item(), 4)
    0.9545
    """
    return special("gammainc", a, x)


def gammaincc(a: Operand, x: Operand) -> Tensor:
    """Returns the regularised upper incomplete gamma function with the parameter ``a`` from x on: 1 - ``gammainc``.

    >>> round(nv.special.gammaincc(0.5, 2.0).item(), 4)
    0.0455
    """
    return special("gammaincc", a, x)


def betainc(a: Operand, b: Operand, x: Operand) -> Tensor:
    """Returns the regularised incomplete beta function with the parameters ``a`` and ``b`` from 0 to x in [0, 1].

    Derivatives go to all three. float64 keeps 12 digits up to parameters of 1e3.

    >>> round(nv.special.betainc(2.0, 3.0, 0.5).item(), 4)
    0.6875
    """
    return special("betainc", a, b, x)


def beta(a: Operand, b: Operand) -> Tensor:
    """Returns the beta function of ``a`` and ``b``: gamma(a) gamma(b) / gamma(a + b).

    >>> round(nv.special.beta(2.0, 3.0).item(), 4)
    0.0833
    """
    return special("beta", a, b)


def zeta(x: Operand, q: Operand = 1.0) -> Tensor:
    """Returns the zeta function of Hurwitz: the sum of (q + k)**-x over all k from 0 on, for x above 1.

    With ``q`` = 1 it is Riemann's. A negative ``q`` takes whole x.

    >>> round(nv.special.zeta(2.0).item(), 4)
    1.6449
    """
    return special("zeta", x, q)


def polygamma(n: Operand, x: Operand) -> Tensor:
    """Returns the derivative of the order ``n`` of ``nv.digamma`` at x.

    The order is a whole number, or integers, and has no derivative.

    >>> round(nv.special.polygamma(1, 1.0).item(), 4)
    1.6449
    """
    own = as_floats(x, "polygamma", 2)
    if is_weak(n):
        integer(n, "polygamma", "n", help="0 gives nv.digamma", least=0)
        return special("polygamma", n, own)
    order = as_tensor(n, "polygamma")
    if not order.dtype.is_integer:
        raise WrongKind("an order is a whole number", op="polygamma", operand="n", got=str(order.type),
                        expected="integers", help="convert it: n.astype(nv.int32)")
    return special("polygamma", convert(order, own.dtype), own)


# -- factorials, powers and entropies --------------------------------------------------------------------------------


def factorial(n: Operand) -> Tensor:
    """Returns n! as a float: the gamma function of ``n`` + 1, and 0 below 0.

    >>> nv.special.factorial([0, 1, 5, -1]).tolist()
    [1.0, 1.0, 120.0, 0.0]
    """
    return special("factorial", n)


def comb(n: Operand, k: Operand, repetition: bool = False) -> Tensor:
    """Returns the number of ways to choose ``k`` of ``n`` things, as a float; with ``repetition`` things may come
    again.

    It is 0 where ``k`` is negative, or more than can be chosen. Whole numbers below 1e15 are exact in float64.

    >>> nv.special.comb(np.array([5, 5, 5]), np.array([0, 2, 6])).tolist()
    [1.0, 10.0, 0.0]
    """
    many, few = both_as_floats(n, k, "comb")
    is_repeated = truth(repetition, "comb", "repetition")
    return special("comb", add(many, few) - 1 if is_repeated else many, few)


def poch(z: Operand, m: Operand) -> Tensor:
    """Returns gamma(z + m) / gamma(z), which is z (z + 1) ... (z + m - 1) of a whole ``m``.

    >>> round(nv.special.poch(3.0, 2.0).item(), 4)
    12.0
    """
    return special("poch", z, m)


def boxcox(x: Operand, lmbda: Operand) -> Tensor:
    """Returns (x**lmbda - 1) / lmbda of a positive x, and log(x) where ``lmbda`` is 0.

    >>> nv.special.boxcox(np.array([1.0, 3.0]), 2.0).numpy().round(4).tolist()
    [0.0, 4.0]
    """
    return special("boxcox", x, lmbda)


def boxcox1p(x: Operand, lmbda: Operand) -> Tensor:
    """Returns ``boxcox`` of 1 + x with the exponent ``lmbda``, exact near 0.

    >>> nv.special.boxcox1p(np.array([0.0, 2.0]), 2.0).numpy().round(4).tolist()
    [0.0, 4.0]
    """
    return special("boxcox1p", x, lmbda)


def kl_div(x: Operand, y: Operand) -> Tensor:
    """Returns x log(x / y) - x + y, whose sum over two distributions is the divergence of Kullback and Leibler.

    It is ``y`` where x is 0, and infinite where one of them is negative.

    >>> nv.special.kl_div(np.array([0.0, 1.0, 1.0]), np.array([2.0, 1.0, 2.0])).numpy().round(4).tolist()
    [2.0, 0.0, 0.3069]
    """
    return special("kl_div", x, y)


explain_keywords(globals(), __all__)
