# Made from the package: `make generated` writes it, tests/project/test_generated.py compares it.

from collections.abc import Callable
from nervure.front.tensor import Operand, Tensor

FUNCTIONS: dict[str, Callable[..., Tensor]]

def absolute(x: Operand) -> Tensor:
    """|x|; the smallest integer stays itself; of complex numbers the real magnitude. The derivative at 0 is 0.

    >>> nv.absolute(np.array([-1.5, 2.0])).tolist()
    [1.5, 2.0]
    """
def acos(x: Operand) -> Tensor:
    """The arc cosine, in [0, pi]; outside [-1, 1] NaN.

    >>> round(nv.acos(0.0).item(), 4)
    1.5708
    """
def acosh(x: Operand) -> Tensor:
    """The inverse of the hyperbolic cosine; below 1 NaN.

    >>> round(nv.acosh(2.0).item(), 4)
    1.317
    """
def add(x: Operand, y: Operand) -> Tensor:
    """x + y, correctly rounded; integers wrap; bool: or.

    >>> nv.add(np.array([1, 2]), 10).tolist()
    [11, 12]
    """
def asin(x: Operand) -> Tensor:
    """The arc sine, in [-pi/2, pi/2]; outside [-1, 1] NaN.

    >>> round(nv.asin(1.0).item(), 4)
    1.5708
    """
def asinh(x: Operand) -> Tensor:
    """The inverse of the hyperbolic sine.

    >>> round(nv.asinh(1.0).item(), 4)
    0.8814
    """
def atan(x: Operand) -> Tensor:
    """The arc tangent, in [-pi/2, pi/2]; infinities give +-pi/2.

    >>> round(nv.atan(1.0).item(), 4)
    0.7854
    """
def atanh(x: Operand) -> Tensor:
    """The inverse of the hyperbolic tangent; +-1 gives an infinity, outside NaN.

    >>> round(nv.atanh(0.5).item(), 4)
    0.5493
    """
def bitwise_and(x: Operand, y: Operand) -> Tensor:
    """And of the bits; of truth values for bool.

    >>> nv.bitwise_and(np.array([6, 5]), 3).tolist()
    [2, 1]
    """
def bitwise_not(x: Operand) -> Tensor:
    """All bits flipped; not, for bool.

    >>> nv.bitwise_not(np.array([0, 5])).tolist()
    [-1, -6]
    """
def bitwise_or(x: Operand, y: Operand) -> Tensor:
    """Or of the bits.

    >>> nv.bitwise_or(np.array([6, 5]), 3).tolist()
    [7, 7]
    """
def bitwise_xor(x: Operand, y: Operand) -> Tensor:
    """Exclusive or of the bits.

    >>> nv.bitwise_xor(np.array([6, 5]), 3).tolist()
    [5, 6]
    """
def cbrt(x: Operand) -> Tensor:
    """The real cube root, of negative numbers too. Its derivative at 0 is infinite.

    >>> round(nv.cbrt(-8.0).item(), 4)
    -2.0
    """
def ceil(x: Operand) -> Tensor:
    """The smallest integer >= x; (-1, 0) gives -0.0.

    >>> nv.ceil(np.array([1.2, -1.7])).tolist()
    [2.0, -1.0]
    """
def cos(x: Operand) -> Tensor:
    """The cosine, accurate for huge arguments; of infinities NaN.

    >>> round(nv.cos(np.pi / 3).item(), 4)
    0.5
    """
def cosh(x: Operand) -> Tensor:
    """The hyperbolic cosine.

    >>> round(nv.cosh(1.0).item(), 4)
    1.5431
    """
def digamma(x: Operand) -> Tensor:
    """The derivative of lgamma; 0 gives an infinity with the other sign than the zero, -1, -2, ... NaN.

    >>> round(nv.digamma(1.0).item(), 4)
    -0.5772
    """
def divide(x: Operand, y: Operand) -> Tensor:
    """x / y; on the surface integers give float32. x / 0 is a signed infinity, 0 / 0 NaN.

    >>> nv.divide(np.array([1, 3]), 2).tolist()
    [0.5, 1.5]
    """
