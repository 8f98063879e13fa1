"""Names of PyTorch, as data: what people may ask for by habit. PyTorch need not be installed."""

from __future__ import annotations

TORCH = """
abs absolute acos acosh adaptive_avg_pool1d add addbmm addcdiv addcmul addmm addmv addr adjoint all allclose
alpha_dropout amax amin aminmax angle any arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh
are_deterministic_algorithms_enabled argmax argmin argsort argwhere as_strided as_tensor asarray asin asinh
atan atan2 atanh atleast_1d atleast_2d atleast_3d autocast autograd avg_pool1d backends baddbmm
bartlett_window batch_norm bernoulli bfloat16 bilinear bincount bitwise_and bitwise_left_shift bitwise_not
bitwise_or bitwise_right_shift bitwise_xor blackman_window block_diag bmm bool broadcast_shapes
broadcast_tensors broadcast_to bucketize can_cast cartesian_prod cat cdist cdouble ceil celu cfloat
chain_matmul chalf channel_shuffle cholesky cholesky_inverse cholesky_solve chunk clamp clamp_max clamp_min
clip clone column_stack combinations compile compiled_with_cxx11_abi complex complex128 complex32 complex64
concat concatenate cond conj conj_physical constant_pad_nd conv1d conv2d conv3d conv_transpose1d
conv_transpose2d conv_transpose3d convolution copysign corrcoef cos cosh cosine_similarity count_nonzero cov
cpu cross cuda cummax cummin cumprod cumsum cumulative_trapezoid default_generator deg2rad dequantize det
detach device diag diag_embed diagflat diagonal diagonal_scatter diff digamma dist distributed distributions
div divide dot double dropout dsplit dstack dtype einsum embedding embedding_bag empty empty_like
empty_permuted empty_strided enable_grad eq equal erf erfc erfinv exp exp2 expm1 export eye
fake_quantize_per_tensor_affine fft finfo fix flatten flip fliplr flipud float float16 float32 float64
float8_e4m3fn float8_e5m2 float_power floor floor_divide fmax fmin fmod frac frexp from_dlpack from_file
from_numpy frombuffer full full_like func futures fx gather gcd ge geqrf ger get_default_device
get_default_dtype get_num_interop_threads get_num_threads get_rng_state gradient greater greater_equal
group_norm gru gt half hamming_window hann_window hardshrink heaviside hinge_embedding_loss histc histogram
histogramdd hsplit hspmm hstack hub hypot i0 igamma igammac iinfo imag index_add index_copy index_fill
index_put index_reduce index_select inf inference_mode initial_seed inner inner_product instance_norm int
int16 int32 int64 int8 int_repr inverse is_complex is_conj is_deterministic_algorithms_warn_only_enabled
is_distributed is_floating_point is_grad_enabled is_inference_mode_enabled is_nonzero is_same_size is_signed
is_storage is_tensor is_warn_always_enabled isclose isfinite isin isinf isnan isneginf isposinf isreal istft
jit kaiser_window kl_div kron kthvalue layer_norm layout lcm ldexp le lerp less less_equal lgamma library
linalg linspace load lobpcg log log10 log1p log2 log_softmax logaddexp logaddexp2 logcumsumexp logdet
logical_and logical_not logical_or logical_xor logit logspace logsumexp long lstm lt lu lu_solve lu_unpack
manual_seed margin_ranking_loss masked_fill masked_scatter masked_select matmul matrix_exp matrix_power max
max_pool1d max_pool2d max_pool3d maximum mean median memory_format meshgrid min minimum mm mode moveaxis
movedim mps msort mtia mul multinomial multiply multiprocessing mv mvlgamma nan nan_to_num nanmean nanmedian
nanquantile nansum narrow narrow_copy native_layer_norm ne neg negative newaxis nextafter nn no_grad nonzero
nonzero_static norm normal not_equal numel ones ones_like onnx optim orgqr ormqr outer overrides
pairwise_distance pca_lowrank pdist permute permute_copy pi pinverse pixel_shuffle pixel_unshuffle poisson
poisson_nll_loss polar polygamma positive pow prelu prod profiler promote_types put qint32 qint8 qr quantile
quantization quantize_per_channel quantize_per_tensor quasirandom quint8 rad2deg rand rand_like randint
randint_like randn randn_like random randperm range ravel real reciprocal relu remainder renorm
repeat_interleave reshape resize_as_ resolve_conj resolve_neg result_type rms_norm rnn_relu rnn_tanh roll
rot90 round row_stack rrelu rsqrt rsub saddmm save scalar_tensor scatter scatter_add scatter_reduce
searchsorted seed segment_reduce select select_scatter selu set_default_device set_default_dtype
set_default_tensor_type set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal
set_grad_enabled set_num_interop_threads set_num_threads set_printoptions set_rng_state set_warn_always sgn
short sigmoid sign signal signbit sin sinc sinh slice_copy slice_inverse slice_scatter slogdet smm softmax
sort sparse sparse_bsr_tensor sparse_coo sparse_coo_tensor sparse_csr_tensor special split split_with_sizes
spmm sqrt square squeeze sspaddmm stack std std_mean stft storage strided sub subtract sum svd svd_lowrank
swapaxes swapdims sym_float sym_int sym_max sym_min t take take_along_dim tan tanh tensor tensor_split
tensordot testing threshold tile topk trace transpose trapezoid trapz triangular_solve tril tril_indices
triplet_margin_loss triu triu_indices true_divide trunc typename uint16 uint32 uint64 uint8 unbind unflatten
unfold_copy unify_type_list unique unique_consecutive unravel_index unsafe_chunk unsafe_split unsqueeze
use_deterministic_algorithms utils vander var var_mean vdot version view_as_complex view_as_real view_copy
vitals_enabled vmap vsplit vstack wait where xlogy xpu zero_ zeros zeros_like Generator Size Tensor
FloatTensor LongTensor IntTensor HalfTensor BoolTensor DoubleTensor Stream
""".split()
"""Names of ``torch``."""

