"""Tangents of every op against differences and against its gradients; those of gradients; with symbols in shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from nervure import ops
from nervure.autodiff import tangents
from nervure.errors import NotSupported
from nervure.ir.function import Function
from nervure.ir.op import Value
from nervure.types.dtype import complex128, float32, float64
from nervure.types.element_groups import FLOATS
from tests.conformance.differences import derivatives
from tests.conformance.running import TRANSFORMERS, repeats, run
from tests.conformance.samples import NAMES, samples_of, types_of
from tests.conformance.sampling import Case, Sample, concrete, generic, random_sizes, symbolic
from tests.conformance.test_derivatives import DIFFERENTIABLE, OF_COMPLEX, WITHOUT, compare_with_exact, smooth_samples
from tests.conformance.test_ops import generator
from tests.conformance.test_symbolic import numbered

STEP = 1e-5


def floats(values: Sequence[Value]) -> list[Value]:
    return [value for value in values if value.dtype.is_inexact]


def moved(outputs: Sequence[Value], targets: Sequence[Value], directions: Sequence[Value]) -> list[Value]:
    """The tangents of outputs; zeros where no path leads to one."""
    found = tangents(outputs, targets, directions)
    return [output.full(0) if entry is None else entry for output, entry in zip(outputs, found, strict=True)]


def random_like(values: Sequence[Value], rng: np.random.Generator) -> list[Value]:
    def numbers(value: Value) -> np.ndarray:
        drawn = rng.standard_normal(value.shape)
        return drawn + 1j * rng.standard_normal(value.shape) if value.dtype.is_complex else drawn
    return [ops.Constant(np.asarray(numbers(value)).astype(value.dtype.numpy)).output for value in values]


def products(left: Sequence[Value], right: Sequence[Value]) -> Value:
    """The sum of the products of all elements, of complex ones the real part."""
    total = ops.Full(0, float64, ()).output
    for x, y in zip(left, right, strict=True):
        product = (x * y).sum(range(x.rank))
        total = total + (ops.Real(product).output if product.dtype.is_complex else product)
    return total


@pytest.mark.parametrize("transformer", TRANSFORMERS)
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_tangents_are_differences_and_transposed_gradients(name, transformer):
    """D8: the tangent along a direction is the slope of differences there; weighted, it is the weighted gradient along
    the direction. The tangent of a gradient is the gradient of that gradient along the direction.
    """
    check_samples(name, transformer, smooth_samples(name))


@pytest.mark.parametrize("transformer", TRANSFORMERS)
@pytest.mark.parametrize("name", OF_COMPLEX)
def test_tangents_of_complex_numbers(name, transformer):
    """Q1: the same, of the real parts of products."""
    check_samples(name, transformer, smooth_samples(name, complex128))


def check_samples(name: str, transformer: str, samples: Sequence[Sample]) -> None:
    for number, sample in enumerate(samples):
        for repeat in repeats(5):
            rng = generator(name, number, repeat)
            sizes = generic(sample) if repeat == 0 else {
                symbol: max(size, 1) for symbol, size in random_sizes(sample, rng).items()}
            check(concrete(sample, sizes, rng), rng, transformer)


def check(case: Case, rng: np.random.Generator, transformer: str) -> None:
    targets, outputs = floats(case.operands), floats(case.op.outputs)
    directions, weights = random_like(targets, rng), random_like(outputs, rng)
    forward = moved(outputs, targets, directions)
    reverse = derivatives(outputs, weights, targets)
    second = random_like(reverse, rng)
    along = moved(reverse, targets, directions)
    back = derivatives(reverse, second, targets)
    results = [*forward, products(forward, weights), products(reverse, directions), products(along, second),
               products(back, directions), products([abs(x) for x in forward], [abs(x) for x in weights])]
    found = run(transformer, Function(results, case.function.parameters), case.arguments)
    *slopes, mine, theirs, mine_again, theirs_again, size = found
    np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-11 * (1 + size), err_msg=f"{case.op!r}")
    np.testing.assert_allclose(mine_again, theirs_again, rtol=1e-7, atol=1e-9, err_msg=f"the gradient of {case.op!r}")
    ahead, behind = [run(transformer, Function(outputs, case.function.parameters), shifted(case, directions, step))
                     for step in (STEP, -STEP)]
    for slope, after, before in zip(slopes, ahead, behind, strict=True):
        bound = 2e-6 * np.maximum(1, abs(slope).max(initial=0)) + 1e-14 * abs(after).max(initial=0) / STEP
        np.testing.assert_allclose(slope, (after - before) / (2 * STEP), rtol=2e-6, atol=bound, err_msg=f"{case.op!r}")


def shifted(case: Case, directions: Sequence[Value], step: float) -> list[np.ndarray]:
    given = iter(directions)
    return [array + step * next(given).op.array if parameter.dtype.is_inexact else array
            for parameter, array in zip(case.function.parameters, case.arguments, strict=True)]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_tangents_in_every_type(name):
    """D8: a tangent has the type of what moves, and is as exact as that type lets it be."""
    narrower = [entry for entry in types_of(name) if entry in FLOATS and entry is not float64]
    for dtype in narrower:
        for sample, exact in zip(samples_of(name, dtype), samples_of(name, float64), strict=False):
            if not sample.is_smooth or not sample.operands:
                continue
            values, mine = along_ones(sample, name)
            assert all(value.dtype is output.dtype for value, output in values)
            if dtype is float32:
                _, expected = along_ones(exact, name, dtype)
                compare_with_exact(mine, expected, dtype)
            break


def along_ones(sample: Sample, name: str, rounded: Any = None) -> Any:
    """The tangents of a sample along ones, beside the outputs, and their numbers."""
    case = concrete(sample, generic(sample), generator(name))
    arrays = case.arguments
    if rounded is not None:
        arrays = [array.astype(rounded.numpy).astype(np.float64) if array.dtype == np.float64 else array
                  for array in arrays]
    targets, outputs = floats(case.operands), floats(case.op.outputs)
    if not targets or not outputs:
        return [], []
    found = moved(outputs, targets, [target.full(1) for target in targets])
    return zip(found, outputs, strict=True), run("interpreter", Function(found, case.function.parameters), arrays)


@pytest.mark.parametrize("name", [name for name in DIFFERENTIABLE if numbered(name)])
def test_tangents_with_symbols(name):
    """O7: a tangent with symbols is the tangent with numbers."""
    for number, sample in numbered(name):
        cases = [make(sample, generic(sample), generator(name, number)) for make in (symbolic, concrete)]
        functions = []
        for case in cases:
            targets, outputs = floats(case.operands), floats(case.op.outputs)
            multiplies = case.op.attributes.get("mode") == "multiply"
            found = [] if multiplies or not targets else moved(outputs, targets, [x.full(0.5) for x in targets])
            functions.append(Function(found, case.function.parameters))
        for got, expected in zip(*[run("interpreter", function, case.arguments) if function.results else []
                                   for function, case in zip(functions, cases, strict=True)], strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5, err_msg=f"{cases[0].op!r}", strict=True)


@pytest.mark.parametrize("name", [name for name in WITHOUT if name in NAMES and name not in ("Parameter", "While")])
def test_ops_without_a_derivative_have_no_tangent(name):
    """O52: what has no derivative says so in forward mode too, or nothing moves; a loop needs its bound in reverse."""
    for sample in samples_of(name, float64) if float64 in types_of(name) else ():
        case = concrete(sample, generic(sample), generator(name))
        targets = floats(case.operands)
        try:
            found = tangents(case.op.outputs, targets, [target.full(1) for target in targets])
        except NotSupported as error:
            assert error.op == name and error.help
            continue
        assert all(entry is None for entry in found)
