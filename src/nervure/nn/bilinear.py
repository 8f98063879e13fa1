"""Layers of two inputs, and of bags: bilinear forms, distances, sums of rows of a table.

>>> import nervure as nv
>>> nv.nn.PairwiseDistance(epsilon=0.0)([[0.0, 3.0]], [[4.0, 0.0]]).tolist()
[5.0]
"""

from __future__ import annotations

from nervure.errors import InvalidArgument
from nervure.front.argument_parsing import one_of, position_of
from nervure.front.arranging.views import expand_dims, permuted, reshape
from nervure.front.creation import AssignableTensorOp, as_tensor
from nervure.front.matrices.contraction import dot, matmul
from nervure.front.op_functions import divide, equal, maximum, mod, multiply, not_equal
from nervure.front.pointwise.elementwise import convert, where
from nervure.front.statistics.reductions import max as largest
from nervure.front.statistics.reductions import sum as total
from nervure.front.tensor import Operand, Tensor, TensorLike
from nervure.nn import losses
from nervure.nn.layers import Embedding
from nervure.nn.module import Module
from nervure.nn.parameters import (
    Initial,
    biased,
    check_both_named,
    check_input,
    check_length,
    count,
    evenly,
    layer_axes,
    names_of,
    optional,
    parameter,
)
from nervure.support.elsewhere import explains_keywords
from nervure.types.axes import AxesLike, AxisLike
from nervure.types.dim import dim_max
from nervure.types.dtype import DTypeLike, int64


class Bilinear(Module):
    """A product of two inputs and weights, plus a bias: ``sum over i, j of x[i] * weights[i, j, k] * y[j]``.

    Named axes: ``Bilinear("F=3", "G=4", "K=2")`` has weights over (F, G, K). Plain lengths take the last axes of both
    inputs, with weights of shape (outputs, first, second), as PyTorch has them.

    >>> layer = nv.nn.Bilinear(2, 1, 1, weights=1.0, bias=False)
    >>> layer([[1.0, 2.0]], [[3.0]]).tolist()
    [[9.0]]
    """

    weights: AssignableTensorOp
    bias: AssignableTensorOp | None

    @explains_keywords
    def __init__(self, first: AxesLike, second: AxesLike, outputs: AxesLike, bias: Initial = True,
                 weights: Initial = None, dtype: DTypeLike | None = None) -> None:
        one, other, out = [layer_axes(axes, "Bilinear", name)
                           for axes, name in ((first, "first"), (second, "second"), (outputs, "outputs"))]
        check_both_named("Bilinear", first=one, second=other, outputs=out)
        start = evenly(count(one))
        axes = [*out, *one, *other] if out.is_anonymous else [*one, *other, *out]
        outer = range(len(out)) if out.is_anonymous else range(len(axes) - len(out), len(axes))
        self.weights = parameter(axes, start if weights is None else weights, [*outer], dtype=dtype)
        self.bias = optional(out, bias, start, dtype)
        self._second = names_of(list(other)) if not out.is_anonymous else []

    def forward(self, x: TensorLike, y: TensorLike) -> Tensor:
        """Maps (..., first) and (..., second) to (..., outputs)."""
        own, other = as_tensor(x, "Bilinear"), as_tensor(y, "Bilinear", 2)
        check_input("Bilinear", own, self.weights)
        check_input("Bilinear", other, self.weights)
        if self.weights.is_named:
            places = dot(own, self.weights)
            result = total(multiply(places, other), reduction_axes=self._second)
        else:
            outputs, first, second = [count([axis]) for axis in self.weights.axes]
            check_length("Bilinear", own, -1, first, f"(..., {first})")
            check_length("Bilinear", other, -1, second, f"(..., {second})")
            flat = reshape(permuted(self.weights, [1, 0, 2]), (first, outputs * second))
            made = matmul(own, flat)
            places = reshape(made, (*made.type.shape[:-1], outputs, second))
            result = total(multiply(places, expand_dims(other, -2)), axis=-1)
        return biased(result, self.bias)


