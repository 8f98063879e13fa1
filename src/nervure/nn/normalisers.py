"""Normalisation layers: by the statistics of a batch, of a sample, or of groups of its channels.

>>> import nervure as nv
>>> layer = nv.nn.BatchNorm("C=2", momentum=0.5)
>>> x = nv.constant([[1, 5], [3, 5]], "N=2, C=2")
>>> nv.computation(layer(x))().round(3).tolist()
[[-1.0, 0.0], [1.0, 0.0]]
>>> layer.running_mean.tolist(), layer.running_variance.tolist()
([1.0, 2.5], [1.5, 0.5])

In training, the result of a batch normalisation carries the effect that moves its running statistics: it is a sequence
of that effect and the value. So any computation of the value, a training step among them, moves them once a call,
together with its other updates, and nothing has to be collected.
"""

from __future__ import annotations

from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.front.argument_parsing import fraction, integer, position_of, real
from nervure.front.arranging.views import reshape
from nervure.front.creation import AssignableTensorOp, as_tensor
from nervure.front.effects import assign, sequential
from nervure.front.flushing import without_denormals
from nervure.front.networks.normalization import batch_norm, layer_norm, local_response_norm, rms_norm
from nervure.front.op_functions import add, divide, greater, multiply
from nervure.front.pointwise.elementwise import convert, where
from nervure.front.statistics.reductions import chosen_axes, mean, sample_axes, variance
from nervure.front.tensor import Tensor, TensorLike
from nervure.nn.module import Module
from nervure.nn.parameters import (
    Initial,
    buffer,
    check_input,
    check_length,
    count,
    for_channels,
    layer_axes,
    names_of,
    optional,
)
from nervure.support.elsewhere import explains_keywords
from nervure.types.axes import Axes, AxesLike, AxisLike
from nervure.types.axis import make_axis
from nervure.types.dim import dim_max, equal, less_equal, product
from nervure.types.dtype import DTypeLike


class _Scaled(Module):
    """A normalisation over some axes, with a scale that starts from 1 and a shift that starts from 0.

    Both are over ``axes``; ``scale=False`` and ``shift=False`` leave them out.
    """

    scale: AssignableTensorOp | None
    shift: AssignableTensorOp | None

    def __init__(self, axes: AxesLike, epsilon: float, scale: Initial, shift: Initial,
                 dtype: DTypeLike | None) -> None:
        name = type(self).__name__
        own = layer_axes(axes, name, "axes")
        self.epsilon = _small(epsilon, name)
        self.scale, self.shift = optional(own, scale, 1.0, dtype), optional(own, shift, 0.0, dtype)
        self._axes = own

    def _input(self, x: TensorLike) -> Tensor:
        own = as_tensor(x, type(self).__name__)
        check_input(type(self).__name__, own, self.scale if self.shift is None else self.shift)
        return own

    def _last(self, x: Tensor) -> list[int]:
        """Returns the positions of the layer's axes in x: found by name, or the last ones. ShapeMismatch if lengths
        differ.
        """
        op, own = type(self).__name__, self._axes
        named = list(range(-len(own), 0)) if own.is_anonymous else names_of(list(own))
        places = [position_of(x, name, op) for name in named]
        if any([equal(x.type.shape[at], axis.length) is False for at, axis in zip(places, own, strict=True)]):
            raise ShapeMismatch("the axes of x have other lengths", op=op, operand="x", got=str(x.axes),
                                expected=str(own), help="make the layer with the axes of its input")
        return places


