"""Schedules: learning rates that depend on the number of steps taken.

A schedule takes the place of a learning rate; its count is that of the optimiser, so that saving the optimiser saves
the schedule. Called with an optimiser whose rate is a number, it returns the effect that sets the rate for the next
step, to be placed before the update.

>>> import nervure as nv
>>> w = nv.variable((), 8.0)
>>> descent = nv.optim.SGD(stepped(1.0, every=2, factor=0.5))
>>> step = nv.computation([w, descent.update(w, 1.0)])
>>> [float(step()[0]) for _ in range(6)], descent.learning_rate.item()
([7.0, 6.0, 5.5, 5.0, 4.75, 4.5], 0.25)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from nervure.errors import InvalidArgument, WrongKind, shown
from nervure.front.argument_parsing import integer
from nervure.front.creation import AssignableTensorOp, as_tensor, persistent_tensor
from nervure.front.effects import Effect, assign, doall
from nervure.front.op_functions import cos, floor, less, minimum
from nervure.front.pointwise.elementwise import convert, power, where
from nervure.front.tensor import Operand, Tensor
from nervure.front.traced_numbers import is_number
from nervure.ir.identity import Uncopyable
from nervure.optim.hyperparameters import NOT_NEGATIVE, POSITIVE, RATE_HELP, checked
from nervure.optim.kept import is_kept
from nervure.support.elsewhere import explain_keywords, explains_keywords
from nervure.types.dtype import float64

if TYPE_CHECKING:
    from nervure.optim.optimizer import Optimizer
    from nervure.optim.rule import Rule

Formula = Callable[[Tensor], Tensor]


class Schedule(Uncopyable):
    """A learning rate as a formula over the number of steps taken, which is a float64 tensor.

    >>> halving = nv.optim.Schedule(lambda n: 0.5 ** n)
    >>> halving.at(3).item()
    0.125
    """

    @explains_keywords
    def __init__(self, formula: Formula, text: str = "Schedule(...)") -> None:
        if not callable(formula):
            raise WrongKind("a schedule is a function of the number of steps", op="Schedule", operand="formula",
                            got=shown(formula), expected="a function of a tensor", help="nv.optim.constant(rate)")
        self._formula, self._text = formula, text

    def at(self, n: Operand) -> Tensor:
        """Returns the learning rate of the step after ``n`` others, a float64 tensor without axes."""
        count = convert(as_tensor(n, "Schedule", dtype=float64 if is_number(n) else None), float64)
        rate = as_tensor(self._formula(count), "Schedule", dtype=float64)
        if rate.shape != ():
            raise InvalidArgument("a learning rate has no axes", op="Schedule", got=str(rate.type), expected="a scalar",
                                  help="compute it from the number of steps alone")
        return convert(rate, float64)

    def place(self) -> AssignableTensorOp:
        """Makes a persistent tensor that starts with the rate of the first step."""
        return persistent_tensor((), lambda axes: self.at(0.0), float64).named("learning_rate")

    def __call__(self, optimizer: Optimizer) -> Effect:
        """Returns the effect that sets the learning rates of an optimiser to those of its next step."""
        rules = getattr(optimizer, "rules", None)
        if rules is None:
            raise WrongKind("a schedule is called with an optimiser", op="Schedule", got=shown(optimizer),
                            expected="an optimiser", help="schedule.at(n) gives the rate after n steps")
        return doall([assign(settable(rule, "Schedule"), self.at(rule.n)) for rule in rules()])

    def __repr__(self) -> str:
        return self._text


def settable(rule: Rule, op: str) -> AssignableTensorOp:
    """Returns the learning rate of a rule, to be set by ``op``; InvalidArgument if it is no place, or if a schedule
    decides it.
    """
    rate, schedule = rule.learning_rate, rule.schedule
    if schedule is not None or not is_kept(rate):
        raise InvalidArgument("this learning rate cannot be set", op=op, operand="optimizer",
                              got=repr(schedule or rate), expected="a number, or a persistent tensor",
                              help="make the optimiser with a number, as in learning_rate=0.1")
    return rate


def constant(learning_rate: float) -> Schedule:
    """Keeps the same rate for ever.

    >>> nv.optim.constant(0.1).at(1000).item()
    0.1
    """
    rate = checked_rate(learning_rate, "constant")
    return Schedule(lambda n: as_tensor(rate, dtype=float64), f"constant({learning_rate!r})")


def stepped(learning_rate: float, every: int, factor: float = 0.1) -> Schedule:
    """Multiplies a rate by ``factor`` after every ``every`` steps.

    >>> [nv.optim.stepped(1.0, every=10, factor=0.5).at(n).item() for n in (0, 9, 10, 25)]
    [1.0, 1.0, 0.5, 0.25]
    """
    rate, length = checked_rate(learning_rate, "stepped"), checked_steps(every, "stepped", "every")
    scale = checked(factor, "stepped", "factor", NOT_NEGATIVE)
    return Schedule(lambda n: rate * power(scalar(scale), floor(n / length)),
                    f"stepped({learning_rate!r}, every={every!r}, factor={factor!r})")


def exponential(learning_rate: float, factor: float) -> Schedule:
    """Multiplies a rate by ``factor`` after each step.

    >>> [nv.optim.exponential(1.0, 0.5).at(n).item() for n in (0, 1, 3)]
    [1.0, 0.5, 0.125]
    """
    rate = checked_rate(learning_rate, "exponential")
    scale = checked(factor, "exponential", "factor", NOT_NEGATIVE)
    return Schedule(lambda n: rate * power(scalar(scale), n), f"exponential({learning_rate!r}, factor={factor!r})")


def cosine(learning_rate: float, steps: int, end: float = 0.0) -> Schedule:
    """Follows half a cosine from the rate to ``end`` in ``steps`` steps, and stays at ``end`` (Loshchilov and Hutter
    2017).

    >>> [round(nv.optim.cosine(1.0, steps=100).at(n).item(), 3) for n in (0, 50, 100, 150)]
    [1.0, 0.5, 0.0, 0.0]
    """
    rate, length = checked_rate(learning_rate, "cosine"), checked_steps(steps, "cosine", "steps")
    last = checked(end, "cosine", "end", NOT_NEGATIVE)
    return Schedule(lambda n: half_cosine(rate, last, n / length),
                    f"cosine({learning_rate!r}, steps={steps!r}, end={end!r})")


def warm_up(after: Schedule | float, steps: int, start: float = 0.0) -> Schedule:
    """Grows linearly from ``start``, in ``steps`` steps, to the first rate of the schedule ``after``, which follows.

    >>> warm = nv.optim.warm_up(nv.optim.exponential(1.0, 0.5), steps=4)
    >>> [warm.at(n).item() for n in (0, 1, 4, 5)]
    [0.0, 0.25, 1.0, 0.5]
    """
    following = after if isinstance(after, Schedule) else constant(after)
    length, first = checked_steps(steps, "warm_up", "steps"), checked(start, "warm_up", "start", NOT_NEGATIVE)

    def rate(n: Tensor) -> Tensor:
        rising = first + (following.at(0.0) - first) * (n / length)
        return where(less(n, length), rising, following.at(n - length))
    return Schedule(rate, f"warm_up({after!r}, steps={steps!r}, start={start!r})")


def one_cycle(peak: float, steps: int, rising: float = 0.3, first: float = 25.0, last: float = 1e4) -> Schedule:
    """Rises from ``peak / first`` to ``peak`` in the part ``rising`` of the steps, then falls to ``peak / first /
    last``. Both parts are half cosines (Smith and Topin 2019, as PyTorch has it).

    >>> cycle = nv.optim.one_cycle(1.0, steps=101)
    >>> [round(cycle.at(n).item(), 4) for n in (0, 29, 100)]
    [0.04, 0.9998, 0.0]
    """
    top, length = checked_rate(peak, "one_cycle"), checked_steps(steps, "one_cycle", "steps")
    part = checked(rising, "one_cycle", "rising", NOT_NEGATIVE)
    low = top / checked(first, "one_cycle", "first", POSITIVE)
    end, turn = low / checked(last, "one_cycle", "last", POSITIVE), part * length - 1
    if not 0 < turn < length - 1:
        raise InvalidArgument("a cycle rises and falls", op="one_cycle", operand="rising", got=rising,
                              expected=f"a part of the {length} steps, of more than one of them",
                              help="0.3 is usual")

    def rate(n: Tensor) -> Tensor:
        falling = half_cosine(top, end, (n - turn) / (length - 1 - turn))
        return where(less(n, turn), half_cosine(low, top, n / turn), falling)
    return Schedule(rate, f"one_cycle({peak!r}, steps={steps!r}, rising={rising!r}, first={first!r}, last={last!r})")


def half_cosine(start: float, end: float, part: Tensor) -> Tensor:
    """Goes from ``start`` to ``end`` in half a cosine as ``part`` goes from 0 to 1, and stays at ``end``."""
    return end + (start - end) / 2 * (1.0 + cos(math.pi * minimum(part, 1.0)))


def scalar(value: float) -> Tensor:
    """Returns a number as a float64 tensor without axes."""
    return as_tensor(value, dtype=float64)


def checked_rate(value: object, op: str) -> float:
    """Returns a learning rate that is not negative; an error names ``op``."""
    return checked(value, op, "learning_rate" if op != "one_cycle" else "peak", NOT_NEGATIVE, RATE_HELP)


def checked_steps(value: object, op: str, operand: str) -> int:
    """Returns a number of steps, of 1 or more; an error names ``op`` and ``operand``."""
    return integer(value, op, operand, "a number of steps",
                   help="count the calls that update: epochs * batches of an epoch", least=1)


__all__ = ["Schedule", "constant", "cosine", "exponential", "one_cycle", "stepped", "warm_up"]

explain_keywords(globals(), [name for name in __all__ if name != "Schedule"])