class EmbeddingBag(Embedding):
    """Rows of a table, reduced over an axis of the integers: their sum, mean or largest elements.

    Rows and columns are those of ``Embedding``, ``axis`` is that of each bag, ``mode`` "sum", "mean" or "max". The row
    ``pad_idx`` does not count. A bag of which nothing counts gives 0.

    >>> bags = nv.nn.EmbeddingBag(3, 2, mode="sum", weights=[[1, 2], [3, 4], [5, 6]])
    >>> bags(np.array([[2, 0], [1, 1]])).tolist()
    [[6.0, 8.0], [6.0, 8.0]]
    """

    @explains_keywords
    def __init__(self, rows: AxesLike, columns: AxesLike, mode: str = "mean", axis: AxisLike = -1,
                 pad_idx: int | None = None, weights: Initial = None, dtype: DTypeLike | None = None) -> None:
        super().__init__(rows, columns, pad_idx, weights, dtype)
        self.mode = one_of(mode, ("sum", "mean", "max"), "EmbeddingBag", "mode", "'mean' is usual")
        self.axis = axis

    def forward(self, index: TensorLike, shares: TensorLike | None = None) -> Tensor:
        """Maps (..., a bag) integers to (..., columns); ``shares`` multiply the rows of a sum."""
        own = as_tensor(index, "EmbeddingBag")
        at = position_of(own, self.axis, "EmbeddingBag")
        found = super().forward(own)
        if shares is not None:
            if self.mode != "sum":
                raise InvalidArgument("shares are for sums", op="EmbeddingBag", operand="shares",
                                      got=f"mode={self.mode!r}", expected="mode='sum'", help="leave them out")
            given = as_tensor(shares, "EmbeddingBag", 2)
            found = multiply(found, given if found.is_named else expand_dims(given, given.ndim))
        numbers: Operand = dim_max(own.type.shape[at], 1)
        if self.pad_idx is not None:
            row = mod(convert(own, int64), count([self.weights.axes[0]]))  # -1 is the last row, as for the table
            is_counted = not_equal(row, self.pad_idx)
            spread = is_counted if found.is_named else expand_dims(is_counted, is_counted.ndim)
            found = where(spread, found, float("-inf") if self.mode == "max" else 0.0)
            numbers = maximum(total(convert(spread, found.dtype.compute), axis=at), 1.0)
        if self.mode == "max":
            most = largest(found, axis=at)
            return where(equal(most, float("-inf")), 0.0, most)
        if self.mode == "sum":
            return total(found, axis=at)
        means = divide(total(convert(found, found.dtype.compute), axis=at), numbers)
        return convert(means, found.dtype)


class CosineSimilarity(Module):
    """The cosine of the angle of two vectors along ``axis``, as ``nv.nn.losses.cosine_similarity`` has it.

    >>> nv.nn.CosineSimilarity()([[3.0, 0.0]], [[0.0, 1.0]]).tolist()
    [0.0]
    """

    axis: AxisLike | None = None
    epsilon: float = 1e-8

    def forward(self, x: TensorLike, y: TensorLike) -> Tensor:
        """Returns x without the axis."""
        return losses.cosine_similarity(x, y, self.axis, self.epsilon)


class PairwiseDistance(Module):
    """The p-norm of ``x - y + epsilon`` along ``axis``, as ``nv.nn.losses.pairwise_distance`` has it.

    >>> nv.nn.PairwiseDistance(1.0, epsilon=0.0)([[1.0, 2.0]], [[0.0, 0.0]]).tolist()
    [3.0]
    """

    p: float = 2.0
    epsilon: float = 1e-6
    axis: AxisLike | None = None

    def forward(self, x: TensorLike, y: TensorLike) -> Tensor:
        """Returns x without the axis."""
        return losses.pairwise_distance(x, y, self.p, self.axis, self.epsilon)
