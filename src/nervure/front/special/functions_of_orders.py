"""Functions of an order that is a number: Bessel functions of several orders, spherical harmonics.

>>> import nervure as nv
>>> nv.special.bessel_jn(np.array([1.0]), 2).numpy()[:, 0].round(4).tolist()
[0.7652, 0.4401, 0.1149]
>>> round(nv.real(nv.special.sph_harm_y(1, 0, 0.0, 0.0)).item(), 4)
0.4886
"""

from __future__ import annotations

import math

from nervure.errors import InvalidArgument
from nervure.front.apply import operand_tensors
from nervure.front.argument_parsing import integer
from nervure.front.arranging.filled import ones_like, zeros_like
from nervure.front.arranging.joining import MOST_PARTS, stack
from nervure.front.op_functions import absolute, add, cos, divide, less, less_equal, multiply, sin, subtract
from nervure.front.pointwise.complex_parts import complex as complex_number
from nervure.front.pointwise.elementwise import as_floats, convert, where
from nervure.front.special.bessel_functions import j0, j1
from nervure.front.tensor import Operand, Tensor
from nervure.support.elsewhere import explain_keywords
from nervure.types.dtype import float64

__all__ = ["bessel_jn", "sph_harm_y"]

MOST_ORDERS = 100
"""The largest order of a Bessel function: from 1 on, functions of this order fit float64."""

_TERMS = 10  # of the series up to 1, whose last one is below the precision


def bessel_jn(x: Operand, v: int) -> Tensor:
    """Returns Bessel functions of the first kind of the orders 0 to ``v`` at x, along a new axis in front.

    From the order on, the recurrence from the orders 0 and 1 gives them (DLMF 10.6.1), below it the recurrence from
    larger orders, which fall off (Miller, DLMF 3.6), up to 1 the series (DLMF 10.2.2). They are computed in float64.

    >>> nv.special.bessel_jn(np.array([0.0, 10.0]), 1).numpy().round(4).tolist()
    [[1.0, -0.2459], [0.0, 0.0435]]
    """
    last = integer(v, "bessel_jn", "v")
    if not 0 <= last <= MOST_ORDERS:
        raise InvalidArgument("there is no such order", op="bessel_jn", operand="v", got=last,
                              expected=f"0 to {MOST_ORDERS}", help="orders are whole numbers; J of -v is J of v, with "
                              "its sign changed for odd ones")
    own = as_floats(x, "bessel_jn")
    wide = convert(own, float64)
    size = absolute(wide)
    is_near, is_small = less_equal(size, float(last)), less(size, 1.0)
    far = _upwards(where(is_near, last + 1.0, wide), last)
    near = _downwards(where(is_near, where(is_small, 1.0, wide), 1.0), last)
    small = _series(where(is_small, wide, 0.0), last)
    found = [where(is_small, third, where(is_near, second, first))
             for first, second, third in zip(far, near, small, strict=True)]
    return convert(stack(found, pos=0), own.dtype)


def _upwards(x: Tensor, last: int) -> list[Tensor]:
    found = [j0(x), j1(x)]
    for k in range(1, last):
        found.append(subtract(multiply(divide(2.0 * k, x), found[k]), found[k - 1]))
    return found[:last + 1]


def _downwards(x: Tensor, last: int) -> list[Tensor]:
    """Returns the functions from a recurrence that begins far above the last order, and their sum, which is 1."""
    above, current = zeros_like(x), multiply(ones_like(x), 1e-300)
    found, total = [], zeros_like(x)
    first = last + math.ceil(math.sqrt(60.0 * last)) + 20
    first += first % 2
    for k in range(first, -1, -1):
        if k <= last:
            found.append(current)
        if k % 2 == 0:
            total = add(total, current if k == 0 else multiply(current, 2.0))
        above, current = current, subtract(multiply(divide(2.0 * k, x), current), above)
    return [divide(each, total) for each in reversed(found)]


def _series(x: Tensor, last: int) -> list[Tensor]:
    found, power = [], ones_like(x)
    quarter = multiply(multiply(x, x), -0.25)
    for k in range(last + 1):
        term = total = power
        for j in range(1, _TERMS):
            term = multiply(term, divide(quarter, float(j * (k + j))))
            total = add(total, term)
        found.append(total)
        power = multiply(power, divide(x, 2.0 * (k + 1)))
    return found


def sph_harm_y(n: int, m: int, theta: Operand, phi: Operand) -> Tensor:
    """Returns the spherical harmonic of degree ``n`` and order ``m`` at a polar angle ``theta`` and an azimuth ``phi``.

    It is complex, and orthonormal with the phase of Condon and Shortley, as scipy's (DLMF 14.30.1).

    >>> nv.special.sph_harm_y(1, 1, np.array([np.pi / 2]), np.array([0.0])).numpy().real.round(4).tolist()
    [-0.3455]
    """
    degree, order = integer(n, "sph_harm_y", "n"), integer(m, "sph_harm_y", "m")
    if not 0 <= degree <= MOST_PARTS or abs(order) > degree:
        raise InvalidArgument("there is no such harmonic", op="sph_harm_y", operand="m", got=f"n={degree}, m={order}",
                              expected=f"n from 0 to {MOST_PARTS}, m from -n to n", help="n is the degree, m the order")
    polar, azimuth = [as_floats(entry, "sph_harm_y") for entry in operand_tensors((theta, phi), "sph_harm_y", 3)]
    size = _legendre(degree, abs(order), cos(polar), sin(polar))
    if order < 0 and order % 2:
        size = multiply(size, -1.0)
    angle = multiply(azimuth, float(order))
    return complex_number(multiply(size, cos(angle)), multiply(size, sin(angle)))


def _legendre(n: int, m: int, x: Tensor, root: Tensor) -> Tensor:
    """Returns the normalised associated Legendre function at ``x``, whose ``root`` is that of 1 - x**2."""
    factor = math.sqrt((2 * m + 1) / (4 * math.pi) * math.prod([(2 * k - 1) / (2 * k) for k in range(1, m + 1)]))
    before, current = zeros_like(x), multiply(ones_like(x), (-1) ** m * factor)
    for _ in range(m):
        current = multiply(current, root)
    for k in range(m + 1, n + 1):
        scale = math.sqrt((4 * k * k - 1) / (k * k - m * m))
        share = math.sqrt(((k - 1) ** 2 - m * m) / (4 * (k - 1) ** 2 - 1)) if k > m + 1 else 0.0
        before, current = current, multiply(subtract(multiply(x, current), multiply(before, share)), scale)
    return current


explain_keywords(globals(), __all__)
