"""The scalar namespace: every function that the meaning of an op may use, with its result for every value.

A backend implements this class for its own notion of a scalar (the interpreter: whole NumPy arrays; XLA: traced
arrays; the kernels: expressions of a loop). An op's ``evaluate`` or ``body`` receives an instance and never sees
more. So a sigmoid, whatever runs it, is

>>> def sigmoid(s, x):
...     return s.divide(s.constant(1, x), s.add(s.constant(1, x), s.exp(s.negative(x))))

All operands of a function have one element type, and so has the result, unless its line says otherwise. Floats follow
IEEE 754: round to nearest even, NaN in gives NaN out (except in ``where`` and the predicates), denormals are kept. The
sign and the payload of a NaN are unspecified, except where its bits are only moved. Elements of float16, bfloat16 and
float8 arrive as float32 and are rounded once, when the op's result is stored.

The line above a function declares the other facts: the element types, the type of the result, its cost, its accuracy
(see :class:`nervure.ops.scalar_function.ScalarFunction`).

>>> SCALAR_FUNCTIONS["atan2"].operands, SCALAR_FUNCTIONS["atan2"].ulps
(('y', 'x'), 4)
"""

# the declarations above the methods make them abstract

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic

from nervure.ir.kinds import Scalar
from nervure.ir.notation import Number
from nervure.ops.scalar_function import SCALAR_FUNCTIONS, ScalarFunction, carried, function, pair, part, truth
from nervure.types.dim import DimLike
from nervure.types.dtype import DType
from nervure.types.element_groups import ALL, ANY, BOOL, COMPLEX, FLOATS, INTEGERS, NUMBERS, ORDERED, REALS

__all__ = ["SCALAR_FUNCTIONS", "Scalar", "ScalarFunction", "ScalarNamespace"]

PAIRED = frozenset(dtype for dtype in FLOATS if dtype.pair is not None)


