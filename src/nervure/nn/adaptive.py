"""A softmax over many classes, of which a few are frequent: those first, the others in clusters.

>>> import nervure as nv
>>> layer = nv.nn.AdaptiveLogSoftmax(16, 1000, cutoffs=[20, 200])
>>> x, labels = nv.zeros((3, 16)), nv.constant(np.array([5, 150, 900]))
>>> layer(x, labels).shape, layer.log_probabilities(x).shape
((3,), (3, 1000))
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.front.argument_parsing import integer, members
from nervure.front.arranging.filled import zeros
from nervure.front.arranging.found import flatnonzero
from nervure.front.arranging.gathering import gather, gather_elements, scatter
from nervure.front.arranging.joining import concatenate
from nervure.front.arranging.views import reshape
from nervure.front.creation import as_tensor
from nervure.front.networks.normalization import log_softmax
from nervure.front.op_functions import add, greater_equal, less, logical_and, subtract
from nervure.front.pointwise.elementwise import as_floats, where
from nervure.front.statistics.reductions import argmax
from nervure.front.tensor import Tensor, TensorLike
from nervure.nn.composites import Sequential
from nervure.nn.layers import LinearLayer
from nervure.nn.loss_parts import numbered
from nervure.nn.module import Module
from nervure.support.elsewhere import explains_keywords
from nervure.types.axes import Axes
from nervure.types.axis import axis as named_axis
from nervure.types.dim import equal, product
from nervure.types.dtype import DTypeLike


class AdaptiveLogSoftmax(Module):
    """Logarithms of the probabilities of ``classes``, in order of their frequency (Grave et al. 2017).

    The classes up to the first of the ``cutoffs`` are in the ``head``, beside a number for each cluster of the others,
    from one cutoff to the next. Cluster i has ``inputs // shrinkage ** (i + 1)`` features. A call computes only the
    clusters that its targets need, each for the samples that it has. The numbers are those of PyTorch's
    ``AdaptiveLogSoftmaxWithLoss``, whose loss is the mean of what a call gives, times -1.

    >>> layer = nv.nn.AdaptiveLogSoftmax(8, 10, [4])
    >>> layer.predict(nv.zeros((5, 8))).shape, [path for path, _ in layer.named_parameters()]
    ((5,), ['head.weights', 'tail.0.0.weights', 'tail.0.1.weights'])
    """

    head: LinearLayer
    tail: list[Module]

    @explains_keywords
    def __init__(self, inputs: int, classes: int, cutoffs: Sequence[int], shrinkage: float = 4.0,
                 head_bias: bool = False, dtype: DTypeLike | None = None) -> None:
        width, count = [integer(number, "AdaptiveLogSoftmax", operand, least=1)
                        for operand, number in (("inputs", inputs), ("classes", classes))]
        ends = [integer(entry, "AdaptiveLogSoftmax", "cutoffs")
                for entry in members(cutoffs, "AdaptiveLogSoftmax", "cutoffs")]
        if not ends or ends[0] < 1 or ends[-1] >= count or any([a >= b for a, b in zip(ends, ends[1:], strict=False)]):
            raise InvalidArgument("cutoffs ascend, between the classes", op="AdaptiveLogSoftmax", operand="cutoffs",
                                  got=ends, expected=f"numbers from 1 to {count - 1} in ascending order",
                                  help="[2000, 10000] has the 2,000 most frequent classes in the head")
        self.cutoffs = [*ends, count]
        self.head = LinearLayer(width, ends[0] + len(ends), bias=head_bias, dtype=dtype)
        self.tail = []
        for k, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:], strict=False)):
            inner = max(int(width // shrinkage ** (k + 1)), 1)
            self.tail.append(Sequential(LinearLayer(width, inner, bias=False, dtype=dtype),
                                        LinearLayer(inner, high - low, bias=False, dtype=dtype)))

    def forward(self, x: TensorLike, targets: TensorLike) -> Tensor:
        """Returns the logarithm of the probability of each of the ``targets``, class numbers over all axes of x but the
        last, which has the features.
        """
        own, rows = self._rows(x)
        numbers, _ = numbered(own, targets, "AdaptiveLogSoftmax", 2)
        first = self.cutoffs[0]
        shares = log_softmax(self.head(rows), axis=-1)
        is_class = logical_and(greater_equal(numbers, 0), less(numbers, self.cutoffs[-1]))
        place = where(is_class, numbers, shares.type.shape[1])     # what is no class is out of range
        rest = zeros(numbers.type.shape, shares.dtype)
        for k, (low, high) in enumerate(self._clusters()):
            is_own = logical_and(greater_equal(numbers, low), less(numbers, high))
            place, chosen = where(is_own, first + k, place), flatnonzero(is_own)
            inside = log_softmax(self._of_cluster(k, gather(rows, chosen, 0)), axis=-1)
            at = subtract(gather(numbers, chosen, 0), low)
            rest = scatter(rest, chosen, _picked(inside, at), 0, mode="add")
        return self._outside(own, add(_picked(shares, place), rest))

    def log_probabilities(self, x: TensorLike) -> Tensor:
        """Returns the logarithms of the probabilities of all classes: x (..., features) becomes (..., classes).

        >>> layer = nv.nn.AdaptiveLogSoftmax(8, 10, [4])
        >>> bool(np.allclose(np.exp(layer.log_probabilities(nv.ones((1, 8))).numpy()).sum(), 1))
        True
        """
        own, rows = self._rows(x)
        shares, first = log_softmax(self.head(rows), axis=-1), self.cutoffs[0]
        parts = [shares[:, :first], *[
            add(log_softmax(self._of_cluster(k, rows), axis=-1), shares[:, first + k:first + k + 1])
            for k, _ in enumerate(self._clusters())]]
        whole = concatenate(parts, 1)
        if own.is_named:
            return Tensor(reshape(whole, (*own.type.shape[:-1], self.cutoffs[-1])).value,
                          Axes([*own.axes[:-1], named_axis("classes", self.cutoffs[-1])]))
        return reshape(whole, (*own.type.shape[:-1], self.cutoffs[-1]))

    def predict(self, x: TensorLike) -> Tensor:
        """Returns the number of the most probable class of each vector of x."""
        return argmax(self.log_probabilities(x), axis=-1)

    def _clusters(self) -> list[tuple[int, int]]:
        """Returns the first class of each cluster, and that behind its last one."""
        return list(zip(self.cutoffs, self.cutoffs[1:], strict=False))

    def _of_cluster(self, k: int, rows: Tensor) -> Tensor:
        return as_tensor(self.tail[k](rows), "AdaptiveLogSoftmax")

    def _rows(self, x: TensorLike) -> tuple[Tensor, Tensor]:
        """Returns x, and its vectors as rows."""
        own, width = as_floats(x, "AdaptiveLogSoftmax"), self.head.weights.type.shape[0]
        if not own.ndim or equal(own.type.shape[-1], width) is False:
            raise ShapeMismatch("the last axis of x has other features", op="AdaptiveLogSoftmax", operand="x",
                                got=str(own.axes), expected=f"{width} as the last length",
                                help="make the layer for the last axis of its input")
        return own, reshape(Tensor(own.value), (product(own.type.shape[:-1]), width))

    def _outside(self, x: Tensor, found: Tensor) -> Tensor:
        """Returns a number for each row over the axes of x but the last."""
        return Tensor(reshape(found, x.type.shape[:-1]).value, Axes(x.axes[:-1]) if x.is_named else None)


def _picked(rows: Tensor, places: Tensor) -> Tensor:
    """Returns one element of each row."""
    return gather_elements(rows, reshape(places, (places.type.shape[0], 1)), 1)[:, 0]
