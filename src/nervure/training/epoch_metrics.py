"""Metrics of whole epochs: areas below curves, confusion matrices, perplexity.

>>> outputs, targets = np.array([[2.0, 0.0], [0.0, 1.0], [3.0, 0.0]]), np.array([0, 1, 1])
>>> trainer = nv.Trainer(lambda x: x, nv.optim.SGD(0.1), nv.nn.losses.cross_entropy, [Confusion(), AUC()])
>>> found = trainer.evaluate((outputs, targets), size=2)
>>> found["confusion"], found["auc"]
([[1.0, 0.0], [1.0, 1.0]], 0.5)
"""

from __future__ import annotations

import math

import numpy as np

from nervure import ops
from nervure.errors import AxisMismatch, InvalidArgument
from nervure.front.arranging.filled import ones_like
from nervure.front.arranging.gathering import as_index, one_hot
from nervure.front.arranging.views import reshape, transposed
from nervure.front.creation import as_tensor
from nervure.front.matrices.contraction import matmul
from nervure.front.op_functions import equal, multiply, not_equal
from nervure.front.pointwise.elementwise import convert, where
from nervure.front.statistics.reductions import sum as sum_over
from nervure.front.tensor import Tensor
from nervure.nn.losses import cross_entropy
from nervure.training.metrics import Metric, class_axis, predicted
from nervure.training.weighting import spread
from nervure.types.axes import AxisLike
from nervure.types.dim import Dim
from nervure.types.dtype import float32


class AUC(Metric):
    """The area below the receiver operating characteristic; NaN if all examples are of one class.

    It is the share of pairs in which the example of class 1 has a larger output than that of class 0; ties count half.
    Outputs have the axes of the targets, 0 or 1, or one more axis of length 1, or of length 2: logits of both classes.

    >>> nv.training.AUC().result(np.array([[0.1], [0.4], [0.3]]), np.array([0, 1, 1]), None)
    1.0
    """

    gathers = True

    @property
    def name(self) -> str:
        """The name, in lower case like the others."""
        return "auc"

    def update(self, outputs: object, targets: object, weights: Tensor | None = None) -> object:
        """Returns the outputs and the targets themselves."""
        own, goal = as_tensor(outputs, "AUC"), as_tensor(targets, "AUC", 2)
        classes = own.shape[-1] if own.ndim == goal.ndim + 1 else 1
        if own.ndim - goal.ndim not in (0, 1) or isinstance(classes, Dim) or classes not in (1, 2):
            raise AxisMismatch("an area below a curve is of two classes", op="AUC", got=f"{own.axes} for {goal.axes}",
                               expected="a number for each example, or two", help="write a metric of your own")
        return own, goal, weights

    def result(self, *values: object) -> object:
        """Returns the area."""
        scores, targets, weights = [None if value is None else np.asarray(value) for value in values]
        assert scores is not None and targets is not None
        if scores.ndim > targets.ndim:
            scores = scores[..., -1] - scores[..., 0] if scores.shape[-1] == 2 else scores[..., 0]
        wrong = set(np.unique(targets).tolist()) - {0, 1}
        if wrong:
            raise InvalidArgument("targets are of class 0 or 1", op="AUC", operand="targets", got=f"{sorted(wrong)[0]}",
                                  expected="0 or 1", help="nv.training.Gathered takes a function of all outputs")
        if weights is None:
            return area(scores.ravel(), targets.ravel() == 1, np.ones(targets.size))
        aligned = weights.reshape(weights.shape + (1,) * (targets.ndim - weights.ndim))
        return area(scores.ravel(), targets.ravel() == 1, np.broadcast_to(aligned, targets.shape).ravel())


def area(scores: np.ndarray, is_positive: np.ndarray, weights: np.ndarray) -> float:
    """Computes the area below the curve of ``scores``: the weight of correctly ordered pairs, ties by half, over that
    of all pairs.

    >>> area(np.array([1.0, 1.0, 2.0]), np.array([False, True, True]), np.ones(3))
    0.75
    """
    order = np.argsort(scores, kind="stable")
    ends = np.flatnonzero(np.append(scores[order][1:] != scores[order][:-1], True))
    positive, negative = [np.cumsum(np.where(chosen, weights, 0.0)[order].astype(np.float64))[ends]
                          for chosen in (is_positive, ~is_positive)]
    if not positive[-1] > 0 or not negative[-1] > 0:
        return math.nan
    below = np.concatenate([[0.0], negative[:-1]])
    pairs = np.diff(positive, prepend=0.0) * (below + negative) / 2
    return float(pairs.sum() / (positive[-1] * negative[-1]))


