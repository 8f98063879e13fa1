"""Positions: where a mask is true, and how often each position is wanted; the op that finds lengths.

>>> import nervure as nv
>>> from nervure.ir.whole_op import fresh_length
>>> mask = nv.Parameter(nv.bool_, (8,))
>>> where = FindPositions(mask, length=fresh_length(8))
>>> [value.dtype.name for value in where.outputs], where.found[0].bound
(['int64', 'int64'], 8)
>>> where.compute(np.array([False, True, False, True]))
(array([1, 3]), array(2))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Never

import numpy as np

from nervure.errors import DtypeMismatch, InvalidArgument, NotSupported, ShapeMismatch
from nervure.ir import field
from nervure.ir.op import Gradient, Gradients, Value
from nervure.ir.region import INSTEAD_OF_LENGTHS
from nervure.ir.whole_op import FoundLength, WholeOp
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import DimLike, found_symbols
from nervure.types.dtype import bool_, int64


class FindPositions(WholeOp):
    """The positions of ``counts``, each as often as its count says, in ascending order, and the number of them.

    ``counts`` has one dimension: a mask, whose true elements count once, or int64 numbers that are not negative. The
    outputs are the positions, int64 of shape (length,), and their number, int64 of shape (). ``length`` is a symbol
    that no other op of the function finds; its value is at most ``bound``, for a mask the length of the mask. More
    positions than that are an InvalidArgument when the op runs.

    It counts as an effect, so that a length which is used has its value whatever becomes of the positions.
    """

    operand_names = "counts"
    length = field.dimension()
    bound = field.dimension(None, optional=True)

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        counts, = types
        if counts.dtype not in (bool_, int64) or len(counts.shape) != 1:
            kind = ShapeMismatch if len(counts.shape) != 1 else DtypeMismatch
            raise self.fail(kind, "counts are one row of bool or int64", operand=self.operand_label(0), got=counts,
                            expected="bool[n], or int64[n]", help="insert ops.Reshape or ops.Convert")
        if counts.dtype is bool_:
            return {"bound": counts.shape[0]}
        if self.bound is None:
            raise self.fail(InvalidArgument, "the number of positions needs a bound", operand="bound", got="no bound",
                            expected="a dimension", help="counts may add up to anything; bound= says to how much")
        return {}

    def infer(self, *types: BasicTensorDescription) -> tuple[BasicTensorDescription, ...]:
        if str(self.length) not in found_symbols(self.length):
            raise self.fail(InvalidArgument, "a length that an op finds is a symbol of its own", operand="length",
                            got=self.length, expected="such as ?0", help="ir.whole_op.fresh_length(bound) makes one")
        return (BasicTensorDescription(int64, (self.length,)), BasicTensorDescription(int64, ()))

    @property
    def effectful(self) -> bool:
        """True: the function that it stands in uses the length."""
        return True

    @property
    def found(self) -> tuple[FoundLength, ...]:
        assert self.bound is not None
        return (FoundLength(str(self.length), self.bound, self.outputs[1]),)

    def compute(self, *arrays: np.ndarray, bound: int = 0) -> Sequence[np.ndarray]:
        counts, = arrays
        if counts.dtype == np.bool_:
            positions = np.flatnonzero(counts)
        else:
            wrong = np.flatnonzero(counts < 0)
            if wrong.size:
                raise self.negative(int(counts[wrong[0]]), int(wrong[0]))
            total = sum(counts.tolist())
            if total > bound:
                raise self.exceeded(total, bound)
            positions = np.repeat(np.arange(len(counts)), counts)
        return positions.astype(np.int64), np.array(len(positions), np.int64)

    def negative(self, count: int, position: int) -> InvalidArgument:
        """Returns the error for a negative count."""
        return self.fail(InvalidArgument, "a count is negative", operand=self.operand_label(0),
                         got=f"{count} at position {position}", expected="counts of 0 or more",
                         help="nothing was changed by this call")

    def exceeded(self, total: int, bound: int) -> InvalidArgument:
        """Returns the error for counts that add up to more than the bound."""
        return self.fail(InvalidArgument, "the counts add up to more than the bound", operand=self.operand_label(0),
                         got=total, expected=f"at most {bound}", help="give a larger bound")

    def vjp(self, gradient: Gradient, counts: Value) -> Gradients:
        return (None,)

    def vmap(self, length: DimLike, mapped: Sequence[bool], *operands: Value) -> Never:
        raise self.fail(NotSupported, "each element that is mapped over would find another length", got="nv.vmap",
                        operand=self.operand_label(0), expected="one length for all elements",
                        help=f"{INSTEAD_OF_LENGTHS}; or write a loop over the elements in Python")
