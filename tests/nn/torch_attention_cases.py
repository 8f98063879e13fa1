"""Attention and layers of transformers here and in PyTorch, from the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from nervure import nn
from tests.nn.torch_cases import case

STEPS, KEYS, BATCH, FEATURES, HEADS, HIDDEN = 5, 7, 3, 8, 2, 12
MASK = np.random.default_rng(1).random((STEPS, STEPS)) < 0.6
MASK[np.arange(STEPS), np.arange(STEPS)] = True
PRODUCTS = {"in_proj_weights": (FEATURES, 3 * FEATURES), "in_proj_bias": (3 * FEATURES,),
            "out_proj.weights": (FEATURES, FEATURES), "out_proj.bias": (FEATURES,)}


def small(shapes: dict[str, Any]) -> dict[str, np.ndarray]:
    """Numbers of which scores are moderate, as of layers that have just been made."""
    generator = np.random.default_rng(0)
    return {name: (0.4 * generator.standard_normal(shape)).astype(np.float32) for name, shape in shapes.items()}


def put(module: nn.Module, path: str, value: Any) -> None:
    """Puts a parameter at a path."""
    *around, name = path.split(".")
    for part in around:
        module = getattr(module, part)
    setattr(module, name, value)


def there_named(shapes: dict[str, Any], values: Any) -> dict[str, Any]:
    """Parameters under PyTorch's names, in its order of axes."""
    names = {"weights": "weight", "scale": "weight", "shift": "bias"}
    found = {}
    for path, value in zip(shapes, values, strict=True):
        *around, name = path.split(".")
        there = names.get(name, name.replace("_weights", "_weight"))
        found[".".join([*around, there])] = value.T if value.ndim > 1 else value
    return found


def attention_case(name: str, call: dict[str, Any], theirs: dict[str, Any], memory: bool = False,
                   shapes: dict[str, Any] = PRODUCTS, inputs: dict[str, Any] | None = None, named: bool = False,
                   settings: dict[str, Any] | None = None, made: dict[str, Any] | None = None) -> None:
    """A case of ``nn.MultiHeadAttention``: ``call`` and ``theirs`` are the arguments of calls."""
    arrays = inputs or ({"x": (BATCH, STEPS, FEATURES), **({"memory": (BATCH, KEYS, FEATURES)} if memory else {})})
    bias = "in_proj_bias" in shapes

    def here(*given: Any) -> Any:
        tensors, values = given[:len(arrays)], given[len(arrays):]
        layer = nn.MultiHeadAttention("F=8" if named else FEATURES, HEADS, bias=bias, batch_first=True, **(made or {}))
        for path, value in zip(shapes, values, strict=True):
            put(layer, path, value)
        return layer.eval()(*tensors, **call)

    def there(torch: Any, *given: Any) -> Any:
        tensors, values = given[:len(arrays)], given[len(arrays):]
        layer = torch.nn.MultiheadAttention(FEATURES, HEADS, bias=bias, batch_first=True, **(settings or {}))
        whole = [tensors[0], *tensors[1:], *[tensors[-1]] * (3 - len(tensors))]
        module = layer.eval().double()
        return torch.func.functional_call(module, there_named(shapes, values), tuple(whole), {
            "need_weights": False, **{key: torch.from_numpy(value) if isinstance(value, np.ndarray) else value
                                      for key, value in theirs.items()}})[0]
    axes = {"x": "N=3, T=5, F=8", "memory": "N=3, S=7, F=8"} if named else {}
    case(there, here, axes, **small({**arrays, **shapes}))(name)


PAST = {"attn_mask": ~np.tril(np.ones((STEPS, STEPS), bool))}
BEHIND = {"key_padding_mask": np.arange(KEYS) >= np.array([[7], [1], [4]])}
attention_case("attention", {}, {})
attention_case("attention to the past", {"causal": True}, PAST)
attention_case("attention under a mask", {"mask": MASK}, {"attn_mask": ~MASK})
attention_case("attention with scores added", {"mask": MASK.astype(np.float32)}, {"attn_mask": MASK.astype(float)})
attention_case("attention to a memory", {}, {}, memory=True)
attention_case("attention to keys that count", {"lengths": np.array([7, 1, 4])}, BEHIND, memory=True)
attention_case("attention of names", {}, {}, memory=True, named=True)
attention_case("attention without bias", {}, {}, shapes={key: shape for key, shape in PRODUCTS.items()
                                                         if "bias" not in key})
