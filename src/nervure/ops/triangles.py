"""LU factorisation with partial pivoting: a loop over the columns, each of which makes zeros below its pivot.

>>> import nervure as nv
>>> Lu(nv.Parameter(nv.float64, (3, 2)))
f64[3, 2], i64[2], i64[3] Lu(Parameter)

NumPy has no function that hands out the factors, so that they are made here, by the same operations everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from nervure.ir.function import Function
from nervure.ir.kinds import Composite, require_admitted
from nervure.ir.leaves import Full, Parameter
from nervure.ir.op import Gradient, Gradients, Operand, Value
from nervure.ops.arithmetic import Absolute, Imaginary, Real
from nervure.ops.comparison import Equal, Greater, GreaterEqual, LogicalAnd, NotEqual
from nervure.ops.indexing import Gather, GatherElements
from nervure.ops.iota import Iota, row_and_column
from nervure.ops.library_op import SINGLES_AND_DOUBLES
from nervure.ops.linear_algebra import (
    Solve,
    adjoint,
    conjugate,
    conjugated,
    identity_like,
    on_triangle,
    product,
    require_tall,
    spread_rows,
)
from nervure.ops.looping import Scan
from nervure.ops.reductions import ArgMax
from nervure.ops.selection import where
from nervure.ops.sorting import Sort
from nervure.ops.views import Broadcast, Concatenate, Permute, Reshape, Slice
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import DimLike
from nervure.types.dtype import int64


class Lu(Composite):
    """The factors of a with rows exchanged: L below the diagonal, of ones, and U, in one matrix; what was exchanged.

    The second result has for each column the row that was exchanged with the one of its number, the third the rows of a
    in their new order. a has no more columns than rows. A column of zeros has the pivot 0, and zeros in L.
    """

    operand_names = "a"
    admits = SINGLES_AND_DOUBLES

    def infer(self, *types: BasicTensorDescription) -> tuple[BasicTensorDescription, ...]:
        a, = types
        require_admitted(self, a, self.admits)
        require_tall(self, a, "nv.linalg.lu takes wide matrices, too")
        *batch, rows, columns = a.shape
        plain = a.with_(dtype=int64, layout=None)
        return a.with_(layout=None), plain.with_(shape=(*batch, columns)), plain.with_(shape=(*batch, rows))

    def infer_labels(self, types: tuple[BasicTensorDescription, ...]) -> tuple[None, ...]:
        return (None, None, None)

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return {}

    def decompose(self, *operands: Value) -> tuple[Operand, ...]:
        a, = operands
        columns, rank = a.shape[-1], a.rank
        order = Iota(a.shape[:-1], rank - 2, int64)
        if columns == 0:  # no column has a pivot
            return a, Full(0, int64, (*a.shape[:-2], columns)), order
        number, left, rows = Parameter(int64, ()), Parameter.of(a.type), Parameter(int64, a.shape[:-1])
        step = _Step.of(left.output, number.output)
        body = Function([step.eliminated(), step.exchanged(rows.output), step.pivot], [left, rows, number],
                        name="lu_column")
        scan = Scan(a, order, Iota((columns,), 0, int64), body=body, carries=2, slices=1, length=columns)
        packed, order_of_rows, pivots = scan.outputs
        return packed, Permute(pivots, (*range(1, pivots.rank), 0)), order_of_rows

    def vjp(self, gradient: Gradient, a: Value) -> Gradients:
        packed, _, order = self.outputs
        *batch, rows, columns = a.shape
        of_packed = conjugated(gradient, self.outputs)[0]
        top, of_top = _rows(packed, 0, columns), _rows(of_packed, 0, columns)
        lower = where(on_triangle(top, -1), top, identity_like(top))
        upper = where(on_triangle(top, -1), 0, top)
        of_lower, of_upper = where(on_triangle(top, -1), of_top, 0), where(on_triangle(top, -1), 0, of_top)
        above = product(of_upper, adjoint(upper))
        parts = []
        if rows != columns:
            rest, of_rest = _rows(packed, columns, rows - columns), _rows(of_packed, columns, rows - columns)
            above = above - product(adjoint(rest), of_rest)
            parts = [_divided(of_rest, upper)]
        inner = where(on_triangle(above, -1), product(adjoint(lower), of_lower), above)
        found = Solve(adjoint(lower), _divided(inner, upper)).output
        whole = Concatenate(found, *parts, axis=a.rank - 2).output if parts else found
        back = Sort(order).outputs[1]
        index = Broadcast(back, a.shape, (a.rank - 1,))
        return (conjugate(GatherElements(whole, index, a.rank - 2).output),)


class _Step(NamedTuple):
    """One step: the matrix so far, the column's number, its pivot row's number, and both rows that are exchanged."""

    left: Value
    number: Value
    column: Value
    pivot: Value
    chosen: Value
    own: Value

    @classmethod
    def of(cls, left: Value, number: Value) -> _Step:
        rank = left.rank
        column = Gather(left, number, rank - 1).output
        rows = Iota(column.shape, rank - 2, int64).output
        size = Absolute(column).output
        if column.dtype.is_complex:  # as LAPACK compares them
            size = Absolute(Real(column)).output + Absolute(Imaginary(column))
        pivot = ArgMax(where(GreaterEqual(rows, _all_over(number, rows)), size, -1), [rank - 2]).output
        return cls(left, number, column, pivot, _row(left, pivot), Gather(left, number, rank - 2).output)

    def eliminated(self) -> Value:
        """Returns the matrix with the rows exchanged, and with what is below the pivot divided by it."""
        left, rank = self.left, self.left.rank
        exchanged = self._swapped(left, spread_rows(self.chosen, left), spread_rows(self.own, left))
        head, first = Gather(self.chosen, self.number, rank - 2).output, Gather(self.own, self.number, rank - 2).output
        column = self._swapped(self.column, _last_like(head, self.column), _last_like(first, self.column))
        is_regular = NotEqual(head, head.full(0))
        share = column / _last_like(where(is_regular, head, 1), column)
        share = where(_last_like(is_regular, column), share, 0)
        factors = Broadcast(share, left.shape, (rank - 1,)).output
        rows, columns = row_and_column(left.shape)
        at = _all_over(self.number, rows)
        is_below = Greater(rows, at)
        below = where(Greater(columns, at), exchanged - factors * spread_rows(self.chosen, left), factors)
        return where(LogicalAnd(is_below, GreaterEqual(columns, at)), below, exchanged)

    def exchanged(self, order: Value) -> Value:
        """Returns an order of rows with both exchanged."""
        chosen, own = _row(order, self.pivot), Gather(order, self.number, order.rank - 1).output
        return self._swapped(order, _last_like(chosen, order), _last_like(own, order))

    def _swapped(self, x: Value, chosen: Value, own: Value) -> Value:
        """Returns x, whose dimension of rows is that behind the batch, with both rows exchanged."""
        rows = Iota(x.shape, self.pivot.rank, int64).output
        spread = Broadcast(self.pivot, x.shape, tuple(range(self.pivot.rank, x.rank))).output
        return where(Equal(rows, _all_over(self.number, rows)), chosen, where(Equal(rows, spread), own, x))


def _row(x: Value, pivot: Value) -> Value:
    """Returns for each of a batch the row, or the element of a vector, that a number names."""
    at = pivot.rank
    shape = (*x.shape[:at], 1, *x.shape[at + 1:])
    picked = GatherElements(x, Broadcast(pivot, shape, tuple(range(at, x.rank))), at)
    return Reshape(picked, (*x.shape[:at], *x.shape[at + 1:])).output


def _all_over(number: Operand, like: Value) -> Value:
    return Broadcast(number, like.shape, tuple(range(like.rank))).output


def _last_like(x: Operand, like: Value) -> Value:
    return Broadcast(x, like.shape, (like.rank - 1,)).output


def _rows(x: Value, start: DimLike, count: DimLike) -> Value:
    """Returns some rows of matrices."""
    return Slice(x, [*[(0, length, 1) for length in x.shape[:-2]], (start, count, 1), (0, x.shape[-1], 1)]).output


def _divided(x: Value, upper: Value) -> Value:
    """Returns x times the inverse of the adjoint of a triangle."""
    return adjoint(Solve(upper, adjoint(x)).output)
