"""Inputs and results of layers that compute by position: axes in a fixed order within, the user's axes outside.

>>> import nervure as nv
>>> features, states = nv.axis("F", 2), nv.axis("H", 3)
>>> given = Sequences("LSTM", nv.zeros("N=5, F=2, T=7"), features, "T")
>>> given.steps_first().shape, given.batch
((7, 5, 2), (5,))
>>> print(given.result(nv.zeros((7, 5, 3)), states).axes)
(N: 5, T: 7, H: 3)
"""

from __future__ import annotations

from nervure.errors import AxisMismatch, InvalidArgument, ShapeMismatch, WrongKind
from nervure.front.alignment import arranged, reordered
from nervure.front.argument_parsing import position_of
from nervure.front.creation import as_tensor
from nervure.front.tensor import Tensor, TensorLike
from nervure.nn.parameters import check_length, count
from nervure.ops.conversion import converted
from nervure.types.axes import Axes, AxisLike
from nervure.types.axis import Axis, axis, make_anonymous_axis
from nervure.types.dim import DimLike, equal
from nervure.types.dtype import DType, int64


class Sequences:
    """The input ``x`` of a layer ``op``: an axis of ``features``, perhaps one of ``steps``, and a batch of any axes.

    An axis is found by its name; without names features are last, and ``steps`` is a position, or None.
    """

    def __init__(self, op: str, x: TensorLike, features: Axis, steps: AxisLike | None = None,
                 operand: str = "x") -> None:
        self.op, self.features, self.own = op, features, as_tensor(x, op)
        own, operand_axes = self.own, Axes([features])
        if own.ndim and own.is_named == features.is_anonymous:
            raise AxisMismatch(f"the input has {'' if own.is_named else 'no '}names, the layer has "
                               f"{'no ' if own.is_named else ''}names", op=op, operand=operand, got=str(own.axes),
                               expected=f"an input for {operand_axes}",
                               help="make the layer with the axes of its input, or give the input names: "
                                    "nv.cast_axes(x, axes)")
        if features.is_anonymous:
            check_length(op, own, -1, count(operand_axes), f"(..., {count(operand_axes)})")
        self._last = own.ndim - 1 if features.is_anonymous else position_of(own, str(features.name), op)
        if equal(own.type.shape[self._last], features.length) is False:
            raise ShapeMismatch("the features of the input have another length", op=op, operand=operand,
                                got=str(own.axes), expected=str(features), help="make the layer for its input")
        self._steps = None if steps is None else self._position(steps)
        self._batch = [d for d in range(own.ndim) if d not in (self._last, self._steps)]
        self.batch: tuple[DimLike, ...] = tuple([own.type.shape[d] for d in self._batch])

    def _position(self, steps: AxisLike) -> int:
        if not self.own.is_named and self.own.ndim < 2:
            raise ShapeMismatch("the input has no axis of steps", op=self.op, operand="x", got=str(self.own.axes),
                                expected="(T, features), or (T, N, features)", help="x[None] is a single step")
        found = position_of(self.own, steps, self.op)
        if found == self._last:
            raise AxisMismatch("the axis of the steps is that of the features", op=self.op, operand="axis",
                               got=str(self.own.axes), expected="another axis", help="axis= names the steps")
        return found

    @property
    def batch_axes(self) -> Axes:
        """The axes of the batch, in the order of the input."""
        return Axes([self.own.axes[d] for d in self._batch])

    def steps_first(self) -> Tensor:
        """Returns the input without names: (T, ..., features)."""
        return self._moved([*self._taken(), *self._batch, self._last])

    def steps_inside(self) -> Tensor:
        """Returns the input without names: (..., T, features)."""
        return self._moved([*self._batch, *self._taken(), self._last])

    def _taken(self) -> list[int]:
        return [] if self._steps is None else [self._steps]

    def _moved(self, order: list[int]) -> Tensor:
        return Tensor(reordered(self.own.value, order))

    def result(self, y: Tensor, features: Axis, steps_first: bool = True) -> Tensor:
        """Returns y, (T, ..., features) or (..., T, features), with the axes of the input in their order, then
        ``features``.
        """
        kept = [d for d in range(self.own.ndim) if d != self._last]
        order = [*self._taken(), *self._batch] if steps_first else [*self._batch, *self._taken()]
        value = reordered(y.value, [order.index(d) for d in kept] + [len(order)])
        return Tensor(value, Axes([*[self.own.axes[d] for d in kept], features]) if self.own.is_named else None)

    # -- states ----------------------------------------------------------------------------------------------------

    def state(self, given: TensorLike, features: Axis, number: int | None, name: str, dtype: DType) -> Tensor:
        """Returns a state without names: (``number`` layers, ..., features), or (..., features) for None."""
        own = as_tensor(given, self.op, dtype=dtype)
        expected = self._axes_of_state(features, number)
        if own.ndim != len(expected) or own.is_named != self.own.is_named:
            raise self._other_state(own, expected, name)
        if own.is_named:
            rest = Axes([*self.batch_axes, features])
            places = [position_of(own, entry, self.op) for entry in rest]
            others = [d for d in range(own.ndim) if d not in places]
            own = Tensor(reordered(own.value, [*others, *places]))
        if any([equal(*pair) is False for pair in zip(own.type.shape, expected.lengths, strict=True)]):
            raise self._other_state(own, expected, name)
        return Tensor(converted(own.value, dtype))

    def _other_state(self, got: Tensor, expected: Axes, name: str) -> ShapeMismatch:
        return ShapeMismatch(f"the state {name} has other axes", op=self.op, operand=name, got=str(got.axes),
                             expected=str(expected), help="without states a layer begins with zeros")

    def named_state(self, state: Tensor, features: Axis, number: int | None) -> Tensor:
        """Returns a state with the names of the batch and of the ``features``."""
        if not self.own.is_named:
            return state
        return Tensor(state.value, self._axes_of_state(features, number))

    def _axes_of_state(self, features: Axis, number: int | None) -> Axes:
        front = [] if number is None else [
            axis("layers", number) if self.own.is_named else make_anonymous_axis(number)]
        return Axes([*front, *self.batch_axes, features])

    def of_each(self, lengths: TensorLike) -> Tensor:
        """Returns numbers of steps, integers over the batch, without names."""
        own = as_tensor(lengths, self.op, dtype=int64)
        if not own.dtype.is_integer:
            raise WrongKind("lengths are integers", op=self.op, operand="lengths", got=str(own.type),
                            expected=f"integers over {self.batch_axes}", help="convert them: x.astype(nv.int64)")
        if own.is_named:
            own = arranged(own, self.batch_axes, self.op, "lengths")
        is_other = own.ndim != len(self.batch) or any(
            [equal(*pair) is False for pair in zip(own.type.shape, self.batch, strict=True)])
        if is_other:
            raise InvalidArgument("there is a length for each sequence", op=self.op, operand="lengths",
                                  got=str(own.axes), expected=str(self.batch_axes),
                                  help="lengths are over the axes of the batch")
        return Tensor(own.value)
