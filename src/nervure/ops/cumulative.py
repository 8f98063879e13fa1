"""Running sums, products and extremes, and recurrences of first order: each element follows from the one before it.

The elements along the axis are combined one after the other, so that a result has one value in bits.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (3,))
>>> [Cumulative(x, axis=0, kind=kind).compute(np.float32([2, 5, 3]))[0].tolist() for kind in ("add", "maximum")]
[[2.0, 7.0, 10.0], [2.0, 5.0, 5.0]]
>>> Recurrence(x, x, axis=0).compute(np.float32([9, 2, 3]), np.float32([1, 1, 1]))[0].tolist()
[1.0, 3.0, 10.0]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from nervure.errors import DtypeMismatch, ShapeMismatch
from nervure.ir import field
from nervure.ir.kinds import require_admitted
from nervure.ir.op import Gradients, Operand, Tangents, Value
from nervure.ir.whole_op import WholeOp
from nervure.ops.arithmetic import Add, Multiply
from nervure.ops.checking import checked_axis
from nervure.ops.comparison import Equal, LogicalNot, LogicalOr, NotEqual
from nervure.ops.indexing import GatherElements, ScatterElements
from nervure.ops.iota import Iota
from nervure.ops.selection import Where
from nervure.ops.views import Pad
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import DimLike
from nervure.types.dtype import float32, float64, int32, int64, uint64

ADMITTED = frozenset([float32, float64, int32, int64, uint64])
"""The types in which running values are computed; others are converted."""


class _Running(WholeOp, abstract=True):
    """An op whose elements follow one another along an ``axis``, backwards with ``reverse``."""

    axis = field.integer()
    reverse = field.boolean(False)

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        return {"axis": checked_axis(self, self.axis, len(types[0].shape))}

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return {**self.attributes, "axis": self.axis + 1}

    def delayed(self, x: Value, number: int, backwards: bool = False) -> Value:
        """Returns what stands one place before each element in the direction of the op, or behind it (``backwards``);
        a ``number`` where nothing does.
        """
        pair = (-1, 1) if self.reverse != backwards else (1, -1)
        paddings = tuple([pair if d == self.axis else (0, 0) for d in range(x.rank)])
        return Pad(x, paddings, number).output

    def again(self, factor: Value, x: Operand, backwards: bool) -> Value:
        """Returns the recurrence of other operands, in the direction of the op or ``backwards``."""
        return Recurrence(factor, x, axis=self.axis, reverse=self.reverse != backwards).output


class Cumulative(_Running):
    """The sum, the product or an extreme of the elements up to each place along an ``axis``, that element included.

    ``kind`` is "add", "multiply", "maximum" or "minimum". With ``reverse`` they are the elements from the place on,
    combined from the last one. From a NaN on extremes are NaN, and of equal elements the first stays. Integers wrap.
    """

    operand_names = "x"
    kind = field.choice("add", "multiply", "maximum", "minimum")

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription:
        x, = types
        require_admitted(self, x, ADMITTED)
        return x.with_(layout=None)

    def compute(self, *arrays: np.ndarray, bound: int = 0) -> Sequence[np.ndarray]:
        x, = arrays
        if self.kind == "add":
            return (_along(lambda before, own: before + own, self, x),)
        if self.kind == "multiply":
            return (_along(lambda before, own: before * own, self, x),)
        exceeds = np.greater if self.kind == "maximum" else np.less

        def further(before: np.ndarray, own: np.ndarray) -> np.ndarray:
            return np.where(exceeds(own, before) | (own != own), own, before)
        return (_along(further, self, x),)

    def vjp(self, gradient: Value, x: Value) -> Gradients:
        if self.kind == "add":
            return (Cumulative(gradient, axis=self.axis, kind="add", reverse=not self.reverse).output,)
        if self.kind == "multiply":
            # The product of what stands before an element, times the gradients of all products that have it.
            behind = self.again(self.delayed(x, 0, backwards=True), gradient, backwards=True)
            return (Multiply(self.delayed(self.output, 1), behind).output,)
        return (ScatterElements(x.full(0), self._chosen(x), gradient, axis=self.axis, mode="add").output,)

    def jvp(self, tangents: Tangents, *operands: Value) -> Tangents:
        tangent, = tangents
        x, = operands
        if tangent is None:
            return (None,)
        if self.kind == "add":
            return (Cumulative(tangent, axis=self.axis, kind="add", reverse=self.reverse),)
        if self.kind == "multiply":
            return (self.again(x, Multiply(self.delayed(self.output, 1), tangent).output, backwards=False),)
        return (GatherElements(tangent, self._chosen(x), axis=self.axis),)

    def _chosen(self, x: Operand) -> Value:
        """Returns the place of the extreme up to each place."""
        place = Iota(x.shape, self.axis, int64).output
        is_first = LogicalNot(self.delayed(Equal(place, place).output, 0)).output
        changes = LogicalOr(is_first, NotEqual(self.output, self.delayed(self.output, 0))).output
        unset = 2 ** 63 - 1 if self.reverse else 0
        kept = Where(changes, place, place.full(unset)).output
        return Cumulative(kept, axis=self.axis, kind="minimum" if self.reverse else "maximum",
                          reverse=self.reverse).output


class Recurrence(_Running):
    """r[i] = factor[i] * r[i - 1] + x[i] along an ``axis``, from r[0] = x[0]; with ``reverse`` from the last element.

    Products and sums are rounded one by one. The first of the factors is not read.
    """

    operand_names = "factor x"

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription:
        factor, x = types
        require_admitted(self, x, ADMITTED)
        if factor.dtype is not x.dtype:
            raise self.fail(DtypeMismatch, "factors and terms have one type", operand=self.operand_label(0), got=factor,
                            expected=str(x), help="insert ops.Convert")
        if factor.shape != x.shape:
            raise self.fail(ShapeMismatch, "there is a factor for each term", operand=self.operand_label(0), got=factor,
                            expected=str(x), help="insert ops.Broadcast")
        return x.with_(layout=None)

    def compute(self, *arrays: np.ndarray, bound: int = 0) -> Sequence[np.ndarray]:
        return (_along(lambda before, factor, x: factor * before + x, self, *arrays),)

    def vjp(self, gradient: Value, factor: Value, x: Value) -> Gradients:
        of_x = self.again(self.delayed(factor, 0, backwards=True), gradient, backwards=True)
        return Multiply(self.delayed(self.output, 0), of_x).output, of_x

    def jvp(self, tangents: Tangents, *operands: Value) -> Tangents:
        of_factor, of_x = tangents
        terms = [] if of_x is None else [of_x]
        if of_factor is not None:
            terms.append(Multiply(of_factor, self.delayed(self.output, 0)).output)
        if not terms:
            return (None,)
        return (self.again(operands[0], terms[0] if len(terms) == 1 else Add(*terms).output, backwards=False),)


def _along(step: Callable[..., np.ndarray], op: _Running, *arrays: np.ndarray) -> np.ndarray:
    """Returns what follows from the last of ``arrays`` when each slice is made of the one before it."""
    slices = [np.moveaxis(array, op.axis, 0) for array in arrays]
    result = np.array(slices[-1], order="C")
    places = range(len(result))[::-1 if op.reverse else 1]
    with np.errstate(all="ignore"):
        for before, at in zip(places[:-1], places[1:], strict=True):
            result[at] = step(result[before], *[each[at] for each in slices])
    return np.ascontiguousarray(np.moveaxis(result, 0, op.axis)).reshape(arrays[-1].shape)
