"""The interface of optimisers: from a parameter and its gradient to the effect that improves the parameter.

``update(parameter, gradient)`` is the effect of one step; called with a loss, an optimiser returns the effect for all
variables below it. Its memory of a parameter, the slots, are persistent tensors, made at the first use.

>>> import nervure as nv
>>> w = nv.variable((), 1.0)
>>> descent = nv.optim.SGD(0.25)
>>> nv.evaluate(descent.update(w, 2.0 * w)), w.item()
(None, 0.5)
>>> descent.slots(w)
{'lr': <persistent f64[] 'sgd_learning_rate'>, 'n': <persistent i64[] 'sgd_n'>}
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from nervure.autodiff.derivative import deriv
from nervure.errors import InvalidArgument, WrongKind, shown
from nervure.front.alignment import fitted
from nervure.front.argument_parsing import members
from nervure.front.creation import AssignableTensorOp, as_tensor, variables_below
from nervure.front.effects import Effect, assign, doall
from nervure.front.pointwise.elementwise import convert
from nervure.front.promotion import floating
from nervure.front.record import record_of
from nervure.front.tensor import Tensor, TensorLike
from nervure.front.traced_numbers import is_number
from nervure.ir.identity import Uncopyable
from nervure.optim.kept import Slots, variables_in
from nervure.support.elsewhere import unknown_method
from nervure.types.dtype import DType, float32, float64

if TYPE_CHECKING:
    from nervure.optim.rule import Rule


class GradientStep(NamedTuple):
    """A parameter and its gradient, which has the axes of the parameter."""

    parameter: AssignableTensorOp
    gradient: Tensor


class Change(NamedTuple):
    """A place, and its new value."""

    place: AssignableTensorOp
    value: Tensor


class Optimizer(Uncopyable, ABC):
    """The base class of optimisers, and of those that wrap others: groups, clipping, accumulation, averages.

    A subclass defines the changes of a step and the slots it keeps; most are a ``Rule``, which does both by a formula.

    >>> isinstance(nv.optim.Adam(), nv.optim.Optimizer)
    True
    """

    @abstractmethod
    def changes(self, steps: Sequence[GradientStep]) -> list[Change]:
        """Returns the new values of parameters and of their slots, all computed from the values before."""

    @abstractmethod
    def slots(self, parameter: AssignableTensorOp) -> Slots:
        """Returns the slots of a parameter by name; they are made at the first use."""

    @abstractmethod
    def rules(self) -> list[Rule]:
        """Lists the rules below, each with its own hyperparameters."""

    def kind(self, parameter: AssignableTensorOp) -> str:
        """Returns the name that state dicts have for the rule of a parameter."""
        return type(self).__name__.lower()

    def update(self, parameter: AssignableTensorOp, gradient: TensorLike) -> Effect:
        """Returns the effect of one step on one parameter. The gradient has the parameter's axes, or fewer.

        >>> w = nv.variable("F=2", 1.0)
        >>> nv.evaluate(nv.optim.SGD(0.5).update(w, 1.0)), w.tolist()
        (None, [0.5, 0.5])
        """
        return self.updates([parameter], [gradient])

    def updates(self, parameters: Sequence[AssignableTensorOp], gradients: Sequence[TensorLike]) -> Effect:
        """Returns the effect of one step on several parameters, side by side: all gradients are of the values before.

        >>> v, w = nv.variable((), 1.0), nv.variable((), 2.0)
        >>> nv.evaluate(nv.optim.SGD(0.5).updates([v, w], [w, v])), v.item(), w.item()
        (None, 0.0, 1.5)
        """
        op = type(self).__name__
        places = variables_in(parameters, op, "parameters")
        given = members(gradients, op, "gradients", "a list of tensors")
        if len(given) != len(places):
            raise InvalidArgument("each parameter needs a gradient", op=op, operand="gradients",
                                  got=f"{len(given)} for {len(places)} parameters", expected="as many as parameters",
                                  help="nv.deriv(loss, parameters) gives a list in their order")
        steps = [_step(place, gradient, op) for place, gradient in zip(places, given, strict=True)]
        changes = self.changes(steps) if steps else []
        for step in steps:
            record_of(step.parameter).updated_by = self
        return doall([assign(place, value) for place, value in changes])

    def __call__(self, loss: Tensor, variables: Sequence[AssignableTensorOp] | None = None) -> Effect:
        """Returns the effect of one step on ``variables`` (absent: every trainable variable below the loss)."""
        op = type(self).__name__
        if not isinstance(loss, Tensor):
            raise WrongKind("the loss is a tensor", op=op, operand="loss", got=shown(loss), expected="a scalar tensor",
                            help=f"nv.optim.{op}(rate)(loss, variables=w.variables()) says which variables it updates")
        chosen = variables_below(loss) if variables is None else variables_in(variables, op, "variables")
        if not chosen and variables is not None:
            raise InvalidArgument("there is nothing to update", op=op, operand="variables", got=shown(variables),
                                  expected="one variable or more",
                                  help="without variables= all trainable variables below the loss are updated")
        if not chosen:
            raise InvalidArgument("the loss depends on no variable", op=op, got=repr(loss),
                                  help="nv.variable makes one", expected="variables below the loss")
        return self.updates(chosen, deriv(loss, chosen))

    if not TYPE_CHECKING:  # type checkers see missing attributes as missing
        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            raise unknown_method(self, name)


def working_type(dtype: DType) -> DType:
    """Returns the element type in which a parameter of this type is updated: its own, or float32 if that is narrower.
    For complex elements it is that of their parts.
    """
    return float64 if dtype.part is float64 else float32


def _step(parameter: AssignableTensorOp, gradient: object, op: str) -> GradientStep:
    """Returns a parameter with its gradient on its axes, in floats; WrongKind for anything but real numbers."""
    own = as_tensor(gradient, op, 2, parameter.dtype if is_number(gradient) else None)
    if own.dtype.is_complex:
        raise WrongKind("the gradient of a real variable is real", op=op, operand="gradient", got=str(own.type),
                        expected="floats", help="nv.real(gradient) is the part that the variable can follow")
    real = convert(own, floating(own.dtype))
    return GradientStep(parameter, Tensor(fitted(real, parameter, op), parameter._axes))
