"""Orthogonal polynomials by their recurrences of three terms (DLMF 18.9).

The order ``n`` is a number, or a tensor of an order for each element of x: a loop then, without derivatives, which
gives 0 for orders below 0.

>>> import nervure as nv
>>> nv.special.chebyshev_t(3, np.array([0.5, 1.0])).tolist(), nv.special.legendre_p(2, 0.0).item()
([-1.0, 1.0], -0.5)
"""

from __future__ import annotations

from collections.abc import Callable

from nervure.errors import InvalidArgument
from nervure.front.argument_parsing import as_integer
from nervure.front.arranging.filled import ones_like
from nervure.front.arranging.gathering import as_index
from nervure.front.arranging.joining import MOST_PARTS
from nervure.front.arranging.rearranging import broadcast_arrays
from nervure.front.creation import constant
from nervure.front.loops.loop_functions import while_loop
from nervure.front.op_functions import divide, equal, less, logical_and, multiply, subtract
from nervure.front.pointwise.elementwise import as_floats, convert, where
from nervure.front.statistics import reductions
from nervure.front.tensor import Operand, Tensor
from nervure.support.elsewhere import explain_keywords
from nervure.types.dtype import int64

__all__ = ["chebyshev_t", "chebyshev_u", "chebyshev_v", "chebyshev_w", "hermite_h", "hermite_he", "laguerre_l",
           "legendre_p", "shifted_chebyshev_t", "shifted_chebyshev_u", "shifted_chebyshev_v", "shifted_chebyshev_w"]

_Step = Callable[[float | Tensor, Tensor, Tensor, Tensor], Tensor]
"""Makes the polynomial of an order k + 1 from k, x and the polynomials of the orders k and k - 1."""


def _recurrence(name: str, n: Operand, x: Operand, first: Callable[[Tensor], Tensor], step: _Step,
                shifted: bool = False) -> Tensor:
    order = None if isinstance(n, Tensor) else as_integer(n)
    if order is None:
        return _of_each_order(name, as_index(n, name, 1), as_floats(x, name, 2), first, step, shifted)
    if not 0 <= order <= MOST_PARTS:
        raise InvalidArgument("the order is no small number", op=name, operand="n", got=order,
                              expected=f"0 to {MOST_PARTS}", help="a tensor of orders may have any of them")
    own = as_floats(x, name, 2)
    own = multiply(own, 2.0) - 1.0 if shifted else own
    before, current = ones_like(own), first(own)
    if order == 0:
        return before
    for k in range(1, order):
        before, current = current, step(float(k), own, current, before)
    return current


