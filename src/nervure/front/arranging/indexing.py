"""Indexing, ``x[...]`` and ``x.at[...]``: slices and positions make a view, index arrays gather and scatter.

>>> import nervure as nv
>>> x = nv.constant([[1., 2., 3.], [4., 5., 6.]], axes="H=2, W=3")
>>> x[:, ::-1].tolist(), x[{"W": 0}].tolist()
([[3.0, 2.0, 1.0], [6.0, 5.0, 4.0]], [1.0, 4.0])
>>> y = nv.constant([1., 2., 3.])
>>> y[[2, 0]].tolist(), y[nv.constant([True, False, True])].tolist()
([3.0, 1.0], [1.0, 3.0])
>>> y.at[1:].add(10).tolist()
[1.0, 12.0, 13.0]

:mod:`nervure.front.arranging.index_expressions` reads the item.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nervure import ops
from nervure.errors import WrongKind
from nervure.front import alignment, op_functions
from nervure.front.argument_parsing import members, position_of, require_function
from nervure.front.arranging.index_expressions import FULL, Choice, choose, is_integer
from nervure.front.arranging.views import base_of, renamed
from nervure.front.creation import as_tensor, received
from nervure.front.pointwise.elementwise import power
from nervure.front.tensor import Operand, Tensor, TensorLike
from nervure.ir.op import Value
from nervure.ops.conversion import converted
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import AxesLike, AxisLike


def get_item(x: Tensor, item: object) -> Tensor:
    """``x[item]``: the item has integers, slices, ``...`` and None, or is a dict from axes to such entries. Anonymous
    tensors take index arrays and masks, too.
    """
    chosen = choose(x, item)
    if not chosen.picks.dimensions:
        return chosen.view
    value = chosen.picks.gather(chosen.view.value)
    return Tensor(value, chosen.picks.remaining(chosen.view))


def tensor_slice(x: TensorLike, slices: Sequence[object], axes: AxesLike | None = None) -> Tensor:
    """Takes an integer or a slice for each axis of x, missing ones full; ``axes`` are those of the result.

    >>> nv.tensor_slice([[1, 2], [3, 4]], [slice(None), 0]).tolist()
    [1.0, 3.0]
    """
    own = as_tensor(x, "tensor_slice")
    listed = members(slices, "tensor_slice", "slices", "a list of integers and slices")
    for entry in listed:
        if not isinstance(entry, slice) and not is_integer(entry):
            raise WrongKind("tensor_slice takes integers and slices", op="tensor_slice", operand="slices",
                            got=f"{entry!r:.60}", help="x[...] takes arrays too",
                            expected="integers and slices")
    return renamed(get_item(own, tuple(listed)), axes)


def slice_along_axis(x: TensorLike, axis: AxisLike, slice: int | slice) -> Tensor:
    """Takes an integer or a ``slice`` for one ``axis`` of x.

    >>> nv.slice_along_axis(nv.iota("H=5"), "H", slice(1, 3)).tolist()
    [1, 2]
    """
    own = as_tensor(x, "slice_along_axis")
    at = position_of(own, axis, "slice_along_axis")
    return tensor_slice(own, [FULL] * at + [slice])


class AtIndexer:
    """``x.at[index]`` is the place of some elements; its methods ``set``, ``add``, ... make a new tensor."""

    def __init__(self, x: Tensor) -> None:
        self._x = Tensor(x.value, x._axes)  # a single read, which is indexed and written to

    def __getitem__(self, item: object) -> IndexUpdate:
        return IndexUpdate(self._x, choose(self._x, item))

    def __repr__(self) -> str:
        return f"<at of {self._x!r}: x.at[index].set(y)>"


class IndexUpdate:
    """Some elements of a tensor. Each method returns the tensor with these elements changed; the tensor itself stays
    as it is.

    If an index array names an element twice, ``set`` keeps the last value and the other methods combine all of them.
    """

    def __init__(self, x: Tensor, chosen: Choice) -> None:
        self._x, self._chosen = x, chosen

    def __repr__(self) -> str:
        return f"<elements of {self._x!r}: .set(y), .add(y), .multiply(y), .min(y), .apply(f), ... give a new tensor>"

    def get(self) -> Tensor:
        """Returns the elements."""
        view, picks = self._chosen
        return Tensor(picks.gather(view.value), picks.remaining(view)) if picks.dimensions else view

    def set(self, y: TensorLike) -> Tensor:
        """Returns the tensor with y in their place."""
        return self._changed(y, "set", lambda old, new: new)

    def add(self, y: TensorLike) -> Tensor:
        """Returns the tensor with y added to them."""
        return self._changed(y, "add", op_functions.add)

    def subtract(self, y: Operand) -> Tensor:
        """Returns the tensor with y subtracted from them."""
        place = self.get()
        taken = ops.Negative(_converted(y, place, "subtract")).output  # in the type of the place, where integers wrap
        return self.add(Tensor(taken, place._axes))

    def multiply(self, y: TensorLike) -> Tensor:
        """Returns the tensor with them multiplied by y."""
        return self._changed(y, "multiply", op_functions.multiply)

    def divide(self, y: Operand) -> Tensor:
        """Returns the tensor with them divided by y; places that are given by an array, multiplied by 1 / y."""
        if self._chosen[1].dimensions:
            return self.multiply(op_functions.divide(1.0, y))
        return self._changed(y, "divide", op_functions.divide)

    def power(self, y: Operand) -> Tensor:
        """Returns the tensor with them raised to the power y; one that is named twice is raised once."""
        return self.set(power(self.get(), y))

    def apply(self, function: Callable[[Tensor], TensorLike]) -> Tensor:
        """Returns the tensor with ``function`` of them in their place; one that is named twice is changed once."""
        require_function(function, "at.apply", "function")
        return self.set(function(self.get()))

    def min(self, y: TensorLike) -> Tensor:
        """Returns the tensor with the smaller of each of them and y."""
        return self._changed(y, "minimum", op_functions.minimum)

    def max(self, y: TensorLike) -> Tensor:
        """Returns the tensor with the larger of each of them and y."""
        return self._changed(y, "maximum", op_functions.maximum)

    mul = multiply

    def _changed(self, y: TensorLike, mode: str, combine: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        view, picks = self._chosen
        if picks.dimensions:
            fresh = picks.scatter(view.value, _converted(y, self.get(), mode), mode)
        else:
            old = Tensor(view.value)
            fresh = combine(old, Tensor(_converted(y, view, mode))).value
        base, index_map = base_of(view.value, self._x.value)
        written = fresh if index_map is None else ops.UpdateView(base, fresh, index_map).output
        return Tensor(written, self._x._axes)


def _converted(y: TensorLike, target: Tensor, op: str) -> Value:
    """Returns the operand of a write, on the axes of its place and in its element type."""
    own = received(y, target.dtype, f"at.{op}")
    return converted(alignment.fitted(own, target, f"at.{op}"), target.dtype)


__all__ = ["slice_along_axis", "tensor_slice"]

explain_keywords(globals(), __all__)
