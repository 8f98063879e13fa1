"""Values seen through index maps: what an op reads at other places is computed of what its operands have there.

The elements of ``exp(x)`` at some places are the exponentials of those of x. So windows over a value, or a border
around it, need no memory: each position of a window is x moved, and outside of x there is a number.

>>> import nervure as nv
>>> from nervure.types.dim import index
>>> x = nv.Parameter(nv.float32, (6,))
>>> windows = nv.ops.Windows(nv.ops.Pad(x, [(1, 1)]), [0], [3])
>>> seen(nv.ops.Exp(windows).output, IndexMap((6,), (index(0), 0)))
f32[6] Exp(FilledView)
>>> seen(nv.ops.Exp(windows).output, IndexMap((6,), (index(0), 1)))
f32[6] Exp(Parameter)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nervure.ir.kinds import Elementwise
from nervure.ir.leaves import Full, fit_number
from nervure.ir.notation import Number
from nervure.ir.op import Op, Value
from nervure.ops.conversion import Convert
from nervure.ops.pooling import Windows
from nervure.ops.selection import Where
from nervure.ops.update import FilledView
from nervure.ops.views import Broadcast, Pad
from nervure.passes.canonical_views import simplest_view
from nervure.types.dim import less_equal
from nervure.types.dtype import DType
from nervure.types.index_map import IndexMap
from nervure.types.shape import Shape

DEEPEST = 8
"""Ops, one inside the other, that are computed of moved operands; what is below them is moved itself."""


def seen(x: Value, map: IndexMap, number: Number | None = None, depth: int = DEEPEST) -> Value:
    """The elements of x that a map leads to. Outside of x there is ``number``; without one, anything."""
    if number is not None and stays_inside(map, x.shape):
        number = None
    rule = _RULES.get(type(x.op), _through_elementwise if isinstance(x.op, Elementwise) else None)
    found = rule(x.op, map, number, depth - 1) if rule is not None and depth > 0 else None
    return shown(x, map, 0 if number is None else number) if found is None else found


def shown(x: Value, map: IndexMap, number: Number = 0) -> Value:
    """A view of x through a map, with a number outside of x."""
    found = simplest_view(x, map) if stays_inside(map, x.shape) else None
    return FilledView(x, map, number).output if found is None else found


def stays_inside(map: IndexMap, shape: Shape) -> bool:
    """Whether a map surely leads to elements of a shape."""
    ranges = map.ranges
    return all([less_equal(0, coordinate, ranges) is True and less_equal(coordinate, length - 1, ranges) is True
                for coordinate, length in zip(map.coordinates, shape, strict=True)])


# -- ops that are computed of moved operands -----------------------------------------------------------------

Rule = Callable[[Any, IndexMap, "Number | None", int], "Value | None"]
"""What an op has at the places of a map; None where it has to be in memory for that."""


def _through_elementwise(op: Op, map: IndexMap, number: Number | None, depth: int) -> Value | None:
    if number is not None or len(op.outputs) != 1:
        return None
    return op.with_operands([seen(operand, map, None, depth) for operand in op.operands]).outputs[0]


def _through_choice(op: Where, map: IndexMap, number: Number | None, depth: int) -> Value | None:
    """Outside, what is chosen may be the number, whatever the condition is, if the other side is that number."""
    condition, x, other = op.operands
    if number is None or not _is_number(other, number):
        return _through_elementwise(op, map, number, depth)
    return Where(seen(condition, map, None, depth), seen(x, map, number, depth), seen(other, map, number, depth)).output


def _through_conversion(op: Convert, map: IndexMap, number: Number | None, depth: int) -> Value | None:
    if number is None or number == 0:
        return Convert(seen(op.operands[0], map, number, depth), op.dtype, op.mode).output
    return None


def _through_number(op: Full, map: IndexMap, number: Number | None, depth: int) -> Value | None:
    return Full(op.number, op.dtype, map.shape).output if number is None or _is_number(op.outputs[0], number) else None


def _through_broadcast(op: Broadcast, map: IndexMap, number: Number | None, depth: int) -> Value | None:
    dropped = IndexMap(map.shape, tuple([map.coordinates[axis] for axis in op.axes]))
    if number is not None and not stays_inside(dropped, tuple([op.shape[axis] for axis in op.axes])):
        return None
    kept = tuple([entry for axis, entry in enumerate(map.coordinates) if axis not in op.axes])
    return seen(op.operands[0], IndexMap(map.shape, kept), number, depth)


def _through_windows(op: Windows, map: IndexMap, number: Number | None, depth: int) -> Value | None:
    """The operand is moved itself where its elements lie in several windows, lest they be computed for each."""
    if number is not None:
        return None
    x = op.operands[0]
    if any([window > stride for window, stride in zip(op.windows, op.strides, strict=True)]):
        depth = int(isinstance(x.op, Pad))
    return seen(x, op.simple_view.index_map.compose(map), None, depth)


def _through_border(op: Pad, map: IndexMap, number: Number | None, depth: int) -> Value | None:
    if number is not None and not _is_same(op.number, number, op.outputs[0].dtype):
        return None
    coordinates = [entry - before for entry, (before, _) in zip(map.coordinates, op.paddings, strict=True)]
    if any([less_equal(0, amount) is not True for pair in op.paddings for amount in pair]):
        return None  # what is cut off lies outside of the view, too
    return seen(op.operands[0], IndexMap(map.shape, tuple(coordinates)), op.number, depth)


def _is_number(x: Value, number: Number) -> bool:
    return type(x.op) is Full and _is_same(x.op.number, number, x.dtype)


def _is_same(x: Number, y: Number, dtype: DType) -> bool:
    """Whether two numbers are one to the bit."""
    return repr(fit_number(x, dtype)) == repr(fit_number(y, dtype))


_RULES: dict[type[Op], Rule] = {
    Where: _through_choice, Convert: _through_conversion, Full: _through_number, Broadcast: _through_broadcast,
    Windows: _through_windows, Pad: _through_border}
