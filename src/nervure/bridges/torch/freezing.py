"""Weights of PyTorch as variables that lie in PyTorch's memory: what is packed of them is kept for each version.

A tensor has one variable, whichever graphs read it, so that its panels exist once. Before a call the addresses and
versions of the weights are compared with what was borrowed: a write by any op of PyTorch raises the version, and
borrowed memory is held, so that nothing else can have its address. Writes that PyTorch does not count, through
``x.data`` or an array of NumPy, are not seen.

>>> import nervure as nv
>>> x = torch.ones(2, 2)
>>> weight = weight_of(x, WeightKind(BasicTensorDescription(nv.float32, (2, 2)), None, "x"))
>>> weight.is_current(x), weight.refresh(x), weight.is_current(x), weight.is_current(x.add_(1))
(False, None, True, False)
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch._guards import TracingContext
from torch.fx import GraphModule
from torch.utils.weak import WeakIdKeyDictionary

from nervure import transformers
from nervure.bridges.torch.torch_tensors import as_array
from nervure.bridges.torch.traced_program import TracedProgram, boxed, is_without_ops
from nervure.bridges.torch.translation import TracedFunction, translated
from nervure.bridges.torch.unsupported import Foreign, UnknownLengths
from nervure.errors import NervureError
from nervure.ir.identity import Uncopyable
from nervure.ir.variable import Variable
from nervure.support import forks
from nervure.transformers.base import Transformer
from nervure.transformers.binding import Binder
from nervure.types.description import BasicTensorDescription

WORTH_BYTES = 4096
"""A smaller weight is packed in less time than its version is compared."""

_known: WeakIdKeyDictionary = WeakIdKeyDictionary()
_lock = forks.lock()

Order = tuple[int, ...] | None


def static_inputs(graph: GraphModule) -> frozenset[str]:
    """Returns the names of the placeholders for parameters and buffers in a graph that PyTorch is compiling."""
    context = TracingContext.try_get()
    numbers = context.fw_metadata.static_input_indices if context is not None and context.fw_metadata else ()
    nodes = graph.graph.find_nodes(op="placeholder")
    return frozenset([nodes[number].name for number in numbers if number < len(nodes)])


def program_of(graph: GraphModule, name: str, updates: Sequence[int] = (),
               static: frozenset[str] = frozenset()) -> TracedProgram | FreezingProgram:
    """Compiles a graph, as a FreezingProgram if placeholders that are named ``static`` are worth it. Unsupported names
    the first op that has no row; UnknownLengths are symbols that no argument tells.
    """
    traced = translated(graph, name)
    unknown = Binder(traced.function).unknown
    if unknown:
        raise UnknownLengths(unknown)
    weights = _weights(traced, graph, updates, static) if static else {}
    if not weights:
        return TracedProgram(traced, graph, updates)

    def make(variables: Mapping[int, Variable]) -> TracedProgram:
        return TracedProgram(translated(graph, name, variables=variables), graph, updates)
    return FreezingProgram(weights, make, is_without_ops(traced, graph, updates))


class WeightKind(NamedTuple):
    """The variable that an argument needs: its type, the order of the tensor's dimensions in memory, and its name."""

    type: BasicTensorDescription
    order: Order
    name: str


def _weights(traced: TracedFunction, graph: GraphModule, updates: Sequence[int],
             static: frozenset[str]) -> dict[int, WeightKind]:
    """Returns the arguments with ``static`` placeholders that are worth a variable, by number: those of two dimensions
    or more, real, not written, and not small.
    """
    found = {}
    for at, (entry, node) in enumerate(zip(traced.inputs, graph.graph.find_nodes(op="placeholder"), strict=True)):
        if node.name not in static or at in updates or entry.parameter is None or entry.is_number:
            continue
        kind = traced.function.parameters[entry.parameter].value.type
        size = kind.nbytes
        if len(kind.shape) > 1 and not kind.dtype.is_complex and isinstance(size, int) and size >= WORTH_BYTES:
            found[at] = WeightKind(kind, entry.order, node.name)
    return found


