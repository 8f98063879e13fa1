"""Steps of a program that are Python: what has no kernel runs in its place among those that have one.

>>> import numpy as np
>>> from nervure.transformers.cpu.runtime.program import Program, Step, argument, result
>>> def reverse(source, target):
...     numbers = (ctypes.c_int64 * 3).from_address(source)
...     (ctypes.c_int64 * 3).from_address(target)[:] = numbers[::-1]
>>> kernel = HostKernel(reverse, count=2)
>>> step = Step(kernel.address, [0, 1], kernel.sizes, nanoseconds=NANOSECONDS, owner=kernel)
>>> program = Program([step], [argument(0), result(0)])
>>> target = np.zeros(3, np.int64)
>>> program.run([np.array([1, 2, 3])], [target]).code, target
(0, array([3, 2, 1]))

What the function raises ends the call like any failure, and is raised where the call came from.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from nervure.transformers.cpu.runtime import native
from nervure.transformers.cpu.runtime.forking import CALL_UNDER_WAY

NANOSECONDS = 20_000
"""The least estimate for a step that is Python: its call gives the GIL away before it starts."""


class HostKernel:
    """A function of Python as a kernel: it is called with the addresses of its ``count`` buffers.

    It must live as long as its step: it is the step's owner. The step has extent 1 and these ``sizes``.
    """

    def __init__(self, function: Callable[..., object], count: int) -> None:
        table = ctypes.c_void_p * count

        def run(buffers: int) -> None:
            with CALL_UNDER_WAY:
                function(*table.from_address(buffers))

        self._run = run
        self.address: int = native.library().address("call_python")
        self.sizes = (id(run),)
