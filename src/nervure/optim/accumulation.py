"""Gradient accumulation: the gradients of several calls are summed, and then an optimiser gets their mean.

>>> import nervure as nv
>>> w, x = nv.variable((), 1.0), nv.placeholder(())
>>> step = nv.computation(Accumulated(nv.optim.SGD(1.0), calls=2).update(w, x), x)
>>> for gradient in (1.0, 0.0, 4.0):
...     step(gradient)
>>> w.item()
0.5
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.errors import InvalidArgument
from nervure.front.argument_parsing import integer
from nervure.front.creation import AssignableTensorOp, persistent_tensor
from nervure.front.elementwise import convert, where
from nervure.front.op_functions import greater_equal
from nervure.optim.kept import Kept, Slots, slot_like
from nervure.optim.optimizer import Change, Optimizer, Step, working_type
from nervure.optim.wrapper import Wrapper
from nervure.support.elsewhere import explains_keywords
from nervure.types.dtype import int64


class Accumulated(Wrapper):
    """An optimiser that is called every ``calls`` times, with the mean of the gradients since the last time.

    In between, parameters, moments and counts do not change by a bit. A parameter's ``total``, the sum, and
    ``collected``, the number of gradients in it, are slots of the parameter.

    >>> list(nv.optim.Accumulated(nv.optim.SGD(0.1), calls=4).slots(nv.variable("F=3")))
    ['lr', 'n', 'collected', 'total']
    """

    @explains_keywords
    def __init__(self, optimizer: Optimizer, calls: int) -> None:
        super().__init__(optimizer)
        self.calls = integer(calls, "Accumulated", "calls")
        if self.calls < 1:
            raise InvalidArgument("calls is a number of calls", op="Accumulated", operand="calls", got=calls,
                                  expected="1 or more", help="1 updates at each call")
        self._kept = Kept(self._made)

    def changes(self, steps: Sequence[Step]) -> list[Change]:
        slots = [self._kept.of(parameter) for parameter, _ in steps]
        counts = [own["collected"] + 1 for own in slots]
        totals = [own["total"] + convert(step.gradient, own["total"].dtype)
                  for own, step in zip(slots, steps, strict=True)]
        means = [Step(step.parameter, total / convert(count, total.dtype))
                 for step, total, count in zip(steps, totals, counts, strict=True)]
        due = greater_equal(counts[0], self.calls)
        kept = [change for own, count, total in zip(slots, counts, totals, strict=True)
                for change in (Change(own["collected"], where(due, 0, count)),
                               Change(own["total"], where(due, 0.0, total)))]
        return [*kept, *[Change(place, where(due, value, convert(place, value.dtype)))
                         for place, value in self.optimizer.changes(means)]]

    def slots(self, parameter: AssignableTensorOp) -> Slots:
        return {**self.optimizer.slots(parameter), **self._kept.of(parameter)}

    def _made(self, parameter: AssignableTensorOp) -> Slots:
        return {"collected": persistent_tensor((), 0, int64).named("collected"),
                "total": slot_like(parameter, "total", working_type(parameter.dtype))}