FUNCTIONAL = """
adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
adaptive_max_pool3d affine_grid alpha_dropout avg_pool1d avg_pool2d avg_pool3d batch_norm bilinear
binary_cross_entropy binary_cross_entropy_with_logits celu conv1d conv2d conv3d conv_tbc conv_transpose1d
conv_transpose2d conv_transpose3d cosine_embedding_loss cosine_similarity cross_entropy ctc_loss dropout
dropout1d dropout2d dropout3d elu embedding embedding_bag feature_alpha_dropout fold fractional_max_pool2d
fractional_max_pool3d gaussian_nll_loss gelu glu grid_sample group_norm grouped_mm gumbel_softmax hardshrink
hardsigmoid hardswish hardtanh hinge_embedding_loss huber_loss instance_norm interpolate kl_div l1_loss
layer_norm leaky_relu linear local_response_norm log_softmax logsigmoid lp_pool1d lp_pool2d lp_pool3d
margin_ranking_loss max_pool1d max_pool2d max_pool3d max_unpool1d max_unpool2d max_unpool3d mish mse_loss
multi_head_attention_forward multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss
native_channel_shuffle nll_loss normalize one_hot pad pairwise_distance pdist pixel_shuffle pixel_unshuffle
poisson_nll_loss prelu relu relu6 rms_norm rrelu scaled_dot_product_attention selu sigmoid silu smooth_l1_loss
soft_margin_loss softmax softmin softplus softshrink softsign tanh tanhshrink threshold triplet_margin_loss
triplet_margin_with_distance_loss unfold upsample upsample_bilinear upsample_nearest
""".split()
"""Names of ``torch.nn.functional``."""

