"""Functions that run with a larger number for a symbol than a call has."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.errors import NotSupported
from nervure.passes.decompose import decompose
from nervure.passes.padded_lengths import padded_lengths
from nervure.types.dim import dim_min, evaluate
from tests.conformance.running import run, transformer
from tests.conformance.samples import NAMES, golden_table, samples_of, types_of
from tests.conformance.sampling import generic, symbolic
from tests.conformance.test_symbolic import derivative, generator

MORE = 4


def numbered(name):
    types = types_of(name)
    samples = samples_of(name, nv.float32 if nv.float32 in types else types[-1])
    return [(number, sample) for number, sample in enumerate(samples) if sample.symbols]


def longer(array, shape):
    """An array with anything behind its elements."""
    anything = np.nan if array.dtype.kind in "fc" else np.iinfo(array.dtype).max if array.dtype.kind in "iu" else True
    padded = np.full(shape, anything, array.dtype)
    padded[tuple([slice(length) for length in array.shape])] = array
    return padded


def compare(function, arguments, sizes, name):
    """Whether a function may be padded for a symbol; if so, what it gives with longer arrays is what it gives."""
    function = decompose(function, transformer("interpreter").supports)
    try:
        padded = padded_lengths(function, [name])
    except NotSupported as error:
        assert "pad_to=" in str(error) and error.help
        return False
    lengths = {**sizes, name: sizes[name] + MORE}
    given = [longer(array, [evaluate(length, lengths) for length in op.output.type.shape])
             for op, array in zip(function.parameters, arguments, strict=True)]
    results = run("interpreter", padded, [*given, np.int64(sizes[name])])
    for value, got, expected in zip(function.results, results, run("interpreter", function, arguments), strict=True):
        assert got.shape == tuple([evaluate(length, lengths) for length in value.type.shape])
        np.testing.assert_allclose(got[tuple([slice(length) for length in expected.shape])], expected, rtol=1e-5,
                                   atol=1e-5, err_msg=f"{function.results[0].op!r} with {sizes}, {name} longer")
    return True


@pytest.mark.parametrize("name", [name for name in NAMES if numbered(name)])
def test_an_op_gives_the_same_in_longer_arrays_or_is_refused(name):
    """X14: each op of the registry, with each of its symbols larger, and its derivative."""
    for number, sample in numbered(name):
        sizes = generic(sample)
        case = symbolic(sample, sizes, generator(name, number))
        functions = [case.function]
        if name not in golden_table("ops_without_derivative.txt"):
            functions.append(derivative(case))
        for function in functions:
            for symbol in sorted(sample.symbols):
                compare(function, case.arguments, sizes, symbol)


@pytest.mark.parametrize("length", [lambda n: n - n // 3, lambda n: dim_min(n, 5)], ids=range(2))
def test_lengths_that_follow_from_a_symbol_are_those_of_the_call(length):
    """X14: a sum is over as many elements as the call has, whatever arithmetic says how many these are."""
    n = nv.dim("n", min=3)
    x = nv.Parameter(nv.float32, (n,))
    part = nv.ops.Slice(x, [(0, length(n), 1)])
    function = nv.Function([nv.ops.Sum(part, [0]), nv.ops.Max(part, [0])], [x])
    for size in (3, 7, 8):
        assert compare(function, [np.arange(1, size + 1, dtype=np.float32)], {"n": size}, "n")
