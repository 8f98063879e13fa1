"""The scalar namespace: every function that an op's meaning may be written with, and what each gives for every value.

A backend implements this class for its own notion of a scalar (the interpreter: whole NumPy arrays; XLA: traced
arrays; the kernels: expressions of a loop). An op's ``evaluate`` or ``body`` receives an instance and never sees
more. So a sigmoid, whatever runs it, is

>>> def sigmoid(s, x):
...     return s.divide(s.constant(1, x), s.add(s.constant(1, x), s.exp(s.negative(x))))

All operands of a function have one element type, and so has the result, unless its line says otherwise. Floats
follow IEEE 754: round to nearest even, NaN in gives NaN out (but for ``where`` and the predicates), denormals are
kept. Elements of float16, bfloat16 and float8 arrive as float32 and are rounded once, when the op's result is
stored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from nervure.types.dim import DimLike
from nervure.types.dtype import DType


class ScalarNamespace(ABC):
    """The functions, each with its meaning for special values. Scalars are whatever the backend says they are."""

    # -- values ------------------------------------------------------------------------------------------

    @abstractmethod
    def constant(self, value: Any, like: Any) -> Any:
        """A Python number in the element type of the scalar ``like`` (or in a DType)."""

    @abstractmethod
    def index(self, expression: DimLike) -> Any:
        """An expression over the domain's indices and the symbols, as int64."""

    @abstractmethod
    def convert(self, x: Any, dtype: DType) -> Any:
        """To another type. Float to integer truncates and saturates, NaN is 0; integer to narrower integer
        saturates; to bool is x != 0; to a narrower float rounds to nearest even (overflow: infinity, or NaN where
        the type has none); complex to real drops the imaginary part.
        """

    @abstractmethod
    def wrap(self, x: Any, dtype: DType) -> Any:
        """Integer to integer modulo 2**bits; otherwise as ``convert``."""

    @abstractmethod
    def bitcast(self, x: Any, dtype: DType) -> Any:
        """The same bits as another type of the same width."""

    @abstractmethod
    def where(self, condition: Any, x: Any, y: Any) -> Any:
        """x where the bool condition holds, else y, bit for bit."""

    # -- arithmetic --------------------------------------------------------------------------------------

    @abstractmethod
    def negative(self, x: Any) -> Any:
        """-x; flips the sign of zero and NaN; integers wrap."""

    @abstractmethod
    def absolute(self, x: Any) -> Any:
        """|x|; the smallest integer stays itself; complex gives the real magnitude."""

    @abstractmethod
    def sign(self, x: Any) -> Any:
        """-1, 0, 1; zeros keep their sign; NaN is NaN; complex: x / |x|, 0 at 0."""

    @abstractmethod
    def add(self, x: Any, y: Any) -> Any:
        """x + y, correctly rounded; integers wrap; bool: or."""

    @abstractmethod
    def subtract(self, x: Any, y: Any) -> Any:
        """x - y, correctly rounded; integers wrap."""

    @abstractmethod
    def multiply(self, x: Any, y: Any) -> Any:
        """x * y, correctly rounded; integers wrap; bool: and."""

    @abstractmethod
    def divide(self, x: Any, y: Any) -> Any:
        """x / y for floats and complex, correctly rounded (floats); x/0 is a signed infinity, 0/0 NaN."""

    @abstractmethod
    def floordivide(self, x: Any, y: Any) -> Any:
        """The floor of x / y, as Python's. Integers: by zero 0, the smallest // -1 is itself. Floats: the floor of
        the exact quotient as NumPy's floor_divide gives it; by zero x / y.
        """

    @abstractmethod
    def modulo(self, x: Any, y: Any) -> Any:
        """x - y * floor(x / y), with the sign of y, as Python's. Integers: by zero 0. Floats: by zero NaN; finite
        % inf is the finite value or inf, by sign.
        """

    @abstractmethod
    def power(self, x: Any, y: Any) -> Any:
        """x ** y. 0 ** 0 is 1. Integers wrap; to a negative power 0, but 1 ** y is 1 and (-1) ** y is 1 or -1.
        Floats: as IEEE pow.
        """

    @abstractmethod
    def maximum(self, x: Any, y: Any) -> Any:
        """The larger; NaN if either is NaN; +0 over -0 is not promised."""

    @abstractmethod
    def minimum(self, x: Any, y: Any) -> Any:
        """The smaller; NaN if either is NaN."""

    @abstractmethod
    def fma(self, x: Any, y: Any, z: Any) -> Any:
        """x * y + z, rounded once (floats)."""

    # -- rounding (floats; integers and bool pass) ---------------------------------------------------------

    @abstractmethod
    def floor(self, x: Any) -> Any:
        """Largest integer <= x; infinities and -0.0 stay."""

    @abstractmethod
    def ceil(self, x: Any) -> Any:
        """Smallest integer >= x; (-1, 0) gives -0.0."""

    @abstractmethod
    def round(self, x: Any) -> Any:
        """Nearest integer, half to even."""

    @abstractmethod
    def truncate(self, x: Any) -> Any:
        """Toward zero."""

    # -- exponentials and roots (floats) ---------------------------------------------------------------------

    @abstractmethod
    def exp(self, x: Any) -> Any:
        """e ** x; -inf gives 0, inf gives inf."""

    @abstractmethod
    def exp2(self, x: Any) -> Any:
        """2 ** x."""

    @abstractmethod
    def expm1(self, x: Any) -> Any:
        """e ** x - 1, exact near 0; -0.0 stays."""

    @abstractmethod
    def log(self, x: Any) -> Any:
        """Natural logarithm; 0 gives -inf, negative NaN."""

    @abstractmethod
    def log2(self, x: Any) -> Any:
        """Logarithm to base 2."""

    @abstractmethod
    def log10(self, x: Any) -> Any:
        """Logarithm to base 10."""

    @abstractmethod
    def log1p(self, x: Any) -> Any:
        """log(1 + x), exact near 0; -1 gives -inf, below NaN; -0.0 stays."""

    @abstractmethod
    def sqrt(self, x: Any) -> Any:
        """Square root, correctly rounded; negative NaN; -0.0 stays."""

    @abstractmethod
    def rsqrt(self, x: Any) -> Any:
        """1 / sqrt(x); 0 gives inf with the sign of the zero, negative NaN, inf 0."""

    @abstractmethod
    def cbrt(self, x: Any) -> Any:
        """Real cube root, of negative numbers too."""

    # -- trigonometric and hyperbolic (floats, radians) --------------------------------------------------------

    @abstractmethod
    def sin(self, x: Any) -> Any:
        """Sine; accurate for huge arguments; infinities NaN."""

    @abstractmethod
    def cos(self, x: Any) -> Any:
        """Cosine; accurate for huge arguments; infinities NaN."""

    @abstractmethod
    def tan(self, x: Any) -> Any:
        """Tangent; infinities NaN."""

    @abstractmethod
    def asin(self, x: Any) -> Any:
        """Arc sine; outside [-1, 1] NaN."""

    @abstractmethod
    def acos(self, x: Any) -> Any:
        """Arc cosine; outside [-1, 1] NaN."""

    @abstractmethod
    def atan(self, x: Any) -> Any:
        """Arc tangent; infinities give +-pi/2."""

    @abstractmethod
    def atan2(self, y: Any, x: Any) -> Any:
        """Angle of the point (x, y), in [-pi, pi], with C's rules for zeros and infinities."""

    @abstractmethod
    def sinh(self, x: Any) -> Any:
        """Hyperbolic sine."""

    @abstractmethod
    def cosh(self, x: Any) -> Any:
        """Hyperbolic cosine."""

    @abstractmethod
    def tanh(self, x: Any) -> Any:
        """Hyperbolic tangent; +-1 at infinities, never overflows."""

    @abstractmethod
    def asinh(self, x: Any) -> Any:
        """Inverse of sinh."""

    @abstractmethod
    def acosh(self, x: Any) -> Any:
        """Inverse of cosh; below 1 NaN."""

    @abstractmethod
    def atanh(self, x: Any) -> Any:
        """Inverse of tanh; +-1 gives +-inf, outside NaN."""

    # -- special functions (floats) ----------------------------------------------------------------------------

    @abstractmethod
    def sigmoid(self, x: Any) -> Any:
        """1 / (1 + e ** -x); never overflows; 0 and 1 at infinities."""

    @abstractmethod
    def softplus(self, x: Any) -> Any:
        """log(1 + e ** x); never overflows; 0 at -inf, inf at inf."""

    @abstractmethod
    def erf(self, x: Any) -> Any:
        """Error function; +-1 at infinities."""

    @abstractmethod
    def erfc(self, x: Any) -> Any:
        """1 - erf(x), accurate in the right tail."""

    @abstractmethod
    def erf_inv(self, x: Any) -> Any:
        """Inverse of erf; +-1 gives +-inf, outside NaN."""

    @abstractmethod
    def lgamma(self, x: Any) -> Any:
        """log |gamma(x)|; poles give inf."""

    @abstractmethod
    def digamma(self, x: Any) -> Any:
        """Derivative of lgamma; 0 gives an infinity with the other sign than the zero, -1, -2, ... NaN."""

    # -- comparisons (result bool; with NaN false, but not_equal true) ------------------------------------------

    @abstractmethod
    def equal(self, x: Any, y: Any) -> Any:
        """x == y; -0.0 equals 0.0."""

    @abstractmethod
    def not_equal(self, x: Any, y: Any) -> Any:
        """x != y."""

    @abstractmethod
    def less(self, x: Any, y: Any) -> Any:
        """x < y."""

    @abstractmethod
    def less_equal(self, x: Any, y: Any) -> Any:
        """x <= y."""

    @abstractmethod
    def is_nan(self, x: Any) -> Any:
        """Whether x is NaN (bool); integers never."""

    @abstractmethod
    def is_inf(self, x: Any) -> Any:
        """Whether x is an infinity (bool)."""

    @abstractmethod
    def is_finite(self, x: Any) -> Any:
        """Neither NaN nor infinite (bool)."""

    # -- bits (bool and integers) ------------------------------------------------------------------------------

    @abstractmethod
    def bitwise_and(self, x: Any, y: Any) -> Any:
        """And of the bits; of truth values for bool."""

    @abstractmethod
    def bitwise_or(self, x: Any, y: Any) -> Any:
        """Or of the bits."""

    @abstractmethod
    def bitwise_xor(self, x: Any, y: Any) -> Any:
        """Exclusive or of the bits."""

    @abstractmethod
    def bitwise_not(self, x: Any) -> Any:
        """All bits flipped; not, for bool."""

    @abstractmethod
    def shift_left(self, x: Any, y: Any) -> Any:
        """x * 2**y modulo 2**bits; shifts by the width or more, or by a negative amount, give 0."""

    @abstractmethod
    def shift_right(self, x: Any, y: Any) -> Any:
        """Arithmetic for signed, logical for unsigned; by the width or more, or a negative amount: the sign (0
        or -1).
        """

    # -- complex -----------------------------------------------------------------------------------------------

    @abstractmethod
    def real(self, x: Any) -> Any:
        """Real part."""

    @abstractmethod
    def imaginary(self, x: Any) -> Any:
        """Imaginary part."""

    @abstractmethod
    def complex(self, re: Any, im: Any) -> Any:
        """re + i im, from two floats of one type."""

    @abstractmethod
    def conjugate(self, x: Any) -> Any:
        """The complex conjugate."""


SCALAR_FUNCTIONS: tuple[str, ...] = tuple(sorted(ScalarNamespace.__abstractmethods__))
