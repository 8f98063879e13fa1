"""L-BFGS: gradients are turned by what the last steps tell of the curvature, then another rule takes the step.

>>> import nervure as nv
>>> w = nv.variable((2,), [1.0, 1.0])
>>> loss = nv.sum(w * w * np.array([1.0, 50.0], np.float32))
>>> step = nv.computation([loss, nv.optim.LBFGS(nv.optim.SGD(1.0), memory=4)(loss)])
>>> for _ in range(12):
...     last = step()[0].item()
>>> last < 1e-6
True
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from nervure.errors import InvalidArgument
from nervure.front.argument_parsing import integer
from nervure.front.arranging.joining import concatenate
from nervure.front.creation import AssignableTensorOp, persistent_tensor
from nervure.front.op_functions import absolute, equal, greater, less_equal, logical_or, minimum
from nervure.front.pointwise.elementwise import convert, where
from nervure.front.statistics.reductions import sum  # of tensors
from nervure.front.tensor import Tensor
from nervure.optim.kept import Kept, Slots
from nervure.optim.optimizer import Change, GradientStep, Optimizer, working_type
from nervure.optim.wrapper import Wrapper
from nervure.support.elsewhere import explains_keywords
from nervure.types.dtype import int64

LEAST_CURVATURE = 1e-10
"""A change of the gradient along a step that is smaller says nothing of the curvature: it is not remembered."""

MOST_STEPS = 100
"""The most steps that are remembered: each adds two products to the graph."""


class LBFGS(Wrapper):
    """Turns gradients into L-BFGS's directions (Liu and Nocedal 1989), with which ``optimizer`` takes the step.

    It is one direction a call, for all parameters together, as PyTorch's ``LBFGS(max_iter=1)`` has it; with
    ``SGD(1.0)`` the step is Newton's. ``memory`` steps are remembered. The first step of any parameter is no longer
    than 1 in the sum of all absolute values. It is for losses without noise, and searches along no line:
    ``nv.optim.minimise`` does, for functions.

    >>> w = nv.variable((), 3.0)
    >>> nv.evaluate(nv.optim.LBFGS(nv.optim.SGD(1.0))(w * w)), w.item()
    (None, 2.0)
    """

    @explains_keywords
    def __init__(self, optimizer: Optimizer, memory: int = 10) -> None:
        super().__init__(optimizer)
        self.memory = integer(memory, "LBFGS", "memory")
        if not 1 <= self.memory <= MOST_STEPS:
            raise InvalidArgument("this many steps are not remembered", op="LBFGS", operand="memory", got=memory,
                                  expected=f"1 to {MOST_STEPS}", help="10 are usual")
        self._kept = Kept(self._made)

    def changes(self, steps: Sequence[GradientStep]) -> list[Change]:
        slots = [self._kept.of(parameter) for parameter, _ in steps]
        values = [_plain(parameter, own) for (parameter, _), own in zip(steps, slots, strict=True)]
        gradients = [_plain(gradient, own) for (_, gradient), own in zip(steps, slots, strict=True)]
        new = [equal(own["taken"], 0) for own in slots]
        moves = [where(is_new, 0.0, value - own["value"])
                 for is_new, value, own in zip(new, values, slots, strict=True)]
        turns = [where(is_new, 0.0, gradient - own["gradient"])
                 for is_new, gradient, own in zip(new, gradients, slots, strict=True)]
        is_told = greater(_dot(moves, turns), LEAST_CURVATURE)
        told = [remembered(own["moves"], move, is_told) for own, move in zip(slots, moves, strict=True)]
        changed = [remembered(own["turns"], turn, is_told) for own, turn in zip(slots, turns, strict=True)]
        turned = directions(gradients, told, changed)
        whole = _total([sum(absolute(direction)) for direction in turned])
        scale = first_length(reduce(logical_or, new), whole)
        taken = [GradientStep(step.parameter, convert(Tensor((scale * direction).value, step.parameter._axes),
                                                      step.gradient.dtype))
                 for step, direction in zip(steps, turned, strict=True)]
        kept = [Change(own[name], value) for entry in zip(slots, values, gradients, told, changed, strict=True)
                for own, pairs in [(entry[0], zip(("value", "gradient", "moves", "turns"), entry[1:], strict=True))]
                for name, value in pairs]
        return [*kept, *[Change(own["taken"], own["taken"] + 1) for own in slots], *self.optimizer.changes(taken)]

    def own_slots(self, parameter: AssignableTensorOp) -> Slots:
        return self._kept.of(parameter)

    def _made(self, parameter: AssignableTensorOp) -> Slots:
        own, dtype = parameter.shape, working_type(parameter.dtype)
        shapes = {"value": own, "gradient": own, "moves": (self.memory, *own), "turns": (self.memory, *own)}
        name = parameter.name or "variable"
        return {"taken": persistent_tensor((), 0, int64).named(f"{name}_taken"),
                **{slot: persistent_tensor(shape, dtype=dtype).named(f"{name}_{slot}")
                   for slot, shape in shapes.items()}}


def first_length(is_first: Tensor, size: Tensor) -> Tensor:
    """Returns the part of a direction that a step goes. The first one is no longer than 1, where ``size`` is the sum of
    the direction's absolute values; others go all of it.
    """
    return where(is_first, minimum(1.0, 1.0 / where(greater(size, 0.0), size, 1.0)), 1.0)


def directions(gradients: Sequence[Tensor], moves: Sequence[Tensor], turns: Sequence[Tensor]) -> list[Tensor]:
    """Returns the product of the inverse curvature with ``gradients`` (Nocedal 1980), from the ``moves`` and
    ``turns`` of the steps that are remembered, the newest first. A place without a step has zeros; one whose curvature
    is not positive counts as such, as parameters that took other steps can make it.
    """
    pairs = [([entry[k] for entry in moves], [entry[k] for entry in turns])
             for k in range(integer(moves[0].type.shape[0], "LBFGS", "memory"))]
    curvatures = [_dot(move, turn) for move, turn in pairs]
    absent = [less_equal(entry, 0.0) for entry in curvatures]
    inverse = [where(is_absent, 0.0, 1.0 / where(is_absent, 1.0, entry))
               for is_absent, entry in zip(absent, curvatures, strict=True)]
    found, shares = list(gradients), []
    for (move, turn), factor in zip(pairs, inverse, strict=True):
        shares.append(factor * _dot(move, found))
        found = [own - shares[-1] * entry for own, entry in zip(found, turn, strict=True)]
    size = _dot(pairs[0][1], pairs[0][1])
    is_unscaled = absent[0] | equal(size, 0.0)
    scale = where(is_unscaled, 1.0, curvatures[0] / where(is_unscaled, 1.0, size))
    found = [own * scale for own in found]
    for (move, turn), factor, share in reversed(list(zip(pairs, inverse, shares, strict=True))):
        rest = share - factor * _dot(turn, found)
        found = [own + rest * entry for own, entry in zip(found, move, strict=True)]
    return found


def _plain(x: Tensor, own: Slots) -> Tensor:
    """Returns a tensor without names, in the type of the slots."""
    return convert(Tensor(x.value), own["value"].dtype)


def remembered(history: Tensor, entry: Tensor, is_told: Tensor) -> Tensor:
    """Returns a ``history`` with a new first ``entry``, and without its last one, where it is told."""
    return where(is_told, concatenate([entry[None], history[:-1]], 0), history)


def _dot(xs: Sequence[Tensor], ys: Sequence[Tensor]) -> Tensor:
    return _total([sum(x * y) for x, y in zip(xs, ys, strict=True)])


def _total(terms: Sequence[Tensor]) -> Tensor:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total
