"""Wrappers: optimisers around an optimiser, and groups of them.

>>> import nervure as nv
>>> w, b = nv.variable("F=2", 1.0), nv.variable((), 1.0)
>>> rules = Groups([([b], nv.optim.SGD(0.0))], rest=nv.optim.SGD(0.5))
>>> nv.evaluate(rules(nv.sum(w) + b)), w.tolist(), b.item()
(None, [0.5, 0.5], 1.0)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nervure.errors import InvalidArgument, WrongKind
from nervure.front.argument_parsing import members, shown
from nervure.front.creation import AssignableTensorOp
from nervure.ir.variable import Variable
from nervure.optim.kept import Slots, variable_of
from nervure.optim.optimizer import Change, Optimizer, Step
from nervure.optim.rule import Rule
from nervure.support.elsewhere import explains_keywords


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

    def changes(self, steps: Sequence[Step]) -> list[Change]:
        return self.optimizer.changes(steps)

    def slots(self, parameter: AssignableTensorOp) -> Slots:
        return self.optimizer.slots(parameter)

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

    def changes(self, steps: Sequence[Step]) -> list[Change]:
        parts: dict[Optimizer, list[Step]] = {}
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


def _pair(entry: object) -> tuple[list[object], Optimizer]:
    if not isinstance(entry, (tuple, list)) or len(entry) != 2:
        raise WrongKind("a group is a pair", op="Groups", operand="groups", got=shown(entry),
                        expected="(parameters, optimiser)", help="nv.optim.Groups([(biases, nv.optim.SGD(0.1))])")
    return members(entry[0], "Groups", "groups", "a list of parameters"), checked_optimizer(entry[1], "Groups")
