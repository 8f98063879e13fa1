"""A program: the kernels of one call, in order, for one binding of the sizes, and the places of their buffers.

>>> import numpy as np
>>> from nervure.transformers.cpu.runtime.records import KERNEL
>>> @KERNEL
... def double(buffers, sizes, begin, end, scratch, status):
...     source, target = (ctypes.c_int64 * 2).from_address(buffers)
...     for k in range(begin, end):
...         ctypes.c_int64.from_address(target + 8 * k).value = 2 * ctypes.c_int64.from_address(source + 8 * k).value
>>> step = ProgramStep(ctypes.cast(double, ctypes.c_void_p).value, buffers=[0, 1], extent=3)
>>> program = Program([step], [argument(0), result(0)])
>>> target = np.zeros(3, np.int64)
>>> program.run([np.array([1, 2, 3])], [target]).code, target
(0, array([2, 4, 6]))
"""

from __future__ import annotations

import copy
import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import numpy as np

from nervure.transformers.cpu.runtime import found_sizes, pooled_arrays, records, runtime_library
from nervure.transformers.cpu.runtime.panels import PanelMemory
from nervure.transformers.cpu.runtime.records import BufferKind, Status
from nervure.types.layout import Layout
from nervure.types.ordered_arrays import Order, byte_strides, empty

_Record = TypeVar("_Record", bound=ctypes.Structure)


class ProgramStep(NamedTuple):
    """One kernel: its address, the numbers of its buffers in the program, and its sizes.

    ``extent`` is the range that is split over threads, at multiples of ``alignment``; ``nanoseconds`` an estimate for
    all of it on one core; ``scratch`` the bytes that each thread needs for itself. ``in_place`` says whether it writes
    memory of a variable, after which a call runs to its end; ``ordered`` whether its chunks run in order, by one
    thread. ``panel`` is a result kept for later calls: most calls skip such a step, and its time does not count.
    ``owner`` owns the kernel's code; the program keeps it alive. A branch or a loop has a ``runner``, and its record as
    the kernel; ``longest`` is the time of its longest step that threads may share (absent: of the kernel). ``found``
    are the instructions for sizes that depend on found lengths, ``borrowed`` the most bytes that it takes from the pool
    of memory while it runs.
    """

    kernel: int
    buffers: Sequence[int]
    sizes: Sequence[int] = ()
    extent: int = 1
    alignment: int = 1
    nanoseconds: int = 0
    scratch: int = 0
    in_place: bool = False
    ordered: bool = False
    owner: object = None
    panel: PanelMemory | None = None
    runner: int = 0
    longest: int | None = None
    found: Sequence[int] = ()
    borrowed: int = 0

    @property
    def table_count(self) -> int:
        """The words that the step needs for its buffers, and for itself if its sizes are computed while a call runs."""
        return len(self.buffers) + (found_sizes.room(len(self.sizes)) if self.found else 0)


class BufferLocation(NamedTuple):
    """The place of a buffer, made by ``argument``, ``result``, ``variable``, ``arena`` or ``constant``."""

    kind: BufferKind
    number: int
    offset: int = 0
    owner: object = None


def argument(number: int, offset: int = 0) -> BufferLocation:
    """Returns the memory of an argument, from ``offset`` bytes after its first element."""
    return BufferLocation(BufferKind.ARGUMENT, number, offset)


def result(number: int, offset: int = 0) -> BufferLocation:
    """Returns the memory of a result."""
    return BufferLocation(BufferKind.RESULT, number, offset)


def variable(number: int, offset: int = 0) -> BufferLocation:
    """Returns the memory of a variable at the start of the call."""
    return BufferLocation(BufferKind.VARIABLE, number, offset)


def arena(offset: int) -> BufferLocation:
    """Returns a place in the memory that belongs to one call."""
    return BufferLocation(BufferKind.ARENA, 0, offset)


def constant(array: np.ndarray) -> BufferLocation:
    """Returns the memory of an array, which the program keeps alive."""
    return BufferLocation(BufferKind.CONSTANT, array.ctypes.data, 0, array)


def panel(kept: PanelMemory) -> BufferLocation:
    """Returns the memory of a panel."""
    return BufferLocation(BufferKind.CONSTANT, kept.memory.ctypes.data, 0, kept)


