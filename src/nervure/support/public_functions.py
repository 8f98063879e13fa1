# Made from the package: `make generated` writes it, tests/project/test_generated.py compares it.
"""The modules of public functions, so that the first use of one imports no other.

>>> MODULES['matmul']
'nervure.front.matrices.contraction'
"""

from __future__ import annotations

_NAMES = {
    "nervure.front.pointwise.elementwise":
        "atan2 bitcast clip convert divmod elu gelu leaky_relu logical_not power prelu round safelog "
        "stop_gradient where",
    "nervure.front.op_functions":
        "absolute acos acosh add asin asinh atan atanh bitwise_and bitwise_not bitwise_or bitwise_xor cbrt "
        "ceil cos cosh digamma divide equal erf erf_inv erfc exp exp2 expm1 floor floordivide greater "
        "greater_equal hard_sigmoid hard_swish hypot is_finite is_inf is_nan less less_equal lgamma log log10 "
        "log1p log2 log_sigmoid logical_and logical_or logical_xor maximum minimum mish mod multiply negative "
        "not_equal reciprocal relu rsqrt selu left_shift right_shift sigmoid sign silu sin sinh softplus "
        "sparse_plus sparse_sigmoid sqrt square squared_difference subtract tan tanh trunc",
    "nervure.front.pointwise.elementary":
        "deg2rad degrees entr fix fmax fmin heaviside invert logaddexp logaddexp2 logit positive rad2deg "
        "radians remainder rint sinc xlog1py xlogy",
    "nervure.front.networks.nonlinearities":
        "celu glu hard_shrink hard_tanh relu6 rrelu soft_shrink soft_sign softmin squareplus tanh_shrink "
        "threshold",
    "nervure.front.special.special_functions":
        "betaln bitwise_count clz copysign fmod gcd lcm log_ndtr multigammaln ndtr rel_entr signbit",
    "nervure.front.pointwise.complex_parts":
        "angle complex conj conjugate imag iscomplex isreal polar real",
    "nervure.front.statistics.reductions":
        "L1_norm L2_norm all any argmax argmin batch_size count_nonzero logmeanexp logsumexp max mean min "
        "prod squared_L2 std sum tensor_size variance",
    "nervure.front.pointwise.predicates":
        "allclose array_equal isclose isfinite isinf isnan isneginf isposinf",
    "nervure.front.statistics.nan_reductions":
        "nan_to_num nanargmax nanargmin nanmax nanmean nanmin nanprod nanstd nansum nanvar",
    "nervure.front.matrices.contraction":
        "dot einsum matmul outer",
    "nervure.front.statistics.sorts":
        "argpartition argsort lexsort partition sort top_k",
    "nervure.front.statistics.prefixes":
        "cumlogsumexp cummax cummin cumprod cumsum cumulative_prod cumulative_sum nancumprod nancumsum",
    "nervure.front.statistics.ranks":
        "digitize median nanmedian nanpercentile nanquantile percentile quantile searchsorted",
    "nervure.front.statistics.bins":
        "bincount histogram histogram2d histogram_bin_edges histogramdd interp",
    "nervure.front.statistics.segment_reductions":
        "ragged_dot segment_max segment_mean segment_min segment_prod segment_sum",
    "nervure.front.signals.polynomials":
        "convolve correlate polyadd polyder polyint polymul polysub polyval",
    "nervure.front.signals.polynomial_roots":
        "poly polydiv polyfit roots",
    "nervure.front.pointwise.bits":
        "mulhi packbits shift_right_logical unpackbits",
    "nervure.front.pointwise.float_bits":
        "frexp ldexp nextafter spacing",
    "nervure.front.arranging.views":
        "axes_with_order broadcast cast_axes expand_dims flatten flatten_at map_roles pad reshape reverse "
        "squeeze unflatten",
    "nervure.front.arranging.rearranging":
        "atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_to flip fliplr flipud matrix_transpose "
        "moveaxis ravel roll rot90 swapaxes tile",
    "nervure.front.arranging.joining":
        "concat_along_axis concatenate split stack",
    "nervure.front.arranging.stacking":
        "append array_split column_stack dsplit dstack hsplit hstack unstack vsplit vstack",
    "nervure.front.arranging.indexing":
        "slice_along_axis tensor_slice",
    "nervure.front.arranging.gathering":
        "gather gather_elements gather_nd lookuptable one_hot scatter",
    "nervure.front.arranging.found":
        "argwhere compress flatnonzero nonzero repeat unique",
    "nervure.front.statistics.sets":
        "intersect1d setdiff1d setxor1d union1d unique_all unique_counts unique_inverse unique_values",
    "nervure.front.arranging.selecting":
        "choose piecewise put_along_axis select",
    "nervure.front.arranging.editing":
        "delete insert trim_zeros",
    "nervure.front.arranging.filled":
        "arange eye full full_like iota ones ones_like tril triu zeros zeros_like",
    "nervure.front.arranging.diagonals":
        "diag diagflat diagonal fill_diagonal trace tri",
    "nervure.front.arranging.grids":
        "geomspace identity linspace logspace meshgrid vander",
    "nervure.front.arranging.index_grids":
        "diag_indices diag_indices_from fromfunction indices ix_ mask_indices ravel_multi_index tril_indices "
        "tril_indices_from triu_indices triu_indices_from unravel_index",
    "nervure.front.matrices.matrix_products":
        "cross inner kron tensordot vdot",
    "nervure.front.statistics.differences":
        "average corrcoef cov diff gradient ptp trapezoid unwrap var",
    "nervure.front.pointwise.quantisation":
        "dequantise_linear quantise_linear",
    "nervure.front.signals.window_functions":
        "bartlett blackman hamming hanning kaiser",
    "nervure.front.images.convolution":
        "convolution deconvolution",
    "nervure.front.images.pooling":
        "pooling",
    "nervure.front.images.sampling":
        "adaptive_pooling channel_shuffle fold lp_pooling pixel_shuffle pixel_unshuffle resize unfold",
    "nervure.front.images.interpolation":
        "affine_grid grid_sample",
    "nervure.front.images.regions_of_interest":
        "crop_and_resize nms roi_align roi_pool",
    "nervure.front.images.pool_positions":
        "fractional_max_pooling max_unpool",
    "nervure.front.images.deformable":
        "deformable_convolution",
    "nervure.front.networks.normalization":
        "batch_norm cross_entropy_binary cross_entropy_multi layer_norm local_response_norm log_softmax "
        "rms_norm softmax",
    "nervure.front.networks.attention":
        "attention",
    "nervure.front.random":
        "bernoulli dropout glorot he normal uniform",
    "nervure.front.networks.noise":
        "alpha_dropout channel_dropout gumbel_softmax",
    "nervure.front.statistics.distances":
        "cdist pdist",
    "nervure.front.facets":
        "Facet make_input make_tensor",
    "nervure.front.gradients":
        "hook_optimizer",
    "nervure.front.flexible":
        "flexible",
    "nervure.front.iterators":
        "call_with_view compiled_loop offset_of size_of stride_of under_multi_thread",
    "nervure.front.loops.choices":
        "cond switch",
    "nervure.front.loops.checkpointing":
        "checkpoint",
    "nervure.front.sharding":
        "shard_as",
    "nervure.front.loops.loop_functions":
        "fori_loop map scan while_loop",
    "nervure.front.loops.associative_scan":
        "associative_scan",
}
MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}
