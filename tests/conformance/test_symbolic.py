"""Every op with symbols in its shapes gives what it gives with numbers, and so does its derivative."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nervure as nv
from nervure.ir.function import Function
from nervure.ir.kinds import Composite
from nervure.types.dtype import float32
from tests.conformance.comparison import check
from tests.conformance.differences import derivatives
from tests.conformance.running import DEEP, TRANSFORMERS, repeats, run
from tests.conformance.samples import NAMES, golden_table, samples_of, types_of
from tests.conformance.sampling import Case, Sample, concrete, edges, generic, random_sizes, symbolic
from tests.conformance.test_ops import generator

pytestmark = pytest.mark.parametrize("transformer", TRANSFORMERS)
WITHOUT_DERIVATIVE = golden_table("ops_without_derivative.txt")


def numbered(name: str) -> list[tuple[int, Sample]]:
    """The samples that have symbols, of one element type."""
    types = types_of(name)
    samples = samples_of(name, float32 if float32 in types else types[-1])
    return [(number, sample) for number, sample in enumerate(samples) if sample.symbols]


@pytest.mark.parametrize("name", [name for name in NAMES if numbered(name)])
def test_symbols_in_shapes(name, transformer):
    """O7: one function serves all sizes. The bits are those of a function that knows them; where a length is 0 or 1,
    and so a sum rounds nothing, the interpreter says what is right.
    """
    for number, sample in numbered(name):
        ready = None
        for sizes, oracle in sizes_of(sample, name, transformer):
            case = symbolic(sample, sizes, generator(name, number))
            ready = ready or case.function
            got = run(transformer, ready, case.arguments)
            known = concrete(sample, sizes, generator(name, number))
            expected = run(oracle, known.function, known.arguments)
            if oracle != transformer or isinstance(case.op, Composite):  # whose products may be taken in another order
                check(known, transformer, got, expected, f"with {sizes}")
                continue
            for mine, theirs in zip(got, expected, strict=True):
                np.testing.assert_array_equal(mine, theirs, err_msg=f"{case.op!r} with {sizes}", strict=True)


def sizes_of(sample: Sample, name: str, transformer: str) -> list[tuple[Any, str]]:
    """Sizes of a sample, and the transformer that says what a function that knows them gives."""
    rng = generator(name)
    some = [generic(sample), *[random_sizes(sample, rng) for _ in repeats(20)]]
    return [*[(sizes, transformer) for sizes in some], *[(sizes, "interpreter") for sizes in edges(sample)]]


@pytest.mark.parametrize("name", [name for name in NAMES if numbered(name) and name not in WITHOUT_DERIVATIVE])
def test_derivatives_with_symbols(name, transformer):
    """O7: a derivative with symbols is the derivative with numbers."""
    for number, sample in numbered(name):
        cases = [make(sample, generic(sample), generator(name, number)) for make in (symbolic, concrete)]
        functions = [derivative(case) for case in cases]
        is_long = len(functions[0].operations) > MOST_OPS and transformer != "interpreter" and not DEEP
        mine, theirs = [run(transformer, function, case.arguments) if function.results and not is_long else []
                        for function, case in zip(functions, cases, strict=True)]
        for got, expected in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5, err_msg=f"{cases[0].op!r}", strict=True)


MOST_OPS = 600
"""Ops of a derivative that the cpu compiles: that of a product of unknown length has as many for each dimension, in
which nothing is new. The interpreter computes them all, and so does the cpu in a deep run.
"""


def derivative(case: Case) -> Function:
    """The gradients of an op's outputs that are floats for the operands that are; of nothing, where there are none."""
    targets = [operand for operand in case.operands if operand.dtype.is_float]
    outputs = [output for output in case.op.outputs if output.dtype.is_float]
    if not targets or not outputs or case.op.attributes.get("mode") == "multiply":
        return Function([], case.function.parameters)
    found = derivatives(outputs, [output.full(0.5) for output in outputs], targets)
    return Function(found, case.function.parameters)


def test_a_length_that_differs_is_an_error(transformer):
    """O8: lengths that are equal for some sizes alone do not fit."""
    n, m = nv.dim("N"), nv.dim("M")
    with pytest.raises(nv.errors.ShapeMismatch) as caught:
        nv.ops.Add(nv.Parameter(float32, (n,)), nv.Parameter(float32, (m,)))
    assert caught.value.op == "Add" and caught.value.help
