"""Gradients beside parameters: which tensors have one, and what updates them.

>>> import nervure as nv
>>> w = nv.tensor([1.0, 2.0], requires_grad=True)
>>> w.grad.tolist()
[0.0, 0.0]
>>> nv.sum(w * w).backward()
>>> w.grad.tolist(), (w * w).grad is None
([2.0, 4.0], True)
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from nervure.errors import WrongKind, shown, warn_user
from nervure.front.creation import AssignableTensorOp, make_place, variables_below
from nervure.front.effects import Effect
from nervure.front.pointwise.elementwise import stop_gradient
from nervure.front.record import record_of
from nervure.front.tensor import Tensor
from nervure.support.elsewhere import explain_keywords


@runtime_checkable
class Updater(Protocol):
    """An optimiser, as hooks see it."""

    def update(self, parameter: AssignableTensorOp, gradient: AssignableTensorOp, /) -> Effect:
        """Returns the effect that changes a parameter by its gradient."""


def checked_update(effect: object, op: str) -> Effect:
    """Returns the value that an optimiser gave for a loss; WrongKind unless it is an effect."""
    if not isinstance(effect, Effect):
        raise WrongKind("the optimiser gives no effect", op=op, operand="optimizer", got=shown(effect),
                        expected="an effect, such as nv.doall([...]) of assignments",
                        help="nv.optim.Adam(1e-3) is one that does")
    return effect


def requires_grad(x: Tensor) -> bool:
    """Whether the tensor is a parameter, which has a gradient."""
    return isinstance(x, AssignableTensorOp) and x.is_trainable and x.dtype.is_float


def grad(x: Tensor) -> AssignableTensorOp | None:
    """The gradient of a parameter: a persistent tensor of its type, axes and device, at first zeros. None for other
    tensors.

    ``backward`` writes it.
    """
    return gradient_of(x) if isinstance(x, AssignableTensorOp) and requires_grad(x) else None


def gradient_of(parameter: AssignableTensorOp) -> AssignableTensorOp:
    """Returns the gradient of a tensor that is known to be a parameter, made now if it does not exist yet.

    >>> w = nv.variable("F=2").named("w")
    >>> gradient_of(w)
    <persistent f32[F=2] 'w_gradient'>
    """
    record = record_of(parameter)
    if record.gradient is None:
        name = f"{parameter.name or 'variable'}_gradient"
        record.gradient = make_place("persistent", parameter.axes, parameter.dtype, None, type(parameter)).named(name)
    return record.gradient


def has_param_ancestor(x: Tensor) -> bool:
    """Whether the tensor is a parameter, or is computed from one."""
    return any([requires_grad(variable) for variable in variables_below(x)])


def detach(x: Tensor) -> Tensor:
    """The same elements, cut off from differentiation: no derivative passes, and nothing below is compiled for one."""
    return stop_gradient(x)


def parameter_of(x: object, op: str) -> tuple[AssignableTensorOp, AssignableTensorOp]:
    """Returns a parameter with its gradient; WrongKind for anything else."""
    gradient = grad(x) if isinstance(x, Tensor) else None
    if not isinstance(x, AssignableTensorOp) or gradient is None:
        raise WrongKind("this has no gradient", op=op, operand=1, got=f"{x!r:.80}", expected="a parameter",
                        help="nv.parameter(x) makes one of a tensor, outside of nv.no_grad()")
    return x, gradient


def hook_optimizer(x: Tensor, optimizer: Updater) -> None:
    """Hooks an optimiser to a parameter: ``nv.call_optimizer(x)`` runs ``optimizer.update(parameter, gradient)``.

    A second hook replaces the first, with a warning.

    >>> class Descent:
    ...     def update(self, parameter, gradient):
    ...         return nv.assign(parameter, parameter - 0.1 * gradient)
    >>> w = nv.tensor([1.0, 2.0], requires_grad=True)
    >>> nv.hook_optimizer(w, Descent())
    >>> nv.sum(w * w).backward()
    >>> nv.call_optimizer(w)
    >>> w.tolist()
    [0.800000011920929, 1.600000023841858]
    """
    place, _ = parameter_of(x, "hook_optimizer")
    if not isinstance(optimizer, Updater):
        raise WrongKind("an optimiser has a method update", op="hook_optimizer", operand="optimizer",
                        got=shown(optimizer),
                        expected="update(parameter, gradient), which gives an effect",
                        help="nv.assign(parameter, parameter - rate * gradient) is such an effect")
    record = record_of(place)
    if record.optimizer is not None:
        warn_user(f"hook_optimizer: {place.name or 'this parameter'} had {type(record.optimizer).__name__} hooked to "
                  f"it, which {type(optimizer).__name__} replaces")
    record.optimizer = optimizer


__all__ = ["hook_optimizer"]

explain_keywords(globals(), __all__)