TENSOR = """
H T abs abs_ absolute acos acosh add add_ addbmm addcdiv addcmul addmm addmv addr adjoint align_as align_to
all allclose amax amin aminmax angle any apply_ arccos arcsin arctan arctan2 argmax argmin argsort argwhere
as_strided asin asinh atan atan2 atanh backward baddbmm bernoulli bernoulli_ bfloat16 bincount bitwise_and
bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor bmm bool broadcast_to byte cauchy_
cdouble ceil ceil_ cfloat chalf char cholesky chunk clamp clamp_ clamp_max clamp_min clip clip_ clone coalesce
conj conj_physical contiguous copy_ copysign corrcoef cos cosh count_nonzero cov cpu cross cuda cummax cummin
cumprod cumsum data data_ptr deg2rad dense_dim dequantize det detach detach_ device diag diag_embed diagflat
diagonal diagonal_scatter diff digamma dim dim_order dist div div_ divide dot double dsplit dtype eig
element_size eq eq_ equal erf erfc erfinv exp exp2 exp_ expand expand_as expm1 exponential_ fill_
fill_diagonal_ fix flatten flip fliplr flipud float float_power floor floor_divide fmax fmin fmod frac frexp
gather gcd ge geometric_ geqrf ger get_device grad grad_fn greater greater_equal gt half hardshrink has_names
heaviside histc histogram hsplit hypot i0 igamma igammac imag index_add index_add_ index_copy index_fill
index_fill_ index_put index_put_ index_reduce index_select indices inner int int_repr inverse ipu is_coalesced
is_complex is_conj is_contiguous is_cpu is_cuda is_floating_point is_inference is_leaf is_meta is_neg
is_pinned is_quantized is_set_to is_shared is_signed is_sparse isclose isfinite isinf isnan isneginf isposinf
isreal istft item itemsize kthvalue layout lcm ldexp le lerp less less_equal lgamma log log10 log1p log2
log_normal_ log_softmax logaddexp logaddexp2 logcumsumexp logdet logical_and logical_not logical_or
logical_xor logit logsumexp long lt lu lu_solve mH mT map_ masked_fill masked_fill_ masked_scatter
masked_select matmul matrix_exp matrix_power max maximum mean median min minimum mm mode moveaxis movedim
msort mul mul_ multinomial multiply mv mvlgamma name names nan_to_num nanmean nanmedian nanquantile nansum
narrow narrow_copy nbytes ndim ndimension ne neg neg_ negative nelement new_empty new_full new_ones new_tensor
new_zeros nextafter nonzero norm normal_ not_equal numel numpy orgqr ormqr outer output_nr permute pin_memory
pinverse polygamma positive pow pow_ prelu prod put_ q_scale q_zero_point qr quantile rad2deg random_ ravel
real reciprocal record_stream refine_names register_hook register_post_accumulate_grad_hook relu relu_
remainder rename renorm repeat repeat_interleave requires_grad requires_grad_ reshape reshape_as resize_
resize_as_ resolve_conj resolve_neg retain_grad retains_grad roll rot90 round rsqrt scatter scatter_
scatter_add scatter_add_ scatter_reduce select select_scatter set_ sgn shape share_memory_ short sigmoid sign
signbit sin sinc sinh size slice_scatter slogdet smm softmax sort sparse_dim sparse_mask split sqrt square
squeeze squeeze_ stft storage storage_offset stride sub sub_ subtract sum sum_to_size svd swapaxes swapdims t
t_ take take_along_dim tan tanh tensor_split tile to to_dense to_mkldnn to_sparse tolist topk trace transpose
triangular_solve tril triu true_divide trunc type type_as unbind unflatten unfold uniform_ unique
unique_consecutive unsafe_chunk unsafe_split unsqueeze unsqueeze_ untyped_storage values var vdot view view_as
vsplit where xlogy xpu zero_
""".split()
"""Names of tensors of ``torch``."""

