"""Gradient descent: plain or with momentum (SGD), divided by the usual size of the gradient, or averaged (ASGD).

>>> import nervure as nv
>>> w = nv.variable("F=2", [1.0, -1.0])
>>> loss = nv.sum(w * w)
>>> step = nv.computation([loss, SGD(0.1, momentum=0.5)(loss)])
>>> [round(float(step()[0]), 3) for _ in range(3)]
[2.0, 1.28, 0.583]
"""

from __future__ import annotations

from collections.abc import Mapping

from nervure.front.argument_parsing import truth
from nervure.front.op_functions import maximum, sqrt
from nervure.front.pointwise.elementwise import power
from nervure.front.tensor import Tensor
from nervure.optim.hyperparameters import DECAY, NOT_NEGATIVE, number, optional
from nervure.optim.rule import Rule, State
from nervure.optim.schedules import Schedule
from nervure.support.elsewhere import explains_keywords

Rate = float | Tensor | Schedule
"""A learning rate: a number, a scalar tensor, or a schedule."""


def decayed(parameter: Tensor, gradient: Tensor, state: State) -> Tensor:
    """Returns the gradient of the loss plus ``weight_decay / 2`` times the square of the parameter."""
    return gradient + state["weight_decay"] * parameter if "weight_decay" in state else gradient


class SGD(Rule):
    """Gradient descent: ``w - learning_rate * gradient``, or with momentum ``w - learning_rate * m``.

    ``m`` becomes ``momentum * m + gradient``; with ``nesterov`` the step is ``gradient + momentum * m`` (Sutskever et
    al. 2013, in the form that PyTorch has). ``weight_decay * w`` is added to the gradient.

    >>> w = nv.variable((), 1.0)
    >>> nv.evaluate(nv.optim.SGD(0.5)(w * w)), w.item()
    (None, 0.0)
    """

    @explains_keywords
    def __init__(self, learning_rate: Rate = 1e-3, momentum: float | Tensor = 0.0, nesterov: bool = False,
                 weight_decay: float | Tensor = 0.0) -> None:
        self.nesterov = truth(nesterov, "SGD", "nesterov")
        numbers = {"momentum": optional(momentum, "SGD", "momentum", DECAY),
                   "weight_decay": optional(weight_decay, "SGD", "weight_decay")}
        self.moments = ("m",) if numbers["momentum"] is not None else ()
        super().__init__({"learning_rate": learning_rate, "momentum": momentum, "nesterov": nesterov,
                          "weight_decay": weight_decay}, numbers)

    def rule(self, parameter: Tensor, gradient: Tensor, state: State) -> tuple[Tensor, Mapping[str, Tensor]]:
        gradient = decayed(parameter, gradient, state)
        if "momentum" not in state:
            return parameter - state["lr"] * gradient, {}
        m = state["momentum"] * state["m"] + gradient
        change = gradient + state["momentum"] * m if self.nesterov else m
        return parameter - state["lr"] * change, {"m": m}


class Adagrad(Rule):
    """``w - learning_rate * gradient / (sqrt(v) + epsilon)`` with ``v`` the sum of all squared gradients (Duchi et al.
    2011).

    >>> w = nv.variable((), 1.0)
    >>> nv.evaluate(nv.optim.Adagrad(0.5)(w * w)), w.item()
    (None, 0.5)
    """

    moments = ("v",)

    @explains_keywords
    def __init__(self, learning_rate: Rate = 1e-2, epsilon: float | Tensor = 1e-10,
                 weight_decay: float | Tensor = 0.0) -> None:
        super().__init__({"learning_rate": learning_rate, "epsilon": epsilon, "weight_decay": weight_decay},
                         {"eps": number(epsilon, "Adagrad", "epsilon", NOT_NEGATIVE),
                          "weight_decay": optional(weight_decay, "Adagrad", "weight_decay")})

    def rule(self, parameter: Tensor, gradient: Tensor, state: State) -> tuple[Tensor, Mapping[str, Tensor]]:
        gradient = decayed(parameter, gradient, state)
        v = state["v"] + gradient * gradient
        return parameter - state["lr"] * gradient / (sqrt(v) + state["eps"]), {"v": v}


