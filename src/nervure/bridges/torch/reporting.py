"""A report of the ops of a model: which are compiled, and which PyTorch would run.

>>> import torch
>>> print(reported(lambda x: torch.special.airy_ai(torch.exp(x)), [torch.ones(3)], {}))  # doctest: +ELLIPSIS
2 calls in 1 graph: 1 compiled, 1 in PyTorch
    1  aten.special_airy_ai.default  PyTorch: there is no row for it  (...)
    1  aten.exp.default  (...)
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch._dynamo.backends.common import aot_autograd
from torch.fx import GraphModule

from nervure.bridges.torch.decompositions import decompositions
from nervure.bridges.torch.fallback import lack
from nervure.bridges.torch.kept_whole import keep_whole
from nervure.bridges.torch.partitioning import partitioned
from nervure.bridges.torch.random_ops import overload_of
from nervure.bridges.torch.translation import location_of
from nervure.bridges.torch.unsupported import Foreign
from nervure.errors import Location
from nervure.support.plurals import plural


class ReportedOp(NamedTuple):
    """An op of a model: its name, the number of its calls, the user's lines, and why PyTorch would run it, if so."""

    op: str
    calls: int
    reason: str | None
    locations: tuple[Location, ...]

    @property
    def is_compiled(self) -> bool:
        """Whether it becomes part of a function of nervure."""
        return self.reason is None

    def __str__(self) -> str:
        lines = ", ".join([f"{entry.file.rpartition('/')[2]}:{entry.line}" for entry in self.locations[:3]])
        more = ", ..." if len(self.locations) > 3 else ""
        reason = "" if self.reason is None else f"  PyTorch: {self.reason}"
        return f"{self.calls:5}  {self.op}{reason}  ({lines}{more})"


class Report(NamedTuple):
    """The ops of a model, those that PyTorch would run first, and the number of the graphs that were traced."""

    ops: tuple[ReportedOp, ...]
    graphs: int

    def __str__(self) -> str:
        total = sum([entry.calls for entry in self.ops])
        own = sum([entry.calls for entry in self.ops if entry.is_compiled])
        graphs = f"{self.graphs} {plural(self.graphs, 'graph')}"
        return "\n".join([f"{total} calls in {graphs}: {own} compiled, {total - own} in PyTorch", *map(str, self.ops)])


def reported(model: Foreign, inputs: Sequence[Foreign], named: Mapping[str, Foreign]) -> Report:
    """Reports as ``nervure.bridges.torch.report`` does, whose arguments these are. The model runs once."""
    graphs: list[GraphModule] = []

    def collect(graph: GraphModule, inputs: Sequence[Foreign]) -> Foreign:
        graphs.append(graph)
        return graph
    trace = aot_autograd(fw_compiler=collect, decompositions=decompositions(), partition_fn=partitioned)

    def traced(graph: GraphModule, inputs: Sequence[Foreign]) -> Foreign:
        keep_whole(graph)
        return trace(graph, inputs)
    torch._dynamo.reset()
    with torch._dynamo.config.patch(allow_rnn=True):
        torch.compile(model, backend=traced)(*inputs, **named)
    torch._dynamo.reset()
    found: dict[tuple[str, str | None], list[Location | None]] = {}
    for node in [node for graph in graphs for node in graph.graph.nodes]:
        if node.op == "call_function" and node.target is not operator.getitem:
            missing = lack(node)
            key = str(overload_of(node)), None if missing is None else missing.reason
            found.setdefault(key, []).append(location_of(node))
    ops = [ReportedOp(op, len(places), reason, tuple(dict.fromkeys([entry for entry in places if entry])))
           for (op, reason), places in found.items()]
    return Report(tuple(sorted(ops, key=lambda entry: (entry.is_compiled, -entry.calls))), len(graphs))
