"""A small GPT over characters: learned positions, norms before attention and before two dense layers with gelu.

>>> sum(value.size for value in Gpt().parameters().values())
818176
>>> model = Gpt(batch=2, layers=1)
>>> logits, _ = model.network()(model.parameters(), model.data()[0])
>>> logits.shape
(2, 64, 65)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bench.models import layers as numpy_layers
from bench.models.base import Model, Rule
from bench.models.layers import chain, dense, gelu, layer_norm, mixed, named, residual


@dataclass
class Gpt(Model):
    """Data are characters as numbers, and the character after each. Trained with AdamW.

    With ``low`` the network computes in bfloat16, from parameters and to logits in float32. With ``tied`` the table of
    characters is the last matrix, too.
    """

    rule: ClassVar[Rule] = Rule(decay=0.01)
    batch: int = 12
    layers: int = 4
    width: int = 128
    heads: int = 4
    context: int = 64
    vocabulary: int = 65
    low: bool = False
    tied: bool = False

    def shapes(self):
        width = self.width
        block = {"scale_a": (width,), "shift_a": (width,), "w_qkv": (width, 3 * width), "b_qkv": (3 * width,),
                 "w_out": (width, width), "b_out": (width,), "scale_m": (width,), "shift_m": (width,),
                 "w_up": (width, 4 * width), "b_up": (4 * width,), "w_down": (4 * width, width), "b_down": (width,)}
        return {"characters": (self.vocabulary, width), "positions": (self.context, width),
                **{f"{name}{layer}": shape for layer in range(self.layers) for name, shape in block.items()},
                "scale": (width,), "shift": (width,),
                **({} if self.tied else {"w_head": (width, self.vocabulary)})}

    def data(self):
        text = np.random.default_rng(0).integers(0, self.vocabulary, (self.batch, self.context + 1))
        return [np.ascontiguousarray(part) for part in (text[:, :-1], text[:, 1:])]

    def network(self):
        blocks = [step for layer in range(self.layers) for step in (
            residual(chain(named(layer_norm, f"scale_a{layer}", f"shift_a{layer}"),
                           named(dense, f"w_qkv{layer}", f"b_qkv{layer}"), mixed(self.heads),
                           named(dense, f"w_out{layer}", f"b_out{layer}"))),
            residual(chain(named(layer_norm, f"scale_m{layer}", f"shift_m{layer}"),
                           named(dense, f"w_up{layer}", f"b_up{layer}"), named(gelu),
                           named(dense, f"w_down{layer}", f"b_down{layer}"))))]
        return chain(named(numpy_layers.embedding, "characters", "positions"), *blocks,
                     named(layer_norm, "scale", "shift"), named(numpy_layers.product, "w_head"))