class BatchNorm(_Scaled):
    """Standardises x for each channel over all other axes, multiplies by the scale and adds the shift (Ioffe and
    Szegedy 2015).

    ``axes`` are the channels: ``"C=64"``, or 64 for the second axis of x without names. In training, the statistics
    are those of x, and the running ones move by ``momentum`` towards them (the variance without bias); in evaluation,
    the running ones are used.

    >>> layer = nv.nn.BatchNorm(2).eval()
    >>> layer(np.float32([[1, 2]])).numpy().round(4).tolist(), [path for path, _ in layer.named_buffers()]
    ([[1.0, 2.0]], ['running_mean', 'running_variance'])
    """

    running_mean: AssignableTensorOp
    running_variance: AssignableTensorOp

    @explains_keywords
    def __init__(self, axes: AxesLike, momentum: float = 0.1, epsilon: float = 1e-5, scale: Initial = True,
                 shift: Initial = True, dtype: DTypeLike | None = None) -> None:
        super().__init__(axes, epsilon, scale, shift, dtype)
        self.momentum = fraction(momentum, "BatchNorm", "momentum", "the share of the new statistics: 0.1 is usual")
        self.running_mean = buffer(self._axes, 0.0, dtype)
        self.running_variance = buffer(self._axes, 1.0, dtype)

    def forward(self, x: TensorLike) -> Tensor:
        """Returns x normalised."""
        own = self._input(x)
        if self._axes.is_anonymous and own.ndim > 1:
            check_length("BatchNorm", own, 1, count(self._axes), f"(N, {count(self._axes)}, ...)")
        channels = [1 if own.ndim > 1 else 0] if self._axes.is_anonymous else names_of(list(self._axes))
        if not self.training:
            return batch_norm(own, self.scale, self.shift, self.running_mean, self.running_variance, channels,
                              self.epsilon)
        result = batch_norm(own, self.scale, self.shift, channels=channels, epsilon=self.epsilon)
        carried: Tensor = sequential([*self._moves(own, channels), result])
        return carried

    def _moves(self, x: Tensor, channels: list[int] | list[str]) -> list[object]:
        """Returns the effects that move the running statistics; an empty batch moves none."""
        numbers = product([x.type.shape[at] for at in chosen_axes(x, None, channels, "BatchNorm")[0]])
        counted = as_tensor(numbers, dtype=x.dtype.compute)
        unbiased = divide(counted, dim_max(numbers - 1, 1))  # the variance of a single number is 0
        wide = convert(x, x.dtype.compute)  # a variance of 16-bit floats may be none
        found = mean(wide, out_axes=channels), variance(wide, out_axes=channels) * unbiased
        moves: list[object] = []
        for place, own in zip((self.running_mean, self.running_variance), found, strict=True):
            moved = convert(without_denormals((1.0 - self.momentum) * place + self.momentum * own), place.dtype)
            is_some = less_equal(1, numbers) is True
            moves.append(assign(place, moved if is_some else where(greater(numbers, 0), moved, place)))
        return moves


class LayerNorm(_Scaled):
    """Subtracts the mean of x along ``axes``, divides by the deviation, multiplies by the scale and adds the shift (Ba
    et al. 2016).

    ``axes`` is one or several named axes, as in ``"F=64"``, or plain lengths for the last axes of x.

    >>> print(nv.nn.LayerNorm(2)(np.float32([[1, 3]])).numpy().round(4))
    [[-1.  1.]]
    """

    @explains_keywords
    def __init__(self, axes: AxesLike, epsilon: float = 1e-5, scale: Initial = True, shift: Initial = True,
                 dtype: DTypeLike | None = None) -> None:
        super().__init__(axes, epsilon, scale, shift, dtype)

    def forward(self, x: TensorLike) -> Tensor:
        """Returns x normalised."""
        own = self._input(x)
        return layer_norm(own, self._last(own), self.scale, self.shift, self.epsilon)


class RMSNorm(_Scaled):
    """Divides x by its root mean square along ``axes``, then multiplies by the scale (Zhang and Sennrich 2019).

    >>> print(nv.nn.RMSNorm("F=2")(nv.constant([[3, 3]], "N=1, F=2")).numpy().round(4))
    [[1. 1.]]
    """

    @explains_keywords
    def __init__(self, axes: AxesLike, epsilon: float = 1e-6, scale: Initial = True,
                 dtype: DTypeLike | None = None) -> None:
        super().__init__(axes, epsilon, scale, False, dtype)

    def forward(self, x: TensorLike) -> Tensor:
        """Returns x normalised."""
        own = self._input(x)
        return rms_norm(own, self._last(own), self.scale, self.epsilon)


