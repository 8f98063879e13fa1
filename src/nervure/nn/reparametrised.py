"""Layers whose weights are made of others: a length times a direction, or over their largest singular value.

>>> import nervure as nv
>>> layer = nv.nn.WeightNorm(nv.nn.LinearLayer(2, 1, weights=[[3.0], [4.0]], bias=False))
>>> layer.scale.tolist(), layer([[1.0, 0.0]]).tolist()
([[5.0]], [[3.0]])
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from nervure.errors import InvalidArgument, WrongKind, shown
from nervure.front.argument_parsing import integer, positions_of
from nervure.front.arranging.views import permuted, reshape
from nervure.front.creation import AssignableTensorOp, persistent_tensor, variable
from nervure.front.effects import assign, sequential
from nervure.front.op_functions import divide, maximum, multiply, square
from nervure.front.pointwise.elementwise import convert, stop_gradient
from nervure.front.statistics.reductions import L2_norm
from nervure.front.statistics.reductions import sum as total
from nervure.front.tensor import Tensor
from nervure.nn.loss_parts import positive
from nervure.nn.module import Module
from nervure.nn.sliding import Conv
from nervure.nn.transposed import ConvTranspose
from nervure.support.elsewhere import explains_keywords
from nervure.types.axes import AxesLike
from nervure.types.dim import product

SETTLING = 15
"""Steps of the power iteration before the first call, as PyTorch takes them."""


class _Reparametrised(Module):
    """A layer, one of whose weights is computed in each call."""

    inner: Module

    def __init__(self, inner: Module, name: str, axes: AxesLike | None) -> None:
        op = type(self).__name__
        if not isinstance(inner, Module):
            raise WrongKind("a layer has weights", op=op, operand="inner", got=shown(inner), expected="a module",
                            help=f"nv.nn.{op}(nv.nn.LinearLayer(3, 4))")
        own = inner.place_at(name)
        if own is None or not own.is_trainable or "." in name:
            raise InvalidArgument("the layer has no such parameter", op=op, operand="name", got=shown(name),
                                  expected=", ".join([path for path, _ in inner.named_parameters() if "." not in path]),
                                  help="name= is an attribute of the layer itself")
        self.inner, self.name = inner, name
        outer = [0 if isinstance(inner, (Conv, ConvTranspose)) and not own.is_named else -1]
        self._kept = positions_of(own, outer if axes is None else axes, op)

    @property
    def _weights(self) -> AssignableTensorOp:
        own = vars(self.inner)[self.name]
        assert isinstance(own, AssignableTensorOp)
        return own

    def _called(self, weights: Tensor, inputs: tuple[object, ...], named: dict[str, object]) -> Any:
        """Calls the layer with other weights."""
        with _instead(self.inner, self.name, weights):
            return self.inner(*inputs, **named)


@contextmanager
def _instead(module: Module, name: str, value: object) -> Iterator[None]:
    """Has an attribute of a module be another tensor, while its call builds a graph."""
    own = vars(module)[name]
    vars(module)[name] = value
    try:
        yield
    finally:
        vars(module)[name] = own


class WeightNorm(_Reparametrised):
    """A layer whose weights are a ``scale`` times the direction of its parameter (Salimans and Kingma 2016).

    ``name`` is that of the parameter; for each entry along ``axes``, its other elements have the length ``scale``, and
    their direction is trained apart. Without ``axes`` it is the axis of the outputs: the last one, or the first of a
    convolution without names. An empty list has one scale for all. Other attributes are those of the layer, as
    ``inner``. The numbers are those of PyTorch's ``weight_norm``.

    >>> layer = nv.nn.WeightNorm(nv.nn.LinearLayer("F=2", "K=3"))
    >>> [path for path, _ in layer.named_parameters()], print(layer(nv.ones("N=4, F=2")).axes)
    (N: 4, K: 3)
    (['scale', 'inner.weights', 'inner.bias'], None)
    """

    scale: AssignableTensorOp

    @explains_keywords
    def __init__(self, inner: Module, name: str = "weights", axes: AxesLike | None = None) -> None:
        super().__init__(inner, name, axes)
        own = self._weights
        self.scale = variable([length if at in self._kept else 1 for at, length in enumerate(own.shape)],
                              self._lengths(Tensor(own.value)).numpy(), own.dtype)

    def _lengths(self, weights: Tensor) -> Tensor:
        others = [at for at in range(weights.ndim) if at not in self._kept]
        return L2_norm(weights, reduction_axes=others, keepdims=True) if others else abs(weights)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Returns what the layer makes of its inputs."""
        own = self._weights
        plain = Tensor(own.value)
        made = multiply(plain, divide(self.scale, self._lengths(plain)))
        return self._called(Tensor(made.value, own._axes), inputs, named)


