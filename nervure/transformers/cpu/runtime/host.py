"""Steps of a program that are Python: what has no kernel runs in its place among those that have one.

>>> import numpy as np
>>> from nervure.transformers.cpu.runtime.program import Program, Step, argument, result
>>> def reverse(source, target):
...     numbers = (ctypes.c_int64 * 3).from_address(source)
...     (ctypes.c_int64 * 3).from_address(target)[:] = numbers[::-1]
>>> kernel = HostKernel(reverse, count=2)
>>> step = Step(kernel.address, buffers=[0, 1], nanoseconds=NANOSECONDS, owner=kernel)
>>> program = Program([step], [argument(0), result(0)])
>>> target = np.zeros(3, np.int64)
>>> program.run([np.array([1, 2, 3])], [target]).code, target
(0, array([3, 2, 1]))

What the function raises ends the call like any failure, and is raised where the call came from.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from nervure.transformers.cpu.runtime import native
from nervure.transformers.cpu.runtime.forking import CALL_UNDER_WAY
from nervure.transformers.cpu.runtime.records import KERNEL, Code, Status

NANOSECONDS = 20_000
"""The least estimate for a step that is Python: its call gives the GIL away before it starts."""

_raised: dict[int, BaseException] = {}


class HostKernel:
    """A function of Python as a kernel: it is called with the addresses of its buffers.

    It must live as long as its step: it is the step's owner. The step has extent 1.
    """

    def __init__(self, function: Callable[..., object], count: int) -> None:
        self._callback = _as_kernel(function, ctypes.c_void_p * count)
        # Not ctypes.cast, which ties an object to itself.
        self.address: int = ctypes.c_void_p.from_buffer(self._callback).value or 0


def _as_kernel(function: Callable[..., object], table: Any) -> Any:
    team = native.team()

    def run(buffers: int, sizes: int, begin: int, end: int, scratch: int, status: int) -> None:
        # A fork inside the function is no fork in the middle of native code: this thread goes on in the child.
        team.calls -= 1
        try:
            with CALL_UNDER_WAY:
                function(*table.from_address(buffers))
        except BaseException as error:
            _raised[status] = error
            Status.from_address(status).code = Code.RAISED
        finally:
            team.calls += 1

    return KERNEL(run)


def raise_what_was_raised(status: int) -> None:
    """Raises what the host step of a call has raised, if it has."""
    error = _raised.pop(status, None)
    if error is not None:
        raise error
