"""Steps that Python runs, as steps of a program: their operands and results lie where those of kernels do.

>>> import numpy as np
>>> import nervure as nv
>>> from nervure.transformers.cpu.compile import compile_function
>>> from nervure.transformers.cpu.machine import Target
>>> x = nv.Parameter(nv.float32, (2,))
>>> called = nv.ops.HostCall(x, function=np.sort, types=(x.value.type,), effectful=False)
>>> loaded = compile_function(nv.Function(called.outputs, [x]), Target.host()).loaded
>>> result, = loaded.program({}).make_results()
>>> loaded.program({}).run([np.float32([2, 1])], [result]).code, result.tolist()
(0, [1.0, 2.0])
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nervure.errors import NervureError
from nervure.kernel.plan import HostStep
from nervure.transformers.binding import Bindings
from nervure.transformers.cpu import runtime
from nervure.transformers.cpu.runtime.host import NANOSECONDS
from nervure.transformers.host import host_program
from nervure.transformers.sizes import numbers


class HostCode(NamedTuple):
    """A step of Python as the code of a compiled function, with the numbers of its storages."""

    host: HostStep
    buffers: Sequence[int]

    def step(self, bindings: Bindings) -> runtime.Step:
        """The step for these sizes."""
        host, run = self.host, host_program(self.host, bindings)
        kinds = [(storage, numbers(storage.shape, bindings), storage.dtype.numpy) for storage in host.storages]

        def call(*addresses: int) -> None:
            arrays = {storage: _array_at(address, shape, dtype)
                      for address, (storage, shape, dtype) in zip(addresses, kinds, strict=True)}
            try:
                results = run(arrays)
            except NervureError:
                raise
            except Exception as error:
                error.add_note(f"while running {host.op!r}, built at {host.op.location}")
                raise
            for storage, result in zip(host.outputs, results, strict=True):
                np.copyto(arrays[storage], np.reshape(result, arrays[storage].shape))  # a reshape of it may lie there

        kernel = runtime.HostKernel(call, len(kinds))
        return runtime.Step(kernel.address, self.buffers, kernel.sizes, nanoseconds=NANOSECONDS, owner=kernel)


def _array_at(address: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Memory as an array, for the time of a call."""
    size = dtype.itemsize
    for length in shape:
        size *= length
    memory: Any = (ctypes.c_char * size).from_address(address) if size else None
    return np.ndarray(shape, dtype, memory)