class GroupNorm(_Scaled):
    """Standardises x in each sample for each group of channels, multiplies by the scale and adds the shift (Wu and He
    2018).

    ``axes`` is the axis of the channels: ``"C=64"``, or 64 for the second axis of x without names. The axes N and REC,
    or the first axis of x without names, distinguish samples.

    >>> print(nv.nn.GroupNorm(2, 4)(np.float32([[1, 3, 5, 5]])).numpy().round(3))
    [[-1.  1.  0.  0.]]
    """

    @explains_keywords
    def __init__(self, groups: int, axes: AxesLike, epsilon: float = 1e-5, scale: Initial = True,
                 shift: Initial = True, dtype: DTypeLike | None = None) -> None:
        super().__init__(axes, epsilon, scale, shift, dtype)
        self.groups = integer(groups, "GroupNorm", "groups", least=1)
        if len(self._axes) != 1 or count(self._axes) % self.groups:
            raise InvalidArgument("groups divide the channels, which are one axis", op="GroupNorm", operand="groups",
                                  got=f"{groups} groups of {self._axes}",
                                  expected=f"a divisor of {count(self._axes)}", help="1 takes all channels together")

    def forward(self, x: TensorLike) -> Tensor:
        """Returns x normalised."""
        own = self._input(x)
        at = position_of(own, 1 if self._axes.is_anonymous else self._axes[0].name, "GroupNorm")
        if equal(own.type.shape[at], count(self._axes)) is False:
            raise ShapeMismatch("the channels of x are others", op="GroupNorm", operand="x", got=str(own.axes),
                                expected=str(self._axes), help="without names they are the second axis: (N, C, ...)")
        apart = reshape(own, self._divided(own, at))
        kept = [place + (place > at) for place in sample_axes(own)]
        along = [place for place in range(apart.ndim) if place not in (*kept, at)]
        result = reshape(layer_norm(apart, along, epsilon=self.epsilon), own.axes if own.is_named else own.type.shape)
        return self._scaled(result)

    def _divided(self, x: Tensor, at: int) -> AxesLike:
        """Returns the axes of x with the channels divided into groups."""
        lengths = self.groups, count(self._axes) // self.groups
        if x.is_named:
            return Axes([*x.axes[:at], *map(make_axis, lengths), *x.axes[at + 1:]])
        return (*x.type.shape[:at], *lengths, *x.type.shape[at + 1:])

    def _scaled(self, x: Tensor) -> Tensor:
        """Returns x times the scale, plus the shift, for each channel."""
        scale, shift = [None if entry is None else for_channels(entry, x) for entry in (self.scale, self.shift)]
        result = x if scale is None else multiply(x, scale)
        return result if shift is None else add(result, shift)


def _small(epsilon: float, op: str) -> float:
    number = real(epsilon, op, "epsilon")
    if not number >= 0:
        raise InvalidArgument("epsilon is not negative", op=op, operand="epsilon", got=epsilon, expected="0 or more",
                              help="it keeps a division from one by 0: 1e-5 is usual")
    return number


class LocalResponseNorm(Module):
    """Divides elements by a power of the mean square of ``size`` channels around theirs, as ``nv.local_response_norm``.

    ``alpha``, ``beta``, ``k`` and the axis ``channels`` are as there.

    >>> nv.nn.LocalResponseNorm(2, alpha=2.0, beta=1.0)([[3.0, 0.0]]).numpy().round(4).tolist()
    [[0.30000001192092896, 0.0]]
    """

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0
    channels: AxisLike | None = None

    def forward(self, x: TensorLike) -> Tensor:
        """Returns x normalised."""
        return local_response_norm(x, self.size, self.alpha, self.beta, self.k, self.channels)


class InstanceNorm(GroupNorm):
    """Standardises x in each sample for each channel (Ulyanov et al. 2016); scale and shift are there if asked for.

    ``axes`` is the axis of the channels, as in ``GroupNorm``; ``scale=True`` and ``shift=True`` add those.

    >>> print(nv.nn.InstanceNorm(2)(np.float32([[[1, 3], [5, 5]]])).numpy().round(3))
    [[[-1.  1.]
      [ 0.  0.]]]
    """

    @explains_keywords
    def __init__(self, axes: AxesLike, epsilon: float = 1e-5, scale: Initial = False, shift: Initial = False,
                 dtype: DTypeLike | None = None) -> None:
        super().__init__(count(layer_axes(axes, "InstanceNorm", "axes")), axes, epsilon, scale, shift, dtype)
