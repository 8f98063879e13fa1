"""Adam (Kingma and Ba, 2015, algorithm 1): steps scaled by running means of the gradient and of its square.

>>> import nervure as nv
>>> w = nv.variable("F=2", [1.0, -1.0])
>>> loss = nv.sum(w * w)
>>> step = nv.computation([loss, Adam(learning_rate=0.1)(loss)])
>>> first = step()[0]
>>> for _ in range(50):
...     last = step()[0]
>>> float(first), bool(last < 0.01)
(2.0, True)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from nervure.autodiff.derivative import deriv
from nervure.elsewhere import explains_keywords, unknown_method
from nervure.errors import InvalidArgument, WrongKind
from nervure.front.argument_parsing import real, shown
from nervure.front.creation import AssignableTensorOp, persistent_tensor, variables_below
from nervure.front.effects import Effect, assign, doall
from nervure.front.elementwise import power
from nervure.front.op_functions import rsqrt, sqrt
from nervure.front.tensor import Operand, Tensor


class Adam:
    """Called with a loss, it gives one effect that updates variables, moments and step count together.

    ``learning_rate`` is a number or a scalar tensor. A variable w becomes, at step t,
    ``w - learning_rate * m / (1 - beta1**t) / (sqrt(v / (1 - beta2**t)) + epsilon)``
    with ``m`` and ``v`` the running means of the gradient and its square. ``slots`` holds them for each variable.

    >>> w = nv.variable((), 1.0)
    >>> loss = w * w
    >>> step = nv.computation([loss, nv.optim.Adam(learning_rate=0.5)(loss)])
    >>> step()[0].item(), round(step()[0].item(), 4)
    (1.0, 0.25)
    """

    @explains_keywords
    def __init__(self, learning_rate: float | Tensor = 1e-3, beta1: float = 0.9, beta2: float = 0.999,
                 epsilon: float = 1e-8) -> None:
        for name, value in (("beta1", beta1), ("beta2", beta2)):
            if not 0 <= real(value, "Adam", name) < 1:
                raise InvalidArgument(f"{name} is no decay rate", op="Adam", operand=name, got=value,
                                      expected="0 <= rate < 1", help="0.9 and 0.999 are usual")
        _check_rate(learning_rate)
        for name, entry in (("learning_rate", learning_rate), ("epsilon", epsilon)):
            if not isinstance(entry, Tensor) and not real(entry, "Adam", name) >= 0:
                raise InvalidArgument(f"{name} is not negative", op="Adam", operand=name, got=entry,
                                      expected="0 or more", help="the step is subtracted already")
        self.learning_rate, self.beta1, self.beta2, self.epsilon = learning_rate, beta1, beta2, epsilon
        self.steps = persistent_tensor((), 0.0).named("adam_steps")
        self.slots: dict[AssignableTensorOp, tuple[AssignableTensorOp, AssignableTensorOp]] = {}

    if not TYPE_CHECKING:
        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):
                raise AttributeError(f"'Adam' object has no attribute {name!r}")
            raise unknown_method(self, name)

    def __repr__(self) -> str:
        return (f"Adam(learning_rate={self.learning_rate!r}, beta1={self.beta1!r}, beta2={self.beta2!r}, "
                f"epsilon={self.epsilon!r})")

    def __call__(self, loss: Tensor, variables: Sequence[AssignableTensorOp] | None = None) -> Effect:
        """The effect of one step on ``variables`` (absent: every trainable variable below the loss)."""
        if not isinstance(loss, Tensor):
            raise WrongKind("the loss is a tensor", op="Adam", operand="loss", got=shown(loss),
                            expected="a scalar tensor",
                            help="nv.optim.Adam(rate)(loss, variables=w.variables()) says which variables it updates")
        chosen = variables_below(loss) if variables is None else list(variables)
        if not chosen:
            raise InvalidArgument("the loss depends on no variable", op="Adam", got=repr(loss),
                                  help="nv.variable makes one", expected="variables below the loss")
        gradients = deriv(loss, chosen)
        steps = self.steps + 1.0
        # What all elements share is computed once, so that a step divides once an element
        # (Kingma and Ba 2015, section 2).
        rate = self.learning_rate / (1.0 - power(self.beta1, steps))
        root_scale = rsqrt(1.0 - power(self.beta2, steps))
        writes = [assign(self.steps, steps)]
        for variable, gradient in zip(chosen, gradients, strict=True):
            writes.extend(self._writes(variable, gradient, rate, root_scale))
        return doall(writes)

    def _writes(self, variable: AssignableTensorOp, gradient: Tensor, rate: Operand,
                root_scale: Tensor) -> list[Effect]:
        mean, square = self._slots(variable)
        new_mean = self.beta1 * mean + (1.0 - self.beta1) * gradient
        new_square = self.beta2 * square + (1.0 - self.beta2) * gradient * gradient
        change = new_mean / (sqrt(new_square) * root_scale + self.epsilon)
        return [assign(mean, new_mean), assign(square, new_square), assign(variable, variable - rate * change)]

    def _slots(self, variable: AssignableTensorOp) -> tuple[AssignableTensorOp, AssignableTensorOp]:
        """The moments of a variable, made at its first use."""
        if variable not in self.slots:
            axes = variable.axes if variable.is_named else variable.shape
            name = variable.name or "variable"
            self.slots[variable] = (persistent_tensor(axes, dtype=variable.dtype).named(f"{name}_mean"),
                                    persistent_tensor(axes, dtype=variable.dtype).named(f"{name}_square"))
        return self.slots[variable]


def _check_rate(rate: object) -> None:
    """An error where a loss, or a list of variables, stands in the place of the learning rate."""
    is_loss = isinstance(rate, Tensor) and (
        rate.ndim > 0 or (variables_below(rate) and not isinstance(rate, AssignableTensorOp)))
    if is_loss or isinstance(rate, (list, tuple)):
        raise WrongKind("the learning rate is a number or a scalar tensor", op="Adam", operand="learning_rate",
                        got=shown(rate), expected="a number",
                        help="an optimiser is called with the loss: nv.optim.Adam(rate)(loss)")
