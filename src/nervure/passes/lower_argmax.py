"""Lowering of ArgMax and ArgMin to two reductions: the extremum, then the first position that attains it.

A fold of pairs takes one element after the other; two reductions run in lanes and on all threads, with the row in
cache for the second one. The result is the same: NaN precedes all numbers, and of equal elements the first one is
taken.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (4, 8))
>>> [type(op).__name__ for op in lower_argmax(nv.Function([nv.ops.ArgMax(x, [1])], [x])).operations][-2:]
['Min', 'Convert']
"""

from __future__ import annotations

from nervure.ir.function import Function
from nervure.ir.leaves import Full
from nervure.ir.op import Op, Value
from nervure.ops.comparison import Equal, IsNan, LogicalOr
from nervure.ops.conversion import Convert
from nervure.ops.iota import Iota
from nervure.ops.reductions import ArgMax, Max, Min, Position, spread
from nervure.ops.selection import Where
from nervure.passes.rewrite import Local, Rewriter
from nervure.types.dim import product
from nervure.types.dtype import int32, int64

_LARGEST = {int32: 2**31 - 1, int64: 2**63 - 1}


def _lowered(op: Position) -> Op:
    x, axes = op.operands[0], op.axes
    extremum = (Max if isinstance(op, ArgMax) else Min)(x, axes).output
    is_best = Equal(x, spread(extremum, axes, x.shape)).output
    if x.dtype.is_float:
        is_best = LogicalOr(is_best, IsNan(x)).output
    place = _place(x, axes)
    others = Full(_LARGEST[place.dtype], place.dtype, x.shape).output
    return Convert(Min(Where(is_best, place, others), axes), int64)


def lower_argmax(function: Function) -> Function:
    """Returns the function without ArgMax and ArgMin."""
    if not any([isinstance(op, Position) for op in function.operations]):
        return function
    return Rewriter("lower_argmax", [Local("lower_argmax", [Position], _lowered)])(function)


def _place(x: Value, axes: tuple[int, ...]) -> Value:
    """Returns the place of each element among the reduced axes, flattened in row-major order."""
    reduced = tuple([x.shape[axis] for axis in axes])
    count = product(reduced)
    dtype = int32 if isinstance(count, int) and count <= _LARGEST[int32] else int64
    kept = tuple([axis for axis in range(len(x.shape)) if axis not in axes])
    return spread(Iota(shape=reduced, dtype=dtype).output, kept, x.shape)
