"""Adam (Kingma and Ba, 2015, algorithm 1): steps scaled by running means of the gradient and of its square. And Lion.

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

from collections.abc import Mapping

from nervure.front.op_functions import rsqrt, sign, sqrt
from nervure.front.tensor import Tensor
from nervure.optim.descent import Rate, decayed
from nervure.optim.hyperparameters import DECAY, NOT_NEGATIVE, number, optional
from nervure.optim.rule import Rule, State
from nervure.support.elsewhere import explains_keywords


class Adam(Rule):
    """Adam: called with a loss, it returns one effect that updates variables, moments and step counts together.

    At step n, a variable w becomes ``w - learning_rate * m / (1 - beta1**n) / (sqrt(v / (1 - beta2**n)) + epsilon)``
    with ``m`` and ``v`` the running means of the gradient and its square. ``weight_decay * w`` is added to the
    gradient; ``AdamW`` subtracts it from the variable.

    >>> w = nv.variable((), 1.0)
    >>> loss = w * w
    >>> step = nv.computation([loss, nv.optim.Adam(learning_rate=0.5)(loss)])
    >>> step()[0].item(), round(step()[0].item(), 4)
    (1.0, 0.25)
    """

    moments: tuple[str, ...] = ("m", "v")

    @explains_keywords
    def __init__(self, learning_rate: Rate = 1e-3, beta1: float | Tensor = 0.9, beta2: float | Tensor = 0.999,
                 epsilon: float | Tensor = 1e-8, weight_decay: float | Tensor = 0.0) -> None:
        op = type(self).__name__
        super().__init__({"learning_rate": learning_rate, "beta1": beta1, "beta2": beta2, "epsilon": epsilon,
                          "weight_decay": weight_decay},
                         {"eps": number(epsilon, op, "epsilon", NOT_NEGATIVE),
                          "beta1": number(beta1, op, "beta1", DECAY), "beta2": number(beta2, op, "beta2", DECAY),
                          "weight_decay": optional(weight_decay, op, "weight_decay")})

    def rule(self, parameter: Tensor, gradient: Tensor, state: State) -> tuple[Tensor, Mapping[str, Tensor]]:
        gradient = decayed(parameter, gradient, state)
        change, moments = self.scaled(gradient, state)
        return parameter - change, moments

    def scaled(self, gradient: Tensor, state: State) -> tuple[Tensor, Mapping[str, Tensor]]:
        """Returns the amount to subtract from the parameter, and its moments. Factors that all elements share are
        computed once, so that a step divides once per element (Kingma and Ba 2015, section 2).
        """
        rate = state["lr"] / state.correction("beta1")
        root_scale = rsqrt(state.correction("beta2"))
        m = state.mean("m", "beta1", gradient)
        v = state.mean("v", "beta2", gradient, gradient)
        return rate * (m / (sqrt(v) * root_scale + state["eps"])), {"m": m, "v": v}


class AdamW(Adam):
    """Adam with decoupled weight decay: ``learning_rate * weight_decay * w`` is subtracted beside Adam's step
    (Loshchilov and Hutter 2019).

    >>> w = nv.variable((), 1.0)
    >>> nv.evaluate(nv.optim.AdamW(0.5, weight_decay=0.5).update(w, 0.0)), w.item()
    (None, 0.75)
    """

    @explains_keywords
    def __init__(self, learning_rate: Rate = 1e-3, beta1: float | Tensor = 0.9, beta2: float | Tensor = 0.999,
                 epsilon: float | Tensor = 1e-8, weight_decay: float | Tensor = 1e-2) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, weight_decay)

    def rule(self, parameter: Tensor, gradient: Tensor, state: State) -> tuple[Tensor, Mapping[str, Tensor]]:
        change, moments = self.scaled(gradient, state)
        return shrunk(parameter, state) - change, moments


class Lion(Rule):
    """Lion (Chen et al. 2023, algorithm 2): the sign of the momentum, so that all elements move by the same amount.

    A variable w becomes ``w - learning_rate * (sign(beta1 * m + (1 - beta1) * gradient) + weight_decay * w)``.

    ``m`` then becomes the running mean of the gradient with ``beta2``.

    >>> w = nv.variable((), 1.0)
    >>> nv.evaluate(nv.optim.Lion(0.25, weight_decay=1.0).update(w, 3.0)), w.item()
    (None, 0.5)
    """

    moments = ("m",)

    @explains_keywords
    def __init__(self, learning_rate: Rate = 1e-4, beta1: float | Tensor = 0.9, beta2: float | Tensor = 0.99,
                 weight_decay: float | Tensor = 0.0) -> None:
        super().__init__({"learning_rate": learning_rate, "beta1": beta1, "beta2": beta2, "weight_decay": weight_decay},
                         {"beta1": number(beta1, "Lion", "beta1", DECAY),
                          "beta2": number(beta2, "Lion", "beta2", DECAY),
                          "weight_decay": optional(weight_decay, "Lion", "weight_decay")})

    def rule(self, parameter: Tensor, gradient: Tensor, state: State) -> tuple[Tensor, Mapping[str, Tensor]]:
        direction = sign(state.mean("m", "beta1", gradient))
        m = state.mean("m", "beta2", gradient)
        return shrunk(parameter, state) - state["lr"] * direction, {"m": m}


def shrunk(parameter: Tensor, state: State) -> Tensor:
    """Returns the parameter less ``learning_rate * weight_decay`` of it."""
    return parameter * (1.0 - state["lr"] * state["weight_decay"]) if "weight_decay" in state else parameter
