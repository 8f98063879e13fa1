"""Elements chosen among several tensors: by number, by the first condition that holds, piece by piece; and put along
an axis.

>>> import nervure as nv
>>> nv.choose([1, 0], [[1, 2], [3, 4]]).tolist()
[3.0, 2.0]
>>> x = nv.constant([-1, 0, 2])
>>> nv.select([x < 0, x > 1], [-x, x * 10]).tolist(), nv.piecewise(x, [x < 0], [0, lambda x: x + 1]).tolist()
([1.0, 0.0, 20.0], [0.0, 1.0, 3.0])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nervure import ops
from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.front.apply import operand_tensors
from nervure.front.argument_parsing import members, position_of
from nervure.front.arranging.gathering import as_index, gather_elements, inside, mode_of
from nervure.front.arranging.joining import stack
from nervure.front.arranging.rearranging import broadcast_arrays
from nervure.front.arranging.views import broadcast, expand_dims, squeeze
from nervure.front.creation import as_tensor, received
from nervure.front.evaluation_order import in_order
from nervure.front.pointwise.elementwise import convert, where
from nervure.front.tensor import Operand, Tensor, TensorLike
from nervure.ops.conversion import converted
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import AxisLike
from nervure.types.dtype import bool_, int64

__all__ = ["choose", "piecewise", "put_along_axis", "select"]


@in_order
def choose(index: TensorLike, choices: Sequence[TensorLike], mode: str = "raise") -> Tensor:
    """Returns, for each entry of ``index``, the element of the choice with that number, at the same place.

    All broadcast. A number that no choice has is an IndexOutOfRange when the graph runs, or with ``mode`` "wrap" taken
    modulo their count, or with "clip" the nearest one.

    >>> nv.choose([2, 0, 1], [[1, 2, 3], [4, 5, 6], [7, 8, 9]]).tolist()
    [7.0, 2.0, 6.0]
    """
    listed: list[Any] = members(choices, "choose", "choices", "a list of tensors")
    if not listed:
        raise InvalidArgument("there is nothing to choose from", op="choose", operand="choices", got="none",
                              expected="one or more", help="nv.choose([0, 1], [x, y]) takes x first, then y")
    own, count = as_tensor(index, "choose"), len(listed)
    own = as_index(convert(own, int64) if own.dtype is bool_ else index, "choose")
    own, *spread = broadcast_arrays(inside(own, count, mode, "choose"), *operand_tensors(listed, "choose", 2))
    if own.is_named:
        plain = [Tensor(entry.value) for entry in spread]
        return Tensor(_picked(Tensor(own.value), plain).value, own._axes)
    return _picked(own, spread)


def _picked(index: Tensor, choices: Sequence[Tensor]) -> Tensor:
    return squeeze(gather_elements(stack(choices), expand_dims(index, 0), 0), 0)


@in_order
def select(conditions: Sequence[TensorLike], choices: Sequence[TensorLike], default: Operand = 0) -> Tensor:
    """Returns, element by element, the choice of the first of the ``conditions`` that holds, or the ``default``.

    >>> nv.select([[True, False, False], [True, True, False]], [[1, 2, 3], [4, 5, 6]], -1).tolist()
    [1.0, 5.0, -1.0]
    """
    given = members(conditions, "select", "conditions", "a list of conditions")
    listed = members(choices, "select", "choices", "a list of tensors")
    if len(given) != len(listed) or not given:
        raise InvalidArgument("each condition has a choice", op="select", operand="choices",
                              got=f"{len(given)} conditions and {len(listed)} choices", expected="as many, one or more",
                              help="the default is for where no condition holds")
    *chosen, found = operand_tensors((*listed, default), "select", 2)
    for condition, choice in zip(reversed(given), reversed(chosen), strict=True):
        found = where(as_tensor(condition, "select"), choice, found)
    return found


@in_order
def piecewise(x: TensorLike, conditions: Sequence[TensorLike], functions: Sequence[Callable[..., Any] | Operand],
              *arguments: object) -> Tensor:
    """Returns x through the function of the last of the ``conditions`` that holds, or through one more for the rest.

    A number or a tensor stands for a constant function, 0 for a missing one. Functions get all of x, and
    ``arguments``. Results have the type of x.

    >>> nv.piecewise([-2.0, 0.0, 3.0], [[True, False, False], [False, False, True]], [-1, lambda x: x * x]).tolist()
    [-1.0, 0.0, 9.0]
    """
    own = as_tensor(x, "piecewise")
    given = members(conditions, "piecewise", "conditions", "a list of conditions")
    listed = members(functions, "piecewise", "functions", "a list of functions or numbers")
    if len(listed) - len(given) not in (0, 1):
        raise InvalidArgument("each condition has a function", op="piecewise", operand="functions",
                              got=f"{len(given)} conditions and {len(listed)} functions",
                              expected="as many, or one more", help="one more is for where no condition holds")

    def piece(function: Any) -> Tensor:
        found = function(own, *arguments) if callable(function) else function
        return Tensor(broadcast(Tensor(converted(received(found, own.dtype, "piecewise").value, own.dtype),
                                       found._axes if isinstance(found, Tensor) else None), own.axes).value, own._axes)
    found = piece(listed[-1] if len(listed) > len(given) else 0)
    for condition, function in zip(given, listed, strict=False):
        found = where(as_tensor(condition, "piecewise", 2), piece(function), found)
    return found


def put_along_axis(x: TensorLike, index: TensorLike, updates: TensorLike, axis: AxisLike = -1,
                   mode: str = "set") -> Tensor:
    """Returns x with ``updates`` at the positions ``index`` along an axis, at the same places otherwise.

    The index has the shape of x but for the axis, as for ``nv.gather_elements``; updates broadcast to it. ``mode`` is
    that of ``nv.scatter``.

    >>> nv.put_along_axis([[1, 2], [3, 4]], [[1], [0]], 9, axis=1).tolist()
    [[1.0, 9.0], [9.0, 4.0]]
    """
    own, positions = as_tensor(x, "put_along_axis"), as_index(index, "put_along_axis", 2)
    written = mode_of(mode, "put_along_axis")
    at = position_of(own, axis, "put_along_axis")
    if positions.ndim != own.ndim or positions.is_named:
        raise ShapeMismatch("the index has as many axes as x, without names", op="put_along_axis", operand=2,
                            got=str(positions.type), expected=f"{own.ndim} axes",
                            help="nv.scatter(x, index, updates, axis) takes an index of other axes")
    shape = tuple([positions.type.shape[d] if d == at else length for d, length in enumerate(own.type.shape)])
    fresh = broadcast(Tensor(converted(received(updates, own.dtype, "put_along_axis", 3).value, own.dtype)), shape)
    spread = broadcast(positions, shape)
    coordinates = [spread.value if d == at else ops.Iota(shape, d, int64).output for d in range(own.ndim)]
    index_of_all = ops.Stack(*coordinates, axes=(own.ndim,), counts=(own.ndim,))
    return Tensor(ops.ScatterNd(own.value, index_of_all, fresh.value, written, 0), own._axes)


explain_keywords(globals(), __all__)