class RMSProp(Rule):
    """``w - learning_rate * gradient / (sqrt(v) + epsilon)`` with ``v`` the running mean of the squared gradient
    (Hinton 2012).

    ``centered`` subtracts the square of the gradient's running mean from ``v``; with ``momentum`` the steps accumulate
    in ``m`` as those of ``SGD`` do.

    >>> w = nv.variable((), 1.0)
    >>> nv.evaluate(nv.optim.RMSProp(0.5, decay=0.75)(w * w)), round(w.item(), 4)
    (None, 0.0)
    """

    @explains_keywords
    def __init__(self, learning_rate: Rate = 1e-2, decay: float | Tensor = 0.99, epsilon: float | Tensor = 1e-8,
                 momentum: float | Tensor = 0.0, centered: bool = False, weight_decay: float | Tensor = 0.0) -> None:
        self.centered = truth(centered, "RMSProp", "centered")
        numbers = {"eps": number(epsilon, "RMSProp", "epsilon", NOT_NEGATIVE),
                   "decay": number(decay, "RMSProp", "decay", DECAY),
                   "momentum": optional(momentum, "RMSProp", "momentum", DECAY),
                   "weight_decay": optional(weight_decay, "RMSProp", "weight_decay")}
        kept = {"m": numbers["momentum"] is not None, "v": True, "mean": self.centered}
        self.moments = tuple([name for name in kept if kept[name]])
        super().__init__({"learning_rate": learning_rate, "decay": decay, "epsilon": epsilon, "momentum": momentum,
                          "centered": centered, "weight_decay": weight_decay}, numbers)

    def rule(self, parameter: Tensor, gradient: Tensor, state: State) -> tuple[Tensor, Mapping[str, Tensor]]:
        gradient = decayed(parameter, gradient, state)
        moments = {"v": state.mean("v", "decay", gradient, gradient)}
        spread = moments["v"]
        if self.centered:
            moments["mean"] = state.mean("mean", "decay", gradient)
            spread = spread - moments["mean"] * moments["mean"]
        change = gradient / (sqrt(maximum(spread, 0.0)) + state["eps"])
        if "momentum" in state:
            change = moments["m"] = state["momentum"] * state["m"] + change
        return parameter - state["lr"] * change, moments


class ASGD(Rule):
    """Gradient descent whose steps become smaller, beside the mean of the parameters (Polyak and Juditsky 1992).

    Step n has the rate ``learning_rate / (1 + shrinkage * learning_rate * (n - 1)) ** power``, and first multiplies the
    parameter by ``1 - shrinkage * rate``. The slot ``average`` is the parameter itself up to step ``start + 2``, then
    the mean of the parameters since. It is PyTorch's ``ASGD``.

    >>> w = nv.variable((), 1.0)
    >>> descent = nv.optim.ASGD(0.5, start=0)
    >>> nv.evaluate(descent(w * w)), round(w.item(), 4), round(descent.slots(w)["average"].item(), 4)
    (None, -0.0001, -0.0001)
    """

    moments = ("average",)

    @explains_keywords
    def __init__(self, learning_rate: Rate = 1e-2, shrinkage: float | Tensor = 1e-4, power: float | Tensor = 0.75,
                 start: float | Tensor = 1e6, weight_decay: float | Tensor = 0.0) -> None:
        super().__init__({"learning_rate": learning_rate, "shrinkage": shrinkage, "power": power, "start": start,
                          "weight_decay": weight_decay},
                         {"shrinkage": number(shrinkage, "ASGD", "shrinkage", NOT_NEGATIVE),
                          "power": number(power, "ASGD", "power", NOT_NEGATIVE),
                          "start": number(start, "ASGD", "start", NOT_NEGATIVE),
                          "weight_decay": optional(weight_decay, "ASGD", "weight_decay")})

    def rule(self, parameter: Tensor, gradient: Tensor, state: State) -> tuple[Tensor, Mapping[str, Tensor]]:
        gradient, before = decayed(parameter, gradient, state), state["n"] - 1.0
        rate = state["lr"] / power(1.0 + state["shrinkage"] * state["lr"] * before, state["power"])
        value = parameter * (1.0 - state["shrinkage"] * rate) - rate * gradient
        share = 1.0 / maximum(before - state["start"], 1.0)
        return value, {"average": state["average"] + share * (value - state["average"])}
