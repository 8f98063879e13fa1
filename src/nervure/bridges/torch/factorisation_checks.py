"""PyTorch's checks that a factorisation has succeeded, which graphs of nervure do without.

>>> import torch
>>> from nervure.bridges.torch.decompositions import decompositions
>>> class Inverse(torch.nn.Module):
...     def forward(self, x):
...         return torch.linalg.inv(x)
>>> graph = torch.export.export(Inverse(), (torch.eye(2),)).run_decompositions(decompositions()).graph_module
>>> [sum(_is_check(node) for node in found.graph.nodes) for found in (graph, without_checks(graph))]
[1, 0]
"""

from __future__ import annotations

import operator
from copy import deepcopy

import torch
from torch._higher_order_ops.effects import with_effects
from torch.fx import GraphModule, Node


def without_checks(graph: GraphModule) -> GraphModule:
    """Returns a graph without the checks that a factorisation has succeeded, each of which has a token in and out.

    A function of nervure fails by itself. The graph itself keeps them, for the parts that PyTorch may have to run.
    """
    if not any([_is_check(node) for node in graph.graph.nodes]):
        return graph
    found = deepcopy(graph.graph)
    for node in [node for node in found.nodes if _is_check(node)]:
        token = node.args[0]
        for taken in list(node.users):
            taken.replace_all_uses_with(token)
            found.erase_node(taken)
        found.erase_node(node)
        if token.op == "placeholder":
            token.meta = {**token.meta, "val": None}  # what PyTorch gives for it
    return GraphModule(graph, found)


def _is_check(node: Node) -> bool:
    return node.target is with_effects and node.args[1] is torch.ops.aten._linalg_check_errors.default and all(
        [taken.target is operator.getitem and taken.args[1] == 0 for taken in node.users])
