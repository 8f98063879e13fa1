# Made from the package: `make generated` writes it, tests/project/test_generated.py compares it.
"""nervure: tensors with named axes, a strictly typed graph, derivatives, and transformers that compile whole functions.

>>> import nervure as nv
>>> x = nv.constant([[1., 2.], [3., 4.]], axes="H=2, W=2")
>>> nv.sum(x * x, out_axes="H=2").tolist()
[5.0, 25.0]

Names are imported at their first use, so that ``import nervure`` costs little more than NumPy.
"""

from nervure.front.tensor import Number, TensorLike
from nervure.types.axes import AxesLike

from nervure import (
    autodiff as autodiff, bridges as bridges, data as data, fft as fft, flags as flags, front as front, ir as ir,
    linalg as linalg, nn as nn, ops as ops, optim as optim, passes as passes, processes as processes, random as random,
    special as special, testing as testing, tools as tools, training as training, transformers as transformers,
    types as types)
from nervure.autodiff.derivative import deriv as deriv
from nervure.bridges.stablehlo import export_stablehlo as export_stablehlo
from nervure.bridges.torch.bridge import from_torch as from_torch
from nervure.build import (
    CompiledComposite as CompiledComposite, build as build, forward as forward, train_step as train_step)
from nervure.computation import (
    Computation as Computation, computation as computation, evaluate as evaluate, seed as seed)
from nervure.eager import (
    call_optimizer as call_optimizer, parameter as parameter, proceed as proceed, rand as rand, randn as randn,
    reset_grad as reset_grad)
from nervure.errors import (
    AxisMismatch as AxisMismatch, DtypeMismatch as DtypeMismatch, FormatError as FormatError, Immutable as Immutable,
    InUse as InUse, IndexOutOfRange as IndexOutOfRange, InternalError as InternalError,
    InvalidArgument as InvalidArgument, NervureError as NervureError, NodeNotFound as NodeNotFound,
    NotShared as NotShared, NotSupported as NotSupported, NumericError as NumericError, ProcessLost as ProcessLost,
    ShapeMismatch as ShapeMismatch, UnknownName as UnknownName, WrongKind as WrongKind)
from nervure.files.model_formats import (
    define_model_format as define_model_format, load_weights as load_weights, save_weights as save_weights)
from nervure.files.saving import load as load, load_notes as load_notes, load_together as load_together, save as save
from nervure.files.state_dict import (
    StateDict as StateDict, from_state_dict as from_state_dict, make_state_dict as make_state_dict,
    parse_state_dict_key as parse_state_dict_key)
from nervure.files.state_loading import load_from_state_dict as load_from_state_dict
from nervure.front.arranging.diagonals import (
    diag as diag, diagflat as diagflat, diagonal as diagonal, fill_diagonal as fill_diagonal, trace as trace, tri as tri)
from nervure.front.arranging.editing import delete as delete, insert as insert, trim_zeros as trim_zeros
from nervure.front.arranging.filled import (
    arange as arange, eye as eye, full as full, full_like as full_like, iota as iota, ones as ones,
    ones_like as ones_like, tril as tril, triu as triu, zeros as zeros, zeros_like as zeros_like)
from nervure.front.arranging.found import (
    argwhere as argwhere, compress as compress, flatnonzero as flatnonzero, nonzero as nonzero, repeat as repeat,
    unique as unique)
from nervure.front.arranging.gathering import (
    gather as gather, gather_elements as gather_elements, gather_nd as gather_nd, lookuptable as lookuptable,
    one_hot as one_hot, scatter as scatter)
from nervure.front.arranging.grids import (
    geomspace as geomspace, identity as identity, linspace as linspace, logspace as logspace, meshgrid as meshgrid,
    vander as vander)
from nervure.front.arranging.index_grids import (
    diag_indices as diag_indices, diag_indices_from as diag_indices_from, fromfunction as fromfunction,
    indices as indices, ix_ as ix_, mask_indices as mask_indices, ravel_multi_index as ravel_multi_index,
    tril_indices as tril_indices, tril_indices_from as tril_indices_from, triu_indices as triu_indices,
    triu_indices_from as triu_indices_from, unravel_index as unravel_index)
from nervure.front.arranging.indexing import slice_along_axis as slice_along_axis, tensor_slice as tensor_slice
from nervure.front.arranging.joining import (
    concat_along_axis as concat_along_axis, concatenate as concatenate, split as split, stack as stack)
