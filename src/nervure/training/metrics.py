"""Metrics: numbers that a training reports beside the loss.

A function of outputs and targets is averaged over the examples of each batch, as the loss is:

>>> import nervure as nv
>>> accuracy(nv.constant([[0.1, 0.9], [0.8, 0.2]], "N=2, Y=2"), nv.constant([1, 1], "N=2")).item()
0.5

A ``Metric`` is computed once for a whole epoch: ``update`` returns tensors for each batch, which are summed (or
concatenated, if it ``gathers``), and ``result`` makes a number, or an array, of them.

>>> class RootMeanSquare(Metric):
...     def update(self, outputs, targets):
...         errors = (outputs - targets) ** 2
...         return nv.sum(errors, out_axes=()), nv.sum(nv.ones_like(errors), out_axes=())
...     def result(self, total, count):
...         return np.sqrt(total / count)
>>> trainer = nv.Trainer(lambda x: x, nv.optim.SGD(0.1), nv.nn.losses.mean_squared_error, [RootMeanSquare()])
>>> trainer.evaluate((np.array([[3.0], [0.0]]), np.array([[0.0], [4.0]])), size=1)
{'loss': 12.5, 'rootmeansquare': 3.5355339059327378}
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from nervure.errors import AxisMismatch, NotSupported, WrongKind, shown
from nervure.front.creation import as_tensor
from nervure.front.op_functions import equal
from nervure.front.pointwise.elementwise import convert
from nervure.front.statistics.reductions import argmax, mean
from nervure.front.tensor import Tensor, TensorLike
from nervure.ir.identity import Uncopyable
from nervure.training.weighting import weighted_mean
from nervure.types.dtype import float32


def _no_update(self: Metric, *parts: object, **named: object) -> object:
    raise NotSupported(f"{self.name} has no update", op=type(self).__name__, operand="update", got="a call",
                       expected="def update(self, outputs, targets): ...",
                       help="it gives tensors of a batch, of which result makes a number")


def _what_was_summed(self: Metric, *values: object) -> object:
    return values[0] if len(values) == 1 else np.array(values)


class Metric(Uncopyable):
    """A metric of a whole epoch, which is no mean over its batches.

    ``update(outputs, targets)`` is built into the step, as a loss is. It returns a tensor, or several in tuples and
    dicts, which are summed over the batches of an epoch in float64 or int64. With ``gathers`` they are concatenated
    along the examples instead. ``result`` receives these as arrays, one argument for each entry of a tuple; by default
    it returns the sum. An ``update`` with a parameter ``weights`` receives the weights of the examples, or None.

    >>> nv.training.AUC().result(np.array([0.1, 0.9, 0.8]), np.array([0, 1, 0]), None)
    1.0
    """

    gathers = False
    update: ClassVar[Callable[..., object]] = _no_update
    result: ClassVar[Callable[..., object]] = _what_was_summed

    @property
    def name(self) -> str:
        """The name in the history, unless the user gives one."""
        return type(self).__name__.lower()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Gathered(Metric):
    """A function of all outputs and targets of an epoch, which are arrays in the form that the model and the data
    have.

    >>> worst = nv.training.Gathered(lambda outputs, targets: np.abs(outputs - targets).max())
    >>> trainer = nv.Trainer(lambda x: x, nv.optim.SGD(0.1), nv.nn.losses.mean_squared_error, {"worst": worst})
    >>> trainer.evaluate((np.array([1.0, 2.0]), np.array([1.0, 5.0])), size=1)["worst"]
    3.0
    """

    gathers = True

    def __init__(self, function: Callable[[object, object], object]) -> None:
        if not callable(function) or isinstance(function, type):
            raise WrongKind("a metric of all outputs is a function", op="Gathered", got=shown(function),
                            expected="a function of two arrays", help="Gathered(lambda outputs, targets: ...)")
        self.function = function

    @property
    def name(self) -> str:
        """The name of the function."""
        return getattr(self.function, "__name__", repr(self.function))

    def update(self, outputs: object, targets: object) -> object:
        """Returns both, as they are."""
        return outputs, targets

    def result(self, *values: object) -> object:
        """Returns the result of the function."""
        outputs, targets = values
        return self.function(outputs, targets)

    def __repr__(self) -> str:
        return f"Gathered({self.name})"


def accuracy(outputs: TensorLike, targets: TensorLike, weights: TensorLike | None = None) -> Tensor:
    """Returns the share of examples whose largest output is that of their class number; ``weights`` say how much each
    counts.

    The classes are the axis of the outputs that the targets lack; without names the last one.

    >>> nv.training.accuracy([[0.1, 0.9], [0.8, 0.2]], [1, 1]).item()
    0.5
    """
    goal = as_tensor(targets, "accuracy", 2)
    is_right = convert(equal(predicted(outputs, goal, "accuracy"), goal), float32)
    return mean(is_right, out_axes=()) if weights is None else weighted_mean(is_right, weights)


def predicted(outputs: TensorLike, targets: Tensor, op: str) -> Tensor:
    """Returns the class of the largest of the ``outputs`` of each example."""
    own = as_tensor(outputs, op)
    return argmax(own, class_axis(own, targets, op))


def class_axis(own: Tensor, targets: Tensor, op: str) -> int:
    """Returns the axis of the outputs, ``own``, that the class numbers in ``targets`` lack; the last one unless both
    have names.
    """
    has_names = own.is_named and targets.is_named
    lacking = [at for at, axis in enumerate(own.axes) if axis.name not in targets.axes.names] if has_names else [-1]
    if own.ndim != targets.ndim + 1 or len(lacking) != 1:
        raise AxisMismatch("outputs have one axis more than class numbers", op=op, got=str(own.axes),
                           expected=f"{targets.axes} and an axis of classes", help="write a metric of your own")
    return lacking[0]
