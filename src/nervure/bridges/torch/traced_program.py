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

from collections.abc import Callable, Sequence

import numpy as np

from nervure import transformers
from nervure.bridges.torch.torch_tensors import as_array, as_tensor
from nervure.bridges.torch.translation import TracedFunction, TracedInput, TracedOutput
from nervure.bridges.torch.unsupported import Foreign
from nervure.ir.identity import Uncopyable
from nervure.types.dim import Dim, evaluate


class TracedProgram(Uncopyable):
    """A traced graph as a function of tensors and integers, which returns a list of the graph's results. New tensors
    share no memory with arguments.

    Integers are lengths, which are at least 0; the ``graph`` itself runs a call with others.
    """

    def __init__(self, traced: TracedFunction, graph: Callable[..., Foreign]) -> None:
        self.traced, self._graph = traced, graph
        self.executable = transformers.default().build(traced.function)
        given = [(at, entry) for at, entry in enumerate(traced.inputs) if entry.parameter is not None]
        self._readers = [(at, _reader(entry)) for at, entry in given]
        self._numbers = [at for at, entry in given if entry.is_number]
        self._writers = [_writer(entry) for entry in traced.outputs]
        self._symbols = _symbols(traced) if any([isinstance(entry.number, Dim) for entry in traced.outputs]) else ()
        self._fast: Callable[..., tuple[np.ndarray, ...]] | None = None

    def __call__(self, *arguments: Foreign) -> list[Foreign]:
        if self._numbers and any([isinstance(arguments[at], int) and arguments[at] < 0 for at in self._numbers]):
            found = self._graph(*arguments)
            return list(found) if isinstance(found, (list, tuple)) else [found]
        arrays = [read(arguments[at]) for at, read in self._readers]
        fast = self._fast
        if fast is None:
            results = self.executable(arrays)
            self._fast = self.executable.entry(self._slow, is_single=False)
        else:
            results = fast(arrays)  # a list stands for all arguments
        bindings = {name: find(arguments) for name, find in self._symbols}
        return [write(results, bindings) for write in self._writers]

    def _slow(self, arrays: list[np.ndarray]) -> tuple[np.ndarray, ...]:
        return self.executable(arrays)


def _reader(entry: TracedInput) -> Callable[[Foreign], np.ndarray]:
    """Returns the function that makes an array of an argument."""
    if entry.is_number:
        return lambda number: np.array(number) if isinstance(number, float) else np.empty((number, 0), np.bool_)
    order = entry.order
    if order is None:
        return as_array
    return lambda tensor: as_array(tensor).transpose(order)


def _writer(entry: TracedOutput) -> Callable[[Sequence[np.ndarray], dict[str, int]], Foreign]:
    """Returns the function that makes a result of the graph from those of the function."""
    at, number = entry.result, entry.number
    if at is None:
        if isinstance(number, Dim):
            return lambda results, bindings: evaluate(number, bindings)
        return lambda results, bindings: number
    if entry.order is None:
        return lambda results, bindings: as_tensor(results[at])
    inverse = sorted(range(len(entry.order)), key=entry.order.__getitem__)
    return lambda results, bindings: as_tensor(results[at]).permute(inverse)


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
