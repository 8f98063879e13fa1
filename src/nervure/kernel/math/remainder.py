"""Floor division of floats as NumPy's, and its remainder, which is exact.

>>> from nervure.kernel.math.arrays import evaluate
>>> x, y = np.array([7.0, -7.0, 1e17]), np.array([2.0, 2.0, 7.0])
>>> evaluate(floordivide, x[:2], y[:2]), evaluate(modulo, x, y), 10**17 % 7
(array([ 3., -4.]), array([1., 1., 5.]), 5)

The remainder of x by y is a float: with the quotient q = x / y rounded to nearest, x - q * y is one (J.-M. Muller et
al., "Handbook of Floating-Point Arithmetic"), and a fused multiply-add computes it. If q is so large that it is an
integer, x - q * y has the same remainder as x, and is smaller by as many bits as a float has. So a loop that hardly
ever runs makes quotients small, and one truncated quotient does the rest.
"""

from __future__ import annotations

from nervure.kernel.math.namespace import Namespace, V, with_sign_of

_UNIT = {"float": 2.0**75, "double": 2.0**538}  # its cube exceeds any quotient


def floordivide(s: Namespace[V], x: V, y: V) -> V:
    """Returns the floor of x / y; x / y for y = 0."""
    rest = _remainder(s, x, y)
    quotient = (x - rest) / y
    quotient = s.where(_is_opposite(s, rest, y), quotient - 1.0, quotient)
    lower = s.floor(quotient)
    nearest = s.where(quotient - lower > 0.5, lower + 1.0, lower)
    nearest = s.where(s.equal(quotient, 0.0), with_sign_of(s, s.constant(0.0), x / y), nearest)
    return s.where(s.equal(y, 0.0), x / y, nearest)


def modulo(s: Namespace[V], x: V, y: V) -> V:
    """Returns x - y * floor(x / y), with the sign of y; NaN for y = 0."""
    rest = _remainder(s, x, y)
    moved = s.where(_is_opposite(s, rest, y), rest + y, rest)
    return s.where(s.equal(rest, 0.0), with_sign_of(s, s.constant(0.0), y), moved)


def _is_opposite(s: Namespace[V], rest: V, y: V) -> V:
    return s.not_equal(rest, 0.0) & ((y < 0.0) ^ (rest < 0.0))


def _remainder(s: Namespace[V], x: V, y: V) -> V:
    """Returns x - y * n, exact, where n is x / y rounded toward zero; NaN for an infinite ``x`` or y = 0."""
    size = s.absolute(y)
    left = _with_small_quotient(s, x, size)
    rest = s.fma(-s.truncate(left / size), size, left)
    rest = s.where(s.absolute(left) < size, left, rest)  # in particular if y is infinite
    # A quotient that was rounded up leaves a remainder on the other side of zero.
    is_beyond = rest * with_sign_of(s, s.constant(1.0), x) < 0.0
    return s.where(is_beyond, rest + with_sign_of(s, size, x), rest)


def _with_small_quotient(s: Namespace[V], x: V, size: V) -> V:
    """Returns a number with the remainder of x, modulo ``size``, and a quotient that has a fraction."""
    limit, far = size * 2.0 ** s.format.mantissa, size * _UNIT[s.format.name]
    farther = far * _UNIT[s.format.name]

    def smaller(left: V) -> V:
        length = s.absolute(left)
        # In steps of such units no quotient overflows.
        step = s.where(length >= farther, farther, s.where(length >= far, far, size))
        return s.where(length > limit, s.fma(-(left / step), step, left), left)

    return s.repeated(x, lambda left: s.absolute(left) > limit, smaller)
