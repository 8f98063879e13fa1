"""Rules whose step is as long as each parameter suggests, for large batches: Lamb and Lars.

>>> import nervure as nv
>>> w = nv.variable("F=2", [3.0, 4.0])
>>> nv.evaluate(Lars(0.5, trust=1.0).update(w, [5.0, 0.0])), w.tolist()
(None, [0.5, 4.0])
"""

from __future__ import annotations

from collections.abc import Mapping

from nervure.front.op_functions import greater, sqrt
from nervure.front.pointwise.elementwise import where
from nervure.front.statistics.reductions import sum  # of tensors
from nervure.front.tensor import Tensor
from nervure.optim.adam import Adam
from nervure.optim.descent import Rate
from nervure.optim.hyperparameters import DECAY, POSITIVE, number, optional
from nervure.optim.rule import Rule, State
from nervure.support.elsewhere import explains_keywords


class Lamb(Adam):
    """Adam's direction, scaled for each parameter to the parameter's own norm (You et al. 2020, algorithm 2).

    The direction is ``m / (1 - beta1**n) / (sqrt(v / (1 - beta2**n)) + epsilon) + weight_decay * w``. A parameter, or a
    direction, of norm 0 is not scaled.

    >>> w = nv.variable("F=2", [3.0, 4.0])
    >>> nv.evaluate(nv.optim.Lamb(0.5).update(w, [2.0, 0.0])), w.numpy().round(4).tolist()
    (None, [0.5, 4.0])
    """

    @explains_keywords
    def __init__(self, learning_rate: Rate = 1e-3, beta1: float | Tensor = 0.9, beta2: float | Tensor = 0.999,
                 epsilon: float | Tensor = 1e-6, weight_decay: float | Tensor = 0.0) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, weight_decay)

    def rule(self, parameter: Tensor, gradient: Tensor, state: State) -> tuple[Tensor, Mapping[str, Tensor]]:
        m = state.mean("m", "beta1", gradient)
        v = state.mean("v", "beta2", gradient, gradient)
        mean = m / state.correction("beta1")
        direction = mean / (sqrt(v / state.correction("beta2")) + state["eps"])
        if "weight_decay" in state:
            direction = direction + state["weight_decay"] * parameter
        scale = _ratio(_norm(parameter), _norm(direction), 1.0)
        return parameter - state["lr"] * scale * direction, {"m": m, "v": v}


class Lars(Rule):
    """Momentum whose rate is, for each parameter, relative to its norm over that of its gradient (You et al. 2017,
    algorithm 1).

    ``m`` becomes ``momentum * m + rate * (gradient + weight_decay * w)`` and is subtracted; ``rate`` is
    ``learning_rate * trust * norm(w) / (norm(gradient) + weight_decay * norm(w))``, or ``learning_rate`` where a norm
    is 0.

    >>> w = nv.variable("F=2", [3.0, 4.0])
    >>> nv.evaluate(nv.optim.Lars(0.5, trust=1.0).update(w, [5.0, 0.0])), w.tolist()
    (None, [0.5, 4.0])
    """

    moments = ("m",)

    @explains_keywords
    def __init__(self, learning_rate: Rate = 1e-2, momentum: float | Tensor = 0.9, trust: float | Tensor = 1e-3,
                 weight_decay: float | Tensor = 0.0) -> None:
        super().__init__({"learning_rate": learning_rate, "momentum": momentum, "trust": trust,
                          "weight_decay": weight_decay},
                         {"momentum": number(momentum, "Lars", "momentum", DECAY),
                          "trust": number(trust, "Lars", "trust", POSITIVE),
                          "weight_decay": optional(weight_decay, "Lars", "weight_decay")})

    def rule(self, parameter: Tensor, gradient: Tensor, state: State) -> tuple[Tensor, Mapping[str, Tensor]]:
        size, divisor = _norm(parameter), _norm(gradient)
        if "weight_decay" in state:
            divisor = divisor + state["weight_decay"] * size
            gradient = gradient + state["weight_decay"] * parameter
        m = state["momentum"] * state["m"] + state["lr"] * _ratio(state["trust"] * size, divisor, 1.0) * gradient
        return parameter - m, {"m": m}


def _norm(x: Tensor) -> Tensor:
    return sqrt(sum(x * x, out_axes=()))


def _ratio(x: Tensor, y: Tensor, otherwise: float) -> Tensor:
    """Returns x / y where both are positive."""
    is_some = greater(x, 0.0) & greater(y, 0.0)
    return where(is_some, x / where(is_some, y, 1.0), otherwise)