TORCH_NN = """
AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveLogSoftmaxWithLoss AdaptiveMaxPool1d
AdaptiveMaxPool2d AdaptiveMaxPool3d AlphaDropout AvgPool1d AvgPool2d AvgPool3d BCELoss BCEWithLogitsLoss
BatchNorm1d BatchNorm2d BatchNorm3d Bilinear CELU CTCLoss ChannelShuffle CircularPad1d CircularPad2d
CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d Container Conv1d Conv2d Conv3d ConvTranspose1d
ConvTranspose2d ConvTranspose3d CosineEmbeddingLoss CosineSimilarity CrossEntropyLoss CrossMapLRN2d DataParallel
Dropout Dropout1d Dropout2d Dropout3d ELU Embedding EmbeddingBag FeatureAlphaDropout Flatten Fold
FractionalMaxPool2d FractionalMaxPool3d GELU GLU GRU GRUCell GaussianNLLLoss GroupNorm Hardshrink Hardsigmoid
Hardswish Hardtanh HingeEmbeddingLoss HuberLoss Identity InstanceNorm1d InstanceNorm2d InstanceNorm3d KLDivLoss
L1Loss LPPool1d LPPool2d LPPool3d LSTM LSTMCell LayerNorm LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d
LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d
LazyInstanceNorm2d LazyInstanceNorm3d LazyLinear LeakyReLU Linear LinearCrossEntropyLoss LocalResponseNorm
LogSigmoid LogSoftmax MSELoss MarginRankingLoss MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d
MaxUnpool3d Mish Module ModuleDict ModuleList MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss
MultiheadAttention NLLLoss NLLLoss2d PReLU PairwiseDistance ParameterDict ParameterList PixelShuffle
PixelUnshuffle PoissonNLLLoss RMSNorm RNN RNNBase RNNCell RNNCellBase RReLU ReLU ReLU6 ReflectionPad1d
ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d SELU Sequential SiLU Sigmoid
SmoothL1Loss SoftMarginLoss Softmax Softmax2d Softmin Softplus Softshrink Softsign SyncBatchNorm Tanh Tanhshrink
Threshold Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer
TripletMarginLoss TripletMarginWithDistanceLoss Unflatten Unfold Upsample UpsamplingBilinear2d
UpsamplingNearest2d ZeroPad1d ZeroPad2d ZeroPad3d
""".split()
"""Names of ``torch.nn``."""

TORCH_OPTIM = """
ASGD Adadelta Adafactor Adagrad Adam AdamW Adamax LBFGS Muon NAdam Optimizer RAdam RMSprop Rprop SGD SparseAdam
lr_scheduler.ChainedScheduler lr_scheduler.ConstantLR lr_scheduler.CosineAnnealingLR
lr_scheduler.CosineAnnealingWarmRestarts lr_scheduler.CyclicLR lr_scheduler.ExponentialLR
lr_scheduler.LRScheduler lr_scheduler.LambdaLR lr_scheduler.LinearLR lr_scheduler.MultiStepLR
lr_scheduler.MultiplicativeLR lr_scheduler.OneCycleLR lr_scheduler.PolynomialLR lr_scheduler.ReduceLROnPlateau
lr_scheduler.SequentialLR lr_scheduler.StepLR
""".split()
"""Names of ``torch.optim``."""

TORCH_LINALG = """
cholesky cholesky_ex cond cross det diagonal eig eigh eigvals eigvalsh householder_product inv inv_ex ldl_factor
ldl_factor_ex ldl_solve lstsq lu lu_factor lu_factor_ex lu_solve matmul matrix_exp matrix_norm matrix_power
matrix_rank multi_dot norm pinv qr slogdet solve solve_ex solve_triangular svd svdvals tensorinv tensorsolve
vander vecdot vector_norm
""".split()
"""Names of ``torch.linalg``."""

TORCH_FFT = """
fft fft2 fftfreq fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft ihfft2 ihfftn irfft irfft2
irfftn rfft rfft2 rfftfreq rfftn
""".split()
"""Names of ``torch.fft``."""

TORCH_SPECIAL = """
airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t chebyshev_polynomial_u
chebyshev_polynomial_v chebyshev_polynomial_w digamma entr erf erfc erfcx erfinv exp2 expit expm1 gammainc
gammaincc gammaln hermite_polynomial_h hermite_polynomial_he i0 i0e i1 i1e laguerre_polynomial_l
legendre_polynomial_p log1p log_ndtr log_softmax logit logsumexp modified_bessel_i0 modified_bessel_i1
modified_bessel_k0 modified_bessel_k1 multigammaln ndtr ndtri polygamma psi round scaled_modified_bessel_k0
scaled_modified_bessel_k1 shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u
shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w sinc softmax spherical_bessel_j0 xlog1py xlogy
zeta
""".split()
"""Names of ``torch.special``."""
