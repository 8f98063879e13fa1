"""Flexible tensors: they say at which position a strict op may add an axis, so that it takes a tensor of lower rank.

>>> import nervure as nv
>>> bias = nv.flexible(nv.zeros((10,)), 0)
>>> bias.flexible_at, nv.zeros((10,)).flexible_at, bias
(0, None, <Tensor f32[10] Full 0.0 flexible at 0>)
"""

from __future__ import annotations

from typing import cast

from nervure.front.argument_parsing import integer
from nervure.front.arranging.views import new_position
from nervure.front.creation import as_tensor
from nervure.front.tensor import Tensor, TensorLike, known_elements
from nervure.support.elsewhere import explain_keywords
from nervure.types.frozen import put


class FlexibleTensor(Tensor, is_device=False):
    """A tensor that says where broadcasting may add an axis: before the axis at the given position."""

    __slots__ = ("_at",)
    _at: int

    def __new__(cls, x: Tensor, at: int) -> FlexibleTensor:
        made = cast("FlexibleTensor", super().__new__(cls, x.value, x._axes))
        put(made, "_at", at)
        return made

    def __repr__(self) -> str:
        op = self._value.op
        return f"<Tensor {self._described(type(op).__name__, known_elements(op))} flexible at {self._at}>"


def flexible(x: TensorLike, at: int) -> Tensor:
    """Marks the position of x, from 0 to its rank (negative: from the end), at which a strict op may add an axis.

    Ops that are declared by a where string raise the rank of an operand nowhere else; the front's own operators
    broadcast by their own rules.

    >>> nv.flexible([1, 2], -1).flexible_at
    1
    """
    own = as_tensor(x, "flexible")
    return FlexibleTensor(own, new_position(own, integer(at, "flexible", "at"), "flexible"))


def flexible_at(x: Tensor) -> int | None:
    """Returns the position at which broadcasting may add an axis, or None."""
    return x._at if isinstance(x, FlexibleTensor) else None


__all__ = ["flexible"]

explain_keywords(globals(), __all__)
