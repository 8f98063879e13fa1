"""The fast entry of a program without state: arrays of the declared types and shapes go to JAX at once.

A call is handled here if nothing has to be read, converted, locked or checked. All others take the way of any call.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2,))
>>> with nv.transformers.make_transformer("xla") as xla:
...     double = xla.build(nv.Function([x + x], [x]))
...     slowly = double(np.float32([1, 2]))
...     quickly = double.entry(print, is_single=True)
...     quickly(np.float32([1, 2])), quickly([1, 2])
[1, 2]
(array([2., 4.], dtype=float32), None)
"""

from __future__ import annotations

from collections.abc import Callable
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from nervure import flags
from nervure.ir.function import Function
from nervure.transformers.xla.functions import Array
from nervure.transformers.xla.jax_program import XlaProgram

if TYPE_CHECKING:
    from nervure.transformers.xla.transformer import XlaTransformer


def is_default(device: jax.Device) -> bool:
    """Whether JAX computes on a device unless it is told otherwise."""
    return jax.config.jax_default_device is None and device == jax.local_devices()[0]


def is_fast(function: Function, program: XlaProgram) -> bool:
    """Whether calls of a function have one program, no state, and nothing that may fail."""
    return not (function.symbols or function.variables or function.assumptions or program.may_fail)


def fast_entry(function: Function, program: XlaProgram, transformer: XlaTransformer, slow: Callable[..., Any],
               is_single: bool, leaves_results: bool) -> Callable[..., Any]:
    """Returns an entry to a program for a ``function`` that is fast; ``slow`` takes the calls that do not fit.

    It gives the tuple of results, or the one that ``is_single``. They stay on the device if it ``leaves_results``.
    """
    declared = [(op.value.type.dtype.numpy, tuple(op.value.type.shape)) for op in function.parameters]
    # JAX's arrays may lie elsewhere if there are other devices.
    kinds: set[type] = {np.ndarray, type(jax.numpy.zeros(()))} if jax.device_count() == 1 else {np.ndarray}
    count, call, config, enabled = len(declared), program.call, jax.config, jax.enable_x64
    finished: Callable[[Array], object] = methodcaller("block_until_ready") if leaves_results else np.array

    def entry(*arrays: Any) -> object:
        if len(arrays) != count or flags.check_nan or not transformer.is_open or config.jax_default_device is not None:
            return slow(*arrays)
        for array, (dtype, shape) in zip(arrays, declared):
            if type(array) not in kinds or array.dtype != dtype or array.shape != shape:
                return slow(*arrays)
        with enabled(True):
            results = call(list(arrays), [], [])[0]
        return finished(results[0]) if is_single else tuple([finished(value) for value in results])
    return entry
