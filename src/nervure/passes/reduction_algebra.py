"""Rewrites of reductions over nothing, of reductions, of repeated tensors and of products with these, if the result has
the same bits.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2, 3, 4))
>>> from nervure.passes.rewrite import Rewriter
>>> nested = nv.ops.Max(nv.ops.Max(x, [1]), [1])
>>> simplify = Rewriter("reductions", RULES)
>>> simplify(nv.Function([nested], [x])).results[0].op.axes
(1, 2)

A sum of sums keeps its two orders of addition for floats; for integers, which wrap, and for extrema, any and all there
is only one result.
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.ir.leaves import Full
from nervure.ir.op import Op, Value
from nervure.ops.contraction import Contract
from nervure.ops.reductions import All, Extremum, Max, Min, Prod, Reduction, Sum
from nervure.ops.reductions import Any as AnyHolds
from nervure.ops.views import Broadcast
from nervure.passes.rewrite import Local, Rule
from nervure.types.dim import less_equal, product
from nervure.types.element_groups import BOOL, INTEGERS

_FOLDS = (Sum, Prod, Max, Min, AnyHolds, All)


def _over_nothing(op: Reduction) -> Value | None:
    """Replaces a reduction over no axes by its operand."""
    return op.operands[0] if not op.axes else None


def _of_reduction(op: Reduction) -> Op | None:
    """Joins two reductions of one kind, one after the other."""
    inner = op.operands[0].op
    if type(inner) is not type(op) or not isinstance(inner, Reduction) or not _is_order_free(op) or (
            isinstance(inner, Extremum) and inner.of_nothing is not op.attributes["of_nothing"]):
        return None
    x = inner.operands[0]
    kept = [d for d in range(x.rank) if d not in inner.axes]
    return op.over(x, (*inner.axes, *[kept[axis] for axis in op.axes]))


def _of_broadcast(op: Reduction) -> Value | None:
    """Reduces a tensor along axes on which it repeats to the tensor itself; a sum of integers is multiplied by the
    count.
    """
    inner = op.operands[0].op
    if type(inner) is not Broadcast or not op.axes or not set(op.axes) <= set(inner.axes):
        return None
    count = product([inner.shape[axis] for axis in op.axes])
    is_sum = type(op) is Sum
    if is_sum or type(op) is Prod:
        if not (is_sum and op.dtype in INTEGERS and isinstance(count, int)):
            return None
    elif less_equal(1, count) is not True:
        return None
    rest = _without(inner, op.axes)
    return rest * _wrapped(count, op) if is_sum and isinstance(count, int) else rest


def _without(repeated: Broadcast | Full, dropped: Sequence[int]) -> Value:
    """Returns a ``repeated`` tensor without the ``dropped`` dimensions, along which it repeats."""
    kept = [d for d in range(len(repeated.shape)) if d not in dropped]
    shape = tuple([repeated.shape[d] for d in kept])
    if isinstance(repeated, Full):
        return Full(repeated.number, repeated.dtype, shape).output
    axes = [position for position, d in enumerate(kept) if d in repeated.axes]
    return Broadcast(repeated.operands[0], shape, axes).output if axes else repeated.operands[0]


def _of_repeated(op: Contract) -> Value | None:
    """Computes a product once along the free dimensions in which an operand of ``op`` repeats, and repeats the result.

    So the gradient of ``sum(x @ w)`` is a product of a matrix and a vector.
    """
    terms = [op.x_indices, op.y_indices]
    operands = list(op.operands)
    repeated: set[int] = set()
    for position, (mine, others) in enumerate(((op.x_indices, op.y_indices), (op.y_indices, op.x_indices))):
        inner = op.operands[position].op
        if not isinstance(inner, (Broadcast, Full)):
            continue
        axes = inner.axes if isinstance(inner, Broadcast) else range(len(inner.shape))
        dropped = [d for d in axes if mine[d] not in others]
        if dropped:
            repeated.update([mine[d] for d in dropped])
            operands[position] = _without(inner, dropped)
            terms[position] = tuple([entry for entry in mine if entry not in repeated])
    if not repeated:
        return None
    kept = tuple([entry for entry in op.indices if entry not in repeated])
    once = Contract(*operands, *terms, kept).output
    return Broadcast(once, op.shape, [d for d, entry in enumerate(op.indices) if entry in repeated]).output


def _wrapped(count: int, op: Reduction) -> int:
    """Returns a count as the integer type holds it."""
    bits = op.dtype.bits
    low = count % (1 << bits)
    return low - (1 << bits) if low > op.dtype.limits[1] else low


def _is_order_free(op: Reduction) -> bool:
    return type(op) in (Max, Min) or op.dtype in INTEGERS | BOOL


RULES: tuple[Rule, ...] = (
    Local("a reduction over no axes", _FOLDS, _over_nothing),
    Local("a reduction of a reduction", _FOLDS, _of_reduction),
    Local("a reduction of a broadcast", _FOLDS, _of_broadcast),
    Local("a product with a repeated tensor", [Contract], _of_repeated),
)
