"""Moving averages of weights (Polyak and Juditsky 1992): kept in training, swapped with the weights for prediction.

>>> import nervure as nv
>>> w = nv.variable((), 4.0)
>>> average = MovingAverage(nv.optim.SGD(1.0), decay=0.5)
>>> step, exchange = nv.computation(average.update(w, 1.0)), nv.computation(average.exchange())
>>> step(), step(), w.item(), average.slots(w)["average"].item()
(None, None, 2.0, 2.5)
>>> exchange(), w.item(), exchange(), w.item()
(None, 2.5, None, 2.0)
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.errors import InvalidArgument
from nervure.front.creation import AssignableTensorOp, persistent_tensor
from nervure.front.effects import Effect, assign, doall
from nervure.front.elementwise import convert, where
from nervure.front.flushing import without_denormals
from nervure.front.op_functions import equal
from nervure.front.tensor import Tensor
from nervure.optim.hyperparameters import DECAY, number
from nervure.optim.kept import Kept, Slots, slot_like
from nervure.optim.optimizer import Change, Optimizer, Step, working_type
from nervure.optim.wrapper import Wrapper
from nervure.support.elsewhere import explains_keywords
from nervure.types.dtype import float64, int64


class MovingAverage(Wrapper):
    """An optimiser that keeps ``decay * average + (1 - decay) * w`` of each parameter that it updates.

    The first average is the parameter itself, after its first update. ``exchange`` swaps parameters and averages: once
    to predict with the averages, once more to go on. ``average``, and ``averaged``, the number of values in it, are
    slots of a parameter.

    >>> list(nv.optim.MovingAverage(nv.optim.SGD(0.1)).slots(nv.variable("F=3")))
    ['lr', 'n', 'average_decay', 'averaged', 'average']
    """

    @explains_keywords
    def __init__(self, optimizer: Optimizer, decay: float | Tensor = 0.999) -> None:
        super().__init__(optimizer)
        self.decay = number(decay, "MovingAverage", "decay", DECAY)
        self._kept = Kept(self._made)

    def changes(self, steps: Sequence[Step]) -> list[Change]:
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
        none = equal(own["averaged"], 0)
        average = where(none, convert(parameter, own["average"].dtype), own["average"])
        return [assign(parameter, average), assign(own["average"], convert(parameter, own["average"].dtype))]

    def slots(self, parameter: AssignableTensorOp) -> Slots:
        shared = {"average_decay": self.decay} if isinstance(self.decay, AssignableTensorOp) else {}
        return {**self.optimizer.slots(parameter), **shared, **self._kept.of(parameter)}

    def _made(self, parameter: AssignableTensorOp) -> Slots:
        return {"averaged": persistent_tensor((), 0, int64).named("averaged"),
                "average": slot_like(parameter, "average", working_type(parameter.dtype))}