from nervure.front.arranging.rearranging import (
    atleast_1d as atleast_1d, atleast_2d as atleast_2d, atleast_3d as atleast_3d, broadcast_arrays as broadcast_arrays,
    broadcast_to as broadcast_to, flip as flip, fliplr as fliplr, flipud as flipud,
    matrix_transpose as matrix_transpose, moveaxis as moveaxis, ravel as ravel, roll as roll, rot90 as rot90,
    swapaxes as swapaxes, tile as tile)
from nervure.front.arranging.selecting import (
    choose as choose, piecewise as piecewise, put_along_axis as put_along_axis, select as select)
from nervure.front.arranging.stacking import (
    append as append, array_split as array_split, column_stack as column_stack, dsplit as dsplit, dstack as dstack,
    hsplit as hsplit, hstack as hstack, unstack as unstack, vsplit as vsplit, vstack as vstack)
from nervure.front.arranging.views import (
    axes_with_order as axes_with_order, broadcast as broadcast, cast_axes as cast_axes, expand_dims as expand_dims,
    flatten as flatten, flatten_at as flatten_at, map_roles as map_roles, pad as pad, reshape as reshape,
    reverse as reverse, squeeze as squeeze, unflatten as unflatten)
from nervure.front.creation import (
    AssignableTensorOp as AssignableTensorOp, constant as constant, persistent_tensor as persistent_tensor,
    placeholder as placeholder, temporary as temporary, tensor as tensor, variable as variable)
from nervure.front.custom import custom_vjp as custom_vjp
from nervure.front.devices import (
    CPUTensor as CPUTensor, NumPyTensor as NumPyTensor, ScalarTensor as ScalarTensor, XLATensor as XLATensor,
    converts as converts, device_in_force as device_in_force, devices as devices, implement as implement,
    show_backends as show_backends)
from nervure.front.dlpack import from_dlpack as from_dlpack
from nervure.front.effects import (
    assign as assign, doall as doall, fill as fill, host_call as host_call, print_op as print_op,
    sequential as sequential, set_item as set_item, value_of as value_of)
from nervure.front.facets import Facet as Facet, make_input as make_input, make_tensor as make_tensor
from nervure.front.flexible import flexible as flexible
from nervure.front.gradients import hook_optimizer as hook_optimizer
from nervure.front.images.convolution import convolution as convolution, deconvolution as deconvolution
from nervure.front.images.deformable import deformable_convolution as deformable_convolution
from nervure.front.images.interpolation import affine_grid as affine_grid, grid_sample as grid_sample
from nervure.front.images.pool_positions import (
    fractional_max_pooling as fractional_max_pooling, max_unpool as max_unpool)
from nervure.front.images.pooling import pooling as pooling
from nervure.front.images.regions_of_interest import (
    crop_and_resize as crop_and_resize, nms as nms, roi_align as roi_align, roi_pool as roi_pool)
from nervure.front.images.sampling import (
    adaptive_pooling as adaptive_pooling, channel_shuffle as channel_shuffle, fold as fold, lp_pooling as lp_pooling,
    pixel_shuffle as pixel_shuffle, pixel_unshuffle as pixel_unshuffle, resize as resize, unfold as unfold)
from nervure.front.iterators import (
    call_with_view as call_with_view, compiled_loop as compiled_loop, offset_of as offset_of, size_of as size_of,
    stride_of as stride_of, under_multi_thread as under_multi_thread)
from nervure.front.loops.associative_scan import associative_scan as associative_scan
from nervure.front.loops.checkpointing import checkpoint as checkpoint
from nervure.front.loops.choices import cond as cond, switch as switch
from nervure.front.loops.loop_functions import (
    fori_loop as fori_loop, map as map, scan as scan, while_loop as while_loop)
from nervure.front.matrices.contraction import dot as dot, einsum as einsum, matmul as matmul, outer as outer
from nervure.front.matrices.matrix_products import (
    cross as cross, inner as inner, kron as kron, tensordot as tensordot, vdot as vdot)
from nervure.front.networks.attention import attention as attention
from nervure.front.networks.noise import (
    alpha_dropout as alpha_dropout, channel_dropout as channel_dropout, gumbel_softmax as gumbel_softmax)
