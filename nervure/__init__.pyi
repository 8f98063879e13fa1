# Made from the package: `make generated` writes it, tests/project/test_generated.py compares it.
"""nervure: tensors with named axes, a strictly typed graph, derivatives, and transformers that compile whole functions.

>>> import nervure as nv
>>> x = nv.constant([[1., 2.], [3., 4.]], axes="H=2, W=2")
>>> nv.sum(x * x, out_axes="H=2").tolist()
[5.0, 25.0]

Names are imported at their first use, so that ``import nervure`` costs little more than NumPy.
"""

from nervure.front.tensor import Operand
from nervure.front.tensor import TensorLike
from nervure.types.axes import AxesLike

from nervure import autodiff as autodiff
from nervure import data as data
from nervure import flags as flags
from nervure import front as front
from nervure import ir as ir
from nervure import ops as ops
from nervure import optim as optim
from nervure import passes as passes
from nervure import testing as testing
from nervure import tools as tools
from nervure import transformers as transformers
from nervure import types as types
from nervure.autodiff.derivative import deriv as deriv
from nervure.computation import Computation as Computation
from nervure.computation import computation as computation
from nervure.computation import evaluate as evaluate
from nervure.computation import seed as seed
from nervure.config import show_config as show_config
from nervure.errors import AxisMismatch as AxisMismatch
from nervure.errors import DtypeMismatch as DtypeMismatch
from nervure.errors import FormatError as FormatError
from nervure.errors import Immutable as Immutable
from nervure.errors import InUse as InUse
from nervure.errors import IndexOutOfRange as IndexOutOfRange
from nervure.errors import InternalError as InternalError
from nervure.errors import InvalidArgument as InvalidArgument
from nervure.errors import NervureError as NervureError
from nervure.errors import NotShared as NotShared
from nervure.errors import NotSupported as NotSupported
from nervure.errors import NumericError as NumericError
from nervure.errors import ShapeMismatch as ShapeMismatch
from nervure.errors import WrongKind as WrongKind
from nervure.explain import explain as explain
from nervure.front.contraction import dot as dot
from nervure.front.contraction import einsum as einsum
from nervure.front.contraction import matmul as matmul
from nervure.front.contraction import outer as outer
from nervure.front.convolution import convolution as convolution
from nervure.front.convolution import deconvolution as deconvolution
from nervure.front.creation import AssignableTensorOp as AssignableTensorOp
from nervure.front.creation import constant as constant
from nervure.front.creation import persistent_tensor as persistent_tensor
from nervure.front.creation import placeholder as placeholder
from nervure.front.creation import temporary as temporary
from nervure.front.creation import tensor as tensor
from nervure.front.creation import variable as variable
from nervure.front.custom import custom_vjp as custom_vjp
from nervure.front.effects import assign as assign
from nervure.front.effects import doall as doall
from nervure.front.effects import fill as fill
from nervure.front.effects import host_call as host_call
from nervure.front.effects import print_op as print_op
from nervure.front.effects import sequential as sequential
from nervure.front.effects import set_item as set_item
from nervure.front.effects import value_of as value_of
from nervure.front.elementwise import atan2 as atan2
from nervure.front.elementwise import bitcast as bitcast
from nervure.front.elementwise import clip as clip
from nervure.front.elementwise import convert as convert
from nervure.front.elementwise import divide as divide
from nervure.front.elementwise import divmod as divmod
from nervure.front.elementwise import elu as elu
from nervure.front.elementwise import gelu as gelu
from nervure.front.elementwise import leaky_relu as leaky_relu
from nervure.front.elementwise import logical_not as logical_not
from nervure.front.elementwise import power as power
from nervure.front.elementwise import prelu as prelu
from nervure.front.elementwise import round as round
from nervure.front.elementwise import safelog as safelog
from nervure.front.elementwise import stop_gradient as stop_gradient
from nervure.front.elementwise import subtract as subtract
from nervure.front.elementwise import where as where
from nervure.front.gathering import gather as gather
from nervure.front.gathering import gather_elements as gather_elements
from nervure.front.gathering import gather_nd as gather_nd
from nervure.front.gathering import lookuptable as lookuptable
from nervure.front.gathering import one_hot as one_hot
from nervure.front.gathering import scatter as scatter
from nervure.front.indexing import slice_along_axis as slice_along_axis
from nervure.front.indexing import tensor_slice as tensor_slice
from nervure.front.joining import concat_along_axis as concat_along_axis
from nervure.front.joining import concatenate as concatenate
from nervure.front.joining import split as split
from nervure.front.joining import stack as stack
from nervure.front.normalization import batch_norm as batch_norm
from nervure.front.normalization import cross_entropy_binary as cross_entropy_binary
from nervure.front.normalization import cross_entropy_multi as cross_entropy_multi
from nervure.front.normalization import layer_norm as layer_norm
from nervure.front.normalization import log_softmax as log_softmax
from nervure.front.normalization import rms_norm as rms_norm
from nervure.front.normalization import softmax as softmax
from nervure.front.pooling import pooling as pooling
from nervure.front.positions import arange as arange
from nervure.front.positions import eye as eye
from nervure.front.positions import full as full
from nervure.front.positions import full_like as full_like
from nervure.front.positions import iota as iota
from nervure.front.positions import ones as ones
from nervure.front.positions import ones_like as ones_like
from nervure.front.positions import tril as tril
from nervure.front.positions import triu as triu
from nervure.front.positions import zeros as zeros
from nervure.front.positions import zeros_like as zeros_like
from nervure.front.random import bernoulli as bernoulli
from nervure.front.random import dropout as dropout
from nervure.front.random import glorot as glorot
from nervure.front.random import he as he
from nervure.front.random import normal as normal
from nervure.front.random import uniform as uniform
from nervure.front.reductions import batch_size as batch_size
from nervure.front.reductions import std as std
from nervure.front.reductions import tensor_size as tensor_size
from nervure.front.reductions import variance as variance
from nervure.front.sharing import from_dlpack as from_dlpack
from nervure.front.tensor import Tensor as Tensor
from nervure.front.views import axes_with_order as axes_with_order
from nervure.front.views import broadcast as broadcast
from nervure.front.views import cast_axes as cast_axes
from nervure.front.views import expand_dims as expand_dims
from nervure.front.views import flatten as flatten
from nervure.front.views import flatten_at as flatten_at
from nervure.front.views import map_roles as map_roles
from nervure.front.views import pad as pad
from nervure.front.views import reshape as reshape
from nervure.front.views import reverse as reverse
from nervure.front.views import squeeze as squeeze
from nervure.front.views import unflatten as unflatten
from nervure.ir.function import Function as Function
from nervure.ir.provenance import metadata as metadata
from nervure.ir.provenance import name_scope as name_scope
from nervure.jit import grad as grad
from nervure.jit import jit as jit
from nervure.jit import value_and_grad as value_and_grad
from nervure.model_file import load as load
from nervure.model_file import save as save
from nervure.ops import Parameter as Parameter
from nervure.types.axes import Axes as Axes
from nervure.types.axes import make_axes as make_axes
from nervure.types.axis import Axis as Axis
from nervure.types.axis import FlattenedAxis as FlattenedAxis
from nervure.types.axis import axis as axis
from nervure.types.axis import make_axis as make_axis
from nervure.types.axis_class import make_axis_class as make_axis_class
from nervure.types.description import BasicTensorDescription as BasicTensorDescription
from nervure.types.description import TensorDescription as TensorDescription
from nervure.types.dim import Dim as Dim
from nervure.types.dim import dim as dim
from nervure.types.dim import dim_max as dim_max
from nervure.types.dim import dim_min as dim_min
from nervure.types.dtype import DType as DType
from nervure.types.dtype import as_dtype as as_dtype
from nervure.types.dtype import bfloat16 as bfloat16
from nervure.types.dtype import bool_ as bool_
from nervure.types.dtype import complex128 as complex128
from nervure.types.dtype import complex64 as complex64
from nervure.types.dtype import float16 as float16
from nervure.types.dtype import float32 as float32
from nervure.types.dtype import float64 as float64
from nervure.types.dtype import float8_e3m4 as float8_e3m4
from nervure.types.dtype import float8_e4m3 as float8_e4m3
from nervure.types.dtype import float8_e4m3b11fnuz as float8_e4m3b11fnuz
from nervure.types.dtype import float8_e4m3fn as float8_e4m3fn
from nervure.types.dtype import float8_e4m3fnuz as float8_e4m3fnuz
from nervure.types.dtype import float8_e5m2 as float8_e5m2
from nervure.types.dtype import float8_e5m2fnuz as float8_e5m2fnuz
from nervure.types.dtype import float8_e8m0fnu as float8_e8m0fnu
from nervure.types.dtype import int16 as int16
from nervure.types.dtype import int32 as int32
from nervure.types.dtype import int4 as int4
from nervure.types.dtype import int64 as int64
from nervure.types.dtype import int8 as int8
from nervure.types.dtype import uint16 as uint16
from nervure.types.dtype import uint32 as uint32
from nervure.types.dtype import uint4 as uint4
from nervure.types.dtype import uint64 as uint64
from nervure.types.dtype import uint8 as uint8

