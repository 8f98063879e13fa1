"""Ways in which elements combine: reductions, folds by a custom combiner, and sums of products as matrix products.

>>> reduce("add", np.ones((2, 3)), (1,), np.dtype(np.float64)).tolist()
[3.0, 3.0]

How an array lies in memory decides in which order NumPy adds. So what is rounded is combined from dense copies, in
row-major order, and depends on the elements alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

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


def reduce(combine: str | None, elements: np.ndarray, axes: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The ``elements`` combined along ``axes``, as ``dtype``; the last of them where ``combine`` names no function."""
    function = FUNCTIONS.get(combine or "")
    if not axes:
        return elements
    if function is None:
        return elements[(*[-1 if d in axes else slice(None) for d in range(elements.ndim)], ...)]
    if dtype.kind in "fc":
        elements, axes = _rows(elements, axes), (-1,)
    return np.asarray(function.reduce(elements, axis=axes, dtype=dtype, initial=unit(combine, dtype)))


def _rows(elements: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """The elements without gaps, with ``axes`` as one, the last. There NumPy adds pairwise; along others it adds one
    after the other, which drifts where many are alike.
    """
    kept = [d for d in range(elements.ndim) if d not in axes]
    ordered = elements.transpose([*kept, *sorted(axes)])
    return dense(ordered)[0].reshape(*ordered.shape[:len(kept)], math.prod(ordered.shape[len(kept):]))


def fold(scalars: NumPyScalars, combine: ScalarExpression, rows: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """The tuples in ``rows``, combined pairwise and in order along the first dimension of each entry."""
    while (count := len(rows[0])) > 1:
        even = count - count % 2
        pairs = combine(scalars, tuple([row[:even:2] for row in rows]), tuple([row[1:even:2] for row in rows]))
        rows = pairs if even == count else tuple([
            np.concatenate([pair, row[even:].astype(pair.dtype)]) for pair, row in zip(pairs, rows, strict=True)])
    return tuple([row[0] for row in rows])


class Roles(NamedTuple):
    """The roles of a domain's dimensions in a sum of products.

    A dimension is *batch* (both operands have it, and it is kept), free (the *left* or the *right* operand alone has
    it, and it is kept) or *contracted* (both have it, and it is added up).

    >>> roles = Roles.of(left=(0, 2), right=(2, 1), kept=(0, 1))
    >>> roles.product(np.ones((2, 1, 3)), np.ones((1, 4, 3))).tolist()
    [[3.0, 3.0, 3.0, 3.0], [3.0, 3.0, 3.0, 3.0]]
    """

    batch: tuple[int, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    contracted: tuple[int, ...]

    @staticmethod
    def of(left: Sequence[int], right: Sequence[int], kept: Sequence[int]) -> Roles:
        """The roles, from the dimensions that the ``left`` and the ``right`` operand have and those that are ``kept``.

        They come in the operands' own order: wherever the result is written, BLAS sees the same matrices.
        """
        return Roles(tuple([d for d in left if d in right and d in kept]),
                     tuple([d for d in left if d in kept and d not in right]),
                     tuple([d for d in right if d in kept and d not in left]),
                     tuple(sorted(set(left).intersection(right).difference(kept))))

    def product(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The sums of products of grids of elements, over the kept dimensions in the domain's order."""
        rows = _matrices(left, self.batch, self.left, self.contracted)
        columns = _matrices(right, self.batch, self.contracted, self.right)
        order = (*self.batch, *self.left, *self.right)
        lengths = [*[left.shape[d] for d in (*self.batch, *self.left)], *[right.shape[d] for d in self.right]]
        return np.matmul(rows, columns).reshape(lengths).transpose([order.index(d) for d in sorted(order)])


def _matrices(array: np.ndarray, *groups: Sequence[int]) -> np.ndarray:
    """A grid as a stack of matrices: the dimensions of each group become one, all others are added up.

    The matrices are dense, since BLAS adds in another order where they are not.
    """
    order = [d for group in groups for d in group]
    others = [d for d in range(array.ndim) if d not in order]
    if any([array.shape[d] != 1 for d in others]):
        array = np.add.reduce(_rows(array, others), axis=-1).reshape([
            1 if d in others else length for d, length in enumerate(array.shape)])
    lengths = [math.prod([array.shape[d] for d in group]) for group in groups]
    return dense(array.transpose([*order, *others]).reshape(lengths))[0]
