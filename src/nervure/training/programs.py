"""The programs of a training: a step, an evaluation and a prediction, each one call for any number of examples.

>>> import numpy as np
>>> import nervure as nv
>>> model = nv.nn.LinearLayer(2, 1, weights=0.0)
>>> goal = Goal(model, nv.optim.SGD(0.1), nv.nn.losses.mean_squared_error, {})
>>> batch = np.ones((4, 2), np.float32), np.ones((4, 1), np.float32)
>>> inputs, targets = places_for(batch, None)
>>> programs = Programs(goal, [inputs], targets, nv.transformers.default())
>>> first, second = [float(programs.step(*batch)[0]) for _ in range(2)]
>>> bool(first > second)
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, cast

import numpy as np

from nervure import ops
from nervure.computation import Computation, Results, build_function
from nervure.data.batches import Batch
from nervure.errors import InvalidArgument, WrongKind
from nervure.front.argument_parsing import members, shown
from nervure.front.creation import AssignableTensorOp, placeholder
from nervure.front.effects import Effect
from nervure.front.gradients import checked_update
from nervure.front.tensor import Tensor
from nervure.ir.function import Function
from nervure.ir.identity import Identity
from nervure.ir.provenance import fresh_scope
from nervure.lazy import once
from nervure.nn.module import Module
from nervure.transformers.base import Transformer
from nervure.types.axes import AxesLike
from nervure.types.dim import Dim, dim
from nervure.types.dtype import as_dtype, float32, float64

Measure = Callable[..., Tensor]
"""A loss or metric: a function of what a model gives and of targets."""

NOT_FINITE = "the loss is not finite"


class Goal(NamedTuple):
    """What is trained, by what, to make which loss small; metrics are shown beside it."""

    module: Module
    optimizer: Callable[[Tensor], Effect]
    loss: Measure
    metrics: Mapping[str, Measure]


class Programs(Identity):
    """A goal as computations over placeholders. Without ``targets`` there is but a prediction."""

    def __init__(self, goal: Goal, inputs: Sequence[AssignableTensorOp], targets: AssignableTensorOp | None,
                 transformer: Transformer) -> None:
        self.goal, self.inputs, self.targets, self.transformer = goal, tuple(inputs), targets, transformer

    @property
    def places(self) -> tuple[AssignableTensorOp, ...]:
        """What a step takes: inputs and targets, which may be the input itself."""
        return tuple(dict.fromkeys([*self.inputs, *([] if self.targets is None else [self.targets])]))

    @once
    def step(self) -> Computation[tuple[np.ndarray, ...]]:
        """Loss and metrics, and the update of all that is learnt; where the loss is not finite, nothing is changed."""
        with _switched(self.goal.module, True):
            loss, *metrics = self._measures()
            function = build_function([loss, *metrics, self._update(loss)], self.places, name="step")
        guard = ops.Guard(ops.IsFinite(function.results[0]).output, message=NOT_FINITE, kind="numeric")
        guarded = Function(function.results, function.parameters, function.updates, [*function.effects, guard],
                           function.assumptions, function.name)
        shape = Results("tuple", (), (True,) * len(function.results))
        return Computation[tuple[np.ndarray, ...]](self.transformer, guarded, self.places, shape).compiled()

    @once
    def evaluation(self) -> Computation[tuple[np.ndarray, ...]]:
        """Loss and metrics; nothing is learnt."""
        with _switched(self.goal.module, False):
            return self.transformer.computation(tuple(self._measures()), *self.places)

    @once
    def prediction(self) -> Computation[np.ndarray]:
        """What the module gives."""
        with _switched(self.goal.module, False):
            outputs = self.goal.module(*self.inputs)
        if not isinstance(outputs, Tensor):
            raise WrongKind("a prediction is one tensor", op="predict", operand="module", got=shown(outputs),
                            expected="a module that gives one tensor", help="nv.computation gives several")
        return self.transformer.computation(outputs, *self.inputs)

    def _measures(self) -> list[Tensor]:
        outputs = self.goal.module(*self.inputs)
        named = {"loss": self.goal.loss, **self.goal.metrics}
        return [_scalar(measure(outputs, self.targets), name) for name, measure in named.items()]

    def _update(self, loss: Tensor) -> Effect:
        return checked_update(self.goal.optimizer(loss), "Trainer")


def places_for(batch: Batch, axes: Iterable[AxesLike | Tensor] | None) -> list[AssignableTensorOp]:
    """A placeholder for each array of a batch: over the axes that are given for it, else of its shape with any number
    of examples. Numbers in float64 are read as float32, as everywhere; a placeholder among the axes stands for itself.
    """
    if axes is None:
        count = dim("n", min=1)
        return [_place(array, (count, *array.shape[1:]), number) for number, array in enumerate(batch)]
    listed = cast("list[AxesLike | Tensor]", members(axes, "Trainer", "axes", "axes for each array of a batch"))
    if len(listed) != len(batch):
        raise InvalidArgument("each array of a batch has axes", op="Trainer", operand="axes",
                              got=f"{len(batch)} arrays, axes for {len(listed)}", expected="as many",
                              help='as in axes=("N=n, H=8, W=8", "N=n")')
    return [_place(array, own, number) for number, (array, own) in enumerate(zip(batch, listed, strict=True))]


def _place(array: np.ndarray, axes: AxesLike | Tensor, number: int) -> AssignableTensorOp:
    if isinstance(axes, AssignableTensorOp) and axes.is_input:
        return axes
    dtype = as_dtype(array.dtype)
    made = placeholder(axes, float32 if dtype is float64 else dtype).named(f"batch_{number}")
    if not made.ndim or not isinstance(made.shape[0], Dim):
        raise InvalidArgument("the first axis is that of the examples, of any number", op="Trainer", operand="axes",
                              got=made._described(), expected="a symbol as first length",
                              help='as in "N=n, F=784", where n is any number')
    return made


def _scalar(value: object, name: str) -> Tensor:
    if not isinstance(value, Tensor) or value.ndim != 0 or not value.dtype.is_float:
        got = str(value.type) if isinstance(value, Tensor) else shown(value)
        raise WrongKind(f"{name} is one number of a batch", op="Trainer", operand=name, got=got,
                        expected="a tensor without axes, of a float type", help="nv.mean(x, out_axes=()) makes one")
    return value


@contextmanager
def _switched(module: Module, training: bool) -> Iterator[None]:
    """The module in training or evaluation; the streams of its random numbers are those of a program of its own."""
    before = {entry: entry.training for entry in module.modules()}
    module.train(training)
    try:
        with fresh_scope():
            yield
    finally:
        for entry, mode in before.items():
            entry.training = mode
