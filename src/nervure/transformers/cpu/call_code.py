"""Whole ops as steps of a program: calls of the runtime's own code, and of loops of NumPy's, which need no Python.

A generalised function of NumPy holds a table of loops, one for each list of element types, and data for each. Their
offsets in the function's memory are those of ``PyUFuncObject``, which NumPy's C headers declare.

>>> loop, data = addresses("solve", "dd->d")
>>> loop != 0
True
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

import numpy as np

from nervure import flags
from nervure.errors import NotSupported
from nervure.transformers.binding import Bindings
from nervure.transformers.cpu import runtime
from nervure.transformers.cpu.compiled import PARTS, CompiledCall, CompiledKernel
from nervure.transformers.cpu.kept_panels import Panels
from nervure.transformers.cpu.runtime import runtime_library
from nervure.transformers.cpu.runtime.cores import threads
from nervure.transformers.memory_estimate import most
from nervure.types.dim import DimLike

_NIN, _NOUT, _FUNCTIONS, _DATA, _NTYPES = 16, 20, 32, 40, 48

_MODULES = ("numpy.linalg._umath_linalg", "numpy.fft._pocketfft_umath")
"""Where NumPy keeps its generalised functions."""


class CallCode(NamedTuple):
    """A whole op as the code of a compiled function: its step, and the sizes that depend on found lengths."""

    kernel: CompiledKernel
    found: runtime.FoundSizes | None

    @property
    def call(self) -> CompiledCall:
        """The function that the step calls, and how."""
        assert self.kernel.call is not None
        return self.kernel.call

    def most_borrowed(self, panels: Sequence[Panels] = ()) -> DimLike:
        """Returns a bound of the bytes that it takes from the pool of memory, in symbols; it has no ``panels``."""
        rows, most_rows = self.call.rows, threads(flags.threads)
        return self.call.row_bytes * (min(rows, most_rows) if isinstance(rows, int) else most_rows)

    def step(self, bindings: Bindings) -> runtime.ProgramStep:
        """Returns the step for these sizes."""
        call, launch = self.call, self.kernel.launch
        sizes, found = most(launch.sizes, bindings), self.found
        if call.loop:
            known = addresses(call.loop, call.types)
            sizes = (*known, *sizes[2:])
            found = None if found is None else found._replace(
                sizes=(found.sizes[0], *enumerate(known), *found.sizes[3:]))
        nanoseconds = launch.duration.nanoseconds(bindings)
        rows, row_bytes = most((call.rows, call.row_bytes), bindings)
        borrowed = min(rows, threads(flags.threads)) * row_bytes if row_bytes else 0
        return runtime.ProgramStep(
            0, self.kernel.buffers, sizes, nanoseconds=nanoseconds,
            runner=runtime_library.library(PARTS[call.function]).address(call.function),
            longest=nanoseconds if call.is_shared else 0, borrowed=borrowed,
            found=() if found is None else found.instructions(bindings))


def addresses(name: str, types: str) -> tuple[int, int]:
    """Returns the addresses of the loop for these element types of NumPy's function ``name``, and of the loop's data.

    NotSupported where there is none, or where the memory of the function is not as NumPy 2 declares it.
    """
    function = next((found for module in map(import_module, _MODULES)
                     if isinstance(found := getattr(module, name, None), np.ufunc)), None)
    if function is None or types not in function.types or [
            ctypes.c_int.from_address(id(function) + offset).value for offset in (_NIN, _NOUT, _NTYPES)
            ] != [function.nin, function.nout, function.ntypes]:
        raise NotSupported("this version of NumPy has no such loop", op=name, got=np.__version__,
                           expected=f"a loop for {types}", help="the interpreter calls the function itself")
    number = function.types.index(types)
    found = []
    for offset in (_FUNCTIONS, _DATA):
        table = ctypes.c_void_p.from_address(id(function) + offset).value
        entry = ctypes.c_void_p.from_address(table + 8 * number).value if table else None
        found.append(entry or 0)
    return found[0], found[1]
