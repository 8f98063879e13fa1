"""Special functions that are made of others: of the normal distribution, of entropies and gamma functions, of bits.

>>> import nervure as nv
>>> nv.ndtr([0.0]).tolist(), nv.gcd(np.array([12, 18]), 8).tolist(), nv.copysign(3.0, -0.0).item()
([0.5], [4, 2], -3.0)
"""

from __future__ import annotations

import math

from nervure import ops
from nervure.errors import WrongKind
from nervure.front.alignment import aligned
from nervure.front.apply import common_dtype, promoted_pair, special, tensors_of_type
from nervure.front.argument_parsing import integer
from nervure.front.creation import as_tensor
from nervure.front.evaluation_order import in_order
from nervure.front.loops.loop_functions import while_loop
from nervure.front.op_functions import (
    absolute,
    add,
    divide,
    equal,
    floordivide,
    greater,
    less,
    log,
    mod,
    multiply,
    negative,
    not_equal,
    subtract,
)
from nervure.front.pointwise.elementwise import as_floats, bitcast, both_as_floats, convert, where
from nervure.front.statistics.reductions import any as some
from nervure.front.tensor import Operand, Tensor
from nervure.support.elsewhere import explain_keywords
from nervure.types.dtype import bool_, float64, int32, int64, uint32, uint64

__all__ = ["betaln", "bitwise_count", "clz", "copysign", "fmod", "gcd", "lcm", "log_ndtr", "multigammaln", "ndtr",
           "rel_entr", "signbit"]


# -- the normal distribution -------------------------------------------------------------------------------------


def ndtr(x: Operand) -> Tensor:
    """The chance that a normal number is at most x, with all digits in either tail.

    >>> nv.ndtr([0.0, 40.0]).tolist()
    [0.5, 1.0]
    """
    return special("ndtr", x)


def log_ndtr(x: Operand) -> Tensor:
    """The logarithm of ``nv.ndtr`` at x, finite where that is too small for a float.

    >>> nv.log_ndtr(np.array([-100.0, 0.0])).numpy().round(3).tolist()
    [-5005.524, -0.693]
    """
    return special("log_ndtr", x)


# -- entropies and gamma functions -------------------------------------------------------------------------------


def rel_entr(x: Operand, y: Operand) -> Tensor:
    """x * log(x / y), where both are positive; 0 where x is 0 and y is not negative, else infinite.

    >>> nv.rel_entr(np.array([0.0, 1.0, -1.0]), 1.0).tolist()
    [0.0, 0.0, inf]
    """
    left, right = both_as_floats(x, y, "rel_entr")
    is_inside, is_nothing = greater(left, 0.0) & greater(right, 0.0), equal(left, 0.0) & ~less(right, 0.0)
    safe, other = where(is_inside, left, 1.0), where(is_inside, right, 1.0)
    is_nan = not_equal(left, left) | not_equal(right, right)
    found = where(is_nothing, 0.0, where(is_inside, multiply(safe, log(divide(safe, other))), math.inf))
    return where(is_nan, math.nan, found)


def betaln(x: Operand, y: Operand) -> Tensor:
    """The logarithm of the size of the beta function of x and y, also where its parts would cancel.

    >>> round(nv.betaln(2.0, 3.0).item(), 4)
    -2.4849
    """
    return special("betaln", x, y)


def multigammaln(x: Operand, d: int) -> Tensor:
    """The logarithm of the gamma function of ``d`` dimensions at x, which is above (d - 1) / 2.

    A number of dimensions below 1 is an InvalidArgument.

    >>> round(nv.multigammaln(3.0, 2).item(), 2)
    1.55
    """
    count = integer(d, "multigammaln", "d", help="1 gives nv.lgamma", least=1)
    own = as_floats(x, "multigammaln")
    shape = (*own.type.shape, count)
    halves = ops.Multiply(ops.Iota(shape, own.ndim, own.dtype), ops.Full(0.5, own.dtype, shape))
    places = ops.Subtract(ops.Broadcast(own.value, shape, (own.ndim,)), halves)
    total = Tensor(ops.Sum(ops.Lgamma(places), [own.ndim]).output, own._axes)
    return add(total, count * (count - 1) / 4 * math.log(math.pi))


# -- signs and rests ---------------------------------------------------------------------------------------------


def signbit(x: Operand) -> Tensor:
    """Whether the sign of x is minus, that of -0.0 and of a negative NaN, too.

    >>> nv.signbit([-1.0, -0.0, 0.0]).tolist()
    [True, True, False]
    """
    own = as_tensor(x, "signbit")
    if not own.dtype.is_float:
        return less(own, 0)
    wide = convert(own, own.dtype.compute)
    return less(bitcast(wide, int64 if wide.dtype is float64 else int32), 0)


