"""A translated graph that is compiled: tensors in, tensors out, in the memory where they are.

>>> import torch
>>> from torch.fx.experimental.proxy_tensor import make_fx
>>> from nervure.bridges.torch.translation import translated
>>> x = torch.tensor([[1., -2.]])
>>> graph = make_fx(lambda x: torch.ops.aten.relu(x.t()), tracing_mode="fake")(x)
>>> program = TracedProgram(translated(graph), graph)
>>> program(x)
[tensor([[1.],
        [0.]])]
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

import numpy as np
import torch
from torch.fx import GraphModule

from nervure import transformers
from nervure.bridges.torch.torch_tensors import as_array, as_tensor
from nervure.bridges.torch.translation import TracedFunction, TracedInput, TracedOutput, assumed_offsets
from nervure.bridges.torch.unsupported import Foreign
from nervure.ir.identity import Uncopyable
from nervure.transformers.tensor_calls import TensorArgument, TensorCall, TensorResult
from nervure.types.dim import Dim, evaluate
from nervure.types.shape import inverse_permutation

_Function = TypeVar("_Function", bound=Callable[..., Foreign])


def boxed(run: _Function) -> _Function:
    """Marks a function or a method, which takes the list of all arguments, as PyTorch knows those that do."""
    vars(run)["_boxed_call"] = True
    return run


class TracedProgram(Uncopyable):
    """A traced graph as a function of tensors and integers, which returns a list of the graph's results. New tensors
    share no memory with arguments.

    The last results are new values of the arguments whose numbers ``updates`` lists: they are written there, and not
    returned. Integers are lengths, which are at least 0; the ``graph`` itself runs a call with others, and one in which
    an argument starts at another place in its memory than a view by strides has assumed.

    Calls whose tensors lie in memory as those of an earlier call go from PyTorch to machine code without Python, by
    DLPack's exchange API. Others are read as arrays, with the same results.
    """

    def __init__(self, traced: TracedFunction, graph: GraphModule, updates: Sequence[int] = ()) -> None:
        self.traced, self._graph = traced, graph
        self.executable = transformers.default().build(traced.function)
        given = [(at, entry) for at, entry in enumerate(traced.inputs) if entry.parameter is not None]
        self._readers = [(at, _reader(entry)) for at, entry in given]
        self._numbers = [at for at, entry in given if entry.is_number]
        self._writers = [_writer(entry) for entry in traced.outputs[:len(traced.outputs) - len(updates)]]
        self._symbols = _symbols(traced) if any([isinstance(entry.number, Dim) for entry in traced.outputs]) else ()
        self._updates = list(zip(traced.outputs[len(self._writers):], updates, strict=True))
        self._orders = [entry.order for entry in traced.outputs if entry.result is not None]
        self._writes = _writes(traced, self._updates)
        self._call = _tensor_call(traced, graph, self._writes, [read for _, read in self._readers])
        self._offsets = assumed_offsets(graph)
        self._unsure = _maybe_negated(traced, graph)
        self._is_plain = all([entry.result is not None for entry in traced.outputs])
        self._native: Callable[[list[Foreign]], list[torch.Tensor]] | None = None
        self._quick: Callable[[list[Foreign]], list[torch.Tensor]] | None = None
        self._is_looked_at = bool(self._numbers or self._offsets or self._unsure or not self._is_plain)
        self.is_without_ops = is_without_ops(traced, graph, updates)

    def __call__(self, *arguments: Foreign) -> list[Foreign]:
        return self.run(list(arguments))

    @boxed
    def run(self, arguments: list[Foreign]) -> list[Foreign]:
        """Does what a call does, with a list of all arguments."""
        quick = self._quick
        return self._run(arguments) if quick is None else quick(arguments)

    def _run(self, arguments: list[Foreign]) -> list[Foreign]:
        """Does what ``run`` does for any program: what has to be looked at in Python is."""
        if self._numbers and any([isinstance(arguments[at], int) and arguments[at] < 0 for at in self._numbers]):
            return self._traced(arguments)
        if self._offsets and any([arguments[at].storage_offset() != own for at, own in self._offsets.items()]):
            return self._traced(arguments)
        native = self._native
        if native is None or self._unsure and any([arguments[at].is_neg() for at in self._unsure]):
            results = self._by_arrays(arguments)
        else:
            results = native(arguments)
        if self._is_plain:
            return results
        bindings = {name: find(arguments) for name, find in self._symbols}
        return [write(results, bindings) for write in self._writers]

    def _traced(self, arguments: list[Foreign]) -> list[Foreign]:
        """Returns the results as PyTorch computes them."""
        found = self._graph(*arguments)
        results = found if isinstance(found, (list, tuple)) else [found]
        return with_updates(arguments, [at for _, at in self._updates], results)

    def _by_arrays(self, arguments: list[Foreign]) -> list[Foreign]:
        """Returns the results of the function that are no updates, by way of arrays."""
        arrays = [read(arguments[at]) for at, read in self._readers]
        writes = self._writes or {}
        is_in_place = bool(writes) and self._may_write(writes.values(), arguments, arrays)
        if is_in_place:
            targets = [arrays[writes[at]] if at in writes else None for at in range(len(self._orders))]
            found = self.executable(arrays, out=targets, donate=tuple(writes.values()))
        else:
            found = self.executable(arrays)
        if self._native is None and self._call is not None:
            self._native = self.executable.tensor_entry(self._call, self._by_arrays)
            self._quick = None if self._is_looked_at else self._native
        results = [_as_traced(array, order) for array, order in zip(found, self._orders, strict=True)]
        if is_in_place:
            return results[:len(results) - len(self._updates)]
        return with_updates(arguments, [at for _, at in self._updates], results)

    def _may_write(self, numbers: Collection[int], arguments: Sequence[Foreign], arrays: Sequence[np.ndarray]) -> bool:
        """Whether results can be written to the ``arrays`` of these ``numbers``.

        Each is the memory of its tensor among the ``arguments``, without gaps, and shares none with another array.
        """
        for number in numbers:
            array, tensor = arrays[number], arguments[self._readers[number][0]]
            if not (array.flags.c_contiguous and array.flags.writeable
                    and array.__array_interface__["data"][0] == tensor.data_ptr()):
                return False
            if any([np.may_share_memory(array, other) for at, other in enumerate(arrays) if at != number]):
                return False
        return True


def is_without_ops(traced: TracedFunction, graph: GraphModule, updates: Sequence[int]) -> bool:
    """Whether no call of a ``graph``, as it was translated and with these ``updates``, computes by an op of PyTorch."""
    return not (updates or assumed_offsets(graph) or any([entry.is_number for entry in traced.inputs]))


def with_updates(arguments: Sequence[Foreign], updates: Sequence[int], results: Sequence[Foreign]) -> list[Foreign]:
    """Writes the last of the ``results`` to the arguments that ``updates`` lists, and returns the others.

    Results that share memory with these arguments have the elements from before that.
    """
    if not updates:
        return list(results)
    written = {_memory_of(arguments[at]) for at in updates}
    apart = [result.clone() if isinstance(result, torch.Tensor) and _memory_of(result) in written else result
             for result in results]
    first = len(apart) - len(updates)
    with torch.no_grad():
        for at, value in zip(updates, apart[first:], strict=True):
            arguments[at].copy_(value)
    return apart[:first]


def _memory_of(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _as_traced(array: np.ndarray, order: tuple[int, ...] | None) -> torch.Tensor:
    """Returns a result as a tensor with the dimensions that the graph has."""
    return as_tensor(array if order is None else array.transpose(inverse_permutation(order)))


def _writes(traced: TracedFunction, updates: Sequence[tuple[TracedOutput, int]]) -> dict[int, int] | None:
    """Returns the results that take the place of arguments, with the numbers of their parameters.

    None if some ``updates`` are no results of the function, or lie in another order than their arguments.
    """
    places = [at for at, entry in enumerate(traced.inputs) if entry.parameter is not None]
    found = {output.result: places.index(at) for output, at in updates
             if output.result is not None and output.order == traced.inputs[at].order}
    return found if len(found) == len(updates) else None


def _tensor_call(traced: TracedFunction, graph: GraphModule, writes: dict[int, int] | None,
                 readers: Sequence[Callable[[Foreign], np.ndarray]]) -> TensorCall | None:
    """Returns the call without Python, with these ``writes``, or None if there is none for such a ``graph``.

    There is none if an argument is a number, if a tensor may hold other elements than its memory, or if there are other
    updates than these writes.
    """
    function, given = traced.function, [entry for entry in traced.inputs if entry.parameter is not None]
    types = [*[op.dtype for op in function.parameters], *[value.dtype for value in function.results]]
    if any([entry.is_number for entry in given]) or any([dtype.is_complex for dtype in types]):
        return None
    if any([tensor.is_neg() for tensor in _tensors(graph)]):
        return None
    if writes is None:
        return None
    places = [at for at, entry in enumerate(traced.inputs) if entry.parameter is not None]
    return TensorCall((torch.Tensor, torch.nn.Parameter), len(traced.inputs),
                      tuple([TensorArgument(at, traced.inputs[at].order) for at in places]),
                      tuple([TensorResult(entry.order) for entry in traced.outputs if entry.result is not None]),
                      writes,
                      lambda number, tensor: readers[number](tensor))


def _tensors(graph: GraphModule) -> list[torch.Tensor]:
    """Returns the arguments of a graph that are tensors, as they were traced."""
    values = [node.meta.get("val") for node in graph.graph.nodes if node.op == "placeholder"]
    return [value for value in values if isinstance(value, torch.Tensor)]


def _maybe_negated(traced: TracedFunction, graph: GraphModule) -> list[int]:
    """Returns the arguments whose elements may be the negative of what lies in memory, though they were not in the
    trace: gradients that PyTorch gives. Its guards hold for the arguments of forward graphs.
    """
    names = [node.name for node in graph.graph.nodes if node.op == "placeholder"]
    return [at for at, (name, entry) in enumerate(zip(names, traced.inputs, strict=True))
            if name.startswith("tangents") and entry.parameter is not None and not entry.is_number]


def _reader(entry: TracedInput) -> Callable[[Foreign], np.ndarray]:
    """Returns the function that makes an array of an argument."""
    if entry.is_number:
        return lambda number: np.array(number) if isinstance(number, float) else np.empty((number, 0), np.bool_)
    order = entry.order
    if order is None:
        return as_array
    return lambda tensor: as_array(tensor).transpose(order)


def _writer(entry: TracedOutput) -> Callable[[Sequence[Foreign], dict[str, int]], Foreign]:
    """Returns the function that makes a result of the graph from those of the function."""
    at, number = entry.result, entry.number
    if at is not None:
        return lambda results, bindings: results[at]
    if isinstance(number, Dim):
        return lambda results, bindings: evaluate(number, bindings)
    return lambda results, bindings: number


def _symbols(traced: TracedFunction) -> list[tuple[str, Callable[[Sequence[Foreign]], int]]]:
    """Returns how each symbol that stands alone is found among the arguments."""
    found: dict[str, Callable[[Sequence[Foreign]], int]] = {}
    for at, entry in enumerate(traced.inputs):
        if entry.parameter is None:
            continue
        shape = traced.function.parameters[entry.parameter].shape
        for d, length in enumerate(shape):
            if isinstance(length, Dim):
                found.setdefault(str(length), _length_at(at, d, entry))
    return list(found.items())


def _length_at(at: int, d: int, entry: TracedInput) -> Callable[[Sequence[Foreign]], int]:
    if entry.is_number:
        return lambda arguments: int(arguments[at])
    axis = d if entry.order is None else entry.order[d]
    return lambda arguments: int(arguments[at].shape[axis])
