"""Tables of equivalents here for names that people know from other libraries.

>>> FUNCTIONS["nv.where"].split()[:2]
['masked_fill', 'select_n']

They go from names here to names elsewhere. Every name on the left exists and does what the names on the right do; a
name without an equivalent is in no table, and its error says so.
"""

from __future__ import annotations

_ARRAY = "nv.constant(x) for a value that stays, nv.tensor(x) or nv.variable(axes, x) for one that is assigned"
_SORTING = "there are nv.argmax, nv.argmin, nv.max and nv.min; nv.host_call runs a function of NumPy's in the graph"
_DEVICES = "a transformer is what runs: nv.transformers.make_transformer(name), nv.flags.transformer"
_NO_GRADIENT = ("derivatives do not pass x.detach(), nor what is built in `with nv.no_grad():`; nv.parameter(x) makes "
                "what has a gradient")
_DERIVATIVE = ("the derivative of a tensor is nv.deriv(f, x), that of a function nv.grad(function); x.backward() fills "
               "the grad of parameters")
_RESET = "each step computes gradients anew, and backward() replaces those in x.grad; nv.reset_grad(x) makes them zeros"
_NOT_HERE = "nothing here does the same; nv.host_call runs a function of NumPy's in the graph"
_NUMPY_S = "np has it, and a number of NumPy's may stand in any expression"

