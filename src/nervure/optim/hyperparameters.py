"""Hyperparameters: the numbers of an optimiser are checked when given, and kept where computations read and write
them.

Each becomes a persistent tensor without axes, in float64, so that the user's number is kept exactly. A schedule
assigns to it, a state dict saves it, and a computation that is already compiled reads its current value.

>>> import nervure as nv
>>> rate = number(0.1, "SGD", "learning_rate", NOT_NEGATIVE)
>>> rate, rate.item()
(<persistent f64[] 'sgd_learning_rate'>, 0.1)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from nervure.errors import InvalidArgument, WrongKind, shown
from nervure.front.argument_parsing import real
from nervure.front.creation import AssignableTensorOp, persistent_tensor, variables_below
from nervure.front.tensor import Tensor
from nervure.types.dtype import float64


class Bounds(NamedTuple):
    """The numbers that are allowed: a test, and the texts of the error for all others."""

    admits: Callable[[float], bool]
    problem: str
    expected: str
    help: str


NOT_NEGATIVE = Bounds(lambda value: 0 <= value < math.inf, "is not negative", "0 or more", "0 is the least number")
POSITIVE = Bounds(lambda value: 0 < value < math.inf, "is positive", "more than 0", "0 itself is not allowed")
PART = Bounds(lambda value: 0 <= value < 1, "is a part of 1", "0 or more, below 1", "1e-4 is usual")
DECAY = Bounds(lambda value: 0 <= value < 1, "is no decay rate", "0 <= rate < 1",
               "it is the part that stays at each step: 0.9 and 0.999 are usual")


RATE_HELP = "the step is subtracted already"
"""The help for a learning rate that is negative."""


def checked(value: object, op: str, operand: str, accepted: Bounds, help: str | None = None) -> float:
    """Returns a hyperparameter as a float; WrongKind if it is no number, InvalidArgument outside of the range
    ``accepted``. The error has the ``help`` that is given, or that of the range.
    """
    found = real(value, op, operand)
    if not accepted.admits(found):
        raise InvalidArgument(f"{operand} {accepted.problem}", op=op, operand=operand, got=value,
                              expected=accepted.expected, help=accepted.help if help is None else help)
    return found


def number(value: object, op: str, operand: str, accepted: Bounds, help: str | None = None) -> Tensor:
    """Returns a hyperparameter as a tensor: a scalar tensor ``value`` as it is, a number in a new persistent tensor."""
    if isinstance(value, Tensor) or isinstance(value, (list, tuple)):
        return _scalar(value, op, operand)
    found = checked(value, op, operand, accepted, help)
    return persistent_tensor((), found, float64).named(f"{op.lower()}_{operand}")


def optional(value: object, op: str, operand: str, accepted: Bounds = NOT_NEGATIVE) -> Tensor | None:
    """Returns a hyperparameter as a tensor, or None if ``value`` is 0: its effect is then not computed."""
    found = number(value, op, operand, accepted)
    return None if not isinstance(value, Tensor) and value == 0 else found


def _scalar(value: object, op: str, operand: str) -> Tensor:
    """Returns a real tensor without axes; WrongKind if a loss, or a list of variables, is given in place of a number.
    """
    is_loss = isinstance(value, Tensor) and (
        value.ndim > 0 or (variables_below(value) and not isinstance(value, AssignableTensorOp)))
    name = operand.replace("_", " ")
    if isinstance(value, Tensor) and value.dtype.is_complex:
        raise WrongKind(f"the {name} is real", op=op, operand=operand, got=str(value.type), expected="a real number",
                        help="nv.real(x) is the real part of x")
    if not isinstance(value, Tensor) or is_loss:
        raise WrongKind(f"the {name} is a number or a scalar tensor", op=op, operand=operand, got=shown(value),
                        expected="a number", help=f"an optimiser is called with the loss: nv.optim.{op}(rate)(loss)")
    return value
