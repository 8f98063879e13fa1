"""Scaled dot-product attention: two products with a softmax between them, over named axes or over positions.

>>> import nervure as nv
>>> q = nv.placeholder("N=8, H=4, T=100, D=32")
>>> k, v = nv.placeholder("N=8, H=4, S=60, D=32"), nv.placeholder("N=8, H=4, S=60, E=16")
>>> print(nv.attention(q, k, v).axes)
(N: 8, H: 4, T: 100, E: 16)

It is made of ops that anyone may write; kernels that share an outer loop keep its scores out of memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from nervure import ops
from nervure.errors import AxisMismatch, InvalidArgument, ShapeMismatch, WrongKind
from nervure.front import alignment
from nervure.front.alignment import broadcast_anonymous, broadcast_shape, reordered
from nervure.front.apply import common_dtype
from nervure.front.argument_parsing import integer, members, real, truth
from nervure.front.creation import as_tensor
from nervure.front.op_functions import divide, multiply, sqrt
from nervure.front.pointwise.elementwise import convert
from nervure.front.promotion import floating
from nervure.front.tensor import Operand, Tensor
from nervure.ir.op import Value
from nervure.ops.attention import for_each_head, shared_heads
from nervure.ops.conversion import converted
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes
from nervure.types.axis import Axis, same_role
from nervure.types.dim import DimLike, equal
from nervure.types.dtype import DType, bool_, float64
from nervure.types.shape import Shape

__all__ = ["attention"]

_NAME = "attention"


def attention(q: Operand, k: Operand, v: Operand, mask: Operand | None = None, causal: bool = False,
              scale: float | None = None, window: int | tuple[int | None, int | None] | None = None) -> Tensor:
    """For each row of ``q``, the mean of the rows of ``v`` with the weights ``softmax(scale * q @ k.T)``.

    By position ``q`` is (..., L, D), ``k`` is (..., S, D), ``v`` is (..., S, E), and the result (..., L, E). With
    names, the last two axes of q are its rows and the features that are contracted; the rows of k and v are their axis
    that q has not, or else the one with the name of q's rows. Other axes match by name, and the result has those of q
    with v's features in place of q's. The axis before the rows is that of heads: k and v may have fewer of them, each
    shared by as many neighbours of q.

    ``mask`` broadcasts to the scores (..., L, S): true where a row of q sees a row of k, or numbers that are added.
    ``causal``: row i sees the rows 0 to i. ``window``: row i sees the rows i - before to i + after, given as
    ``(before, after)`` or as one number for both; None is no bound. A row that sees nothing gives 0. ``scale`` is
    1/sqrt(D) by default. Low-precision operands are computed in float32 and rounded once.

    Raises ShapeMismatch or AxisMismatch where operands do not fit, and InvalidArgument for a window below 0.

    >>> q, k = np.eye(3, dtype=np.float32), 50 * np.eye(3, dtype=np.float32)
    >>> nv.attention(q, k, np.array([[1.0], [2.0], [3.0]])).numpy().round(3).tolist()
    [[1.0], [2.0], [3.0]]
    >>> nv.attention(0 * q, k, np.array([[1.0], [2.0], [3.0]]), causal=True).numpy().round(3).tolist()
    [[1.0], [1.5], [2.0]]
    """
    dtype = floating(common_dtype((q, k, v), _NAME))
    tensors = [convert(as_tensor(x, _NAME, place + 1), dtype.compute) for place, x in enumerate((q, k, v))]
    layout = _layout(*tensors)
    query, key, value = _values(tensors, layout)
    factor = _scale(query, scale)
    query = query if factor is None else multiply(Tensor(query), factor).value
    before, after = _window(window, truth(causal, _NAME, "causal"))
    masks = [] if mask is None else [_mask(mask, (*query.shape[:-1], key.shape[-2]), layout, dtype)]
    return convert(Tensor(ops.Attention(query, key, value, *masks, before=before, after=after), layout.axes), dtype)


class _Layout(NamedTuple):
    """The order of the axes of q, k and v by which they are (..., rows, features), and the names of the result's axes.

    ``names`` are those of the scores, (..., rows of q, rows of k). Both are None without names.
    """

    orders: tuple[tuple[int | None, ...], ...]
    axes: Axes | None
    names: tuple[Axis, ...] | None


def _layout(q: Tensor, k: Tensor, v: Tensor) -> _Layout:
    """Returns the roles of axes; AxisMismatch where names leave them open."""
    for place, x in enumerate((q, k, v)):
        if x.ndim < 2:
            raise ShapeMismatch("q, k and v have rows and features", op=_NAME, operand=place + 1, got=str(x.type),
                                expected="two dimensions or more", help="nv.expand_dims adds an axis")
        if x.is_named != q.is_named:
            raise AxisMismatch("q, k and v must all be named, or none", op=_NAME, operand=place + 1,
                               got=str(x.axes), expected="names on all, or on none", help="nv.cast_axes(x, axes)")
    if not q.is_named:
        return _Layout(tuple([tuple(range(x.ndim)) for x in (q, k, v)]), None, None)
    *batch, rows, features = q.axes
    keys = _rows_of_keys(q, k)
    at_features = _position(k, features, keys)
    if at_features is None:
        raise AxisMismatch(f"k has no axis {features.label}, the last one of q", op=_NAME, operand=2,
                           got=str(k.axes), expected=str(features), help="the last axis of q is contracted with k's")
    rows_of_v = _position(v, k.axes[keys], None)
    if rows_of_v is None:
        raise AxisMismatch(f"v has no axis {k.axes[keys].label}, the rows of k", op=_NAME, operand=3, got=str(v.axes),
                           expected=str(k.axes[keys]), help="k and v have one axis of rows in common")
    key_order = [_position(k, axis, keys) for axis in batch]
    value_order = [_position(v, axis, rows_of_v) for axis in batch]
    _check_all_used(k, (*key_order, keys, at_features), 2)
    left = [at for at in range(v.ndim) if at not in (*value_order, rows_of_v)]
    if len(left) != 1:
        raise AxisMismatch("v has one axis of features beside its rows and the axes that q has", op=_NAME, operand=3,
                           got=str(v.axes), expected="one more axis", help="nv.flatten joins two of them")
    return _Layout((tuple(range(q.ndim)), (*key_order, keys, at_features), (*value_order, rows_of_v, left[0])),
                   Axes([*batch, rows, v.axes[left[0]]]), (*batch, rows, k.axes[keys]))


def _rows_of_keys(q: Tensor, k: Tensor) -> int:
    """Returns the axis of k that counts its rows: the one that q lacks, or else that of q's rows."""
    alone = [at for at, axis in enumerate(k.axes) if not any([same_role(axis, other) for other in q.axes])]
    own = alone or [at for at, axis in enumerate(k.axes) if same_role(axis, q.axes[-2])]
    if len(own) != 1:
        raise AxisMismatch("k has no axis for its rows" if not own else "k has several axes that q has not", op=_NAME,
                           operand=2, got=str(k.axes), expected=f"one axis beside those of {q.axes}",
                           help="the rows of k and v are one axis, which q lacks or has as its rows, too")
    return own[0]


