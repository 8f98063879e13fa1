"""Results that lie in memory of arguments, or of other results: PyTorch makes them, as the views that they are.

What a function of nervure returns has memory of its own. Results that PyTorch would give in shared memory, where a
write to one is seen in the others, are taken from a graph. The rest of it returns what they are views of, once.

>>> from torch.fx.experimental.proxy_tensor import make_fx
>>> def function(x):
...     y = torch.exp(x)
...     return y.t(), y[0], y.sum()
>>> graph = make_fx(function, tracing_mode="fake")(torch.ones(2, 3))
>>> views = taken_views(graph, [])
>>> views.places, [node.name for node in graph.graph.output_node().args[0]]
([0, 1], ['sum_1', 'exp'])
>>> run = with_views(views, lambda arguments: list(graph(*arguments)))
>>> transposed, first, _ = run([torch.zeros(2, 3)])
>>> first.zero_(), transposed.tolist()
(tensor([0., 0., 0.]), [[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import torch
from torch._functorch._aot_autograd.schemas import OutputType
from torch._guards import TracingContext
from torch.fx import Graph, GraphModule, Node

from nervure.bridges.torch.row_table import WITH_MEMORY
from nervure.bridges.torch.traced_program import boxed
from nervure.bridges.torch.translation import name_of, traced_memory
from nervure.bridges.torch.unsupported import Foreign, Unsupported

_MOST_COMPARED = 32
"""Of more results in one memory, any two may lie at one place."""

_MOST_WORK: Foreign = 10_000
"""How many candidates NumPy looks at before two results may lie at one place."""

_OF_INPUT = (OutputType.alias_of_input, OutputType.is_input)


class Views(NamedTuple):
    """The results of a graph that are views: their ``places`` among all, and a graph of them.

    It takes the arguments, and then as many bases as ``from_rest`` says: the last results of the rest of the graph.
    """

    places: Sequence[int]
    from_rest: int
    graph: GraphModule


def taken_views(graph: GraphModule, updates: Sequence[int], is_shared: bool = True) -> Views | None:
    """Takes from a graph the results that lie in memory of arguments, or, if ``is_shared``, of others of its results.

    They are views, since PyTorch reads their strides and offsets. Results that repeat elements are views of those. Left
    are new values of the arguments that it ``updates``, which are its last results. None if nothing was taken.
    """
    nodes = graph.graph.find_nodes(op="placeholder")
    owned = {_fake_memory(node) for node in nodes} - {None}
    read, changed = {*nodes} - {nodes[at] for at in updates}, {_fake_memory(nodes[at]) for at in updates}
    listed = list(graph.graph.output_node().args[0])
    last = len(listed) - len(updates)
    free = [at for at, entry in enumerate(listed[:last]) if isinstance(entry, Node)]
    if is_shared:
        free = _unhidden(listed, free)
    own = [listed[at] for at in free]
    stands = {node: node for node in nodes}
    taken = {entry for entry in own if _fake_memory(entry) in owned and (
        _fake_memory(entry) not in changed or _chain(entry)[-1] in read)}
    bases: list[Node] = []
    if is_shared:
        written = {value: nodes[at] for value, at in zip(listed[last:], updates, strict=True)}
        found = _of_written([listed[at] for at in _made_again() if at < last], written)
        stands.update(written)
        taken.update(found)
        for group in _by_memory([node for node in own if node not in taken and _fake_memory(node) not in owned]):
            for base, members in _bases(group):
                bases.append(base)
                taken.update(members)
    places = [at for at in free if listed[at] in taken]
    if not places:
        return None
    bases.extend([node for node in _needed([listed[at] for at in places], {*stands, *bases}) if _is_told(node)])
    views = _graph_of([listed[at] for at in places], stands, bases)
    kept = [entry for at, entry in enumerate(listed[:last]) if at not in places]
    graph.graph.output_node().args = ((*kept, *bases, *listed[last:]),)
    graph.graph.eliminate_dead_code()
    graph.recompile()
    return Views(places, len(bases), GraphModule(graph, views))


def _made_again() -> list[int]:
    """Returns the places of the results that PyTorch, which is compiling a graph, makes as views of arguments again."""
    known = _about_results()
    if known is None:
        return []
    first = known.num_mutated_inp_runtime_indices
    return [at for at, entry in enumerate(known.output_info, first) if entry.output_type in _OF_INPUT]


def _unhidden(results: Sequence[Foreign], places: Sequence[int]) -> list[int]:
    """Returns those ``places`` of ``results`` that may share memory: all but some that only the backward pass gets.

    PyTorch hides from autograd that a view is one, where it is the only result in its memory: a write to it raises the
    version of nothing that is saved. What is saved of such memory has to lie in memory of its own.
    """
    known = _about_results()
    if known is None or not known.unsafe_view_out_indices:
        return list(places)
    first, end = known.num_mutated_inp_runtime_indices, known.num_forward_returns
    hidden = {_fake_memory(results[first + at]) for at in known.unsafe_view_out_indices}
    return [at for at in places if at < end or _fake_memory(results[at]) not in hidden]


def _about_results() -> Foreign:
    """Returns what PyTorch notes about the results of the forward graph that it is compiling, or None."""
    context = TracingContext.try_get()
    return context.fw_metadata if context is not None else None


def _of_written(results: Sequence[Foreign], written: Mapping[Node, Node]) -> list[Node]:
    """Returns those ``results`` that are views of values that are ``written`` to arguments at the end of a graph.

    Views by strides count places in the memory of the argument, from which PyTorch has taken them.
    """
    found = []
    for node in results:
        chain = _chain(node) if isinstance(node, Node) else []
        value = next((entry for entry in chain if entry in written), None)
        between = chain[:chain.index(value)] if value is not None else []
        if value is not None and _is_made_of(node, value, between):
            found.append(node)
    return found


def _is_by_strides(nodes: Sequence[Node]) -> bool:
    """Whether one of these nodes depends on where its operand lies in memory."""
    return any([name_of(node.target) in WITH_MEMORY for node in nodes])


def with_views(views: Views, run: Callable[[list[Foreign]], Foreign]) -> Callable[[list[Foreign]], Foreign]:
    """Returns a function that puts ``views`` between the results of ``run``, the rest of their graph."""
    return _Viewed(views, run).run


class _Viewed:
    """Runs a graph without its views, and then makes these. It may compute nothing by ops of PyTorch but for them."""

    def __init__(self, views: Views, run: Callable[[list[Foreign]], Foreign]) -> None:
        self._places, self._count, self._make = views.places, views.from_rest, views.graph.forward
        self._rest = run
        taken = views.graph.graph.find_nodes(op="placeholder")
        is_of_arguments = any([node.users for node in taken[:len(taken) - views.from_rest]])
        self.is_without_ops = not is_of_arguments and getattr(getattr(run, "__self__", None), "is_without_ops", False)

    @boxed
    def run(self, arguments: list[Foreign]) -> list[Foreign]:
        given = list(arguments)
        results = list(self._rest(arguments))
        last = len(results) - self._count
        made = self._make(*given, *results[last:])
        del results[last:]
        for place, view in zip(self._places, made, strict=True):
            results.insert(place, view)
        return results


def _graph_of(results: Sequence[Node], stands: Mapping[Node, Node], bases: Sequence[Node]) -> Graph:
    """Returns a graph of these ``results`` alone, which takes the arguments and the bases. An argument ``stands`` for
    itself and for its new value.
    """
    found, copies = Graph(), dict[Node, Node]()
    for node in dict.fromkeys(stands.values()):
        copies[node] = found.node_copy(node)
    copies.update({node: copies[argument] for node, argument in stands.items()})
    for node in bases:
        copies[node] = found.placeholder(node.name)
    needed = set(_needed(results, set(copies)))
    for node in results[0].graph.nodes:
        if node in needed:
            copies[node] = found.node_copy(node, copies.__getitem__)
    found.output(tuple([copies[node] for node in results]))
    return found


def _needed(results: Iterable[Node], known: set[Node]) -> list[Node]:
    """Returns all nodes from which ``results`` are computed, from what is ``known`` on."""
    found: dict[Node, None] = {}
    waiting = [node for node in results if node not in known]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found[node] = None
            waiting.extend([entry for entry in node.all_input_nodes if entry not in known and not _is_told(node)])
    return list(found)


def _is_told(node: Node) -> bool:
    """Whether a node is a number that a tensor within the graph tells, such as its length."""
    return not isinstance(node.meta.get("val"), (torch.Tensor, list, tuple)) and any(
        [isinstance(entry.meta.get("val"), torch.Tensor) and entry.op != "placeholder"
         for entry in node.all_input_nodes])


# -- memory that results share -----------------------------------------------------------------------------------------


def _fake_memory(node: Node) -> int | None:
    """Returns what identifies the memory of a traced tensor; None for other values."""
    value = node.meta.get("val")
    is_dense = isinstance(value, torch.Tensor) and value.layout is torch.strided
    return value.untyped_storage()._cdata if is_dense else None


def _by_memory(nodes: Sequence[Node]) -> list[list[Node]]:
    groups: dict[int, list[Node]] = {}
    for node in nodes:
        memory = _fake_memory(node)
        if memory is not None:
            groups.setdefault(memory, []).append(node)
    return list(groups.values())


def _bases(results: Sequence[Node]) -> list[tuple[Node, list[Node]]]:
    """Returns what results in one memory are to be views of: for each base its members.

    Those that lie nowhere on others, and repeat no element, have none: they are computed as they are. A result may
    occur twice.
    """
    chains = {node: _chain(node) for node in results}
    shared = set(results) if len(results) > _MOST_COMPARED else {
        node for pair in combinations(results, 2) if pair[0] is pair[1] or _meet(*pair) for node in pair}
    groups = [[node for node in chains if node in shared]] if shared else []
    groups += [[node] for node in chains if node not in shared and _repeats(node)]
    found = []
    for members in groups:
        base = _base(members, [chains[node] for node in members])
        if base is not None:
            found.append((base, members))
    return found


def _base(members: Sequence[Node], chains: Sequence[Sequence[Node]]) -> Node | None:
    """Returns the nearest node of which all members are views, by their ``chains``; None if there is none."""
    for node in chains[0]:
        if all([node in chain for chain in chains]) and not _repeats(node):
            parts = [chain[:chain.index(node)] for chain in chains]
            is_placed = _is_whole(node) or not any([_is_by_strides(part) for part in parts])
            if is_placed and all([_is_made_of(view, node, part) for view, part in zip(members, parts, strict=True)]):
                return node
    return None


def _is_made_of(view: Node, base: Node, between: Sequence[Node]) -> bool:
    """Whether a view can be made of its base alone, by the ops ``between`` them."""
    return all([_is_available(node, between) for node in _needed([view], {base})])


def _is_available(node: Node, between: Sequence[Node]) -> bool:
    """Whether a node is a view ``between`` a base and a result, or an argument or a number that arguments tell."""
    value = node.meta.get("val")
    is_list = isinstance(value, (list, tuple)) and any([entry in between for entry in node.users])
    return node in between or is_list or node.op == "placeholder" or not isinstance(value, (torch.Tensor, list, tuple))


def _chain(node: Node) -> list[Node]:
    """Returns a node, what it is a view of, and so on."""
    found = [node]
    while found[-1].op == "call_function" and found[-1].args:
        before = found[-1].args[0]
        if found[-1].target is operator.getitem:
            before = before.args[0] if before.args else None
        if not isinstance(before, Node) or _fake_memory(before) != _fake_memory(node):
            break
        found.append(before)
    return found


def _repeats(node: Node) -> bool:
    """Whether elements of a traced tensor lie at one place, as after ``expand``."""
    value = node.meta["val"]
    return any([isinstance(stride, int) and stride == 0 and not (isinstance(size, int) and size < 2)
                for size, stride in zip(value.shape, value.stride(), strict=True)])


def _is_whole(node: Node) -> bool:
    """Whether a traced tensor lies in its memory from the first place on, without gaps, so that a result does, too."""
    try:
        return traced_memory(node).offset == 0
    except Unsupported:
        return False


def _is_known(value: torch.Tensor) -> bool:
    return all([isinstance(number, int) for number in (*value.shape, *value.stride(), value.storage_offset())])


def _meet(one: Node, other: Node) -> bool:
    """Whether two traced tensors in one memory may have an element at the same place. With symbols they may."""
    values = [one.meta["val"], other.meta["val"]]
    if not all([_is_known(value) for value in values]):
        return True
    try:
        return np.shares_memory(_placed(values[0]), _placed(values[1]), max_work=_MOST_WORK)
    except np.exceptions.TooHardError:
        return True


def _placed(value: torch.Tensor) -> np.ndarray:
    """Returns an array, whose elements do not exist, at the place that a traced tensor has in its memory."""
    size = value.element_size()
    return np.asarray(_Place({
        "shape": tuple(value.shape), "strides": tuple([stride * size for stride in value.stride()]),
        "typestr": f"|V{size}", "data": (1 + value.storage_offset() * size, True), "version": 3}))


class _Place:
    """Describes an array to NumPy, which does not look at its memory."""

    def __init__(self, interface: dict[str, object]) -> None:
        self.__array_interface__ = interface
