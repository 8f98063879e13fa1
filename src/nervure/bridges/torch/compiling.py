"""The backend of ``torch.compile``: traced graphs become functions of nervure, forward and backward.

>>> import torch
>>> model = torch.compile(torch.nn.Linear(2, 2), backend=compiled_model)
>>> model(torch.ones(1, 2)).shape
torch.Size([1, 2])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch._dynamo.backends.common import aot_autograd
from torch.fx import GraphModule

from nervure.bridges.torch.decompositions import decompositions
from nervure.bridges.torch.direct_calls import direct
from nervure.bridges.torch.factorisation_checks import without_checks
from nervure.bridges.torch.fallback import compiled_in_parts, refusal
from nervure.bridges.torch.freezing import program_of, static_inputs
from nervure.bridges.torch.kept_whole import keep_whole
from nervure.bridges.torch.partitioning import partitioned
from nervure.bridges.torch.random_ops import drawn_first
from nervure.bridges.torch.result_views import taken_views, with_views
from nervure.bridges.torch.traced_program import boxed, with_updates
from nervure.bridges.torch.unsupported import Foreign, Unsupported
from nervure.errors import InvalidArgument, NervureError, did_you_mean

_OPTIONS = ("strict", "freezing")


class Options(NamedTuple):
    """The options of a compile: whether it is an error that PyTorch runs an op, and whether weights are packed once."""

    is_strict: bool
    is_freezing: bool


def compiled_model(graph: GraphModule, inputs: Sequence[Foreign], options: Mapping[str, object] | None = None,
                   mode: str | None = None) -> Callable[..., Foreign]:
    """Compiles a graph as ``nervure.bridges.torch.backend`` does, whose arguments these are."""
    chosen = _read(options, mode)
    keep_whole(graph)

    def compiler(kind: str) -> Callable[[GraphModule, Sequence[Foreign]], Callable[..., Foreign]]:
        is_frozen = chosen.is_freezing and kind == "inference"
        return lambda graph, inputs: compiled(graph, kind, chosen.is_strict,
                                              static_inputs(graph) if is_frozen else frozenset())
    compile_both = aot_autograd(fw_compiler=compiler("forward"), bw_compiler=compiler("backward"),
                                inference_compiler=compiler("inference"), decompositions=decompositions(),
                                partition_fn=partitioned, keep_inference_input_mutations=True)
    return direct(compile_both(graph, inputs))


def _read(options: Mapping[str, object] | None, mode: str | None) -> Options:
    for name in options or {}:
        if name not in _OPTIONS:
            raise InvalidArgument(f"there is no option {name}", op="torch.compile", operand="options", got=name,
                                  expected=", ".join(_OPTIONS), help=did_you_mean(name, _OPTIONS))
    if mode not in (None, "default"):
        raise InvalidArgument("the backend has no modes", op="torch.compile", operand="mode", got=mode,
                              expected="no mode", help='as in torch.compile(model, backend="nervure")')
    return Options(*[bool((options or {}).get(name, False)) for name in _OPTIONS])


def compiled(graph: GraphModule, name: str = "graph", is_strict: bool = False,
             static: frozenset[str] = frozenset()) -> Callable[[list[Foreign]], Foreign]:
    """Compiles a graph of ATen: as one function if the table has all of it, else in parts.

    The graph is functional but for new values of arguments, which it writes at its end. The function that is returned
    takes a list of all arguments. Those whose placeholders are named ``static`` are weights, which are packed once for
    each version. Random numbers are drawn before it runs, if no tensor decides their shape.
    """
    both = drawn_first(graph)
    if both is not None:
        draw, rest = both[0], compiled(both[1], name, is_strict, static)
        return boxed(lambda arguments: rest([*arguments, *draw(*arguments)]))
    updates = taken_updates(graph)
    if updates is None:
        if is_strict:
            raise refusal(graph)
        return boxed(lambda arguments: graph(*arguments))
    views = taken_views(graph, updates, is_shared=name != "backward")
    if views is not None and not graph.graph.output_node().args[0]:
        return boxed(lambda arguments: list(views.graph(*arguments)))
    run = _functional(graph, updates, name, is_strict, static)
    return run if views is None else with_views(views, run)


def _functional(graph: GraphModule, updates: Sequence[int], name: str, is_strict: bool,
                static: frozenset[str]) -> Callable[[list[Foreign]], Foreign]:
    """Compiles a graph whose last results are ``updates`` of arguments, and which writes nothing itself."""
    try:
        return program_of(without_checks(graph), name, updates, static).run
    except (Unsupported, NervureError) as error:
        if is_strict:
            raise refusal(graph) from error
    parts = compiled_in_parts(graph, name, static)

    def run(arguments: list[Foreign]) -> list[Foreign]:
        return with_updates(arguments, updates, parts(*arguments))
    return boxed(run)


def taken_updates(graph: GraphModule) -> list[int] | None:
    """Makes the new values of a graph's arguments its last results, and returns the numbers of these arguments.

    PyTorch writes them at the end of a graph, by ``copy_``; an argument itself stands for its value before that, also
    as a result. Returns None, and changes nothing, for a graph that writes in other ways.
    """
    places = {node: at for at, node in enumerate(graph.graph.find_nodes(op="placeholder"))}
    writes = [node for node in graph.graph.nodes if node.op == "call_function" and _is_writing(node.target)]
    if not writes:
        return []
    output = graph.graph.output_node()
    written, listed = [node.args[0] for node in writes], output.args[0]
    are_last = all([node.target is torch.ops.aten.copy_.default and not node.users for node in writes])
    are_arguments = places.keys() >= set(written) and len(set(written)) == len(written)
    if not (are_last and are_arguments):
        return None
    output.args = ((*listed, *[node.args[1] for node in writes]),)
    for node in writes:
        graph.graph.erase_node(node)
    graph.recompile()
    return [places[node] for node in written]


def _is_writing(target: Foreign) -> bool:
    schema = getattr(target, "_schema", None)
    return schema is not None and schema.is_mutable
