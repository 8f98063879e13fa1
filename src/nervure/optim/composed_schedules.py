"""Schedules of several parts: milestones, restarts, cycles, one after another; and a rate that falls on a plateau.

>>> import nervure as nv
>>> both = sequential([nv.optim.warm_up(1.0, 2), polynomial(1.0, steps=4)], [2])
>>> [both.at(n).item() for n in range(8)]
[0.0, 0.5, 1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from nervure.errors import InvalidArgument, WrongKind, shown
from nervure.front.argument_parsing import integer, members, require_function, truth
from nervure.front.creation import as_tensor, persistent_tensor
from nervure.front.effects import Effect, assign, doall
from nervure.front.loops.loop_functions import fori_loop
from nervure.front.op_functions import floor, greater, less, log, maximum, minimum
from nervure.front.pointwise.elementwise import convert, power, where
from nervure.front.tensor import Operand, Tensor
from nervure.optim.hyperparameters import DECAY, NOT_NEGATIVE, PART, POSITIVE, checked
from nervure.optim.optimizer import Optimizer
from nervure.optim.schedules import Schedule, checked_rate, checked_steps, half_cosine, scalar, settable
from nervure.optim.wrapper import checked_optimizer
from nervure.support.elsewhere import explain_keywords, explains_keywords
from nervure.types.dtype import float64, int64


def multi_step(learning_rate: float, milestones: Sequence[int], factor: float = 0.1) -> Schedule:
    """Multiplies a rate by ``factor`` at each of the ``milestones``, which are numbers of steps.

    >>> [nv.optim.multi_step(1.0, [10, 30], factor=0.5).at(n).item() for n in (9, 10, 29, 30)]
    [1.0, 0.5, 0.5, 0.25]
    """
    rate, places = checked_rate(learning_rate, "multi_step"), _milestones(milestones, "multi_step")
    scale = checked(factor, "multi_step", "factor", NOT_NEGATIVE)

    def at(n: Tensor) -> Tensor:
        result = scalar(rate)
        for place in places:
            result = where(less(n, place), result, result * scale)
        return result
    return Schedule(at, f"multi_step({learning_rate!r}, {places!r}, factor={factor!r})")


def sequential(schedules: Sequence[Schedule], milestones: Sequence[int]) -> Schedule:
    """Follows ``schedules`` one after another: each but the first begins, at its step 0, at one of the ``milestones``.

    >>> halves = nv.optim.sequential([nv.optim.constant(1.0), nv.optim.exponential(1.0, 0.5)], [3])
    >>> [halves.at(n).item() for n in range(6)]
    [1.0, 1.0, 1.0, 1.0, 0.5, 0.25]
    """
    parts = [_schedule(entry, "sequential") for entry in members(schedules, "sequential", "schedules")]
    places = _milestones(milestones, "sequential")
    if len(parts) != len(places) + 1:
        raise InvalidArgument("there is a milestone between two schedules", op="sequential", operand="milestones",
                              got=f"{len(places)} for {len(parts)} schedules", expected=f"{len(parts) - 1}",
                              help="the first schedule begins at step 0")

    def at(n: Tensor) -> Tensor:
        result = parts[0].at(n)
        for part, place in zip(parts[1:], places, strict=True):
            result = where(less(n, place), result, part.at(maximum(n - place, 0.0)))
        return result
    return Schedule(at, f"sequential({parts!r}, {places!r})")


def chained(schedules: Sequence[Schedule]) -> Schedule:
    """Multiplies the rates of several ``schedules``: one has the rate, the others, which start from 1, change it.

    It is PyTorch's ``ChainedScheduler`` of schedules that each multiply the rate.

    >>> both = nv.optim.chained([nv.optim.constant(0.5), nv.optim.stepped(1.0, 2, 0.5), nv.optim.exponential(1.0, 0.5)])
    >>> [both.at(n).item() for n in range(4)]
    [0.5, 0.25, 0.0625, 0.03125]
    """
    parts = [_schedule(entry, "chained") for entry in members(schedules, "chained", "schedules")]
    if not parts:
        raise InvalidArgument("there is a schedule", op="chained", operand="schedules", got="none",
                              expected="one or more", help="nv.optim.constant(rate) is one")

    def at(n: Tensor) -> Tensor:
        result = parts[0].at(n)
        for part in parts[1:]:
            result = result * part.at(n)
        return result
    return Schedule(at, f"chained({parts!r})")


def multiplicative(learning_rate: float, factor: Callable[[Tensor], Tensor]) -> Schedule:
    """Multiplies a rate by ``factor(n)`` after each step, for n from 1 on.

    ``factor`` is a function of tensors, traced once. The rate after n steps is the product of n factors, which is
    computed anew: a loop of some 10 ns a step. ``nv.optim.Schedule`` takes a formula for the product itself.

    >>> halved = nv.optim.multiplicative(1.0, lambda n: nv.where(nv.mod(n, 2.0) == 0, 0.5, 1.0))
    >>> [halved.at(n).item() for n in range(5)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """
    rate = checked_rate(learning_rate, "multiplicative")
    require_function(factor, "multiplicative", "factor", ["n"])

    def at(n: Tensor) -> Tensor:
        def step(i: Tensor, product: Tensor) -> Tensor:
            return product * convert(as_tensor(factor(convert(i, float64)), "multiplicative", dtype=float64), float64)
        return fori_loop(as_tensor(1, dtype=int64), convert(n, int64) + 1, step, scalar(rate))
    return Schedule(at, f"multiplicative({learning_rate!r}, factor)")


def polynomial(learning_rate: float, steps: int, exponent: float = 1.0, end: float = 0.0) -> Schedule:
    """Falls from the rate to ``end`` as ``(1 - n / steps) ** exponent`` does, and stays there after ``steps`` steps.

    >>> [nv.optim.polynomial(1.0, steps=4, exponent=2.0).at(n).item() for n in (0, 1, 2, 4, 9)]
    [1.0, 0.5625, 0.25, 0.0, 0.0]
    """
    rate, length = checked_rate(learning_rate, "polynomial"), checked_steps(steps, "polynomial", "steps")
    curve = checked(exponent, "polynomial", "exponent", POSITIVE)
    last = checked(end, "polynomial", "end", NOT_NEGATIVE)
    return Schedule(lambda n: last + (rate - last) * power(1.0 - minimum(n / length, 1.0), curve),
                    f"polynomial({learning_rate!r}, steps={steps!r}, exponent={exponent!r}, end={end!r})")


def warm_restarts(learning_rate: float, steps: int, growth: int = 1, end: float = 0.0) -> Schedule:
    """Follows half cosines from the rate to ``end``, again and again (Loshchilov and Hutter 2017). The first takes
    ``steps`` steps, each other ``growth`` times as many as the one before.

    >>> [round(nv.optim.warm_restarts(1.0, steps=2, growth=2).at(n).item(), 4) for n in range(7)]
    [1.0, 0.5, 1.0, 0.8536, 0.5, 0.1464, 1.0]
    """
    rate, length = checked_rate(learning_rate, "warm_restarts"), checked_steps(steps, "warm_restarts", "steps")
    factor = checked_steps(growth, "warm_restarts", "growth")
    last = checked(end, "warm_restarts", "end", NOT_NEGATIVE)

    def at(n: Tensor) -> Tensor:
        if factor == 1:
            return half_cosine(rate, last, n / length - floor(n / length))
        # The first n with k restarts is length * (factor**k - 1) / (factor - 1); half a step keeps rounding away.
        restarts = floor(log((n + 0.5) / length * (factor - 1) + 1.0) / math.log(factor))
        grown = power(scalar(factor), restarts)
        return half_cosine(rate, last, (n - length * (grown - 1.0) / (factor - 1)) / (length * grown))
    return Schedule(at, f"warm_restarts({learning_rate!r}, steps={steps!r}, growth={growth!r}, end={end!r})")


def cyclic(low: float, high: float, rising: int = 2000, falling: int | None = None, shrinkage: float = 1.0,
           decay: float = 1.0) -> Schedule:
    """Rises from ``low`` to ``high`` in ``rising`` steps, falls back in ``falling`` ones, and so on (Smith 2017).

    ``falling`` is ``rising`` unless given. The difference of the two rates is multiplied by ``shrinkage`` after each
    cycle (0.5 is PyTorch's "triangular2"), and by ``decay`` after each step ("exp_range").

    >>> [nv.optim.cyclic(0.0, 1.0, rising=2, shrinkage=0.5).at(n).item() for n in range(8)]
    [0.0, 0.5, 1.0, 0.5, 0.0, 0.25, 0.5, 0.25]
    """
    least, most = checked(low, "cyclic", "low", NOT_NEGATIVE), checked(high, "cyclic", "high", NOT_NEGATIVE)
    up = checked_steps(rising, "cyclic", "rising")
    down = up if falling is None else checked_steps(falling, "cyclic", "falling")
    smaller, slower = checked(shrinkage, "cyclic", "shrinkage", POSITIVE), checked(decay, "cyclic", "decay", POSITIVE)

    def at(n: Tensor) -> Tensor:
        cycle = floor(n / (up + down))
        place = n - cycle * (up + down)
        height = minimum(place / up, (up + down - place) / down)
        return least + (most - least) * height * power(scalar(smaller), cycle) * power(scalar(slower), n)
    return Schedule(at, f"cyclic({low!r}, {high!r}, rising={rising!r}, falling={falling!r}, shrinkage={shrinkage!r}, "
                        f"decay={decay!r})")


class Plateau:
    """Multiplies the learning rates of ``optimizer`` by ``factor`` when a value has not improved for more than
    ``patience`` calls.

    Called with a value, such as the loss of held-out data, it returns the effect of one comparison. An improvement is a
    value below the best one times ``1 - threshold``, or above it times ``1 + threshold`` where ``larger`` is better.
    For ``pause`` calls after a change nothing counts; rates do not fall below ``least``. A rate that a schedule decides
    is an InvalidArgument.

    >>> descent, loss = nv.optim.SGD(1.0), nv.placeholder(())
    >>> check = nv.computation(nv.optim.Plateau(descent, factor=0.5, patience=1)(loss), loss)
    >>> for value in (3.0, 2.0, 2.0, 2.0):
    ...     check(value)
    >>> descent.learning_rate.item()
    0.5
    """

    @explains_keywords
    def __init__(self, optimizer: Optimizer, factor: float = 0.1, patience: int = 10, threshold: float = 1e-4,
                 pause: int = 0, least: float = 0.0, larger: bool = False) -> None:
        self.optimizer, self.larger = checked_optimizer(optimizer, "Plateau"), truth(larger, "Plateau", "larger")
        self.factor = checked(factor, "Plateau", "factor", DECAY)
        self.patience, self.pause = [_calls(value, name) for name, value in (("patience", patience), ("pause", pause))]
        self.threshold = checked(threshold, "Plateau", "threshold", PART)
        self.least = checked(least, "Plateau", "least", NOT_NEGATIVE)
        self.best = persistent_tensor((), -math.inf if self.larger else math.inf, float64).named("plateau_best")
        self.waited = persistent_tensor((), 0, int64).named("plateau_waited")
        self.paused = persistent_tensor((), 0, int64).named("plateau_paused")

    def __call__(self, value: Operand) -> Effect:
        """Returns the effect that compares a value with the best one, and lowers the rates on a plateau."""
        own = convert(as_tensor(value, "Plateau"), float64)
        if own.ndim:
            raise InvalidArgument("a value that is compared has no axes", op="Plateau", operand="value",
                                  got=str(own.type), expected="a scalar", help="nv.mean(value, out_axes=()) is one")
        is_better = greater(own, self.best * (1.0 + self.threshold)) if self.larger else less(
            own, self.best * (1.0 - self.threshold))
        is_paused = greater(self.paused, 0)
        waited = where(is_better | is_paused, 0, self.waited + 1)
        is_due = greater(waited, self.patience)
        found = [settable(rule, "Plateau") for rule in self.optimizer.rules()]
        rates = {rate.variable: rate for rate in found}.values()  # rules may share one
        lowered = [minimum(rate, maximum(rate * self.factor, self.least)) for rate in rates]
        return doall([assign(self.best, where(is_better, own, self.best)),
                      assign(self.waited, where(is_due, 0, waited)),
                      assign(self.paused, where(is_due, self.pause, where(is_paused, self.paused - 1, 0))),
                      *[assign(rate, where(is_due, low, rate)) for rate, low in zip(rates, lowered, strict=True)]])

    def __repr__(self) -> str:
        return (f"Plateau({self.optimizer!r}, factor={self.factor!r}, patience={self.patience!r}, "
                f"threshold={self.threshold!r}, pause={self.pause!r}, least={self.least!r}, larger={self.larger!r})")


def _calls(value: object, operand: str) -> int:
    """Returns a number of calls, of 0 or more."""
    return int(checked(integer(value, "Plateau", operand, "a number of calls"), "Plateau", operand, NOT_NEGATIVE))


def _schedule(entry: object, op: str) -> Schedule:
    if not isinstance(entry, Schedule):
        raise WrongKind("this is no schedule", op=op, operand="schedules", got=shown(entry),
                        expected="schedules", help="nv.optim.constant(rate) makes one of a number")
    return entry


def _milestones(values: Sequence[int], op: str) -> list[int]:
    """Returns numbers of steps in ascending order; InvalidArgument for others."""
    places = [checked_steps(entry, op, "milestones") for entry in members(values, op, "milestones")]
    if places != sorted(places):
        raise InvalidArgument("milestones ascend", op=op, operand="milestones", got=places, expected=sorted(places),
                              help="sort them")
    return places


__all__ = ["Plateau", "chained", "cyclic", "multi_step", "multiplicative", "polynomial", "sequential", "warm_restarts"]

explain_keywords(globals(), [name for name in __all__ if name != "Plateau"])
