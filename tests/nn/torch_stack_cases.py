"""Stacks of transformer layers, weights that are made of others, and large softmaxes: cases beside ``torch_cases``."""

from __future__ import annotations

from typing import Any

import numpy as np

import nervure as nv
from nervure import nn
from nervure.nn import losses
from tests.nn.torch_attention_cases import BATCH, BEHIND, FEATURES, HEADS, HIDDEN, KEYS, PAST, STEPS, small, there_named
from tests.nn.torch_cases import called, case, numbers

CLASSES = np.array([0, 9, 4, 2, 6, 1])
U, V = np.array([0.6, 0.0, 0.8]), np.array([0.5, -0.5, 0.5, 0.5])
SHARES = np.float32([0.5, 2, 1, 0.25, 1, 1, 3, 1, 1, 1])


def put(module: Any, path: str, value: Any) -> None:
    """Puts a parameter at a path, which may lead through lists."""
    *around, name = path.split(".")
    for part in around:
        module = module[int(part)] if part.isdigit() else getattr(module, part)
    setattr(module, name, value)


def stack_case(name: str, make: Any, make_there: Any, inputs: dict[str, Any], call: dict[str, Any],
               theirs: dict[str, Any], named: dict[str, str] | None = None) -> None:
    """A case of a stack, whose parameters have PyTorch's paths."""
    shapes = {path: place.shape for path, place in make().named_parameters()}
    axes = {path: str(place.axes)[1:-1].replace(": ", "=") for path, place in make().named_parameters()
            if place.is_named}

    def here(*given: Any) -> Any:
        module = make()
        for path, value in zip(shapes, given[len(inputs):], strict=True):
            put(module, path, value)
        return module.eval()(*given[:len(inputs)], **call)

    def there(torch: Any, *given: Any) -> Any:
        others = {key: torch.from_numpy(value) for key, value in theirs.items()}
        return torch.func.functional_call(make_there(torch).eval().double(),
                                          there_named(shapes, given[len(inputs):]), given[:len(inputs)], others)
    case(there, here, {**axes, **(named or {})}, **small({**inputs, **shapes}))(name)


X, MEMORY = (BATCH, STEPS, FEATURES), (BATCH, KEYS, FEATURES)
for _named in (False, True):
    _features = "F=8" if _named else FEATURES
    stack_case(
        f"transformer {'of names' if _named else 'of lengths'}",
        lambda features=_features: nn.Transformer(features, HEADS, 2, 1, HIDDEN, batch_first=True),
        lambda torch: torch.nn.Transformer(FEATURES, HEADS, 2, 1, HIDDEN, batch_first=True),
        {"memory": MEMORY, "x": X}, {"causal": True, "source_lengths": np.array([7, 1, 4])},
        {"tgt_mask": PAST["attn_mask"], "src_key_padding_mask": BEHIND["key_padding_mask"],
         "memory_key_padding_mask": BEHIND["key_padding_mask"]},
        {"x": "N=3, T=5, F=8", "memory": "N=3, S=7, F=8"} if _named else None)
stack_case("encoder without a norm",
           lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(FEATURES, HEADS, HIDDEN, norm_first=True), 2),
           lambda torch: torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(
               FEATURES, HEADS, HIDDEN, norm_first=True), 2, enable_nested_tensor=False),
           {"x": X}, {"causal": True}, {"mask": np.triu(np.ones((BATCH, BATCH), bool), 1)})
stack_case("decoder with a norm",
           lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(FEATURES, HEADS, HIDDEN, batch_first=True), 2,
                                         nn.LayerNorm(FEATURES)),
           lambda torch: torch.nn.TransformerDecoder(torch.nn.TransformerDecoderLayer(
               FEATURES, HEADS, HIDDEN, batch_first=True), 2, torch.nn.LayerNorm(FEATURES)),
           {"x": X, "memory": MEMORY}, {"causal": True}, {"tgt_mask": PAST["attn_mask"]})


# -- weights that are made of others -------------------------------------------------------------------


def weight_norm_there(torch: Any, layer: Any, scale: Any, weights: Any, *inputs: Any) -> Any:
    module = torch.nn.utils.parametrizations.weight_norm(layer)
    return called(torch, module, {"parametrizations.weight.original0": scale,
                                  "parametrizations.weight.original1": weights}, *inputs)


def weight_norm_here(layer: nn.Module, scale: Any, *inputs: Any, **settings: Any) -> Any:
    made = nn.WeightNorm(layer, **settings)
    made.scale = scale
    return made(*inputs)


case(lambda torch, x, w, g: weight_norm_there(torch, torch.nn.Linear(4, 3, bias=False), g.T, w.T, x),
     lambda x, w, g: weight_norm_here(nn.LinearLayer(4, 3, bias=False, weights=w), g, x),
     x=(5, 4), w=(4, 3), g=(1, 3))("weight norm of a dense layer")
case(lambda torch, x, w, g: weight_norm_there(torch, torch.nn.Conv2d(4, 3, 2, bias=False), g, w, x),
     lambda x, w, g: weight_norm_here(nn.Conv(4, 3, (2, 2), bias=False, weights=w), g, x),
     x=(2, 4, 3, 4), w=(3, 4, 2, 2), g=(3, 1, 1, 1))("weight norm of a convolution")