FUNCTIONS = {
    # elementwise
    "nv.absolute": "abs fabs", "nv.acos": "arccos", "nv.acosh": "arccosh", "nv.asin": "arcsin",
    "nv.asinh": "arcsinh",
    "nv.atan": "arctan", "nv.atan2": "arctan2", "nv.atanh": "arctanh",
    "nv.bitwise_not": "bitwise_invert",
    "nv.clip(x, low, high)": "clamp clip_by_value clamp_min clamp_max", "nv.hard_tanh": "hardtanh",
    "nv.convert(x, dtype)": "cast astype convert_element_type", "nv.divide": "div true_divide truediv",
    "nv.equal": "eq",
    "nv.erf_inv": "erfinv", "nv.floordivide": "floor_divide floordiv", "nv.greater": "gt",
    "nv.greater_equal": "ge greater_than_equal", "nv.hard_sigmoid": "hardsigmoid",
    "nv.hard_swish": "hardswish hard_silu",
    "nv.leaky_relu": "leakyrelu LeakyReLU",
    "nv.left_shift": "bitwise_left_shift shift_left lshift", "nv.less": "lt", "nv.less_equal": "le",
    "nv.lgamma": "gammaln loggamma", "nv.log_sigmoid": "logsigmoid",
    "nv.mod": "floormod floor_mod",
    "nv.multiply": "mul", "nv.negative": "neg", "nv.not_equal": "ne",
    "nv.power": "pow float_power integer_pow",
    "nv.relu, or nv.nn.ReLU()": "ReLU",
    "nv.right_shift": "bitwise_right_shift shift_right rshift shift_right_arithmetic",
    "nv.round": "around round_",
    "nv.sigmoid": "expit Sigmoid logistic", "nv.silu": "swish SiLU", "nv.subtract": "sub",
    "nv.where": "masked_fill select_n",
    "nv.conj": "conj_physical resolve_conj", "nv.real": "real_if_close", "nv.complex(x, y)": "Complex",
    "nv.fmod": "rem", "x - nv.trunc(x), nv.trunc(x)": "modf",
    "x - nv.trunc(x)": "frac",
    "nv.bitwise_count": "population_count", "nv.ndtr": "normal_cdf", "nv.multigammaln": "mvlgamma",
    "nv.special.gammainc(a, x)": "igamma gammainc", "nv.special.gammaincc(a, x)": "igammac gammaincc",
    "nv.special.betainc(a, b, x)": "betainc regularized_incomplete_beta", "nv.special.zeta(x, q)": "zeta",
    "nv.special.polygamma(n, x)": "polygamma", "nv.digamma": "psi", "nv.special.ndtri": "ndtri",
    "nv.special.i0": "modified_bessel_i0", "nv.special.i0e": "i0e bessel_i0e",
    "nv.special.i1": "i1 modified_bessel_i1", "nv.special.i1e": "i1e bessel_i1e",
    "nv.special.k0": "k0 modified_bessel_k0", "nv.special.k1": "k1 modified_bessel_k1",
    "nv.special.k0e": "k0e scaled_modified_bessel_k0", "nv.special.k1e": "k1e scaled_modified_bessel_k1",
    "nv.special.j0": "j0 bessel_j0", "nv.special.j1": "j1 bessel_j1", "nv.special.y0": "y0 bessel_y0",
    "nv.special.y1": "y1 bessel_y1", "nv.special.erfcx": "erfcx",
    "nv.special.chebyshev_t(n, x)": "chebyshev_polynomial_t",
    "nv.special.chebyshev_u(n, x)": "chebyshev_polynomial_u",
    "nv.special.chebyshev_v(n, x)": "chebyshev_polynomial_v",
    "nv.special.chebyshev_w(n, x)": "chebyshev_polynomial_w",
    "nv.special.shifted_chebyshev_t(n, x)": "shifted_chebyshev_polynomial_t",
    "nv.special.shifted_chebyshev_u(n, x)": "shifted_chebyshev_polynomial_u",
    "nv.special.shifted_chebyshev_v(n, x)": "shifted_chebyshev_polynomial_v",
    "nv.special.shifted_chebyshev_w(n, x)": "shifted_chebyshev_polynomial_w",
    "nv.special.hermite_h(n, x)": "hermite_polynomial_h",
    "nv.special.hermite_he(n, x)": "hermite_polynomial_he",
    "nv.special.laguerre_l(n, x)": "laguerre_polynomial_l",
    "nv.special.legendre_p(n, x)": "legendre_polynomial_p",
    "nv.hanning(n, periodic=True)": "hann_window hann", "nv.hamming(n, periodic=True)": "hamming_window",
    "nv.blackman(n, periodic=True)": "blackman_window", "nv.bartlett(n, periodic=True)": "bartlett_window",
    "nv.kaiser(n, beta, periodic=True)": "kaiser_window", "nv.fft.stft(x, n_fft)": "stft",
    "nv.fft.istft(x, n_fft)": "istft", "nv.fft.mel_filters(bands, n_fft, rate)": "melscale_fbanks",
    "nv.special.comb(n, k)": "comb binom",
    "nv.special.factorial(n)": "factorial", "nv.sign": "sgn",
    "nv.where(x < 0.7, nv.log(-nv.expm1(-x)), nv.log1p(-nv.exp(-x)))": "log1mexp", "y - x": "rsub",
    "x + w * (y - x)": "lerp",
    "x + value * y * z": "addcmul", "x + value * y / z": "addcdiv",
    "nv.soft_sign": "softsign", "nv.tanh_shrink": "tanhshrink", "nv.hard_shrink": "hardshrink",
    "nv.soft_shrink": "softshrink",
    "nv.any(nv.equal(x[..., None], y), axis=-1), for y of one axis": "isin in1d",
    "nv.bitcast": "bitcast_convert_type",
    # reductions
    "nv.max": "amax reduce_max", "nv.min": "amin reduce_min", "nv.mean": "reduce_mean",
    "nv.prod": "reduce_prod", "nv.sum": "reduce_sum add_n", "nv.variance": "reduce_variance",
    "nv.std": "reduce_std stddev", "nv.all": "reduce_all reduce_and",
    "nv.any": "reduce_any reduce_or sometrue",
    "nv.logsumexp": "reduce_logsumexp log_sum_exp", "nv.L2_norm": "norm vector_norm frobenius_norm",
    "nv.min(x), nv.max(x)": "aminmax",
    "nv.variance(x), nv.mean(x)": "var_mean", "nv.std(x), nv.mean(x)": "std_mean",
    "nv.all(nv.equal(x, y))": "array_equiv",
    **{f"nv.linalg.{name}": name for name in "svd qr cholesky det slogdet eig matrix_exp matrix_power lu lu_factor "
                                             "lu_solve sqrtm householder_product null_space tensorsolve tensorinv"
                                             .split()},
    "nv.linalg.inv": "inverse", "nv.linalg.pinv": "pinverse", "nv.linalg.solve_triangular": "triangular_solve",
    "nv.linalg.slogdet(x).logabsdet": "logdet",
    "nv.diff(nv.ravel(x))": "ediff1d", "nv.trapezoid": "trapz",
    "nv.associative_scan(function, x)[-1]": "reduce", "nv.associative_scan(nv.bitwise_xor, x)[-1]": "reduce_xor",
    # products
    "nv.matmul(nv.dequantise_linear(x, scale, axis=-1, block=32), nv.dequantise_linear(y, other, axis=0, block=32))":
    "scaled_matmul scaled_dot scaled_dot_general scaled_mm",
    "nv.matmul": "mm bmm batch_matmul", "nv.outer": "ger", "nv.dot": "mv", "x + nv.matmul(y, z)": "addmm baddbmm",
    "nv.matmul(x, y[..., None])[..., 0]": "matvec", "nv.matmul(nv.conj(x)[..., None, :], y)[..., 0, :]": "vecmat",
    "nv.linalg.multi_dot(xs)": "chain_matmul", "nv.sum(nv.conj(x) * y, axis=-1)": "vecdot",
    "nv.einsum(\"i j, j k -> i k\", x, y)": "contract dot_general",
    "nv.einsum(\"n i, o i j, n j -> n o\", x, w, y)": "bilinear",
    "x[..., None] * nv.eye(n)": "diag_embed",
    "nv.attention": "scaled_dot_product_attention dot_product_attention",
    "x / nv.L2_norm(x, axis=axis, keepdims=True)": "normalize",
    "nv.L2_norm(nv.ravel(x - y))": "dist",
    # making tensors
    _ARRAY: "array asarray as_tensor from_numpy convert_to_tensor frombuffer ascontiguousarray ndarray "
            "asanyarray asfortranarray scalar_tensor Array matrix asmatrix",
    "nv.constant(list(x))": "fromiter", "nv.from_torch": "fx",
    "nv.variable(axes, initial_value)": "Variable get_variable",
    "nv.placeholder(axes)": "Input InputLayer TensorSpec ShapeDtypeStruct",
    "nv.zeros": "empty", "nv.zeros_like": "empty_like",
    "nv.arange": "range",
    "nv.iota(axes)": "broadcasted_iota",
    "x itself: a tensor never changes; x.numpy() copies its elements": "copy clone",
    "nv.uniform(axes)": "random_uniform", "nv.normal(axes)": "random_normal standard_normal",
    "nv.random.randint(axes, low, high)": "randint random_int", "nv.random.permutation(n)": "randperm permutation",
    "nv.random.permutation(x)": "shuffle", "nv.random.categorical(logits)": "categorical",
    "nv.random.multinomial(axes, n, p), or nv.random.categorical(logits)": "multinomial",
    "nv.random.poisson(axes, rate)": "poisson", "nv.random.exponential(axes, scale)": "exponential",
    "nv.random.binomial(axes, n, p)": "binomial", "nv.random.gamma(axes, shape)": "random_gamma",
    "nv.random.weibull(axes, shape, scale)": "weibull_min",
    "nv.rand": "rand_like", "nv.randn": "randn_like",
    "nv.seed": "manual_seed set_random_seed PRNGKey default_rng RandomState",
    "nv.glorot": "xavier_uniform_ glorot_uniform", "nv.he": "kaiming_normal_ he_normal",
    # shapes and moves
    "nv.axes_with_order(x, axes), x.transpose(1, 0) or x.T": "transpose permute permute_dims rollaxis adjoint",
    "nv.swapaxes": "swapdims", "nv.moveaxis": "movedim",
    "nv.broadcast(x, axes)": "expand broadcast_in_dim broadcast_like broadcast_tensors",
    "nv.concatenate(xs, axis)": "cat concat row_stack block",
    "nv.expand_dims(x, axis), or x[None]": "unsqueeze newaxis",
    "nv.reshape": "view view_copy", "nv.reverse(x, axes)": "rev",
    "nv.split": "chunk unbind tensor_split split_with_sizes unsafe_split unsafe_chunk",
    "x[start:stop] or nv.tensor_slice": "narrow slice dynamic_slice slice_in_dim dynamic_slice_in_dim",
    "x[index]": "index_in_dim dynamic_index_in_dim index_take",
    "x.at[index].set(y)": "dynamic_update_slice dynamic_update_slice_in_dim dynamic_update_index_in_dim "
                          "place putmask slice_scatter select_scatter index_fill",
    "x.at[index].min(y)": "scatter_min", "x.at[index].max(y)": "scatter_max",
    "x.at[index].mul(y)": "scatter_mul", "x.at[index].add(-y)": "scatter_sub",
    "x.at[index].apply(function)": "scatter_apply",
    "nv.ravel(x).at[index].set(y).reshape(x.shape)": "put",
    "nv.pad(x, paddings)": "zero_padding ZeroPad2d constant_pad_nd",
    # indexing
    "nv.gather(x, index, axis)": "take index_select embedding_gather", "nv.gather_nd": "batch_gather",
    "nv.gather_elements(x, index, axis)": "take_along_axis take_along_dim",
    "nv.lookuptable(table, index), or nv.nn.Embedding": "embedding Embedding embedding_lookup",
    "nv.scatter(x, index, updates, axis, mode=\"add\")": "scatter_add index_add",
    "nv.scatter(x, index, updates, axis)": "index_put index_copy scatter_nd",
    "x[mask], or nv.where(mask, x, y)": "masked_select boolean_mask extract",
    "nv.repeat(x, counts, axis)": "repeat_interleave",
    "nv.top_k(x, k)": "topk approx_max_k", "nv.top_k(x, k, largest=False)": "approx_min_k",
    "nv.sort(x)": "sort_complex", "nv.sort(x, axis=0)": "msort", "nv.sort(x)[..., k - 1]": "kthvalue",
    "nv.cumlogsumexp(x)": "logcumsumexp",
    "nv.searchsorted(boundaries, x)": "bucketize",
    "nv.sort(keys), nv.gather_elements(values, nv.argsort(keys), -1)": "sort_key_val",
    _SORTING: "mode unique_consecutive",
    # networks
    "nv.convolution(x, f, spatial=[\"H\", \"W\"])": "conv2d conv conv1d conv3d conv_general_dilated "
                                                    "depthwise_conv2d conv_with_general_padding",
    "nv.unfold(x, window)": "conv_general_dilated_patches im2col",
    "nv.einsum(\"n i w, o i w -> n o w\", nv.unfold(x, window), f)": "conv_general_dilated_local",
    "nv.nn.Conv": "Conv1d Conv2d Conv2D Conv3d", "nv.nn.MaxPool": "MaxPool2d",
    "nv.nn.AveragePool": "AvgPool2d",
    "nv.deconvolution(x, f, spatial=[\"H\", \"W\"])": "conv_transpose2d ConvTranspose2d conv_transpose "
                                                      "conv2d_transpose conv_transpose1d conv_transpose3d",
    "nv.pooling(x, \"max\", window={\"H\": 2, \"W\": 2})": "max_pool max_pool2d max_pooling2d reduce_window "
                                                       "max_pool1d max_pool3d",
    "nv.pooling(x, \"avg\", window={\"H\": 2, \"W\": 2})": "avg_pool avg_pool2d avg_pool1d avg_pool3d",
    "nv.adaptive_pooling(x, \"avg\", lengths)": "adaptive_avg_pool2d adaptive_avg_pool1d adaptive_avg_pool3d",
    "nv.adaptive_pooling(x, \"max\", lengths)": "adaptive_max_pool2d adaptive_max_pool1d adaptive_max_pool3d",
    "nv.resize(x, lengths, \"linear\")": "interpolate upsample upsample_bilinear resize_as_",
    "nv.lp_pooling(x, window)": "lp_pool1d lp_pool2d lp_pool3d",
    "nv.nn.losses.ctc": "ctc_loss", "nv.nn.EmbeddingBag": "embedding_bag", "nv.nn.InstanceNorm": "instance_norm",
    "nv.nn.losses.hinge_embedding": "hinge_embedding_loss", "nv.nn.losses.multi_margin": "multi_margin_loss",
    "nv.nn.losses.multilabel_margin": "multilabel_margin_loss", "nv.nn.losses.soft_margin": "soft_margin_loss",
    "nv.nn.losses.multilabel_soft_margin": "multilabel_soft_margin_loss",
    "nv.nn.losses.pairwise_distance": "pairwise_distance",
    "nv.batch_norm": "batch_normalization", "nv.layer_norm(x, axis=-1)": "standardize native_layer_norm",
    "nv.nn.GroupNorm": "group_norm GroupNorm", "nv.nn.BatchNorm": "BatchNorm1d BatchNorm2d",
    "nv.nn.LayerNorm": "LayerNorm", "nv.nn.RMSNorm": "RMSNorm", "nv.nn.Dropout": "Dropout",
    "nv.nn.Softmax": "Softmax",
    "nv.nn.LogSoftmax": "LogSoftmax", "nv.log_softmax": "logsoftmax", "nv.nn.Module": "Module",
    "nv.nn.Sequential": "Sequential", "nv.nn": "keras layers functional",
    "nv.nn.LinearLayer, or nv.dot(x, w) + b": "Linear Dense linear dense",
    "nv.nn.LSTM": "LSTM lstm", "nv.nn.GRU": "GRU gru", "nv.nn.RNN": "RNN rnn_relu rnn_tanh SimpleRNN",
    "nv.nn.losses.cross_entropy(y, t)": "cross_entropy CrossEntropyLoss softmax_cross_entropy "
                                        "categorical_crossentropy",
    "nv.nn.losses.negative_log_likelihood(y, t)": "nll_loss NLLLoss",
    "nv.nn.losses.binary_cross_entropy(y, t)": "binary_cross_entropy BCELoss BCEWithLogitsLoss "
                                               "binary_cross_entropy_with_logits sigmoid_cross_entropy",
    "nv.nn.losses.mean_squared_error(x, y)": "mse_loss MSELoss mean_squared_error",
    "nv.nn.losses.mean_absolute_error(x, y)": "l1_loss L1Loss mean_absolute_error",
    "nv.nn.losses": "losses",
    "nv.nn.losses.huber": "huber_loss", "nv.nn.losses.smooth_l1": "smooth_l1_loss",
    "nv.nn.losses.kl_divergence": "kl_div", "nv.nn.losses.poisson": "poisson_nll_loss",
    "nv.nn.losses.gaussian": "gaussian_nll_loss", "nv.nn.losses.cosine_similarity(x, y)": "cosine_similarity",
    "nv.nn.losses.cosine_embedding": "cosine_embedding_loss",
    "nv.nn.losses.margin_ranking": "margin_ranking_loss",
    "nv.nn.losses.triplet_margin": "triplet_margin_loss",
    "nv.nn.losses.triplet_margin(x, y, z, metric=f)": "triplet_margin_with_distance_loss TripletMarginWithDistanceLoss",
    "nv.nn.losses.linear_cross_entropy(x, w, t)": "linear_cross_entropy LinearCrossEntropyLoss",
    "nv.channel_dropout(x, rate)": "dropout1d dropout2d dropout3d",
    "nv.alpha_dropout(x, rate, channels=1)": "feature_alpha_dropout",
    "nv.max_unpool(x, index, lengths)": "max_unpool1d max_unpool2d max_unpool3d",
    "nv.fractional_max_pooling(x, window, lengths)": "fractional_max_pool2d fractional_max_pool3d",
    "nv.pooling(x, \"max\", window, return_index=True)": "max_pool1d_with_indices max_pool2d_with_indices "
                                                     "max_pool3d_with_indices",
    "nv.channel_shuffle": "native_channel_shuffle",
    "nv.ragged_dot(x, y, sizes), and nv.vmap of it for batches": "ragged_dot_general grouped_mm",
    "nv.deformable_convolution": "deform_conv2d", "nv.nms(boxes, scores, classes=classes)": "batched_nms",
    "nv.resize(x, lengths)": "upsample_nearest",
    "nv.convolution(x, f, [\"T\"], padding=padding)": "conv_tbc",
    "nv.nn.MultiHeadAttention": "multi_head_attention_forward",
    _NOT_HERE:
    "addr "
    "strided sparse isnat ma ad flatiter dtypes "
    "as_strided "
    "psum pmean pmax pmin all_gather cartesian_prod linear_transpose",
    # derivatives and training
    _DERIVATIVE: "backward gradients GradientTape autograd",
    "nv.jacobian(function)": "jacfwd jacrev", "nv.vmap(function)": "pmap vectorized_map vectorize",
    "nv.checkpoint(function)": "remat",
    _NO_GRADIENT: "detach inference_mode enable_grad requires_grad set_grad_enabled",
    "nv.optim.Adam(rate)": "Adam adam", "nv.optim.AdamW(rate)": "AdamW adamw", "nv.optim.NAdam(rate)": "Nadam nadam",
    "nv.optim.Adamax(rate)": "adamax", "nv.optim.RAdam(rate)": "radam", "nv.optim.Adadelta(rate)": "adadelta",
    "nv.optim.Adafactor(rate)": "adafactor", "nv.optim.Lamb(rate)": "LAMB lamb", "nv.optim.Lars(rate)": "LARS lars",
    "nv.optim.LBFGS(nv.optim.SGD(1.0))": "lbfgs", "nv.optim.Rprop(rate)": "rprop",
    "nv.optim.SGD(rate)": "SGD sgd", "nv.optim.SGD(rate, momentum=0.9)": "Momentum MomentumOptimizer",
    "nv.optim.RMSProp(rate)": "RMSprop rmsprop", "nv.optim.Adagrad(rate)": "AdaGrad adagrad",
    "nv.optim.Lion(rate)": "lion", "nv.optim.Muon(rate)": "muon",
    "nv.data.Batches(inputs, targets)": "DataLoader TensorDataset", "nv.training.TensorBoard(folder)": "SummaryWriter",
    "nv.training.EarlyStop(patience)": "EarlyStopping", "nv.data.load_fashion(folder)": "FashionMNIST",
    "nv.data.transforms.Crop": "RandomCrop", "nv.data.transforms.CentreCrop": "CenterCrop",
    "nv.data.transforms.ResizedCrop": "RandomResizedCrop", "nv.data.transforms.Normalise": "Normalize",
    "nv.data.transforms.Flip": "RandomHorizontalFlip RandomVerticalFlip", "nv.data.transforms.Rotate": "RandomRotation",
    "nv.data.transforms.Affine": "RandomAffine", "nv.data.transforms.ColourJitter": "ColorJitter",
    "nv.data.transforms.Erase": "RandomErasing", "nv.data.transforms.Scaled": "ToTensor",
    "nv.optim.Clipped(optimizer, norm=1.0)": "clip_grad_norm_ clip_by_global_norm",
    "nv.optim.Clipped(optimizer, value=1.0)": "clip_grad_value_",
    "nv.optim.Accumulated(optimizer, calls=4)": "MultiSteps",
    "nv.optim.MovingAverage(optimizer)": "EMA ema AveragedModel",
    "nv.optim.Groups([(parameters, optimizer)], rest=optimizer)": "multi_transform param_groups",
    "nv.optim.cosine(rate, steps)": "CosineAnnealingLR CosineDecay cosine_decay_schedule",
    "nv.optim.stepped(rate, every)": "StepLR", "nv.optim.multi_step(rate, milestones)": "MultiStepLR",
    "nv.optim.polynomial(rate, steps)": "PolynomialLR PolynomialDecay polynomial_schedule",
    "nv.optim.warm_restarts(rate, steps)": "CosineAnnealingWarmRestarts CosineDecayRestarts",
    "nv.optim.cyclic(low, high)": "CyclicLR",
    "nv.optim.sequential(schedules, milestones)": "SequentialLR join_schedules",
    "nv.optim.Plateau(optimizer)": "ReduceLROnPlateau", "nv.optim.Schedule(formula)": "LambdaLR",
    "nv.optim.chained(schedules)": "ChainedScheduler",
    "nv.optim.multiplicative(rate, factor)": "MultiplicativeLR", "nv.optim.minimise(f, x)": "fmin_l_bfgs_b",
    "nv.optim.exponential(rate, factor)": "ExponentialLR ExponentialDecay",
    "nv.optim.one_cycle(peak, steps)": "OneCycleLR",
    "nv.optim.warm_up(schedule, steps)": "LinearLR lr_scheduler",
    "nv.custom_vjp": "custom_gradient custom_jvp",
    # running
    "nv.jit(function), or nv.computation(returns, x)": "function compile Session session run",
    "a function of NumPy's runs in the graph by nv.host_call": "pure_callback io_callback apply_along_axis "
                                                            "frompyfunc apply_over_axes",
    "nv.name_scope(name)": "named_scope named_call", "nv.flags.check_nan": "debug_nans",
    "nv.save(path, computation)": "export", "nv.explain": "profiler make_jaxpr",
    "nv.flags.threads": "set_num_threads get_num_threads",
    "nv.parameter, nv.variable and x.storage": "ref new_ref Ref",
    "is_float, is_integer, is_complex and is_signed are properties of x.dtype":
    "issubdtype isdtype is_floating_point is_complex iscomplexobj isrealobj is_signed",
    "isinstance(x, nv.Tensor)": "is_tensor",
    "nv.cond(predicate, f, g, x), or element by element nv.where(condition, x, y)": "if_",
    _DEVICES: "device cuda cpu to set_default_device Device device_put default_device local_devices "
              "default_backend device_count",
    "nv.testing.assert_close": "assert_allclose assert_close",
    "x.numpy()": "device_get as_numpy",
    "nv.print_op": "print", "x.shape": "shape", "x.ndim": "ndim", "x.size": "size", "x.numel()": "numel",
    "x.tolist()": "tolist",
    "nv.load": "restore", "nv.save": "dump savez",
    "nv.load_from_state_dict(model, state)": "load_state_dict",
    # element types and numbers
    "nv.bool_": "bool boolean", "nv.int8": "byte", "nv.uint8": "ubyte", "nv.uint16": "ushort",
    "nv.uint32": "uintc", "nv.uint64": "uint uintp ulong ulonglong", "nv.float16": "half",
    "nv.float32": "float float_ single", "nv.float64": "double",
    "nv.int64": "long longlong intp", "nv.int32": "int int_ intc", "nv.int16": "short",
    "nv.complex64": "cfloat csingle",
    "nv.complex128": "cdouble", "nv.as_dtype(x)": "dtype", _NUMPY_S: "pi e inf nan euler_gamma finfo iinfo",
}
"""Functions by their names elsewhere."""

