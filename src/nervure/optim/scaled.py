"""Rules without a rate to choose, or with little memory: Adadelta, Rprop, Adafactor.

>>> import nervure as nv
>>> w = nv.variable("F=2", [1.0, -1.0])
>>> loss = nv.sum(w * w)
>>> step = nv.computation([loss, Rprop(0.25)(loss)])
>>> [round(step()[0].item(), 4) for _ in range(3)]
[2.0, 1.125, 0.405]
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from nervure.errors import InvalidArgument
from nervure.front.arranging.views import reshape
from nervure.front.creation import AssignableTensorOp, persistent_tensor
from nervure.front.op_functions import equal, greater, less, maximum, minimum, rsqrt, sign, sqrt
from nervure.front.pointwise.elementwise import clip, power, where
from nervure.front.statistics.reductions import mean, sum  # of tensors
from nervure.front.tensor import Tensor
from nervure.optim.adam import shrunk
from nervure.optim.descent import Rate, decayed
from nervure.optim.hyperparameters import DECAY, NOT_NEGATIVE, POSITIVE, number, optional
from nervure.optim.kept import slot_like
from nervure.optim.rule import Rule, State
from nervure.support.elsewhere import explains_keywords
from nervure.types.dim import Dim


class Adadelta(Rule):
    """The gradient times the usual size of a step over the usual size of the gradient, both running means (Zeiler
    2012).

    ``v`` is the running mean of squared gradients, ``m`` that of squared steps, by which ``epsilon`` is added to both.

    >>> w = nv.variable((), 1.0)
    >>> nv.evaluate(nv.optim.Adadelta(epsilon=1.0, decay=0.75).update(w, 2.0)), round(w.item(), 4)
    (None, -0.4142)
    """

    moments = ("m", "v")

    @explains_keywords
    def __init__(self, learning_rate: Rate = 1.0, decay: float | Tensor = 0.9, epsilon: float | Tensor = 1e-6,
                 weight_decay: float | Tensor = 0.0) -> None:
        super().__init__({"learning_rate": learning_rate, "decay": decay, "epsilon": epsilon,
                          "weight_decay": weight_decay},
                         {"eps": number(epsilon, "Adadelta", "epsilon", NOT_NEGATIVE),
                          "decay": number(decay, "Adadelta", "decay", DECAY),
                          "weight_decay": optional(weight_decay, "Adadelta", "weight_decay")})

    def rule(self, parameter: Tensor, gradient: Tensor, state: State) -> tuple[Tensor, Mapping[str, Tensor]]:
        gradient = decayed(parameter, gradient, state)
        v = state.mean("v", "decay", gradient, gradient)
        change = sqrt(state["m"] + state["eps"]) / sqrt(v + state["eps"]) * gradient
        m = state.mean("m", "decay", change, change)
        return parameter - state["lr"] * change, {"m": m, "v": v}


class Rprop(Rule):
    """A step for each element, longer while the sign of its gradient stays, shorter where it changes (Riedmiller and
    Braun 1993).

    Steps start at ``learning_rate``, grow by ``growth``, shrink by ``shrinkage``, and stay from ``least`` to ``most``;
    an element whose sign changes stays once. It is for gradients of all the data.

    >>> w = nv.variable((), 1.0)
    >>> nv.evaluate(nv.optim.Rprop(0.25).update(w, 100.0)), w.item()
    (None, 0.75)
    """

    moments = ("gradient", "step")

    @explains_keywords
    def __init__(self, learning_rate: Rate = 1e-2, shrinkage: float | Tensor = 0.5, growth: float | Tensor = 1.2,
                 least: float | Tensor = 1e-6, most: float | Tensor = 50.0) -> None:
        given = {"shrinkage": shrinkage, "growth": growth, "least": least, "most": most}
        super().__init__({"learning_rate": learning_rate, **given},
                         {name: number(value, "Rprop", name, DECAY if name == "shrinkage" else POSITIVE)
                          for name, value in given.items()})

    def rule(self, parameter: Tensor, gradient: Tensor, state: State) -> tuple[Tensor, Mapping[str, Tensor]]:
        before = where(equal(state["n"], 1.0), state["lr"], state["step"])
        agreement = gradient * state["gradient"]
        factor = where(greater(agreement, 0.0), state["growth"], where(less(agreement, 0.0), state["shrinkage"], 1.0))
        step = clip(before * factor, state["least"], state["most"])
        gradient = where(less(agreement, 0.0), 0.0, gradient)
        return parameter - sign(gradient) * step, {"gradient": gradient, "step": step}


class Adafactor(Rule):
    """Adam without momentum whose squared gradients are kept as a row and a column for each matrix (Shazeer and Stern
    2018).

    The last two axes of a parameter are those of its matrices; one with fewer axes keeps all squares. The step is
    relative to the size of the parameter, of which it counts ``least`` at least, and no longer than ``1/sqrt(n)`` at
    step n; a step whose mean square exceeds ``limit**2`` is scaled down. Squares of step n decay by
    ``1 - n**-decay_power``.

    >>> w = nv.variable("F=2, K=2", 1.0)
    >>> list(nv.optim.Adafactor().slots(w))[-2:]
    ['rows', 'columns']
    >>> nv.evaluate(nv.optim.Adafactor(0.25).update(w, 3.0)), w.tolist()
    (None, [[0.75, 0.75], [0.75, 0.75]])
    """

    moments = ("rows", "columns")

    @explains_keywords
    def __init__(self, learning_rate: Rate = 1e-2, decay_power: float | Tensor = 0.8, least: float | Tensor = 1e-3,
                 limit: float | Tensor = 1.0, epsilon: float | Tensor = 2.0**-23,
                 weight_decay: float | Tensor = 0.0) -> None:
        given = {"decay_power": decay_power, "least": least, "limit": limit, "epsilon": epsilon}
        super().__init__({"learning_rate": learning_rate, **given, "weight_decay": weight_decay},
                         {**{name: number(value, "Adafactor", name, POSITIVE) for name, value in given.items()},
                          "weight_decay": optional(weight_decay, "Adafactor", "weight_decay")})

    def rule(self, parameter: Tensor, gradient: Tensor, state: State) -> tuple[Tensor, Mapping[str, Tensor]]:
        share = power(state["n"], -state["decay_power"])
        rate = minimum(state["lr"], rsqrt(state["n"])) * maximum(state["least"], _root_mean_square(parameter))
        squares, moments = self._squares(gradient, state, share)
        change = rsqrt(maximum(squares, state["epsilon"] * state["epsilon"])) * Tensor(gradient.value)
        change = change / maximum(1.0, _root_mean_square(change) / state["limit"])
        return shrunk(parameter, state) - rate * Tensor(change.value, parameter._axes), moments

    def _squares(self, gradient: Tensor, state: State, share: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Returns the estimate of the squared gradient, without names, and the moments that it is made of. The second
        one of a parameter without matrices has no elements.
        """
        found = Tensor(gradient.value) * Tensor(gradient.value)
        rows, columns = Tensor(state["rows"].value), Tensor(state["columns"].value)
        if gradient.ndim < 2:
            rows = rows + share * (found - rows)
            return rows, {"rows": rows, "columns": columns}
        rows = rows + share * (mean(found, axis=-1) - rows)
        columns = columns + share * (mean(found, axis=-2) - columns)
        high, wide = _one_more(rows, -1), _one_more(columns, -2)
        return high * wide / maximum(mean(high, axis=-2, keepdims=True), state["epsilon"]), {
            "rows": rows, "columns": columns}

    def slot(self, parameter: AssignableTensorOp, name: str) -> AssignableTensorOp:
        if parameter.ndim < 2 and name == "rows":
            return slot_like(parameter, name)
        shape = parameter.shape
        kept = shape[:-1] if name == "rows" else (0,) if parameter.ndim < 2 else (*shape[:-2], shape[-1])
        return persistent_tensor(kept, dtype=parameter.dtype).named(f"{parameter.name or 'variable'}_{name}")


def _one_more(x: Tensor, at: int) -> Tensor:
    """Returns x with an axis of length 1 as the last one, or the last but one."""
    return reshape(x, (*x.shape, 1) if at == -1 else (*x.shape[:-1], 1, x.shape[-1]))


def _root_mean_square(x: Tensor) -> Tensor:
    count = math.prod([length for length in x.shape if not isinstance(length, Dim)])
    if not count:
        raise InvalidArgument("a parameter without elements has no size", op="Adafactor", operand="parameter",
                              got=str(x.type), expected="one element or more", help="leave it out of variables=")
    return sqrt(sum(x * x, out_axes=()) / count)
