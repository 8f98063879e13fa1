"""Layers of dense products and tables, and dropout.

>>> import nervure as nv
>>> dense = nv.nn.LinearLayer("C=8, H=4, W=4", "Y=10")
>>> print(dense(nv.placeholder("N=n, C=8, H=4, W=4")).axes)
(N: n, Y: 10)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nervure.errors import AxisMismatch, InvalidArgument, WrongKind
from nervure.front.argument_parsing import fraction, integer
from nervure.front.arranging.gathering import lookuptable
from nervure.front.creation import AssignableTensorOp, as_tensor, expression
from nervure.front.matrices.contraction import dot, matmul
from nervure.front.random import dropout
from nervure.front.tensor import Tensor, TensorLike
from nervure.nn.initialisers import Initialiser, normal
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
    one_axis,
    optional,
    parameter,
)
from nervure.support.elsewhere import explains_keywords
from nervure.types.axes import Axes, AxesLike
from nervure.types.axis import Axis, make_axis
from nervure.types.dtype import DTypeLike


class LinearLayer(Module):
    """``x`` times weights, plus a bias: the input axes, anywhere in x, become the output axes, at the end.

    Named axes, one or several: ``LinearLayer("F=784", "K=10")`` has weights over (F, K) and a bias over K. Plain
    lengths: ``LinearLayer(784, 10)`` takes the last axis of x, and has weights of shape (784, 10). An axis that is
    input and output is one level higher among those of the weights. ``weights`` and ``bias`` are initial values
    (absent: numbers drawn evenly from +-1 / sqrt(inputs)), or variables to be shared; ``bias=False`` leaves it out.

    >>> layer = nv.nn.LinearLayer("F=2", "K=2", weights=[[1, 2], [3, 4]], bias=0.5)
    >>> layer(nv.constant([[1, 0], [0, 1]], "N=2, F=2")).tolist()
    [[1.5, 2.5], [3.5, 4.5]]
    """

    weights: AssignableTensorOp
    bias: AssignableTensorOp | None

    @explains_keywords
    def __init__(self, inputs: AxesLike, outputs: AxesLike, bias: Initial = True, weights: Initial = None,
                 dtype: DTypeLike | None = None) -> None:
        into, out = layer_axes(inputs, "LinearLayer", "inputs"), layer_axes(outputs, "LinearLayer", "outputs")
        check_both_named("LinearLayer", inputs=into, outputs=out)
        if into.is_anonymous and (len(into) > 1 or len(out) > 1):
            raise InvalidArgument("without names there is one axis on each side", op="LinearLayer",
                                  got=f"{into} to {out}", expected="two lengths",
                                  help='give names, "C=8, H=4, W=4", or flatten x: nv.flatten_at(x, 1)')
        self._inputs, start, raised = into, evenly(count(into)), _raised(into, out)
        last = range(len(into), len(into) + len(out))
        self.weights = parameter([*raised, *out], start if weights is None else weights, last, dtype=dtype)
        self.bias = optional(out, bias, start, dtype)

    def forward(self, x: TensorLike) -> Tensor:
        """Maps (..., inputs) to (..., outputs)."""
        own = as_tensor(x, "LinearLayer")
        check_input("LinearLayer", own, self.weights)
        if not self.weights.is_named:
            check_length("LinearLayer", own, -1, count(self._inputs), f"(..., {count(self._inputs)})")
        result = dot(own, self.weights) if self.weights.is_named else matmul(own, self.weights)
        if result.ndim != own.ndim + self.weights.ndim - 2 * len(self._inputs):
            raise AxisMismatch("the input lacks axes of the layer", op="LinearLayer", operand="x", got=str(own.axes),
                               expected=str(self._inputs), help="nv.map_roles(x, {old: new}) renames axes")
        return biased(result, self.bias)


Linear = LinearLayer


def _raised(into: Axes, out: Axes) -> Axes:
    """Returns the input axes as the weights have them: a level higher for a class that is among the outputs, too."""
    classes = {axis.axis_class for axis in out}
    if into.is_anonymous or not any([axis.axis_class in classes for axis in into]):
        return into
    return Axes([axis.offset(1) for axis in into])


class Embedding(Module):
    """Looks up rows of a table by integers: the result has the axes of the integers, then the columns.

    ``Embedding("V=1000", "F=64")`` or ``Embedding(1000, "F=64")`` is for integers with named axes, ``Embedding(1000,
    64)`` for others. The table starts from the normal distribution. The row ``pad_idx`` has gradient zero; it is zeros
    unless ``weights`` are given.

    >>> words = nv.nn.Embedding("V=3", "F=2", weights=[[1, 2], [3, 4], [5, 6]])
    >>> words(nv.constant(np.array([2, 0]), "N=2")).tolist()
    [[5.0, 6.0], [1.0, 2.0]]
    """

    weights: AssignableTensorOp

    @explains_keywords
    def __init__(self, rows: AxesLike, columns: AxesLike, pad_idx: int | None = None, weights: Initial = None,
                 dtype: DTypeLike | None = None) -> None:
        table, features = one_axis(rows, "Embedding", "rows"), one_axis(columns, "Embedding", "columns")
        if table.is_anonymous and not features.is_anonymous:
            table = make_axis(table.length)
        check_both_named("Embedding", rows=Axes([table]), columns=Axes([features]))
        self.pad_idx = None if pad_idx is None else _row(pad_idx, table)
        start = _with_empty_row(normal(), self.pad_idx) if weights is None else weights
        self.weights = parameter([table, features], start, dtype=dtype)

    def forward(self, index: TensorLike) -> Tensor:
        """Maps (...) integers to (..., columns)."""
        own = as_tensor(index, "Embedding")
        if not own.dtype.is_integer:
            raise WrongKind("an index is of integers", op="Embedding", operand="index", got=str(own.type),
                            expected="integers", help="convert it: index.astype(nv.int64)")
        return lookuptable(self.weights, own, pad_idx=self.pad_idx)


def _row(pad_idx: object, rows: Axis) -> int:
    """Returns the number of a row, counted from the first; InvalidArgument if the table has no such row."""
    row, length = integer(pad_idx, "Embedding", "pad_idx"), count([rows])
    if not -length <= row < length:
        raise InvalidArgument("pad_idx is no row of the table", op="Embedding", operand="pad_idx", got=row,
                              expected=f"{-length} to {length - 1}", help="pad_idx=None for a table without such a row")
    return row % length


def _with_empty_row(start: Initialiser, row: int | None) -> Callable[[Axes], np.ndarray]:
    """Returns an initialiser like ``start``, with zeros in one row."""
    draw = start.bound()

    def drawn(axes: Axes) -> np.ndarray:
        array = draw(axes)
        if row is not None:
            array[row] = 0
        return array
    return drawn


class Dropout(Module):
    """In training, sets each element to 0 with probability ``rate``, and divides the others by ``1 - rate``; in
    evaluation, returns x.

    >>> layer, x = nv.nn.Dropout(0.5), nv.ones((100,))
    >>> sorted(set(layer(x).tolist())), layer.eval()(x) is x
    ([0.0, 2.0], True)
    """

    rate: float = 0.5

    def __post_init__(self) -> None:
        fraction(self.rate, "Dropout", "rate", "0.5 drops every other element")

    def forward(self, x: TensorLike) -> Tensor:
        """Returns x, or in training x with elements dropped."""
        return dropout(x, self.rate) if self.training else expression(as_tensor(x, "Dropout"))