@in_order
def copysign(x: Operand, y: Operand) -> Tensor:
    """The magnitude of x with the sign of y.

    >>> nv.copysign(np.array([1.0, -2.0]), np.array([-0.0, 3.0])).tolist()
    [-1.0, 2.0]
    """
    left, right = both_as_floats(x, y, "copysign")
    size = absolute(left)
    return where(signbit(right), negative(size), size)


@in_order
def fmod(x: Operand, y: Operand) -> Tensor:
    """The rest of x divided by y with the sign of x, exact for floats; integers by 0 give 0.

    >>> nv.fmod(np.array([-7.0, 7.0]), 3.0).tolist()
    [-1.0, 1.0]
    """
    left, right = promoted_pair(x, y, "fmod")
    if not left.dtype.is_float:
        nothing = equal(right, 0)
        rest = mod(left, where(nothing, 1, right))
        is_off = not_equal(rest, 0) & not_equal(less(left, 0), less(right, 0))
        return where(nothing, 0, where(is_off, subtract(rest, right), rest))
    return copysign(mod(absolute(left), absolute(right)), left)


# -- integers ----------------------------------------------------------------------------------------------------


def gcd(x: Operand, y: Operand) -> Tensor:
    """The greatest common divisor of integers x and y, by Euclid's rests; gcd(0, 0) is 0.

    >>> nv.gcd(np.array([12, 0]), np.array([-18, 5])).tolist()
    [6, 5]
    """
    left, right = _integers(x, y, "gcd")
    values, axes, _ = aligned([absolute(left), absolute(right)], "gcd")
    found, _ = while_loop(lambda pair: some(not_equal(pair[1], 0)), _reduced, (Tensor(values[0]), Tensor(values[1])))
    return absolute(Tensor(found.value, axes))  # the rests have signs where the smallest integer is divided


def lcm(x: Operand, y: Operand) -> Tensor:
    """The least common multiple of integers x and y; 0 if one of them is 0.

    >>> nv.lcm(np.array([4, 0]), 6).tolist()
    [12, 0]
    """
    left, right = _integers(x, y, "lcm")
    divisor = gcd(left, right)
    parts = floordivide(absolute(left), where(equal(divisor, 0), 1, divisor))
    return multiply(parts, absolute(right))


def _reduced(pair: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """Returns the second number and the rest of the first one by it; a pair with a 0 stays."""
    first, second = pair
    is_done = equal(second, 0)
    return where(is_done, first, second), where(is_done, second, mod(first, where(is_done, 1, second)))


def bitwise_count(x: Operand) -> Tensor:
    """The number of ones among the bits of the magnitude of an integer x, as uint8.

    >>> nv.bitwise_count(np.array([7, -8])).tolist()
    [3, 1]
    """
    own = _integer(x, "bitwise_count")
    return convert(_ones(_bits(absolute(own) if own.dtype.is_signed else own)), "uint8")


def clz(x: Operand) -> Tensor:
    """The number of zeros in front of the first one among the bits of an integer x, in its own type.

    >>> nv.clz(np.array([1, 255], np.uint8)).tolist()
    [7, 0]
    """
    own = _integer(x, "clz")
    bits, shift = _bits(own), 1
    while shift < bits.dtype.bits:
        bits, shift = bits | bits >> shift, 2 * shift
    return convert(subtract(own.dtype.bits, convert(_ones(bits), int64)), own.dtype)


def _bits(x: Tensor) -> Tensor:
    """Returns an integer as an unsigned one of 32 or 64 bits."""
    wide = convert(x, uint64 if x.dtype.bits == 64 else uint32, "wrap")
    return wide & (1 << x.dtype.bits) - 1 if x.dtype.is_signed and x.dtype.bits < 32 else wide


def _ones(bits: Tensor) -> Tensor:
    """Counts ones by sums of neighbours (Warren, Hacker's Delight, 5-1)."""
    width = bits.dtype.bits
    pairs, fours, eights = [(1 << width) // (base + 1) for base in (2, 4, 16)]
    bits = bits - (bits >> 1 & pairs)
    bits = (bits & fours) + (bits >> 2 & fours)
    bits = bits + (bits >> 4) & eights
    shift = 8
    while shift < width:
        bits, shift = bits + (bits >> shift), 2 * shift
    return bits & 127


def _integer(x: Operand, op: str) -> Tensor:
    own = as_tensor(x, op)
    if not own.dtype.is_integer:
        raise WrongKind("these are bits of integers", op=op, operand="x", got=str(own.type), expected="integers",
                        help="convert it: x.astype(nv.int64)")
    return own


def _integers(x: Operand, y: Operand, op: str) -> tuple[Tensor, Tensor]:
    dtype = common_dtype((x, y), op)
    if not dtype.is_integer or dtype is bool_:
        raise WrongKind("divisors are of integers", op=op, operand="x", got=dtype.name, expected="integers",
                        help="convert them: x.astype(nv.int64)")
    left, right = tensors_of_type((x, y), op, dtype)
    return left, right


explain_keywords(globals(), __all__)
