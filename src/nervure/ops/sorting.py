"""Sorting along the last axis, and the first elements in order: ops that backends compute as a whole.

>>> import nervure as nv
>>> Sort(nv.Parameter(nv.float32, (2, 3)))
f32[2, 3], i64[2, 3] Sort(Parameter)
>>> [array.tolist() for array in Sort(nv.Parameter(nv.float32, (3,))).compute(np.float32([2, np.nan, 1]))]
[[1.0, 2.0, nan], [2, 0, 1]]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nervure.errors import ShapeMismatch
from nervure.ir import field
from nervure.ir.function import Assumption
from nervure.ir.kinds import require_admitted
from nervure.ir.op import Gradient, Gradients, Tangents, Value
from nervure.ir.whole_op import WholeOp
from nervure.ops.indexing import GatherElements, ScatterElements
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import DimLike, dim_max, less_equal
from nervure.types.dtype import int64
from nervure.types.element_groups import ORDERED


class _Ordered(WholeOp, abstract=True):
    """An op that has elements in their order, and the positions that they had."""

    operand_names = "x"
    descending = field.boolean(False)

    def order(self, x: np.ndarray) -> np.ndarray:
        """Returns the positions of the elements of each row in their order."""
        keys = x if x.dtype.isbuiltin == 1 else x.astype(np.float32)  # types that NumPy lacks
        if not self.descending:
            return np.argsort(keys, axis=-1, kind="stable").astype(np.int64)
        # Backwards, equal elements come in reverse order: that of their numbers from the end restores it.
        order = np.argsort(keys[..., ::-1], axis=-1, kind="stable")[..., ::-1]
        return (x.shape[-1] - 1 - order).astype(np.int64)

    def vjp(self, gradient: Gradient, x: Value) -> Gradients:
        of_values, _ = gradient if isinstance(gradient, tuple) else (gradient, None)
        if of_values is None:
            return (None,)
        return (ScatterElements(x.full(0), self.outputs[1], of_values, axis=x.rank - 1, mode="add"),)

    def jvp(self, tangents: Tangents, *operands: Value) -> Tangents:
        tangent, = tangents
        return None if tangent is None else GatherElements(tangent, self.outputs[1], axis=operands[0].rank - 1), None

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return self.attributes


class Sort(_Ordered):
    """The elements of each row along the last axis in order, and the position that each had in its row.

    Equal elements keep their order. -0.0 equals 0.0; NaN is larger than all numbers, and each NaN equals the others.
    """

    def infer(self, *types: BasicTensorDescription) -> tuple[BasicTensorDescription, ...]:
        x, = types
        require_admitted(self, x, ORDERED)
        _require_row(self, x)
        return x.with_(layout=None), x.with_(dtype=int64, layout=None)

    def compute(self, *arrays: np.ndarray, bound: int = 0) -> Sequence[np.ndarray]:
        x, = arrays
        positions = self.order(x)
        return np.take_along_axis(x, positions, axis=-1), positions


class TopK(_Ordered):
    """The first ``k`` elements of each row of ``Sort`` along the last axis, and the position that each had."""

    k = field.integer()
    descending = field.boolean(True)

    def infer(self, *types: BasicTensorDescription) -> tuple[BasicTensorDescription, ...]:
        x, = types
        require_admitted(self, x, ORDERED)
        _require_row(self, x)
        *rows, length = x.shape
        if self.k < 0 or less_equal(self.k, length) is False:
            raise self.fail(ShapeMismatch, "a row has fewer elements than are wanted", operand=self.operand_label(0),
                            got=f"k={self.k} of {x}", expected=f"0 to {length}", help="min(k, length)")
        shape = (*rows, self.k)
        return x.with_(shape=shape, layout=None), x.with_(shape=shape, dtype=int64, layout=None)

    def assumptions(self) -> list[Assumption]:
        """Returns what a call with symbolic lengths has to check: that a row has as many elements as are wanted."""
        length = self.operands[0].shape[-1]
        if less_equal(self.k, length) is True:
            return []
        return [Assumption(dim_max(length, self.k), length, type(self).__name__, self.location)]

    def compute(self, *arrays: np.ndarray, bound: int = 0) -> Sequence[np.ndarray]:
        x, = arrays
        positions = self.order(x)[..., :self.k]
        return np.take_along_axis(x, positions, axis=-1), positions


def _require_row(op: WholeOp, x: BasicTensorDescription) -> None:
    if not x.shape:
        raise op.fail(ShapeMismatch, "a scalar has no rows", operand=op.operand_label(0), got=x,
                      expected="one axis or more", help="insert ops.Reshape")
