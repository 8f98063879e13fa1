"""Lion (Chen et al. 2023, algorithm 2): it uses the sign of the momentum, so that all elements move by the same
amount.

>>> import nervure as nv
>>> w = nv.variable("F=2", [1.0, -1.0])
>>> nv.evaluate(Lion(0.25).update(w, [3.0, -0.1])), w.tolist()
(None, [0.75, -0.75])
"""

from __future__ import annotations

from collections.abc import Mapping

from nervure.front.op_functions import sign
from nervure.front.tensor import Tensor
from nervure.optim.adam import shrunk
from nervure.optim.descent import Rate
from nervure.optim.hyperparameters import DECAY, number, optional
from nervure.optim.rule import Rule, State
from nervure.support.elsewhere import explains_keywords


class Lion(Rule):
    """``w - learning_rate * (sign(beta1 * m + (1 - beta1) * gradient) + weight_decay * w)``.

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
        direction = sign(state["beta1"] * state["m"] + state.rest("beta1") * gradient)
        m = state["beta2"] * state["m"] + state.rest("beta2") * gradient
        return shrunk(parameter, state) - state["lr"] * direction, {"m": m}
