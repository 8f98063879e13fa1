"""The overloads of core ATen, those that PyTorch tags so, and how the bridge comes by each of them.

>>> listed = by_route()
>>> "add.Tensor" in listed["row"], "native_layer_norm_backward.default" in listed["decomposed"]
(True, True)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from functorch.compile import aot_function, make_boxed_func
from torch._decomp import core_aten_decompositions

from nervure.bridges.torch.all_rows import ROWS
from nervure.bridges.torch.decompositions import decompositions
from nervure.bridges.torch.translation import name_of

NUMBERS = frozenset(["sym_size.int", "sym_stride.int", "sym_numel.default", "sym_storage_offset.default",
                     "sym_is_contiguous.default"])
"""Overloads that give integers and truths, which the bridge reads off the traced types."""

WRITING = frozenset(["atan2.out", "resize_.default"])
"""Overloads that write into an argument, which no functional graph has."""


def overloads() -> list[Any]:
    """Returns the overloads that PyTorch tags as core, in the order of their names."""
    names = [name.removeprefix("aten::") for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
    pairs = [(packet, kind or "default") for packet, _, kind in [name.partition(".") for name in sorted(names)]]
    found = [getattr(getattr(torch.ops.aten, packet), kind, None) for packet, kind in pairs]
    return [overload for overload in found if overload is not None and torch.Tag.core in overload.tags]


def by_route() -> dict[str, list[str]]:
    """Returns the names of the overloads that have a row, those that decompose, the numbers, the random numbers that
    are drawn first, and those that PyTorch runs.
    """
    routes: dict[str, list[str]] = {"row": [], "decomposed": [], "number": [], "drawn first": [], "PyTorch": []}
    for overload in overloads():
        name = name_of(overload)
        if name in WRITING:
            continue
        route = "number" if name in NUMBERS else "row" if name in ROWS else (
            "decomposed" if overload in decompositions() else "drawn first" if _is_drawn(overload) else "PyTorch")
        routes[route].append(name)
    return routes


def _is_drawn(overload: Any) -> bool:
    takes_tensors = any(["Tensor" in str(argument.type) for argument in overload._schema.arguments])
    return torch.Tag.nondeterministic_seeded in overload.tags and not takes_tensors


def beyond(function: Callable[..., Any], run: Callable[[Callable[..., Any]], object]) -> list[str]:
    """Returns the overloads outside of core ATen in the graphs of a function, once PyTorch's decompositions of core
    ATen have been applied. ``run`` calls a function that it is given, and takes the gradients that are wanted.
    """
    found: list[str] = []

    def collect(graph: Any, inputs: Sequence[Any]) -> Callable[..., Any]:
        targets = [node.target for node in graph.graph.nodes if node.op == "call_function"]
        found.extend([str(target) for target in targets if isinstance(target, torch._ops.OpOverload)
                      and torch.Tag.core not in target.tags])
        return make_boxed_func(graph)
    run(aot_function(function, fw_compiler=collect, decompositions=core_aten_decompositions()))
    return sorted(set(found))
