"""Inverse Gaussian numbers: the times at which Brownian motion with a drift reaches a level first.

>>> import nervure as nv
>>> mean = nv.variable((), 2.0)
>>> x = nv.random.wald((50_000,), mean, 5.0)
>>> average, slope = nv.computation([nv.mean(x), nv.deriv(nv.mean(x), mean)])()
>>> bool(abs(average - 2) < 0.05), bool(abs(slope - 1) < 0.05)
(True, True)

They are drawn by the method of Michael, Schucany and Haas (1976). Derivatives for mean and scale are those of implicit
differentiation (Figurnov et al. 2018) of the distribution function of Shuster (1968).
"""

from __future__ import annotations

import math

from nervure.front.custom import custom_vjp
from nervure.front.evaluation_order import in_order
from nervure.front.op_functions import add, divide, exp, less_equal, multiply, negative, sqrt, square, subtract
from nervure.front.pointwise.elementwise import stop_gradient, where
from nervure.front.random import normal, uniform
from nervure.front.special.special_functions import log_ndtr
from nervure.front.tensor import Operand, Tensor
from nervure.random.numbers import finished, floats, parameter, spread
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import AxesLike
from nervure.types.dtype import DTypeLike, float32


@in_order
def wald(axes: AxesLike, mean: Operand = 1.0, scale: Operand = 1.0, dtype: DTypeLike = float32) -> Tensor:
    """Draws from Wald's distribution with a ``mean``, whose variance is mean ** 3 / ``scale``; both are positive.

    >>> x = nv.evaluate(nv.random.wald((10_000,), 2.0, 10.0))
    >>> bool(x.min() > 0), bool(abs(x.mean() - 2) < 0.1), bool(abs(x.var() - 0.8) < 0.15)
    (True, True, True)
    """
    own, wanted, working = floats(axes, dtype, "wald")
    centre, width = [spread(parameter(value, "wald", name, 0.0), own, working, "wald")
                     for value, name in ((mean, "mean"), (scale, "scale"))]
    at, shape = stop_gradient(centre), stop_gradient(width)
    w = multiply(at, square(normal(own, dtype=working)))
    half = divide(add(w, sqrt(multiply(w, add(w, multiply(shape, 4.0))))), multiply(shape, 2.0))
    larger = add(at, multiply(at, half))  # of two roots, whose product is the square of the mean
    smaller = divide(at, add(1.0, half))
    chosen = less_equal(multiply(uniform(own, dtype=working), add(at, smaller)), at)
    return finished(_with_slopes(centre, width, stop_gradient(where(chosen, smaller, larger))), own, wanted, "wald")


def _slopes(gradient: Tensor, mean: Tensor, scale: Tensor, x: Tensor) -> tuple[Tensor, Tensor, None]:
    """Returns the gradients for mean and scale: minus the slope of the distribution function over the density at x."""
    root = sqrt(divide(scale, x))
    t = multiply(root, add(divide(x, mean), 1.0))
    tail = multiply(exp(add(log_ndtr(negative(t)), multiply(square(t), 0.5))), math.sqrt(2 * math.pi))
    density = divide(root, x)
    of_mean = divide(multiply(divide(multiply(scale, 2.0), square(mean)), tail), density)
    of_scale = divide(subtract(divide(1.0, multiply(root, x)), multiply(divide(2.0, mean), tail)), density)
    return multiply(gradient, of_mean), multiply(gradient, of_scale), None


_with_slopes = custom_vjp(lambda mean, scale, x: x, _slopes)

__all__ = ["wald"]

explain_keywords(globals(), __all__)