__version__: str

def L1_norm(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """The sum of the magnitudes.

    >>> round(nv.L1_norm([3.0, -4.0]).item(), 4)
    7.0
    """

def L2_norm(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """The square root of the sum of the squares. Its derivative at 0 is 0.

    >>> round(nv.L2_norm([3.0, 4.0]).item(), 4)
    5.0
    """

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

def all(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """Whether all elements hold.

    >>> nv.all([[1, 0], [1, 1]], axis=1).tolist()
    [False, True]
    """

def any(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """Whether an element holds.

    >>> nv.any([[0, 0], [0, 1]], axis=1).tolist()
    [False, True]
    """

def argmax(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """Where the largest element is, int64: its place within the reduced axes, flattened in row-major order.

    The first of equal ones; NaN counts as larger than all numbers.

    >>> nv.argmax([[1, 5], [4, 2]], axis=1).tolist()
    [1, 0]
    """

def argmin(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """Where the smallest element is, int64: its place within the reduced axes, flattened in row-major order.

    The first of equal ones; NaN counts as smaller than all numbers.

    >>> nv.argmin([[1, 5], [4, 2]], axis=1).tolist()
    [0, 1]
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

def count_nonzero(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """How many elements are not 0, int64; NaN is not.

    >>> nv.count_nonzero([[0, 3], [1, 2]], axis=1).tolist()
    [1, 2]
    """

def digamma(x: Operand) -> Tensor:
    """The derivative of lgamma; 0 gives an infinity with the other sign than the zero, -1, -2, ... NaN.

    >>> round(nv.digamma(1.0).item(), 4)
    -0.5772
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
    """sqrt(x*x + y*y), without overflow in between; with an infinity infinite. Its derivative at the origin is 0.

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

def logsumexp(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """log(sum(exp(x))), without overflow. Its derivative is the softmax; where all elements are -inf it is 0.

    >>> round(nv.logsumexp([0.0, 0.0, 0.0]).item(), 4)
    1.0986
    """

def max(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """The largest element; NaN if there is one. Ties share the gradient equally.

    >>> nv.max([[1, 5], [4, 2]], axis=1).tolist()
    [5.0, 4.0]
    """

def maximum(x: Operand, y: Operand) -> Tensor:
    """The larger; NaN if either is NaN; +0 over -0 is not promised. Equal operands share the gradient.

    >>> nv.maximum(np.array([1, 5]), 3).tolist()
    [3, 5]
    """

def mean(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """The sum over the number of elements; of none NaN.

    >>> nv.mean([[1, 2], [3, 4]], axis=0).tolist()
    [2.0, 3.0]
    """

def min(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """The smallest element; NaN if there is one. Ties share the gradient equally.

    >>> nv.min([[1, 5], [4, 2]], axis=1).tolist()
    [1.0, 2.0]
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

def prod(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """The product, in the element type of x; integers wrap. Its derivative is exact with any number of zeros.

    >>> nv.prod([[1, 2], [3, 4]], axis=1).tolist()
    [2.0, 12.0]
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

def squared_L2(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """The sum of the squares.

    >>> round(nv.squared_L2([3.0, 4.0]).item(), 4)
    25.0
    """

def squared_difference(x: Operand, y: Operand) -> Tensor:
    """(x - y) ** 2.

    >>> nv.squared_difference(np.array([1, 2]), 5).tolist()
    [16, 9]
    """

def sum(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """The sum, in the element type of x; low-precision floats add up in float32, integers wrap.

    >>> nv.sum([[1, 2], [3, 4]], axis=0).tolist()
    [4.0, 6.0]
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
