"""A traced program says where its model stops gradients: in blocks without them, and in writes to what is detached.

>>> import torch
>>> class Scaled(torch.nn.Module):
...     def forward(self, x):
...         with torch.no_grad():
...             scale = x.abs().sum()
...         return x * scale
>>> program = with_stops(torch.export.export(Scaled(), (torch.ones(3),)))
>>> [node.name for node in program.run_decompositions({}).graph.nodes if node.op == "call_function"]
['detach', 'abs_1', 'sum_1', 'mul']
"""

from __future__ import annotations

import copy

import torch
from torch._higher_order_ops.wrap import wrap_with_set_grad_enabled
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import GraphModule, Node

from nervure.bridges.torch.unsupported import Foreign

aten = torch.ops.aten

straight_through = torch.library.custom_op("nervure::straight_through", lambda x, y: x.clone(), mutates_args=(),
                                           schema="(Tensor x, Tensor y) -> Tensor")
straight_through.register_fake(lambda x, y: torch.empty_like(x))


def with_stops(program: ExportedProgram) -> ExportedProgram:
    """Returns a program that says by ``detach`` where gradients stop, of one that torch.export has traced.

    In a block without gradients all that it takes is detached. A write to what is detached changes a tensor, whose
    gradient is then that of what it held before.
    """
    if not any([_is_stop(node) for node in program.graph.nodes]):
        return program
    found = copy.deepcopy(program)
    graph = found.graph_module
    buffers = {spec.arg.name for spec in found.graph_signature.input_specs if spec.kind is InputKind.BUFFER}
    for node in graph.graph.nodes:
        if node.target is aten.detach_.default:  # what follows has the tensor without gradients
            node.target = aten.detach.default
            node.args[0].replace_all_uses_with(node, delete_user_cb=lambda user, own=node: user > own)
        elif _is_block(node):
            block = getattr(graph, node.args[1].target)
            places = block.graph.find_nodes(op="placeholder")
            fixed = {place.name for place, given in zip(places, node.args[2:], strict=True) if given.name in buffers}
            _detach_inputs(block, places)
            _pass_on(block, fixed)
    _pass_on(graph, buffers)
    return found


def _is_stop(node: Node) -> bool:
    return _is_block(node) or node.target in (aten.detach.default, aten.detach_.default)


def _is_block(node: Node) -> bool:
    return node.target is wrap_with_set_grad_enabled and node.args[0] is False


def _detach_inputs(block: GraphModule, places: list[Node]) -> None:
    """Detaches all tensors that a block takes; one that it returns as it is stays what it was."""
    output = block.graph.output_node()
    for place in places:
        if isinstance(place.meta.get("val"), torch.Tensor):
            with block.graph.inserting_before(places[-1].next):
                stopped = block.graph.call_function(aten.detach.default, (place,))
            stopped.meta = dict(place.meta)
            place.replace_all_uses_with(stopped, delete_user_cb=lambda user, own=stopped: user is not own)
            output.args = (tuple([place if _written(entry) is stopped else entry for entry in output.args[0]]),)


def _written(entry: Foreign) -> Foreign:
    """Returns the tensor that a node is: of a call that writes to a tensor and returns it, that tensor."""
    while isinstance(entry, Node) and (target := _target_of(entry)) is not None:
        entry = target
    return entry


def _target_of(node: Node) -> Node | None:
    """Returns the tensor to which a call writes first; None for other calls."""
    for at, argument in enumerate(getattr(getattr(node.target, "_schema", None), "arguments", ())):
        if argument.alias_info is not None and argument.alias_info.is_write:
            found = node.args[at] if at < len(node.args) else node.kwargs.get(argument.name)
            return found if isinstance(found, Node) else None
    return None


def _pass_on(graph: GraphModule, fixed: set[str]) -> None:
    """Lets gradients pass by writes to what is detached, but for tensors that have none, whose names are ``fixed``."""
    for node in list(graph.graph.nodes):
        base = _detached(node)
        if base is None or base.name in fixed:
            continue
        with graph.graph.inserting_before(node):
            before = graph.graph.call_function(aten.clone.default, (base,))
        with graph.graph.inserting_after(node):
            after = graph.graph.call_function(aten.detach.default, (base,))
        with graph.graph.inserting_after(after):
            both = graph.graph.call_function(torch.ops.nervure.straight_through.default, (after, before))
        with graph.graph.inserting_after(both):
            write = graph.graph.call_function(aten.copy_.default, (base, both))
        for made in (before, after, both, write):
            made.meta = {**base.meta, "stack_trace": node.meta.get("stack_trace")}
    graph.recompile()


def _detached(node: Node) -> Node | None:
    """Returns the tensor of which a call writes to a detached view; None for other calls."""
    viewed = _target_of(node)
    while viewed is not None and viewed.op == "call_function" and viewed.target is not aten.detach.default:
        viewed = _target_of(viewed) or (viewed.args[0] if getattr(viewed.target, "is_view", False) else None)
    return viewed.args[0] if viewed is not None and viewed.op == "call_function" else None
