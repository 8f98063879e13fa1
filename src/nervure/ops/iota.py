"""Iota, which counts positions, and the ops based on it: the identity matrix, triangular matrices.

>>> import nervure as nv
>>> Iota((2, 3), 1, nv.int32)
i32[2, 3] Iota()
>>> Tril(nv.Parameter(nv.float32, (3, 3)), offset=-1).decompose(nv.Parameter(nv.float32, (3, 3)).output)
f32[3, 3] Where(LessEqual, Parameter, Full)
"""

from __future__ import annotations

from collections.abc import Mapping

from nervure.errors import InvalidArgument
from nervure.ir import field
from nervure.ir.kinds import Composite, Structure, Structured, identity_access
from nervure.ir.op import Gradients, Operand, Value
from nervure.ops.checking import checked_axis
from nervure.ops.comparison import Equal, LessEqual
from nervure.ops.conversion import Convert
from nervure.ops.selection import Where
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import DimLike, index
from nervure.types.dtype import int64


class Iota(Structured):
    """Each element is its position along ``axis``, or in row-major order if ``axis`` is None. Integers wrap."""

    signature = "-> x:dtype[~shape]"
    shape = field.shape()
    axis = field.integer(None, optional=True)
    dtype = field.dtype(int64)

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        return {} if self.axis is None else {"axis": checked_axis(self, self.axis, len(self.shape))}

    def structure(self, *types: BasicTensorDescription) -> Structure:
        expression, dtype = self._position(), self.dtype
        return Structure(domain=self.shape, reads=(), writes=(identity_access(len(self.shape)),),
                         body=lambda s: s.wrap(s.index(expression), dtype))

    def _position(self) -> DimLike:
        if self.axis is not None:
            return index(self.axis)
        position: DimLike = 0
        for d, length in enumerate(self.shape):
            position = position * length + index(d)
        return position

    def vjp(self, gradient: Value) -> Gradients:
        return ()


class Eye(Composite):
    """A matrix with ones on a diagonal (``offset`` > 0: above the main one) and zeros elsewhere."""

    signature = "-> x:dtype[~shape]"
    shape = field.shape()
    offset = field.integer(0)
    dtype = field.dtype()

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        if len(self.shape) != 2:
            raise self.fail(InvalidArgument, "a matrix has two dimensions", operand="shape", got=self.shape,
                            expected="two lengths", help="ops.Broadcast repeats a matrix")
        return {}

    def decompose(self) -> Operand:
        row, column = row_and_column(self.shape)
        return Convert(Equal(row + self.offset, column), self.dtype)


def row_and_column(shape: tuple[DimLike, ...]) -> tuple[Value, Value]:
    """Returns the row's number and the column's at each element of matrices."""
    rank = len(shape)
    return Iota(shape, rank - 2, int64).output, Iota(shape, rank - 1, int64).output


class Tril(Composite):
    """The lower triangles of matrices in the last two dimensions: zeros above the diagonal (``offset`` > 0: one further
    up).
    """

    signature = "x[~ rows columns] -> y[~ rows columns]"
    offset = field.integer(0)

    def decompose(self, x: Value) -> Operand:
        row, column = row_and_column(x.shape)
        return Where(LessEqual(column, row + self.offset), x, x.full(0))


class Triu(Composite):
    """The upper triangles of matrices in the last two dimensions: zeros below the diagonal (``offset`` > 0: one further
    up).
    """

    signature = "x[~ rows columns] -> y[~ rows columns]"
    offset = field.integer(0)

    def decompose(self, x: Value) -> Operand:
        row, column = row_and_column(x.shape)
        return Where(LessEqual(row + self.offset, column), x, x.full(0))
