"""Clipping: gradients are limited before an optimiser gets them, each element or the norm of all together.

>>> import nervure as nv
>>> [gradient.tolist() for gradient in clip_by_norm([nv.constant([3.0]), nv.constant([4.0])], 1.0)]
[[0.6000000238418579], [0.800000011920929]]
>>> w = nv.variable((2,), [3.0, -4.0])
>>> nv.evaluate(Clipped(nv.optim.SGD(1.0), norm=5.0)(nv.sum(w * w))), w.tolist()
(None, [0.0, 0.0])
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.errors import InvalidArgument
from nervure.front.argument_parsing import members
from nervure.front.creation import AssignableTensorOp, as_tensor
from nervure.front.op_functions import absolute, minimum, sqrt
from nervure.front.pointwise.elementwise import clip, convert
from nervure.front.promotion import floating
from nervure.front.statistics.reductions import sum  # of tensors
from nervure.front.tensor import Tensor, TensorLike
from nervure.optim.hyperparameters import POSITIVE, number
from nervure.optim.kept import Slots, kept_of
from nervure.optim.optimizer import Change, GradientStep, Optimizer, working_type
from nervure.optim.wrapper import Wrapper
from nervure.support.elsewhere import explain_keywords, explains_keywords


def global_norm(tensors: Sequence[TensorLike]) -> Tensor:
    """Computes the Euclidean norm of several tensors, taken together as one vector; in float32 at least.

    >>> nv.optim.global_norm([[3.0], [[4.0]]]).item()
    5.0
    """
    own = [_size(as_tensor(entry, "global_norm"))
           for entry in members(tensors, "global_norm", "tensors", "a list of tensors")]
    if not own:
        raise InvalidArgument("there is nothing to measure", op="global_norm", got="no tensors",
                              expected="one or more", help="nv.deriv(loss, parameters) gives gradients")
    total = sum(own[0] * own[0], out_axes=())
    for entry in own[1:]:
        total = total + sum(entry * entry, out_axes=())
    return sqrt(total)


def clip_by_norm(gradients: Sequence[TensorLike], limit: float | Tensor) -> list[Tensor]:
    """Scales all gradients by one factor if their global norm exceeds the limit (Pascanu et al. 2013).

    >>> nv.optim.clip_by_norm([[0.5]], 1.0)[0].tolist()
    [0.5]
    """
    own = _floats(gradients, "clip_by_norm")
    scale = minimum(number(limit, "clip_by_norm", "limit", POSITIVE) / global_norm(own), 1.0)
    return [convert(entry * convert(scale, working_type(entry.dtype)), entry.dtype) for entry in own]


def clip_by_value(gradients: Sequence[TensorLike], limit: float | Tensor) -> list[Tensor]:
    """Clips each element of the gradients to [-limit, limit].

    >>> nv.optim.clip_by_value([[3.0, -0.5]], 1.0)[0].tolist()
    [1.0, -0.5]
    """
    own = _floats(gradients, "clip_by_value")
    bound = number(limit, "clip_by_value", "limit", POSITIVE)
    bounds = [convert(bound, entry.dtype) for entry in own]
    return [clip(entry, -high, high) for entry, high in zip(own, bounds, strict=True)]


def _size(x: Tensor) -> Tensor:
    """Returns x in its working type, with complex numbers as their absolute values."""
    return convert(absolute(x) if x.dtype.is_complex else x, working_type(x.dtype))


def _floats(gradients: Sequence[TensorLike], op: str) -> list[Tensor]:
    """Returns gradients in types with fractions: integers become float32."""
    own = [as_tensor(entry, op) for entry in members(gradients, op, "gradients")]
    return [convert(entry, floating(entry.dtype)) for entry in own]


class Clipped(Wrapper):
    """An optimiser whose gradients are clipped: each element to ``value``, then all of a step together to ``norm``.

    The limits are slots of a parameter, ``clipped_value`` and ``clipped_norm``.

    >>> w = nv.variable((), 1.0)
    >>> nv.evaluate(nv.optim.Clipped(nv.optim.SGD(1.0), value=0.25).update(w, 8.0)), w.item()
    (None, 0.75)
    """

    @explains_keywords
    def __init__(self, optimizer: Optimizer, norm: float | Tensor | None = None,
                 value: float | Tensor | None = None) -> None:
        super().__init__(optimizer)
        if norm is None and value is None:
            raise InvalidArgument("clipping needs a limit", op="Clipped", got="neither norm= nor value=",
                                  expected="norm=, value=, or both", help="norm=1.0 is usual")
        self.norm, self.value = [
            None if limit is None else number(limit, "Clipped", name, POSITIVE, "leave it out for no limit")
            for name, limit in (("norm", norm), ("value", value))]

    def changes(self, steps: Sequence[GradientStep]) -> list[Change]:
        gradients = [gradient for _, gradient in steps]
        if self.value is not None:
            gradients = clip_by_value(gradients, self.value)
        if self.norm is not None:
            gradients = clip_by_norm(gradients, self.norm)
        return self.optimizer.changes([GradientStep(place, gradient) for (place, _), gradient
                                       in zip(steps, gradients, strict=True)])

    def own_slots(self, parameter: AssignableTensorOp) -> Slots:
        return kept_of({"clipped_value": self.value, "clipped_norm": self.norm})


explain_keywords(globals(), ["clip_by_norm", "clip_by_value", "global_norm"])
