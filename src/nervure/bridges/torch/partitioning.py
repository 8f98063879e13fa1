"""Forward and backward graphs of a joint one, cut as PyTorch cuts them; what checkpoints compute again is in both.

>>> import torch
>>> attention = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
>>> torch.Tag.nondeterministic_seeded in attention.tags, hasattr(_without_tags(attention), "tags")
(True, False)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch.fx import GraphModule

from nervure.bridges.torch.all_rows import ROWS
from nervure.bridges.torch.random_ops import TAG, give_values
from nervure.bridges.torch.translation import name_of
from nervure.bridges.torch.unsupported import Foreign


def partitioned(joint: GraphModule, inputs: Sequence[Foreign], **settings: Foreign) -> tuple[GraphModule, GraphModule]:
    """Returns the forward and the backward graph of a joint one, by least memory between them.

    PyTorch tags attention as random, and would save a state of the generator for it in each checkpoint. What has a row
    draws nothing, and is as any other op there.
    """
    hidden: dict[Foreign, Foreign] = {}
    for node in joint.graph.nodes:
        if TAG in getattr(node.target, "tags", ()) and name_of(node.target) in ROWS:
            call = _without_tags(node.target)
            hidden[call], node.target = node.target, call
    both: tuple[GraphModule, GraphModule] = min_cut_rematerialization_partition(joint, inputs, **settings)
    for graph in both:
        for node in graph.graph.nodes:
            node.target = hidden.get(node.target, node.target)
        give_values(graph)
        graph.recompile()
    return both


@cache
def _without_tags(overload: Foreign) -> Callable[..., Foreign]:
    """Returns a function that calls an overload, and stands for it."""
    def call(*arguments: Foreign, **named: Foreign) -> Foreign:
        return overload(*arguments, **named)
    return call