from nervure.front.networks.nonlinearities import (
    celu as celu, glu as glu, hard_shrink as hard_shrink, hard_tanh as hard_tanh, relu6 as relu6, rrelu as rrelu,
    soft_shrink as soft_shrink, soft_sign as soft_sign, softmin as softmin, squareplus as squareplus,
    tanh_shrink as tanh_shrink, threshold as threshold)
from nervure.front.networks.normalization import (
    batch_norm as batch_norm, cross_entropy_binary as cross_entropy_binary, cross_entropy_multi as cross_entropy_multi,
    layer_norm as layer_norm, local_response_norm as local_response_norm, log_softmax as log_softmax,
    rms_norm as rms_norm, softmax as softmax)
from nervure.front.nodes import defnode as defnode
from nervure.front.op_functions import (
    absolute as absolute, acos as acos, acosh as acosh, add as add, asin as asin, asinh as asinh, atan as atan,
    atanh as atanh, bitwise_and as bitwise_and, bitwise_not as bitwise_not, bitwise_or as bitwise_or,
    bitwise_xor as bitwise_xor, cbrt as cbrt, ceil as ceil, cos as cos, cosh as cosh, digamma as digamma,
    divide as divide, equal as equal, erf as erf, erf_inv as erf_inv, erfc as erfc, exp as exp, exp2 as exp2,
    expm1 as expm1, floor as floor, floordivide as floordivide, greater as greater, greater_equal as greater_equal,
    hard_sigmoid as hard_sigmoid, hard_swish as hard_swish, hypot as hypot, is_finite as is_finite, is_inf as is_inf,
    is_nan as is_nan, left_shift as left_shift, less as less, less_equal as less_equal, lgamma as lgamma, log as log,
    log10 as log10, log1p as log1p, log2 as log2, log_sigmoid as log_sigmoid, logical_and as logical_and,
    logical_or as logical_or, logical_xor as logical_xor, maximum as maximum, minimum as minimum, mish as mish,
    mod as mod, multiply as multiply, negative as negative, not_equal as not_equal, reciprocal as reciprocal,
    relu as relu, right_shift as right_shift, rsqrt as rsqrt, selu as selu, sigmoid as sigmoid, sign as sign,
    silu as silu, sin as sin, sinh as sinh, softplus as softplus, sparse_plus as sparse_plus,
    sparse_sigmoid as sparse_sigmoid, sqrt as sqrt, square as square, squared_difference as squared_difference,
    subtract as subtract, tan as tan, tanh as tanh, trunc as trunc)
from nervure.front.pointwise.bits import (
    mulhi as mulhi, packbits as packbits, shift_right_logical as shift_right_logical, unpackbits as unpackbits)
from nervure.front.pointwise.complex_parts import (
    angle as angle, complex as complex, conj as conj, conjugate as conjugate, imag as imag, iscomplex as iscomplex,
    isreal as isreal, polar as polar, real as real)
from nervure.front.pointwise.elementary import (
    deg2rad as deg2rad, degrees as degrees, entr as entr, fix as fix, fmax as fmax, fmin as fmin,
    heaviside as heaviside, invert as invert, logaddexp as logaddexp, logaddexp2 as logaddexp2, logit as logit,
    positive as positive, rad2deg as rad2deg, radians as radians, remainder as remainder, rint as rint, sinc as sinc,
    xlog1py as xlog1py, xlogy as xlogy)
from nervure.front.pointwise.elementwise import (
    atan2 as atan2, bitcast as bitcast, clip as clip, convert as convert, divmod as divmod, elu as elu, gelu as gelu,
    leaky_relu as leaky_relu, logical_not as logical_not, power as power, prelu as prelu, round as round,
    safelog as safelog, stop_gradient as stop_gradient, where as where)
from nervure.front.pointwise.float_bits import (
    frexp as frexp, ldexp as ldexp, nextafter as nextafter, spacing as spacing)
from nervure.front.pointwise.predicates import (
    allclose as allclose, array_equal as array_equal, isclose as isclose, isfinite as isfinite, isinf as isinf,
    isnan as isnan, isneginf as isneginf, isposinf as isposinf)
from nervure.front.pointwise.quantisation import (
    dequantise_linear as dequantise_linear, quantise_linear as quantise_linear)
from nervure.front.random import (
    bernoulli as bernoulli, dropout as dropout, glorot as glorot, he as he, normal as normal, uniform as uniform)
