"""Ways in which elements combine: reductions, folds by a custom combiner, and sums of products.

>>> reduce("add", np.ones((2, 3)), (1,), np.dtype(np.float64)).tolist()
[3.0, 3.0]

How an array lies in memory decides in which order NumPy adds. So what is rounded is combined from dense copies, in
row-major order, and depends on the elements alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from nervure.ir.kinds import ScalarExpression
from nervure.ir.notation import Number
from nervure.transformers.interpreter.scalar import NumPyScalars, dense

FUNCTIONS = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
             "and": np.bitwise_and, "or": np.bitwise_or}
"""The combiners by name. Without one, and by "set", the last write to a place stays."""


def unit(combine: str | None, dtype: np.dtype) -> Number:
    """The number of type ``dtype`` that changes nothing where it is combined."""
    if combine in ("maximum", "minimum"):
        ends = np.iinfo(dtype) if dtype.kind in "iu" else None
        lowest, highest = (False, True) if dtype.kind == "b" else (ends.min, ends.max) if ends else (-np.inf, np.inf)
        return lowest if combine == "maximum" else highest
    return np.invert(dtype.type(0)) if combine == "and" else int(combine == "multiply")


def rows_of(elements: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """The elements without gaps, with ``axes`` as one, the last: there NumPy adds pairwise.

    Along other axes it adds one after the other, which drifts where many are alike.
    """
    kept = [d for d in range(elements.ndim) if d not in axes]
    ordered = elements.transpose([*kept, *axes])
    return dense(ordered)[0].reshape(*ordered.shape[:len(kept)], math.prod(ordered.shape[len(kept):]))


def reduce(combine: str | None, elements: np.ndarray, axes: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """The ``elements`` combined along ``axes``, as ``dtype``; the last of them where ``combine`` names no function."""
    function = FUNCTIONS.get(combine or "")
    if not axes:
        return elements
    rows = rows_of(elements, axes)
    return rows[..., -1] if function is None else np.asarray(function.reduce(
        rows, axis=-1, dtype=dtype, initial=unit(combine, dtype)))


def fold(scalars: NumPyScalars, combine: ScalarExpression, rows: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """The tuples in ``rows``, combined pairwise and in order along the last dimension of each entry."""
    while (count := rows[0].shape[-1]) > 1:
        even = count - count % 2
        pairs = combine(scalars, tuple([row[..., :even:2] for row in rows]),
                        tuple([row[..., 1:even:2] for row in rows]))
        rows = [np.concatenate([pair, row[..., even:].astype(pair.dtype)], axis=-1)
                for pair, row in zip(pairs, rows, strict=True)]
    return tuple([row[..., 0] for row in rows])


def sum_of_products(left: np.ndarray, right: np.ndarray, kept: Sequence[int]) -> np.ndarray:
    """The sums of products of grids of elements over one domain, whose dimensions ``kept`` the result has.

    >>> sum_of_products(np.ones((2, 1, 3)), np.ones((1, 4, 3)), (0, 1)).tolist()
    [[3.0, 3.0, 3.0, 3.0], [3.0, 3.0, 3.0, 3.0]]
    """
    dims = list(range(left.ndim))
    return np.einsum(*[part for grid in (left, right) for part in (dense(grid)[0], dims)], list(kept))
