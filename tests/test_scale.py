"""Large graphs: every stage walks them without recursion, and derives only what was asked."""

from __future__ import annotations

import os

import numpy as np
import pytest

import nervure as nv
from bench.scaling import chain, wide
from nervure.autodiff.reverse import gradients
from nervure.ir.parser import parse_function
from nervure.ir.printer import print_function
from nervure.ir.structural import equal
from nervure.ir.verify import verify
from nervure.passes.pipelines import standard

SIZES = [2_000, *([100_000] if os.environ.get("DEEP_TESTS") else [])]


@pytest.mark.parametrize("make", [chain, wide])
@pytest.mark.parametrize("count", SIZES)
def test_every_stage_walks_large_graphs(make, count):
    function, x = make(count)
    verify(function)
    derivative = gradients(function.results, [x], [None])[0]
    both = nv.Function([*function.results, derivative], [x])
    verify(both)
    optimised = standard(both)
    assert equal(parse_function(print_function(optimised)), optimised)
    argument = np.linspace(0.1, 0.4, 4, dtype=np.float32)
    with nv.transformers.make_transformer("interpreter") as transformer:
        value, slope = transformer.compile(optimised)([argument])
        plain, plain_slope = transformer.compile(both)([argument])
    np.testing.assert_array_equal(value, plain)
    np.testing.assert_array_equal(slope, plain_slope)
    assert np.isfinite(slope).all()


def count_ops(value):
    return len(nv.Function([value], [op for op in nv.ir.traverse.postorder([value])
                                     if isinstance(op, nv.Parameter)]).operations)


def test_the_gradient_for_one_of_two_inputs_has_no_more_nodes_than_it_needs():
    """d/dx sum(tanh(x * w) * y): ones, tanh', the products with y and w, and the forward ops that they use."""
    x, w, y = (nv.Parameter(nv.float32, (4,)) for _ in range(3))
    loss = nv.ops.Sum(nv.ops.Tanh(x * w) * y, axes=(0,))
    for_x = gradients([loss], [x], [None])[0]
    for_both = gradients([loss], [x, w], [None])
    text = print_function(nv.Function([for_x], [x, w, y]))
    assert text.count("Tanh(") == 1 and "Sum(" not in text
    assert count_ops(for_x) == 13
    assert len(nv.Function(for_both, [x, w, y]).operations) == count_ops(for_x) + 1
