"""Short ways to build and run Functions."""

from __future__ import annotations

from typing import Any

import numpy as np

import nervure as nv
from nervure.types.dtype import as_dtype


def parameter(*shape: Any, dtype: Any = nv.float32, name: str | None = None) -> nv.Parameter:
    op = nv.Parameter(as_dtype(dtype), shape)
    op.name = name
    return op


def compiled(results: Any, parameters: Any = (), updates: Any = (), effects: Any = (), transformer: Any = None,
             **more: Any) -> Any:
    transformer = transformer or nv.transformers.make_transformer("interpreter")
    return transformer.compile(nv.Function(results, parameters, updates, effects, **more))


def evaluate(build: Any, *arrays: Any) -> np.ndarray:
    """One result of a graph over arrays."""
    arrays = [np.asarray(array) for array in arrays]
    inputs = [parameter(*array.shape, dtype=array.dtype) for array in arrays]
    return compiled([build(*inputs)], inputs)(arrays)[0]


def variable(value: Any, name: str | None = None, dtype: Any = nv.float32) -> Any:
    from nervure.ir.variable import Variable
    array = np.asarray(value, as_dtype(dtype).numpy)
    return Variable(nv.BasicTensorDescription(as_dtype(dtype), array.shape), initial=array, name=name)


def read(entry: Any) -> Any:
    return nv.ops.ReadVariable(entry).output
