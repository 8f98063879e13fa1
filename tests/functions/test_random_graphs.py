"""Random graphs, mapped and differentiated forwards: all their ops beside each other, on the interpreter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.autodiff import batched, gradients, tangents
from nervure.errors import IndexOutOfRange, InvalidArgument, NotSupported
from nervure.ir.function import Function
from nervure.ir.op import Value
from nervure.types.dtype import float32, float64
from tests.conformance.running import repeats
from tests.fuzz.graphs import Case, arguments, random_case, states

COUNT = 3


def run(function: Function, arrays: Sequence[np.ndarray], values: Mapping[Any, np.ndarray]) -> list[np.ndarray]:
    with nv.transformers.make_transformer("interpreter") as transformer:
        for variable, array in values.items():
            transformer.set(variable, array)
        return [np.asarray(result) for result in transformer.compile(function)(list(arrays))]


def without_updates(case: Case) -> Function:
    return Function(case.function.results, case.function.parameters, assumptions=case.function.assumptions)


def rows_of(case: Case, chosen: Sequence[bool]) -> tuple[list[list[np.ndarray]], list[list[np.ndarray]]]:
    """The arguments of a few examples that share what is not chosen, and the results of each."""
    several = [arguments(case.function, case.bindings[0], case.seed + k) for k in range(COUNT)]
    each = [[array if mapped else first for array, first, mapped in zip(arrays, several[0], chosen, strict=True)]
            for arrays in several]
    return each, [run(without_updates(case), arrays, states(case.function, case.seed)) for arrays in each]


@pytest.mark.parametrize("seed", repeats(300))
def test_a_mapped_graph_is_a_loop(seed):
    """D20: whichever parameters have the dimension in front."""
    case = random_case(seed, 17)
    parameters = case.function.parameters
    draw = np.random.default_rng(seed)
    chosen = [bool(draw.integers(4)) for _ in parameters]
    try:
        each, rows = rows_of(case, chosen)
    except (IndexOutOfRange, InvalidArgument):
        return  # no call of this function is valid
    several = [nv.Parameter(entry.dtype, (COUNT, *entry.shape)) if mapped else entry
               for entry, mapped in zip(parameters, chosen, strict=True)]
    table = {one.value: many.value for one, many in zip(parameters, several, strict=True) if one is not many}
    results = [entry.whole(COUNT) for entry in batched(case.function.results, table, COUNT)]
    arrays = [np.stack([row[at] for row in each]) if mapped else each[0][at] for at, mapped in enumerate(chosen)]
    got = run(Function(results, several, assumptions=case.function.assumptions), arrays,
              states(case.function, case.seed))
    for at, mine in enumerate(got):
        theirs = np.stack([row[at] for row in rows])
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
        if mine.dtype.kind in "fcV":
            tolerance = 1e-3 if mine.dtype.itemsize >= 4 else 5e-2
            np.testing.assert_allclose(mine.astype(complex), theirs.astype(complex), rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("seed", repeats(300))
def test_tangents_and_gradients_of_a_graph_agree(seed):
    """D8: both modes are one linear function."""
    case = random_case(seed, 17)
    function = without_updates(case)
    targets = [entry.value for entry in function.parameters if entry.dtype in (float32, float64)]
    outputs = [result for result in function.results if result.dtype.is_float]
    try:
        back = gradients(outputs, targets, [output.full(0.5) for output in outputs])
        forward = tangents(outputs, targets, [target.full(0.25) for target in targets])
    except NotSupported:
        return
    totals = [total(forward) * 0.5, total(back) * 0.25, total([abs(x) for x in (*forward, *back) if x is not None])]
    try:
        mine, theirs, size = run(Function(totals, function.parameters, assumptions=function.assumptions),
                                 arguments(function, case.bindings[0], case.seed), states(case.function, case.seed))
    except (IndexOutOfRange, InvalidArgument):
        return
    if np.isfinite([mine, theirs]).all():
        is_low = any([value.dtype.is_low_precision for op in function.operations for value in op.outputs])
        np.testing.assert_allclose(mine, theirs, atol=(0.1 if is_low else 2e-3) * (1 + size))


def total(values: Sequence[Value | None]) -> Value:
    """The sum of all elements of values, in float64."""
    result = ops.Full(0, float64, ()).output
    for value in values:
        if value is not None:
            result = result + ops.Convert(value, float64).output.sum(range(value.rank))
    return result
