"""Weights of examples, and how they reach a loss or a metric, a function of outputs and targets.

A function with a parameter ``reduction``, as the losses of ``nn.losses`` have, is asked for the losses of all
examples, whose weighted mean is taken; a function with a parameter ``weights`` is called with them.

>>> import nervure as nv
>>> outputs, targets = nv.constant([[1.0], [2.0]]), nv.constant([[0.0], [0.0]])
>>> measured(nv.nn.losses.mean_squared_error, outputs, targets, nv.constant([1.0, 3.0])).item()
3.25
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

from nervure.errors import AxisMismatch, WrongKind
from nervure.front.arranging.filled import ones_like
from nervure.front.arranging.views import reshape
from nervure.front.creation import as_tensor
from nervure.front.op_functions import divide, equal, multiply
from nervure.front.pointwise.elementwise import convert, where
from nervure.front.statistics.reductions import mean
from nervure.front.statistics.reductions import sum as sum_over
from nervure.front.tensor import Tensor, TensorLike
from nervure.types.dtype import DType, float32


def takes(function: object, name: str) -> bool:
    """Whether a function has a parameter of this name."""
    try:
        return callable(function) and name in inspect.signature(function).parameters
    except (TypeError, ValueError):  # a function of C may have no signature
        return False


def takes_weights(function: object) -> bool:
    """Whether weights of examples can be passed to a measure."""
    return takes(function, "reduction") or takes(function, "weights")


def measured(function: Callable[..., object], outputs: object, targets: object, weights: Tensor) -> object:
    """Returns a loss or metric of ``outputs`` and ``targets`` for examples that count by their ``weights``."""
    if not takes(function, "reduction"):
        return function(outputs, targets, weights=weights)
    losses = function(outputs, targets, reduction="none")
    if not isinstance(losses, Tensor):
        raise WrongKind("a loss with reduction=\"none\" gives the losses of all examples", op="Trainer", operand="loss",
                        got=f"{type(losses).__name__}", expected="a tensor", help="take weights= instead of reduction=")
    return weighted_mean(losses, weights)


def weighted_mean(values: Tensor, weights: TensorLike) -> Tensor:
    """Returns the sum of values times weights over the sum of the weights; 0 if all weights are 0. Weights may lack
    axes of the values, but not the first.

    >>> weighted_mean(as_tensor([[1.0, 3.0], [5.0, 5.0]]), [1.0, 0.0]).item()
    2.0
    """
    each = as_tensor(weights, "Trainer")
    own = _working(values.dtype)
    shares, numbers = convert(each, own), convert(values, own)
    total = sum_over(shares, out_axes=())
    parts = multiply(_on_axes_of(numbers, shares), shares)
    nothing = equal(total, 0)
    return divide(sum_over(where(equal(shares, 0), 0.0, parts), out_axes=()), where(nothing, 1.0, total))


def _working(dtype: DType) -> DType:
    return dtype if dtype.is_float and dtype.itemsize >= 4 else float32


def _on_axes_of(values: Tensor, weights: Tensor) -> Tensor:
    """Returns the means of values over the axes that weights lack."""
    if values.is_named and weights.is_named:
        lacking = [at for at, axis in enumerate(values.axes) if axis.name not in weights.axes.names]
    else:
        lacking = list(range(weights.ndim, values.ndim))
    if values.ndim - len(lacking) != weights.ndim:
        raise AxisMismatch("weights have axes that the losses lack", op="Trainer", operand="weights",
                           got=str(weights.axes), expected=str(values.axes), help="a weight for each example: (n,)")
    return mean(values, lacking) if lacking else values


def spread(weights: TensorLike, values: Tensor) -> Tensor:
    """Broadcasts the weights of examples to all axes of values.

    >>> spread([1.0, 2.0], as_tensor([[0.0, 0.0], [0.0, 0.0]])).tolist()
    [[1.0, 1.0], [2.0, 2.0]]
    """
    each = as_tensor(weights, "Trainer")
    shares = convert(each, _working(each.dtype))
    if not values.is_named or not shares.is_named:
        shares = reshape(shares, [*shares.shape, *[1] * (values.ndim - shares.ndim)])
        values = values if values.is_named is shares.is_named else reshape(values, list(values.shape))
    return multiply(shares, ones_like(values, float32))


def check_takes_weights(loss: object) -> None:
    """Raises WrongKind for a loss that weights cannot be passed to."""
    if not takes_weights(loss):
        name = getattr(loss, "__name__", "the loss")
        raise WrongKind(f"{name} takes no weights of examples", op="Trainer", operand="loss",
                        got="a function of outputs and targets", expected="one that has reduction=, or weights=",
                        help="def loss(outputs, targets, weights): ... gets them")
