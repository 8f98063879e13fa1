"""Host steps, as steps of a program: Python functions with operands and results in the same memory as those of
kernels.

>>> import numpy as np
>>> import nervure as nv
>>> from nervure.transformers.cpu.compile.compilation import compile_function
>>> from nervure.transformers.cpu.target import Target
>>> x = nv.Parameter(nv.float32, (2,))
>>> called = nv.ops.HostCall(x, function=np.sort, types=(x.value.type,), effectful=False)
>>> loaded = compile_function(nv.Function(called.outputs, [x]), Target.host()).loaded
>>> result, = loaded.program({}).make_results()
>>> loaded.program({}).run([np.float32([2, 1])], [result]).code, result.tolist()
(0, [1.0, 2.0])

An exception of the function ends the call like any failure, and is raised where the call was made.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nervure.kernel.plan import OpaqueStep
from nervure.memory.storage import Storage
from nervure.transformers.binding import Bindings
from nervure.transformers.cpu import runtime
from nervure.transformers.cpu.compiled import byte_size
from nervure.transformers.cpu.runtime import runtime_library
from nervure.transformers.cpu.runtime.forking import CALL_UNDER_WAY
from nervure.transformers.host import host_program
from nervure.transformers.memory_estimate import numbers
from nervure.types.dim import evaluate

NANOSECONDS = 20_000
"""The least estimate for a Python step, so that its call releases the GIL before it starts."""


class HostKernel:
    """A function of Python as a kernel: it is called with the addresses of its ``count`` buffers."""

    def __init__(self, function: Callable[..., object], count: int) -> None:
        table = ctypes.c_void_p * count

        def run(buffers: int) -> None:
            with CALL_UNDER_WAY:
                function(*table.from_address(buffers))

        self._run = run

    def step(self, buffers: Sequence[int]) -> runtime.ProgramStep:
        """Returns a step that calls it, and keeps it alive."""
        address = runtime_library.library().address("call_python")
        return runtime.ProgramStep(address, buffers, (id(self._run),), nanoseconds=NANOSECONDS, owner=self)


class HostCode(NamedTuple):
    """A host step as the code of a compiled function, with the numbers of its storages."""

    host: OpaqueStep
    buffers: Sequence[int]

    def step(self, bindings: Bindings) -> runtime.ProgramStep:
        """Returns the step for these sizes."""
        host, run = self.host, host_program(self.host, bindings)
        readers = [(storage, _reader(storage, bindings)) for storage in host.storages]

        def call(*addresses: int) -> None:
            arrays = {storage: array_at(address)
                      for address, (storage, array_at) in zip(addresses, readers, strict=True)}
            for storage, result in zip(host.outputs, run(arrays), strict=True):
                np.copyto(arrays[storage], np.reshape(result, arrays[storage].shape))  # perhaps it holds a reshape

        return HostKernel(call, len(readers)).step(self.buffers)


def _reader(storage: Storage, bindings: Bindings) -> Callable[[int], np.ndarray]:
    """Returns a function from the address of memory to an array, which is valid for the time of a call."""
    size, dtype, layout = byte_size(storage, bindings), storage.dtype.numpy, storage.layout
    shape, strides, offset = numbers(storage.shape, bindings), None, 0
    if layout is not None:
        strides = tuple([stride * dtype.itemsize for stride in numbers(layout.strides, bindings)])
        offset = evaluate(layout.offset, bindings) * dtype.itemsize

    def array_at(address: int) -> np.ndarray:
        memory: Any = (ctypes.c_char * size).from_address(address) if size else None
        return np.ndarray(shape, dtype, memory, offset, strides)
    return array_at