case(lambda torch, x, w, g: weight_norm_there(torch, torch.nn.Conv2d(4, 3, 2, bias=False), g.permute(3, 0, 1, 2),
                                              w.permute(3, 0, 1, 2), x),
     lambda x, w, g: weight_norm_here(nn.Conv("C=4", "K=3", "H=2, W=2", bias=False, weights=w), g, x),
     {"x": "N=2, C=4, H=3, W=4", "w": "C=4, H=2, W=2, K=3"}, x=(2, 4, 3, 4), w=(4, 2, 2, 3),
     g=(1, 1, 1, 3))("weight norm of names")


def spectral_there(torch: Any, layer: Any, weights: Any, *inputs: Any, training: bool = True) -> Any:
    module = torch.nn.utils.parametrizations.spectral_norm(layer.double(), n_power_iterations=2)
    own = module.parametrizations.weight[0]
    own._u, own._v = torch.tensor(U), torch.tensor(V)
    found = called(torch, module.train(training), {"parametrizations.weight.original": weights}, *inputs)
    return found, {"u": own._u, "v": own._v}


def spectral_here(layer: nn.Module, *inputs: Any, training: bool = True) -> Any:
    made = nn.SpectralNorm(layer, iterations=2).train(training)
    made.u, made.v = [nv.persistent_tensor(entry.shape, entry) for entry in (U, V)]
    return made(*inputs), {"u": made.u, "v": made.v}


for _training in (True, False):
    case(lambda torch, x, w, t=_training: spectral_there(torch, torch.nn.Linear(4, 3, bias=False), w.T, x, training=t),
         lambda x, w, t=_training: spectral_here(nn.LinearLayer(4, 3, bias=False, weights=w), x, training=t),
         x=(5, 4), w=(4, 3))(f"spectral norm {'in training' if _training else 'in evaluation'}")
case(lambda torch, x, w: spectral_there(torch, torch.nn.Conv1d(2, 3, 2, bias=False), w, x),
     lambda x, w: spectral_here(nn.Conv(2, 3, 2, bias=False, weights=w), x),
     x=(5, 2, 4), w=(3, 2, 2))("spectral norm of a convolution")


# -- many classes, distances ---------------------------------------------------------------------------


def adaptive_here(x: Any, *weights: Any, targets: Any = CLASSES) -> Any:
    layer = nn.AdaptiveLogSoftmax(8, 10, [3, 6], shrinkage=2)
    for (path, _), value in zip(layer.named_parameters(), weights, strict=True):
        put(layer, path, value)
    return layer(x, targets)


def adaptive_there(torch: Any, x: Any, *weights: Any) -> Any:
    layer = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6], div_value=2)
    names = ["head.weight", *[f"tail.{k}.{part}.weight" for k in (0, 1) for part in (0, 1)]]
    return called(torch, layer, {name: value.T for name, value in zip(names, weights, strict=True)}, x,
                  torch.tensor(CLASSES)).output


_WEIGHTS = {"head": (8, 5), "first": (8, 4), "second": (4, 3), "third": (8, 2), "fourth": (2, 4)}
case(adaptive_there, adaptive_here, x=(6, 8), **_WEIGHTS)("many classes")
case(lambda torch, x, *weights: adaptive_there(torch, x.reshape(6, 8), *weights).reshape(2, 3),
     lambda x, *weights: adaptive_here(x, *weights, targets=nv.constant(CLASSES.reshape(2, 3).T.copy(), "T=3, N=2")),
     {"x": "N=2, T=3, F=8"}, x=(2, 3, 8), **_WEIGHTS)("many classes of names")

for _p in (1.0, 2.0, 3.0, np.inf):
    case(lambda torch, x, p=_p: torch.nn.functional.pdist(x, p), lambda x, p=_p: nv.pdist(x, p),
         x=(5, 4))(f"distances of pairs {_p}")
    case(lambda torch, x, y, p=_p: torch.cdist(x, y, p), lambda x, y, p=_p: nv.cdist(x, y, p),
         x=(2, 3, 4), y=(2, 5, 4))(f"distances of all {_p}")
for _swap in (False, True):
    numbers(f"triplet of cosines {_swap}", lambda torch, *given, swap=_swap, **named:
            torch.nn.functional.triplet_margin_with_distance_loss(
                *given, distance_function=lambda x, y: 1 - torch.nn.functional.cosine_similarity(x, y), margin=0.3,
                swap=swap, **named),
            lambda *given, swap=_swap, **named: losses.triplet_margin(
                *given, margin=0.3, metric=lambda x, y: 1.0 - losses.cosine_similarity(x, y), swap=swap, **named),
            x=(3, 4), y=(3, 4), z=(3, 4))
numbers("linear", lambda torch, x, w, **named: torch.nn.functional.cross_entropy(x @ w, torch.tensor(CLASSES), **named),
        lambda x, w, **named: losses.linear_cross_entropy(x, w, CLASSES, rows=4, **named), x=(6, 4), w=(4, 10))
case(lambda torch, x, w, b: torch.nn.functional.cross_entropy(
        x.reshape(6, 4) @ w + b, torch.tensor(CLASSES), torch.tensor(SHARES).double(), ignore_index=4,
        label_smoothing=0.1),
     lambda x, w, b: losses.linear_cross_entropy(
         x, w, nv.constant(CLASSES.reshape(2, 3), "N=2, T=3"), b, SHARES, 0.1, 4, rows=4),
     {"x": "N=2, T=3, F=4"}, x=(2, 3, 4), w=(4, 10), b=10)("linear of names")