from nervure.front.sharding import shard_as as shard_as
from nervure.front.signals.polynomial_roots import poly as poly, polydiv as polydiv, polyfit as polyfit, roots as roots
from nervure.front.signals.polynomials import (
    convolve as convolve, correlate as correlate, polyadd as polyadd, polyder as polyder, polyint as polyint,
    polymul as polymul, polysub as polysub, polyval as polyval)
from nervure.front.signals.window_functions import (
    bartlett as bartlett, blackman as blackman, hamming as hamming, hanning as hanning, kaiser as kaiser)
from nervure.front.special.bessel_functions import i0 as i0
from nervure.front.special.special_functions import (
    betaln as betaln, bitwise_count as bitwise_count, clz as clz, copysign as copysign, fmod as fmod, gcd as gcd,
    lcm as lcm, log_ndtr as log_ndtr, multigammaln as multigammaln, ndtr as ndtr, rel_entr as rel_entr,
    signbit as signbit)
from nervure.front.statistics.bins import (
    bincount as bincount, histogram as histogram, histogram2d as histogram2d,
    histogram_bin_edges as histogram_bin_edges, histogramdd as histogramdd, interp as interp)
from nervure.front.statistics.differences import (
    average as average, corrcoef as corrcoef, cov as cov, diff as diff, gradient as gradient, ptp as ptp,
    trapezoid as trapezoid, unwrap as unwrap, var as var)
from nervure.front.statistics.distances import cdist as cdist, pdist as pdist
from nervure.front.statistics.nan_reductions import (
    nan_to_num as nan_to_num, nanargmax as nanargmax, nanargmin as nanargmin, nanmax as nanmax, nanmean as nanmean,
    nanmin as nanmin, nanprod as nanprod, nanstd as nanstd, nansum as nansum, nanvar as nanvar)
from nervure.front.statistics.prefixes import (
    cumlogsumexp as cumlogsumexp, cummax as cummax, cummin as cummin, cumprod as cumprod, cumsum as cumsum,
    cumulative_prod as cumulative_prod, cumulative_sum as cumulative_sum, nancumprod as nancumprod,
    nancumsum as nancumsum)
from nervure.front.statistics.ranks import (
    digitize as digitize, median as median, nanmedian as nanmedian, nanpercentile as nanpercentile,
    nanquantile as nanquantile, percentile as percentile, quantile as quantile, searchsorted as searchsorted)
from nervure.front.statistics.reductions import (
    batch_size as batch_size, std as std, tensor_size as tensor_size, variance as variance)
from nervure.front.statistics.segment_reductions import (
    ragged_dot as ragged_dot, segment_max as segment_max, segment_mean as segment_mean, segment_min as segment_min,
    segment_prod as segment_prod, segment_sum as segment_sum)
from nervure.front.statistics.sets import (
    intersect1d as intersect1d, setdiff1d as setdiff1d, setxor1d as setxor1d, union1d as union1d,
    unique_all as unique_all, unique_counts as unique_counts, unique_inverse as unique_inverse,
    unique_values as unique_values)
from nervure.front.statistics.sorts import (
    argpartition as argpartition, argsort as argsort, lexsort as lexsort, partition as partition, sort as sort,
    top_k as top_k)
from nervure.front.tensor import AbstractTensor as AbstractTensor, Tensor as Tensor
from nervure.functions.directions import hvp as hvp, jvp as jvp, linearize as linearize, vjp as vjp
from nervure.functions.gradient import grad as grad, value_and_grad as value_and_grad
from nervure.functions.jacobian import hessian as hessian, jacobian as jacobian
from nervure.functions.mapping import vmap as vmap
from nervure.inspection.config import show_config as show_config
from nervure.inspection.explain import explain as explain
from nervure.inspection.profiling import (
    disassemble as disassemble, proceed_bench as proceed_bench, proceed_time as proceed_time)
from nervure.ir.function import Function as Function
from nervure.ir.provenance import metadata as metadata, name_scope as name_scope, no_grad as no_grad
from nervure.jit import jit as jit
from nervure.ops import Parameter as Parameter
from nervure.tensor_storage import mref as mref
from nervure.training.trainer import Trainer as Trainer
from nervure.transformers.devices.pool import memory_pool as memory_pool
from nervure.types.axes import Axes as Axes, make_axes as make_axes
from nervure.types.axis import Axis as Axis, FlattenedAxis as FlattenedAxis, axis as axis, make_axis as make_axis
from nervure.types.axis_class import make_axis_class as make_axis_class
from nervure.types.description import (
    BasicTensorDescription as BasicTensorDescription, TensorDescription as TensorDescription)