class Confusion(Metric):
    """A matrix of counts: ``matrix[i][j]`` examples of class i have their largest output at class j.

    The classes are the axis of the outputs that the targets, class numbers, lack; without names the last one. Examples
    of the class ``ignore_index`` count nothing; any other number that is no class is an IndexError of the run.

    >>> trainer = nv.Trainer(lambda x: x, nv.optim.SGD(0.1), nv.nn.losses.cross_entropy, [nv.training.Confusion()])
    >>> trainer.evaluate((np.eye(3), np.array([0, 1, 1])))["confusion"]
    [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.0]]
    """

    def __init__(self, ignore_index: int | None = None) -> None:
        self.ignore_index = ignore_index

    def update(self, outputs: object, targets: object, weights: Tensor | None = None) -> object:
        """Returns the matrix of a batch of ``outputs`` and ``targets``."""
        own, goal = as_tensor(outputs, "Confusion"), as_tensor(targets, "Confusion", 2)
        classes = own.shape[class_axis(own, goal, "Confusion")]
        counts = None if weights is None else spread(weights, goal)
        if self.ignore_index is not None:
            is_kept = not_equal(goal, self.ignore_index)
            kept = convert(is_kept, float32)
            counts, goal = kept if counts is None else multiply(counts, kept), where(is_kept, goal, 0)
        found, numbers = [as_index(reshape(entry, [-1]), "Confusion")
                          for entry in (predicted(own, goal, "Confusion"), goal)]
        right = Tensor(ops.OneHot(numbers.value, classes, float32, from_end=False))  # -1 is not the last class
        if counts is not None:
            right = multiply(right, reshape(counts, [-1]))
        return matmul(right, transposed(one_hot(found, classes)))

    def __repr__(self) -> str:
        return f"Confusion(ignore_index={self.ignore_index!r})"


class Perplexity(Metric):
    """The exponential of the mean cross entropy over the class numbers of an epoch, except ``ignore_index``.

    >>> words = nv.training.Perplexity()
    >>> trainer = nv.Trainer(lambda x: x, nv.optim.SGD(0.1), nv.nn.losses.cross_entropy, [words])
    >>> round(trainer.evaluate((np.zeros((5, 4)), np.zeros(5, int)), size=2)["perplexity"], 5)
    4.0
    """

    def __init__(self, axis: AxisLike | None = None, ignore_index: int | None = None) -> None:
        self.axis, self.ignore_index = axis, ignore_index

    def update(self, outputs: object, targets: object, weights: Tensor | None = None) -> object:
        """Returns the sum of the cross entropies of ``outputs``, and their number, both weighted by ``weights``."""
        own, goal = as_tensor(outputs, "Perplexity"), as_tensor(targets, "Perplexity", 2)
        each = cross_entropy(own, goal, self.axis, ignore_index=self.ignore_index, reduction="none")
        losses = convert(each, float32)
        counts = ones_like(losses)
        if self.ignore_index is not None:
            counts = convert(not_equal(goal, self.ignore_index), float32)
        if weights is not None:
            counts = multiply(counts, spread(weights, losses))
        counted = where(equal(counts, 0.0), 0.0, multiply(losses, counts))  # a loss without weight may be infinite
        return sum_over(counted, out_axes=()), sum_over(counts, out_axes=())

    def result(self, *values: object) -> object:
        """Returns the exponential of their mean."""
        total, count = [float(np.asarray(value)) for value in values]
        with np.errstate(over="ignore"):
            return float(np.exp(total / count)) if count > 0 else math.nan

    def __repr__(self) -> str:
        return f"Perplexity(axis={self.axis!r}, ignore_index={self.ignore_index!r})"
