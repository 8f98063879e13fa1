# Made from the package: `make generated` writes it, tests/project/test_generated.py compares it.
"""nervure: tensors with named axes, a strictly typed graph, derivatives, and transformers that compile whole functions.

>>> import nervure as nv
>>> x = nv.constant([[1., 2.], [3., 4.]], axes="H=2, W=2")
>>> nv.sum(x * x, out_axes="H=2").tolist()
[5.0, 25.0]

Names are imported at their first use, so that ``import nervure`` costs little more than NumPy.
"""

from nervure.front.tensor import Number
from nervure.front.tensor import TensorLike
from nervure.types.axes import AxesLike

from nervure import autodiff as autodiff
from nervure import bridges as bridges
from nervure import data as data
from nervure import fft as fft
from nervure import flags as flags
from nervure import front as front
from nervure import ir as ir
from nervure import linalg as linalg
from nervure import nn as nn
from nervure import ops as ops
from nervure import optim as optim
from nervure import passes as passes
from nervure import processes as processes
from nervure import random as random
from nervure import special as special
from nervure import testing as testing
from nervure import tools as tools
from nervure import training as training
from nervure import transformers as transformers
from nervure import types as types
from nervure.autodiff.derivative import deriv as deriv
from nervure.bridges.stablehlo import export_stablehlo as export_stablehlo
from nervure.bridges.torch.bridge import from_torch as from_torch
from nervure.build import CompiledComposite as CompiledComposite
from nervure.build import build as build
from nervure.build import forward as forward
from nervure.build import train_step as train_step
from nervure.computation import Computation as Computation
from nervure.computation import computation as computation
from nervure.computation import evaluate as evaluate
from nervure.computation import seed as seed
from nervure.eager import call_optimizer as call_optimizer
from nervure.eager import parameter as parameter
from nervure.eager import proceed as proceed
from nervure.eager import rand as rand
from nervure.eager import randn as randn
from nervure.eager import reset_grad as reset_grad
from nervure.errors import AxisMismatch as AxisMismatch
from nervure.errors import DtypeMismatch as DtypeMismatch
from nervure.errors import FormatError as FormatError
from nervure.errors import Immutable as Immutable
from nervure.errors import InUse as InUse
from nervure.errors import IndexOutOfRange as IndexOutOfRange
from nervure.errors import InternalError as InternalError
from nervure.errors import InvalidArgument as InvalidArgument
from nervure.errors import NervureError as NervureError
from nervure.errors import NodeNotFound as NodeNotFound
from nervure.errors import NotShared as NotShared
from nervure.errors import NotSupported as NotSupported
from nervure.errors import NumericError as NumericError
from nervure.errors import ProcessLost as ProcessLost
from nervure.errors import ShapeMismatch as ShapeMismatch
from nervure.errors import UnknownName as UnknownName
from nervure.errors import WrongKind as WrongKind
from nervure.files.model_formats import define_model_format as define_model_format
from nervure.files.model_formats import load_weights as load_weights
from nervure.files.model_formats import save_weights as save_weights
from nervure.files.saving import load as load
from nervure.files.saving import load_notes as load_notes
from nervure.files.saving import load_together as load_together
from nervure.files.saving import save as save
from nervure.files.state_dict import StateDict as StateDict
from nervure.files.state_dict import from_state_dict as from_state_dict
from nervure.files.state_dict import make_state_dict as make_state_dict
from nervure.files.state_dict import parse_state_dict_key as parse_state_dict_key
from nervure.files.state_loading import load_from_state_dict as load_from_state_dict
from nervure.front.arranging.diagonals import diag as diag
from nervure.front.arranging.diagonals import diagflat as diagflat
from nervure.front.arranging.diagonals import diagonal as diagonal
from nervure.front.arranging.diagonals import fill_diagonal as fill_diagonal
from nervure.front.arranging.diagonals import trace as trace
from nervure.front.arranging.diagonals import tri as tri
from nervure.front.arranging.editing import delete as delete
from nervure.front.arranging.editing import insert as insert
from nervure.front.arranging.editing import trim_zeros as trim_zeros
from nervure.front.arranging.filled import arange as arange
from nervure.front.arranging.filled import eye as eye
from nervure.front.arranging.filled import full as full
from nervure.front.arranging.filled import full_like as full_like
from nervure.front.arranging.filled import iota as iota
from nervure.front.arranging.filled import ones as ones
from nervure.front.arranging.filled import ones_like as ones_like
from nervure.front.arranging.filled import tril as tril
from nervure.front.arranging.filled import triu as triu
from nervure.front.arranging.filled import zeros as zeros
from nervure.front.arranging.filled import zeros_like as zeros_like
from nervure.front.arranging.found import argwhere as argwhere
from nervure.front.arranging.found import compress as compress
from nervure.front.arranging.found import flatnonzero as flatnonzero
from nervure.front.arranging.found import nonzero as nonzero
from nervure.front.arranging.found import repeat as repeat
from nervure.front.arranging.found import unique as unique
from nervure.front.arranging.gathering import gather as gather
from nervure.front.arranging.gathering import gather_elements as gather_elements
from nervure.front.arranging.gathering import gather_nd as gather_nd
from nervure.front.arranging.gathering import lookuptable as lookuptable
from nervure.front.arranging.gathering import one_hot as one_hot
from nervure.front.arranging.gathering import scatter as scatter
from nervure.front.arranging.grids import geomspace as geomspace
from nervure.front.arranging.grids import identity as identity
from nervure.front.arranging.grids import linspace as linspace
from nervure.front.arranging.grids import logspace as logspace
from nervure.front.arranging.grids import meshgrid as meshgrid
from nervure.front.arranging.grids import vander as vander
from nervure.front.arranging.index_grids import diag_indices as diag_indices
from nervure.front.arranging.index_grids import diag_indices_from as diag_indices_from
from nervure.front.arranging.index_grids import fromfunction as fromfunction
from nervure.front.arranging.index_grids import indices as indices
from nervure.front.arranging.index_grids import ix_ as ix_
from nervure.front.arranging.index_grids import mask_indices as mask_indices
from nervure.front.arranging.index_grids import ravel_multi_index as ravel_multi_index
from nervure.front.arranging.index_grids import tril_indices as tril_indices
from nervure.front.arranging.index_grids import tril_indices_from as tril_indices_from
from nervure.front.arranging.index_grids import triu_indices as triu_indices
from nervure.front.arranging.index_grids import triu_indices_from as triu_indices_from
from nervure.front.arranging.index_grids import unravel_index as unravel_index
from nervure.front.arranging.indexing import slice_along_axis as slice_along_axis
from nervure.front.arranging.indexing import tensor_slice as tensor_slice
from nervure.front.arranging.joining import concat_along_axis as concat_along_axis
from nervure.front.arranging.joining import concatenate as concatenate
from nervure.front.arranging.joining import split as split
from nervure.front.arranging.joining import stack as stack
from nervure.front.arranging.rearranging import atleast_1d as atleast_1d
from nervure.front.arranging.rearranging import atleast_2d as atleast_2d
from nervure.front.arranging.rearranging import atleast_3d as atleast_3d
from nervure.front.arranging.rearranging import broadcast_arrays as broadcast_arrays
from nervure.front.arranging.rearranging import broadcast_to as broadcast_to
from nervure.front.arranging.rearranging import flip as flip
from nervure.front.arranging.rearranging import fliplr as fliplr
from nervure.front.arranging.rearranging import flipud as flipud
from nervure.front.arranging.rearranging import matrix_transpose as matrix_transpose
from nervure.front.arranging.rearranging import moveaxis as moveaxis
from nervure.front.arranging.rearranging import ravel as ravel
from nervure.front.arranging.rearranging import roll as roll
from nervure.front.arranging.rearranging import rot90 as rot90
from nervure.front.arranging.rearranging import swapaxes as swapaxes
from nervure.front.arranging.rearranging import tile as tile
from nervure.front.arranging.selecting import choose as choose
from nervure.front.arranging.selecting import piecewise as piecewise
from nervure.front.arranging.selecting import put_along_axis as put_along_axis
from nervure.front.arranging.selecting import select as select
from nervure.front.arranging.stacking import append as append
from nervure.front.arranging.stacking import array_split as array_split
from nervure.front.arranging.stacking import column_stack as column_stack
from nervure.front.arranging.stacking import dsplit as dsplit
from nervure.front.arranging.stacking import dstack as dstack
from nervure.front.arranging.stacking import hsplit as hsplit
from nervure.front.arranging.stacking import hstack as hstack
from nervure.front.arranging.stacking import unstack as unstack
from nervure.front.arranging.stacking import vsplit as vsplit
from nervure.front.arranging.stacking import vstack as vstack
from nervure.front.arranging.views import axes_with_order as axes_with_order
from nervure.front.arranging.views import broadcast as broadcast
from nervure.front.arranging.views import cast_axes as cast_axes
from nervure.front.arranging.views import expand_dims as expand_dims
from nervure.front.arranging.views import flatten as flatten
from nervure.front.arranging.views import flatten_at as flatten_at
from nervure.front.arranging.views import map_roles as map_roles
from nervure.front.arranging.views import pad as pad
from nervure.front.arranging.views import reshape as reshape
from nervure.front.arranging.views import reverse as reverse
from nervure.front.arranging.views import squeeze as squeeze
from nervure.front.arranging.views import unflatten as unflatten
from nervure.front.creation import AssignableTensorOp as AssignableTensorOp
from nervure.front.creation import constant as constant
from nervure.front.creation import persistent_tensor as persistent_tensor
from nervure.front.creation import placeholder as placeholder
from nervure.front.creation import temporary as temporary
from nervure.front.creation import tensor as tensor
from nervure.front.creation import variable as variable
from nervure.front.custom import custom_vjp as custom_vjp
from nervure.front.devices import CPUTensor as CPUTensor
from nervure.front.devices import NumPyTensor as NumPyTensor
from nervure.front.devices import ScalarTensor as ScalarTensor
from nervure.front.devices import XLATensor as XLATensor
from nervure.front.devices import converts as converts
from nervure.front.devices import device_in_force as device_in_force
from nervure.front.devices import devices as devices
from nervure.front.devices import implement as implement
from nervure.front.devices import show_backends as show_backends
from nervure.front.dlpack import from_dlpack as from_dlpack
from nervure.front.effects import assign as assign
from nervure.front.effects import doall as doall
from nervure.front.effects import fill as fill
from nervure.front.effects import host_call as host_call
from nervure.front.effects import print_op as print_op
from nervure.front.effects import sequential as sequential
from nervure.front.effects import set_item as set_item
from nervure.front.effects import value_of as value_of
from nervure.front.facets import Facet as Facet
from nervure.front.facets import make_input as make_input
from nervure.front.facets import make_tensor as make_tensor
from nervure.front.flexible import flexible as flexible
from nervure.front.gradients import hook_optimizer as hook_optimizer
from nervure.front.images.convolution import convolution as convolution
from nervure.front.images.convolution import deconvolution as deconvolution
from nervure.front.images.deformable import deformable_convolution as deformable_convolution
from nervure.front.images.interpolation import affine_grid as affine_grid
from nervure.front.images.interpolation import grid_sample as grid_sample
from nervure.front.images.pool_positions import fractional_max_pooling as fractional_max_pooling
from nervure.front.images.pool_positions import max_unpool as max_unpool
from nervure.front.images.pooling import pooling as pooling
from nervure.front.images.regions_of_interest import crop_and_resize as crop_and_resize
from nervure.front.images.regions_of_interest import nms as nms
from nervure.front.images.regions_of_interest import roi_align as roi_align
from nervure.front.images.regions_of_interest import roi_pool as roi_pool
from nervure.front.images.sampling import adaptive_pooling as adaptive_pooling
from nervure.front.images.sampling import channel_shuffle as channel_shuffle
from nervure.front.images.sampling import fold as fold
from nervure.front.images.sampling import lp_pooling as lp_pooling
from nervure.front.images.sampling import pixel_shuffle as pixel_shuffle
from nervure.front.images.sampling import pixel_unshuffle as pixel_unshuffle
from nervure.front.images.sampling import resize as resize
from nervure.front.images.sampling import unfold as unfold
from nervure.front.iterators import call_with_view as call_with_view
from nervure.front.iterators import compiled_loop as compiled_loop
from nervure.front.iterators import offset_of as offset_of
from nervure.front.iterators import size_of as size_of
from nervure.front.iterators import stride_of as stride_of
from nervure.front.iterators import under_multi_thread as under_multi_thread
from nervure.front.loops.associative_scan import associative_scan as associative_scan
from nervure.front.loops.checkpointing import checkpoint as checkpoint
from nervure.front.loops.choices import cond as cond
from nervure.front.loops.choices import switch as switch
from nervure.front.loops.loop_functions import fori_loop as fori_loop
from nervure.front.loops.loop_functions import map as map
from nervure.front.loops.loop_functions import scan as scan
from nervure.front.loops.loop_functions import while_loop as while_loop
from nervure.front.matrices.contraction import dot as dot
from nervure.front.matrices.contraction import einsum as einsum
from nervure.front.matrices.contraction import matmul as matmul
from nervure.front.matrices.contraction import outer as outer
from nervure.front.matrices.matrix_products import cross as cross
from nervure.front.matrices.matrix_products import inner as inner
from nervure.front.matrices.matrix_products import kron as kron
from nervure.front.matrices.matrix_products import tensordot as tensordot
from nervure.front.matrices.matrix_products import vdot as vdot
from nervure.front.networks.attention import attention as attention
from nervure.front.networks.noise import alpha_dropout as alpha_dropout
from nervure.front.networks.noise import channel_dropout as channel_dropout
from nervure.front.networks.noise import gumbel_softmax as gumbel_softmax
from nervure.front.networks.nonlinearities import celu as celu
from nervure.front.networks.nonlinearities import glu as glu
from nervure.front.networks.nonlinearities import hard_shrink as hard_shrink
from nervure.front.networks.nonlinearities import hard_tanh as hard_tanh
from nervure.front.networks.nonlinearities import relu6 as relu6
from nervure.front.networks.nonlinearities import rrelu as rrelu
from nervure.front.networks.nonlinearities import soft_shrink as soft_shrink
from nervure.front.networks.nonlinearities import soft_sign as soft_sign
from nervure.front.networks.nonlinearities import softmin as softmin
from nervure.front.networks.nonlinearities import squareplus as squareplus
from nervure.front.networks.nonlinearities import tanh_shrink as tanh_shrink
from nervure.front.networks.nonlinearities import threshold as threshold
from nervure.front.networks.normalization import batch_norm as batch_norm
from nervure.front.networks.normalization import cross_entropy_binary as cross_entropy_binary
from nervure.front.networks.normalization import cross_entropy_multi as cross_entropy_multi
from nervure.front.networks.normalization import layer_norm as layer_norm
from nervure.front.networks.normalization import local_response_norm as local_response_norm
from nervure.front.networks.normalization import log_softmax as log_softmax
from nervure.front.networks.normalization import rms_norm as rms_norm
from nervure.front.networks.normalization import softmax as softmax
from nervure.front.nodes import defnode as defnode
from nervure.front.op_functions import absolute as absolute
from nervure.front.op_functions import acos as acos
from nervure.front.op_functions import acosh as acosh
from nervure.front.op_functions import add as add
from nervure.front.op_functions import asin as asin
from nervure.front.op_functions import asinh as asinh
from nervure.front.op_functions import atan as atan
from nervure.front.op_functions import atanh as atanh
from nervure.front.op_functions import bitwise_and as bitwise_and
from nervure.front.op_functions import bitwise_not as bitwise_not
from nervure.front.op_functions import bitwise_or as bitwise_or
from nervure.front.op_functions import bitwise_xor as bitwise_xor
from nervure.front.op_functions import cbrt as cbrt
from nervure.front.op_functions import ceil as ceil
from nervure.front.op_functions import cos as cos
from nervure.front.op_functions import cosh as cosh
from nervure.front.op_functions import digamma as digamma
from nervure.front.op_functions import divide as divide
from nervure.front.op_functions import equal as equal
from nervure.front.op_functions import erf as erf
from nervure.front.op_functions import erf_inv as erf_inv
from nervure.front.op_functions import erfc as erfc
from nervure.front.op_functions import exp as exp
from nervure.front.op_functions import exp2 as exp2
from nervure.front.op_functions import expm1 as expm1
from nervure.front.op_functions import floor as floor
from nervure.front.op_functions import floordivide as floordivide
from nervure.front.op_functions import greater as greater
from nervure.front.op_functions import greater_equal as greater_equal
from nervure.front.op_functions import hard_sigmoid as hard_sigmoid
from nervure.front.op_functions import hard_swish as hard_swish
from nervure.front.op_functions import hypot as hypot
from nervure.front.op_functions import is_finite as is_finite
from nervure.front.op_functions import is_inf as is_inf
from nervure.front.op_functions import is_nan as is_nan
from nervure.front.op_functions import left_shift as left_shift
from nervure.front.op_functions import less as less
from nervure.front.op_functions import less_equal as less_equal
from nervure.front.op_functions import lgamma as lgamma
from nervure.front.op_functions import log as log
from nervure.front.op_functions import log10 as log10
from nervure.front.op_functions import log1p as log1p
from nervure.front.op_functions import log2 as log2
from nervure.front.op_functions import log_sigmoid as log_sigmoid
from nervure.front.op_functions import logical_and as logical_and
from nervure.front.op_functions import logical_or as logical_or
from nervure.front.op_functions import logical_xor as logical_xor
from nervure.front.op_functions import maximum as maximum
from nervure.front.op_functions import minimum as minimum
from nervure.front.op_functions import mish as mish
from nervure.front.op_functions import mod as mod
from nervure.front.op_functions import multiply as multiply
from nervure.front.op_functions import negative as negative
from nervure.front.op_functions import not_equal as not_equal
from nervure.front.op_functions import reciprocal as reciprocal
from nervure.front.op_functions import relu as relu
from nervure.front.op_functions import right_shift as right_shift
from nervure.front.op_functions import rsqrt as rsqrt
from nervure.front.op_functions import selu as selu
from nervure.front.op_functions import sigmoid as sigmoid
from nervure.front.op_functions import sign as sign
from nervure.front.op_functions import silu as silu
from nervure.front.op_functions import sin as sin
from nervure.front.op_functions import sinh as sinh
from nervure.front.op_functions import softplus as softplus
from nervure.front.op_functions import sparse_plus as sparse_plus
from nervure.front.op_functions import sparse_sigmoid as sparse_sigmoid
from nervure.front.op_functions import sqrt as sqrt
from nervure.front.op_functions import square as square
from nervure.front.op_functions import squared_difference as squared_difference
from nervure.front.op_functions import subtract as subtract
from nervure.front.op_functions import tan as tan
from nervure.front.op_functions import tanh as tanh
from nervure.front.op_functions import trunc as trunc
from nervure.front.pointwise.bits import mulhi as mulhi
from nervure.front.pointwise.bits import packbits as packbits
from nervure.front.pointwise.bits import shift_right_logical as shift_right_logical
from nervure.front.pointwise.bits import unpackbits as unpackbits
from nervure.front.pointwise.complex_parts import angle as angle
from nervure.front.pointwise.complex_parts import complex as complex
from nervure.front.pointwise.complex_parts import conj as conj
from nervure.front.pointwise.complex_parts import conjugate as conjugate
from nervure.front.pointwise.complex_parts import imag as imag
from nervure.front.pointwise.complex_parts import iscomplex as iscomplex
from nervure.front.pointwise.complex_parts import isreal as isreal
from nervure.front.pointwise.complex_parts import polar as polar
from nervure.front.pointwise.complex_parts import real as real
from nervure.front.pointwise.elementary import deg2rad as deg2rad
from nervure.front.pointwise.elementary import degrees as degrees
from nervure.front.pointwise.elementary import entr as entr
from nervure.front.pointwise.elementary import fix as fix
from nervure.front.pointwise.elementary import fmax as fmax
from nervure.front.pointwise.elementary import fmin as fmin
from nervure.front.pointwise.elementary import heaviside as heaviside
from nervure.front.pointwise.elementary import invert as invert
from nervure.front.pointwise.elementary import logaddexp as logaddexp
from nervure.front.pointwise.elementary import logaddexp2 as logaddexp2
from nervure.front.pointwise.elementary import logit as logit
from nervure.front.pointwise.elementary import positive as positive
from nervure.front.pointwise.elementary import rad2deg as rad2deg
from nervure.front.pointwise.elementary import radians as radians
from nervure.front.pointwise.elementary import remainder as remainder
from nervure.front.pointwise.elementary import rint as rint
from nervure.front.pointwise.elementary import sinc as sinc
from nervure.front.pointwise.elementary import xlog1py as xlog1py
from nervure.front.pointwise.elementary import xlogy as xlogy
from nervure.front.pointwise.elementwise import atan2 as atan2
from nervure.front.pointwise.elementwise import bitcast as bitcast
from nervure.front.pointwise.elementwise import clip as clip
from nervure.front.pointwise.elementwise import convert as convert
from nervure.front.pointwise.elementwise import divmod as divmod
from nervure.front.pointwise.elementwise import elu as elu
from nervure.front.pointwise.elementwise import gelu as gelu
from nervure.front.pointwise.elementwise import leaky_relu as leaky_relu
from nervure.front.pointwise.elementwise import logical_not as logical_not
from nervure.front.pointwise.elementwise import power as power
from nervure.front.pointwise.elementwise import prelu as prelu
from nervure.front.pointwise.elementwise import round as round
from nervure.front.pointwise.elementwise import safelog as safelog
from nervure.front.pointwise.elementwise import stop_gradient as stop_gradient
from nervure.front.pointwise.elementwise import where as where
from nervure.front.pointwise.float_bits import frexp as frexp
from nervure.front.pointwise.float_bits import ldexp as ldexp
from nervure.front.pointwise.float_bits import nextafter as nextafter
from nervure.front.pointwise.float_bits import spacing as spacing
from nervure.front.pointwise.predicates import allclose as allclose
from nervure.front.pointwise.predicates import array_equal as array_equal
from nervure.front.pointwise.predicates import isclose as isclose
from nervure.front.pointwise.predicates import isfinite as isfinite
from nervure.front.pointwise.predicates import isinf as isinf
from nervure.front.pointwise.predicates import isnan as isnan
from nervure.front.pointwise.predicates import isneginf as isneginf
from nervure.front.pointwise.predicates import isposinf as isposinf
from nervure.front.pointwise.quantisation import dequantise_linear as dequantise_linear
from nervure.front.pointwise.quantisation import quantise_linear as quantise_linear
from nervure.front.random import bernoulli as bernoulli
from nervure.front.random import dropout as dropout
from nervure.front.random import glorot as glorot
from nervure.front.random import he as he
from nervure.front.random import normal as normal
from nervure.front.random import uniform as uniform
from nervure.front.sharding import shard_as as shard_as
from nervure.front.signals.polynomial_roots import poly as poly
from nervure.front.signals.polynomial_roots import polydiv as polydiv
from nervure.front.signals.polynomial_roots import polyfit as polyfit
from nervure.front.signals.polynomial_roots import roots as roots
from nervure.front.signals.polynomials import convolve as convolve
from nervure.front.signals.polynomials import correlate as correlate
from nervure.front.signals.polynomials import polyadd as polyadd
from nervure.front.signals.polynomials import polyder as polyder
from nervure.front.signals.polynomials import polyint as polyint
from nervure.front.signals.polynomials import polymul as polymul
from nervure.front.signals.polynomials import polysub as polysub
from nervure.front.signals.polynomials import polyval as polyval
from nervure.front.signals.window_functions import bartlett as bartlett
from nervure.front.signals.window_functions import blackman as blackman
from nervure.front.signals.window_functions import hamming as hamming
from nervure.front.signals.window_functions import hanning as hanning
from nervure.front.signals.window_functions import kaiser as kaiser
from nervure.front.special.bessel_functions import i0 as i0
from nervure.front.special.special_functions import betaln as betaln
from nervure.front.special.special_functions import bitwise_count as bitwise_count
from nervure.front.special.special_functions import clz as clz
from nervure.front.special.special_functions import copysign as copysign
from nervure.front.special.special_functions import fmod as fmod
from nervure.front.special.special_functions import gcd as gcd
from nervure.front.special.special_functions import lcm as lcm
from nervure.front.special.special_functions import log_ndtr as log_ndtr
from nervure.front.special.special_functions import multigammaln as multigammaln
from nervure.front.special.special_functions import ndtr as ndtr
from nervure.front.special.special_functions import rel_entr as rel_entr
from nervure.front.special.special_functions import signbit as signbit
from nervure.front.statistics.bins import bincount as bincount
from nervure.front.statistics.bins import histogram as histogram
from nervure.front.statistics.bins import histogram2d as histogram2d
from nervure.front.statistics.bins import histogram_bin_edges as histogram_bin_edges
from nervure.front.statistics.bins import histogramdd as histogramdd
from nervure.front.statistics.bins import interp as interp
from nervure.front.statistics.differences import average as average
from nervure.front.statistics.differences import corrcoef as corrcoef
from nervure.front.statistics.differences import cov as cov
from nervure.front.statistics.differences import diff as diff
from nervure.front.statistics.differences import gradient as gradient
from nervure.front.statistics.differences import ptp as ptp
from nervure.front.statistics.differences import trapezoid as trapezoid
from nervure.front.statistics.differences import unwrap as unwrap
from nervure.front.statistics.differences import var as var
from nervure.front.statistics.distances import cdist as cdist
from nervure.front.statistics.distances import pdist as pdist
from nervure.front.statistics.nan_reductions import nan_to_num as nan_to_num
from nervure.front.statistics.nan_reductions import nanargmax as nanargmax
from nervure.front.statistics.nan_reductions import nanargmin as nanargmin
from nervure.front.statistics.nan_reductions import nanmax as nanmax
from nervure.front.statistics.nan_reductions import nanmean as nanmean
from nervure.front.statistics.nan_reductions import nanmin as nanmin
from nervure.front.statistics.nan_reductions import nanprod as nanprod
from nervure.front.statistics.nan_reductions import nanstd as nanstd
from nervure.front.statistics.nan_reductions import nansum as nansum
from nervure.front.statistics.nan_reductions import nanvar as nanvar
from nervure.front.statistics.prefixes import cumlogsumexp as cumlogsumexp
from nervure.front.statistics.prefixes import cummax as cummax
from nervure.front.statistics.prefixes import cummin as cummin
from nervure.front.statistics.prefixes import cumprod as cumprod
from nervure.front.statistics.prefixes import cumsum as cumsum
from nervure.front.statistics.prefixes import cumulative_prod as cumulative_prod
from nervure.front.statistics.prefixes import cumulative_sum as cumulative_sum
from nervure.front.statistics.prefixes import nancumprod as nancumprod
from nervure.front.statistics.prefixes import nancumsum as nancumsum
from nervure.front.statistics.ranks import digitize as digitize
from nervure.front.statistics.ranks import median as median
from nervure.front.statistics.ranks import nanmedian as nanmedian
from nervure.front.statistics.ranks import nanpercentile as nanpercentile
from nervure.front.statistics.ranks import nanquantile as nanquantile
from nervure.front.statistics.ranks import percentile as percentile
from nervure.front.statistics.ranks import quantile as quantile
from nervure.front.statistics.ranks import searchsorted as searchsorted
from nervure.front.statistics.reductions import batch_size as batch_size
from nervure.front.statistics.reductions import std as std
from nervure.front.statistics.reductions import tensor_size as tensor_size
from nervure.front.statistics.reductions import variance as variance
from nervure.front.statistics.segment_reductions import ragged_dot as ragged_dot
from nervure.front.statistics.segment_reductions import segment_max as segment_max
from nervure.front.statistics.segment_reductions import segment_mean as segment_mean
from nervure.front.statistics.segment_reductions import segment_min as segment_min
from nervure.front.statistics.segment_reductions import segment_prod as segment_prod
from nervure.front.statistics.segment_reductions import segment_sum as segment_sum
from nervure.front.statistics.sets import intersect1d as intersect1d
from nervure.front.statistics.sets import setdiff1d as setdiff1d
from nervure.front.statistics.sets import setxor1d as setxor1d
from nervure.front.statistics.sets import union1d as union1d
from nervure.front.statistics.sets import unique_all as unique_all
from nervure.front.statistics.sets import unique_counts as unique_counts
from nervure.front.statistics.sets import unique_inverse as unique_inverse
from nervure.front.statistics.sets import unique_values as unique_values
from nervure.front.statistics.sorts import argpartition as argpartition
from nervure.front.statistics.sorts import argsort as argsort
from nervure.front.statistics.sorts import lexsort as lexsort
from nervure.front.statistics.sorts import partition as partition
from nervure.front.statistics.sorts import sort as sort
from nervure.front.statistics.sorts import top_k as top_k
from nervure.front.tensor import AbstractTensor as AbstractTensor
from nervure.front.tensor import Tensor as Tensor
from nervure.functions.directions import hvp as hvp
from nervure.functions.directions import jvp as jvp
from nervure.functions.directions import linearize as linearize
from nervure.functions.directions import vjp as vjp
from nervure.functions.gradient import grad as grad
from nervure.functions.gradient import value_and_grad as value_and_grad
from nervure.functions.jacobian import hessian as hessian
from nervure.functions.jacobian import jacobian as jacobian
from nervure.functions.mapping import vmap as vmap
from nervure.inspection.config import show_config as show_config
from nervure.inspection.explain import explain as explain
from nervure.inspection.profiling import disassemble as disassemble
from nervure.inspection.profiling import proceed_bench as proceed_bench
from nervure.inspection.profiling import proceed_time as proceed_time
from nervure.ir.function import Function as Function
from nervure.ir.provenance import metadata as metadata
from nervure.ir.provenance import name_scope as name_scope
from nervure.ir.provenance import no_grad as no_grad
from nervure.jit import jit as jit
from nervure.ops import Parameter as Parameter
from nervure.tensor_storage import mref as mref
from nervure.training.trainer import Trainer as Trainer
from nervure.transformers.devices.pool import memory_pool as memory_pool
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
from nervure.types.dtype import float4_e2m1fn as float4_e2m1fn
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
from nervure.types.dtype import int2 as int2
from nervure.types.dtype import int32 as int32
from nervure.types.dtype import int4 as int4
from nervure.types.dtype import int64 as int64
from nervure.types.dtype import int8 as int8
from nervure.types.dtype import uint16 as uint16
from nervure.types.dtype import uint2 as uint2
from nervure.types.dtype import uint32 as uint32
from nervure.types.dtype import uint4 as uint4
from nervure.types.dtype import uint64 as uint64
from nervure.types.dtype import uint8 as uint8
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