from nervure.types.dim import Dim as Dim, dim as dim, dim_max as dim_max, dim_min as dim_min
from nervure.types.dtype import (
    DType as DType, as_dtype as as_dtype, bfloat16 as bfloat16, bool_ as bool_, complex128 as complex128,
    complex64 as complex64, float16 as float16, float32 as float32, float4_e2m1fn as float4_e2m1fn, float64 as float64,
    float8_e3m4 as float8_e3m4, float8_e4m3 as float8_e4m3, float8_e4m3b11fnuz as float8_e4m3b11fnuz,
    float8_e4m3fn as float8_e4m3fn, float8_e4m3fnuz as float8_e4m3fnuz, float8_e5m2 as float8_e5m2,
    float8_e5m2fnuz as float8_e5m2fnuz, float8_e8m0fnu as float8_e8m0fnu, int16 as int16, int2 as int2, int32 as int32,
    int4 as int4, int64 as int64, int8 as int8, uint16 as uint16, uint2 as uint2, uint32 as uint32, uint4 as uint4,
    uint64 as uint64, uint8 as uint8)
from nervure.types.mesh import Mesh as Mesh
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
    """The position of the largest element within the reduced axes, flattened in row-major order, as int64.

    It is the first of equal ones; NaN counts as larger than all numbers.

    >>> nv.argmax([[1, 5], [4, 2]], axis=1).tolist()
    [1, 0]
    """
def argmin(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """The position of the smallest element within the reduced axes, flattened in row-major order, as int64.

    It is the first of equal ones; NaN counts as smaller than all numbers.

    >>> nv.argmin([[1, 5], [4, 2]], axis=1).tolist()
    [0, 1]
    """
def count_nonzero(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """The number of elements that are not 0, int64; NaN counts.

    >>> nv.count_nonzero([[0, 3], [1, 2]], axis=1).tolist()
    [1, 2]
    """
def logmeanexp(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """log(mean(exp(x))), without overflow; NaN for no elements.

    >>> round(nv.logmeanexp([0.0, 0.0, 0.0]).item(), 4)
    0.0
    """
def logsumexp(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """log(sum(exp(x))), without overflow; -inf for no elements. Its derivative is the softmax, or 0 if all elements
    are -inf.

    >>> round(nv.logsumexp([0.0, 0.0, 0.0]).item(), 4)
    1.0986
    """
def max(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False, initial: Number | None = None) -> Tensor:
    """The largest element; NaN if there is one. Ties share the gradient equally.

    ``initial`` is a number to begin with, and what a reduction over nothing gives.

    >>> nv.max([[1, 5], [4, 2]], axis=1).tolist()
    [5.0, 4.0]
    """
def mean(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """The sum over the number of elements; NaN for no elements.

    >>> nv.mean([[1, 2], [3, 4]], axis=0).tolist()
    [2.0, 3.0]
    """
def min(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False, initial: Number | None = None) -> Tensor:
    """The smallest element; NaN if there is one. Ties share the gradient equally.

    ``initial`` is a number to begin with, and what a reduction over nothing gives.

    >>> nv.min([[1, 5], [4, 2]], axis=1).tolist()
    [1.0, 2.0]
    """
def prod(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False, initial: Number | None = None) -> Tensor:
    """The product, in the element type of x; integers wrap. Its derivative is exact with any number of zeros.

    ``initial`` is a number to begin with, and what a reduction over nothing gives.

    >>> nv.prod([[1, 2], [3, 4]], axis=1).tolist()
    [2.0, 12.0]
    """
def squared_L2(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
    """The sum of the squares.

    >>> round(nv.squared_L2([3.0, 4.0]).item(), 4)
    25.0
    """
def sum(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False, initial: Number | None = None) -> Tensor:
    """The sum, in the element type of x; low-precision floats add up in float32, integers wrap.

    ``initial`` is a number to begin with, and what a reduction over nothing gives.

    >>> nv.sum([[1, 2], [3, 4]], axis=0).tolist()
    [4.0, 6.0]
    """
