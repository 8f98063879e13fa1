"""PyTorch's functions that stay whole: ops of the bridge stand for them before PyTorch writes them as many others.

>>> import torch
>>> with KeptWhole():
...     graph = torch.export.export(torch.nn.Upsample(scale_factor=2), (torch.ones(1, 1, 2, 2),)).graph
>>> [str(node.target) for node in graph.nodes if node.op == "call_function"]
['nervure.resize.default']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch.fx import GraphModule
from torch.overrides import TorchFunctionMode

from nervure.bridges.torch import recurrent_ops, resize_ops
from nervure.bridges.torch.unsupported import Foreign


def _whole(function: Foreign, arguments: Sequence[Foreign], first: object) -> Callable[..., Foreign] | None:
    """Returns what stands for a call of a function, whose ``first`` argument is a tensor; None for another call."""
    if function is torch.nn.functional.interpolate:
        return resize_ops.interpolate
    found = recurrent_ops.WHOLE_OF.get(function)
    return found if found is not None and recurrent_ops.is_said(arguments, first) else None


def keep_whole(graph: GraphModule) -> None:
    """Puts the bridge's own functions in the place of PyTorch's in a graph of dynamo's, before it is traced further."""
    for node in graph.graph.nodes:
        if node.op == "call_function" and node.args:
            first = getattr(node.args[0], "meta", {}).get("example_value")
            node.target = _whole(node.target, node.args, first) or node.target
    graph.recompile()


class KeptWhole(TorchFunctionMode):
    """While it is entered, PyTorch's functions call the bridge's own, which torch.export traces."""

    def __torch_function__(self, function: Foreign, types: Foreign, arguments: tuple[Foreign, ...] = (),
                           named: dict[str, Foreign] | None = None) -> Foreign:
        whole = _whole(function, arguments, arguments[0] if arguments else None)
        return (whole or function)(*arguments, **(named or {}))


def decompositions() -> dict[Foreign, Callable[..., Foreign]]:
    """Returns what is to stand for PyTorch's overloads in a graph that has them still, as those of torch.export do."""
    return {**recurrent_ops.decompositions(), **resize_ops.decompositions()}
