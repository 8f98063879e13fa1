"""Sums of products as matrix products: any two reads whose product is added up become batches of two
matrices.

A dimension of the domain is a *batch* dimension (both operands have it, and it is kept), *free* (one
operand has it) or *contracted* (both have it, it is added up). So a convolution, read through windows, is
one matrix product:

>>> from nervure.transformers.interpreter.contraction import Roles
>>> roles = Roles.of(left=(0, 2), right=(2, 1), kept=(0, 1))
>>> roles.product(np.ones((2, 1, 3)), np.ones((1, 4, 3))).tolist()
[[3.0, 3.0, 3.0, 3.0], [3.0, 3.0, 3.0, 3.0]]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nervure.transformers.interpreter.dense import dense, dense_rows


class Roles(NamedTuple):
    """What each dimension of the domain is to the product."""

    batch: tuple[int, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    contracted: tuple[int, ...]

    @staticmethod
    def of(left: Sequence[int], right: Sequence[int], kept: Sequence[int]) -> Roles:
        """The roles, from the dimensions that each operand has and those that are kept. They come in the operands' own
        order: wherever the result is written, the linear algebra sees the same matrices.
        """
        return Roles(tuple([d for d in left if d in right and d in kept]),
                     tuple([d for d in left if d in kept and d not in right]),
                     tuple([d for d in right if d in kept and d not in left]),
                     tuple(sorted(set(left).intersection(right).difference(kept))))

    def product(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The sum of products, over the kept dimensions in the domain's order.

        Both operands have one dimension a dimension of the domain, of length 1 where they do not depend on
        it.
        """
        left = _alone_summed(left, (*self.batch, *self.left, *self.contracted))
        right = _alone_summed(right, (*self.batch, *self.right, *self.contracted))
        rows = _as_matrices(left, self.batch, self.left, self.contracted)
        columns = _as_matrices(right, self.batch, self.contracted, self.right)
        result = np.matmul(rows, columns)
        order = (*self.batch, *self.left, *self.right)
        lengths = [*[left.shape[d] for d in (*self.batch, *self.left)], *[right.shape[d] for d in self.right]]
        return result.reshape(lengths).transpose([order.index(d) for d in sorted(order)])


def _alone_summed(array: np.ndarray, dims: Sequence[int]) -> np.ndarray:
    """The array with the dimensions that neither the other operand nor the result has added up."""
    alone = tuple([d for d, length in enumerate(array.shape) if length != 1 and d not in dims])
    if not alone:
        return array
    total = np.add.reduce(dense_rows(array, alone), axis=-1)
    return total.reshape([1 if d in alone else length for d, length in enumerate(array.shape)])


def _as_matrices(array: np.ndarray, batch: Sequence[int], rows: Sequence[int], columns: Sequence[int]) -> np.ndarray:
    """The array as a stack of dense matrices: the linear algebra has other ways for others."""
    order = (*batch, *rows, *columns)
    rest = [d for d in range(array.ndim) if d not in order]
    shape = [math.prod([array.shape[d] for d in group]) for group in (batch, rows, columns)]
    matrices, = dense(array.transpose([*order, *rest]).reshape(shape if batch else shape[1:]))
    return matrices
