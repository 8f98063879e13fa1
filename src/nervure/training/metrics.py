"""Metrics: what is shown beside the loss, as functions of what a model gives and of its targets.

>>> import nervure as nv
>>> accuracy(nv.constant([[0.1, 0.9], [0.8, 0.2]], "N=2, Y=2"), nv.constant([1, 1], "N=2")).item()
0.5
"""

from __future__ import annotations

from nervure.errors import AxisMismatch
from nervure.front.creation import as_tensor
from nervure.front.elementwise import convert
from nervure.front.op_functions import equal
from nervure.front.reductions import argmax, mean
from nervure.front.tensor import Tensor, TensorLike
from nervure.types.dtype import float32


def accuracy(outputs: TensorLike, targets: TensorLike) -> Tensor:
    """The part of examples whose largest output is that of their class number.

    The classes are the axis of the outputs that the targets lack; without names the last one.

    >>> nv.training.accuracy([[0.1, 0.9], [0.8, 0.2]], [1, 1]).item()
    0.5
    """
    own, goal = as_tensor(outputs, "accuracy"), as_tensor(targets, "accuracy", 2)
    if own.ndim != goal.ndim + 1:
        raise AxisMismatch("outputs have one axis more than class numbers", op="accuracy", got=str(own.axes),
                           expected=f"{goal.axes} and an axis of classes", help="write a metric of your own")
    lacking = [at for at, axis in enumerate(own.axes) if axis.name not in goal.axes.names] if own.is_named else [-1]
    return mean(convert(equal(argmax(own, lacking[0]), goal), float32), out_axes=())


__all__ = ["accuracy"]
