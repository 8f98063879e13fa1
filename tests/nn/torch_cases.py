"""Layers and losses here and in PyTorch, from the same numbers.

A case has arrays, by name; ``there`` computes its result with PyTorch and ``here`` with nervure. All arrays of floats
are differentiated by. Both may give a dict beside the result: what the call has left behind, such as running
statistics.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import nervure as nv
from nervure import nn
from nervure.nn import losses


class Case(NamedTuple):
    """Arrays, the axes of those that have names, and the two programs."""

    arrays: dict[str, np.ndarray]
    axes: dict[str, str]
    there: Callable[..., Any]
    here: Callable[..., Any]


CASES: dict[str, Case] = {}


def case(there: Callable[..., Any], here: Callable[..., Any], axes: dict[str, str] | None = None,
         **arrays: object) -> Callable[[str], None]:
    """A case under a name: arrays are given by their shapes, or as they are."""
    def under(name: str) -> None:
        generator = np.random.default_rng(zlib.crc32(name.encode()))
        made = {key: given if isinstance(given, np.ndarray) else
                generator.standard_normal(given).astype(np.float32) for key, given in arrays.items()}
        CASES[name] = Case(made, axes or {}, there, here)
    return under


def cotangent(shape: tuple[int, ...]) -> np.ndarray:
    """What a result is multiplied by before it is summed: its gradient."""
    return np.cos(np.arange(math.prod(shape), dtype=np.float32)).reshape(shape)


def called(torch: Any, module: Any, parameters: dict[str, Any], *inputs: Any) -> Any:
    """A module of PyTorch with other parameters than its own."""
    return torch.func.functional_call(module.double(), parameters, inputs)


# -- dense layers and tables -----------------------------------------------------------------------------


case(lambda torch, x, w, b: called(torch, torch.nn.Linear(5, 3), {"weight": w.T, "bias": b}, x),
     lambda x, w, b: nn.LinearLayer(5, 3, weights=w, bias=b)(x), x=(4, 5), w=(5, 3), b=3)("linear")
case(lambda torch, x, w: called(torch, torch.nn.Linear(5, 3, bias=False), {"weight": w.T}, x),
     lambda x, w: nn.LinearLayer(5, 3, weights=w, bias=False)(x), x=(2, 4, 5), w=(5, 3))("linear without bias")
case(lambda torch, x, w, b: called(torch, torch.nn.Linear(5, 3), {"weight": w.T, "bias": b}, x.T),
     lambda x, w, b: nn.LinearLayer("F=5", "K=3", weights=w, bias=b)(x),
     {"x": "F=5, N=4", "w": "F=5, K=3", "b": "K=3"}, x=(5, 4), w=(5, 3), b=3)("linear of names")
case(lambda torch, x, w, b: called(torch, torch.nn.Linear(12, 3), {"weight": w.reshape(12, 3).T, "bias": b},
                                   x.flatten(1)),
     lambda x, w, b: nn.LinearLayer("C=2, H=2, W=3", "K=3", weights=w, bias=b)(x),
     {"x": "N=4, C=2, H=2, W=3", "w": "C=2, H=2, W=3, K=3", "b": "K=3"},
     x=(4, 2, 2, 3), w=(2, 2, 3, 3), b=3)("linear of several axes")
case(lambda torch, w: called(torch, torch.nn.Embedding(6, 4), {"weight": w}, torch.tensor([[1, 5], [1, 0]])),
     lambda w: nn.Embedding(6, 4, weights=w)(np.array([[1, 5], [1, 0]])), w=(6, 4))("embedding")
case(lambda torch, w: called(torch, torch.nn.Embedding(6, 4, padding_idx=1), {"weight": w}, torch.tensor([1, 5, 1, 0])),
     lambda w: nn.Embedding("V=6", "F=4", pad_idx=1, weights=w)(nv.constant(np.array([1, 5, 1, 0]), "N=4")),
     {"w": "V=6, F=4"}, w=(6, 4))("embedding with an empty row")


# -- convolutions and poolings -----------------------------------------------------------------------------


def convolution(name: str, spatial: int, settings: dict[str, Any], theirs: dict[str, Any] | None = None,
                groups: int = 1) -> None:
    """A convolution without names, of 4 to 6 channels."""
    lengths, window = (7, 6, 5)[:spatial], (3, 2, 2)[:spatial]
    options = {"stride" if key == "strides" else "dilation" if key == "dilations" else key: value
               for key, value in settings.items()} if theirs is None else theirs
    case(lambda torch, x, w, b: called(torch, getattr(torch.nn, f"Conv{spatial}d")(
            4, 6, window, groups=groups, **options), {"weight": w, "bias": b}, x),
         lambda x, w, b: nn.Conv(4, 6, window, groups=groups, weights=w, bias=b, **settings)(x),
         x=(2, 4, *lengths), w=(6, 4 // groups, *window), b=6)(name)


convolution("conv of one axis", 1, {})
convolution("conv of two axes", 2, {"strides": 2, "padding": 1})
convolution("conv of three axes", 3, {"padding": 1})
convolution("conv with dilations", 2, {"dilations": [2, 1], "padding": [2, 0]},
            {"dilation": (2, 1), "padding": (2, 0)})
convolution("conv of groups", 2, {"strides": [1, 2]}, {"stride": (1, 2)}, groups=2)
convolution("conv that keeps lengths", 1, {"padding": "same"})
case(lambda torch, x, w, b: called(torch, torch.nn.Conv2d(3, 4, (3, 2), stride=(2, 1), padding=(1, 0)),
                                   {"weight": w.permute(3, 0, 1, 2), "bias": b}, x),
     lambda x, w, b: nn.Conv("C=3", "K=4", "H=3, W=2", strides={"H": 2}, padding={"H": 1}, weights=w, bias=b)(x),
     {"x": "N=2, C=3, H=6, W=5", "w": "C=3, H=3, W=2, K=4", "b": "K=4"},
     x=(2, 3, 6, 5), w=(3, 3, 2, 4), b=4)("conv of names")
case(lambda torch, x, w: called(torch, torch.nn.Conv2d(4, 4, 3, groups=4, bias=False),
                                {"weight": w.permute(3, 0, 1, 2)}, x.permute(0, 3, 1, 2)),
     lambda x, w: nv.axes_with_order(nn.Conv("C=4", "K=4", "H=3, W=3", groups=4, weights=w, bias=False)(x),
                                     ["N", "K", "H", "W"]),
     {"x": "N=2, H=5, W=5, C=4", "w": "C=1, H=3, W=3, K=4"}, x=(2, 5, 5, 4), w=(1, 3, 3, 4))("conv of each channel")
case(lambda torch, x: torch.nn.MaxPool2d(3, 2, 1)(x), lambda x: nn.MaxPool(3, 2, 1)(x), x=(2, 3, 7, 6))("max pool")
case(lambda torch, x: torch.nn.MaxPool2d((2, 1))(x), lambda x: nn.MaxPool("H=2, W=1")(x),
     {"x": "N=2, C=3, H=6, W=4"}, x=(2, 3, 6, 4))("max pool of names")
case(lambda torch, x: torch.nn.AvgPool1d(3, 2, 1, count_include_pad=False)(x),
     lambda x: nn.AveragePool(3, 2, 1)(x), x=(2, 3, 8))("average pool")
case(lambda torch, x: torch.nn.AvgPool3d(2, padding=1)(x),
     lambda x: nn.AveragePool([2, 2, 2], padding=1, count_padding=True)(x), x=(1, 2, 4, 5, 3))("average pool of three")


# -- normalisations ------------------------------------------------------------------------------------------


def _statistics(module: Any) -> dict[str, Any]:
    return {"running mean": module.running_mean, "running variance": module.running_var}


def _batch_norm_there(torch: Any, x: Any, scale: Any, shift: Any, training: bool, momentum: float) -> Any:
    kind = {2: torch.nn.BatchNorm1d, 3: torch.nn.BatchNorm1d, 4: torch.nn.BatchNorm2d}[x.ndim]
    module = kind(3, momentum=momentum).double().train(training)
    module.running_mean += torch.tensor([0.5, -0.5, 1.0])
    result = called(torch, module, {"weight": scale, "bias": shift}, x)
    return result, _statistics(module)


def _batch_norm_here(x: Any, scale: Any, shift: Any, training: bool, momentum: float) -> Any:
    axes = "C=3" if x.is_named else 3
    layer = nn.BatchNorm(axes, momentum, scale=scale, shift=shift).train(training)
    layer.running_mean = nv.persistent_tensor(axes, np.float32([0.5, -0.5, 1.0]))
    return layer(x), {"running mean": layer.running_mean, "running variance": layer.running_variance}


for _name, _shape, _axes, _training, _momentum in (
        ("batch norm in training", (4, 3, 2, 2), None, True, 0.1), ("batch norm of rows", (5, 3), None, True, 0.3),
        ("batch norm of names", (4, 3, 6), "N=4, C=3, W=6", True, 0.1),
        ("batch norm in evaluation", (4, 3, 2), None, False, 0.1)):
    case(lambda torch, x, scale, shift, t=_training, m=_momentum: _batch_norm_there(torch, x, scale, shift, t, m),
         lambda x, scale, shift, t=_training, m=_momentum: _batch_norm_here(x, scale, shift, t, m),
         {"x": _axes, "scale": "C=3", "shift": "C=3"} if _axes else None, x=_shape, scale=3, shift=3)(_name)
case(lambda torch, x, scale, shift: called(torch, torch.nn.LayerNorm((3, 4)), {"weight": scale, "bias": shift}, x),
     lambda x, scale, shift: nn.LayerNorm((3, 4), scale=scale, shift=shift)(x),
     x=(2, 3, 4), scale=(3, 4), shift=(3, 4))("layer norm")
case(lambda torch, x, scale, shift: called(torch, torch.nn.LayerNorm(4, eps=1e-3), {"weight": scale, "bias": shift},
                                           x.transpose(1, 2)).transpose(1, 2),
     lambda x, scale, shift: nn.LayerNorm("F=4", 1e-3, scale=scale, shift=shift)(x),
     {"x": "N=2, F=4, T=3", "scale": "F=4", "shift": "F=4"}, x=(2, 4, 3), scale=4, shift=4)("layer norm of names")
case(lambda torch, x: torch.nn.LayerNorm(4, elementwise_affine=False).double()(x),
     lambda x: nn.LayerNorm(4, scale=False, shift=False)(x), x=(3, 4))("layer norm without scale")
case(lambda torch, x, scale: called(torch, torch.nn.RMSNorm(4, eps=1e-6), {"weight": scale}, x),
     lambda x, scale: nn.RMSNorm(4, scale=scale)(x), x=(3, 4), scale=4)("root mean square norm")
case(lambda torch, x, scale, shift: called(torch, torch.nn.GroupNorm(2, 6), {"weight": scale, "bias": shift}, x),
     lambda x, scale, shift: nn.GroupNorm(2, 6, scale=scale, shift=shift)(x),
     x=(2, 6, 3, 2), scale=6, shift=6)("group norm")
case(lambda torch, x, scale, shift: called(torch, torch.nn.GroupNorm(3, 6), {"weight": scale, "bias": shift},
                                           x.permute(0, 2, 1)).permute(0, 2, 1),
     lambda x, scale, shift: nn.GroupNorm(3, "C=6", scale=scale, shift=shift)(x),
     {"x": "N=2, W=5, C=6", "scale": "C=6", "shift": "C=6"}, x=(2, 5, 6), scale=6, shift=6)("group norm of names")


# -- activations -----------------------------------------------------------------------------------------------


for _name, _settings, _here in (
        ("ReLU", {}, nn.ReLU()), ("LeakyReLU", {"negative_slope": 0.2}, nn.LeakyReLU(0.2)),
        ("ELU", {"alpha": 0.7}, nn.ELU(0.7)), ("GELU", {}, nn.GELU()),
        ("GELU", {"approximate": "tanh"}, nn.GELU("tanh")), ("SiLU", {}, nn.SiLU()), ("Sigmoid", {}, nn.Sigmoid()),
        ("Tanh", {}, nn.Tanh()), ("Softplus", {}, nn.Softplus()), ("Softmax", {"dim": 1}, nn.Softmax(1)),
        ("LogSoftmax", {"dim": -1}, nn.LogSoftmax(-1)), ("Identity", {}, nn.Identity()),
        ("CELU", {"alpha": 0.7}, nn.CELU(0.7)), ("SELU", {}, nn.SELU()), ("ReLU6", {}, nn.ReLU6()),
        ("Hardtanh", {"min_val": -0.3, "max_val": 0.6}, nn.Hardtanh(-0.3, 0.6)), ("Hardsigmoid", {}, nn.Hardsigmoid()),
        ("Hardswish", {}, nn.Hardswish()), ("Hardshrink", {"lambd": 0.3}, nn.Hardshrink(0.3)),
        ("Softshrink", {"lambd": 0.3}, nn.Softshrink(0.3)), ("Tanhshrink", {}, nn.Tanhshrink()),
        ("Threshold", {"threshold": 0.1, "value": 9.0}, nn.Threshold(0.1, 9.0)), ("LogSigmoid", {}, nn.LogSigmoid()),
        ("Mish", {}, nn.Mish()), ("Softsign", {}, nn.Softsign()), ("Softmin", {"dim": 1}, nn.Softmin(1)),
        ("GLU", {}, nn.GLU()), ("GLU", {"dim": 1}, nn.GLU("F"))):
    case(lambda torch, x, kind=_name, settings=_settings: getattr(torch.nn, kind)(**settings)(x),
         lambda x, made=_here: made(x), {"x": "N=3, F=4"} if getattr(_here, "axis", 0) == "F" else None,
         x=(3, 4))(" ".join([_name, *map(str, _settings.values())]))
case(lambda torch, x: torch.nn.RReLU(0.1, 0.5).eval()(x), lambda x: nn.RReLU(0.1, 0.5).eval()(x), x=(3, 4))("RReLU")
case(lambda torch, x, slope: called(torch, torch.nn.PReLU(3), {"weight": slope}, x),
     lambda x, slope: nn.PReLU("C=3", slope)(x), {"x": "N=2, C=3, W=4", "slope": "C=3"}, x=(2, 3, 4), slope=3)("PReLU")


# -- losses of classes -----------------------------------------------------------------------------------------


LABELS = np.array([2, 0, 3, 2])
PLACES = np.array([[2, 0, 3], [1, 1, 0]])
WEIGHTS = np.float32([0.5, 1.0, 2.0, 0.25])
CHANCES = np.float32([[0.1, 0.2, 0.3, 0.4], [1, 0, 0, 0], [0.25] * 4, [0, 0.5, 0.5, 0]])

for _reduction in ("mean", "sum", "none"):
    case(lambda torch, x, r=_reduction: torch.nn.CrossEntropyLoss(reduction=r)(x, torch.tensor(LABELS)),
         lambda x, r=_reduction: losses.cross_entropy(x, LABELS, reduction=r), x=(4, 4))(f"cross entropy, {_reduction}")
    case(lambda torch, x, r=_reduction: torch.nn.CrossEntropyLoss(
            torch.tensor(WEIGHTS).double(), ignore_index=0, label_smoothing=0.1, reduction=r)(x, torch.tensor(PLACES)),
         lambda x, r=_reduction: losses.cross_entropy(x, PLACES, weights=WEIGHTS, ignore_index=0, smoothing=0.1,
                                                      reduction=r),
         x=(2, 4, 3))(f"cross entropy of places, {_reduction}")
    case(lambda torch, x, t, r=_reduction: torch.nn.CrossEntropyLoss(
            torch.tensor(WEIGHTS).double(), label_smoothing=0.2, reduction=r)(x, t),
         lambda x, t, r=_reduction: losses.cross_entropy(x, t, weights=WEIGHTS, smoothing=0.2, reduction=r),
         x=(4, 4), t=CHANCES)(f"cross entropy of probabilities, {_reduction}")
    case(lambda torch, x, r=_reduction: torch.nn.NLLLoss(torch.tensor(WEIGHTS).double(), ignore_index=3, reduction=r)(
            x, torch.tensor(LABELS)),
         lambda x, r=_reduction: losses.negative_log_likelihood(x, LABELS, weights=WEIGHTS, ignore_index=3,
                                                                reduction=r),
         x=(4, 4))(f"negative log likelihood, {_reduction}")
case(lambda torch, x: torch.nn.CrossEntropyLoss()(x.permute(1, 0, 2), torch.tensor(PLACES)),
     lambda x: losses.cross_entropy(x, nv.constant(PLACES, "N=2, W=3")), {"x": "Y=4, N=2, W=3"},
     x=(4, 2, 3))("cross entropy of names")
case(lambda torch, x: torch.nn.CrossEntropyLoss(torch.tensor(WEIGHTS).double())(x, torch.tensor(LABELS)),
     lambda x: losses.cross_entropy(x, LABELS, weights=WEIGHTS), {"x": "N=4, Y=4"},
     x=(4, 4))("cross entropy of names with weights")
case(lambda torch, x: torch.nn.CrossEntropyLoss(ignore_index=-100)(x, torch.tensor([2, -100, -100, 1])),
     lambda x: losses.cross_entropy(x, [2, -100, -100, 1], ignore_index=-100), x=(4, 4))("cross entropy without some")
case(lambda torch, x: torch.nn.CrossEntropyLoss()(x, torch.tensor(1)),
     lambda x: losses.cross_entropy(x, np.array(1)), x=4)("cross entropy of one")


# -- losses of numbers -----------------------------------------------------------------------------------------


def numbers(name: str, there: Callable[..., Any], here: Callable[..., Any], theirs: dict[str, Any] | None = None,
            ours: dict[str, Any] | None = None, **arrays: Any) -> None:
    """A loss of several arrays, in each reduction."""
    for reduction in ("mean", "sum", "none"):
        case(lambda torch, *given, r=reduction: there(torch, *given, reduction=r, **(theirs or {})),
             lambda *given, r=reduction: here(*given, reduction=r, **(ours or theirs or {})),
             **arrays)(f"{name}, {reduction}")


SIGNS = np.float32([1, -1, -1])
SHARES = np.float32([[1, 2, 0.5], [1, 1, 3]])
UNIT = np.float32([[0.2, 0.8, 1.0], [0.0, 0.5, 0.1]])

numbers("squared error", lambda torch, *given, **named: torch.nn.functional.mse_loss(*given, **named),
        losses.mean_squared_error, x=(2, 3), t=(2, 3))
numbers("absolute error", lambda torch, *given, **named: torch.nn.functional.l1_loss(*given, **named),
        losses.mean_absolute_error, x=(2, 3), t=(2, 3))
numbers("huber", lambda torch, *given, **named: torch.nn.functional.huber_loss(*given, **named), losses.huber,
        {"delta": 0.7}, x=(2, 3), t=(2, 3))
numbers("smooth l1", lambda torch, *given, **named: torch.nn.functional.smooth_l1_loss(*given, **named),
        losses.smooth_l1, {"beta": 0.7}, x=(2, 3), t=(2, 3))
numbers("binary", lambda torch, *given, **named: torch.nn.functional.binary_cross_entropy_with_logits(*given, **named),
        losses.binary_cross_entropy, x=(2, 3), t=UNIT)
numbers("binary with weights",
        lambda torch, x, t, reduction: torch.nn.functional.binary_cross_entropy_with_logits(
            x, t, torch.tensor(SHARES), pos_weight=torch.tensor(SHARES[0]), reduction=reduction),
        lambda x, t, reduction: losses.binary_cross_entropy(x, t, SHARES, SHARES[0], reduction), x=(2, 3), t=UNIT)
numbers("divergence", lambda torch, x, t, **named: torch.nn.functional.kl_div(x, t, **named), losses.kl_divergence,
        x=(2, 3), t=np.float32([[0.2, 0.3, 0.5], [0.9, 0.1, 0.0]]) + np.float32(1e-3))
numbers("divergence of logarithms", lambda torch, *given, **named: torch.nn.functional.kl_div(*given, **named),
        losses.kl_divergence, {"log_target": True}, {"log_targets": True}, x=(2, 3), t=(2, 3))
numbers("poisson", lambda torch, *given, **named: torch.nn.functional.poisson_nll_loss(*given, **named),
        losses.poisson, x=(2, 3), t=np.float32([[1, 0, 4], [2, 2, 7]]))
numbers("gaussian", lambda torch, *given, **named: torch.nn.functional.gaussian_nll_loss(*given, **named),
        losses.gaussian, x=(2, 3), t=(2, 3), v=np.float32([[1, 0.5, 2], [0.1, 3, 1]]))
numbers("cosine", lambda torch, x, y, **named: torch.nn.functional.cosine_embedding_loss(
            x, y, torch.tensor(SIGNS), margin=0.1, **named),
        lambda x, y, **named: losses.cosine_embedding(x, y, SIGNS, 0.1, **named), x=(3, 4), y=(3, 4))
numbers("ranking", lambda torch, x, y, **named: torch.nn.functional.margin_ranking_loss(
            x, y, torch.tensor(SIGNS), margin=0.1, **named),
        lambda x, y, **named: losses.margin_ranking(x, y, SIGNS, 0.1, **named), x=3, y=3)
numbers("triplet", lambda torch, *given, **named: torch.nn.functional.triplet_margin_loss(*given, **named),
        losses.triplet_margin, x=(3, 4), y=(3, 4), z=(3, 4))
case(lambda torch, x, y: torch.nn.CosineSimilarity(dim=1)(x, y), lambda x, y: losses.cosine_similarity(x, y, 1),
     x=(3, 4), y=(3, 4))("cosine similarity")
case(lambda torch, x, t: torch.nn.functional.kl_div(x, t, reduction="batchmean"),
     lambda x, t: losses.kl_divergence(x, t, reduction="batch"), x=(2, 3),
     t=np.float32([[0.2, 0.3, 0.5], [0.9, 0.1, 0.001]]))("divergence, batch")
