"""Graphs with ops that nervure lacks: they are cut, and PyTorch runs what is lacking between the parts.

>>> import torch
>>> from torch.fx.experimental.proxy_tensor import make_fx
>>> traced = make_fx(lambda x: torch.special.airy_ai(x * 2 + 1).exp() * 3, tracing_mode="fake")(torch.ones(4))
>>> [lack.op for lack in lacks(traced)]
['aten.special_airy_ai.default']
>>> compiled_in_parts(traced)(torch.zeros(4)).shape
torch.Size([4])
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import NamedTuple

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from nervure.bridges.torch.fitting import SymbolicNumber
from nervure.bridges.torch.freezing import program_of
from nervure.bridges.torch.random_ops import is_drawn_first, overload_of
from nervure.bridges.torch.traced_sizes import fraction_of, length_of
from nervure.bridges.torch.translation import described, location_of, lowered, name_of
from nervure.bridges.torch.unsupported import Foreign, UnknownLengths, Unsupported
from nervure.errors import Location, NervureError, NotSupported
from nervure.ir.leaves import Parameter
from nervure.support.plurals import plural

_MOVES = frozenset(["view.default", "permute.default", "expand.default", "slice.Tensor", "select.int", "clone.default",
                    "unsqueeze.default", "squeeze.dim", "squeeze.dims", "alias.default", "detach.default",
                    "split_with_sizes.default", "full.default", "empty.memory_format", "scalar_tensor.default",
                    "_unsafe_view.default", "full_like.default", "arange.start_step", "unbind.int", "transpose.int"])
"""What costs PyTorch next to nothing, so that a part of nothing else stays there."""


class Lack(NamedTuple):
    """An op that PyTorch has to run: its name, the user's line, and why."""

    op: str
    location: Location | None
    reason: str


def lack(node: Node) -> Lack | None:
    """Returns why PyTorch has to run a call; None if the table has it, or if random numbers are drawn before the rest.
    It is built, of inputs that have the types of those in the graph.
    """
    if is_drawn_first(node):
        return None
    try:
        lowered(node, _stand_in)
    except Unsupported as error:
        return Lack(str(overload_of(node)), location_of(node), str(error))
    return None


def _stand_in(node: Node) -> Foreign:
    if "val" not in node.meta:
        raise Unsupported(f"its operand {node.name} is of no known type")
    return _standing_for(node.meta["val"])


def _standing_for(value: Foreign) -> Foreign:
    if isinstance(value, torch.Tensor):
        type_ = described(value)
        return Parameter.of(type_).output
    if isinstance(value, torch.SymInt):
        return length_of(value)
    if isinstance(value, torch.SymFloat):
        return SymbolicNumber(fraction_of(value))
    if isinstance(value, (list, tuple)):
        return tuple([_standing_for(entry) for entry in value])
    if isinstance(value, (int, float, bool, type(None))):
        return value
    raise Unsupported(f"an operand of type {type(value).__name__}")


def lacks(graph: GraphModule) -> list[Lack]:
    """Returns every call of a graph that PyTorch has to run, in order."""
    found = [lack(node) for node in graph.graph.nodes if node.op == "call_function"]
    return [entry for entry in found if entry is not None]


def refusal(graph: GraphModule, op: str = "torch.compile") -> NotSupported:
    """Returns the error for a graph that was to be compiled whole by ``op``."""
    found = lacks(graph)
    first = found[0] if found else Lack("graph", None, "an argument or a result is none that a function can have")
    others = len({entry.op for entry in found}) - 1
    more = f", and {others} other {plural(others, 'op')}" if others > 0 else ""
    help = 'leave out options={"strict": True}, and PyTorch runs them between the parts' if op == "torch.compile" else (
        'torch.compile(model, backend="nervure") leaves them to PyTorch')
    return NotSupported(f"there is no translation: {first.reason}{more}", op=first.op, location=first.location,
                        got=f"{len(found)} calls that PyTorch would run", expected="ops of the table", help=help)


class _Support(OperatorSupportBase):
    """Tells the partitioner which nodes the table has. Integers are left to Python."""

    def is_node_supported(self, submodules: Foreign, node: Node) -> bool:
        if node.op != "call_function":
            return False
        value = node.meta.get("val")
        is_number = isinstance(value, (torch.SymInt, torch.SymFloat, int, bool, float))
        return not is_number and not is_drawn_first(node) and lack(node) is None


def compiled_in_parts(graph: GraphModule, name: str = "graph",
                      static: frozenset[str] = frozenset()) -> Callable[..., Foreign]:
    """Compiles each part of a graph for which the table has rows; PyTorch runs the rest. Placeholders that are named
    ``static`` may become variables.
    """
    partitioner = CapabilityBasedPartitioner(graph, _Support(), allows_single_node_partition=True)
    fused = partitioner.partition_and_fuse(prefix="nervure_part")
    for part_name, part in list(fused.named_children()):
        if part_name.startswith("nervure_part") and isinstance(part, GraphModule) and _is_worth(part):
            _replace(fused, part_name, part, name, static)
    fused.recompile()
    return fused


def _is_worth(part: GraphModule) -> bool:
    return any([node.op == "call_function" and name_of(node.target) not in _MOVES
                and getattr(node.target, "_schema", None) is not None for node in part.graph.nodes])


def _replace(fused: GraphModule, part_name: str, part: GraphModule, name: str, static: frozenset[str]) -> None:
    """Puts a compiled part in the place of one that PyTorch would run, if it can be compiled after all."""
    try:
        program = program_of(part, f"{name}.{part_name}", static=static)
    except UnknownLengths as error:
        if _tell(fused, part_name, part, error.symbols):
            _replace(fused, part_name, part, name, static)
        return
    except (Unsupported, NervureError):
        return
    output = next(node for node in part.graph.nodes if node.op == "output")
    is_single = not isinstance(output.args[0], (list, tuple))
    setattr(fused, part_name, _Part(program, is_single))


def _tell(fused: GraphModule, part_name: str, part: GraphModule, symbols: Set[str]) -> bool:
    """Hands ``symbols`` to a part as further arguments; returns whether the whole graph is given all of them."""
    numbers = {str(length_of(node.meta["val"])): node for node in fused.graph.find_nodes(op="placeholder")
               if isinstance(node.meta.get("val"), torch.SymInt)}
    if not numbers.keys() >= symbols:
        return False
    call, = fused.graph.find_nodes(op="call_module", target=part_name)
    last = part.graph.find_nodes(op="placeholder")[-1]
    for symbol in sorted(symbols, reverse=True):
        with part.graph.inserting_after(last):
            part.graph.placeholder(numbers[symbol].name).meta.update(numbers[symbol].meta)
    call.args = (*call.args, *[numbers[symbol] for symbol in sorted(symbols)])
    part.recompile()
    return True


class _Part(torch.nn.Module):
    """A compiled part as a module, which graphs call."""

    def __init__(self, program: Callable[..., Foreign], is_single: bool) -> None:
        super().__init__()
        self.program, self.is_single = program, is_single

    def forward(self, *arguments: Foreign) -> Foreign:
        results = self.program(*arguments)
        return results[0] if self.is_single else tuple(results)
