"""Functions around the error function and the normal distribution.

>>> import nervure as nv
>>> round(nv.special.erfcx(100.0).item(), 6), nv.special.ndtri([0.0, 0.5, 1.0]).tolist()
(0.005642, [-inf, 0.0, inf])
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from nervure.front.apply import special
from nervure.front.arranging.filled import full_like
from nervure.front.creation import as_tensor
from nervure.front.op_functions import add, divide, exp, less, multiply, square, subtract
from nervure.front.pointwise.complex_parts import imag
from nervure.front.pointwise.elementwise import convert, where
from nervure.front.tensor import Operand, Tensor
from nervure.support.elsewhere import explain_keywords
from nervure.types.dtype import complex128

__all__ = ["erfcx", "ndtri", "wofz"]


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


def wofz(z: Operand) -> Tensor:
    """Returns exp(-z**2) erfc(-i z) of complex numbers ``z``, which is also known as the Faddeeva function.

    It is Weideman's rational function ("Computation of the complex error function", 1994) with 48 terms, in
    complex128, within 1e-12 of the size; below the real axis it follows from the value at -z.

    >>> nv.special.wofz(np.array([1j])).numpy().round(4).tolist()
    [(0.4276+0j)]
    """
    own = as_tensor(z, "wofz")
    wide = convert(own, complex128)
    is_below = less(imag(wide), 0.0)
    upper = where(is_below, multiply(wide, -1.0), wide)
    scale, coefficients = _weideman(48)
    along = multiply(upper, 1j)
    rest = divide(1.0, subtract(scale, along))
    ratio = multiply(add(along, scale), rest)
    total = full_like(wide, complex(coefficients[0]))
    for each in coefficients[1:]:
        total = add(multiply(total, ratio), complex(each))
    found = multiply(rest, add(multiply(multiply(total, rest), 2.0), 1 / math.sqrt(math.pi)))
    mirrored = subtract(multiply(exp(multiply(square(where(is_below, wide, 0.0)), -1.0)), 2.0), found)
    found = where(is_below, mirrored, found)
    return convert(found, own.dtype if own.dtype.is_complex else complex128)


@cache
def _weideman(terms: int) -> tuple[float, list[float]]:
    """Returns the scale of Weideman's ratio, and the coefficients of its polynomial, the highest first."""
    scale = math.sqrt(terms / math.sqrt(2))
    angles = np.arange(-2 * terms + 1, 2 * terms) * math.pi / (2 * terms)
    t = scale * np.tan(angles / 2)
    values = np.concatenate([[0.0], np.exp(-t**2) * (scale**2 + t**2)])
    found = np.real(np.fft.fft(np.fft.fftshift(values))) / (4 * terms)
    return scale, found[1:terms + 1][::-1].tolist()


explain_keywords(globals(), __all__)