def equal(x: Operand, y: Operand) -> Tensor:
    """x == y; -0.0 equals 0.0.

    >>> nv.equal(np.array([1, 2]), 2).tolist()
    [False, True]
    """
def erf(x: Operand) -> Tensor:
    """The error function, 2/sqrt(pi) times the integral of exp(-t*t) from 0 to x; +-1 at the infinities.

    >>> round(nv.erf(1.0).item(), 4)
    0.8427
    """
def erf_inv(x: Operand) -> Tensor:
    """The inverse of erf; +-1 gives an infinity, outside NaN.

    >>> round(nv.erf_inv(0.5).item(), 4)
    0.4769
    """
def erfc(x: Operand) -> Tensor:
    """1 - erf(x), accurate in the right tail.

    >>> round(nv.erfc(1.0).item(), 4)
    0.1573
    """
def exp(x: Operand) -> Tensor:
    """e ** x; -inf gives 0, inf gives inf.

    >>> round(nv.exp(1.0).item(), 4)
    2.7183
    """
def exp2(x: Operand) -> Tensor:
    """2 ** x.

    >>> round(nv.exp2(3.0).item(), 4)
    8.0
    """
def expm1(x: Operand) -> Tensor:
    """e ** x - 1, exact near 0; -0.0 stays.

    >>> round(nv.expm1(1.0).item(), 4)
    1.7183
    """
def floor(x: Operand) -> Tensor:
    """The largest integer <= x; infinities and -0.0 stay.

    >>> nv.floor(np.array([1.7, -1.2])).tolist()
    [1.0, -2.0]
    """
def floordivide(x: Operand, y: Operand) -> Tensor:
    """The floor of x / y, as Python's. Integers: by zero 0, the smallest // -1 is itself. Floats: the floor of
    the exact quotient as NumPy's floor_divide gives it; by zero x / y. Its derivative is zero.

    >>> nv.floordivide(np.array([7, -7]), 2).tolist()
    [3, -4]
    """
def greater(x: Operand, y: Operand) -> Tensor:
    """x > y.

    >>> nv.greater(np.array([1, 2]), 1).tolist()
    [False, True]
    """
def greater_equal(x: Operand, y: Operand) -> Tensor:
    """x >= y.

    >>> nv.greater_equal(np.array([1, 2]), 2).tolist()
    [False, True]
    """
def hard_sigmoid(x: Operand) -> Tensor:
    """alpha * x + beta, limited to [0, 1].

    >>> round(nv.hard_sigmoid(1.0).item(), 4)
    0.6667
    """
def hard_swish(x: Operand) -> Tensor:
    """x * hard_sigmoid(x) (Howard et al. 2019).

    >>> round(nv.hard_swish(1.0).item(), 4)
    0.6667
    """
def hypot(x: Operand, y: Operand) -> Tensor:
    """sqrt(x*x + y*y), without overflow in between; infinite if an operand is. Its derivative at the origin is 0.

    >>> round(nv.hypot(3.0, 4.0).item(), 4)
    5.0
    """
def is_finite(x: Operand) -> Tensor:
    """Whether x is neither NaN nor an infinity.

    >>> nv.is_finite(np.array([1.0, np.inf])).tolist()
    [True, False]
    """
def is_inf(x: Operand) -> Tensor:
    """Whether x is an infinity.

    >>> nv.is_inf(np.array([1.0, -np.inf])).tolist()
    [False, True]
    """
def is_nan(x: Operand) -> Tensor:
    """Whether x is NaN; integers never are.

    >>> nv.is_nan(np.array([1.0, np.nan])).tolist()
    [False, True]
    """
def left_shift(x: Operand, y: Operand) -> Tensor:
    """x * 2**y modulo 2**bits; by the width or more, or by a negative amount, 0.

    >>> nv.left_shift(np.array([1, 3]), 2).tolist()
    [4, 12]
    """