LAYERS = {
    "nv.nn.Conv": "Conv1D Conv3D Convolution",
    "nv.nn.MaxPool": "MaxPool1d MaxPool3d MaxPooling1D MaxPooling2D MaxPooling3D",
    "nv.nn.AveragePool": "AvgPool AvgPool1d AvgPool3d AveragePooling1D AveragePooling2D "
                         "AveragePooling3D",
    "nv.nn.AdaptiveAveragePool": "AdaptiveAvgPool AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d "
                                 "GlobalAveragePooling1D GlobalAveragePooling2D",
    "nv.nn.AdaptiveMaxPool": "AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d GlobalMaxPooling2D",
    "nv.nn.ConvTranspose": "ConvTranspose1d ConvTranspose2d ConvTranspose3d Conv1DTranspose Conv2DTranspose",
    "nv.nn.Upsample": "UpsamplingNearest2d UpsamplingBilinear2d UpSampling1D UpSampling2D",
    "nv.nn.LPPool": "LPPool1d LPPool2d LPPool3d",
    "nv.nn.InstanceNorm": "InstanceNorm1d InstanceNorm2d InstanceNorm3d",
    "nv.nn.Pad": "ZeroPad1d ZeroPad2d ZeroPad3d ConstantPad1d ConstantPad2d ConstantPad3d ZeroPadding2D Padding",
    "nv.nn.Pad(1, \"reflect\")": "ReflectionPad1d ReflectionPad2d ReflectionPad3d",
    "nv.nn.Pad(1, \"edge\")": "ReplicationPad1d ReplicationPad2d ReplicationPad3d",
    "nv.nn.Pad(1, \"wrap\")": "CircularPad1d CircularPad2d CircularPad3d",
    "nv.nn.ChannelDropout": "Dropout1d Dropout2d Dropout3d SpatialDropout1D SpatialDropout2D",
    "nv.nn.losses.ctc": "CTCLoss", "nv.nn.losses.hinge_embedding": "HingeEmbeddingLoss",
    "nv.nn.losses.multi_margin": "MultiMarginLoss", "nv.nn.losses.multilabel_margin": "MultiLabelMarginLoss",
    "nv.nn.losses.multilabel_soft_margin": "MultiLabelSoftMarginLoss", "nv.nn.losses.soft_margin": "SoftMarginLoss",
    "nv.nn.BatchNorm": "BatchNorm3d SyncBatchNorm BatchNormalization",
    "nv.nn.LayerNorm": "LayerNormalization", "nv.nn.GroupNorm": "GroupNormalization",
    "nv.nn.LinearLayer": "Dense", "nv.nn.MultiHeadAttention": "MultiheadAttention",
    "nv.nn.RNN": "Elman", "nv.nn.RNNCell": "SimpleRNNCell",
    "nv.nn.Functional": "Lambda",
    "nv.nn.Hardsigmoid": "HardSigmoid", "nv.nn.Hardswish": "HardSwish", "nv.nn.Hardtanh": "HardTanh",
    "nv.nn.SiLU": "Swish", "nv.nn.ReLU": "Relu", "nv.nn.GELU": "Gelu",
    "nv.nn.losses": "functional loss", "nv.nn.initialisers": "init initializers",
    "nv.nn.losses.cross_entropy": "cross_entropy CrossEntropyLoss CategoricalCrossentropy",
    "nv.nn.losses.negative_log_likelihood": "nll nll_loss NLLLoss",
    "nv.nn.losses.binary_cross_entropy": "binary_cross_entropy bce bce_with_logits BCELoss "
    "BCEWithLogitsLoss BinaryCrossentropy",
    "nv.nn.losses.mean_squared_error": "mse mse_loss MSELoss MeanSquaredError",
    "nv.nn.losses.mean_absolute_error": "mae l1 l1_loss L1Loss MeanAbsoluteError",
    "nv.nn.losses.huber": "HuberLoss Huber",
    "nv.nn.losses.smooth_l1": "SmoothL1Loss",
    "nv.nn.losses.kl_divergence": "kl KLDivLoss KLDivergence",
    "nv.nn.losses.poisson": "PoissonNLLLoss Poisson", "nv.nn.losses.gaussian": "GaussianNLLLoss",
    "nv.nn.losses.cosine_embedding": "CosineEmbeddingLoss",
    "nv.nn.losses.margin_ranking": "MarginRankingLoss",
    "nv.nn.losses.triplet_margin": "TripletMarginLoss TripletMarginWithDistanceLoss",
    "nv.nn.losses.linear_cross_entropy": "LinearCrossEntropyLoss",
    "nv.nn.LocalResponseNorm": "CrossMapLRN2d", "nv.nn.AdaptiveLogSoftmax": "AdaptiveLogSoftmaxWithLoss",
    "nv.nn.MaxUnpool": "MaxUnpool1d MaxUnpool2d MaxUnpool3d",
    "nv.nn.FractionalMaxPool": "FractionalMaxPool2d FractionalMaxPool3d",
    "nv.nn.WeightNorm": "weight_norm", "nv.nn.SpectralNorm": "spectral_norm",
    "a parameter is a variable that is an attribute of a module, as in self.scale = nv.variable(\"C=3\", 1.0)":
    "Parameter Variable ParameterList",
    "modules in a list or dict that is an attribute are found there: self.blocks = [...]":
    "ModuleList ModuleDict",
}
"""Layers by their names elsewhere."""