class SpectralNorm(_Reparametrised):
    """A layer whose weights are its parameter over the largest singular value of that (Miyato et al. 2018).

    The parameter is a matrix with ``axes`` (as in ``WeightNorm``) as rows and all others as columns. Two buffers, ``u``
    and ``v``, near the singular vectors, come nearer by ``iterations`` of the power method with each call in training.
    Norms count as ``epsilon`` at least. The numbers are those of PyTorch's ``spectral_norm``, from the same buffers.

    >>> layer = nv.nn.SpectralNorm(nv.nn.LinearLayer(2, 2, weights=[[4.0, 0.0], [0.0, 1.0]], bias=False)).eval()
    >>> layer([[1.0, 1.0]]).numpy().round(4).tolist()
    [[1.0, 0.25]]
    """

    u: AssignableTensorOp
    v: AssignableTensorOp

    @explains_keywords
    def __init__(self, inner: Module, name: str = "weights", axes: AxesLike | None = None, iterations: int = 1,
                 epsilon: float = 1e-12) -> None:
        super().__init__(inner, name, axes)
        self.iterations = integer(iterations, "SpectralNorm", "iterations", least=1)
        self.epsilon = positive(epsilon, "SpectralNorm", "epsilon")
        matrix = self._matrix(Tensor(self._weights.value)).numpy().astype(np.float64)
        v = np.asarray(np.random.default_rng(0).standard_normal(matrix.shape[1]))
        for _ in range(SETTLING):
            u = _unit(matrix @ v, self.epsilon)
            v = _unit(u @ matrix, self.epsilon)
        self.u, self.v = [persistent_tensor(entry.shape, entry, self._weights.dtype) for entry in (u, v)]

    def _matrix(self, weights: Tensor) -> Tensor:
        others = [at for at in range(weights.ndim) if at not in self._kept]
        rows, columns = [product([weights.type.shape[at] for at in places]) for places in (self._kept, others)]
        return reshape(permuted(weights, [*self._kept, *others]), (rows, columns))

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Returns what the layer makes of its inputs; in training, the buffers move."""
        own = self._weights
        plain = Tensor(own.value)
        matrix = self._matrix(plain)
        matrix, u, v = [convert(Tensor(entry.value), own.dtype.compute) for entry in (matrix, self.u, self.v)]
        fixed = stop_gradient(matrix)
        for _ in range(self.iterations if self.training else 0):
            u = self._unit(total(multiply(fixed, v), axis=1))
            v = self._unit(total(multiply(fixed, reshape(u, (-1, 1))), axis=0))
        largest = total(multiply(u, total(multiply(matrix, v), axis=1)))
        made = divide(plain, convert(largest, own.dtype))
        weights = Tensor(made.value, own._axes)
        if self.training:
            moves = [assign(place, convert(entry, place.dtype)) for place, entry in ((self.u, u), (self.v, v))]
            weights = sequential([*moves, weights])
        return self._called(weights, inputs, named)

    def _unit(self, x: Tensor) -> Tensor:
        return divide(x, maximum(total(square(x)) ** 0.5, self.epsilon))


def _unit(x: np.ndarray, epsilon: float) -> np.ndarray:
    return np.asarray(x / max(float(np.linalg.norm(x)), epsilon))
