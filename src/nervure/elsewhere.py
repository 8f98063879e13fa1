"""Names known from NumPy, PyTorch, JAX and TensorFlow, and their equivalents here.

A name that is asked for in vain is an error whose help says it:

>>> import nervure as nv
>>> try:
...     nv.conv2d
... except nv.UnknownName as error:
...     print(error.help)
here it is nv.convolution(x, f, spatial=["H", "W"])

The tables go from what there is here to the names elsewhere. Every name on their left side is one that there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import update_wrapper
from types import FunctionType
from typing import TypeVar

from nervure.errors import UnknownName, WrongKind, did_you_mean

Function = TypeVar("Function", bound=Callable[..., object])

_ARRAY = "nv.constant(x) for a value that stays, nv.tensor(x) or nv.variable(axes, x) for one that is assigned"
_CONTROL = ("to choose element by element there is nv.where(condition, x, y); branches and loops are Python's, while "
            "the graph is built")
_SORTING = "there are nv.argmax, nv.argmin, nv.max and nv.min; nv.host_call runs a function of NumPy's in the graph"
_DEVICES = "a transformer is what runs: nv.transformers.make_transformer(name), nv.flags.transformer"
_NO_GRADIENT = ("derivatives do not pass x.detach(), nor what is built in `with nv.no_grad():`; nv.parameter(x) makes "
                "what has a gradient")
_DERIVATIVE = ("the derivative of a tensor is nv.deriv(f, x), that of a function nv.grad(function); x.backward() fills "
               "the grad of parameters")
_RESET = "each step computes gradients anew, and backward() replaces those in x.grad; nv.reset_grad(x) makes them zeros"
_NUMPY_S = "np has it, and a number of NumPy's may stand in any expression"

FUNCTIONS = {
    # elementwise
    "nv.absolute": "abs fabs", "nv.acos": "arccos", "nv.acosh": "arccosh", "nv.asin": "arcsin", "nv.asinh": "arcsinh",
    "nv.atan": "arctan", "nv.atan2": "arctan2", "nv.atanh": "arctanh", "nv.bitwise_not": "invert bitwise_invert",
    "nv.clip(x, low, high)": "clamp clip_by_value hardtanh hard_tanh", "nv.clip(x, 0, 6)": "relu6 ReLU6",
    "nv.convert(x, dtype)": "cast astype", "nv.divide": "div true_divide truediv", "nv.equal": "eq",
    "nv.erf_inv": "erfinv", "nv.floordivide": "floor_divide floordiv", "nv.greater": "gt",
    "nv.greater_equal": "ge greater_than_equal", "nv.hard_sigmoid": "hardsigmoid", "nv.hard_swish": "hardswish",
    "nv.is_finite": "isfinite", "nv.is_inf": "isinf", "nv.is_nan": "isnan", "nv.leaky_relu": "leakyrelu LeakyReLU",
    "nv.left_shift": "bitwise_left_shift shift_left lshift", "nv.less": "lt", "nv.less_equal": "le",
    "nv.lgamma": "gammaln", "nv.log_sigmoid": "logsigmoid LogSigmoid", "nv.mod": "remainder floormod floor_mod",
    "nv.multiply": "mul", "nv.negative": "neg", "nv.not_equal": "ne", "nv.power": "pow float_power",
    "nv.relu, or nv.nn.ReLU()": "ReLU", "nv.right_shift": "bitwise_right_shift shift_right rshift",
    "nv.round": "rint around",
    "nv.sigmoid": "expit Sigmoid", "nv.silu": "swish SiLU", "nv.subtract": "sub",
    "nv.where": "select piecewise masked_fill nan_to_num",
    "nv.logsumexp(nv.stack([x, y]), axis=0)": "logaddexp logaddexp2",
    # reductions
    "nv.max": "amax reduce_max nanmax", "nv.min": "amin reduce_min nanmin", "nv.mean": "reduce_mean nanmean average",
    "nv.prod": "reduce_prod nanprod", "nv.sum": "reduce_sum nansum add_n", "nv.variance": "var reduce_variance",
    "nv.std": "reduce_std stddev", "nv.all": "reduce_all", "nv.any": "reduce_any",
    "nv.logsumexp": "reduce_logsumexp log_sum_exp", "nv.L2_norm": "norm vector_norm linalg",
    "nv.max(x) - nv.min(x)": "ptp",
    # products
    "nv.matmul": "mm bmm batch_matmul", "nv.dot": "mv addmm baddbmm",
    "nv.einsum(\"i j, j k -> i k\", x, y)": "tensordot inner vdot vecdot kron trace contract",
    # making tensors
    _ARRAY: "array asarray as_tensor from_numpy convert_to_tensor frombuffer ascontiguousarray ndarray",
    "nv.variable(axes, initial_value)": "Variable get_variable", "nv.placeholder(axes)": "Input InputLayer TensorSpec",
    "nv.zeros": "empty", "nv.zeros_like": "empty_like", "nv.eye": "identity",
    "nv.arange(n) * step + start": "linspace", "nv.exp(nv.arange(n) * step + start)": "logspace geomspace",
    "nv.uniform(axes)": "random_uniform", "nv.normal(axes)": "random_normal standard_normal",
    "nv.floor(nv.uniform(axes, low, high)).astype(nv.int64)": "randint random_int",
    "nv.uniform, nv.normal or nv.bernoulli": "random",
    "nv.seed": "manual_seed set_random_seed PRNGKey default_rng RandomState",
    "nv.glorot": "xavier_uniform_ glorot_uniform", "nv.he": "kaiming_normal_ he_normal",
    # shapes and moves
    "nv.axes_with_order(x, axes), x.transpose(1, 0) or x.T": "transpose permute permute_dims swapaxes swapdims "
                                                             "moveaxis movedim matrix_transpose",
    "nv.broadcast(x, axes)": "broadcast_to expand tile repeat repeat_interleave broadcast_arrays meshgrid",
    "nv.concatenate(xs, axis)": "cat concat hstack vstack row_stack column_stack append block",
    "nv.stack(xs, axis)": "dstack", "nv.expand_dims(x, axis), or x[None]": "unsqueeze newaxis atleast_1d atleast_2d",
    "nv.flatten": "ravel", "nv.reshape": "view", "nv.reverse(x, axes)": "flip flipud fliplr",
    "nv.split": "chunk array_split hsplit vsplit unbind unstack tensor_split",
    "nv.concatenate([x[-n:], x[:-n]])": "roll", "x[start:stop] or nv.tensor_slice": "narrow slice dynamic_slice",
    "nv.pad(x, paddings)": "zero_padding ZeroPad2d",
    # indexing
    "nv.gather(x, index, axis)": "take index_select embedding_gather", "nv.gather_nd": "batch_gather",
    "nv.gather_elements(x, index, axis)": "take_along_axis take_along_dim",
    "nv.lookuptable(table, index), or nv.nn.Embedding": "embedding Embedding embedding_lookup",
    "nv.scatter(x, index, updates, axis, mode=\"add\")": "scatter_add index_add segment_sum",
    "nv.scatter(x, index, updates, axis)": "put put_along_axis index_put index_copy scatter_nd",
    "x[mask], or nv.where(mask, x, y)": "masked_select boolean_mask extract compress nonzero argwhere",
    _SORTING: "sort argsort topk top_k unique searchsorted median quantile percentile cumsum cumprod cummax",
    # networks
    "nv.convolution(x, f, spatial=[\"H\", \"W\"])": "conv2d conv conv1d conv3d conv_general_dilated depthwise_conv2d "
                                                    "convolve",
    "nv.nn.Conv": "Conv1d Conv2d Conv2D Conv3d", "nv.nn.MaxPool": "MaxPool2d", "nv.nn.AveragePool": "AvgPool2d",
    "nv.deconvolution(x, f, spatial=[\"H\", \"W\"])": "conv_transpose2d ConvTranspose2d conv_transpose "
                                                      "conv2d_transpose",
    "nv.pooling(x, \"max\", window={\"H\": 2, \"W\": 2})": "max_pool max_pool2d max_pooling2d reduce_window",
    "nv.pooling(x, \"avg\", window={\"H\": 2, \"W\": 2})": "avg_pool avg_pool2d adaptive_avg_pool2d",
    "nv.batch_norm": "batch_normalization", "nv.layer_norm": "group_norm", "nv.nn.BatchNorm": "BatchNorm1d BatchNorm2d",
    "nv.nn.LayerNorm": "LayerNorm", "nv.nn.RMSNorm": "RMSNorm", "nv.nn.Dropout": "Dropout", "nv.nn.Softmax": "Softmax",
    "nv.nn.LogSoftmax": "LogSoftmax", "nv.log_softmax": "logsoftmax", "nv.nn.Module": "Module",
    "nv.nn.Sequential": "Sequential", "nv.nn": "keras layers functional",
    "nv.nn.LinearLayer, or nv.dot(x, w) + b": "Linear Dense linear dense",
    "nv.nn.losses.cross_entropy(y, t)": "cross_entropy CrossEntropyLoss softmax_cross_entropy categorical_crossentropy",
    "nv.nn.losses.negative_log_likelihood(y, t)": "nll_loss NLLLoss",
    "nv.nn.losses.binary_cross_entropy(y, t)": "binary_cross_entropy BCELoss BCEWithLogitsLoss "
                                               "binary_cross_entropy_with_logits sigmoid_cross_entropy",
    "nv.nn.losses.mean_squared_error(x, y)": "mse_loss MSELoss mean_squared_error",
    "nv.nn.losses.mean_absolute_error(x, y)": "l1_loss L1Loss mean_absolute_error",
    # derivatives and training
    _DERIVATIVE: "backward gradient gradients GradientTape vjp jacobian autograd",
    _NO_GRADIENT: "detach inference_mode enable_grad requires_grad",
    "nv.optim.Adam(rate)": "Adam adam Adamax NAdam Nadam", "nv.optim.AdamW(rate)": "AdamW adamw",
    "nv.optim.SGD(rate)": "SGD sgd", "nv.optim.SGD(rate, momentum=0.9)": "Momentum MomentumOptimizer",
    "nv.optim.RMSProp(rate)": "RMSprop rmsprop", "nv.optim.Adagrad(rate)": "AdaGrad adagrad", "nv.optim.Lion(rate)":
    "lion", "nv.optim.Muon(rate)": "muon",
    "nv.optim.Clipped(optimizer, norm=1.0)": "clip_grad_norm_ clip_by_global_norm",
    "nv.optim.Clipped(optimizer, value=1.0)": "clip_grad_value_",
    "nv.optim.Accumulated(optimizer, calls=4)": "MultiSteps",
    "nv.optim.MovingAverage(optimizer)": "EMA ema AveragedModel",
    "nv.optim.Groups([(parameters, optimizer)], rest=optimizer)": "multi_transform param_groups",
    "nv.optim.cosine(rate, steps)": "CosineAnnealingLR CosineDecay cosine_decay_schedule",
    "nv.optim.stepped(rate, every)": "StepLR", "nv.optim.exponential(rate, factor)": "ExponentialLR ExponentialDecay",
    "nv.optim.one_cycle(peak, steps)": "OneCycleLR", "nv.optim.warm_up(schedule, steps)": "LinearLR lr_scheduler",
    "nv.custom_vjp": "custom_gradient custom_jvp",
    # running
    "nv.jit(function), or nv.computation(returns, x)": "function compile Session session run",
    _CONTROL: "cond if_ while_loop fori_loop scan switch map vmap pmap",
    _DEVICES: "device cuda cpu to set_default_device",
    "nv.testing.assert_close": "allclose isclose assert_allclose assert_close", "x.numpy()": "device_get as_numpy",
    "nv.print_op": "print", "x.shape": "shape", "x.ndim": "ndim", "x.size": "size", "x.numel()": "numel",
    "x.tolist()": "tolist",
    "nv.load": "restore", "nv.save": "dump savez",
    "nv.load_from_state_dict(model, state)": "load_state_dict",
    # element types and numbers
    "nv.bool_": "bool boolean", "nv.float16": "half", "nv.float32": "float float_ single", "nv.float64": "double",
    "nv.int64": "long longlong", "nv.int32": "int int_ intc", "nv.int16": "short", "nv.complex64": "cfloat csingle",
    "nv.complex128": "cdouble", "nv.as_dtype(x)": "dtype", _NUMPY_S: "pi e inf nan euler_gamma finfo iinfo",
}
"""Functions by the names that they have elsewhere."""

LAYERS = {
    "nv.nn.Conv": "Conv1d Conv2d Conv3d Conv2D Conv1D Conv3D Convolution",
    "nv.nn.MaxPool": "MaxPool1d MaxPool2d MaxPool3d MaxPooling1D MaxPooling2D MaxPooling3D",
    "nv.nn.AveragePool": "AvgPool AvgPool1d AvgPool2d AvgPool3d AveragePooling1D AveragePooling2D AveragePooling3D",
    "nv.nn.Functional(nv.mean, [\"H\", \"W\"])": "AdaptiveAvgPool1d AdaptiveAvgPool2d GlobalAveragePooling2D",
    "nv.nn.BatchNorm": "BatchNorm1d BatchNorm2d BatchNorm3d BatchNormalization",
    "nv.nn.LayerNorm": "LayerNormalization", "nv.nn.GroupNorm": "GroupNormalization", "nv.nn.LinearLayer": "Dense",
    "nv.nn.Functional(nv.flatten_at, 1)": "Flatten", "nv.nn.Functional": "Lambda",
    "nv.nn.Functional(nv.hard_sigmoid), or the function itself": "Hardsigmoid HardSigmoid",
    "nv.nn.SiLU": "Swish", "nv.nn.ReLU": "Relu", "nv.nn.GELU": "Gelu",
    "nv.nn.losses": "functional loss", "nv.nn.initialisers": "init initializers",
    "nv.nn.losses.cross_entropy": "cross_entropy CrossEntropyLoss CategoricalCrossentropy",
    "nv.nn.losses.negative_log_likelihood": "nll nll_loss NLLLoss",
    "nv.nn.losses.binary_cross_entropy": "binary_cross_entropy bce bce_with_logits BCELoss "
    "BCEWithLogitsLoss BinaryCrossentropy",
    "nv.nn.losses.mean_squared_error": "mse mse_loss MSELoss MeanSquaredError",
    "nv.nn.losses.mean_absolute_error": "mae l1 l1_loss L1Loss MeanAbsoluteError",
    "nv.nn.losses.huber": "huber_loss HuberLoss Huber",
    "nv.nn.losses.smooth_l1": "smooth_l1_loss SmoothL1Loss",
    "nv.nn.losses.kl_divergence": "kl kl_div KLDivLoss KLDivergence",
    "nv.nn.losses.poisson": "PoissonNLLLoss Poisson", "nv.nn.losses.gaussian": "GaussianNLLLoss",
    "nv.nn.losses.cosine_similarity": "CosineSimilarity", "nv.nn.losses.cosine_embedding": "CosineEmbeddingLoss",
    "nv.nn.losses.margin_ranking": "MarginRankingLoss", "nv.nn.losses.triplet_margin": "TripletMarginLoss",
    "a parameter is a variable that is an attribute of a module, as in self.scale = nv.variable(\"C=3\", 1.0)":
    "Parameter Variable ParameterList",
    "modules in a list or dict that is an attribute are found there: self.blocks = [...]": "ModuleList ModuleDict",
}
"""Layers by the names that they have elsewhere."""

MEMBERS = {
    "nv.make_state_dict(model), or a file: nv.save_weights(model, path)": "state_dict get_weights save save_weights",
    "nv.load_from_state_dict(model, state), or a file: nv.load_weights(model, path)":
    "load_state_dict set_weights load load_weights",
    "a call builds the graph, nv.computation([loss, nv.optim.Adam(rate)(loss)], ...) compiles a step of training":
    "compile fit build evaluate predict train_step",
    _RESET: "zero_grad", _NO_GRADIENT: "requires_grad_",
    "a variable that is an attribute is a parameter, another persistent tensor a buffer": "register_parameter "
    "register_buffer add_weight", "a module that is an attribute, or in a list that is one, is inside":
    "add_module register_module append add", "named_modules() has all modules inside": "children named_children layers",
    "dtype= of each layer says the type of its parameters": "half double float bfloat16 type",
    "parameters() has them": "trainable_variables trainable_weights variables weight",
    _DEVICES: "to cuda cpu xpu device", "forward can do it": "register_forward_hook register_forward_pre_hook apply",
}
"""Attributes of modules by the names that they have elsewhere."""

_IN_PLACE = "a tensor never changes: nv.assign(x, y), nv.fill and nv.set_item change variables, x.at[...] makes another"
_LAZY = "a tensor is computed when it is asked for; x.numpy() computes it, x.storage is the memory of one that exists"

TENSORS = {
    "x.reshape(...)": "view resize reshape_as view_as", "nv.axes_with_order(x, axes) or x.transpose(1, 0)":
    "permute swapaxes swapdims moveaxis", "x.T": "t", "x[None], or nv.expand_dims(x, axis)": "unsqueeze expand_dims",
    "x.flatten()": "ravel", "x.broadcast_to(axes)": "expand expand_as tile repeat broadcast",
    "x.shape": "get_shape", "x.ndim": "dim rank_", "x.size": "nelement", "x.size * x.dtype.itemsize": "nbytes",
    "x.astype(dtype)": "to type_as cast convert", "x.astype(nv.float32)": "float", "x.astype(nv.float64)": "double",
    "x.astype(nv.float16)": "half", "x.astype(nv.bfloat16)": "bfloat16", "x.astype(nv.int32)": "int",
    "x.astype(nv.int64)": "long", "x.astype(nv.bool_)": "bool",
    _LAZY: "cpu cuda contiguous is_contiguous pin_memory block_until_ready device_put data "
              "is_cuda addressable_data",
    "x.numpy()": "eval run tobytes values array get compute", "nv.print_op(x)": "print",
    _NO_GRADIENT: "requires_grad_ no_grad retain_grad is_leaf",
    "nv.deriv(f, x)": "gradient", "nv.reset_grad(x)": "zero_grad reset_grad", "nv.proceed(x)": "proceed",
    "nv.hook_optimizer(x, optimizer)": "hook_optimizer", "nv.call_optimizer(x)": "call_optimizer",
    "x itself: a tensor never changes; x.numpy() copies its elements":
    "clone copy deepcopy", _IN_PLACE: "add_ sub_ mul_ div_ copy_ zero_ fill_ fill clamp_ relu_ normal_ uniform_ "
                                      "set_data set_value set assign put put_ itemset sort_ scatter_ index_fill_",
    "nv.absolute(x), or abs(x)": "abs", "nv.clip(x, low, high)": "clamp", "nv.equal(x, y)": "eq", "nv.less(x, y)": "lt",
    "nv.greater(x, y)": "gt", "x ** y": "pow", "x + y": "add", "x - y": "sub subtract", "x * y": "mul multiply",
    "x / y": "div divide true_divide", "-x": "neg negative", "x @ y": "mm bmm matmul mv",
    "nv.L2_norm(x)": "norm", "nv.where(mask, y, x)": "masked_fill where", "nv.gather(x, index, axis)":
    "take index_select", "nv.gather_elements(x, index, axis)": "gather take_along_axis",
    "nv.scatter(x, index, y, axis, mode=\"add\")": "scatter_add index_add scatter_add_", "nv.is_nan(x)": "isnan",
    "nv.is_inf(x)": "isinf", "nv.is_finite(x)": "isfinite", "nv.reverse(x)": "flip", "nv.split(x, parts)":
    "chunk unbind", "x[start:stop]": "narrow select", "x[mask]": "masked_select nonzero", _SORTING:
    "sort argsort topk cumsum cumprod median unique searchsorted", "nv.einsum": "trace diagonal inner",
}
"""Attributes of tensors by the names that they have elsewhere."""

METHODS_ELSEWHERE = frozenset(
    "acos acosh asin asinh atan atanh ceil clip cos cosh digamma erf erfc exp exp2 expm1 floor gelu lgamma log log10 "
    "log1p log2 log_softmax logical_and logical_not logical_or logsumexp maximum minimum mod outer pad reciprocal relu "
    "round rsqrt scatter sigmoid sign sin sinh softmax softplus split sqrt square stack tan tanh tril triu "
    "trunc".split())
"""Functions of ``nv`` that are methods elsewhere."""

OPTIMISERS = {
    "each call of nv.computation([loss, nv.optim.Adam(rate)(loss)], ...) computes a loss and updates its variables, as "
    "model.step(optimizer, ...) does for what nv.build made; nv.call_optimizer(x) updates by x.grad":
    "minimize step apply_gradients apply init compute_gradients get_updates",
    _RESET: "zero_grad reset_grad clear_grad",
    "its numbers and moments are in slots(w); nv.make_state_dict(model, optimizers=True) and nv.save keep them":
    "state_dict load_state_dict param_groups state get_config get_weights variables",
}
"""Methods of optimisers by the names that they have elsewhere."""

KEYWORDS = {
    "axis": "dim dims axes reduction_axes dimension reduction_indices", "reduction_axes": "axes dims",
    "axes": "shape size axis dim dims sizes newshape normalized_shape num_features num_channels",
    "keepdims": "keepdim keep_dims",
    "ddof": "correction unbiased", "out_axes": "out_dims", "low": "min a_min minval clip_value_min lower",
    "high": "max a_max maxval clip_value_max upper", "rate": "p prob keep_prob drop_prob",
    "decay": "alpha rho", "iterations": "ns_steps", "optimizer": "inner", "calls": "k every_k_schedule",
    "learning_rate": "lr alpha step_size", "epsilon": "eps", "initial_value": "init initializer value initial data",
    "dtype": "type dtypes preferred_element_type out_dtype", "strides": "stride", "dilations": "dilation rate",
    "window": "kernel_size pool_size ksize",
    "padding": "pad", "paddings": "pad_width padding", "loc": "mean mu", "scale": "std stddev sigma weight gamma",
    "shift": "bias beta", "number": "value fill_value", "index": "indices idx",
    "parts": "num indices_or_sections sections",
    "approximate": "approximation", "static": "static_argnums static_argnames", "argument": "argnums argnum wrt",
    "offset": "k diagonal", "decimals": "ndigits digits", "p": "probs", "transformer": "device backend", "x": "input a",
    "y": "other b", "xs": "tensors arrays", "stop": "end", "table": "weight", "f": "filters kernel",
    "inputs": "in_features in_channels", "outputs": "out_features out_channels units filters",
    "rows": "num_embeddings input_dim", "columns": "embedding_dim output_dim features", "pad_idx": "padding_idx",
    "weights": "weight kernel_initializer", "smoothing": "label_smoothing", "ignore_index": "ignore",
    "positive_weights": "pos_weight", "count_padding": "count_include_pad", "slope": "negative_slope a",
}
"""Keywords here, and what functions elsewhere call them."""

KEYWORD_ADVICE = {
    "nv.variable makes what is trained; derivatives go to any tensor": "requires_grad trainable",
    _DEVICES: "device", "x.named(name) gives a tensor a label, nv.name_scope(name) all that is made inside": "name",
    "the result is a new tensor; nv.assign writes variables": "out inplace",
    "the graph stays, and may be differentiated again": "retain_graph create_graph keep_graph",
    "beta1= and beta2= are given apart": "betas", "nv.mean and nv.sum reduce": "reduction",
    "scale=False and shift=False leave them out": "affine elementwise_affine",
}
"""Advice for keywords without an equivalent."""


def _by_name(table: dict[str, str]) -> dict[str, str]:
    """Advice by the name elsewhere."""
    return {name: advice for advice, names in table.items() for name in names.split()}


_functions, _layers, _members = _by_name(FUNCTIONS), _by_name(LAYERS), _by_name(MEMBERS)
_optimisers, _keyword_advice = _by_name(OPTIMISERS), _by_name(KEYWORD_ADVICE)
_tensors = {**{name: f"nv.{name}(x)" for name in METHODS_ELSEWHERE}, **_by_name(TENSORS)}


def unknown_function(name: str, known: Iterable[str]) -> UnknownName:
    """The error of a name that ``nv`` does not have."""
    return _unknown("nv", f"nervure has no {name}", name, _functions, known)


def unknown_attribute(thing: object, name: str) -> UnknownName:
    """The error of a name that tensors do not have."""
    return _unknown("Tensor", f"a tensor has no {name}", name, _tensors, dir(type(thing)))


def unknown_optimiser(name: str, known: Iterable[str]) -> UnknownName:
    """The error of a name that ``nv.optim`` does not have."""
    return _unknown("nv.optim", f"there is no {name}", name, _functions, known)


def unknown_layer(name: str, known: Iterable[str], module: str = "nv.nn") -> UnknownName:
    """The error of a name that ``nv.nn``, or a module in it, does not have."""
    return _unknown(module, f"there is no {name}", name, _layers, known)


def unknown_member(thing: object, name: str) -> UnknownName:
    """The error of a name that modules do not have."""
    known = [*dir(type(thing)), *vars(thing)]
    return _unknown(type(thing).__name__, f"{type(thing).__name__} has no {name}", name, _members, known)


def unknown_method(thing: object, name: str) -> UnknownName:
    """The error of a name that optimisers do not have."""
    return _unknown(type(thing).__name__, f"an optimiser has no {name}", name, _optimisers, dir(type(thing)))


def _unknown(op: str, message: str, name: str, table: dict[str, str], known: Iterable[str]) -> UnknownName:
    advice = table.get(name)
    if advice is None:
        public = [entry for entry in known if not entry.startswith("_")]
        advice = did_you_mean(name, public, "dir() lists the names that there are")
    elif advice.startswith(_CODE):
        advice = f"here it is {advice}"
    return UnknownName(message, op=op, got=name, help=advice)


_CODE = ("nv.", "x.", "x[", "x ", "-x")


def explains_keywords(function: Function) -> Function:
    """The function, called with unknown keywords a WrongKind that says what they are called here.

    >>> import nervure as nv
    >>> explains_keywords(lambda x, axis=0: x)(1, dim=2)                     # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    nervure.errors.WrongKind: <lambda>: there is no argument dim
      operand:  dim
      got:      dim=2
      expected: x, axis
      help:     here it is axis=
    ...
    """
    code = function.__code__
    known = tuple([name for name in code.co_varnames[:code.co_argcount + code.co_kwonlyargcount] if name != "self"])
    known_set, name = frozenset(known), function.__qualname__.removesuffix(".__init__")

    def call(*arguments: object, **keywords: object) -> object:
        if keywords and not known_set.issuperset(keywords):
            raise refusal(name, keywords, known)
        return function(*arguments, **keywords)

    refusal = unknown_keyword
    # With the globals of its own module doctest takes it for a function of that module.
    explained = FunctionType(call.__code__, function.__globals__, name, None, call.__closure__)
    return update_wrapper(explained, function)  # type: ignore[return-value]  # called as the function is


def unknown_keyword(function: str, keywords: dict[str, object], known: tuple[str, ...]) -> WrongKind:
    """The error of the first keyword that a function does not have."""
    keyword = next(name for name in keywords if name not in known)
    ours = next((here for here, names in KEYWORDS.items() if here in known and keyword in names.split()), None)
    advice = f"here it is {ours}=" if ours else _keyword_advice.get(keyword) or did_you_mean(
        keyword, known, "leave it out" if known else "it takes no arguments")
    return WrongKind(f"there is no argument {keyword}", op=function, operand=keyword,
                     got=f"{keyword}={keywords[keyword]!r:.60}", expected=", ".join(known) or "no arguments",
                     help=advice)


def explain_keywords(module: dict[str, object], names: Iterable[str]) -> None:
    """Makes the public functions of a module explain unknown keywords; the last thing that the module does."""
    for name in names:
        function = module[name]
        if isinstance(function, FunctionType) and not function.__code__.co_flags & _TAKES_ANY_KEYWORD:
            module[name] = explains_keywords(function)


_TAKES_ANY_KEYWORD = 0x08  # inspect.CO_VARKEYWORDS


__all__ = ["explain_keywords", "explains_keywords", "unknown_attribute", "unknown_function", "unknown_keyword",
           "unknown_layer", "unknown_member", "unknown_method", "unknown_optimiser"]