class ScalarNamespace(ABC, Generic[Scalar]):
    """The functions, each with its meaning for special values. The backend defines the type of scalars."""

    # -- values ------------------------------------------------------------------------------------------

    @abstractmethod
    def constant(self, value: Number, like: Scalar | DType) -> Scalar:
        """A Python number in the element type of the scalar ``like`` (or in a DType)."""

    @abstractmethod
    def index(self, expression: DimLike) -> Scalar:
        """An expression over the domain's indices and the symbols, as int64."""

    @function(ALL, carried, cost=1)
    def convert(self, x: Scalar, dtype: DType) -> Scalar:
        """To another type. Float to integer truncates and saturates, NaN is 0; integer to narrower integer saturates.
        Conversion to bool is x != 0; to a narrower float it rounds to nearest even (overflow: infinity, or NaN if the
        type has none); complex to real drops the imaginary part.
        """

    @function(ALL, carried, cost=1, operations=0)
    def wrap(self, x: Scalar, dtype: DType) -> Scalar:
        """Integer to integer modulo 2**bits; otherwise as ``convert``."""

    @function(ALL, carried, cost=0)
    def bitcast(self, x: Scalar, dtype: DType) -> Scalar:
        """The same bits as another type of the same width."""

    @function(ALL, cost=1)
    def where(self, condition: Scalar, x: Scalar, y: Scalar) -> Scalar:
        """x where the bool condition holds, else y, bit for bit."""

    # -- arithmetic --------------------------------------------------------------------------------------

    @function(NUMBERS, cost=1)
    def negative(self, x: Scalar) -> Scalar:
        """-x; flips the sign of zero; integers wrap."""

    @function(NUMBERS, part, cost=1)
    def absolute(self, x: Scalar) -> Scalar:
        """|x|; the smallest integer stays itself; of complex numbers the real magnitude."""

    @function(NUMBERS, cost=1, short=False)
    def sign(self, x: Scalar) -> Scalar:
        """-1, 0 or 1; zeros keep their sign, NaN is NaN; of complex numbers x / |x|, and 0 at 0."""

    @function(ANY, commutative=True, cost=1)
    def add(self, x: Scalar, y: Scalar) -> Scalar:
        """x + y, correctly rounded; integers wrap; bool: or."""

    @function(NUMBERS, cost=1)
    def subtract(self, x: Scalar, y: Scalar) -> Scalar:
        """x - y, correctly rounded; integers wrap."""

    @function(ANY, commutative=True, cost=1)
    def multiply(self, x: Scalar, y: Scalar) -> Scalar:
        """x * y, correctly rounded; integers wrap; bool: and."""

    @function(FLOATS | COMPLEX, cost=5, operations=1, sample=("normal", "positive"))
    def divide(self, x: Scalar, y: Scalar) -> Scalar:
        """x / y of floats or complex numbers, correctly rounded (floats); x / 0 is a signed infinity, 0 / 0 NaN."""

    @function(REALS, sample=("normal", "positive"))
    def floordivide(self, x: Scalar, y: Scalar) -> Scalar:
        """The floor of x / y, as Python's. Integers: by zero 0, the smallest // -1 is itself. Floats: the floor of
        the exact quotient as NumPy's floor_divide gives it; by zero x / y.
        """

    @function(REALS, sample=("normal", "positive"))
    def modulo(self, x: Scalar, y: Scalar) -> Scalar:
        """x - y * floor(x / y), with the sign of y, as Python's. Integers: by zero 0. Floats: by zero NaN; finite
        % inf is the finite value or inf, by sign.
        """

    @function(REALS, cost=50, ulps=4, sample=("positive", "normal"))
    def power(self, x: Scalar, y: Scalar) -> Scalar:
        """x ** y. 0 ** 0 is 1. Integers wrap; to a negative power 0, but 1 ** y is 1 and (-1) ** y is 1 or -1.
        Floats: as IEEE pow.
        """

    # Not commutative, nor is the minimum: for 0.0 and -0.0 the position decides which one they return.
    @function(ORDERED, cost=1)
    def maximum(self, x: Scalar, y: Scalar) -> Scalar:
        """The larger; NaN if either is NaN; +0 over -0 is not promised."""

    @function(ORDERED, cost=1)
    def minimum(self, x: Scalar, y: Scalar) -> Scalar:
        """The smaller; NaN if either is NaN."""

    @function(ANY, cost=2)
    def fma(self, x: Scalar, y: Scalar, z: Scalar) -> Scalar:
        """x * y + z, rounded once (floats)."""

    # -- rounding (floats; integers and bool pass) ---------------------------------------------------------

    @function(ORDERED, cost=1)
    def floor(self, x: Scalar) -> Scalar:
        """The largest integer <= x; infinities and -0.0 stay."""

    @function(ORDERED, cost=1)
    def ceil(self, x: Scalar) -> Scalar:
        """The smallest integer >= x; (-1, 0) gives -0.0."""

    @function(ORDERED, cost=1)
    def round(self, x: Scalar) -> Scalar:
        """The nearest integer, half to even."""

    @function(ORDERED, cost=1)
    def truncate(self, x: Scalar) -> Scalar:
        """x without its fraction: toward zero."""

    # -- exponentials and roots (floats) ---------------------------------------------------------------------

    @function(FLOATS, ulps=2)
    def exp(self, x: Scalar) -> Scalar:
        """e ** x; -inf gives 0, inf gives inf."""

    @function(FLOATS, ulps=2)
    def exp2(self, x: Scalar) -> Scalar:
        """2 ** x."""

    @function(FLOATS, ulps=2)
    def expm1(self, x: Scalar) -> Scalar:
        """e ** x - 1, exact near 0; -0.0 stays."""

    @function(FLOATS, ulps=2, sample="positive")
    def log(self, x: Scalar) -> Scalar:
        """The natural logarithm; 0 gives -inf, negative numbers NaN."""

    @function(FLOATS, ulps=2, sample="positive")
    def log2(self, x: Scalar) -> Scalar:
        """The logarithm to base 2."""

    @function(FLOATS, ulps=4, sample="positive")
    def log10(self, x: Scalar) -> Scalar:
        """The logarithm to base 10."""

    @function(FLOATS, ulps=2, sample="positive")
    def log1p(self, x: Scalar) -> Scalar:
        """log(1 + x), exact near 0; -1 gives -inf, below it NaN; -0.0 stays."""

    @function(FLOATS, cost=5, operations=1, sample="positive")
    def sqrt(self, x: Scalar) -> Scalar:
        """The square root, correctly rounded; of negative numbers NaN; -0.0 stays."""

    @function(FLOATS, ulps=2, sample="positive")
    def rsqrt(self, x: Scalar) -> Scalar:
        """1 / sqrt(x); 0 gives an infinity with the sign of the zero, negative numbers NaN, inf 0."""

    @function(FLOATS, ulps=4)
    def cbrt(self, x: Scalar) -> Scalar:
        """The real cube root, of negative numbers too."""

    # -- trigonometric and hyperbolic (floats, radians) --------------------------------------------------------

    @function(FLOATS, ulps=2)
    def sin(self, x: Scalar) -> Scalar:
        """The sine, accurate for huge arguments; of infinities NaN."""

    @function(FLOATS, ulps=2)
    def cos(self, x: Scalar) -> Scalar:
        """The cosine, accurate for huge arguments; of infinities NaN."""

    @function(FLOATS, ulps=4, sample="unit")
    def tan(self, x: Scalar) -> Scalar:
        """The tangent; of infinities NaN."""

    @function(FLOATS, ulps=4, sample="unit")
    def asin(self, x: Scalar) -> Scalar:
        """The arc sine, in [-pi/2, pi/2]; outside [-1, 1] NaN."""

    @function(FLOATS, ulps=4, sample="unit")
    def acos(self, x: Scalar) -> Scalar:
        """The arc cosine, in [0, pi]; outside [-1, 1] NaN."""

    @function(FLOATS, ulps=4)
    def atan(self, x: Scalar) -> Scalar:
        """The arc tangent, in [-pi/2, pi/2]; infinities give +-pi/2."""

    @function(FLOATS, ulps=4)
    def atan2(self, y: Scalar, x: Scalar) -> Scalar:
        """The angle of the point (x, y), in [-pi, pi], y first, with C's rules for zeros and infinities."""

    @function(FLOATS, ulps=4)
    def sinh(self, x: Scalar) -> Scalar:
        """The hyperbolic sine."""

    @function(FLOATS, ulps=4)
    def cosh(self, x: Scalar) -> Scalar:
        """The hyperbolic cosine."""

    @function(FLOATS, ulps=2)
    def tanh(self, x: Scalar) -> Scalar:
        """The hyperbolic tangent; +-1 at infinities, never overflows."""

    @function(FLOATS, ulps=4)
    def asinh(self, x: Scalar) -> Scalar:
        """The inverse of the hyperbolic sine."""

    @function(FLOATS, ulps=4, sample="above one")
    def acosh(self, x: Scalar) -> Scalar:
        """The inverse of the hyperbolic cosine; below 1 NaN."""

    @function(FLOATS, ulps=4, sample="unit")
    def atanh(self, x: Scalar) -> Scalar:
        """The inverse of the hyperbolic tangent; +-1 gives an infinity, outside NaN."""

    # -- special functions (floats) ----------------------------------------------------------------------------

    @function(FLOATS, ulps=2)
    def sigmoid(self, x: Scalar) -> Scalar:
        """1 / (1 + e ** -x); never overflows; 0 and 1 at infinities."""

    @function(FLOATS, ulps=4)
    def softplus(self, x: Scalar) -> Scalar:
        """log(1 + e ** x); never overflows; 0 at -inf, inf at inf."""

    @function(FLOATS, ulps=2)
    def erf(self, x: Scalar) -> Scalar:
        """The error function, 2/sqrt(pi) times the integral of exp(-t*t) from 0 to x; +-1 at the infinities."""

    @function(FLOATS, ulps=4)
    def erfc(self, x: Scalar) -> Scalar:
        """1 - erf(x), accurate in the right tail."""

    @function(FLOATS, cost=50, ulps=4, sample="unit")
    def erf_inv(self, x: Scalar) -> Scalar:
        """The inverse of erf; +-1 gives an infinity, outside NaN."""

    @function(FLOATS, cost=300, ulps=4, absolute=1e-14, sample="positive")
    def lgamma(self, x: Scalar) -> Scalar:
        """log |gamma(x)|; infinite at the poles."""

    @function(FLOATS, cost=300, ulps=4, absolute=1e-14, sample="positive")
    def digamma(self, x: Scalar) -> Scalar:
        """The derivative of lgamma; 0 gives an infinity with the other sign than the zero, -1, -2, ... NaN."""

    # -- comparisons (result bool; with NaN false, but not_equal true) ------------------------------------------

    @function(ANY, truth, commutative=True, cost=1)
    def equal(self, x: Scalar, y: Scalar) -> Scalar:
        """x == y; -0.0 equals 0.0."""

    @function(ANY, truth, commutative=True, cost=1)
    def not_equal(self, x: Scalar, y: Scalar) -> Scalar:
        """x != y; true with NaN."""

    @function(ORDERED, truth, cost=1)
    def less(self, x: Scalar, y: Scalar) -> Scalar:
        """x < y."""

    @function(ORDERED, truth, cost=1)
    def less_equal(self, x: Scalar, y: Scalar) -> Scalar:
        """x <= y."""

    def greater(self, x: Scalar, y: Scalar) -> Scalar:
        """x > y."""
        return self.less(y, x)

    def greater_equal(self, x: Scalar, y: Scalar) -> Scalar:
        """x >= y."""
        return self.less_equal(y, x)

    @function(ANY, truth, cost=1)
    def is_nan(self, x: Scalar) -> Scalar:
        """Whether x is NaN; integers never are."""

    @function(ANY, truth, cost=1)
    def is_inf(self, x: Scalar) -> Scalar:
        """Whether x is an infinity."""

    @function(ANY, truth, cost=1)
    def is_finite(self, x: Scalar) -> Scalar:
        """Whether x is neither NaN nor an infinity."""

    # -- bits (bool and integers) ------------------------------------------------------------------------------

    @function(INTEGERS | BOOL, commutative=True, cost=1)
    def bitwise_and(self, x: Scalar, y: Scalar) -> Scalar:
        """And of the bits; of truth values for bool."""

    @function(INTEGERS | BOOL, commutative=True, cost=1)
    def bitwise_or(self, x: Scalar, y: Scalar) -> Scalar:
        """Or of the bits."""

    @function(INTEGERS | BOOL, commutative=True, cost=1)
    def bitwise_xor(self, x: Scalar, y: Scalar) -> Scalar:
        """Exclusive or of the bits."""

    @function(INTEGERS | BOOL, cost=1)
    def bitwise_not(self, x: Scalar) -> Scalar:
        """All bits flipped; not, for bool."""

    @function(INTEGERS, cost=1)
    def shift_left(self, x: Scalar, y: Scalar) -> Scalar:
        """x * 2**y modulo 2**bits; by the width or more, or by a negative amount, 0."""

    @function(INTEGERS, cost=1)
    def shift_right(self, x: Scalar, y: Scalar) -> Scalar:
        """x // 2**y: arithmetic for signed, logical for unsigned; by the width or more, or by a negative amount, the
        sign: 0 or -1.
        """

    # -- complex -----------------------------------------------------------------------------------------------

    @function(COMPLEX, part, cost=0)
    def real(self, x: Scalar) -> Scalar:
        """The real part."""

    @function(COMPLEX, part, cost=0)
    def imaginary(self, x: Scalar) -> Scalar:
        """The imaginary part."""

    @function(PAIRED, pair, operations=0)
    def complex(self, re: Scalar, im: Scalar) -> Scalar:
        """re + i im, from two floats of 32 or 64 bits."""

    @function(COMPLEX, operations=1)
    def conjugate(self, x: Scalar) -> Scalar:
        """The complex conjugate."""
