"""Rules: optimisers defined by one formula for the new values of a parameter and its moments.

>>> import nervure as nv
>>> class Signs(nv.optim.Rule):
...     '''A step of the same length in each direction.'''
...     def __init__(self, learning_rate):
...         super().__init__({"learning_rate": learning_rate})
...     def rule(self, parameter, gradient, state):
...         return parameter - state["lr"] * nv.sign(gradient), {}
>>> w = nv.variable((2,), [1.0, 1.0])
>>> nv.evaluate(Signs(0.25).update(w, [3.0, -0.1])), w.tolist()
(None, [0.75, 1.25])
"""

from __future__ import annotations

import functools
import operator
from abc import abstractmethod
from collections.abc import Container, Mapping, Sequence

from nervure.front.creation import AssignableTensorOp, persistent_tensor
from nervure.front.flushing import without_denormals
from nervure.front.op_functions import expm1, log1p
from nervure.front.pointwise.elementwise import convert
from nervure.front.tensor import Tensor
from nervure.optim.hyperparameters import NOT_NEGATIVE, RATE_HELP, number
from nervure.optim.kept import Kept, Slots, kept_of, slot_like
from nervure.optim.optimizer import Change, GradientStep, Optimizer, working_type
from nervure.optim.schedules import Schedule
from nervure.types.dtype import DType, float64, int64


class Rule(Optimizer):
    """An optimiser that is a formula over a parameter, its gradient, numbers and moments.

    A subclass names its ``moments`` (each has the axes and the type of the parameter, and starts from zeros), passes
    its numbers and its arguments to ``__init__``, and defines ``rule``. ``learning_rate`` and ``n``, the number of
    updates of the first parameter, are tensors that computations read and write.

    >>> adam = nv.optim.Adam(0.01)
    >>> adam.learning_rate.item(), adam.n.item(), list(adam.slots(nv.variable("F=3")))
    (0.01, 0, ['lr', 'eps', 'beta1', 'beta2', 'n', 'm', 'v'])
    """

    moments: tuple[str, ...] = ()

    def __init__(self, given: Mapping[str, object], numbers: Mapping[str, Tensor | None] | None = None) -> None:
        """Keeps the arguments of the constructor, ``given``, for the repr; ``learning_rate`` is among them.
        ``numbers`` are the other hyperparameters by the names of their slots; None leaves one out.
        """
        rate, op = given["learning_rate"], type(self).__name__
        self.schedule = rate if isinstance(rate, Schedule) else None
        self.learning_rate = rate.place() if isinstance(rate, Schedule) else number(
            rate, op, "learning_rate", NOT_NEGATIVE, RATE_HELP)
        self.numbers = {"lr": self.learning_rate,
                        **{name: entry for name, entry in (numbers or {}).items() if entry is not None}}
        self.n = self._count()
        self._given = dict(given)
        self._kept = Kept(self._made)

    @abstractmethod
    def rule(self, parameter: Tensor, gradient: Tensor, state: State) -> tuple[Tensor, Mapping[str, Tensor]]:
        """Returns the new value of a parameter, and those of its moments by name; denormal elements of moments become
        0.

        ``parameter``, ``gradient`` and the entries of ``state`` are in the type that computes, float32 or float64.
        """

    def changes(self, steps: Sequence[GradientStep]) -> list[Change]:
        return [change for step in steps for change in self._changes(*step)]

    def _changes(self, parameter: AssignableTensorOp, gradient: Tensor) -> list[Change]:
        own, working = self._kept.of(parameter), working_type(parameter.dtype)
        value, moments = self.rule(convert(parameter, working), convert(gradient, working), State(self, own, working))
        # The step itself uses moments of any size, so that it does not divide by a 0 where another moment is not 0.
        kept = [Change(own[name], without_denormals(entry)) for name, entry in moments.items()]
        found = [Change(own["n"], own["n"] + 1), *kept, Change(parameter, value)]
        if self.schedule is not None and own["n"] is self.n and isinstance(self.learning_rate, AssignableTensorOp):
            found.append(Change(self.learning_rate, self.schedule.at(self.n)))
        return found

    def slots(self, parameter: AssignableTensorOp) -> Slots:
        return {**kept_of(self.numbers), **self._kept.of(parameter)}

    def rules(self) -> list[Rule]:
        return [self]

    def rate(self, parameters: Container[AssignableTensorOp]) -> Tensor:
        """Returns the learning rate of the next step of those of its parameters that are among ``parameters``; each
        has a count of its own.
        """
        if self.schedule is None:
            return self.learning_rate
        own = [self._kept.of(place)["n"] for place in self._kept.parameters() if place in parameters]
        return self.schedule.at(own[0] if own else self.n)

    def _made(self, parameter: AssignableTensorOp) -> Slots:
        """Makes the slots that a parameter does not share with others; the first parameter gets the count of the
        optimiser.
        """
        count = self._count() if self._kept.parameters() else self.n
        return {"n": count, **{name: self.slot(parameter, name) for name in self.moments}}

    def slot(self, parameter: AssignableTensorOp, name: str) -> AssignableTensorOp:
        """Makes the place of a moment of a parameter; a rule whose moments have other axes, or another start, makes
        its own.
        """
        return slot_like(parameter, name)

    def _count(self) -> AssignableTensorOp:
        return persistent_tensor((), 0, int64).named(f"{type(self).__name__.lower()}_n")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join([f'{name}={value!r}' for name, value in self._given.items()])})"


class State:
    """The inputs of a rule for one parameter: its moments and the optimiser's numbers, in one element type.

    ``state["n"]`` is the number of this update, from 1.
    """

    def __init__(self, rule: Rule, own: Slots, working: DType) -> None:
        self._rule, self._own, self._working = rule, own, working
        self._made: dict[str, Tensor] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._rule.numbers or name in self._own

    def __getitem__(self, name: str) -> Tensor:
        """Returns a number, a moment, or the count, by the name of its slot."""
        if name not in self._made:
            self._made[name] = convert(self._tensor(name), self._working)
        return self._made[name]

    def rest(self, name: str) -> Tensor:
        """Returns 1 minus a number, subtracted before it is rounded to the element type."""
        return convert(1.0 - convert(self._rule.numbers[name], float64), self._working)

    def mean(self, moment: str, decay: str, *factors: Tensor) -> Tensor:
        """Returns the running mean of a product: ``decay`` times the moment, plus the rest of it times the factors."""
        return self[decay] * self[moment] + functools.reduce(operator.mul, factors, self.rest(decay))

    def correction(self, name: str) -> Tensor:
        """Returns 1 minus the n-th power of a decay, the sum of the weights in a running mean of n numbers.

        It keeps its digits for decays near 1, where the power rounds to 1.
        """
        exact = self.exact()
        return convert(-expm1(exact["n"] * log1p(-exact.rest(name))), self._working)

    def exact(self) -> State:
        """Returns the same inputs in float64, for scalars that lose their digits in float32."""
        return State(self._rule, self._own, float64)

    def _tensor(self, name: str) -> Tensor:
        if name == "n":
            return self._own["n"] + 1
        if name == "lr" and self._rule.schedule is not None:
            return self._rule.schedule.at(self._own["n"])
        return self._own[name] if name in self._own else self._rule.numbers[name]