def _position(x: Tensor, axis: Axis, taken: int | None) -> int | None:
    """Returns the position of the axis of x in the role of ``axis``, other than ``taken``; None if there is none."""
    return next((at for at, own in enumerate(x.axes) if at != taken and same_role(own, axis)), None)


def _check_all_used(x: Tensor, used: Sequence[int | None], operand: int) -> None:
    for at, axis in enumerate(x.axes):
        if at not in used:
            raise AxisMismatch(f"q has no axis {axis.label}", op=_NAME, operand=operand, got=str(x.axes),
                               expected="the axes of q, its rows aside", help="nv.broadcast(q, axes) adds an axis to q")


def _values(tensors: Sequence[Tensor], layout: _Layout) -> list[Value]:
    """Returns q, k and v as (batch, rows, features), with the same batch: heads are shared, the others broadcast."""
    q, k, v = [_in_order(x.value, order) for x, order in zip(tensors, layout.orders, strict=True)]
    k, v = _with_lengths(k, -1, q.shape[-1], 2), _with_lengths(v, -2, k.shape[-2], 3)
    if q.rank > 2:
        k, v = [_for_heads(x, q.shape[-3], place) for place, x in ((2, k), (3, v))]
    batch = broadcast_shape([x.shape[:-2] for x in (q, k, v)], _NAME)
    return [broadcast_anonymous(x, (*batch, *x.shape[-2:]), _NAME) for x in (q, k, v)]


def _in_order(x: Value, order: Sequence[int | None]) -> Value:
    """Returns a value with its dimensions in an order, with a length of 1 for each None."""
    found = reordered(x, [at for at in order if at is not None])
    shape = [1 if at is None else x.shape[at] for at in order]
    return found if None not in order else ops.Reshape(found, tuple(shape)).output


