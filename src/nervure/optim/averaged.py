"""Averaged descent: steps that become smaller, and the mean of where they lead.

>>> import nervure as nv
>>> w = nv.variable((), 1.0)
>>> descent = ASGD(0.5, start=0)
>>> nv.evaluate(descent(w * w)), round(w.item(), 4), round(descent.slots(w)["average"].item(), 4)
(None, -0.0001, -0.0001)
"""

from __future__ import annotations

from collections.abc import Mapping

from nervure.front.op_functions import maximum
from nervure.front.pointwise.elementwise import power
from nervure.front.tensor import Tensor
from nervure.optim.descent import Rate, decayed
from nervure.optim.hyperparameters import NOT_NEGATIVE, number, optional
from nervure.optim.rule import Rule, State
from nervure.support.elsewhere import explains_keywords


class ASGD(Rule):
    """Gradient descent whose steps become smaller, beside the mean of the parameters (Polyak and Juditsky 1992).

    Step n has the rate ``learning_rate / (1 + shrinkage * learning_rate * (n - 1)) ** power``, and first multiplies the
    parameter by ``1 - shrinkage * rate``. The slot ``average`` is the parameter itself up to step ``start + 2``, then
    the mean of the parameters since. It is PyTorch's ``ASGD``.

    >>> nv.optim.ASGD(0.1)
    ASGD(learning_rate=0.1, shrinkage=0.0001, power=0.75, start=1000000.0, weight_decay=0.0)
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


__all__ = ["ASGD"]