class BorrowedWeight(Uncopyable):
    """The variable that borrows the memory of one tensor on one transformer, and what was borrowed last."""

    def __init__(self, tensor: torch.Tensor, kind: WeightKind, transformer: Transformer) -> None:
        self.tensor = weakref.ref(tensor)
        self.variable = Variable(kind.type, name=kind.name)
        self._order, self._transformer = kind.order, transformer
        self._borrowed: tuple[int, int] | None = None
        self._lock = forks.lock()

    def is_current(self, tensor: Foreign) -> bool:
        """Whether the variable lies in the memory of ``tensor``, in its present version."""
        is_same: bool = self.tensor() is tensor
        return is_same and self._borrowed == (tensor.data_ptr(), tensor._version)

    def refresh(self, tensor: torch.Tensor) -> None:
        """Borrows the memory of the tensor, if it is not current.

        InvalidArgument if it lies with gaps, or shares memory with another weight; RuntimeError if the tensor has no
        version.
        """
        with self._lock:
            if not self.is_current(tensor):
                address, version = tensor.data_ptr(), tensor._version
                array = as_array(tensor, is_kept=True)
                self._borrowed = None
                self._transformer.borrow(self.variable, array if self._order is None else array.transpose(self._order),
                                         version)
                self._borrowed = address, version


def weight_of(tensor: torch.Tensor, kind: WeightKind) -> BorrowedWeight:
    """Returns what borrows a tensor as a variable of this kind on the default transformer, as long as it lives."""
    transformer = transformers.default()
    with _lock:
        known: dict[object, BorrowedWeight] = _known.setdefault(tensor, {})
        key = kind.type, kind.order, transformer
        if key not in known:
            known[key] = BorrowedWeight(tensor, kind, transformer)
        return known[key]


class FreezingProgram(Uncopyable):
    """A traced graph with weights that are variables: a program for each set of weights that it is called with.

    ``make`` makes the program in which variables stand for the arguments of these numbers. Weights that cannot be
    borrowed, since they share memory or have no version, are arguments like others. ``is_without_ops`` says that these
    programs compute nothing by ops of PyTorch.
    """

    def __init__(self, kinds: Mapping[int, WeightKind],
                 make: Callable[[Mapping[int, Variable]], TracedProgram], is_without_ops: bool = False) -> None:
        self._kinds, self._make, self.is_without_ops = kinds, make, is_without_ops
        self._sets: dict[tuple[int, ...], WeightSet] = {}
        self._last: WeightSet | None = None
        self._lock = forks.lock()

    @boxed
    def run(self, arguments: list[Foreign]) -> list[Foreign]:
        """Runs the program for the weights among the ``arguments``."""
        last = self._last
        if last is None or not last.is_current(arguments):
            last = self._found(arguments)
        return last.program.run(arguments)

    def __call__(self, *arguments: Foreign) -> list[Foreign]:
        return self.run(list(arguments))

    def _found(self, arguments: Sequence[Foreign]) -> WeightSet:
        """Returns the program for the weights among the ``arguments``, which it borrows."""
        key = tuple([id(arguments[at]) for at in self._kinds])
        with self._lock:
            found = self._sets.get(key)
            if found is None or not found.is_of(arguments):
                found = self._sets[key] = self._made(arguments, key)
            found.refresh(arguments)
            self._last = found if found.weights else None
            return found

    def _made(self, arguments: Sequence[Foreign], key: tuple[int, ...]) -> WeightSet:
        own = weakref.ref(self)

        def forget(_: object) -> None:
            program = own()
            if program is not None:
                program._forget(key)
        alive = [weakref.ref(arguments[at], forget) for at in self._kinds]
        weights = {at: weight_of(arguments[at], kind) for at, kind in self._kinds.items()}
        try:
            for at, weight in weights.items():
                weight.refresh(arguments[at])
        except (NervureError, RuntimeError):
            return WeightSet(self._make({}), {}, alive)
        return WeightSet(self._make({at: weight.variable for at, weight in weights.items()}), weights, alive)

    def _forget(self, key: tuple[int, ...]) -> None:
        with self._lock:
            gone = self._sets.pop(key, None)
            if gone is self._last:
                self._last = None


class WeightSet(NamedTuple):
    """The program for some tensors, which are ``alive``, and the weights that are borrowed for it, by argument."""

    program: TracedProgram
    weights: Mapping[int, BorrowedWeight]
    alive: Sequence[weakref.ref[torch.Tensor]]

    def is_of(self, arguments: Sequence[Foreign]) -> bool:
        """Whether the weights are those among the ``arguments``."""
        return all([weight.tensor() is arguments[at] for at, weight in self.weights.items()])

    def is_current(self, arguments: Sequence[Foreign]) -> bool:
        """Whether the weights are those among the ``arguments``, in their present memory and version."""
        for at, weight in self.weights.items():
            if not weight.is_current(arguments[at]):
                return False
        return True

    def refresh(self, arguments: Sequence[Foreign]) -> None:
        """Borrows the weights among the ``arguments`` that have changed."""
        for at, weight in self.weights.items():
            weight.refresh(arguments[at])