MEMBERS = {
    "nv.make_state_dict(model), or a file: nv.save_weights(model, path)":
    "state_dict get_weights save save_weights",
    "nv.load_from_state_dict(model, state), or a file: nv.load_weights(model, path)":
    "load_state_dict set_weights load load_weights",
    "a call builds the graph, nv.computation([loss, nv.optim.Adam(rate)(loss)], ...) compiles a step of training":
    "compile fit build evaluate predict train_step",
    _RESET: "zero_grad", _NO_GRADIENT: "requires_grad_",
    "a variable that is an attribute is a parameter, another persistent tensor a buffer":
    "register_parameter "
    "register_buffer add_weight", "a module that is an attribute, or in a list that is one, is inside":
    "add_module register_module append add",
    "named_modules() has all modules inside": "children named_children layers",
    "dtype= of each layer says the type of its parameters": "half double float bfloat16 type",
    "parameters() has them": "trainable_variables trainable_weights variables weight",
    _DEVICES: "to cuda cpu xpu device",
    "forward can do it": "register_forward_hook register_forward_pre_hook apply",
}
"""Attributes of modules by their names elsewhere."""

IN_PLACE = "a tensor never changes: nv.assign(x, y), nv.fill and nv.set_item change variables, x.at[...] makes another"
_LAZY = "a tensor is computed when it is asked for; x.numpy() computes it, x.storage is the memory of one that exists"

