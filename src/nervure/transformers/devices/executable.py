"""An executable of several: parts on their devices, one after the other, and the values that pass between them.

Parts compute values alone. The whole binds the arguments, reads the cells, and stores all new values at the end, so a
call does everything or changes nothing.

>>> import nervure as nv
>>> w = nv.variable((2,), 1.0)
>>> with nv.devices(nv.NumPyTensor):
...     grown = w * 3
>>> step = nv.computation([nv.assign(w, grown + 1), w])
>>> [(part.device, len(part.inputs), len(part.outputs)) for part in step.executable.parts]
[('interpreter', 1, 1), ('cpu', 1, 1)]
>>> step()[1].tolist(), w.tolist()
([4.0, 4.0], [4.0, 4.0])
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nervure.ir.device import Device
from nervure.ir.function import Function
from nervure.ir.leaves import ReadVariable
from nervure.ir.op import Op, Value
from nervure.ir.variable import Variable
from nervure.passes.partition import Part, is_given
from nervure.transformers.base import Executable
from nervure.transformers.binding import Bindings
from nervure.transformers.devices.elements import Elements, at_home, to_array
from nervure.transformers.devices.moving import moved
from nervure.transformers.devices.placing import PlacedFunction
from nervure.transformers.devices.pool import Lease, lease
from nervure.transformers.devices.python_program import PythonProgram

if TYPE_CHECKING:
    from nervure.transformers.devices.transformer import DeviceTransformer
    from nervure.transformers.report import CompilationReport, StepReport, Times
    from nervure.types.description import TensorDescription

Stored = np.ndarray | Elements
"""A value while a call runs: an array if a transformer made it, else a tensor of a device."""


class FirstReader(NamedTuple):
    """The first op of a part that reads a value from outside, and its device."""

    op: Op
    device: type[Device]
    is_strict: bool


class Stage(NamedTuple):
    """A part, its executable or program, the readers of its inputs, and the values that are not read after it."""

    part: Part
    work: Executable | PythonProgram
    readers: tuple[FirstReader, ...]
    dropped: tuple[Value, ...]

    def run(self, given: list[Stored], bindings: Bindings, made: Lease) -> Sequence[Stored]:
        """Returns the results of the part for its inputs, ``given``, which are on the devices of their readers."""
        if isinstance(self.work, Executable):
            return self.work(self._arguments(given, bindings))
        return self.work.run(_elements(given), bindings, made)

    def steps(self, bindings: Bindings | None) -> Sequence[StepReport]:
        """Returns its steps for explanations: those of the executable, else its ops."""
        from nervure.transformers.report import ops_as_steps
        if not isinstance(self.work, Executable):
            return ops_as_steps(self.part.function, bindings)
        return self.work.make_report(bindings if self.work.function.symbols else {}).steps

    def times(self, given: list[Stored], bindings: Bindings, repeat: int) -> Sequence[float]:
        """Returns the median seconds of its steps over ``repeat`` runs."""
        if isinstance(self.work, Executable):
            return self.work.measure(self._arguments(given, bindings), repeat).steps
        rows: list[list[int]] = []
        for _ in range(repeat):
            rows.append([time.perf_counter_ns()])
            with lease() as made:
                self.work.run(_elements(given), bindings, made, rows[-1])
        seconds: list[float] = (np.median(np.diff(np.array(rows, np.int64), axis=1), axis=0) * 1e-9).tolist()
        return seconds

    def _arguments(self, given: list[Stored], bindings: Bindings) -> list[np.ndarray]:
        sizes = [np.empty((0, bindings[str(symbol)]), np.bool_) for symbol in self.part.sizes]
        return [*map(_array, given), *sizes]


class DeviceExecutable(Executable):
    """A placed function as stages."""

    transformer: DeviceTransformer

    def __init__(self, placed: PlacedFunction, transformer: DeviceTransformer, parts: Sequence[Part]) -> None:
        super().__init__(placed.function, transformer)
        self._devices = placed.devices
        last = {value: number for number, part in enumerate(parts) for value in (*part.outputs, *part.inputs)}
        kept = set(placed.function.roots)
        self._stages = [
            Stage(part, self._work(part), self._readers(part),
                  tuple([value for value, at in last.items() if at == number and value not in kept]))
            for number, part in enumerate(parts)]

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts in the order in which they run."""
        return tuple([stage.part for stage in self._stages])

    def _work(self, part: Part) -> Executable | PythonProgram:
        if isinstance(part.device, str):
            return self.transformer.native(part.device).build(part.function)
        assert isinstance(part.device, type)
        return PythonProgram(part.function, part.device)

    def _readers(self, part: Part) -> tuple[FirstReader, ...]:
        """Returns the reader of each input; a view of an input that has no device is read for the part's first op."""
        first: dict[Value, Op] = {}
        for op in part.members:
            for value in op.operands:
                first.setdefault(value, op)
        listed = [first.get(value, part.members[0]) for value in part.inputs]
        return tuple([FirstReader(op, self._device_of(op), self.transformer.placing.list_of(op).strict)
                      for op in listed])

    def _device_of(self, op: Op) -> type[Device]:
        """Returns the device on which the value of an op is made; a value from outside is at home."""
        return self._devices.get(op) or self.transformer.placing.home

    @property
    def value_descriptions(self) -> dict[Value, TensorDescription]:
        """The descriptions of the parts' values; each part has its own."""
        from nervure.transformers.descriptions import described_values, each_by_itself
        found: dict[Value, TensorDescription] = {}
        for stage in self._stages:
            function = stage.part.function
            found |= stage.work.value_descriptions if isinstance(stage.work, Executable) else described_values(
                function, each_by_itself(function))
        return found

    def specialise(self, bindings: Bindings) -> Bindings:
        return bindings

    def make_report(self, bindings: Bindings | None) -> CompilationReport:
        """Reports the steps of each part, which name its device."""
        from nervure.transformers.report import CompilationReport
        listed = [(step, stage.part.device) for stage in self._stages for step in stage.steps(bindings)]
        steps = [replace(step, number=number, name=f"{step.name} on {_spelled(device)}")
                 for number, (step, device) in enumerate(listed)]
        return CompilationReport(self.function.name, self.transformer.name, tuple((bindings or {}).items()),
                                 tuple(steps))

    def run(self, specialised: Bindings, arguments: Sequence[np.ndarray],
            states: Mapping[Variable, np.ndarray]) -> Sequence[np.ndarray]:
        return self._run(specialised, arguments, states)

    def time_steps(self, bindings: Bindings, arguments: Sequence[np.ndarray], states: Mapping[Variable, np.ndarray],
                   repeat: int) -> Times:
        """Measures the times of steps, and of calls including the moves between devices, over ``repeat`` runs."""
        from nervure.transformers.report import Times
        steps: list[float] = []
        self._run(bindings, arguments, states, lambda stage, given: steps.extend(stage.times(given, bindings, repeat)))
        together = []
        for _ in range(repeat):
            start = time.perf_counter_ns()
            self._run(bindings, arguments, states)
            together.append(time.perf_counter_ns() - start)
        return Times(tuple(steps), float(np.median(together)) * 1e-9)

    def _run(self, bindings: Bindings, arguments: Sequence[np.ndarray], states: Mapping[Variable, np.ndarray],
             look: Callable[[Stage, list[Stored]], object] | None = None) -> Sequence[np.ndarray]:
        """Returns the values of results and updates; ``look`` is called with each stage and its inputs."""
        held: dict[Value, Stored] = _given_values(self.function, arguments, states)
        with lease() as made:
            for stage in self._stages:
                given = [self._brought(value, held[value], reader, made)
                         for value, reader in zip(stage.part.inputs, stage.readers, strict=True)]
                if look is not None:
                    look(stage, given)
                held.update(zip(stage.part.outputs, stage.run(given, bindings, made), strict=True))
                for value in stage.dropped:
                    del held[value]
            return [_outlasting(held[value]) for value in self.function.roots]

    def _brought(self, value: Value, stored: Stored, reader: FirstReader, made: Lease) -> Stored:
        """Returns a value on the device of its reader."""
        source, target = self._device_of(value.op), reader.device
        if isinstance(stored, np.ndarray):
            if target.transformer is not None and (is_given(value.op) or issubclass(source, target)
                                                   or issubclass(target, source)):
                return stored
            stored = at_home(source, stored)
        return moved(stored, target, None if is_given(value.op) else reader.op, reader.is_strict, made)


def _spelled(device: object) -> str:
    """Returns a transformer or a device written in Python, by its name."""
    return device.__name__ if isinstance(device, type) else str(device)


def _given_values(function: Function, arguments: Sequence[np.ndarray],
                  states: Mapping[Variable, np.ndarray]) -> dict[Value, Stored]:
    """Returns the values that come from outside: of parameters, and of variables."""
    known: dict[Value, Stored] = {
        op.output: array for op, array in zip(function.parameters, arguments, strict=True)}
    for op in function.operations:
        if isinstance(op, ReadVariable):
            known[op.output] = states[op.variable]
    return known


def _elements(given: list[Stored]) -> list[Elements]:
    """Returns the inputs of a part in Python."""
    return [entry for entry in given if isinstance(entry, Elements)]


def _array(stored: Stored) -> np.ndarray:
    return stored if isinstance(stored, np.ndarray) else np.asarray(to_array(stored), order="C")


def _outlasting(stored: Stored) -> np.ndarray:
    """Returns an array that is not in the memory of the call."""
    return stored if isinstance(stored, np.ndarray) else np.array(to_array(stored), order="C", copy=True)
