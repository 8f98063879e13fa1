"""Variants of Adam: a warm-up that rectifies itself, Nesterov's momentum, the largest gradient as the scale.

>>> import nervure as nv
>>> w = nv.variable((), 1.0)
>>> step = nv.computation([w, Adamax(0.25).update(w, 3.0)])
>>> [round(step()[0].item(), 4) for _ in range(2)]
[0.75, 0.5]
"""

from __future__ import annotations

from collections.abc import Mapping

from nervure.front.creation import AssignableTensorOp, persistent_tensor
from nervure.front.op_functions import absolute, greater, maximum, sqrt
from nervure.front.pointwise.elementwise import convert, power, where
from nervure.front.tensor import Tensor
from nervure.optim.adam import Adam
from nervure.optim.descent import Rate, decayed
from nervure.optim.hyperparameters import NOT_NEGATIVE, number
from nervure.optim.rule import State
from nervure.support.elsewhere import explains_keywords
from nervure.types.dtype import float64

TRACTABLE = 5.0
"""Averaged numbers from which on RAdam's variance has a finite variance itself (Liu et al. 2020, algorithm 2)."""


class RAdam(Adam):
    """Adam whose first steps are rectified (Liu et al. 2020): while too few gradients are averaged, a step is that of
    momentum alone.

    Settings, and their slots, are those of ``Adam``.

    >>> w = nv.variable((), 1.0)
    >>> nv.evaluate(nv.optim.RAdam(0.25).update(w, 2.0)), round(w.item(), 4)
    (None, 0.5)
    """

    def rule(self, parameter: Tensor, gradient: Tensor, state: State) -> tuple[Tensor, Mapping[str, Tensor]]:
        gradient = decayed(parameter, gradient, state)
        m = state.mean("m", "beta1", gradient)
        v = state.mean("v", "beta2", gradient, gradient)
        exact = state.exact()
        most, corrected = 2.0 / exact.rest("beta2") - 1.0, exact.correction("beta2")
        length = most - 2.0 * exact["n"] * (1.0 - corrected) / corrected
        is_tractable = greater(length, TRACTABLE)
        safe = where(is_tractable, length, TRACTABLE)
        factor = sqrt((safe - 4.0) * (safe - 2.0) * most / ((most - 4.0) * (most - 2.0) * safe) * corrected)
        scaled = convert(factor, gradient.dtype) / (sqrt(v) + state["eps"])
        rate = state["lr"] / state.correction("beta1")
        return parameter - rate * m * where(is_tractable, scaled, 1.0), {"m": m, "v": v}


class NAdam(Adam):
    """Adam with Nesterov's momentum (Dozat 2016).

    The momentum of step n is ``beta1 * (1 - 0.96**(n * momentum_decay) / 2)``; ``product``, a slot, is the product of
    those so far. All else is as in ``Adam``.

    >>> w = nv.variable((), 1.0)
    >>> nv.evaluate(nv.optim.NAdam(0.5).update(w, 3.0)), round(w.item(), 4)
    (None, 0.4718)
    """

    moments: tuple[str, ...] = ("m", "v", "product")

    @explains_keywords
    def __init__(self, learning_rate: Rate = 2e-3, beta1: float | Tensor = 0.9, beta2: float | Tensor = 0.999,
                 epsilon: float | Tensor = 1e-8, weight_decay: float | Tensor = 0.0,
                 momentum_decay: float | Tensor = 4e-3) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, weight_decay)
        self.numbers["momentum_decay"] = number(momentum_decay, "NAdam", "momentum_decay", NOT_NEGATIVE)
        self._given["momentum_decay"] = momentum_decay

    def rule(self, parameter: Tensor, gradient: Tensor, state: State) -> tuple[Tensor, Mapping[str, Tensor]]:
        gradient = decayed(parameter, gradient, state)
        here, after = self._momentum(state, state["n"]), self._momentum(state, state["n"] + 1.0)
        product = state["product"] * here
        m = state.mean("m", "beta1", gradient)
        v = state.mean("v", "beta2", gradient, gradient)
        scale = sqrt(v / state.correction("beta2")) + state["eps"]
        now = state["lr"] * (1.0 - here) / (1.0 - product)
        ahead = state["lr"] * after / (1.0 - product * after)
        return parameter - (now * gradient + ahead * m) / scale, {"m": m, "v": v, "product": product}

    def _momentum(self, state: State, n: Tensor) -> Tensor:
        return state["beta1"] * (1.0 - 0.5 * power(0.96, n * state["momentum_decay"]))

    def slot(self, parameter: AssignableTensorOp, name: str) -> AssignableTensorOp:
        if name == "product":
            return persistent_tensor((), 1.0, float64).named(f"{parameter.name or 'variable'}_product")
        return super().slot(parameter, name)


class Adamax(Adam):
    """Adam that divides by ``v``, the largest gradient, which decays by ``beta2`` at each step (Kingma and Ba 2015,
    algorithm 2).

    A variable w becomes ``w - learning_rate / (1 - beta1**n) * m / v`` with ``v`` the larger of ``beta2 * v`` and
    ``abs(gradient) + epsilon``.

    >>> w = nv.variable((), 1.0)
    >>> nv.evaluate(nv.optim.Adamax(0.25).update(w, -7.0)), round(w.item(), 4)
    (None, 1.25)
    """

    @explains_keywords
    def __init__(self, learning_rate: Rate = 2e-3, beta1: float | Tensor = 0.9, beta2: float | Tensor = 0.999,
                 epsilon: float | Tensor = 1e-8, weight_decay: float | Tensor = 0.0) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, weight_decay)

    def rule(self, parameter: Tensor, gradient: Tensor, state: State) -> tuple[Tensor, Mapping[str, Tensor]]:
        gradient = decayed(parameter, gradient, state)
        m = state.mean("m", "beta1", gradient)
        v = maximum(state["beta2"] * state["v"], absolute(gradient) + state["eps"])
        return parameter - state["lr"] / state.correction("beta1") * m / v, {"m": m, "v": v}