TENSORS = {
    "x.reshape(...)": "view resize reshape_as view_as", "nv.axes_with_order(x, axes) or x.transpose(1, 0)":
    "permute swapdims", "x.T": "t",
    "x[None], or nv.expand_dims(x, axis)": "unsqueeze expand_dims",
     "x.broadcast_to(axes)": "expand expand_as repeat broadcast",
    "x.shape": "get_shape", "x.ndim": "dim rank_ ndimension", "x.size": "nelement",
    "x.size * x.dtype.itemsize": "nbytes", "x.dtype.itemsize": "itemsize element_size",
    "x.axes": "names has_names", "nv.map_roles(x, {old: new})": "rename refine_names",
    "nv.axes_with_order(x, axes)": "align_to align_as",
    "x.astype(dtype)": "to type_as cast convert", "x.astype(nv.float32)": "float",
    "x.astype(nv.float64)": "double",
    "x.astype(nv.float16)": "half", "x.astype(nv.bfloat16)": "bfloat16", "x.astype(nv.int32)": "int",
    "x.astype(nv.int64)": "long", "x.astype(nv.bool_)": "bool",
    _LAZY: "cpu cuda contiguous is_contiguous pin_memory block_until_ready device_put data "
              "is_cuda addressable_data",
    "x.numpy()": "eval run tobytes values array get compute", "nv.print_op(x)": "print",
    _NO_GRADIENT: "requires_grad_ no_grad retain_grad is_leaf",
    "nv.deriv(f, x)": "gradient", "nv.reset_grad(x)": "zero_grad reset_grad", "nv.proceed(x)": "proceed",
    "nv.hook_optimizer(x, optimizer)": "hook_optimizer", "nv.call_optimizer(x)": "call_optimizer",
    "x itself: a tensor never changes; x.numpy() copies its elements":
    "deepcopy",
    IN_PLACE: "add_ sub_ mul_ div_ copy_ zero_ fill_ fill clamp_ relu_ normal_ uniform_ "
                                      "set_data set_value set assign put put_ itemset sort_ scatter_ index_fill_",
    "nv.absolute(x), or abs(x)": "abs", "nv.equal(x, y)": "eq",
    "nv.less(x, y)": "lt",
    "nv.greater(x, y)": "gt", "x ** y": "pow", "x + y": "add", "x - y": "sub subtract",
    "x * y": "mul multiply",
    "x / y": "div divide true_divide", "-x": "neg negative", "x @ y": "mm bmm matmul mv",
    "nv.L2_norm(x)": "norm", "nv.where(mask, y, x)": "masked_fill where",
    "nv.gather_elements(x, index, axis)": "gather",
    "nv.scatter(x, index, y, axis, mode=\"add\")": "scatter_add index_add scatter_add_",
    "nv.split(x, parts)": "chunk unbind", "x[start:stop]": "narrow select",
    "x[mask]": "masked_select nonzero", _SORTING: "nanmedian",
}
"""Attributes of tensors by their names elsewhere."""

