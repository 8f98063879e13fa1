"""From data to what runs: the code of each step of a compiled function, and of the functions inside of it.

>>> import nervure as nv
>>> from nervure.transformers.cpu.cache.library_cache import find
>>> from nervure.transformers.cpu.compile.compilation import compile_function
>>> from nervure.transformers.cpu.target import Target
>>> x = nv.Parameter(nv.float32, (3,))
>>> compiled = compile_function(nv.Function([nv.ops.Add(x, x)], [x]), Target.host()).loaded.compiled
>>> libraries = find([kernel.key for kernel in compiled.kernels])
>>> [type(code).__name__ for code in load(compiled, None, libraries, iter([()])).codes]
['KernelCode']
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from nervure.ir.function import Function
from nervure.transformers.cpu.cache.loader import Library
from nervure.transformers.cpu.call_code import CallCode
from nervure.transformers.cpu.compiled import PARTS, CompiledFunction, CompiledKernel, LaunchParameters
from nervure.transformers.cpu.loaded import LoadedFunction, StepCode, found_sizes, kernel_code
from nervure.transformers.cpu.region_code import RegionCode
from nervure.transformers.cpu.runtime import runtime_library
from nervure.transformers.cpu.runtime.records import RUNNERS


def load(compiled: CompiledFunction, function: Function | None, libraries: Mapping[bytes, Library],
         constants: Iterator[Sequence[np.ndarray]]) -> LoadedFunction:
    """Returns a compiled function with the code of its kernels, which ``libraries`` has by their keys.

    ``constants`` yields the arrays of each function, in the order of ``compiled.functions()``.
    """
    own = next(constants)
    codes = []
    for kernel in compiled.kernels:
        inside = () if kernel.region is None else kernel.region.functions
        functions = tuple([load(each, None, libraries, constants) for each in inside])
        codes.append(code_of(compiled, kernel, libraries, functions))
    return LoadedFunction(compiled, function, codes, own)


def code_of(compiled: CompiledFunction, kernel: CompiledKernel, libraries: Mapping[bytes, Library],
            functions: tuple[LoadedFunction, ...]) -> StepCode:
    """Returns the code of one step of a function, which runs these ``functions`` if it is a branch or a loop."""
    if kernel.region is not None:
        runtime_library.begin(RUNNERS)
        return RegionCode(kernel, functions, found_sizes(compiled, LaunchParameters(kernel.region.sizes)))
    if kernel.call is not None:
        runtime_library.begin(PARTS[kernel.call.function])
        return CallCode(kernel, found_sizes(compiled, kernel.launch))
    return kernel_code(compiled, kernel, libraries[kernel.key])
