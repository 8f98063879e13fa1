"""First and second derivatives of every op against differences, and a planted wrong one that must be found."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.ir.kinds import Elementwise
from nervure.ir.op import Value
from nervure.types.dim import evaluate
from nervure.types.dtype import DType, bfloat16, complex128, float16, float32, float64
from nervure.types.element_groups import FLOATS
from tests.conformance.differences import check_derivatives, derivatives
from tests.conformance.running import TRANSFORMERS, repeats, run, some
from tests.conformance.samples import NAMES, golden_table, samples_of, types_of
from tests.conformance.sampling import Sample, concrete, generic, random_sizes
from tests.conformance.test_ops import generator

WITHOUT = golden_table("ops_without_derivative.txt")


def has_floats(name: str) -> bool:
    return float64 in types_of(name) and any(smooth_samples(name))


def smooth_samples(name: str, dtype: DType = float64) -> list[Sample]:
    return [sample for sample in samples_of(name, dtype)
            if sample.is_smooth and any(operand.dtype is dtype for operand in sample.operands)]


DIFFERENTIABLE = [name for name in NAMES if name not in WITHOUT and has_floats(name)]
OF_COMPLEX = [name for name in NAMES if name not in WITHOUT and complex128 in types_of(name)
              and smooth_samples(name, complex128)]

pytestmark = pytest.mark.parametrize("transformer", TRANSFORMERS)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_first_and_second_derivatives(name, transformer):
    """O50: derivatives are graphs, and so are theirs."""
    check_samples(name, transformer, smooth_samples(name))


@pytest.mark.parametrize("name", OF_COMPLEX)
def test_derivatives_of_complex_numbers(name, transformer):
    """Q1: with respect to complex operands, and through complex results."""
    check_samples(name, transformer, smooth_samples(name, complex128))


def check_samples(name: str, transformer: str, samples: list[Sample]) -> None:
    for number, sample in enumerate(samples):
        for repeat in repeats(5):
            rng = generator(name, number, repeat)
            sizes = generic(sample) if repeat == 0 else {
                symbol: max(size, 1) for symbol, size in random_sizes(sample, rng).items()}
            case = concrete(sample, sizes, rng)

            def build(*operands: Any, sample: Sample = sample, sizes: Any = sizes) -> Any:
                return sample.build(lambda length: evaluate(length, sizes), *operands)
            check_derivatives(transformer, build, case.arguments, tolerance=2e-6)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives_in_every_type(name, transformer):
    """O51: a derivative has the type of its operand, and is as exact as that type lets it be."""
    narrower = [entry for entry in types_of(name) if entry in FLOATS and entry is not float64]
    for dtype in some(narrower, name):
        for sample, exact in zip(samples_of(name, dtype), samples_of(name, float64), strict=False):
            if not sample.is_smooth or not sample.operands:
                continue
            found, slopes = gradient(sample, dtype, name, transformer)
            assert all(slope.dtype is operand.dtype for slope, operand in zip(found[0], found[1], strict=True))
            if dtype in (float32, float16, bfloat16):
                _, expected = gradient(exact, float64, name, transformer, dtype)
                compare_with_exact(slopes, expected, dtype)
            break


def gradient(sample: Sample, dtype: Any, name: str, transformer: str, rounded: Any = None) -> Any:
    """((gradients, targets), their values) of the sum of the outputs, at numbers of the narrower type."""
    case = concrete(sample, generic(sample), generator(name))
    arrays = case.arguments
    if rounded is not None:
        arrays = [array.astype(rounded.numpy).astype(np.float64) if array.dtype == np.float64 else array
                  for array in arrays]
    targets = [operand for operand in case.operands if operand.dtype.is_float]
    outputs = [output for output in case.op.outputs if output.dtype.is_float]
    if not targets or not outputs:
        return ([], []), []
    found = derivatives(outputs, [output.full(1) for output in outputs], targets)
    return (found, targets), run(transformer, nv.Function(found, case.function.parameters), arrays)


def compare_with_exact(slopes: list[np.ndarray], expected: list[np.ndarray], dtype: Any) -> None:
    eps = float(ml_dtypes.finfo(dtype.numpy).eps)
    for mine, theirs in zip(slopes, expected, strict=True):
        scale = 1 + np.abs(theirs).max(initial=0)
        np.testing.assert_allclose(mine.astype(theirs.dtype), theirs, rtol=32 * eps, atol=32 * eps * scale)


# -- the check itself ------------------------------------------------------------------------------------------------


class WrongFirst(Elementwise):
    """x * x, with half of its derivative."""

    operand_names = "x"

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.multiply(elements[0], elements[0])

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return (gradient * operands[0],)


class WrongSecond(WrongFirst):
    """x * x, whose derivative 2 x is taken for a constant."""

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        return (gradient * (ops.StopGradient(operands[0]) * 2.0),)


class WrongOperand(Elementwise):
    """x / y, with the gradients of x and y exchanged."""

    operand_names = "x y"

    def evaluate(self, s: Any, *elements: Any) -> Any:
        return s.divide(*elements)

    def vjp(self, gradient: Value, *operands: Value) -> tuple[Any, ...]:
        share = gradient / operands[1]
        return -share * self.output, share


@pytest.mark.parametrize(("wrong", "order"), [(WrongFirst, 1), (WrongSecond, 2), (WrongOperand, 1)])
def test_a_wrong_derivative_is_found(wrong, order, transformer):
    arrays = [np.array([0.5, -1.5, 2.0])] * wrong.arity
    if order == 2:
        check_derivatives(transformer, wrong, arrays, order=1)
    with pytest.raises(AssertionError, match="differences say"):
        check_derivatives(transformer, wrong, arrays, order=order)
