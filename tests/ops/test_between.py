"""Fractions of intervals: never outside, near the exact place, the same bits everywhere, derivatives."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.autodiff.reverse import gradients
from nervure.ir.function import Function
from nervure.types.dtype import DType
from tests.ops.evaluation import evaluate

TYPES = [nv.float16, nv.bfloat16, nv.float32, nv.float64]


def bounds(dtype: DType) -> list[tuple[float, float]]:
    """Intervals of all kinds; the last ones have a width beyond the largest number, or no number inside."""
    info = ml_dtypes.finfo(dtype.numpy)
    eps, tiny, largest = float(info.eps), float(info.smallest_subnormal), float(info.max)
    return [(0, 1), (-1, 1), (1, 2), (-2, -1), (-1, 0), (0.1, 0.3), (0, 3), (100, 101), (1, 1 + 3 * eps), (1, 1 + eps),
            (1 - eps / 2, 1), (-tiny, tiny), (0, tiny), (-tiny, 0), (tiny, 3 * tiny), (0, float(info.smallest_normal)),
            (0, largest), (-largest, largest), (-largest, -largest / 2), (largest / 2, largest), (1, 1), (2, 1)]


def operands(dtype: DType) -> list[np.ndarray]:
    """Each interval, with the first, the last and random fractions."""
    digits = int(ml_dtypes.finfo(dtype.numpy).nmant) + 1
    inside = np.random.default_rng(0).integers(0, 1 << digits, 30)
    fractions = np.concatenate([[0, 1, (1 << digits) - 1, (1 << digits) - 2], inside]) * 2.0 ** -digits
    rows = [(x, low, high) for low, high in bounds(dtype) for x in fractions]
    return [np.array(column).astype(dtype.numpy) for column in zip(*rows)]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_no_rounding_leaves_the_interval(dtype: DType) -> None:
    """O47: the number is in [low, high), or low where that is empty, and next to the exact one."""
    x, low, high = operands(dtype)
    got = evaluate(ops.Between, x, low, high)
    assert got.dtype == dtype.numpy
    is_empty = low >= high
    assert (got >= low).all() and (got < high)[~is_empty].all() and (got == low)[is_empty].all()
    smallest = float(ml_dtypes.finfo(dtype.numpy).smallest_subnormal)
    eps = float(ml_dtypes.finfo(dtype.compute.numpy).eps)
    for value, *place in zip(got, x, low, high):
        fraction, start, end = [Fraction(float(entry)) for entry in place]
        error = abs(Fraction(float(value)) - start - fraction * max(end - start, 0))
        size = max(abs(start), abs(end))
        unit = Fraction(float(ml_dtypes.finfo(dtype.numpy).eps)) * abs(Fraction(float(value)))
        assert error <= unit + 2 * Fraction(eps) * size + 3 * Fraction(smallest), (value, *place)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_the_bits_are_the_same_everywhere(dtype: DType) -> None:
    """O47: on the cpu as on the interpreter, also where a bound is -0.0."""
    x, low, high = operands(dtype)
    parameters = [nv.Parameter(dtype, x.shape) for _ in range(3)]
    function = Function([ops.Between(*parameters)], parameters)
    for start, end in ((low, high), (-high, -low)):
        mine, theirs = [nv.transformers.make_transformer(name).compile(function)([x, start, end])[0]
                        for name in ("interpreter", "cpu")]
        assert mine.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_derivatives_do_not_see_the_rounding(dtype: DType) -> None:
    """O47: 1 - u in low, u in high, where the number is at the end of the interval too."""
    x, low, high = [np.array(column).astype(dtype.numpy) for column in ([0, 0.5, 0.75], [1, 1, 0], [1.5, 1, 4])]
    inputs = [nv.Parameter(dtype, (3,)) for _ in range(3)]
    found = gradients([ops.Between(*inputs)], inputs, [None])
    executable = nv.transformers.make_transformer("interpreter").compile(Function(found, inputs))
    slopes = [result.astype(np.float64).tolist() for result in executable([x, low, high])]
    assert slopes == [[0.5, 0, 4], [1, 0.5, 0.25], [0, 0.5, 0.75]]