attention_case("attention to other features", {}, {}, inputs={
    "x": (BATCH, STEPS, FEATURES), "key": (BATCH, KEYS, 6), "value": (BATCH, KEYS, 4)},
    shapes={"q_proj_weights": (FEATURES, FEATURES), "k_proj_weights": (6, FEATURES), "v_proj_weights": (4, FEATURES),
            "in_proj_bias": (3 * FEATURES,), "out_proj.weights": (FEATURES, FEATURES), "out_proj.bias": (FEATURES,)},
    settings={"kdim": 6, "vdim": 4}, made={"key_features": 6, "value_features": 4})


def transformer_case(kind: str, name: str, call: dict[str, Any], theirs: dict[str, Any], named: bool = False,
                     **settings: Any) -> None:
    attentions = ["self_attn", "multihead_attn"][:1 + (kind == "Decoder")]
    shapes: dict[str, Any] = {f"{part}.{key}": shape for part in attentions for key, shape in PRODUCTS.items()}
    shapes |= {"linear1.weights": (FEATURES, HIDDEN), "linear1.bias": (HIDDEN,),
               "linear2.weights": (HIDDEN, FEATURES), "linear2.bias": (FEATURES,)}
    for number in range(1, len(attentions) + 2):
        shapes |= {f"norm{number}.{slot}": (FEATURES,) for slot in ("scale", "shift")}
    inputs = {"x": (BATCH, STEPS, FEATURES), "memory": (BATCH, KEYS, FEATURES)}
    inputs = dict(list(inputs.items())[:len(attentions)])
    axes = {"x": "N=3, T=5, F=8", "memory": "N=3, S=7, F=8", "linear1.weights": "F=8, hidden=12",
            "linear1.bias": "hidden=12", "linear2.weights": "hidden=12, F=8", "linear2.bias": "F=8",
            **{path: "F=8" for path in shapes if path.startswith("norm")}} if named else {}

    def here(*given: Any) -> Any:
        tensors, values = given[:len(inputs)], given[len(inputs):]
        made = getattr(nn, f"Transformer{kind}Layer")("F=8" if named else FEATURES, HEADS, HIDDEN, batch_first=True,
                                                      **settings)
        for path, value in zip(shapes, values, strict=True):
            put(made, path, value)
        return made.eval()(*tensors, **call)

    def there(torch: Any, *given: Any) -> Any:
        tensors, values = given[:len(inputs)], given[len(inputs):]
        made = getattr(torch.nn, f"Transformer{kind}Layer")(FEATURES, HEADS, HIDDEN, batch_first=True, **settings)
        others = {key: torch.from_numpy(value) for key, value in theirs.items()}
        return torch.func.functional_call(made.eval().double(), there_named(shapes, values), tensors, others)
    case(there, here, axes, **small({**inputs, **shapes}))(f"{kind} layer {name}".lower())


transformer_case("Encoder", "of relu", {}, {})
transformer_case("Encoder", "of gelu with norms first", {"causal": True}, {"src_mask": PAST["attn_mask"]},
                 activation="gelu", norm_first=True)
transformer_case("Encoder", "of names", {"mask": MASK}, {"src_mask": ~MASK}, named=True)
transformer_case("Decoder", "of relu", {"causal": True}, {"tgt_mask": PAST["attn_mask"]})
transformer_case("Decoder", "of names with norms first", {"causal": True, "memory_lengths": np.array([7, 1, 4])},
                 {"tgt_mask": PAST["attn_mask"], "memory_key_padding_mask": BEHIND["key_padding_mask"]}, named=True,
                 norm_first=True, activation="gelu")