def less(x: Operand, y: Operand) -> Tensor:
    """x < y.

    >>> nv.less(np.array([1, 2]), 2).tolist()
    [True, False]
    """
def less_equal(x: Operand, y: Operand) -> Tensor:
    """x <= y.

    >>> nv.less_equal(np.array([1, 2]), 1).tolist()
    [True, False]
    """
def lgamma(x: Operand) -> Tensor:
    """log |gamma(x)|; infinite at the poles.

    >>> round(nv.lgamma(5.0).item(), 4)
    3.1781
    """
def log(x: Operand) -> Tensor:
    """The natural logarithm; 0 gives -inf, negative numbers NaN.

    >>> round(nv.log(10.0).item(), 4)
    2.3026
    """
def log10(x: Operand) -> Tensor:
    """The logarithm to base 10.

    >>> round(nv.log10(1000.0).item(), 4)
    3.0
    """
def log1p(x: Operand) -> Tensor:
    """log(1 + x), exact near 0; -1 gives -inf, below it NaN; -0.0 stays.

    >>> round(nv.log1p(1.0).item(), 4)
    0.6931
    """
def log2(x: Operand) -> Tensor:
    """The logarithm to base 2.

    >>> round(nv.log2(8.0).item(), 4)
    3.0
    """
def log_sigmoid(x: Operand) -> Tensor:
    """log(sigmoid(x)), exact where the sigmoid rounds to 0.

    >>> round(nv.log_sigmoid(0.0).item(), 4)
    -0.6931
    """
def logical_and(x: Operand, y: Operand) -> Tensor:
    """Whether both hold.

    >>> nv.logical_and(np.array([True, False]), True).tolist()
    [True, False]
    """
def logical_or(x: Operand, y: Operand) -> Tensor:
    """Whether one or both hold.

    >>> nv.logical_or(np.array([True, False]), False).tolist()
    [True, False]
    """
def logical_xor(x: Operand, y: Operand) -> Tensor:
    """Whether exactly one holds.

    >>> nv.logical_xor(np.array([True, False]), True).tolist()
    [False, True]
    """
def maximum(x: Operand, y: Operand) -> Tensor:
    """The larger; NaN if either is NaN; +0 over -0 is not promised. Equal operands share the gradient.

    >>> nv.maximum(np.array([1, 5]), 3).tolist()
    [3, 5]
    """
def minimum(x: Operand, y: Operand) -> Tensor:
    """The smaller; NaN if either is NaN. Equal operands share the gradient.

    >>> nv.minimum(np.array([1, 5]), 3).tolist()
    [1, 3]
    """
def mish(x: Operand) -> Tensor:
    """x * tanh(softplus(x)) (Misra 2019).

    >>> round(nv.mish(1.0).item(), 4)
    0.8651
    """
def mod(x: Operand, y: Operand) -> Tensor:
    """x - y * floor(x / y), with the sign of y, as Python's. Integers: by zero 0. Floats: by zero NaN; finite
    % inf is the finite value or inf, by sign.

    >>> nv.mod(np.array([7, -7]), 3).tolist()
    [1, 2]
    """
def multiply(x: Operand, y: Operand) -> Tensor:
    """x * y, correctly rounded; integers wrap; bool: and.

    >>> nv.multiply(np.array([1, 2]), 3).tolist()
    [3, 6]
    """
def negative(x: Operand) -> Tensor:
    """-x; flips the sign of zero; integers wrap.

    >>> nv.negative(np.array([1, -2])).tolist()
    [-1, 2]
    """
def not_equal(x: Operand, y: Operand) -> Tensor:
    """x != y; true with NaN.

    >>> nv.not_equal(np.array([1, 2]), 2).tolist()
    [True, False]
    """
def reciprocal(x: Operand) -> Tensor:
    """1 / x.

    >>> round(nv.reciprocal(4.0).item(), 4)
    0.25
    """
