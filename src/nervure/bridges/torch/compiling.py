"""The backend of ``torch.compile``: traced graphs become functions of nervure, forward and backward.

>>> import torch
>>> model = torch.compile(torch.nn.Linear(2, 2), backend=compiled_model)
>>> model(torch.ones(1, 2)).shape
torch.Size([1, 2])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch.fx import GraphModule

from nervure.bridges.torch.decompositions import decompositions
from nervure.bridges.torch.fallback import compiled_in_parts, refusal
from nervure.bridges.torch.random_ops import drawn_first
from nervure.bridges.torch.traced_program import TracedProgram
from nervure.bridges.torch.translation import translated
from nervure.bridges.torch.unsupported import Foreign, Unsupported
from nervure.errors import InvalidArgument, NervureError, did_you_mean

_OPTIONS = ("strict",)


def compiled_model(graph: GraphModule, inputs: Sequence[Foreign], options: Mapping[str, object] | None = None,
                   mode: str | None = None) -> Callable[..., Foreign]:
    """Compiles a graph as ``nervure.bridges.torch.backend`` does, whose arguments these are."""
    is_strict = _read(options, mode)

    def compiler(kind: str) -> Callable[[GraphModule, Sequence[Foreign]], Callable[..., Foreign]]:
        return lambda graph, inputs: make_boxed_func(compiled(graph, kind, is_strict))
    compile_both = aot_autograd(fw_compiler=compiler("forward"), bw_compiler=compiler("backward"),
                                inference_compiler=compiler("inference"), decompositions=decompositions(),
                                partition_fn=min_cut_rematerialization_partition)
    return compile_both(graph, inputs)


def _read(options: Mapping[str, object] | None, mode: str | None) -> bool:
    for name in options or {}:
        if name not in _OPTIONS:
            raise InvalidArgument(f"there is no option {name}", op="torch.compile", operand="options", got=name,
                                  expected=", ".join(_OPTIONS), help=did_you_mean(name, _OPTIONS))
    if mode not in (None, "default"):
        raise InvalidArgument("the backend has no modes", op="torch.compile", operand="mode", got=mode,
                              expected="no mode", help='as in torch.compile(model, backend="nervure")')
    return bool((options or {}).get("strict", False))


def compiled(graph: GraphModule, name: str = "graph", is_strict: bool = False) -> Callable[..., Foreign]:
    """Compiles a functional graph of ATen: as one function if the table has all of it, else in parts.

    Random numbers are drawn before it runs, if no tensor decides their shape.
    """
    parts = drawn_first(graph)
    if parts is not None:
        draw, rest = parts[0], compiled(parts[1], name, is_strict)
        return lambda *arguments: rest(*arguments, *draw(*arguments))
    try:
        return TracedProgram(translated(graph, name), graph)
    except (Unsupported, NervureError) as error:
        if is_strict:
            raise refusal(graph) from error
    return compiled_in_parts(graph, name)
