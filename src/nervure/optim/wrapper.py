"""Wrappers: groups of optimisers, and optimisers around one, which accumulate gradients or average weights.

>>> import nervure as nv
>>> w, b = nv.variable("F=2", 1.0), nv.variable((), 1.0)
>>> rules = Groups([([b], nv.optim.SGD(0.0))], rest=nv.optim.SGD(0.5))
>>> nv.evaluate(rules(nv.sum(w) + b)), w.tolist(), b.item()
(None, [0.5, 0.5], 1.0)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from nervure.errors import InvalidArgument, WrongKind, shown
from nervure.front.argument_parsing import integer, members
from nervure.front.creation import AssignableTensorOp, persistent_tensor
from nervure.front.effects import Effect, assign, doall
from nervure.front.flushing import without_denormals
from nervure.front.op_functions import equal, greater_equal
from nervure.front.pointwise.elementwise import bitcast, convert, where
from nervure.front.tensor import Tensor
from nervure.ir.variable import Variable
from nervure.optim.hyperparameters import DECAY, number
from nervure.optim.kept import Kept, Slots, kept_of, slot_like, variable_of, variables_in
from nervure.optim.optimizer import Change, GradientStep, Optimizer, working_type
from nervure.optim.rule import Rule
from nervure.support.elsewhere import explains_keywords
from nervure.types.dtype import float64, int32, int64


def checked_optimizer(value: object, op: str) -> Optimizer:
    """Returns an optimiser as it is; WrongKind for all else, such as a loss."""
    if not isinstance(value, Optimizer):
        raise WrongKind("this is no optimiser", op=op, operand="optimizer", got=shown(value), expected="an optimiser",
                        help=f"as in nv.optim.{op}(nv.optim.Adam(1e-3), ...)")
    return value


class Wrapper(Optimizer):
    """An optimiser that changes the inputs or the results of another one; as it stands it forwards everything."""

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = checked_optimizer(optimizer, type(self).__name__)

    def changes(self, steps: Sequence[GradientStep]) -> list[Change]:
        return self.optimizer.changes(steps)

    def slots(self, parameter: AssignableTensorOp) -> Slots:
        return {**self.optimizer.slots(parameter), **self.own_slots(parameter)}

    def own_slots(self, parameter: AssignableTensorOp) -> Slots:
        """Returns the slots that a wrapper adds to those of its optimiser."""
        return {}

    def rules(self) -> list[Rule]:
        return self.optimizer.rules()

    def kind(self, parameter: AssignableTensorOp) -> str:
        return self.optimizer.kind(parameter)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.optimizer!r})"


class Groups(Optimizer):
    """Parameters in groups, each with an optimiser of its own: another rate, no weight decay.

    ``groups`` are pairs of parameters and an optimiser; ``rest`` is for all parameters that are in none.

    >>> w, b = nv.variable("F=2"), nv.variable(())
    >>> rules = nv.optim.Groups([([b], nv.optim.AdamW(1e-3, weight_decay=0.0))], rest=nv.optim.AdamW(1e-3))
    >>> list(rules.slots(b)), "weight_decay" in rules.slots(w)
    (['lr', 'eps', 'beta1', 'beta2', 'n', 'm', 'v'], True)
    """

    @explains_keywords
    def __init__(self, groups: Iterable[tuple[Sequence[AssignableTensorOp], Optimizer]],
                 rest: Optimizer | None = None) -> None:
        self.rest = None if rest is None else checked_optimizer(rest, "Groups")
        self.groups = [_pair(entry) for entry in members(groups, "Groups", "groups", "pairs of parameters, optimiser")]
        self._chosen: dict[Variable, Optimizer] = {}
        for parameters, optimizer in self.groups:
            for parameter in parameters:
                self._choose(variable_of(parameter), optimizer)

    def _choose(self, variable: Variable, optimizer: Optimizer) -> None:
        if variable in self._chosen:
            raise InvalidArgument("a parameter is in two groups", op="Groups", operand=variable.name,
                                  got=repr(variable), expected="each parameter once",
                                  help="leave it out of one of them")
        self._chosen[variable] = optimizer

    def of(self, parameter: AssignableTensorOp) -> Optimizer:
        """Returns the optimiser of a parameter."""
        found = self._chosen.get(variable_of(parameter), self.rest)
        if found is None:
            raise InvalidArgument("a parameter is in no group", op="Groups", operand=parameter.name,
                                  got=repr(parameter), expected="a parameter of one of the groups",
                                  help="rest= is the optimiser of all others")
        return found

    def changes(self, steps: Sequence[GradientStep]) -> list[Change]:
        parts: dict[Optimizer, list[GradientStep]] = {}
        for step in steps:
            parts.setdefault(self.of(step.parameter), []).append(step)
        return [change for optimizer, part in parts.items() for change in optimizer.changes(part)]

    def slots(self, parameter: AssignableTensorOp) -> Slots:
        return self.of(parameter).slots(parameter)

    def rules(self) -> list[Rule]:
        each = [optimizer for _, optimizer in self.groups] + ([] if self.rest is None else [self.rest])
        return list(dict.fromkeys([rule for optimizer in each for rule in optimizer.rules()]))

    def kind(self, parameter: AssignableTensorOp) -> str:
        return self.of(parameter).kind(parameter)

    def __repr__(self) -> str:
        shown_groups = ", ".join([f"({len(parameters)} parameters, {optimizer!r})"
                                  for parameters, optimizer in self.groups])
        return f"Groups([{shown_groups}], rest={self.rest!r})"


def _pair(entry: object) -> tuple[list[AssignableTensorOp], Optimizer]:
    if not isinstance(entry, (tuple, list)) or len(entry) != 2:
        raise WrongKind("a group is a pair", op="Groups", operand="groups", got=shown(entry),
                        expected="(parameters, optimiser)", help="nv.optim.Groups([(biases, nv.optim.SGD(0.1))])")
    return variables_in(entry[0], "Groups", "parameters"), checked_optimizer(entry[1], "Groups")


class Accumulated(Wrapper):
    """An optimiser that is called every ``calls`` times, with the mean of the gradients since the last time.

    In between, parameters, moments and counts do not change by a bit. Each parameter is due by its own count, where
    losses with other parameters share the optimiser; one that is not due counts in no norm. A parameter's ``total``,
    the sum, and ``collected``, the number of gradients in it, are slots of the parameter.

    >>> w, x = nv.variable((), 1.0), nv.placeholder(())
    >>> rule = nv.optim.Accumulated(nv.optim.SGD(1.0), calls=2)
    >>> step = nv.computation(rule.update(w, x), x)
    >>> for gradient in (1.0, 0.0, 4.0):
    ...     step(gradient)
    >>> w.item(), list(rule.slots(w))
    (0.5, ['lr', 'n', 'collected', 'total'])
    """

    @explains_keywords
    def __init__(self, optimizer: Optimizer, calls: int) -> None:
        super().__init__(optimizer)
        self.calls = integer(calls, "Accumulated", "calls", help="1 updates at each call", least=1)
        self._kept = Kept(self._made)

    def changes(self, steps: Sequence[GradientStep]) -> list[Change]:
        slots = [self._kept.of(parameter) for parameter, _ in steps]
        counts = [own["collected"] + 1 for own in slots]
        totals = [own["total"] + convert(step.gradient, own["total"].dtype)
                  for own, step in zip(slots, steps, strict=True)]
        due = [greater_equal(count, self.calls) for count in counts]
        means = [GradientStep(step.parameter, where(is_due, total / convert(count, total.dtype), 0.0))
                 for step, is_due, total, count in zip(steps, due, totals, counts, strict=True)]
        found = self.optimizer.changes(means)
        kept = [change for own, is_due, count, total in zip(slots, due, counts, totals, strict=True)
                for change in (Change(own["collected"], where(is_due, 0, count)),
                               Change(own["total"], where(is_due, 0.0, total)))]
        owners = self._owners(dict(zip([variable_of(step.parameter) for step in steps], due, strict=True)))
        return [*kept, *[Change(place, where(owners.get(place.variable, due[0]), value, convert(place, value.dtype)))
                         for place, value in found]]

    def _owners(self, due: Mapping[Variable, Tensor]) -> dict[Variable | None, Tensor]:
        """Returns for each place whether its parameter is ``due``; that of several parameters belongs to the first."""
        owners: dict[Variable | None, Tensor] = {}
        for parameter in self._kept.parameters():
            is_due = due.get(variable_of(parameter))
            if is_due is not None:
                for place in (parameter, *self.optimizer.slots(parameter).values()):
                    owners.setdefault(place.variable, is_due)
        return owners

    def own_slots(self, parameter: AssignableTensorOp) -> Slots:
        return self._kept.of(parameter)

    def _made(self, parameter: AssignableTensorOp) -> Slots:
        return {"collected": persistent_tensor((), 0, int64).named("collected"),
                "total": slot_like(parameter, "total", working_type(parameter.dtype))}


class MovingAverage(Wrapper):
    """An optimiser that keeps ``decay * average + (1 - decay) * w`` of each parameter that it updates (Polyak and
    Juditsky 1992).

    The first average is the parameter itself, after its first update. ``exchange`` swaps parameters and averages: once
    to predict with the averages, once more to go on. ``average``, and ``averaged``, the number of values in it, are
    slots of a parameter; one narrower than its average has ``unrounded``, the average that it was given.

    >>> w = nv.variable((), 4.0)
    >>> average = nv.optim.MovingAverage(nv.optim.SGD(1.0), decay=0.5)
    >>> step, exchange = nv.computation(average.update(w, 1.0)), nv.computation(average.exchange())
    >>> step(), step(), w.item(), average.slots(w)["average"].item()
    (None, None, 2.0, 2.5)
    >>> exchange(), w.item(), exchange(), w.item()
    (None, 2.5, None, 2.0)
    """

    @explains_keywords
    def __init__(self, optimizer: Optimizer, decay: float | Tensor = 0.999) -> None:
        super().__init__(optimizer)
        self.decay = number(decay, "MovingAverage", "decay", DECAY)
        self._kept = Kept(self._made)

    def changes(self, steps: Sequence[GradientStep]) -> list[Change]:
        found = self.optimizer.changes(steps)
        after = dict(found)
        return [*found, *[change for parameter, _ in steps
                          for change in self._averaged(parameter, after.get(parameter, parameter))]]

    def _averaged(self, parameter: AssignableTensorOp, value: Tensor) -> list[Change]:
        own = self._kept.of(parameter)
        working = own["average"].dtype
        rest = convert(1.0 - convert(self.decay, float64), working)
        value = convert(convert(value, parameter.dtype), working)
        mean = without_denormals(convert(self.decay, working) * own["average"] + rest * value)
        return [Change(own["averaged"], own["averaged"] + 1),
                Change(own["average"], where(equal(own["averaged"], 0), value, mean))]

    def exchange(self) -> Effect:
        """Returns the effect that swaps each parameter that has an average with it.

        >>> nv.optim.MovingAverage(nv.optim.SGD(0.1)).exchange()
        Traceback (most recent call last):
            ...
        nervure.errors.InvalidArgument: exchange: there is no average yet
        ...
        """
        parameters = self._kept.parameters()
        if not parameters:
            raise InvalidArgument("there is no average yet", op="exchange", got="no parameters", expected="an update",
                                  help="build the step that updates before: average(loss), or average.update(w, g)")
        return doall([effect for parameter in parameters for effect in self._swapped(parameter)])

    def _swapped(self, parameter: AssignableTensorOp) -> list[Effect]:
        own = self._kept.of(parameter)
        wide = convert(parameter, own["average"].dtype)
        average = where(equal(own["averaged"], 0), wide, own["average"])
        if "unrounded" not in own:
            return [assign(parameter, average), assign(own["average"], wide)]
        given = convert(convert(own["unrounded"], parameter.dtype), wide.dtype)
        is_given = equal(bitcast(given, int32), bitcast(wide, int32))  # not changed since; 0.0 is not -0.0
        return [assign(parameter, average), assign(own["average"], where(is_given, own["unrounded"], wide)),
                assign(own["unrounded"], average)]

    def own_slots(self, parameter: AssignableTensorOp) -> Slots:
        return {**kept_of({"average_decay": self.decay}), **self._kept.of(parameter)}

    def _made(self, parameter: AssignableTensorOp) -> Slots:
        working = working_type(parameter.dtype)
        names = ["average"] if working is parameter.dtype else ["average", "unrounded"]
        return {"averaged": persistent_tensor((), 0, int64).named("averaged"),
                **{name: slot_like(parameter, name, working) for name in names}}
