"""A transformer for tests: functions are clustered and lowered as for the cpu, and their loops are interpreted.

It shows that lowering is right apart from the code that is made of it. Every op but those that Python has to run
goes through loops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nervure.ir.function import Function
from nervure.ir.leaves import Leaf
from nervure.ir.op import Op
from nervure.ir.variable import Variable
from nervure.kernel.interpret import interpret
from nervure.kernel.plan import KernelStep, OpaqueStep, make_plan
from nervure.memory.storage import Storage, StorageKind
from nervure.ops.scalar import ScalarNamespace
from nervure.transformers.base import Transformer
from nervure.transformers.binding import Bindings
from nervure.transformers.executable import Executable
from nervure.transformers.host import host_program
from nervure.transformers.interpreter.evaluate import supports
from nervure.transformers.interpreter.scalar import NumPyScalars
from nervure.transformers.memory_estimate import numbers
from nervure.types.dim import evaluate
from nervure.types.layout import order_of
from nervure.types.ordered_arrays import Order, in_order


class LoopsExecutable(Executable):
    """A plan whose kernels are interpreted. What is written in place is written in a copy."""

    scalars: ScalarNamespace[np.ndarray] = NumPyScalars()

    def __init__(self, function: Function, transformer: Transformer) -> None:
        super().__init__(function, transformer)
        self.plan = make_plan(function)

    def specialise(self, bindings: Bindings) -> Bindings:
        return bindings

    def run(self, specialised: Bindings, arguments: Sequence[np.ndarray],
            states: Mapping[Variable, np.ndarray]) -> Sequence[Any]:
        arrays: dict[Storage, np.ndarray] = {}

        def array(storage: Storage) -> np.ndarray:
            storage = self.plan.in_place.get(storage, storage)
            if storage not in arrays:
                arrays[storage] = self._array(storage, specialised, arguments, states)
            return arrays[storage]

        for step in self.plan.steps:
            if isinstance(step, OpaqueStep):
                results = host_program(step, specialised)({entry: array(entry) for entry in step.read})
                for storage, result in zip(step.outputs, results, strict=True):
                    arrays[storage] = np.reshape(np.asarray(result, order="C"), numbers(storage.shape, specialised))
            else:
                memory = [_flat(array(storage), storage) for storage in step.lowered.storages]
                self._run_kernel(step, memory, specialised)
        return [array(root) for root in self.plan.roots]

    def _run_kernel(self, step: KernelStep, memory: list[np.ndarray], bindings: Bindings) -> None:
        kernel = step.lowered.kernel
        names = [buffer.name for buffer in kernel.buffers if buffer.is_given]
        failures = interpret(kernel, dict(zip(names, memory, strict=True)), bindings, self.scalars)
        if failures:
            raise IndexError(f"{step.lowered.failures}: {failures}")

    def _array(self, storage: Storage, bindings: Bindings, arguments: Sequence[np.ndarray],
               states: Mapping[Variable, np.ndarray]) -> np.ndarray:
        if storage.kind is StorageKind.ARGUMENT:
            return np.asarray(arguments[storage.number], order="C")
        if storage.kind is StorageKind.CONSTANT:
            return np.asarray(self.plan.constants[storage.number], order="C")
        if storage.kind is StorageKind.VARIABLE:
            state = states[self._variables[storage.number]]
            return in_order(state, _order(storage), copy=storage in self.plan.in_place.values())
        shape = tuple([evaluate(length, bindings) for length in numbers(storage.allocated, bindings)])
        return in_order(np.zeros(shape, storage.dtype.numpy), _order(storage))


def _order(storage: Storage) -> Order:
    """The order in which memory that is kept has its dimensions."""
    return None if storage.layout is None else order_of(storage.layout, storage.shape)


def _flat(array: np.ndarray, storage: Storage) -> np.ndarray:
    """The elements as they lie."""
    order = _order(storage)
    return (array if order is None else array.transpose(order)).reshape(-1)


class Loops(Transformer):
    """Runs what has loops, and the effects."""

    name = "loops"

    def supports(self, op_class: type[Op]) -> bool:
        return issubclass(op_class, Leaf) or supports(op_class)

    def make_executable(self, function: Function) -> Executable:
        return LoopsExecutable(function, self)
