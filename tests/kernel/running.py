"""Kernels run by their definition, on arrays by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from nervure.kernel.interpret import CheckFailed, interpret
from nervure.kernel.ir import Kernel
from nervure.transformers.interpreter.scalar import NumPyScalars
from nervure.types.dim import evaluate


def run(kernel: Kernel, bindings: dict[str, int], backwards: bool = False,
        **arrays: Any) -> tuple[dict[str, np.ndarray], list[CheckFailed]]:
    """The arrays as the kernel leaves them, copies, and its failures. ``out`` buffers start with ones in all bits."""
    found = {}
    for buffer in kernel.buffers:
        if buffer.name in arrays:
            found[buffer.name] = np.array(arrays[buffer.name], buffer.dtype.numpy).ravel()
        elif buffer.role == "out":
            size = evaluate(buffer.size, bindings)
            found[buffer.name] = np.full(size * buffer.dtype.itemsize, 255, np.uint8).view(buffer.dtype.numpy)
    return found, interpret(kernel, found, bindings, NumPyScalars(), backwards)
