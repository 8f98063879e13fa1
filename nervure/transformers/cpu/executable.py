"""An executable of the cpu transformer: compiled kernels, a program for each binding of sizes, and the fast way in.

A call takes the fast way if all is native and its arguments are as they usually are; then no Python runs between the
caller and the results. Every other call goes once through the checks and conversions that all transformers share, and
gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nervure.ir.function import Function
from nervure.ir.variable import Variable
from nervure.memory.storage import Storage
from nervure.transformers.base import Executable, Transformer
from nervure.transformers.binding import Bindings
from nervure.transformers.cpu import runtime
from nervure.transformers.cpu.failures import fail
from nervure.transformers.cpu.host import host_program
from nervure.transformers.cpu.machine import Target
from nervure.transformers.cpu.native import Places, Segment, compile_segments, make_places, make_program
from nervure.transformers.cpu.plan import HostStep, make_plan
from nervure.transformers.cpu.runtime.memory import empty
from nervure.transformers.cpu.runtime.records import Status
from nervure.transformers.sizes import numbers


class Specialised(NamedTuple):
    """What a call needs for one binding: a program or a function of arrays for each segment."""

    parts: tuple[runtime.Program | Callable[..., Any], ...]
    bindings: Bindings


class CpuExecutable(Executable):
    """A function as machine code."""

    def __init__(self, function: Function, transformer: Transformer, target: Target) -> None:
        super().__init__(function, transformer)
        self.plan = make_plan(function)
        self.segments = compile_segments(self.plan, target)
        self._places: Places = make_places(self.plan, self.segments, {})
        self._roots = {root: number for number, root in enumerate(self.plan.roots)}
        self._old = sorted(self.plan.variables, key=lambda storage: storage.number)

    def specialise(self, bindings: Bindings) -> Specialised:
        parts: list[Any] = []
        for segment in self.segments:
            if isinstance(segment, Segment):
                parts.append(make_program(segment, self._places, bindings, self._roots))
            else:
                parts.append(host_program(segment, bindings))
        return Specialised(tuple(parts), bindings)

    def run(self, specialised: Specialised, arguments: Sequence[np.ndarray],
            states: Mapping[Variable, np.ndarray]) -> Sequence[Any]:
        bindings = specialised.bindings
        results = [self._new(root, bindings) for root in self.plan.roots]
        given = [_plain(array) for array in arguments]
        extra = [self._new(storage, bindings) for storage in self._places.extra]
        variables = [_plain(states[storage.source]) for storage in self._old]
        for segment, part in zip(self.segments, specialised.parts, strict=True):
            if isinstance(part, runtime.Program):
                status = part.run([*given, *extra], results, variables)
                if status.code:
                    self._failed(segment, status, arguments, states)
                continue
            known = dict(zip(self.plan.roots, results, strict=True))
            known.update(zip(self._places.extra, extra, strict=True))
            known.update(zip(self._old, variables, strict=True))
            self._run_host(segment, part, known, given)
        return results

    def _run_host(self, segment: Any, part: Callable[..., Any], known: dict[Storage, np.ndarray],
                  given: Sequence[np.ndarray]) -> None:
        step: HostStep = segment
        for storage in step.read:
            if storage.kind == "argument":
                known[storage] = given[storage.number]
            elif storage.kind == "constant":
                known[storage] = storage.source
        for storage, array in zip(step.outputs, part(known), strict=True):
            np.copyto(known[storage], array)

    def _failed(self, segment: Any, status: Status, arguments: Sequence[np.ndarray],
                states: Mapping[Variable, np.ndarray]) -> None:
        fail(self.function, segment.kernels[status.step].step.lowered if status.code > 0 else None, status, arguments,
             states)

    def _new(self, storage: Storage, bindings: Bindings) -> np.ndarray:
        return empty(numbers(storage.shape, bindings), storage.dtype.numpy)


def _plain(array: np.ndarray) -> np.ndarray:
    """The array itself if it lies in memory as kernels expect, else a copy that does."""
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else np.array(array, order="C", copy=True)