def _with_lengths(x: Value, at: int, length: DimLike, operand: int) -> Value:
    """Returns a value whose dimension ``at`` has a ``length``; ShapeMismatch if it cannot have it."""
    own = x.shape[at]
    if equal(own, length) is False:
        what = "features of k are those of q" if operand == 2 else "rows of v are those of k"
        raise ShapeMismatch(f"the {what}", op=_NAME, operand=operand, got=f"{own} in {x.type}", expected=str(length),
                            help="by position q is (..., L, D), k (..., S, D) and v (..., S, E)")
    shape = list(x.shape)
    shape[at] = length
    return x if equal(own, length) else alignment.assume_shape(x, tuple(shape), _NAME)


def _for_heads(x: Value, heads: DimLike, operand: int) -> Value:
    """Returns keys or values with as many ``heads`` as q, where that is a multiple of their own."""
    if x.rank < 3 or x.shape[-3] == heads or x.shape[-3] == 1:
        return x
    times = shared_heads(x.shape[-3], heads)
    if times is None and equal(x.shape[-3], heads) is None:
        return x  # the call checks it
    if times is None:
        raise ShapeMismatch("heads of k and v divide those of q", op=_NAME, operand=operand,
                            got=f"{x.shape[-3]} in {x.type}", expected=f"a divisor of {heads}",
                            help="the axis before the rows is that of heads")
    return for_each_head(x, times)


def _scale(query: Value, scale: float | None) -> Operand | None:
    """Returns the factor of scores; None for 1."""
    if scale is not None:
        return None if real(scale, _NAME, "scale") == 1 else real(scale, _NAME, "scale")
    width = query.shape[-1]
    if isinstance(width, int):
        return 1 / math.sqrt(width) if width else None
    return convert(divide(1.0, sqrt(convert(width, float64))), query.dtype)  # with the bits of a number


def _window(window: object, causal: bool) -> tuple[int | None, int | None]:
    """Returns how many rows before and after its own a row sees; None: all."""
    is_one = window is None or isinstance(window, int)
    sides = [window, window] if is_one else members(window, _NAME, "window", "a number, or (before, after)")
    if len(sides) != 2:
        raise InvalidArgument("a window has two sides", op=_NAME, operand="window", got=f"{len(sides)}",
                              expected="(before, after)", help="one number stands for both")
    found = [side if side is None else integer(side, _NAME, "window", "integers, or None",
                                               help="a mask can hide the row itself", least=0) for side in sides]
    return found[0], 0 if causal else found[1]


def _mask(mask: Operand, scores: Shape, layout: _Layout, dtype: DType) -> Value:
    """Returns the mask in the shape of the scores: truth values, or numbers in the type of the scores."""
    own = as_tensor(mask, _NAME, 4)
    if own.dtype is not bool_ and not own.dtype.is_float:
        raise WrongKind("a mask has truth values, or floats that are added", op=_NAME, operand="mask",
                        got=own.dtype.name, expected="bool, or a float type", help="mask != 0, or mask.astype(...)")
    value = own.value
    if own.is_named:
        value = _named_mask(own, layout)
    shape = broadcast_shape([value.shape, scores], _NAME)
    if len(shape) != len(scores) or any([equal(x, y) is False for x, y in zip(shape, scores, strict=True)]):
        raise ShapeMismatch("the mask has a larger shape than the scores", op=_NAME, operand="mask",
                            got=str(own.type), expected=f"what broadcasts to ({', '.join(map(str, scores))})",
                            help="the scores are (..., rows of q, rows of k)")
    value = broadcast_anonymous(value, scores, _NAME)
    return value if own.dtype is bool_ else converted(value, dtype.compute)


def _named_mask(mask: Tensor, layout: _Layout) -> Value:
    """Returns a mask with its axes in the order of the scores. Where the rows of q and of k have one name, a mask with
    that name is one of the rows of k.
    """
    if layout.names is None:
        raise AxisMismatch("q, k and v have no names for the axes of the mask", op=_NAME, operand="mask",
                           got=str(mask.axes), expected="no names", help="nv.cast_axes(mask, ()) takes them away")
    order: list[int | None] = []
    for axis in reversed(layout.names):
        found = _position(mask, axis, None)
        order.insert(0, None if found in order else found)
    _check_all_used(mask, order, 4)
    return _in_order(mask.value, order)


explain_keywords(globals(), __all__)