class Array(NamedTuple):
    """The type and shape of an argument, a result or a variable, and the order of its dimensions in memory without
    gaps.

    ``variable`` is, for a result, the number of the variable that takes it; for a variable, its own number if steps
    write it in place, ``REPLACED`` if a result takes its place; else -1.
    """

    dtype: np.dtype
    shape: tuple[int, ...]
    variable: int = -1
    order: Order = None

    @property
    def bytes(self) -> int:
        """The bytes of its elements."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """The strides in bytes; empty for row-major memory."""
        return () if self.order is None else byte_strides(self.shape, self.order, self.dtype.itemsize)


class Program:
    """Steps in order, ready to run any number of times, by several threads at once.

    ``arguments``, ``results`` and ``variables`` are needed by an entry, which makes results itself; results that
    variables take come last. ``run`` uses the memory that it is given. ``borrowed`` are the most bytes that its steps
    take at one time beside it.
    """

    def __init__(self, steps: Sequence[ProgramStep], buffers: Sequence[BufferLocation], arena_bytes: int = 0,
                 arguments: Sequence[Array] = (), results: Sequence[Array] = (),
                 variables: Sequence[Array] = ()) -> None:
        self._kept: list[object] = [*[buffer.owner for buffer in buffers], *[step.owner for step in steps],
                                    *[step.panel for step in steps]]
        usual = [step for step in steps if step.panel is None]
        self._results = results
        self.borrowed = max([step.borrowed for step in steps], default=0)
        self.record = records.ProgramRecord(
            steps=self._table([self._step(step) for step in steps], records.StepRecord), step_count=len(steps),
            buffers=self._table([records.BufferRecord(*buffer[:3]) for buffer in buffers], records.BufferRecord),
            buffer_count=len(buffers), table_count=max([step.table_count for step in steps], default=0),
            arena_bytes=arena_bytes, scratch_bytes=max([-(-step.scratch // 64) * 64 for step in steps], default=0),
            nanoseconds=sum([step.nanoseconds for step in usual]),
            longest=max([step.nanoseconds if step.longest is None else step.longest
                         for step in usual if not step.ordered], default=0), owner=id(self),
            arguments=self._arrays(arguments), argument_count=len(arguments), results=self._arrays(results),
            result_count=len(results), returned_count=len([entry for entry in results if entry.variable < 0]),
            result_bytes=sum([entry.bytes for entry in results]), variables=self._arrays(variables),
            variable_count=len(variables))
        self.address = ctypes.addressof(self.record)

    def part(self, first: int, count: int) -> Program:
        """Returns some of the steps as a program that runs them as this one would, with as many threads."""
        part = copy.copy(self)  # it keeps the same objects alive
        part.record = records.ProgramRecord.from_buffer_copy(self.record)
        part.record.steps = (self.record.steps or 0) + first * ctypes.sizeof(records.StepRecord)
        part.record.step_count, part.record.owner = count, id(part)
        part.address = ctypes.addressof(part.record)
        return part

    def make_results(self, given: Mapping[int, np.ndarray] = MappingProxyType({})) -> list[np.ndarray]:
        """Makes new arrays for the results, in the pool's memory, except those ``given`` by their numbers. MemoryError
        if there is none.
        """
        return [given[number] if number in given else self._made(number) for number in range(len(self._results))]

    def _made(self, number: int) -> np.ndarray:
        entry = self._results[number]
        if isinstance(entry.order, Layout) or not pooled_arrays.is_known():
            return empty(entry.shape, entry.dtype, entry.order)
        return pooled_arrays.new_array((self.record.results or 0) + number * ctypes.sizeof(records.ArrayRecord))

    def run(self, arguments: Sequence[np.ndarray], results: Sequence[np.ndarray] = (),
            variables: Sequence[np.ndarray] = ()) -> Status:
        """Runs the steps on the arrays, of any strides, and returns the outcome. ``arguments``, ``results`` and
        ``variables`` are in the program's order. An exception of a host step or a signal handler is raised after the
        call has ended.
        """
        status = Status()
        address = ctypes.addressof(status)
        if pooled_arrays.is_known():
            _function("run_lists", True)(self.address, list(arguments), list(results), list(variables), address)
        else:
            _function("run_call", False)(self.address, _addresses(arguments), _addresses(results),
                                         _addresses(variables), address)
        return status

    def _step(self, step: ProgramStep) -> records.StepRecord:
        return records.StepRecord(kernel=step.kernel, buffers=self._integers(step.buffers),
                                  buffer_count=len(step.buffers), sizes=self._integers(step.sizes),
                                  extent=step.extent, alignment=step.alignment,
                                  nanoseconds=step.nanoseconds, in_place=step.in_place, ordered=step.ordered,
                                  panel=step.panel.address if step.panel else 0, runner=step.runner,
                                  found=self._integers(step.found) if step.found else 0,
                                  found_count=len(step.found) // 2)

    def _arrays(self, entries: Sequence[Array]) -> int:
        self._kept.append(list(entries))
        return self._table([records.ArrayRecord(descr=id(entry.dtype), rank=len(entry.shape), bytes=entry.bytes,
                                                dims=self._integers(entry.shape), variable=entry.variable,
                                                strides=self._integers(entry.strides) if entry.strides else 0)
                            for entry in entries], records.ArrayRecord)

    def _integers(self, numbers: Sequence[int]) -> int:
        return self._keep((ctypes.c_int64 * len(numbers))(*numbers))

    def _table(self, entries: Sequence[_Record], kind: type[_Record]) -> int:
        return self._keep((kind * len(entries))(*entries))

    def _keep(self, table: ctypes.Array[ctypes.c_int64] | ctypes.Array[_Record]) -> int:
        """Returns the address of a table, which lives as long as the program."""
        self._kept.append(table)
        return ctypes.addressof(table)


@cache
def _function(name: str, takes_lists: bool) -> Callable[..., None]:
    """Returns the native function that runs a program."""
    table = ctypes.py_object if takes_lists else ctypes.c_void_p
    return ctypes.PYFUNCTYPE(None, ctypes.c_void_p, table, table, table, ctypes.c_void_p)(
        runtime_library.library().address(name))


def _addresses(arrays: Sequence[np.ndarray]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(arrays))(*[array.__array_interface__["data"][0] for array in arrays])