METHODS_ELSEWHERE = frozenset(
    "acos acosh asin asinh atan atanh ceil clip cos cosh digamma erf erfc exp exp2 expm1 floor gelu lgamma log log10 "
    "log1p log2 log_softmax logical_and logical_not logical_or logsumexp maximum minimum mod outer pad reciprocal "
    "relu round rsqrt scatter sigmoid sign sin sinh softmax softplus split sqrt square stack tan tanh tril triu trunc "
    "argwhere unique absolute bernoulli bitwise_and bitwise_not bitwise_or bitwise_xor "
    "count_nonzero greater greater_equal hypot less "
    "less_equal logical_xor not_equal prelu selu unflatten allclose corrcoef cov cross deg2rad diag diagflat diagonal "
    "diff dsplit fix flip fliplr flipud fmax fmin heaviside hsplit inner isclose isfinite isinf isnan isneginf "
    "isposinf logaddexp logaddexp2 logit moveaxis nan_to_num nanmean nansum positive rad2deg ravel remainder roll "
    "rot90 sinc swapaxes tile trace vdot vsplit xlogy".split())
"""Functions of ``nv`` that are methods elsewhere."""

OPTIMISERS = {
    "each call of nv.computation([loss, nv.optim.Adam(rate)(loss)], ...) computes a loss and updates its variables, as "
    "model.step(optimizer, ...) does for what nv.build made; nv.call_optimizer(x) updates by x.grad":
    "minimize step apply_gradients apply init compute_gradients get_updates",
    _RESET: "zero_grad reset_grad clear_grad",
    "its numbers and moments are in slots(w); nv.make_state_dict(model, optimizers=True) and nv.save keep them":
    "state_dict load_state_dict param_groups state get_config get_weights variables",
}
"""Methods of optimisers by their names elsewhere."""

