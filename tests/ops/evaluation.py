"""Runs the ops that the tests of op families build: on the interpreter, against NumPy, and against differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import nervure as nv
from nervure.autodiff.reverse import gradients
from nervure.ir.function import Function
from nervure.ir.op import Value
from nervure.types.dtype import as_dtype

Build = Callable[..., Any]


def tensor(*shape: object, dtype: object = nv.float32) -> nv.Parameter:
    """A parameter of this shape."""
    return nv.Parameter(dtype, shape)


def normal(*shape: int) -> np.ndarray:
    """Random numbers, which are the same in each run of a test."""
    return np.random.standard_normal(shape)


def parameters(arrays: Sequence[np.ndarray]) -> list[nv.Parameter]:
    return [nv.Parameter(as_dtype(array.dtype), array.shape) for array in arrays]


def compute(results: Sequence[Any], inputs: Sequence[nv.Parameter], arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    executable = nv.transformers.make_transformer("interpreter").compile(Function(list(results), list(inputs)))
    return [np.asarray(result) for result in executable(list(arrays))]


def evaluate(build: Build, *arrays: Any) -> np.ndarray:
    """What ``build`` computes of these arrays."""
    arrays = [np.asarray(array) for array in arrays]
    inputs = parameters(arrays)
    return compute([build(*inputs)], inputs, arrays)[0]


def weighted(result: Any, rng: np.random.Generator) -> Value:
    """Weights of the result's type, which make a scalar function of it."""
    return nv.ops.Constant(rng.standard_normal(result.shape)).output


def check_derivatives(build: Build, *arrays: np.ndarray, wanted: Sequence[int] | None = None, order: int = 2,
                      step: float = 1e-5, tolerance: float = 1e-6) -> None:
    """First and second derivatives against central differences along a few directions, in float64."""
    rng = np.random.default_rng(7)
    inputs = parameters(arrays)
    chosen = [at for at, array in enumerate(arrays) if array.dtype.kind == "f"] if wanted is None else list(wanted)
    targets = [inputs[at] for at in chosen]
    result = build(*inputs)
    outputs, weights = [result], [weighted(result, rng)]
    for _ in range(order):
        found = gradients(outputs, targets, weights)
        found = [target.full(0) if entry is None else entry for target, entry in zip(targets, found, strict=True)]
        _compare(outputs, weights, found, inputs, arrays, chosen, rng, step, tolerance)
        outputs, weights = found, [weighted(entry, rng) for entry in found]


def _compare(outputs: Sequence[Any], weights: Sequence[Value], found: Sequence[Value], inputs: Sequence[nv.Parameter],
             arrays: Sequence[np.ndarray], chosen: Sequence[int], rng: np.random.Generator, step: float,
             tolerance: float) -> None:
    count = len(outputs)
    here = compute([*outputs, *weights, *found], inputs, arrays)
    constants, slopes = here[count:2 * count], here[2 * count:]
    for _ in range(3):
        directions = {at: rng.standard_normal(arrays[at].shape) for at in chosen}

        ends = []
        for scale in (step, -step):
            moved = [array + scale * directions[at] if at in directions else array
                     for at, array in enumerate(arrays)]
            parts = compute(outputs, inputs, moved)
            ends.append(sum(float((part * weight).sum()) for part, weight in zip(parts, constants, strict=True)))
        expected = (ends[0] - ends[1]) / (2 * step)
        got = sum(float((slope * directions[at]).sum()) for at, slope in zip(chosen, slopes, strict=True))
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)
