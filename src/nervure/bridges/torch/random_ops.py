"""Random numbers whose shapes no tensor decides: PyTorch draws them first, and the rest of a graph takes them as
further arguments.

>>> import torch
>>> from torch.fx.experimental.proxy_tensor import make_fx
>>> traced = make_fx(lambda x: x * 2 + torch.rand(3), tracing_mode="fake")(torch.ones(3))
>>> draw, rest = drawn_first(traced)
>>> [node.name for node in rest.graph.find_nodes(op="placeholder")]
['x_1', 'rand']
>>> torch.equal(rest(torch.ones(3), *draw(torch.ones(3))), torch.ones(3) * 2)
False
"""

from __future__ import annotations

import operator

import torch
from torch._guards import detect_fake_mode
from torch._prims.rng_prims import run_and_save_rng_state, run_with_rng_state
from torch.fx import Graph, GraphModule, Node
from torch.fx.node import map_arg

from nervure.bridges.torch.unsupported import Foreign

TAG = torch.Tag.nondeterministic_seeded


def is_drawn_first(node: Node) -> bool:
    """Whether a call draws random numbers, and all that it needs for that are numbers that arguments tell.

    What a backward graph computes again draws from a state of the generator, which the forward graph has saved.
    """
    if node.target is operator.getitem:
        return node.args[0].target is run_and_save_rng_state and is_drawn_first(node.args[0])
    needed = node.all_input_nodes
    if node.target is run_with_rng_state:
        state = node.args[0]
        needed = [entry for entry in needed if entry is not state or entry.op != "placeholder"]
    return TAG in getattr(overload_of(node), "tags", ()) and all([_is_number(entry) for entry in needed])


def overload_of(node: Node) -> Foreign:
    """Returns what a call computes, also where it saves a state of the generator for that, or draws from one."""
    if node.target is run_and_save_rng_state:
        return node.args[0]
    return node.args[1] if node.target is run_with_rng_state else node.target


def _is_number(node: Node) -> bool:
    """Whether a node is an integer or a fraction that follows from arguments alone."""
    if isinstance(node.meta.get("val"), torch.Tensor):
        return False
    return node.op == "placeholder" or all(
        [entry.op == "placeholder" or _is_number(entry) for entry in node.all_input_nodes])


def drawn_first(graph: GraphModule) -> tuple[GraphModule, GraphModule] | None:
    """Returns a graph that draws the random numbers of a graph, and one of all else, whose last arguments they are.

    Both take the arguments of the graph. None if it draws no such numbers.
    """
    found = [node for node in graph.graph.nodes if node.op == "call_function" and is_drawn_first(node)]
    drawn = [node for node in found if node.target is not run_and_save_rng_state]
    if not drawn:
        return None
    return _drawing(graph, drawn), _rest(graph, drawn, set(found))


def _drawing(graph: GraphModule, drawn: list[Node]) -> GraphModule:
    needed = set(drawn)
    for node in reversed(graph.graph.nodes):
        if node in needed:
            needed.update(node.all_input_nodes)
    result, copies = Graph(), dict[Node, Node]()
    for node in graph.graph.nodes:
        if node in needed or node.op == "placeholder":
            copies[node] = result.node_copy(node, copies.__getitem__)
    result.output(tuple([copies[node] for node in drawn]))
    return GraphModule(graph, result)


def _rest(graph: GraphModule, drawn: list[Node], left_out: set[Node]) -> GraphModule:
    result, copies = Graph(), dict[Node, Node]()
    for node in [*graph.graph.find_nodes(op="placeholder"), *drawn]:
        copies[node] = result.placeholder(node.name)
        copies[node].meta = dict(node.meta)
    for node in graph.graph.nodes:
        if node not in copies and node not in left_out:
            copies[node] = result.node_copy(node, copies.__getitem__)
    return GraphModule(graph, result)


def give_values(graph: GraphModule) -> None:
    """Gives what stands for their values to calls that save a state of the generator, or draw from one; PyTorch's
    partition leaves it out.
    """
    for node in graph.graph.nodes:
        if node.target is run_and_save_rng_state:
            parts = {reader.args[1]: reader.meta for reader in node.users}
            node.meta = {**parts[1], "val": (parts[0]["val"], parts[1]["val"])}
        elif node.target is run_with_rng_state:
            state, overload, *arguments = map_arg(node.args, lambda entry: entry.meta["val"])
            with detect_fake_mode([state]):
                node.meta["val"] = overload(*arguments, **map_arg(node.kwargs, lambda entry: entry.meta["val"]))
