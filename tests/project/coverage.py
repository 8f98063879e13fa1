"""The share of the names of NumPy, JAX and PyTorch that are here: ``python -m tests.project.coverage`` lists them.

A name is *here* if nervure has it where a user would look, *here otherwise* if the error of a missing name says what
does the same, *not relevant* with a reason, such as the printing of arrays, or *absent*.

>>> state("numpy", "sum"), state("numpy", "amax"), state("numpy", "savetxt")
('here', 'otherwise', 'not relevant')
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from typing import Any

import nervure as nv
from nervure.support import equivalents
from tests import names_elsewhere as torch_names
from tests.project.source import ROOT

HOMES = {
    "numpy": "", "numpy.linalg": "linalg", "numpy.fft": "fft", "jax.numpy": "", "jax.nn": "nn", "jax.lax": "",
    "jax.random": "random", "jax.scipy.special": "special", "torch.nn": "nn", "torch.nn.functional": "",
    "torch.optim": "optim", "torch.linalg": "linalg", "torch.fft": "fft", "torch.special": "special"}
"""The libraries, and where in nervure their names are looked for, beside nervure itself."""

TORCH = {"torch.nn": torch_names.TORCH_NN, "torch.nn.functional": torch_names.FUNCTIONAL,
         "torch.optim": torch_names.TORCH_OPTIM, "torch.linalg": torch_names.TORCH_LINALG,
         "torch.fft": torch_names.TORCH_FFT, "torch.special": torch_names.TORCH_SPECIAL}

MODULES = {
    **{f"{name}{d}d": other for d in (1, 2, 3) for name, other in {
        "AdaptiveAvgPool": "AdaptiveAveragePool", "AdaptiveMaxPool": "AdaptiveMaxPool", "AvgPool": "AveragePool",
        "BatchNorm": "BatchNorm", "CircularPad": "Pad", "ConstantPad": "Pad", "Conv": "Conv",
        "ConvTranspose": "ConvTranspose", "Dropout": "ChannelDropout", "InstanceNorm": "InstanceNorm",
        "LPPool": "LPPool", "MaxPool": "MaxPool", "ReflectionPad": "Pad", "ReplicationPad": "Pad", "ZeroPad": "Pad"
    }.items()},
    **{f"{name}{d}d": name for d in (1, 2, 3) for name in ("FractionalMaxPool", "MaxUnpool")},
    "Softmax2d": "Softmax", "AdaptiveLogSoftmaxWithLoss": "AdaptiveLogSoftmax", "CrossMapLRN2d": "LocalResponseNorm",
    "Linear": "LinearLayer", "MultiheadAttention": "MultiHeadAttention", "SyncBatchNorm": "BatchNorm",
    "UpsamplingBilinear2d": "Upsample", "UpsamplingNearest2d": "Upsample", "FeatureAlphaDropout": "AlphaDropout",
    "ModuleList": "Module", "ModuleDict": "Module", "ParameterList": "Module", "ParameterDict": "Module",
    "Container": "Module"}
"""Layers of PyTorch that are called otherwise here; lists and dicts of modules are attributes of a module."""

LOSSES = {
    "BCELoss": "binary_cross_entropy", "BCEWithLogitsLoss": "binary_cross_entropy", "CTCLoss": "ctc",
    "CosineEmbeddingLoss": "cosine_embedding", "CrossEntropyLoss": "cross_entropy",
    "NLLLoss": "negative_log_likelihood",
    "NLLLoss2d": "negative_log_likelihood", "GaussianNLLLoss": "gaussian", "HingeEmbeddingLoss": "hinge_embedding",
    "HuberLoss": "huber", "KLDivLoss": "kl_divergence", "L1Loss": "mean_absolute_error",
    "MSELoss": "mean_squared_error",
    "MarginRankingLoss": "margin_ranking", "MultiLabelMarginLoss": "multilabel_margin",
    "MultiLabelSoftMarginLoss": "multilabel_soft_margin", "MultiMarginLoss": "multi_margin",
    "PoissonNLLLoss": "poisson", "SmoothL1Loss": "smooth_l1", "SoftMarginLoss": "soft_margin",
    "LinearCrossEntropyLoss": "linear_cross_entropy",
    "TripletMarginLoss": "triplet_margin", "TripletMarginWithDistanceLoss": "triplet_margin"}
"""Losses of PyTorch by their names in ``nv.nn.losses``."""

REASONS = {
    "texts and files": """array2string array_repr array_str base_repr binary_repr format_float_positional
        format_float_scientific fromfile fromregex fromstring genfromtxt get_printoptions loadtxt printoptions savetxt
        savez savez_compressed set_printoptions save load datetime_as_string datetime_data is_busday busday_count
        busday_offset isnat typename""",
    "memory of NumPy's own arrays": """asarray_chkfinite bmat copyto isfortran may_share_memory nested_iters require
        shares_memory frombuffer asmatrix asfortranarray ascontiguousarray nditer putmask place""",
    "questions about types and settings": """broadcast_shapes can_cast common_type einsum_path get_include getbufsize
        geterr geterrcall info isscalar iterable min_scalar_type mintypecode promote_types result_type setbufsize seterr
        seterrcall show_config show_runtime test iinfo finfo issubdtype isdtype get_scaled_dot_general_config
        PrecisionLike ConvGeneralDilatedDimensionNumbers DotDimensionNumbers conv_dimension_numbers
        conv_general_permutations conv_general_shape_tuple conv_shape_tuple conv_transpose_shape_tuple padtype_to_pads
        reduce_window_shape_tuple shape_as_value stage dce_sink composite platform_dependent collapse
        broadcast_to_rank reduce_precision""",
    "parts of JAX's own machinery": """after_all all_to_all all_gather axis_index axis_size create_token pbroadcast
        pcast ppermute precv psend pshuffle psum psum_scatter pmax pmean pmin pswapaxes ragged_all_to_all
        optimization_barrier igamma_grad_a random_gamma_grad rng_bit_generator rng_uniform custom_linear_solve
        custom_root bits clone fold_in key key_data key_dtype key_impl wrap_key_data PRNGKey split pvary
        with_sharding_constraint""",
    "layers that wait for their sizes, or for other devices": """DataParallel LazyBatchNorm1d LazyBatchNorm2d
        LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d
        LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d LazyLinear RNNBase RNNCellBase SparseAdam Optimizer
        lr_scheduler.LRScheduler""",
    "solvers that return a status": "cholesky_ex inv_ex ldl_factor ldl_factor_ex ldl_solve lu_factor_ex solve_ex",
}
"""Names that are not relevant, by their reasons."""

SCHEDULES = {
    "ConstantLR": "constant", "CosineAnnealingLR": "cosine", "CosineAnnealingWarmRestarts": "warm_restarts",
    "ChainedScheduler": "chained", "LambdaLR": "Schedule", "MultiplicativeLR": "multiplicative",
    "CyclicLR": "cyclic", "ExponentialLR": "exponential", "LinearLR": "polynomial", "MultiStepLR": "multi_step",
    "OneCycleLR": "one_cycle", "PolynomialLR": "polynomial", "ReduceLROnPlateau": "Plateau",
    "SequentialLR": "sequential", "StepLR": "stepped"}
"""Schedules of PyTorch by their names in ``nv.optim``."""

_UNDONE = {equivalents._NOT_HERE, equivalents._SORTING}


def names_of(library: str) -> list[str]:
    """The public functions of a library; of PyTorch, which need not be installed, from a list."""
    if library in TORCH:
        return TORCH[library]
    module = importlib.import_module(library)
    return [name for name in dir(module) if not name.startswith("_") and callable(getattr(module, name))
            and not isinstance(getattr(module, name), type)]


def state(library: str, name: str) -> str:
    """What there is of a name: ``here``, ``otherwise``, ``not relevant`` or ``absent``."""
    if any(name in names.split() for names in REASONS.values()):
        return "not relevant"
    places = [nv, *([_place(HOMES[library])] if HOMES[library] else [])]
    if any(place is not None and _has(place, name) for place in places):
        return "here"
    return "otherwise" if _is_elsewhere(name) else "absent"


def _is_elsewhere(name: str) -> bool:
    """Whether a table above, or the error of the missing name, says what does the same."""
    for table, place in ((MODULES, "nn"), (LOSSES, "nn.losses"), (SCHEDULES, "optim")):
        if name.removeprefix("lr_scheduler.") in table:
            return _has(_place(place), table[name.removeprefix("lr_scheduler.")])
    try:
        getattr(nv, name)
    except nv.UnknownName as error:
        help = (error.help or "").removeprefix("here it is ")
        return help in equivalents.FUNCTIONS and help not in _UNDONE
    return True


def _place(path: str) -> Any:
    found: Any = nv
    for part in path.split("."):
        found = getattr(found, part) if _has(found, part) else None
    return found


def _has(place: Any, name: str) -> bool:
    try:
        return hasattr(place, name)
    except nv.NervureError:
        return False


def counts() -> Iterator[tuple[str, dict[str, list[str]]]]:
    """For each library, the names of each state."""
    for library in HOMES:
        found: dict[str, list[str]] = {"here": [], "otherwise": [], "not relevant": [], "absent": []}
        for name in names_of(library):
            found[state(library, name)].append(name)
        yield library, found


def table() -> str:
    """The table of ``docs/coming_from.md``."""
    lines = ["| library | here | here otherwise | not relevant | absent | absent of what is relevant |",
             "|---|---|---|---|---|---|"]
    for library, found in counts():
        numbers = [len(names) for names in found.values()]
        relevant = numbers[0] + numbers[1] + numbers[3]
        lines.append(f"| `{library}` | {' | '.join(map(str, numbers))} | {numbers[3] / max(relevant, 1):.0%} |")
    return "\n".join(lines)


PAGE = ROOT / "docs" / "coming_from.md"
_TABLE = re.compile(r"\| library \|.*?(?=\n\n|\n*\Z)", re.DOTALL)


def written() -> str | None:
    """The table that stands on the page."""
    found = _TABLE.search(PAGE.read_text(encoding="utf-8"))
    return None if found is None else found[0].strip()


def main() -> int:
    """Prints the table and the names that are absent, and writes the table to the page."""
    PAGE.write_text(_TABLE.sub(table(), PAGE.read_text(encoding="utf-8"), 1), encoding="utf-8")
    print(table())
    for library, found in counts():
        if found["absent"]:
            print(f"\n{library}: {' '.join(found['absent'])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
