"""Matrices in any two axes of a tensor, by name or by position: out to the last two axes, and back.

>>> import nervure as nv
>>> a = nv.constant(2 * np.eye(2)[:, None], "H=2, N=1, W=2")
>>> x, matrices = matrices_of(a, ("H", "W"), "inv")
>>> x.shape, str(matrices.transposed(x).axes), str(matrices.numbers(x[:, 0, 0]).axes)
((1, 2, 2), '(W: 2, N: 1, H: 2)', '(N: 1)')
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nervure.errors import AxisMismatch, InvalidArgument, ShapeMismatch
from nervure.front.alignment import pairing
from nervure.front.argument_parsing import positions_of
from nervure.front.arranging.views import broadcast, permuted, reshape
from nervure.front.creation import as_tensor
from nervure.front.tensor import Tensor, TensorLike
from nervure.types.axes import Axes, AxesLike
from nervure.types.axis import Axis
from nervure.types.dim import product


class MatrixAxes(NamedTuple):
    """The place of matrices in a tensor: its axes, absent without names, and their order, rows and columns last."""

    axes: Axes | None
    order: tuple[int, ...]

    def matrices(self, found: Tensor) -> Tensor:
        """Returns matrices with the axes of those that were given, in their places."""
        return self._placed(found, self.order)

    def transposed(self, found: Tensor) -> Tensor:
        """Returns matrices whose rows are over the axis of the given columns, and whose columns over that of the rows.
        """
        *batch, rows, columns = self.order
        return self._placed(found, (*batch, columns, rows))

    def numbers(self, found: Tensor) -> Tensor:
        """Returns one number for each matrix."""
        return found if self.axes is None else Tensor(found.value, Axes([self.axes[at] for at in self.order[:-2]]))

    def _placed(self, found: Tensor, names: Sequence[int]) -> Tensor:
        axes = None if self.axes is None else Axes([self.axes[at].resized(length) for at, length in zip(
            names, found.type.shape, strict=True)])
        places = [self.order.index(at) for at in range(len(self.order))]
        return permuted(Tensor(found.value, axes), places)


def matrices_of(x: TensorLike, axes: AxesLike | None, op: str, position: int = 1) -> tuple[Tensor, MatrixAxes]:
    """Returns x without names, with the two ``axes`` of its matrices last, and how results go back.

    Without axes they are the last two. ShapeMismatch if there are less, InvalidArgument for more than two.
    """
    own = as_tensor(x, op, position)
    if own.ndim < 2:
        raise ShapeMismatch("matrices have two axes", op=op, operand=position, got=str(own.axes),
                            expected="2 axes or more", help="nv.expand_dims(x, 1) makes a column of a vector")
    places = (own.ndim - 2, own.ndim - 1) if axes is None else positions_of(own, axes, op)
    if len(places) != 2:
        raise InvalidArgument("a matrix has two axes", op=op, operand="axes", got=f"{len(places)}", expected="two",
                              help='axes=("H", "W"): the rows, then the columns')
    order = (*[at for at in range(own.ndim) if at not in places], *places)
    return Tensor(permuted(own, order).value), MatrixAxes(own.axes if own.is_named else None, order)


class Sides(NamedTuple):
    """A system by names: matrices, right sides as their columns, and the axes of the result with their order."""

    left: Tensor
    right: Tensor
    axes: Axes
    order: tuple[int, ...]

    def back(self, found: Tensor) -> Tensor:
        """Returns the solution over the axes of the right side, that of the columns in the place of the rows."""
        return permuted(Tensor(reshape(found, self.axes.lengths).value, self.axes), self.order)


def sides_of(a: TensorLike, b: TensorLike, axes: AxesLike | None, op: str) -> Sides:
    """Returns the system a @ x = b of named tensors: a's rows are over an axis that b has, too.

    Other axes that both have number the systems; those that b alone has are right sides.
    """
    left, frame = matrices_of(a, axes, op)
    own, right = frame.axes, as_tensor(b, op, 2)
    if own is None or not right.is_named:
        raise AxisMismatch("the matrix and the right side must both be named, or neither", op=op, operand=2,
                           got=f"{as_tensor(a, op).axes} and {right.axes}", expected="names on both, or on none",
                           help="nv.cast_axes(b, axes) gives it names")
    *batch, rows, columns = frame.order
    there = pairing(own, right.axes)
    if rows not in there or columns in there:
        name = own[columns if columns in there else rows]
        raise AxisMismatch(f"the right side {'has' if columns in there else 'lacks'} the axis {name.label}", op=op,
                           operand=2, got=str(right.axes),
                           expected=f"the axis of the rows, {own[rows].label}, without that of the columns",
                           help='axes=("H", "W") says which are the rows and the columns')
    missing = [own[at] for at in batch if at not in there]
    spread = broadcast(right, Axes([*missing, *right.axes])) if missing else right
    there = pairing(own, spread.axes)
    numbering = [there[at] for at in batch]
    rest = [at for at in range(spread.ndim) if at not in there.values()]
    order = [*numbering, there[rows], *rest]
    moved = Tensor(permuted(spread, order).value)
    lengths = moved.type.shape
    count = len(batch) + 1
    made: list[Axis] = [*[own[at] for at in batch], own[columns], *[spread.axes[at] for at in rest]]
    return Sides(left, reshape(moved, (*lengths[:count], product(lengths[count:]))), Axes(made),
                 tuple([order.index(at) for at in range(spread.ndim)]))
