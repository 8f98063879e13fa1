"""Every op for many elements at once against a loop of Python, its derivatives too, and with symbols in shapes."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import nervure as nv
from nervure.autodiff import batched
from nervure.ir.function import Function
from nervure.ir.op import Value
from nervure.types.dim import dim
from nervure.types.dtype import float32, uint8
from tests.conformance.differences import derivatives
from tests.conformance.running import TRANSFORMERS, repeats, run
from tests.conformance.samples import NAMES, samples_of, types_of
from tests.conformance.sampling import Case, concrete, generic, random_sizes, symbolic
from tests.conformance.test_derivatives import DIFFERENTIABLE, smooth_samples
from tests.conformance.test_ops import generator
from tests.conformance.test_tangents import floats, moved, products

COUNT = 3
LENGTH = dim("L", min=0)
WITH_OPERANDS = [name for name in NAMES if name != "Parameter"]
Outputs = Callable[[Case], Sequence[Value]]


def one_type(name: str) -> Any:
    types = types_of(name)
    return float32 if float32 in types else types[-1]


def chosen(count: int) -> Iterator[tuple[int, ...]]:
    """The operands that have a dimension in front: all, each alone, and each pair of three."""
    for size in sorted({count, min(count, 2), 1} if 0 < count < 4 else {count} - {0}, reverse=True):
        yield from combinations(range(count), size)


class Mapped:
    """A case for many elements at once: one function of them all, and the arguments of each."""

    def __init__(self, cases: Sequence[Case], places: Sequence[int], length: Any, outputs: Outputs) -> None:
        self.case, self.outputs = cases[0], list(outputs(cases[0]))
        own = self.case.function.parameters
        self.each = [[(case if at in places else self.case).arguments[at] for at in range(len(own))] for case in cases]
        several = {at: nv.Parameter(own[at].dtype, (length, *own[at].shape)) for at in places}
        self.table = {own[at].value: parameter.value for at, parameter in several.items()}
        self.results = [entry.whole(length) for entry in batched(self.outputs, self.table, length)]
        self.parameters = [several.get(at, parameter) for at, parameter in enumerate(own)]
        if isinstance(length, nv.Dim):  # one more parameter binds it
            self.parameters.append(nv.Parameter(uint8, (length,)))
        self.arguments = [np.stack([arrays[at] for arrays in self.each]) if at in places else self.each[0][at]
                          for at in range(len(own))] + [np.zeros(len(cases), np.uint8)] * isinstance(length, nv.Dim)

    def all_at_once(self, transformer: str, results: Sequence[Value] | None = None) -> list[np.ndarray]:
        with contextlib.redirect_stdout(io.StringIO()):
            return run(transformer, Function(self.results if results is None else results, self.parameters),
                       self.arguments)

    def loop(self) -> list[np.ndarray]:
        """What a loop over the elements gives."""
        function = Function(self.outputs, self.case.function.parameters)
        with contextlib.redirect_stdout(io.StringIO()):
            rows = [run("interpreter", function, arrays) for arrays in self.each]
        return [np.stack([row[at] for row in rows]) for at in range(len(self.outputs))]

    def compare(self, got: Sequence[np.ndarray], tolerance: float) -> None:
        for mine, theirs in zip(got, self.loop(), strict=True):
            assert mine.dtype == theirs.dtype and mine.shape == theirs.shape, self.case.op
            if np.issubdtype(mine.dtype, np.inexact):
                np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance, err_msg=f"{self.case.op!r}")
            else:
                np.testing.assert_array_equal(mine, theirs, err_msg=f"{self.case.op!r}")


def outputs_of(case: Case) -> Sequence[Value]:
    return case.op.outputs or case.op.operands  # a guard has none: its condition is what it is about


@pytest.mark.parametrize("transformer", TRANSFORMERS)
@pytest.mark.parametrize("name", WITH_OPERANDS)
def test_an_op_for_many_elements_is_a_loop(name, transformer):
    """D20: whichever operands have the dimension in front."""
    for number, sample in enumerate(samples_of(name, one_type(name))):
        places = list(chosen(len(sample.operands)))
        for repeat in repeats(5):
            rng = generator(name, number, repeat)
            sizes = generic(sample) if repeat == 0 else random_sizes(sample, rng)
            for which in places if transformer == "interpreter" else places[:1]:
                mapped = Mapped([concrete(sample, sizes, rng) for _ in range(COUNT)], which, COUNT, outputs_of)
                mapped.compare(mapped.all_at_once(transformer), 2e-5)


def has_symbols(name: str) -> bool:
    return any(sample.symbols and sample.operands for sample in samples_of(name, one_type(name)))


@pytest.mark.parametrize("name", [name for name in WITH_OPERANDS if has_symbols(name)])
def test_an_op_for_an_unknown_number_of_elements(name):
    """D20: lengths are symbols, and so is the number of elements, which may be 0 or 1."""
    for number, sample in enumerate(samples_of(name, one_type(name))):
        for which in chosen(len(sample.operands)) if sample.symbols else ():
            rng = generator(name, number)
            for count in (COUNT, 1):
                mapped = Mapped([symbolic(sample, generic(sample), rng) for _ in range(count)], which, LENGTH,
                                outputs_of)
                mapped.compare(mapped.all_at_once("interpreter"), 2e-5)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives_for_many_elements(name):
    """D21: gradients are mapped as other graphs are; the gradient of what is mapped is that of each element, and what
    all elements share adds theirs up; its tangents agree with it.
    """
    for number, sample in enumerate(smooth_samples(name)):
        for which in chosen(len(sample.operands)):
            rng = generator(name, number)
            cases = [concrete(sample, generic(sample), rng) for _ in range(COUNT)]
            mapped = Mapped(cases, which, COUNT, gradients_of)
            by_walk = mapped.all_at_once("interpreter")
            mapped.compare(by_walk, 1e-9)
            forward = Mapped(cases, which, COUNT, lambda case: floats(case.op.outputs))
            parameters = [forward.table.get(operand, operand) for operand in forward.case.operands]
            targets, outputs = floats(parameters), forward.results
            weights = [output.full(0.5) for output in outputs]
            found = derivatives(outputs, weights, targets)
            tangents = moved(outputs, targets, [target.full(0.25) for target in targets])
            agreement = [products(tangents, weights), products(found, [target.full(0.25) for target in targets])]
            *slopes, mine, theirs = forward.all_at_once("interpreter", [*found, *agreement])
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)
            shared = [operand not in forward.table for operand in forward.case.operands if operand.dtype.is_float]
            for slope, rows, is_shared in zip(slopes, by_walk, shared, strict=True):
                np.testing.assert_allclose(slope, rows.sum(0) if is_shared else rows, rtol=1e-9, atol=1e-9,
                                           err_msg=f"{forward.case.op!r}")


def gradients_of(case: Case) -> list[Value]:
    outputs = floats(case.op.outputs)
    return derivatives(outputs, [output.full(0.5) for output in outputs], floats(case.operands))
