"""Initialisers: the first values of parameters, as functions of their axes.

>>> import nervure as nv
>>> from nervure.nn import initialisers
>>> start = initialisers.he_normal(seed=1)
>>> w = nv.variable("F=200, K=100", initial_value=start)
>>> bool(abs(w.numpy().std() - 0.1) < 0.01)
True

Inputs and outputs are counted by axes: outputs are the elements of ``out_axes`` (absent: of the last axis; a layer
passes its own), inputs those of all others; an element of a window is an input, and an output, of its own.

Numbers are drawn from NumPy's generator Philox under a key of a seed and a stream. With ``seed=`` the initialiser
counts the streams: its first weight is always the same, its second a different one. Without, the seed is that of the
last ``nv.seed``, for any transformer, and a layer takes its streams when it is made, so that a model made after
``nv.seed(1)`` starts the same each time:

>>> nv.seed(1)
>>> first = nv.nn.LinearLayer(2, 2).weights.tolist()
>>> nv.seed(1)
>>> nv.nn.LinearLayer(2, 2).weights.tolist() == first
True
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np

from nervure.errors import InvalidArgument, WrongKind
from nervure.front.argument_parsing import real
from nervure.front.creation import read_axes
from nervure.front.random import fans, next_key, outputs_of, seed_words
from nervure.front.tensor import Number
from nervure.ir.variable import Repeatable
from nervure.support.elsewhere import explain_keywords, unknown_name
from nervure.types.axes import Axes, AxesLike


class Weight(NamedTuple):
    """A weight to be drawn: its shape, its numbers of inputs and outputs, and which dimensions are outputs."""

    shape: tuple[int, ...]
    inputs: int
    outputs: int
    out: tuple[int, ...]


Draw = Callable[[np.random.Generator, Weight], np.ndarray]


class Initialiser:
    """A function of axes that returns an array: an ``initial_value``. Each call draws anew.

    >>> start = nv.nn.initialisers.uniform(0, 1, seed=3)
    >>> start("F=2, K=2").shape, bool((start("F=2") == start("F=2")).all())
    ((2, 2), False)
    """

    def __init__(self, name: str, draw: Draw, out_axes: AxesLike | None = None, window_axes: AxesLike | None = None,
                 seed: int | None = None) -> None:
        self._name, self._draw, self._out_axes, self._window_axes = name, draw, out_axes, window_axes
        self._seed = None if seed is None else _number(seed)
        self._used = 0

    def __call__(self, axes: AxesLike) -> np.ndarray:
        return self.bound()(read_axes(axes))

    def bound(self, out_axes: AxesLike | None = None, window_axes: AxesLike = ()) -> Callable[[Axes], np.ndarray]:
        """Returns this initialiser with a stream of its own, for one weight that is drawn later: a function of axes
        without memory. The axes given here are used if the initialiser has none.
        """
        out = out_axes if self._out_axes is None else self._out_axes
        windows = window_axes if self._window_axes is None else self._window_axes
        return Repeatable(partial(self._drawn, self._key(), out, windows))

    def _key(self) -> np.ndarray:
        """Returns the next key: a seed and the number of a stream."""
        if self._seed is None:
            return np.array(next_key(), np.uint64)
        self._used += 1
        return np.array((self._seed, self._used - 1), np.uint64)

    def _drawn(self, key: np.ndarray, out_axes: AxesLike | None, window_axes: AxesLike, axes: Axes) -> np.ndarray:
        inputs, outputs = fans(axes, out_axes, self._name, window_axes)
        shape = tuple([length for length in axes.lengths if isinstance(length, int)])
        out = outputs_of(axes, out_axes, self._name)
        generator = np.random.Generator(np.random.Philox(key=key))
        return self._draw(generator, Weight(shape, max(inputs, 1), max(outputs, 1), out))

    def __repr__(self) -> str:
        return f"<initialiser {self._name}>"


def _number(seed: int) -> int:
    """Reads a seed, which must fit in 64 bits."""
    low, high = seed_words(seed)
    return low | high << 32


def constant(value: Number) -> Initialiser:
    """Fills the axes with one number.

    >>> nv.nn.initialisers.constant(0.5)("F=2").tolist()
    [0.5, 0.5]
    """
    number = real(value, "constant", "value")
    return Initialiser("constant", lambda generator, weight: np.full(weight.shape, number))


def zeros() -> Initialiser:
    """Fills the axes with 0.

    >>> nv.nn.initialisers.zeros()("F=2").tolist()
    [0.0, 0.0]
    """
    return constant(0)


def ones() -> Initialiser:
    """Fills the axes with 1.

    >>> nv.nn.initialisers.ones()("F=2").tolist()
    [1.0, 1.0]
    """
    return constant(1)


def uniform(low: float = -1.0, high: float = 1.0, *, seed: int | None = None) -> Initialiser:
    """Draws numbers evenly from [``low``, ``high``).

    >>> x = nv.nn.initialisers.uniform(0, 2, seed=1)("N=1000")
    >>> bool(0 <= x.min() < 0.1 and 1.9 < x.max() < 2)
    True
    """
    start, end = real(low, "uniform", "low"), real(high, "uniform", "high")
    if not -math.inf < start <= end < math.inf:
        raise InvalidArgument("the bounds make no interval", op="uniform", got=f"[{low}, {high})",
                              expected="low <= high, both finite", help="the lower bound comes first")
    return Initialiser("uniform", lambda generator, weight: generator.uniform(start, end, weight.shape), seed=seed)


def normal(loc: float = 0.0, scale: float = 1.0, *, seed: int | None = None) -> Initialiser:
    """Draws numbers from the normal distribution with mean ``loc`` and standard deviation ``scale``.

    >>> bool(abs(nv.nn.initialisers.normal(5, seed=1)("N=10000").mean() - 5) < 0.05)
    True
    """
    mean, deviation = real(loc, "normal", "loc"), _deviation(scale, "normal")
    return Initialiser("normal", lambda generator, weight: generator.normal(mean, deviation, weight.shape), seed=seed)


def truncated_normal(loc: float = 0.0, scale: float = 1.0, low: float = -2.0, high: float = 2.0, *,
                     seed: int | None = None) -> Initialiser:
    """Draws numbers from the normal distribution, again if they lie outside ``low`` to ``high`` deviations from the
    mean.

    >>> x = nv.nn.initialisers.truncated_normal(0, 3, seed=1)("N=10000")
    >>> bool(5.9 < abs(x).max() <= 6)
    True
    """
    mean, deviation = real(loc, "truncated_normal", "loc"), _deviation(scale, "truncated_normal")
    start, end = real(low, "truncated_normal", "low"), real(high, "truncated_normal", "high")
    share = (math.erf(end / math.sqrt(2)) - math.erf(start / math.sqrt(2))) / 2
    if not share >= _RAREST:
        raise InvalidArgument("hardly any number lies between the bounds", op="truncated_normal",
                              got=f"{low} to {high} deviations", expected=f"{_RAREST:.1%} of the numbers or more",
                              help="low and high count standard deviations from the mean")

    def draw(generator: np.random.Generator, weight: Weight) -> np.ndarray:
        drawn = generator.standard_normal(weight.shape)
        while (outside := (drawn < start) | (drawn > end)).any():
            drawn[outside] = generator.standard_normal(int(outside.sum()))
        return mean + deviation * drawn
    return Initialiser("truncated_normal", draw, seed=seed)


_RAREST = 0.001
"""The smallest share of the numbers that must lie between the bounds, since they are drawn again until all do."""


def xavier_uniform(gain: float = 1.0, *, out_axes: AxesLike | None = None, window_axes: AxesLike | None = None,
                   seed: int | None = None) -> Initialiser:
    """Draws numbers evenly from +-gain * sqrt(6 / (inputs + outputs)) (Glorot and Bengio 2010).

    >>> w = nv.nn.initialisers.xavier_uniform(seed=1)("F=200, K=100")
    >>> round(float(abs(w).max() / (6 / 300) ** 0.5), 2)
    1.0
    """
    return _scaled("xavier_uniform", _even, gain, _both, out_axes, window_axes, seed)


def xavier_normal(gain: float = 1.0, *, out_axes: AxesLike | None = None, window_axes: AxesLike | None = None,
                  seed: int | None = None) -> Initialiser:
    """Draws numbers from the normal distribution with deviation gain * sqrt(2 / (inputs + outputs)) (Glorot and Bengio
    2010).

    >>> w = nv.nn.initialisers.xavier_normal(seed=1)("F=200, K=100")
    >>> round(float(w.std() / (2 / 300) ** 0.5), 1)
    1.0
    """
    return _scaled("xavier_normal", _bell, gain, _both, out_axes, window_axes, seed)


def he_uniform(slope: float = 0.0, *, out_axes: AxesLike | None = None, window_axes: AxesLike | None = None,
               seed: int | None = None) -> Initialiser:
    """Draws numbers evenly from +-sqrt(6 / inputs / (1 + slope**2)), for rectifiers with that slope below 0 (He et al.
    2015).

    >>> w = nv.nn.initialisers.he_uniform(seed=1)("F=200, K=100")
    >>> round(float(abs(w).max() / (6 / 200) ** 0.5), 2)
    1.0
    """
    return _scaled("he_uniform", _even, _rectified(slope, "he_uniform"), _inputs, out_axes, window_axes, seed)


def he_normal(slope: float = 0.0, *, out_axes: AxesLike | None = None, window_axes: AxesLike | None = None,
              seed: int | None = None) -> Initialiser:
    """Draws numbers from the normal distribution with deviation sqrt(2 / inputs / (1 + slope**2)) (He et al. 2015).

    >>> w = nv.nn.initialisers.he_normal(seed=1)("F=200, K=100")
    >>> round(float(w.std() / (2 / 200) ** 0.5), 1)
    1.0
    """
    return _scaled("he_normal", _bell, _rectified(slope, "he_normal"), _inputs, out_axes, window_axes, seed)


def lecun_uniform(gain: float = 1.0, *, out_axes: AxesLike | None = None, window_axes: AxesLike | None = None,
                  seed: int | None = None) -> Initialiser:
    """Draws numbers evenly from +-gain * sqrt(3 / inputs) (LeCun et al. 1998).

    >>> w = nv.nn.initialisers.lecun_uniform(seed=1)("F=200, K=100")
    >>> round(float(abs(w).max() / (3 / 200) ** 0.5), 2)
    1.0
    """
    return _scaled("lecun_uniform", _even, gain, _inputs, out_axes, window_axes, seed)


def lecun_normal(gain: float = 1.0, *, out_axes: AxesLike | None = None, window_axes: AxesLike | None = None,
                 seed: int | None = None) -> Initialiser:
    """Draws numbers from the normal distribution with deviation gain * sqrt(1 / inputs) (LeCun et al. 1998).

    >>> w = nv.nn.initialisers.lecun_normal(seed=1)("F=200, K=100")
    >>> round(float(w.std() / (1 / 200) ** 0.5), 1)
    1.0
    """
    return _scaled("lecun_normal", _bell, gain, _inputs, out_axes, window_axes, seed)


def orthogonal(gain: float = 1.0, *, out_axes: AxesLike | None = None, seed: int | None = None) -> Initialiser:
    """Draws a matrix of inputs by outputs with orthonormal columns (or rows, if there are fewer), times gain (Saxe et
    al. 2014).

    >>> w = nv.nn.initialisers.orthogonal(seed=1)("F=5, K=3")
    >>> bool(np.allclose(w.T @ w, np.eye(3)))
    True
    """
    factor = real(gain, "orthogonal", "gain")

    def draw(generator: np.random.Generator, weight: Weight) -> np.ndarray:
        last = [*[at for at in range(len(weight.shape)) if at not in weight.out], *weight.out]
        moved = [weight.shape[at] for at in last]
        outputs = math.prod([weight.shape[at] for at in weight.out])
        rows = math.prod(moved) // max(outputs, 1)
        tall = generator.standard_normal((max(rows, outputs), min(rows, outputs)))
        q, r = np.linalg.qr(tall)
        q = q * np.where(np.diagonal(r) < 0, -1.0, 1.0)  # makes all such matrices equally likely
        return factor * (q if rows >= outputs else q.T).reshape(moved).transpose(np.argsort(last))
    return Initialiser("orthogonal", draw, out_axes, seed=seed)


glorot_uniform, glorot_normal = xavier_uniform, xavier_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal


def _scaled(name: str, shape: Callable[[float], Draw], gain: float, fan: Callable[[Weight], float],
            out_axes: AxesLike | None, window_axes: AxesLike | None, seed: int | None) -> Initialiser:
    """Makes an initialiser of numbers with variance ``gain**2 / fan``."""
    factor = real(gain, name, "gain")

    def draw(generator: np.random.Generator, weight: Weight) -> np.ndarray:
        return shape(factor / math.sqrt(fan(weight)))(generator, weight)
    return Initialiser(name, draw, out_axes, window_axes, seed)


def _even(deviation: float) -> Draw:
    width = deviation * math.sqrt(3)
    return lambda generator, weight: generator.uniform(-width, width, weight.shape)


def _bell(deviation: float) -> Draw:
    return lambda generator, weight: deviation * generator.standard_normal(weight.shape)


def _inputs(weight: Weight) -> float:
    return weight.inputs


def _both(weight: Weight) -> float:
    return (weight.inputs + weight.outputs) / 2


def _rectified(slope: float, op: str) -> float:
    return math.sqrt(2 / (1 + real(slope, op, "slope") ** 2))


def _deviation(scale: float, op: str) -> float:
    deviation = real(scale, op, "scale")
    if not 0 <= deviation < math.inf:
        raise InvalidArgument("a standard deviation is not negative", op=op, operand="scale", got=scale,
                              expected="0 or more", help="give the deviation, not the variance")
    return deviation


def bound(initial: object, out_axes: AxesLike | None = None, window_axes: AxesLike = ()) -> object:
    """Returns an ``initial`` value for one weight: an initialiser gets a stream of its own, anything else stays as it
    is.
    """
    if isinstance(initial, Initialiser):
        return initial.bound(out_axes, window_axes)
    if callable(initial) and getattr(initial, "__module__", None) == __name__:
        name = getattr(initial, "__name__", "it")
        raise WrongKind(f"{name} makes an initialiser when it is called", op="initialiser", got=f"{name} itself",
                        expected="an initialiser", help=f"write nv.nn.initialisers.{name}()")
    return initial


__all__ = ["Initialiser", "constant", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "kaiming_normal",
           "kaiming_uniform", "lecun_normal", "lecun_uniform", "normal", "ones", "orthogonal", "truncated_normal",
           "uniform", "xavier_normal", "xavier_uniform", "zeros"]

explain_keywords(globals(), __all__)
if not TYPE_CHECKING:  # type checkers see missing attributes as missing
    def __getattr__(name: str) -> NoReturn:
        raise unknown_name("nv.nn.initialisers", name, __all__)