def relu(x: Operand) -> Tensor:
    """max(x, 0); NaN stays. The derivative at 0 is 0.

    >>> nv.relu(np.array([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
def right_shift(x: Operand, y: Operand) -> Tensor:
    """x // 2**y: arithmetic for signed, logical for unsigned; by the width or more, or by a negative amount, the
    sign: 0 or -1.

    >>> nv.right_shift(np.array([8, 5]), 1).tolist()
    [4, 2]
    """
def rsqrt(x: Operand) -> Tensor:
    """1 / sqrt(x); 0 gives an infinity with the sign of the zero, negative numbers NaN, inf 0.

    >>> round(nv.rsqrt(4.0).item(), 4)
    0.5
    """
def selu(x: Operand) -> Tensor:
    """The self-normalising ELU (Klambauer et al. 2017): 1.0507 * elu(x, 1.6733).

    >>> round(nv.selu(-1.0).item(), 4)
    -1.1113
    """
def sigmoid(x: Operand) -> Tensor:
    """1 / (1 + e ** -x); never overflows; 0 and 1 at infinities.

    >>> round(nv.sigmoid(1.0).item(), 4)
    0.7311
    """
def sign(x: Operand) -> Tensor:
    """-1, 0 or 1; zeros keep their sign, NaN is NaN; of complex numbers x / |x|, and 0 at 0.

    >>> nv.sign(np.array([-3, 0, 5])).tolist()
    [-1, 0, 1]
    """
def silu(x: Operand) -> Tensor:
    """x * sigmoid(x), also known as swish.

    >>> round(nv.silu(1.0).item(), 4)
    0.7311
    """
def sin(x: Operand) -> Tensor:
    """The sine, accurate for huge arguments; of infinities NaN.

    >>> round(nv.sin(np.pi / 6).item(), 4)
    0.5
    """
def sinh(x: Operand) -> Tensor:
    """The hyperbolic sine.

    >>> round(nv.sinh(1.0).item(), 4)
    1.1752
    """
def softplus(x: Operand) -> Tensor:
    """log(1 + e ** x); never overflows; 0 at -inf, inf at inf.

    >>> round(nv.softplus(0.0).item(), 4)
    0.6931
    """
def sparse_plus(x: Operand) -> Tensor:
    """0 up to -1, ((x + 1) / 2)**2 up to 1, x from there on (Xu et al. 2024).

    >>> round(nv.sparse_plus(0.0).item(), 4)
    0.25
    """
def sparse_sigmoid(x: Operand) -> Tensor:
    """(x + 1) / 2, limited to [0, 1]: the slope of sparse_plus.

    >>> round(nv.sparse_sigmoid(0.5).item(), 4)
    0.75
    """
def sqrt(x: Operand) -> Tensor:
    """The square root, correctly rounded; of negative numbers NaN; -0.0 stays. Its derivative at 0 is infinite.

    >>> round(nv.sqrt(2.0).item(), 4)
    1.4142
    """
def square(x: Operand) -> Tensor:
    """x * x.

    >>> nv.square(np.array([3, -4])).tolist()
    [9, 16]
    """
def squared_difference(x: Operand, y: Operand) -> Tensor:
    """(x - y) ** 2.

    >>> nv.squared_difference(np.array([1, 2]), 5).tolist()
    [16, 9]
    """
def subtract(x: Operand, y: Operand) -> Tensor:
    """x - y, correctly rounded; integers wrap. Not defined for bool.

    >>> nv.subtract(np.array([5, 7]), 2).tolist()
    [3, 5]
    """
def tan(x: Operand) -> Tensor:
    """The tangent; of infinities NaN.

    >>> round(nv.tan(np.pi / 4).item(), 4)
    1.0
    """
def tanh(x: Operand) -> Tensor:
    """The hyperbolic tangent; +-1 at infinities, never overflows.

    >>> round(nv.tanh(1.0).item(), 4)
    0.7616
    """
def trunc(x: Operand) -> Tensor:
    """x without its fraction: toward zero.

    >>> nv.trunc(np.array([1.7, -1.7])).tolist()
    [1.0, -1.0]
    """