def _of_each_order(name: str, order: Tensor, x: Tensor, first: Callable[[Tensor], Tensor], step: _Step,
                   shifted: bool) -> Tensor:
    """Returns polynomials of the order of each element, 0 for one below 0: a loop up to the largest order."""
    given, last = broadcast_arrays(x, order)
    own = convert(given, x.dtype.compute)
    own = multiply(own, 2.0) - 1.0 if shifted else own

    def goes_on(state: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        k, current, _ = state
        return reductions.any(logical_and(less(k, last), equal(current, current)))

    def next_order(state: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        k, current, before = state
        is_behind = less(k, last)
        following = step(convert(k, own.dtype), own, current, before)
        return k + 1, where(is_behind, following, current), where(is_behind, current, before)
    start = where(less(last, 1), ones_like(own), first(own))
    _, found, _ = while_loop(goes_on, next_order, (constant(1, dtype=int64), start, ones_like(own)))
    return convert(where(less(last, 0), 0.0, found), x.dtype)


def _doubled(k: float | Tensor, x: Tensor, current: Tensor, before: Tensor) -> Tensor:
    return subtract(multiply(multiply(x, 2.0), current), before)


def chebyshev_t(n: Operand, x: Operand) -> Tensor:
    """Returns Chebyshev's polynomial of the first kind and the order ``n`` at x.

    >>> round(nv.special.chebyshev_t(3, 0.3).item(), 4)
    -0.792
    """
    return _recurrence("chebyshev_t", n, x, lambda t: t, _doubled)


def chebyshev_u(n: Operand, x: Operand) -> Tensor:
    """Returns Chebyshev's polynomial of the second kind and the order ``n`` at x.

    >>> round(nv.special.chebyshev_u(3, 0.3).item(), 4)
    -0.984
    """
    return _recurrence("chebyshev_u", n, x, lambda t: multiply(t, 2.0), _doubled)


def chebyshev_v(n: Operand, x: Operand) -> Tensor:
    """Returns Chebyshev's polynomial of the third kind and the order ``n`` at x.

    >>> round(nv.special.chebyshev_v(3, 0.3).item(), 4)
    -0.344
    """
    return _recurrence("chebyshev_v", n, x, lambda t: multiply(t, 2.0) - 1.0, _doubled)


def chebyshev_w(n: Operand, x: Operand) -> Tensor:
    """Returns Chebyshev's polynomial of the fourth kind and the order ``n`` at x.

    >>> round(nv.special.chebyshev_w(3, 0.3).item(), 4)
    -1.624
    """
    return _recurrence("chebyshev_w", n, x, lambda t: multiply(t, 2.0) + 1.0, _doubled)


def shifted_chebyshev_t(n: Operand, x: Operand) -> Tensor:
    """Returns Chebyshev's polynomial of the first kind and the order ``n`` at 2 x - 1.

    >>> round(nv.special.shifted_chebyshev_t(3, 0.3).item(), 4)
    0.944
    """
    return _recurrence("shifted_chebyshev_t", n, x, lambda t: t, _doubled, shifted=True)


def shifted_chebyshev_u(n: Operand, x: Operand) -> Tensor:
    """Returns Chebyshev's polynomial of the second kind and the order ``n`` at 2 x - 1.

    >>> round(nv.special.shifted_chebyshev_u(3, 0.3).item(), 4)
    1.088
    """
    return _recurrence("shifted_chebyshev_u", n, x, lambda t: multiply(t, 2.0), _doubled, shifted=True)


def shifted_chebyshev_v(n: Operand, x: Operand) -> Tensor:
    """Returns Chebyshev's polynomial of the third kind and the order ``n`` at 2 x - 1.

    >>> round(nv.special.shifted_chebyshev_v(3, 0.3).item(), 4)
    1.448
    """
    return _recurrence("shifted_chebyshev_v", n, x, lambda t: multiply(t, 2.0) - 1.0, _doubled, shifted=True)


def shifted_chebyshev_w(n: Operand, x: Operand) -> Tensor:
    """Returns Chebyshev's polynomial of the fourth kind and the order ``n`` at 2 x - 1.

    >>> round(nv.special.shifted_chebyshev_w(3, 0.3).item(), 4)
    0.728
    """
    return _recurrence("shifted_chebyshev_w", n, x, lambda t: multiply(t, 2.0) + 1.0, _doubled, shifted=True)


def hermite_h(n: Operand, x: Operand) -> Tensor:
    """Returns the physicists' polynomial of Hermite of the order ``n`` at x.

    >>> nv.special.hermite_h(3, 0.5).item()
    -5.0
    """
    return _recurrence("hermite_h", n, x, lambda t: multiply(t, 2.0), lambda k, t, current, before: subtract(
        multiply(multiply(t, 2.0), current), multiply(before, 2.0 * k)))


def hermite_he(n: Operand, x: Operand) -> Tensor:
    """Returns the probabilists' polynomial of Hermite of the order ``n`` at x.

    >>> nv.special.hermite_he(3, 0.5).item()
    -1.375
    """
    return _recurrence("hermite_he", n, x, lambda t: t, lambda k, t, current, before: subtract(
        multiply(t, current), multiply(before, k)))


def laguerre_l(n: Operand, x: Operand) -> Tensor:
    """Returns the polynomial of Laguerre of the order ``n`` at x.

    >>> nv.special.laguerre_l(2, 2.0).item()
    -1.0
    """
    return _recurrence("laguerre_l", n, x, lambda t: 1.0 - t, lambda k, t, current, before: divide(subtract(
        multiply(2.0 * k + 1.0 - t, current), multiply(before, k)), k + 1.0))


def legendre_p(n: Operand, x: Operand) -> Tensor:
    """Returns the polynomial of Legendre of the order ``n`` at x.

    >>> nv.special.legendre_p(2, 1.0).item()
    1.0
    """
    return _recurrence("legendre_p", n, x, lambda t: t, lambda k, t, current, before: divide(subtract(
        multiply(multiply(t, 2.0 * k + 1.0), current), multiply(before, k)), k + 1.0))


explain_keywords(globals(), __all__)