KEYWORDS = {
    "axis": "dim dims axes reduction_axes dimension reduction_indices", "reduction_axes": "axes dims",
    "axes": "shape size axis dim dims sizes newshape normalized_shape num_features num_channels",
    "keepdims": "keepdim keep_dims",
    "ddof": "correction unbiased", "out_axes": "out_dims", "low": "min a_min minval clip_value_min lower",
    "high": "max a_max maxval clip_value_max upper", "rate": "p prob keep_prob drop_prob",
    "decay": "alpha rho", "iterations": "ns_steps", "optimizer": "inner", "calls": "k every_k_schedule",
    "learning_rate": "lr alpha step_size", "epsilon": "eps layer_norm_eps",
    "initial_value": "init initializer value initial data",
    "dtype": "type dtypes preferred_element_type out_dtype", "strides": "stride",
    "dilations": "dilation rate",
    "window": "kernel_size pool_size ksize",
    "padding": "pad", "paddings": "pad_width padding", "loc": "mean mu",
    "scale": "std stddev sigma weight gamma",
    "shift": "bias beta", "number": "value fill_value", "index": "indices idx",
    "parts": "num indices_or_sections sections",
    "approximate": "approximation", "static": "static_argnums static_argnames",
    "argument": "argnums argnum wrt",
    "offset": "k diagonal", "decimals": "ndigits digits", "p": "probs", "transformer": "device backend",
    "x": "input a",
    "y": "other b", "xs": "tensors arrays", "stop": "end", "table": "weight", "f": "filters kernel",
    "inputs": "in_features in_channels input_size", "outputs": "out_features out_channels units filters hidden_size",
    "layers": "num_layers", "heads": "num_heads nhead", "hidden": "dim_feedforward", "features": "embed_dim d_model",
    "projection": "proj_size",
    "rows": "num_embeddings input_dim", "columns": "embedding_dim output_dim features",
    "pad_idx": "padding_idx",
    "weights": "weight kernel_initializer", "smoothing": "label_smoothing", "ignore_index": "ignore",
    "positive_weights": "pos_weight", "count_padding": "count_include_pad", "slope": "negative_slope a",
    "size": "batch_size", "validation": "validation_data", "steps": "steps_per_epoch", "shuffled": "shuffle",
}
"""Keywords here, and their names in functions elsewhere."""

KEYWORD_ADVICE = {
    "nv.variable makes what is trained; derivatives go to any tensor": "requires_grad trainable",
    _DEVICES: "device",
    "x.named(name) gives a tensor a label, nv.name_scope(name) all that is made inside": "name",
    "the result is a new tensor; nv.assign writes variables": "out inplace",
    "the graph stays, and may be differentiated again": "retain_graph create_graph keep_graph",
    "beta1= and beta2= are given apart": "betas", "nv.mean and nv.sum reduce": "reduction",
    "scale=False and shift=False leave them out": "affine elementwise_affine",
    "nv.Trainer(..., weights=2) names the entry of a batch that has weights": "sample_weight sample_weights",
}
"""Advice for keywords without an equivalent."""
