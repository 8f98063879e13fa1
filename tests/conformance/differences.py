"""Derivatives against differences: along random directions, central, in float64, to any order.

>>> import nervure as nv
>>> check_derivatives("interpreter", lambda x: nv.ops.Sin(x), [np.array([0.25, -1.0])])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import nervure as nv
from nervure.autodiff.reverse import gradients
from nervure.ir.function import Function
from nervure.ir.op import Op, Value
from nervure.types.dtype import as_dtype, complex128, float64
from tests.conformance.running import run

STEP = 1e-5
DIRECTIONS = 3
DOUBLES = (float64, complex128)


def check_derivatives(transformer: str, build: Callable[..., Op], arrays: Sequence[np.ndarray], order: int = 2,
                      tolerance: float = 1e-6) -> None:
    """Compares the derivatives of every output of doubles with respect to every such operand, from the first to
    ``order``. A derivative that is zero because nothing leads there is compared too.

    Of complex numbers the real part of gradient times direction is compared.
    """
    rng = np.random.default_rng(11)
    parameters = [nv.Parameter(as_dtype(array.dtype), array.shape) for array in arrays]
    targets = [entry.value for entry in parameters if entry.dtype in DOUBLES]
    outputs = [output for output in build(*parameters).outputs if output.dtype in DOUBLES]
    for _ in range(order):
        weights = [_weights(output, rng) for output in outputs]
        found = derivatives(outputs, weights, targets)
        _compare(transformer, parameters, arrays, outputs, weights, found, rng, tolerance)
        outputs = found


def derivatives(outputs: Sequence[Value], weights: Sequence[Value], targets: Sequence[Value]) -> list[Value]:
    """The gradient of the weighted sum of outputs, zeros where no path leads to a target."""
    found = gradients(outputs, targets, weights)
    return [target.full(0) if entry is None else entry for target, entry in zip(targets, found, strict=True)]


def _weights(output: Value, rng: np.random.Generator) -> Value:
    return nv.ops.Constant(_random(output.shape, output.dtype.is_complex, rng)).output


def _random(shape: Any, is_complex: bool, rng: np.random.Generator) -> np.ndarray:
    numbers = rng.standard_normal(shape)
    return np.asarray(numbers + 1j * rng.standard_normal(shape) if is_complex else numbers)


def _compare(transformer: str, parameters: Sequence[Any], arrays: Sequence[np.ndarray], outputs: Sequence[Value],
             weights: Sequence[Value], found: Sequence[Value], rng: np.random.Generator, tolerance: float) -> None:
    values = Function([*outputs, *weights], parameters)
    slopes = run(transformer, Function(found, parameters), arrays)
    chosen = [at for at, array in enumerate(arrays) if array.dtype in (np.float64, np.complex128)]

    def total(scale: float, directions: Sequence[np.ndarray]) -> tuple[float, float]:
        moved = list(arrays)
        for at, direction in zip(chosen, directions, strict=True):
            moved[at] = arrays[at] + scale * direction
        results = run(transformer, values, moved)
        products = [result * weight for result, weight in zip(results, results[len(outputs):], strict=False)]
        return sum([float(part.sum().real) for part in products]), sum([float(np.abs(part).sum()) for part in products])
    for _ in range(DIRECTIONS):
        directions = [_random(arrays[at].shape, np.iscomplexobj(arrays[at]), rng) for at in chosen]
        (ahead, size), (behind, _) = total(STEP, directions), total(-STEP, directions)
        expected = (ahead - behind) / (2 * STEP)
        got = sum([float((slope * direction).sum().real) for slope, direction in zip(slopes, directions, strict=True)])
        bound = tolerance * max(1.0, abs(expected)) + 1e-14 * size / STEP
        assert abs(got - expected) <= bound, f"{outputs} has the slope {got}, differences say {expected}"
